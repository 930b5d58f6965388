/* test_arithmetic.c -- the fields: no element decides a branch or an address.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/valgrind/secrets.h"

#include "common/base/bits.h"
#include "common/field/field.h"
#include "common/field/fp16_mat.h"
#include "common/field/fp16_vec.h"
#include "common/field/fp31_mat.h"
#include "common/field/fp31_vec.h"
#include "common/field/fp61_mat.h"
#include "common/field/fp61_vec.h"
#include "common/lcc/lcc.h"
#include "common/lcc/product.h"

#include <string.h>

enum { N = 203, PARTIES = 7, K = 2, T = 2, ROWS = K + T };

static const struct field *const fields[] = {&field_31, &field_61};
enum { FIELDS = sizeof fields / sizeof fields[0] };

/* Elements of any field, some of them at its ends. */
static void fill(const struct field *f, void *v, size_t n)
{
    show(v, n * f->bytes);
    for (size_t i = 0; i < n; i++)
        f->set(v, i, i % 5 == 0 ? f->p - 1 - i : i * 0x9e3779b97f4aULL % f->p);
    hide(v, n * f->bytes);
}

static void test_single_elements(void **state)
{
    uint64_t a = FP61_P - 1, b = 12345, sum = 0;
    uint32_t c = FP31_P - 1, d = 6789, small = 0;
    uint16_t e = 65520, g = 77, tiny = 0;
    int64_t s = -5;
    struct fp16 f;

    (void)state;
    assert_true(fp16_init(&f, 65521));
    hide(&a, sizeof a), hide(&b, sizeof b), hide(&c, sizeof c), hide(&d, sizeof d);
    hide(&e, sizeof e), hide(&g, sizeof g), hide(&s, sizeof s);
    BRANCH_FREE(sum = fp61_add(a, b) ^ fp61_sub(a, b) ^ fp61_mul(a, b) ^ fp61_from_signed(s) ^
                      (uint64_t)fp61_signed(a));
    assert_true(is_secret(&sum, sizeof sum));
    BRANCH_FREE(small = fp31_add(c, d) ^ fp31_sub(c, d) ^ fp31_mul(c, d) ^ fp31_from_signed(s) ^
                        (uint32_t)fp31_signed(c));
    assert_true(is_secret(&small, sizeof small));
    BRANCH_FREE(tiny = fp16_add(e, g, &f) ^ fp16_sub(e, g, &f) ^ fp16_mul(e, g, &f));
    assert_true(is_secret(&tiny, sizeof tiny));
}

static void test_vectors(void **state)
{
    uint64_t x[N], y[N], random[N];
    uint8_t packed[N * 8];
    int64_t s[N];
    size_t used, made;
    bool valid;

    (void)state;
    for (int i = 0; i < FIELDS; i++) {
        const struct field *f = fields[i];

        fill(f, x, N);
        fill(f, y, N);
        BRANCH_FREE(f->add(x, y, N));
        BRANCH_FREE(f->axpy(x, f->p - 3, y, N));
        BRANCH_FREE(f->to_signed(s, x, N));
        BRANCH_FREE(f->from_signed(x, s, N));
        BRANCH_FREE(f->pack(packed, x, N));
        assert_true(is_secret(packed, f->packed(N)));
        BRANCH_FREE(f->unpack(y, packed, N));
        BRANCH_FREE(valid = f->valid(y, N));
        assert_true(valid);
        memset(random, 0xff, sizeof random); /* the first words are rejected */
        for (size_t k = 3; k < N; k++)
            random[k] = k * 0x9e3779b97f4a7c15ULL;
        hide(random, sizeof random);
        BRANCH_FREE(made = f->uniform(x, N, (uint8_t *)random, sizeof random, &used));
        assert_true(made > N / 2 && is_secret(x, made * f->bytes));
    }
}

static void test_short_elements(void **state)
{
    uint16_t x[N], y[N], z[N];
    uint8_t packed[N * 2];
    size_t used, made;
    struct fp16 f;
    bool valid;

    (void)state;
    assert_true(fp16_init(&f, 251));
    for (size_t i = 0; i < N; i++)
        x[i] = y[i] = (uint16_t)(i * 7 % 251);
    hide(x, sizeof x);
    hide(y, sizeof y);
    BRANCH_FREE(fp16_vec_add(x, y, N, &f));
    BRANCH_FREE(valid = fp16_vec_valid(x, N, &f));
    assert_true(valid);
    for (uint32_t w = 1; w <= 16; w++) {
        BRANCH_FREE(bits_pack16(packed, x, N, w));
        assert_true(is_secret(packed, bits_bytes(N, w)));
        BRANCH_FREE(bits_unpack16(y, packed, N, w));
    }
    memset(packed, 0xff, 40);
    hide(packed, sizeof packed);
    BRANCH_FREE(made = fp16_vec_uniform(z, N, packed, sizeof packed, &used, &f));
    assert_true(is_secret(z, made * sizeof *z));
}

static unsigned multiply_by_all(const struct field *f, const struct mat_kernel *const *kernels,
                                size_t kernels_n)
{
    static uint64_t a[24 * 40], b[40 * 9], c[24 * 9], scratch[1 << 14];
    struct mat_shape shape = {24, 40, 9, 40, 9, 9};
    unsigned ran = 0;

    for (size_t k = 0; k < kernels_n; k++) {
        if (!kernels[k]->runs_here())
            continue;
        assert_true(mat_space(kernels[k], &shape) <= sizeof scratch);
        fill(f, a, 24 * 40);
        fill(f, b, 40 * 9);
        show(c, sizeof c);
        BRANCH_FREE(mat_mul(kernels[k], c, a, b, &shape, scratch));
        assert_true(is_secret(c, 24 * 9 * f->bytes));
        print_message("%s\n", kernels[k]->name);
        ran++;
    }
    return ran;
}

static void test_matrices_of_every_kernel(void **state)
{
    (void)state;
    assert_true(multiply_by_all(&field_31, fp31_mat_kernels, fp31_mat_kernels_n) >= 1);
    assert_true(multiply_by_all(&field_61, fp61_mat_kernels, fp61_mat_kernels_n) >= 1);
}

static void test_small_matrices_of_every_kernel(void **state)
{
    static uint16_t rows[ROWS][N], out[PARTIES][N], c[PARTIES * ROWS];
    const uint16_t *in[ROWS];
    static int32_t space[4096];
    struct fp16_mat m;
    struct fp16 f;

    (void)state;
    for (uint32_t p = 251; p <= 65521; p += 65270) { /* the narrow form and the wide one */
        assert_true(fp16_init(&f, p));
        for (uint32_t i = 0; i < PARTIES * ROWS; i++)
            c[i] = (uint16_t)(i * 2654435761u % p);
        assert_true(fp16_mat_space(PARTIES, ROWS) <= 4096);
        fp16_mat_init(&m, space, c, PARTIES, ROWS, &f);
        for (uint32_t u = 0; u < ROWS; u++) {
            show(rows[u], sizeof rows[u]);
            for (size_t i = 0; i < N; i++)
                rows[u][i] = (uint16_t)(i * 31 % p);
            hide(rows[u], sizeof rows[u]);
            in[u] = rows[u];
        }
        for (size_t k = 0; k < fp16_mat_kernels_n; k++) {
            if (!fp16_mat_kernels[k].runs_here())
                continue;
            show(out, sizeof out);
            BRANCH_FREE(fp16_mat_kernels[k].mul(&m, out[0], N, in, N));
            assert_true(is_secret(out, sizeof out));
            print_message("%s\n", fp16_mat_kernels[k].name);
        }
    }
}

static void test_shares_of_sums_and_products(void **state)
{
    const struct lcc_shape sums = {251, PARTIES, K, T};
    static uint16_t rows[ROWS * N], shares[PARTIES * N];
    static uint64_t wide[ROWS * N], dealt[PARTIES * N];
    struct product products;
    struct lcc c;

    (void)state;
    assert_int_equal(lcc_init(&c, &sums, NULL), STATUS_OK);
    for (size_t i = 0; i < ROWS * N; i++)
        rows[i] = (uint16_t)(i % 251);
    hide(rows, sizeof rows);
    BRANCH_FREE(lcc_encode(&c, shares, rows, N));
    assert_true(is_secret(shares, sizeof shares));
    lcc_deinit(&c);
    for (int i = 0; i < FIELDS; i++) {
        const struct product_shape shape = {fields[i], PARTIES, K, T};

        assert_int_equal(product_init(&products, &shape, NULL), STATUS_OK);
        fill(fields[i], wide, ROWS * N);
        show(dealt, sizeof dealt);
        BRANCH_FREE(product_encode(&products, dealt, wide, N));
        assert_true(is_secret(dealt, PARTIES * N * fields[i]->bytes));
        show(dealt, sizeof dealt);
        BRANCH_FREE(product_encode_same(&products, dealt, wide, N));
        assert_true(is_secret(dealt, PARTIES * N * fields[i]->bytes));
        BRANCH_FREE(product_deinit(&products));
    }
}

/* What a field must not do. */
__attribute__((noinline)) static uint64_t branching_add(uint64_t a, uint64_t b)
{
    volatile uint64_t sum = a + b;

    if (sum >= FP61_P)
        sum -= FP61_P;
    return sum;
}

static void test_a_reduction_by_a_branch_is_seen(void **state)
{
    uint64_t a = 5, b = 6;

    (void)state;
    hide(&a, sizeof a);
    BRANCHES((void)branching_add(a, b));
}

int main(void)
{
#define TEST(law) cmocka_unit_test_setup(law, watched)
    static const struct CMUnitTest tests[] = {
        TEST(test_single_elements),
        TEST(test_vectors),
        TEST(test_short_elements),
        TEST(test_matrices_of_every_kernel),
        TEST(test_small_matrices_of_every_kernel),
        TEST(test_shares_of_sums_and_products),
        TEST(test_a_reduction_by_a_branch_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
