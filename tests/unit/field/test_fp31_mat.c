/* test_fp31_mat.c -- every kernel of the product against the twin, where overflow, blocks and tails
 * would show.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp31_mat.h"

#include "tests/golden/field.h"
#include "tests/lib/aborts.h"

#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

/* SPACE holds what the widest kernel needs, and a canary. */
enum { ELEMENTS = 700 * 71, SPACE = 1 << 21, ROWS_PAST = 8 };

#define CANARY UINT32_C(0xa5a5a5a5)

static struct {
    uint32_t a[ELEMENTS], b[ELEMENTS];
    uint32_t want[ELEMENTS], got[ELEMENTS];
    uint8_t space[SPACE + 1];
} data;

/* Rows of A and B without gaps, of C with one. */
static struct mat_shape shape_of(size_t n, size_t k, size_t m)
{
    const struct mat_shape s = {.n = n, .k = k, .m = m, .lda = k, .ldb = m, .ldc = m + 1};

    assert_true(n * k <= ELEMENTS && k * m <= ELEMENTS && (n + ROWS_PAST) * (m + 1) <= ELEMENTS);
    return s;
}

/* The ends of the range, the middle, where a balanced one changes its sign, and where one that is
 * cut has its largest parts. */
static const uint32_t SPECIAL[] = {
    0, 1, FP31_P - 1, FP31_HALF, FP31_HALF + 1, FP31_HALF - 1, FP31_P - 2, 1 << 15, 12345678,
};

enum { SPECIAL_N = sizeof SPECIAL / sizeof SPECIAL[0] };

static uint32_t element(uint64_t seed, uint64_t i)
{
    const uint64_t r = golden_field_mixed(seed, i);

    return r % 10 == 0 ? SPECIAL[r / 10 % SPECIAL_N] : (uint32_t)((r >> 3) % FP31_P);
}

static void fill(const struct mat_shape *s, uint64_t seed)
{
    for (size_t i = 0; i < s->n * s->lda; i++)
        data.a[i] = element(2 * seed, i);
    for (size_t i = 0; i < s->k * s->ldb; i++)
        data.b[i] = element(2 * seed + 1, i);
}

static void compare(const struct mat_kernel *kernel, const struct mat_shape *s, size_t align)
{
    const size_t space = mat_space(kernel, s);

    assert_true(align + space <= SPACE);
    data.space[align + space] = 0x5a;
    memset(data.got, 0xa5, (s->n + ROWS_PAST) * s->ldc * sizeof *data.got);
    mat_mul(kernel, data.got, data.a, data.b, s, data.space + align);
    assert_int_equal(data.space[align + space], 0x5a);
    for (size_t i = 0; i < s->n + ROWS_PAST; i++)
        for (size_t j = 0; j < s->ldc; j++) {
            const uint32_t want = i < s->n && j < s->m ? data.want[i * s->ldc + j] : CANARY;

            if (data.got[i * s->ldc + j] != want)
                fail_msg("%s: %zu x %zu x %zu: (%zu, %zu) is %llu, not %llu", kernel->name, s->n,
                         s->k, s->m, i, j, (unsigned long long)data.got[i * s->ldc + j],
                         (unsigned long long)want);
        }
}

/* All kernels that run here on what is in `data`. */
static void check(const struct mat_shape *s)
{
    fp31_mat_naive(data.want, data.a, data.b, s);
    for (size_t k = 0; k < fp31_mat_kernels_n; k++)
        if (fp31_mat_kernels[k]->runs_here())
            compare(fp31_mat_kernels[k], s, (s->n + 3 * s->m) % 64);
}

static void check_random(size_t n, size_t k, size_t m)
{
    const struct mat_shape s = shape_of(n, k, m);

    fill(&s, n * 1000000 + k * 1000 + m);
    check(&s);
}

/* The twin and the chosen kernel against whole numbers. */
static void test_products_are_those_of_whole_numbers(void **state)
{
    (void)state;
    for (uint32_t g = 0; g < GOLDEN_FIELD_SHAPES; g++) {
        const size_t *d = golden_field_shapes[g];
        const struct mat_shape s = {d[0], d[1], d[2], d[1], d[2], d[2]};
        const size_t bytes = s.n * s.m * sizeof *data.got;

        for (size_t i = 0; i < s.n * s.k; i++)
            data.a[i] = (uint32_t)(golden_field_mixed(2 * g, i) % FP31_P);
        for (size_t i = 0; i < s.k * s.m; i++)
            data.b[i] = (uint32_t)(golden_field_mixed(2 * g + 1, i) % FP31_P);
        fp31_mat_naive(data.want, data.a, data.b, &s);
        assert_memory_equal(data.want, golden_fp31_products[g], bytes);
        assert_true(fp31_mat_space(&s) <= SPACE);
        fp31_mat_mul(data.got, data.a, data.b, &s, data.space);
        assert_memory_equal(data.got, golden_fp31_products[g], bytes);
    }
}

static void test_every_small_shape(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 14; n++)
        for (size_t k = 1; k <= 18; k++)
            for (size_t m = 1; m <= 10; m++)
                check_random(n, k, m);
}

static void test_every_size_to_70_of_each_dimension(void **state)
{
    (void)state;
    for (size_t s = 1; s <= 70; s++) {
        check_random(s, 9, 5);
        check_random(3, s, 11);
        check_random(5, 8, s);
        check_random(s, s, s);
        check_random(s, 71 - s, 35);
    }
}

/* Around where k and the rows of A are cut. */
static void test_sizes_around_the_blocks(void **state)
{
    static const size_t around[] = {111, 112, 113, 127, 128, 129, 223, 224, 225,
                                    255, 256, 257, 258, 336, 511, 512, 513, 700};

    (void)state;
    for (size_t i = 0; i < sizeof around / sizeof around[0]; i++) {
        check_random(7, around[i], 9);
        check_random(around[i], 5, 6);
        check_random(3, 4, around[i]);
    }
    check_random(257, 65, 34);
    check_random(60, 700, 70);
}

/* Sums as large as they can be, of one sign and of both. */
static void test_all_pairs_of_the_largest_factors(void **state)
{
    static const size_t depths[] = {1, 2, 3, 4, 6, 7, 8, 9, 14, 27, 28, 29, 56, 64, 113, 257, 600};

    (void)state;
    for (uint32_t x = 0; x < SPECIAL_N; x++)
        for (uint32_t y = 0; y < SPECIAL_N; y++)
            for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++) {
                const struct mat_shape s = shape_of(2, depths[d], 3);

                for (size_t i = 0; i < s.n * s.k; i++) /* the second row: one that is different */
                    data.a[i] = SPECIAL[i == s.k ? y : x];
                for (size_t i = 0; i < s.k * s.m; i++)
                    data.b[i] = SPECIAL[y];
                check(&s);
            }
}

static void test_all_elements_minus_one(void **state)
{
    (void)state;
    for (size_t k = 1; k <= 700; k += 1 + k / 9) {
        const struct mat_shape s = shape_of(13, k, 37);

        for (size_t i = 0; i < s.n * s.k; i++)
            data.a[i] = FP31_P - 1;
        for (size_t i = 0; i < s.k * s.m; i++)
            data.b[i] = FP31_P - 1;
        check(&s);
        for (size_t i = 0; i < s.m; i++)
            assert_true(data.got[i] == k); /* (-1)(-1), k times */
    }
}

/* -2^62 is folded to -2^31, and that to -1: the one way below 0. */
static void test_a_sum_that_is_still_negative_when_reduced(void **state)
{
    const int32_t factor = 0x3ffffffe;
    const struct mat_shape s = shape_of(1, 5, 1);

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        data.a[i] = fp31_from_signed(factor);
        data.b[i] = fp31_from_signed(-factor);
    }
    data.a[4] = (1 << 17) - 4;
    data.b[4] = fp31_from_signed(-(1 << 17) - 4);
    check(&s);
    assert_int_equal(data.got[0], FP31_P - 1);
}

static void test_rows_may_have_gaps(void **state)
{
    const struct mat_shape s = {.n = 21, .k = 30, .m = 19, .lda = 37, .ldb = 41, .ldc = 50};

    (void)state;
    fill(&s, 1);
    for (size_t i = 0; i < s.n; i++) /* what lies in the gaps is nobody's */
        for (size_t u = s.k; u < s.lda; u++)
            data.a[i * s.lda + u] = CANARY;
    for (size_t u = 0; u < s.k; u++)
        for (size_t j = s.m; j < s.ldb; j++)
            data.b[u * s.ldb + j] = CANARY;
    check(&s);
}

static void test_the_product_of_nothing_is_zero_and_nothing_stays_untouched(void **state)
{
    (void)state;
    for (size_t k = 0; k < fp31_mat_kernels_n; k++) {
        struct mat_shape s = {.n = 3, .k = 0, .m = 4, .lda = 0, .ldb = 4, .ldc = 5};

        if (!fp31_mat_kernels[k]->runs_here())
            continue;
        memset(data.got, 0xa5, sizeof data.got);
        mat_mul(fp31_mat_kernels[k], data.got, data.a, data.b, &s, data.space);
        for (size_t i = 0; i < 15; i++)
            assert_true(data.got[i] == (i % 5 < 4 ? 0 : CANARY));
        memset(data.got, 0xa5, sizeof data.got);
        s = (struct mat_shape){.n = 0, .k = 3, .m = 4, .lda = 3, .ldb = 4, .ldc = 4};
        mat_mul(fp31_mat_kernels[k], data.got, data.a, data.b, &s, data.space);
        s = (struct mat_shape){.n = 3, .k = 3, .m = 0, .lda = 3, .ldb = 0, .ldc = 0};
        mat_mul(fp31_mat_kernels[k], data.got, data.a, data.b, &s, data.space);
        for (size_t i = 0; i < 15; i++)
            assert_true(data.got[i] == CANARY);
    }
}

static void test_another_element_gives_another_column_and_no_other(void **state)
{
    const struct mat_shape s = shape_of(9, 40, 33);

    (void)state;
    fill(&s, 8);
    data.a[3 * s.lda + 20] = 1;
    check(&s);
    memcpy(data.want, data.got, sizeof data.want);
    data.b[20 * s.ldb + 30] = fp31_add(data.b[20 * s.ldb + 30], 1);
    fp31_mat_mul(data.got, data.a, data.b, &s, data.space);
    for (size_t i = 0; i < s.n; i++)
        for (size_t j = 0; j < s.m; j++) {
            const uint32_t less = fp31_sub(data.got[i * s.ldc + j], data.want[i * s.ldc + j]);

            assert_true(less == (j == 30 ? data.a[i * s.lda + 20] : 0));
        }
}

/* However large the matrices are: for sizes that are never multiplied here. */
static void test_scratch_is_bounded(void **state)
{
    const struct mat_shape s = {.n = SIZE_MAX / 64, .k = SIZE_MAX / 64, .m = SIZE_MAX / 64};

    (void)state;
    for (size_t k = 0; k < fp31_mat_kernels_n; k++)
        if (fp31_mat_kernels[k]->runs_here())
            assert_true(mat_space(fp31_mat_kernels[k], &s) <= SPACE);
}

static void multiply(void *arg)
{
    const struct mat_shape *s = arg;

    fp31_mat_mul(data.got, data.a, data.b, s, data.space);
}

static void test_sizes_outside_the_contract_abort(void **state)
{
    struct mat_shape good = {3, 4, 5, 4, 5, 5}, a = {3, 4, 5, 3, 5, 5}, b = {3, 4, 5, 4, 4, 5};
    struct mat_shape c = {3, 4, 5, 4, 5, 4};

    (void)state;
    memset(data.a, 0, sizeof data.a);
    memset(data.b, 0, sizeof data.b);
    assert_false(aborts(multiply, &good));
    assert_true(aborts(multiply, &a));
    assert_true(aborts(multiply, &b));
    assert_true(aborts(multiply, &c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_are_those_of_whole_numbers),
        cmocka_unit_test(test_every_small_shape),
        cmocka_unit_test(test_every_size_to_70_of_each_dimension),
        cmocka_unit_test(test_sizes_around_the_blocks),
        cmocka_unit_test(test_all_pairs_of_the_largest_factors),
        cmocka_unit_test(test_all_elements_minus_one),
        cmocka_unit_test(test_a_sum_that_is_still_negative_when_reduced),
        cmocka_unit_test(test_rows_may_have_gaps),
        cmocka_unit_test(test_the_product_of_nothing_is_zero_and_nothing_stays_untouched),
        cmocka_unit_test(test_another_element_gives_another_column_and_no_other),
        cmocka_unit_test(test_scratch_is_bounded),
        cmocka_unit_test(test_sizes_outside_the_contract_abort),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
