/* test_fp16_mat.c -- every kernel of the product against the twin, where overflow, rounding and
 * tails would show.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp16_mat.h"

#include "tests/lib/aborts.h"

#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { TERMS = FP16_MAT_TERMS_MAX, ROWS = 40, LONGEST = 330, CANARY = 0xa5a5 };

/* Both neighbours of each power of two, sizes in use, and the largest. */
static const uint32_t PRIMES[] = {
    3,    5,    7,     11,    13,    17,    31,    37,    61,    67,    127,   131,  251,
    257,  509,  521,   641,   1021,  1031,  1801,  2039,  2053,  4093,  4099,  5791, 5801,
    8191, 8209, 16381, 16411, 23167, 23173, 32749, 32771, 46337, 46349, 65519, 65521};

enum { PRIMES_N = sizeof PRIMES / sizeof PRIMES[0] };

static struct {
    uint16_t c[ROWS * TERMS];
    uint16_t x[TERMS][LONGEST];
    const uint16_t *in[TERMS];
    int32_t space[ROWS * (TERMS + 3)];
    uint16_t want[ROWS * (LONGEST + 1)], got[ROWS * (LONGEST + 1)];
} data;

static uint32_t next(uint32_t *s)
{
    *s = *s * 1664525U + 1013904223U;
    return *s >> 8;
}

static int init(struct fp16 *f, uint32_t p)
{
    assert_true(fp16_init(f, p));
    return 0;
}

/* Any values; every tenth or so at an end or around the middle, where the sign of a balanced one
 * turns. */
static uint16_t element(uint32_t *seed, const struct fp16 *f)
{
    const uint32_t r = next(seed);
    const uint32_t special[] = {0, f->p - 1, f->half, f->half + 1, 1 % f->p};

    return (uint16_t)(r % 10 == 0 ? special[r / 10 % 5] : r % f->p);
}

static void fill(uint32_t rows, uint32_t terms, size_t n, const struct fp16 *f, uint32_t seed)
{
    for (size_t k = 0; k < (size_t)rows * terms; k++)
        data.c[k] = element(&seed, f);
    for (uint32_t u = 0; u < terms; u++)
        for (size_t j = 0; j < n; j++)
            data.x[u][j] = element(&seed, f);
}

static void compare(const struct fp16_mat_kernel *k, const struct fp16_mat *m, size_t n)
{
    const size_t stride = n + 1;

    memset(data.got, 0xa5, sizeof data.got);
    k->mul(m, data.got, stride, data.in, n);
    for (uint32_t i = 0; i < m->rows; i++)
        for (size_t j = 0; j < stride; j++) {
            const uint16_t want = j < n ? data.want[i * stride + j] : CANARY;

            if (data.got[i * stride + j] != want)
                fail_msg("%s: p = %u, %u x %u, n = %zu: (%u, %zu) is %u, not %u", k->name, m->f.p,
                         m->rows, m->terms, n, i, j, data.got[i * stride + j], want);
        }
}

/* All kernels that run here on what is in `data`. */
static void check(uint32_t rows, uint32_t terms, size_t n, const struct fp16 *f)
{
    struct fp16_mat m;

    assert_true(fp16_mat_space(rows, terms) <= sizeof data.space / sizeof data.space[0]);
    for (uint32_t u = 0; u < terms; u++)
        data.in[u] = data.x[u];
    fp16_mat_init(&m, data.space, data.c, rows, terms, f);
    fp16_mat_naive(data.want, n + 1, data.c, data.in, n, rows, terms, f);
    for (size_t k = 0; k < fp16_mat_kernels_n; k++)
        if (fp16_mat_kernels[k].runs_here())
            compare(&fp16_mat_kernels[k], &m, n);
}

/* By hand: [1 2; 3 4] times the columns (5, 6), (0, 1), (6, 6) mod 7. */
static void test_the_twin_is_the_product(void **state)
{
    static const uint16_t c[] = {1, 2, 3, 4}, a[] = {5, 0, 6}, b[] = {6, 1, 6};
    static const uint16_t want[] = {17 % 7, 2, 18 % 7, 39 % 7, 4, 42 % 7};
    const uint16_t *in[] = {a, b};
    uint16_t out[6];
    struct fp16 f;

    (void)state;
    init(&f, 7);
    fp16_mat_naive(out, 3, c, in, 3, 2, 2, &f);
    assert_memory_equal(out, want, sizeof out);
}

static void test_every_length_and_not_an_element_further(void **state)
{
    static const uint32_t primes[] = {641, 8209, 65521};
    struct fp16 f;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        init(&f, primes[i]);
        for (size_t n = 0; n <= LONGEST; n++) {
            fill(5, 3, n, &f, (uint32_t)n);
            check(5, 3, n, &f);
        }
    }
}

static void test_every_number_of_rows_and_terms(void **state)
{
    static const uint32_t primes[] = {641, 16381, 65519};
    struct fp16 f;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        init(&f, primes[i]);
        for (uint32_t rows = 1; rows <= 20; rows++)
            for (uint32_t terms = 1; terms <= 20; terms++) {
                fill(rows, terms, 75, &f, rows * 100 + terms);
                check(rows, terms, 75, &f);
            }
    }
}

static void test_every_prime(void **state)
{
    struct fp16 f;

    (void)state;
    for (uint32_t p = 3; p != 0; p = fp16_prime_above(p)) {
        init(&f, p);
        fill(4, 6, 40, &f, p);
        check(4, 6, 40, &f);
    }
}

static void test_many_terms_of_primes_around_the_powers_of_two(void **state)
{
    static const uint32_t terms[] = {1, 2, 3, 4, 7, 8, 9, 30, 31, 32, 33, 100, 128, 255, 256};
    struct fp16 f;

    (void)state;
    for (uint32_t i = 0; i < PRIMES_N; i++) {
        init(&f, PRIMES[i]);
        for (uint32_t k = 0; k < 15; k++) {
            fill(7, terms[k], 101, &f, i * 31 + k);
            check(7, terms[k], 101, &f);
        }
    }
}

/* All products of one sign and of the largest size, and all but one: row i has the coefficient
 * i % 4 of four, column j the value j % 6 of six. */
static void worst(uint32_t terms, const struct fp16 *f)
{
    const uint32_t h = f->half, p = f->p, c[] = {h, h + 1, h > 128 ? 128 : h, p - 1};
    const uint32_t x[] = {0, p - 1, h, h + 1, 1, p - 2};

    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t u = 0; u < terms; u++)
            data.c[i * terms + u] = (uint16_t)c[i];
    for (uint32_t u = 0; u < terms; u++)
        for (uint32_t j = 0; j < 70; j++)
            data.x[u][j] = (uint16_t)x[(j + (u == j / 6)) % 6];
    check(4, terms, 70, f);
}

static void test_sums_as_large_as_they_can_be(void **state)
{
    struct fp16 f;

    (void)state;
    for (uint32_t terms = 1; terms <= TERMS; terms++)
        for (uint32_t i = 0; i < PRIMES_N; i++) {
            init(&f, PRIMES[i]);
            worst(terms, &f);
        }
}

/* For each number of terms the last prime in the narrow form, and the first that needs the wide
 * one. */
static void test_the_border_between_the_forms(void **state)
{
    struct fp16_mat m;
    struct fp16 f;
    uint32_t p = 32749;

    (void)state;
    for (uint32_t terms = 1; terms <= TERMS; terms++) {
        memset(data.c, 0, sizeof data.c);
        for (;; p -= 2) {
            if (!fp16_init(&f, p))
                continue;
            fp16_mat_init(&m, data.space, data.c, 4, terms, &f);
            if (!m.wide)
                break;
        }
        worst(terms, &f);
        init(&f, fp16_prime_above(p));
        fp16_mat_init(&m, data.space, data.c, 4, terms, &f);
        assert_true(m.wide);
        worst(terms, &f);
    }
    assert_true(p > 5600 && p < 5800); /* 256 (p/2)^2 < 2^31 */
}

static void test_rows_may_be_the_same_and_out_may_have_gaps(void **state)
{
    struct fp16_mat m;
    struct fp16 f;

    (void)state;
    init(&f, 1021);
    fill(3, 4, 50, &f, 3);
    for (uint32_t u = 0; u < 4; u++)
        data.in[u] = data.x[u % 2];
    fp16_mat_init(&m, data.space, data.c, 3, 4, &f);
    fp16_mat_naive(data.want, 90, data.c, data.in, 50, 3, 4, &f);
    memset(data.got, 0xa5, sizeof data.got);
    fp16_mat_mul(&m, data.got, 90, data.in, 50);
    for (uint32_t i = 0; i < 3; i++) {
        assert_memory_equal(data.got + i * 90, data.want + i * 90, 50 * sizeof *data.got);
        for (uint32_t j = 50; j < 90; j++)
            assert_int_equal(data.got[i * 90 + j], CANARY);
    }
}

/* Row pointers anywhere: no kernel may ask for alignment. */
static void test_unaligned_rows(void **state)
{
    struct fp16_mat m;
    struct fp16 f;

    (void)state;
    init(&f, 641);
    fill(6, 6, LONGEST, &f, 5);
    for (uint32_t u = 0; u < 6; u++)
        data.in[u] = data.x[u] + u + 1;
    fp16_mat_init(&m, data.space, data.c, 6, 6, &f);
    fp16_mat_naive(data.want, 302, data.c, data.in, 301, 6, 6, &f);
    for (size_t k = 0; k < fp16_mat_kernels_n; k++)
        if (fp16_mat_kernels[k].runs_here()) {
            compare(&fp16_mat_kernels[k], &m, 301);
        }
}

static void test_another_coefficient_gives_another_row(void **state)
{
    struct fp16_mat m;
    struct fp16 f;

    (void)state;
    init(&f, 65521);
    fill(2, 3, 64, &f, 1);
    check(2, 3, 64, &f);
    memcpy(data.want, data.got, sizeof data.want);
    data.c[4] = (uint16_t)((data.c[4] + 1U) % f.p);
    fp16_mat_init(&m, data.space, data.c, 2, 3, &f);
    fp16_mat_mul(&m, data.got, 65, data.in, 64);
    assert_memory_equal(data.got, data.want, 64 * sizeof *data.got);
    assert_memory_not_equal(data.got + 65, data.want + 65, 64 * sizeof *data.got);
}

struct sizes {
    uint32_t rows, terms;
    size_t n, stride;
};

static void multiply(void *arg)
{
    const struct sizes *s = arg;
    struct fp16_mat m;
    struct fp16 f;

    if (!fp16_init(&f, 641))
        return;
    for (uint32_t u = 0; u < TERMS; u++)
        data.in[u] = data.x[u];
    fp16_mat_init(&m, data.space, data.c, s->rows, s->terms, &f);
    fp16_mat_mul(&m, data.got, s->stride, data.in, s->n);
}

static void test_sizes_outside_the_contract_abort(void **state)
{
    struct sizes good = {2, TERMS, 10, 10}, no_rows = {0, 3, 10, 10}, no_terms = {2, 0, 10, 10};
    struct sizes many = {2, TERMS + 1, 10, 10}, overlap = {2, 3, 10, 9};

    (void)state;
    assert_false(aborts(multiply, &good));
    assert_true(aborts(multiply, &no_rows));
    assert_true(aborts(multiply, &no_terms));
    assert_true(aborts(multiply, &many));
    assert_true(aborts(multiply, &overlap));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_twin_is_the_product),
        cmocka_unit_test(test_every_length_and_not_an_element_further),
        cmocka_unit_test(test_every_number_of_rows_and_terms),
        cmocka_unit_test(test_every_prime),
        cmocka_unit_test(test_many_terms_of_primes_around_the_powers_of_two),
        cmocka_unit_test(test_sums_as_large_as_they_can_be),
        cmocka_unit_test(test_the_border_between_the_forms),
        cmocka_unit_test(test_rows_may_be_the_same_and_out_may_have_gaps),
        cmocka_unit_test(test_unaligned_rows),
        cmocka_unit_test(test_another_coefficient_gives_another_row),
        cmocka_unit_test(test_sizes_outside_the_contract_abort),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
