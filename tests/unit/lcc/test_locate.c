/* test_locate.c -- every set of wrong values within the bound is found, exactly.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/lcc/locate.h"

#include "common/field/mod.h"
#include "tests/lib/aborts.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static uint64_t next(uint64_t *s)
{
    *s = *s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *s >> 16;
}

/* n points from 7 on, and right values of a polynomial with `threshold` random coefficients. */
static void make(struct locate_code *code, uint64_t *y, uint32_t n, uint32_t threshold,
                 uint64_t prime, uint64_t *seed)
{
    uint64_t a[POINTS_MAX];

    code->prime = prime;
    code->n = n;
    code->threshold = threshold;
    for (uint32_t k = 0; k < threshold; k++)
        a[k] = next(seed) % prime;
    for (uint32_t i = 0; i < n; i++) {
        code->x[i] = 7 + i;
        y[i] = 0;
        for (uint32_t k = threshold; k-- > 0;)
            y[i] = mod_add(mod_mul(y[i], code->x[i], prime), a[k], prime);
    }
    points_weights(code->w, code->x, n, prime);
}

/* Adds anything but 0 to the values whose bit is set. */
static void corrupt(uint64_t *y, uint32_t set, uint64_t prime, uint64_t *seed)
{
    for (uint32_t i = 0; set >> i != 0; i++)
        if (set >> i & 1)
            y[i] = mod_add(y[i], 1 + next(seed) % (prime - 1), prime);
}

static uint32_t set_of(const uint32_t *at, uint32_t n)
{
    uint32_t set = 0;

    for (uint32_t k = 0; k < n; k++) {
        assert_true(k == 0 || at[k - 1] < at[k]);
        set |= 1U << at[k];
    }
    return set;
}

/* Every subset of positions, in every code of up to ten values. */
static void all_subsets(uint64_t prime, uint64_t *seed)
{
    struct locate_code code;
    uint64_t y[POINTS_MAX];
    uint32_t at[POINTS_MAX], found;

    for (uint32_t n = 1; n <= 10; n++)
        for (uint32_t threshold = 1; threshold <= n; threshold++)
            for (uint32_t set = 0; set < 1U << n; set++) {
                const uint32_t wrong = (uint32_t)__builtin_popcount(set);

                if (2 * wrong > n - threshold)
                    continue;
                make(&code, y, n, threshold, prime, seed);
                corrupt(y, set, prime, seed);
                assert_true(locate_wrong(at, &found, y, &code));
                assert_int_equal(set_of(at, found), set);
            }
}

static void test_every_set_of_wrong_values_within_the_bound_is_found(void **state)
{
    static const uint64_t primes[] = {17, 641, 65521, 2147483647, 2305843009213693951};
    uint64_t seed = 1;

    (void)state;
    for (uint32_t k = 0; k < 5; k++)
        all_subsets(primes[k], &seed);
}

/* Beyond the bound a large prime leaves almost no chance that it looks like less. */
static void test_beyond_the_bound_it_says_so(void **state)
{
    struct locate_code code;
    uint64_t y[POINTS_MAX], seed = 2;
    uint32_t at[POINTS_MAX], found;

    (void)state;
    for (uint32_t threshold = 1; threshold < 8; threshold++) {
        const uint32_t surplus = 10 - threshold;

        for (uint32_t wrong = surplus / 2 + 1; wrong <= surplus; wrong++) {
            make(&code, y, 10, threshold, 2305843009213693951, &seed);
            corrupt(y, (1U << wrong) - 1, code.prime, &seed);
            assert_false(locate_wrong(at, &found, y, &code));
        }
    }
}

/* In a small field any recurrence has roots among the points by chance: too long a one is refused
 * before that. */
static void test_never_are_more_than_half_the_surplus_named(void **state)
{
    struct locate_code code;
    uint64_t y[POINTS_MAX], seed = 5;
    uint32_t at[POINTS_MAX], found;

    (void)state;
    for (uint32_t k = 0; k < 20000; k++) {
        const uint32_t threshold = 1 + k % 9;

        make(&code, y, 10, threshold, 17, &seed);
        for (uint32_t i = 0; i < 10; i++)
            y[i] = next(&seed) % 17;
        if (locate_wrong(at, &found, y, &code))
            assert_true(2 * found <= 10 - threshold);
    }
}

static void test_many_values_with_many_wrong(void **state)
{
    struct locate_code code;
    uint64_t y[POINTS_MAX], seed = 3;
    uint32_t at[POINTS_MAX], found;

    (void)state;
    for (uint32_t threshold = 2; threshold <= POINTS_MAX; threshold += 63) {
        const uint32_t wrong = (POINTS_MAX - threshold) / 2;

        make(&code, y, POINTS_MAX, threshold, 65521, &seed);
        for (uint32_t k = 0; k < wrong; k++)
            y[2 * k + 1] = mod_add(y[2 * k + 1], 1 + k, code.prime);
        assert_true(locate_wrong(at, &found, y, &code));
        assert_int_equal(found, wrong);
        for (uint32_t k = 0; k < wrong; k++)
            assert_int_equal(at[k], 2 * k + 1);
    }
}

static void locate(void *arg)
{
    struct locate_code *code = arg;
    uint64_t y[POINTS_MAX] = {0};
    uint32_t at[POINTS_MAX], found;

    (void)locate_wrong(at, &found, y, code);
}

static void test_fewer_values_than_the_threshold_abort(void **state)
{
    struct locate_code code;
    uint64_t y[POINTS_MAX], seed = 4;

    (void)state;
    make(&code, y, 5, 5, 641, &seed);
    assert_false(aborts(locate, &code));
    code.threshold = 6;
    assert_true(aborts(locate, &code));
    code.threshold = 0;
    assert_true(aborts(locate, &code));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_set_of_wrong_values_within_the_bound_is_found),
        cmocka_unit_test(test_beyond_the_bound_it_says_so),
        cmocka_unit_test(test_never_are_more_than_half_the_surplus_named),
        cmocka_unit_test(test_many_values_with_many_wrong),
        cmocka_unit_test(test_fewer_values_than_the_threshold_abort),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
