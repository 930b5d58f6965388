/* test_points.c -- the points of every shape, and coefficients that interpolate.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/lcc/points.h"

#include "common/field/mod.h"
#include "tests/lib/aborts.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

/* The first only just above what the points below need; then one of each width. */
static const uint64_t PRIMES[] = {67, 641, 65521, 2147483647, 2305843009213693951};

enum { PRIMES_N = sizeof PRIMES / sizeof PRIMES[0] };

static void test_no_two_points_are_equal_and_none_is_zero(void **state)
{
    (void)state;
    for (uint32_t members = 2; members <= 30; members++)
        for (uint32_t threshold = 2; threshold <= members; threshold++) {
            uint64_t last = 0;

            for (uint32_t u = 0; u < threshold; u++, last++)
                assert_true(points_beta(u) == last + 1);
            for (uint32_t j = 0; j < members; j++, last++)
                assert_true(points_alpha(threshold, j) == last + 1);
            assert_true(last == members + threshold);
        }
}

/* f(x) = sum of a[k] x^k, by Horner. */
static uint64_t value(const uint64_t *a, uint32_t n, uint64_t x, uint64_t p)
{
    uint64_t v = 0;

    while (n-- > 0)
        v = mod_add(mod_mul(v, x, p), a[n] % p, p);
    return v;
}

static uint64_t interpolated(const uint64_t *c, const uint64_t *y, uint32_t n, uint64_t p)
{
    uint64_t v = 0;

    for (uint32_t u = 0; u < n; u++)
        v = mod_add(v, mod_mul(c[u], y[u], p), p);
    return v;
}

enum { N = 12, TO = 9 };

static void points(uint64_t *from, uint64_t *to, uint64_t *a)
{
    for (uint32_t u = 0; u < N; u++) {
        from[u] = 3 + 5 * u;
        a[u] = UINT64_C(0x123456789abcdef) * (u + 1) >> u;
    }
    for (uint32_t i = 0; i < TO; i++)
        to[i] = i == 4 ? from[2] : 2 + 7 * i; /* some of them are known already */
}

static void test_coefficients_reproduce_every_polynomial_of_their_degree(void **state)
{
    uint64_t from[N], to[TO], a[N], y[N], c[TO * N];

    (void)state;
    points(from, to, a);
    for (uint32_t k = 0; k < PRIMES_N; k++)
        for (uint32_t n = 1; n <= N; n++) {
            const uint64_t p = PRIMES[k];

            points_lagrange(c, to, TO, from, n, p);
            for (uint32_t u = 0; u < n; u++)
                y[u] = value(a, n, from[u], p);
            for (uint32_t i = 0; i < TO; i++)
                assert_true(interpolated(c + i * n, y, n, p) == value(a, n, to[i], p));
        }
}

static void test_and_not_those_of_one_degree_more(void **state)
{
    uint64_t from[N], to[TO], a[N], y[N], c[TO * N];
    const uint64_t p = 65521;
    uint32_t wrong = 0;

    (void)state;
    points(from, to, a);
    points_lagrange(c, to, TO, from, N - 1, p);
    for (uint32_t u = 0; u < N - 1; u++)
        y[u] = value(a, N, from[u], p);
    for (uint32_t i = 0; i < TO; i++)
        wrong += interpolated(c + i * (N - 1), y, N - 1, p) != value(a, N, to[i], p);
    assert_int_equal(wrong, TO - 2); /* all but 13 and 23, which are known already */
}

static void test_weights_are_what_they_are_called(void **state)
{
    uint64_t from[N], to[TO], a[N], w[N];

    (void)state;
    points(from, to, a);
    for (uint32_t k = 0; k < PRIMES_N; k++) {
        points_weights(w, from, N, PRIMES[k]);
        for (uint32_t u = 0; u < N; u++) {
            uint64_t product = w[u];

            for (uint32_t i = 0; i < N; i++)
                if (i != u)
                    product = mod_mul(product, mod_sub(from[u], from[i], PRIMES[k]), PRIMES[k]);
            assert_int_equal(product, 1);
        }
    }
}

static void weights_of(void *arg)
{
    const uint64_t *x = arg;
    uint64_t w[3];

    points_weights(w, x, 3, 641);
}

static void too_many(void *arg)
{
    static uint64_t x[POINTS_MAX + 1], w[POINTS_MAX + 1];

    for (uint32_t u = 0; u <= POINTS_MAX; u++)
        x[u] = u + 1;
    points_weights(w, x, POINTS_MAX + *(uint32_t *)arg, 641);
}

static void test_equal_points_and_too_many_abort(void **state)
{
    uint64_t equal[] = {5, 9, 5}, distinct[] = {5, 9, 6};
    uint32_t none = 0, one = 1;

    (void)state;
    assert_true(aborts(weights_of, equal));
    assert_false(aborts(weights_of, distinct));
    assert_true(aborts(too_many, &one));
    assert_false(aborts(too_many, &none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_two_points_are_equal_and_none_is_zero),
        cmocka_unit_test(test_coefficients_reproduce_every_polynomial_of_their_degree),
        cmocka_unit_test(test_and_not_those_of_one_degree_more),
        cmocka_unit_test(test_weights_are_what_they_are_called),
        cmocka_unit_test(test_equal_points_and_too_many_abort),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
