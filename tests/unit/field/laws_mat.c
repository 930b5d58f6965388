/* laws_mat.c -- products of matrices: every kernel that runs here.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/field/laws_mat.h"

#include "tests/golden/field.h"
#include "tests/lib/aborts.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

/* SPACE holds what the widest kernel needs, and a canary. */
enum { ELEMENTS = 700 * 71, SPACE = 1 << 21, ROWS_PAST = 8 };

static struct {
    uint64_t a[ELEMENTS], b[ELEMENTS];
    uint64_t want[ELEMENTS], got[ELEMENTS];
    uint8_t space[SPACE + 1];
} data;

/* Rows of A and B without gaps, of C with one. */
static struct mat_shape shape_of(size_t n, size_t k, size_t m)
{
    const struct mat_shape d = {.n = n, .k = k, .m = m, .lda = k, .ldb = m, .ldc = m + 1};

    assert_true(n * k <= ELEMENTS && k * m <= ELEMENTS && (n + ROWS_PAST) * (m + 1) <= ELEMENTS);
    return d;
}

static uint64_t element(const struct subject *s, uint64_t seed, uint64_t i)
{
    const uint64_t r = golden_field_mixed(seed, i);

    return r % 10 == 0 ? s->special[r / 10 % s->special_n] : (r >> 3) % s->field->p;
}

static void fill(const struct subject *s, const struct mat_shape *d, uint64_t seed)
{
    for (size_t i = 0; i < d->n * d->lda; i++)
        s->field->set(data.a, i, element(s, 2 * seed, i));
    for (size_t i = 0; i < d->k * d->ldb; i++)
        s->field->set(data.b, i, element(s, 2 * seed + 1, i));
}

static void fill_all(const struct subject *s, void *x, size_t n, uint64_t v)
{
    for (size_t i = 0; i < n; i++)
        s->field->set(x, i, v);
}

/* Everything that nobody writes: `want` has it, too. */
static size_t clear(const struct subject *s, void *c, const struct mat_shape *d)
{
    const size_t bytes = (d->n + ROWS_PAST) * d->ldc * s->field->bytes;

    memset(c, SUBJECT_CANARY, bytes);
    return bytes;
}

static void compare(const struct subject *s, const struct mat_kernel *kernel,
                    const struct mat_shape *d)
{
    const size_t space = mat_space(kernel, d), align = (d->n + 3 * d->m) % 64;
    const size_t bytes = clear(s, data.got, d);

    assert_true(align + space <= SPACE);
    data.space[align + space] = 0x5a;
    mat_mul(kernel, data.got, data.a, data.b, d, data.space + align);
    assert_int_equal(data.space[align + space], 0x5a);
    if (memcmp(data.got, data.want, bytes) == 0)
        return;
    for (size_t i = 0; i < bytes / s->field->bytes; i++) {
        const uint64_t got = s->field->get(data.got, i), want = s->field->get(data.want, i);

        if (got != want)
            fail_msg("%s: %zu x %zu x %zu: (%zu, %zu) is %llu, not %llu", kernel->name, d->n, d->k,
                     d->m, i / d->ldc, i % d->ldc, (unsigned long long)got,
                     (unsigned long long)want);
    }
}

/* All kernels that run here on what is in `data`. */
static void check(const struct subject *s, const struct mat_shape *d)
{
    clear(s, data.want, d);
    s->mat_naive(data.want, data.a, data.b, d);
    for (size_t k = 0; k < *s->kernels_n; k++)
        if (s->kernels[k]->runs_here())
            compare(s, s->kernels[k], d);
}

static void check_random(const struct subject *s, size_t n, size_t k, size_t m)
{
    const struct mat_shape d = shape_of(n, k, m);

    fill(s, &d, n * 1000000 + k * 1000 + m);
    check(s, &d);
}

/* The twin and the chosen kernel against whole numbers. */
static void test_products_are_those_of_whole_numbers(void **state)
{
    const struct subject *s = *state;
    const struct field *f = s->field;

    for (uint32_t g = 0; g < GOLDEN_FIELD_SHAPES; g++) {
        const size_t *n = golden_field_shapes[g];
        const struct mat_shape d = {n[0], n[1], n[2], n[1], n[2], n[2]};
        const size_t bytes = d.n * d.m * f->bytes;
        size_t space;

        for (size_t i = 0; i < d.n * d.k; i++)
            f->set(data.a, i, golden_field_mixed(2 * g, i) % f->p);
        for (size_t i = 0; i < d.k * d.m; i++)
            f->set(data.b, i, golden_field_mixed(2 * g + 1, i) % f->p);
        s->mat_naive(data.want, data.a, data.b, &d);
        assert_memory_equal(data.want, s->product(g), bytes);
        space = f->mat_space(&d);
        assert_true(space <= SPACE);
        memset(data.space + space, 0x5a, sizeof data.space - space);
        f->mat_mul(data.got, data.a, data.b, &d, data.space);
        assert_memory_equal(data.got, s->product(g), bytes);
        while (space < sizeof data.space) /* the scratch that it asks for is all it writes */
            assert_int_equal(data.space[space++], 0x5a);
    }
}

static void test_every_small_shape(void **state)
{
    for (size_t n = 1; n <= 14; n++)
        for (size_t k = 1; k <= 18; k++)
            for (size_t m = 1; m <= 10; m++)
                check_random(*state, n, k, m);
}

static void test_every_size_to_70_of_each_dimension(void **state)
{
    const struct subject *s = *state;

    for (size_t size = 1; size <= 70; size++) {
        check_random(s, size, 9, 5);
        check_random(s, 3, size, 11);
        check_random(s, 5, 8, size);
        check_random(s, size, size, size);
        check_random(s, size, 71 - size, 35);
    }
}

/* Around where k and the rows of A are cut. */
static void test_sizes_around_the_blocks(void **state)
{
    static const size_t around[] = {111, 112, 113, 127, 128, 129, 223, 224, 225,
                                    255, 256, 257, 258, 336, 511, 512, 513, 700};
    const struct subject *s = *state;

    for (size_t i = 0; i < sizeof around / sizeof around[0]; i++) {
        check_random(s, 7, around[i], 9);
        check_random(s, around[i], 5, 6);
        check_random(s, 3, 4, around[i]);
    }
    check_random(s, 257, 65, 34);
    check_random(s, 60, 700, 70);
}

/* Sums as large as they can be, of one sign and of both. */
static void test_all_pairs_of_the_largest_factors(void **state)
{
    static const size_t depths[] = {1, 2, 3, 4, 6, 7, 8, 9, 14, 27, 28, 29, 56, 64, 113, 257, 600};
    const struct subject *s = *state;

    for (size_t x = 0; x < s->special_n; x++)
        for (size_t y = 0; y < s->special_n; y++)
            for (size_t k = 0; k < sizeof depths / sizeof depths[0]; k++) {
                const struct mat_shape d = shape_of(2, depths[k], 3);

                fill_all(s, data.a, d.n * d.k, s->special[x]);
                s->field->set(data.a, d.k, s->special[y]); /* the second row: one that differs */
                fill_all(s, data.b, d.k * d.m, s->special[y]);
                check(s, &d);
            }
}

static void test_all_elements_minus_one(void **state)
{
    const struct subject *s = *state;

    for (size_t k = 1; k <= 700; k += 1 + k / 9) {
        const struct mat_shape d = shape_of(13, k, 37);

        fill_all(s, data.a, d.n * d.k, s->field->p - 1);
        fill_all(s, data.b, d.k * d.m, s->field->p - 1);
        check(s, &d);
        for (size_t i = 0; i < d.m; i++)
            assert_true(s->field->get(data.got, i) == k); /* (-1)(-1), k times */
    }
}

static void test_rows_may_have_gaps(void **state)
{
    const struct mat_shape d = {.n = 21, .k = 30, .m = 19, .lda = 37, .ldb = 41, .ldc = 50};
    const struct subject *s = *state;

    fill(s, &d, 1);
    for (size_t i = 0; i < d.n; i++) /* what lies in the gaps is nobody's */
        for (size_t u = d.k; u < d.lda; u++)
            subject_put(s, data.a, i * d.lda + u, UINT64_MAX);
    for (size_t u = 0; u < d.k; u++)
        for (size_t j = d.m; j < d.ldb; j++)
            subject_put(s, data.b, u * d.ldb + j, UINT64_MAX);
    check(s, &d);
}

static void test_the_product_of_nothing_is_zero_and_nothing_stays_untouched(void **state)
{
    const struct subject *s = *state;

    for (size_t k = 0; k < *s->kernels_n; k++) {
        struct mat_shape d = {.n = 3, .k = 0, .m = 4, .lda = 0, .ldb = 4, .ldc = 5};

        if (!s->kernels[k]->runs_here())
            continue;
        memset(data.got, SUBJECT_CANARY, sizeof data.got);
        mat_mul(s->kernels[k], data.got, data.a, data.b, &d, data.space);
        for (size_t i = 0; i < 15; i++)
            assert_true(i % 5 < 4 ? s->field->get(data.got, i) == 0
                                  : subject_is_canary(s, data.got, i));
        memset(data.got, SUBJECT_CANARY, sizeof data.got);
        d = (struct mat_shape){.n = 0, .k = 3, .m = 4, .lda = 3, .ldb = 4, .ldc = 4};
        mat_mul(s->kernels[k], data.got, data.a, data.b, &d, data.space);
        d = (struct mat_shape){.n = 3, .k = 3, .m = 0, .lda = 3, .ldb = 0, .ldc = 0};
        mat_mul(s->kernels[k], data.got, data.a, data.b, &d, data.space);
        for (size_t i = 0; i < 15; i++)
            assert_true(subject_is_canary(s, data.got, i));
    }
}

static void test_another_element_gives_another_column_and_no_other(void **state)
{
    const struct mat_shape d = shape_of(9, 40, 33);
    const struct subject *s = *state;
    const struct field *f = s->field;

    fill(s, &d, 8);
    f->set(data.a, 3 * d.lda + 20, 1);
    check(s, &d);
    f->set(data.b, 20 * d.ldb + 30, s->add(f->get(data.b, 20 * d.ldb + 30), 1));
    f->mat_mul(data.got, data.a, data.b, &d, data.space);
    for (size_t i = 0; i < d.n; i++)
        for (size_t j = 0; j < d.m; j++) {
            const size_t at = i * d.ldc + j;
            const uint64_t less = s->sub(f->get(data.got, at), f->get(data.want, at));

            assert_true(less == (j == 30 ? f->get(data.a, i * d.lda + 20) : 0));
        }
}

/* However large the matrices are: for sizes that are never multiplied here. */
static void test_scratch_is_bounded(void **state)
{
    const struct mat_shape d = {.n = SIZE_MAX / 64, .k = SIZE_MAX / 64, .m = SIZE_MAX / 64};
    const struct subject *s = *state;

    for (size_t k = 0; k < *s->kernels_n; k++)
        if (s->kernels[k]->runs_here())
            assert_true(mat_space(s->kernels[k], &d) <= SPACE);
}

struct multiplied {
    const struct subject *s;
    struct mat_shape d;
};

static void multiply(void *arg)
{
    const struct multiplied *m = arg;

    m->s->field->mat_mul(data.got, data.a, data.b, &m->d, data.space);
}

static void test_sizes_outside_the_contract_abort(void **state)
{
    const struct subject *s = *state;

    memset(data.a, 0, sizeof data.a);
    memset(data.b, 0, sizeof data.b);
    assert_false(aborts(multiply, &(struct multiplied){s, {3, 4, 5, 4, 5, 5}}));
    assert_true(aborts(multiply, &(struct multiplied){s, {3, 4, 5, 3, 5, 5}}));
    assert_true(aborts(multiply, &(struct multiplied){s, {3, 4, 5, 4, 4, 5}}));
    assert_true(aborts(multiply, &(struct multiplied){s, {3, 4, 5, 4, 5, 4}}));
}

int laws_mat(const struct subject *s)
{
    const struct CMUnitTest laws[] = {
        cmocka_unit_test(test_products_are_those_of_whole_numbers),
        cmocka_unit_test(test_every_small_shape),
        cmocka_unit_test(test_every_size_to_70_of_each_dimension),
        cmocka_unit_test(test_sizes_around_the_blocks),
        cmocka_unit_test(test_all_pairs_of_the_largest_factors),
        cmocka_unit_test(test_all_elements_minus_one),
        cmocka_unit_test(test_rows_may_have_gaps),
        cmocka_unit_test(test_the_product_of_nothing_is_zero_and_nothing_stays_untouched),
        cmocka_unit_test(test_another_element_gives_another_column_and_no_other),
        cmocka_unit_test(test_scratch_is_bounded),
        cmocka_unit_test(test_sizes_outside_the_contract_abort),
    };

    return subject_run(s, laws, sizeof laws / sizeof laws[0]);
}
