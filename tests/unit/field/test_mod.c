/* test_mod.c -- single residues of each width of prime, against the plainest definitions.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/mod.h"

#include "tests/lib/aborts.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

/* Of each path of mod_mul, and next to its ends. */
static const uint64_t PRIMES[] = {3,          641,        65521,      65537,
                                  2147483647, 4294967291, 4294967311, 2305843009213693951};

enum { PRIMES_N = sizeof PRIMES / sizeof PRIMES[0] };

/* Doubling and adding: no product is ever formed. */
static uint64_t slow_mul(uint64_t a, uint64_t b, uint64_t p)
{
    uint64_t sum = 0;

    for (int bit = 63; bit >= 0; bit--) {
        sum = (sum + sum) % p;
        if (b >> bit & 1)
            sum = (sum + a) % p;
    }
    return sum;
}

static uint64_t sample(uint64_t k, uint64_t p)
{
    const uint64_t edge[] = {0, 1, p - 1, p - 2, p / 2, p / 2 + 1};

    return k < 6 ? edge[k] % p : (k * UINT64_C(0x9e3779b97f4a7c15) ^ k << 20) % p;
}

static void test_sums_differences_and_products_are_those_of_the_definition(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PRIMES_N; i++) {
        const uint64_t p = PRIMES[i];

        for (uint64_t k = 0; k < 400; k++) {
            const uint64_t a = sample(k % 20, p), b = sample(k / 20, p);

            assert_true(mod_add(a, b, p) == (a + b) % p);
            assert_true(mod_sub(a, b, p) == (a + p - b) % p);
            assert_true(mod_mul(a, b, p) == slow_mul(a, b, p));
        }
    }
}

static void test_powers_and_inverses(void **state)
{
    (void)state;
    assert_int_equal(mod_pow(3, 0, 641), 1);
    assert_int_equal(mod_pow(3, 5, 641), 243);
    assert_int_equal(mod_pow(2, 10, 641), 1024 - 641);
    for (uint32_t i = 0; i < PRIMES_N; i++)
        for (uint64_t k = 0; k < 40; k++) {
            const uint64_t a = sample(k, PRIMES[i]);

            if (a != 0)
                assert_true(mod_mul(a, mod_inv(a, PRIMES[i]), PRIMES[i]) == 1);
        }
}

static void test_inverting_together_is_inverting_one_by_one(void **state)
{
    enum { N = 17 };

    (void)state;
    for (uint32_t i = 1; i < PRIMES_N; i++)
        for (uint32_t n = 0; n <= N; n++) {
            uint64_t x[N], scratch[N];

            for (uint32_t k = 0; k < n; k++)
                x[k] = k + 1;
            mod_inv_all(x, scratch, n, PRIMES[i]);
            for (uint32_t k = 0; k < n; k++)
                assert_true(x[k] == mod_inv(k + 1, PRIMES[i]));
        }
}

static void invert_zero(void *arg)
{
    mod_inv(*(uint64_t *)arg, 641);
}

static void invert_all_with_zero(void *arg)
{
    uint64_t x[3] = {5, *(uint64_t *)arg, 7}, scratch[3];

    mod_inv_all(x, scratch, 3, 641);
}

static void test_zero_has_no_inverse(void **state)
{
    uint64_t zero = 0, one = 1, p = 641;

    (void)state;
    assert_true(aborts(invert_zero, &zero));
    assert_true(aborts(invert_zero, &p));
    assert_false(aborts(invert_zero, &one));
    assert_true(aborts(invert_all_with_zero, &zero));
    assert_false(aborts(invert_all_with_zero, &one));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_differences_and_products_are_those_of_the_definition),
        cmocka_unit_test(test_powers_and_inverses),
        cmocka_unit_test(test_inverting_together_is_inverting_one_by_one),
        cmocka_unit_test(test_zero_has_no_inverse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
