/* test_product_few.c -- too few results, and wrong ones.  How those are found has test_search.c.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/lcc/product.h"

#include "common/field/mod.h"
#include "tests/lib/aborts.h"
#include "tests/unit/lcc/dealt.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static struct dealt d;

/* c: of n results, what each counts in the value at beta_1 that a polynomial of degree < n gives.
 */
static uint64_t value_at_beta(uint64_t *c, const uint32_t *who, uint32_t n)
{
    const struct field *f = d.code.shape.field;
    uint64_t from[DEALT_PARTIES], to[1], sum = 0;

    points_alphas(from, d.code.threshold, who, n);
    points_betas(to, 1);
    points_lagrange(c, to, 1, from, n, f->p);
    for (uint32_t i = 0; i < n; i++)
        sum = (sum + dealt_mul(c[i], f->get(d.results, who[i]), f->p)) % f->p;
    return sum;
}

/* R - 1 results interpolate to another value, and they fit any value: there is a last result with
 * which they decode to it. */
static void test_one_result_fewer_says_nothing(void **state)
{
    const struct product_shape s = {&field_61, 7, 2, 2};
    const uint64_t p = s.field->p, likes[] = {0, 1, UINT64_C(123456789012345678)};
    uint64_t seed = 8, c[DEALT_PARTIES];

    (void)state;
    dealt_init(&d, &s, &(struct dealt_sizes){1, 3, 1}, &seed);
    for (uint32_t out = 0; out < 7; out++) {
        const uint64_t right = s.field->get(d.want, 0), kept = s.field->get(d.results, out);
        uint32_t who[7];

        for (uint32_t i = 0; i < 7; i++)
            who[i] = (out + 1 + i) % 7; /* `out` is the last one */
        assert_true(value_at_beta(c, who, 6) != right);
        assert_true(value_at_beta(c, who, 7) == right);
        for (uint32_t i = 0; i < 3; i++) {
            const uint64_t miss = mod_sub(likes[i], right, p);
            const uint64_t change = mod_mul(miss, mod_inv(c[6], p), p);

            s.field->set(d.results, out, mod_add(kept, change, p));
            assert_false(dealt_decodes(&d, who, 7));
            assert_true(s.field->get(d.out, 0) == likes[i]);
        }
        s.field->set(d.results, out, kept);
    }
    dealt_deinit(&d);
}

/* What decodes a share of data is too little for a product: its degree is twice as high. */
static void test_k_plus_t_results_decode_data_but_not_products(void **state)
{
    const struct product_shape s = {&field_31, 7, 2, 2};
    uint64_t seed = 9, c[DEALT_PARTIES];
    static const uint32_t who[] = {6, 1, 4, 3};

    (void)state;
    dealt_init(&d, &s, &(struct dealt_sizes){1, 1, 1}, &seed);
    assert_true(value_at_beta(c, who, 4) != s.field->get(d.want, 0));
    memcpy(d.results, d.x_shares, sizeof d.results);
    assert_true(value_at_beta(c, who, 4) == s.field->get(d.x, 0));
    assert_true(value_at_beta(c, who, 3) != s.field->get(d.x, 0));
    dealt_deinit(&d);
}

/* A polynomial through R points goes through every one of them. */
static void test_each_wrong_result_makes_every_segment_wrong(void **state)
{
    const struct product_shape s = {&field_31, 9, 3, 1};
    static const uint32_t who[] = {8, 3, 5, 0, 2, 7, 1};
    uint64_t seed = 10;

    (void)state;
    dealt_init(&d, &s, &(struct dealt_sizes){2, 3, 2}, &seed);
    for (uint32_t i = 0; i < 7; i++)
        for (uint32_t e = 0; e < d.len; e++) {
            void *row = dealt_result(&d, who[i]);
            const uint64_t kept = s.field->get(row, e);

            s.field->set(row, e, (kept + 1) % s.field->p);
            assert_false(dealt_decodes(&d, who, 7));
            for (uint32_t at = 0; at < 3 * d.len; at++)
                assert_int_equal(s.field->get(d.out, at) != s.field->get(d.want, at),
                                 at % d.len == e);
            s.field->set(row, e, kept);
        }
    assert_true(dealt_decodes(&d, who, 7));
    dealt_deinit(&d);
}

static void decode(void *arg)
{
    const struct product_shape shape = {&field_61, 6, 2, 1};
    static const uint64_t result[1];
    const struct product_results *want = arg;
    const void *row[8];
    uint64_t out[2];
    struct product_results s = {row, want->member, want->n, 1};
    struct product p;

    for (uint32_t i = 0; i < 8; i++)
        row[i] = result;
    assert_int_equal(product_init(&p, &shape, NULL), STATUS_OK);
    product_decode(&p, out, &s);
    product_deinit(&p);
}

static void check(void *arg)
{
    const struct product_shape shape = {&field_31, 6, 2, 1};
    uint32_t faulty[LCC_PARTIES_MAX / 2], faulty_n;
    static const uint64_t result[1];
    const struct product_results *want = arg;
    const void *row[8];
    struct product_results s = {row, want->member, want->n, 1};
    struct product p;

    for (uint32_t i = 0; i < 8; i++)
        row[i] = result;
    assert_int_equal(product_init(&p, &shape, NULL), STATUS_OK);
    product_check(&p, faulty, &faulty_n, &s);
    product_deinit(&p);
}

static void test_one_result_below_the_threshold_aborts(void **state)
{
    static const uint32_t five[] = {0, 5, 2, 1, 4}, twice[] = {0, 5, 2, 1, 5};
    static const uint32_t strange[] = {0, 5, 2, 1, 6}, again[] = {0, 5, 2, 1, 4, 0};
    static const uint32_t seven[] = {0, 1, 2, 3, 4, 5, 5};
    struct product_results good = {.member = five, .n = 5}, few = {.member = five, .n = 4};
    struct product_results bad[] = {{.member = twice, .n = 5},
                                    {.member = strange, .n = 5},
                                    {.member = again, .n = 6},
                                    {.member = seven, .n = 7}};

    (void)state;
    assert_false(aborts(decode, &good));
    assert_true(aborts(decode, &few));
    assert_false(aborts(check, &good));
    assert_true(aborts(check, &few));
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(aborts(decode, &bad[i]));
        assert_true(aborts(check, &bad[i]));
    }
}

/* What is found wrong is left out, and the rest decodes. */
static void test_what_is_left_decodes(void **state)
{
    const struct product_shape s = {&field_61, 7, 2, 1};
    static const uint32_t all[] = {3, 0, 6, 2, 5, 1, 4}, rest[] = {3, 0, 2, 5, 1, 4};
    uint32_t faulty[LCC_PARTIES_MAX / 2], faulty_n;
    const void *row[7];
    struct product_results results;
    uint64_t seed = 14;

    (void)state;
    dealt_init(&d, &s, &(struct dealt_sizes){3, 2, 4}, &seed);
    results = dealt_of(&d, row, all, 7);
    assert_int_equal(product_check(&d.code, faulty, &faulty_n, &results), LCC_CONSISTENT);
    s.field->set(dealt_result(&d, 6), 11, 5);
    assert_false(dealt_decodes(&d, all, 7));
    assert_int_equal(product_check(&d.code, faulty, &faulty_n, &results), LCC_LOCATED);
    assert_int_equal(faulty_n, 1);
    assert_int_equal(faulty[0], 6);
    assert_true(dealt_decodes(&d, rest, 6));
    dealt_deinit(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_result_fewer_says_nothing),
        cmocka_unit_test(test_k_plus_t_results_decode_data_but_not_products),
        cmocka_unit_test(test_each_wrong_result_makes_every_segment_wrong),
        cmocka_unit_test(test_one_result_below_the_threshold_aborts),
        cmocka_unit_test(test_what_is_left_decodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
