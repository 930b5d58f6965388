/* test_product.c -- shares, decoding, what is refused.  What T shares say is in
 * test_product_private.c, what too few or wrong results do in test_product_few.c.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/lcc/product.h"

#include "common/base/mem.h"
#include "tests/golden/product.h"
#include "tests/unit/lcc/dealt.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static const struct field *const fields[] = {&field_31, &field_61};

static struct dealt d;

static void init(struct product *p, const struct field *f, uint32_t parties, uint32_t segments,
                 uint32_t privacy)
{
    struct product_shape s = {f, parties, segments, privacy};

    assert_int_equal(product_init(p, &s, NULL), STATUS_OK);
}

/* The members in `who` in another order. */
static void shuffle(uint32_t *who, uint32_t n, uint64_t *seed)
{
    for (uint32_t i = n; i > 1; i--) {
        const uint32_t k = (uint32_t)(dealt_next(seed) % i), last = who[i - 1];

        who[i - 1] = who[k];
        who[k] = last;
    }
}

/* --- decoding --- */

/* From every subset of R members, for every other one in falling order; returns how many. */
static uint32_t decode_from_all_subsets(const struct product_shape *s, uint64_t *seed)
{
    uint32_t done = 0;

    dealt_init(&d, s, &(struct dealt_sizes){2, 3, 2}, seed);
    for (uint32_t set = 0; set < 1U << s->parties; set++) {
        uint32_t who[DEALT_PARTIES], n = 0;

        if ((uint32_t)__builtin_popcount(set) != d.code.results)
            continue;
        for (uint32_t k = 0; k < s->parties; k++) {
            const uint32_t j = set & 1 ? k : s->parties - 1 - k;

            if (set >> j & 1)
                who[n++] = j;
        }
        assert_true(dealt_decodes(&d, who, n));
        done++;
    }
    dealt_deinit(&d);
    return done;
}

static void test_decodes_from_any_r_results(void **state)
{
    uint32_t done = 0, want = 0;
    uint64_t seed = 1;

    (void)state;
    for (uint32_t m = 3; m <= 12; m++) {
        for (uint32_t k = 1; k < m; k++)
            for (uint32_t t = 1; 2 * (k + t - 1) + 1 <= m; t++)
                for (uint32_t i = 0; i < 2; i++) {
                    const struct product_shape s = {fields[i], m, k, t};

                    done += decode_from_all_subsets(&s, &seed);
                }
        /* Over odd R: binomial(m, R) subsets, (R - 1) / 2 pairs of K and T, in two fields. */
        want += (m - 2) << (m - 2);
    }
    assert_int_equal(done, want);
    assert_true(done > 10000);
}

static uint32_t below(uint32_t n, uint64_t *seed)
{
    return (uint32_t)(dealt_next(seed) % n);
}

static void random_shape(struct product_shape *s, uint64_t *seed)
{
    s->parties = 3 + below(DEALT_PARTIES - 2, seed);
    s->segments = 1 + below((s->parties - 1) / 2, seed);
    s->privacy = 1 + below((s->parties + 1) / 2 - s->segments, seed);
}

/* More than R may be there, in any order; the first R are read. */
static void test_decodes_any_shape_from_whoever_answers_first(void **state)
{
    enum { SHAPES = 2000, ORDERS = 5 };
    uint32_t done = 0;
    uint64_t seed = 2;

    (void)state;
    for (uint32_t i = 0; i < SHAPES; i++) {
        struct product_shape s = {.field = fields[i % 2]};
        struct dealt_sizes sizes;

        random_shape(&s, &seed);
        sizes.rows = 1 + below(6, &seed);
        sizes.inputs = 1 + below(6, &seed);
        sizes.width = 1 + below(6, &seed);
        dealt_init(&d, &s, &sizes, &seed);
        for (uint32_t k = 0; k < ORDERS; k++) {
            uint32_t who[DEALT_PARTIES], n;

            for (uint32_t j = 0; j < s.parties; j++)
                who[j] = j;
            shuffle(who, s.parties, &seed);
            n = d.code.results + below(1 + s.parties - d.code.results, &seed);
            assert_true(dealt_decodes(&d, who, n));
            done++;
        }
        dealt_deinit(&d);
    }
    assert_int_equal(done, 10000);
}

/* FedVS's layer: inputs of several members, each with its powers, in one product (eq. 6). */
static void test_decodes_the_sum_over_members_and_powers(void **state)
{
    enum { M = 9, K = 2, T = 2, R = 7, MEMBERS = 3, POWERS = 4, INPUTS = MEMBERS * POWERS };
    uint64_t x[(K + T) * INPUTS], w[(1 + T) * INPUTS], x_shares[M * INPUTS], w_shares[M * INPUTS];
    uint64_t sums[M] = {0}, out[K], seed = 3;
    static const uint32_t who[R] = {8, 0, 6, 2, 3, 7, 5};
    const struct field *f = &field_61;
    const void *row[R];
    const struct product_results s = {row, who, R, 1};
    struct product p;
    int64_t shown[K];

    (void)state;
    init(&p, f, M, K, T);
    for (uint32_t i = 0; i < INPUTS; i++) {
        for (uint32_t k = 0; k < K;
             k++) { /* the value -3, 5 or 6, ..., to the power i % POWERS + 1 */
            const int64_t base = i / POWERS == 0 ? -3 - (int64_t)k : 4 + (int64_t)(i / POWERS + k);
            int64_t power = base;

            for (uint32_t e = 0; e < i % POWERS; e++)
                power *= base;
            f->from_signed(x + k * INPUTS + i, &power, 1);
        }
        f->from_signed(w + i, &(int64_t){(int64_t)i - 7}, 1);
    }
    dealt_fill(f, x + K * INPUTS, T * INPUTS, &seed);
    dealt_fill(f, w + INPUTS, T * INPUTS, &seed);
    product_encode(&p, x_shares, x, INPUTS);
    product_encode_same(&p, w_shares, w, INPUTS);
    for (uint32_t j = 0; j < M; j++)
        for (uint32_t i = 0; i < INPUTS; i++) {
            const uint64_t term =
                dealt_mul(x_shares[j * INPUTS + i], w_shares[j * INPUTS + i], f->p);

            f->add(sums + j, &term, 1);
        }
    for (uint32_t i = 0; i < R; i++)
        row[i] = sums + who[i];
    product_decode(&p, out, &s);
    f->to_signed(shown, out, K);
    for (uint32_t k = 0; k < K; k++) {
        const int64_t bases[] = {-3 - (int64_t)k, 5 + (int64_t)k, 6 + (int64_t)k};
        int64_t want = 0;

        for (uint32_t i = 0; i < INPUTS; i++) {
            int64_t power = 1;

            for (uint32_t e = 0; e <= i % POWERS; e++)
                power *= bases[i / POWERS];
            want += power * ((int64_t)i - 7);
        }
        assert_true(shown[k] == want);
    }
    product_deinit(&p);
}

/* Around the columns that are taken together. */
static void test_long_results_decode_column_by_column(void **state)
{
    static const size_t lens[] = {0, 1, LCC_CHUNK - 1, LCC_CHUNK, LCC_CHUNK + 1, 2 * LCC_CHUNK + 7};
    enum { M = 6, LEN = 2 * LCC_CHUNK + 7 };
    static uint64_t x[3 * LEN], shares[M * LEN], out[2 * LEN + 1];
    static const uint32_t who[] = {5, 2, 0, 3, 1};
    uint64_t seed = 4;

    (void)state;
    for (size_t i = 0; i < 2 * sizeof lens / sizeof lens[0]; i++) {
        const struct field *f = fields[i % 2];
        const size_t len = lens[i / 2];
        const void *row[5];
        const struct product_results s = {row, who, 5, len};
        struct product p;

        init(&p, f, M, 2, 1);
        dealt_fill(f, x, 3 * len, &seed);
        product_encode(&p, shares, x, len); /* F itself has a degree that R results suffice for */
        for (uint32_t k = 0; k < 5; k++)
            row[k] = (const uint8_t *)shares + who[k] * len * f->bytes;
        memset(out, 0xa5, sizeof out);
        product_decode(&p, out, &s);
        assert_memory_equal(out, x, 2 * len * f->bytes);
        assert_int_equal(((const uint8_t *)out)[2 * len * f->bytes], 0xa5);
        product_deinit(&p);
    }
}

static void test_the_largest_code(void **state)
{
    enum { M = LCC_PARTIES_MAX, K = 100, T = 28, R = 255 };
    static uint64_t x[(K + T) * 2], w[(1 + T) * 2], shares[M * 2], models[M * 2], out[K * 2];
    static const void *row[M];
    uint32_t who[M];
    uint64_t seed = 5;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        const struct field *f = fields[i];
        const struct product_results s = {row, who, M, 2};
        struct product p;

        init(&p, f, M, K, T);
        assert_int_equal(p.results, R);
        dealt_fill(f, x, (K + T) * 2, &seed);
        dealt_fill(f, w, (1 + T) * 2, &seed);
        product_encode(&p, shares, x, 2);
        product_encode_same(&p, models, w, 2);
        for (uint32_t j = 0; j < 2 * M; j++)
            f->set(shares, j, dealt_mul(f->get(shares, j), f->get(models, j), f->p));
        for (uint32_t j = 0; j < M; j++) {
            who[j] = (j * 7 + 3) % M;
            row[j] = (const uint8_t *)shares + who[j] * 2 * f->bytes;
        }
        product_decode(&p, out, &s);
        for (uint32_t k = 0; k < 2 * K; k++)
            assert_true(f->get(out, k) == dealt_mul(f->get(x, k), f->get(w, k % 2), f->p));
        product_deinit(&p);
    }
}

/* The coefficients that are kept are those of the members in their order, not of their number. */
static void test_another_set_or_order_gets_its_own_coefficients(void **state)
{
    static const uint32_t sets[][5] = {{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, {4, 3, 2, 1, 0},
                                       {0, 1, 2, 3, 5}, {5, 1, 2, 3, 0}, {6, 5, 4, 3, 2},
                                       {0, 1, 2, 3, 4}, {0, 1, 2, 4, 3}};
    const struct product_shape s = {&field_61, 7, 2, 1};
    uint64_t seed = 6;

    (void)state;
    dealt_init(&d, &s, &(struct dealt_sizes){3, 2, 4}, &seed);
    for (uint32_t i = 0; i < 8; i++) {
        assert_true(dealt_decodes(&d, sets[i], 5));
        assert_memory_equal(d.code.decodes, sets[i], sizeof sets[i]); /* kept */
    }
    dealt_deinit(&d);
}

/* A check in between has the same scratch. */
static void test_a_check_leaves_what_is_kept(void **state)
{
    const struct product_shape s = {&field_31, 7, 2, 1};
    static const uint32_t who[] = {3, 0, 6, 2, 5, 1, 4};
    uint32_t faulty[LCC_PARTIES_MAX / 2], faulty_n;
    const void *row[7];
    struct product_results all;
    uint64_t seed = 7;

    (void)state;
    dealt_init(&d, &s, &(struct dealt_sizes){3, 2, 4}, &seed);
    all = dealt_of(&d, row, who, 7);
    assert_true(dealt_decodes(&d, who, 5));
    assert_int_equal(product_check(&d.code, faulty, &faulty_n, &all), LCC_CONSISTENT);
    assert_true(dealt_decodes(&d, who, 7));
    dealt_deinit(&d);
}

/* --- shares --- */

static void test_a_model_is_shared_like_segments_that_are_equal(void **state)
{
    enum { M = 11, K = 4, T = 2, LEN = 37 };
    uint64_t rows[(K + T) * LEN], same[(1 + T) * LEN], a[M * LEN], b[M * LEN], seed = 11;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        const struct field *f = fields[i];
        struct product p;

        init(&p, f, M, K, T);
        dealt_fill(f, same, (1 + T) * LEN, &seed);
        for (uint32_t k = 0; k < K; k++)
            memcpy((uint8_t *)rows + k * LEN * f->bytes, same, LEN * f->bytes);
        memcpy((uint8_t *)rows + K * LEN * f->bytes, (uint8_t *)same + LEN * f->bytes,
               T * LEN * f->bytes);
        product_encode(&p, a, rows, LEN);
        product_encode_same(&p, b, same, LEN);
        assert_memory_equal(a, b, M * LEN * f->bytes);
        f->set(rows, LEN, (f->get(rows, LEN) + 1) % f->p); /* one segment that is not */
        product_encode(&p, a, rows, LEN);
        assert_memory_not_equal(a, b, M * LEN * f->bytes);
        product_deinit(&p);
    }
}

static bool is_zero(const uint8_t *bytes, size_t n)
{
    uint8_t any = 0;

    for (size_t i = 0; i < n; i++)
        any |= bytes[i];
    return any == 0;
}

static void test_nothing_of_the_rows_stays_in_the_scratch(void **state)
{
    uint64_t rows[3 * 9], shares[5 * 9], seed = 12;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        const struct mat_shape shape = {5, 3, 9, 3, 9, 9};
        const struct field *f = fields[i];
        struct product p;

        init(&p, f, 5, 2, 1);
        dealt_fill(f, rows, 3 * 9, &seed);
        f->mat_mul(shares, p.encode.c, rows, &shape, p.scratch);
        assert_false(is_zero(p.scratch, p.scratch_bytes));
        product_encode(&p, shares, rows, 9);
        assert_true(is_zero(p.scratch, p.scratch_bytes));
        product_encode_same(&p, shares, rows, 9);
        assert_true(is_zero(p.scratch, p.scratch_bytes));
        product_deinit(&p);
    }
}

/* --- by other means: tests/golden/gen_product.py --- */

static void read_in(const struct field *f, void *out, const uint64_t *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        f->set(out, i, in[i]);
}

static void assert_elements(const struct field *f, const void *got, const uint64_t *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_true(f->get(got, i) == want[i]);
}

static void check_golden(const struct golden_product *g)
{
    const uint32_t x_len = g->rows * g->inputs, w_len = g->inputs * g->width;
    const uint32_t len = g->rows * g->width, results = 2 * (g->segments + g->privacy - 1) + 1;
    const struct field *f = g->bits == 31 ? &field_31 : &field_61;
    uint64_t rows[256], shares[256], out[256];
    const void *row[DEALT_PARTIES];
    const struct product_results s = {row, g->who, results, len};
    struct product p;

    init(&p, f, g->parties, g->segments, g->privacy);
    read_in(f, rows, g->x, (g->segments + g->privacy) * x_len);
    product_encode(&p, shares, rows, x_len);
    assert_elements(f, shares, g->x_shares, g->parties * x_len);
    read_in(f, rows, g->w, (1 + g->privacy) * w_len);
    product_encode_same(&p, shares, rows, w_len);
    assert_elements(f, shares, g->w_shares, g->parties * w_len);
    read_in(f, shares, g->results, g->parties * len);
    for (uint32_t i = 0; i < results; i++)
        row[i] = (const uint8_t *)shares + g->who[i] * len * f->bytes;
    product_decode(&p, out, &s);
    assert_elements(f, out, g->out, g->segments * len);
    product_deinit(&p);
}

static void test_shares_and_products_are_those_of_linear_algebra(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof GOLDEN_PRODUCT / sizeof GOLDEN_PRODUCT[0]; i++)
        check_golden(&GOLDEN_PRODUCT[i]);
}

/* --- what is refused --- */

static void refused(struct product_shape s, const char *why)
{
    struct product p, zero;
    struct error err = {0};

    memset(&zero, 0, sizeof zero);
    assert_int_equal(product_init(&p, &s, &err), STATUS_CONFIG);
    if (strstr(err.text, why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
    assert_memory_equal(&p, &zero, sizeof p);
    assert_int_equal(product_init(&p, &s, NULL), STATUS_CONFIG);
    product_deinit(&p);
}

static void test_bad_shapes_are_refused(void **state)
{
    const struct field *f = &field_61;
    struct product p;

    (void)state;
    init(&p, f, 7, 3, 1);
    assert_int_equal(p.threshold, 4);
    assert_int_equal(p.results, 7);
    product_deinit(&p);
    refused((struct product_shape){f, 6, 3, 1}, "= 7, more than there are parties (6)");
    refused((struct product_shape){f, 7, 3, 2}, "= 9, more than there are parties (7)");
    refused((struct product_shape){f, 7, UINT32_MAX, 1}, "= 8589934591, more than there are");
    refused((struct product_shape){f, 7, 3, 0}, "at least 1");
    refused((struct product_shape){f, 7, 0, 3}, "at least 1");
    refused((struct product_shape){f, 0, 1, 1}, "= 3, more than there are parties (0)");
    refused((struct product_shape){f, 257, 3, 2}, "257 parties, more than 256");
}

/* --- memory --- */

static void test_only_init_allocates_and_it_may_fail(void **state)
{
    const struct product_shape s = {&field_61, 7, 2, 1};
    uint32_t faulty[LCC_PARTIES_MAX / 2], faulty_n, who[] = {0, 1, 2, 3, 4, 5, 6};
    struct product p, zero;
    const void *row[7];
    struct product_results all;
    uint64_t before, seed = 13;

    (void)state;
    memset(&zero, 0, sizeof zero);
    mem_fail_at(1);
    assert_int_equal(product_init(&p, &s, NULL), STATUS_MEMORY);
    mem_fail_at(0);
    assert_memory_equal(&p, &zero, sizeof p);
    dealt_init(&d, &s, &(struct dealt_sizes){2, 2, 2}, &seed);
    before = mem_count();
    product_encode(&d.code, d.x_shares, d.x, 4);
    product_encode_same(&d.code, d.w_shares, d.w, 4);
    assert_true(dealt_decodes(&d, who, 7));
    all = dealt_of(&d, row, who, 7);
    d.results[3] ^= 1;
    assert_int_equal(product_check(&d.code, faulty, &faulty_n, &all), LCC_LOCATED);
    assert_int_equal(mem_count(), before);
    dealt_deinit(&d);
    dealt_deinit(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decodes_from_any_r_results),
        cmocka_unit_test(test_decodes_any_shape_from_whoever_answers_first),
        cmocka_unit_test(test_decodes_the_sum_over_members_and_powers),
        cmocka_unit_test(test_long_results_decode_column_by_column),
        cmocka_unit_test(test_the_largest_code),
        cmocka_unit_test(test_another_set_or_order_gets_its_own_coefficients),
        cmocka_unit_test(test_a_check_leaves_what_is_kept),
        cmocka_unit_test(test_a_model_is_shared_like_segments_that_are_equal),
        cmocka_unit_test(test_nothing_of_the_rows_stays_in_the_scratch),
        cmocka_unit_test(test_shares_and_products_are_those_of_linear_algebra),
        cmocka_unit_test(test_bad_shapes_are_refused),
        cmocka_unit_test(test_only_init_allocates_and_it_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
