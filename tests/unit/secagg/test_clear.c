/* test_clear.c -- the baseline: same sums as under masks, floats in member order, concat apart.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/clear.h"

#include "common/base/bits.h"
#include "tests/unit/secagg/generation.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { VALUES = 9001 };

static const uint8_t SEED[32] = "clear";

static void start(struct generation *g, enum plan_aggregation a, const struct plan *p,
                  uint32_t parties, uint32_t values)
{
    struct secagg_shape shape = generation_shape(p, parties, values);
    struct rng r;

    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    generation_init(g, a, &shape, &r);
    rng_deinit(&r);
}

static void make_values(float *x, size_t n, uint32_t m)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)sin((double)(i * 13 + m * 7 + 1)) * 1.2F; /* some beyond the clip */
}

/* One round of random codes; the noise of member m depends on m alone. */
static void noisy_round(struct generation *g, float *out, size_t n, uint64_t number)
{
    static float x[VALUES];
    struct secagg_round round = generation_round(g, number);
    struct error err = {0};

    for (uint32_t m = 0; m < g->shape.parties; m++) {
        uint8_t key[RNG_KEY_BYTES];
        struct rng noise;

        rng_seed_key(key, 1, m, "noise", number);
        assert_int_equal(rng_init_key(&noise, key), STATUS_OK);
        make_values(x, n, m);
        assert_int_equal(generation_protect(g, m, x, n, &round, &noise), STATUS_OK);
        rng_deinit(&noise);
    }
    assert_int_equal(generation_combine(g, out, n, 1, &err), STATUS_OK);
}

static void test_clear_and_masked_agree_on_the_same_integers(void **state)
{
    static const enum plan_encoding encodings[] = {
        ENCODING_PBM,   ENCODING_FIXED,    ENCODING_FIXED,   ENCODING_FIXED,
        ENCODING_FIXED, ENCODING_GAUSSIAN, ENCODING_GAUSSIAN};
    /* Of fixed: narrow and wide lanes; of gaussian its levels, so too. */
    static const uint32_t bits[] = {0, 10, 16, 17, 24, 16, 1 << 12};
    static float masked[VALUES], clear[VALUES];

    (void)state;
    for (int k = 0; k < 7; k++) {
        struct plan p = generation_plan(encodings[k]);
        struct generation g, h;

        if (encodings[k] == ENCODING_GAUSSIAN)
            p.protocol.gaussian.levels = bits[k];
        else
            p.protocol.fixed.bits = bits[k];
        start(&g, AGGREGATION_MASKED, &p, 3, VALUES);
        start(&h, AGGREGATION_CLEAR, &p, 3, VALUES);
        for (uint64_t number = 0; number < 600; number += 299) {
            noisy_round(&g, masked, VALUES, number);
            noisy_round(&h, clear, VALUES, number);
            assert_memory_equal(masked, clear, sizeof clear);
        }
        noisy_round(&h, clear, VALUES, 1001);
        /* Other noise, other codes: the comparison above could have failed. */
        assert_int_equal(memcmp(masked, clear, sizeof clear) != 0, encodings[k] != ENCODING_FIXED);
        generation_deinit(&g);
        generation_deinit(&h);
    }
}

/* Members' values 1e8, 1, -1e8 (and so on): the sum depends on the order in which floats are added.
 */
static void add_in_order(struct generation *g, float *out, const uint32_t *order)
{
    struct error err = {0};

    secagg_begin(g->server, 3);
    for (int k = 0; k < 3; k++)
        assert_int_equal(secagg_add(g->server, order[k], g->payload[order[k]], NULL, &err),
                         STATUS_OK);
    assert_int_equal(secagg_combine(g->server, out, 1, &err), STATUS_OK);
}

static void test_floats_are_added_in_member_order_whoever_comes_first(void **state)
{
    static const float x[3][3] = {{1e-5F, 1, 3}, {1e5F, 2, -1e5F}, {-1e5F, 3, 1e5F}};
    static const uint32_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct plan p = generation_plan(ENCODING_FLOAT32);
    struct generation g;
    struct secagg_round round;
    float out[3], want[3];

    (void)state;
    p.protocol.clip = 1e5;
    start(&g, AGGREGATION_CLEAR, &p, 3, 3);
    round = generation_round(&g, 0);
    for (uint32_t m = 0; m < 3; m++)
        assert_int_equal(generation_protect(&g, m, x[m], 3, &round, NULL), STATUS_OK);
    for (int i = 0; i < 3; i++)
        want[i] = (float)(((double)x[0][i] + (double)x[1][i]) + (double)x[2][i]);
    /* The order can be seen. */
    assert_true(want[0] != (float)(((double)x[2][0] + (double)x[1][0]) + (double)x[0][0]));
    for (int k = 0; k < 6; k++) {
        add_in_order(&g, out, orders[k]);
        assert_memory_equal(out, want, sizeof out);
    }
    generation_deinit(&g);
}

static void test_value_that_is_no_number_leaves_as_nought(void **state)
{
    static const enum plan_encoding encodings[] = {ENCODING_FLOAT32, ENCODING_FIXED, ENCODING_PBM,
                                                   ENCODING_GAUSSIAN};
    static const float strange[] = {0, NAN, INFINITY, -INFINITY};
    static uint8_t want[4 * VALUES];
    static float x[VALUES];

    (void)state;
    for (size_t k = 0; k < 4; k++) {
        struct plan p = generation_plan(encodings[k]);
        struct generation g;
        struct rng noise;

        start(&g, AGGREGATION_CLEAR, &p, 2, VALUES);
        assert_int_equal(rng_init_key(&noise, SEED), STATUS_OK);
        for (size_t i = 0; i < 4; i++) {
            const struct secagg_round round = generation_round(&g, i);
            const size_t bytes = secagg_payload_bytes(AGGREGATION_CLEAR, &g.shape, VALUES);

            rng_rekey(&noise, SEED);
            x[0] = x[VALUES - 1] = strange[i];
            assert_int_equal(generation_protect(&g, 0, x, VALUES, &round, &noise), STATUS_OK);
            if (i == 0)
                memcpy(want, g.payload[0], bytes);
            assert_memory_equal(g.payload[0], want, bytes);
        }
        rng_deinit(&noise);
        generation_deinit(&g);
    }
}

static void test_floats_travel_as_little_endian_words(void **state)
{
    static const uint8_t want[8] = {0, 0, 0x40, 0x3f, 0, 0, 0x80, 0xbf}; /* 0.75, -1 */
    struct plan p = generation_plan(ENCODING_FLOAT32);
    struct generation g;
    struct secagg_round round;
    float x[2] = {0.75F, -7.0F}; /* clipped at C = 1 */

    (void)state;
    start(&g, AGGREGATION_CLEAR, &p, 1, 2);
    round = generation_round(&g, 0);
    assert_int_equal(g.payload_bytes, 8);
    assert_int_equal(g.check_bytes, 0);
    assert_int_equal(generation_protect(&g, 0, x, 2, &round, NULL), STATUS_OK);
    assert_memory_equal(g.payload[0], want, sizeof want);
    generation_deinit(&g);
}

static enum status add_float(struct generation *g, float v)
{
    struct error err = {0};
    uint8_t bytes[8] = {0};

    memcpy(bytes + 4, &v, 4);
    secagg_begin(g->server, 2);
    return secagg_add(g->server, 0, bytes, NULL, &err);
}

static void test_float_beyond_what_the_encoding_gives_is_refused(void **state)
{
    struct plan p = generation_plan(ENCODING_FLOAT32);
    struct generation g;

    (void)state;
    start(&g, AGGREGATION_CLEAR, &p, 2, 2);
    assert_int_equal(add_float(&g, 1.0F), STATUS_OK);
    assert_int_equal(add_float(&g, -1.0F), STATUS_OK);
    assert_int_equal(add_float(&g, nextafterf(1.0F, 2.0F)), STATUS_PROTOCOL);
    assert_int_equal(add_float(&g, -2.0F), STATUS_PROTOCOL);
    assert_int_equal(add_float(&g, INFINITY), STATUS_PROTOCOL);
    assert_int_equal(add_float(&g, -INFINITY), STATUS_PROTOCOL);
    assert_int_equal(add_float(&g, NAN), STATUS_PROTOCOL);
    generation_deinit(&g);
}

/* Whatever its w bits say; but spare bits are none of it. */
static void test_any_residue_is_a_code(void **state)
{
    struct plan p = generation_plan(ENCODING_GAUSSIAN);
    struct generation g;
    struct error err = {0};
    uint32_t w, code[2];
    uint8_t packed[8];
    float out[1];

    (void)state;
    p.protocol.gaussian.levels = 64;
    start(&g, AGGREGATION_CLEAR, &p, 2, 1);
    w = secagg_width(AGGREGATION_CLEAR, &g.shape);
    assert_int_equal(w, secagg_width(AGGREGATION_MASKED, &g.shape));
    assert_true(w % 8 != 0);
    for (uint32_t k = 0; k < 5; k++) {
        const uint32_t half = 1U << (w - 1), first[] = {0, half - 1, half, 2 * half - 1, half - 1};
        const double want[] = {0, half - 1.0, -(double)half, -1, -(double)half};

        code[0] = first[k];
        code[1] = k == 4; /* half in all: beyond the largest there is, and read as the smallest */
        secagg_begin(g.server, 1);
        for (uint32_t m = 0; m < 2; m++) {
            bits_naive_pack(packed, &code[m], 1, w);
            assert_int_equal(secagg_add(g.server, m, packed, NULL, &err), STATUS_OK);
        }
        assert_int_equal(secagg_combine(g.server, out, 1, &err), STATUS_OK);
        assert_true(out[0] == (float)(want[k] * g.shape.encode.step));
    }
    secagg_begin(g.server, 1);
    packed[w / 8] |= (uint8_t)(1U << w % 8);
    assert_int_equal(secagg_add(g.server, 0, packed, NULL, &err), STATUS_PROTOCOL);
    generation_deinit(&g);
}

static void test_code_above_the_largest_is_refused_and_leaves_no_trace(void **state)
{
    struct plan p = generation_plan(ENCODING_PBM); /* b = 16: codes 0..16 in 5 bits */
    struct generation g;
    struct error err = {0};
    uint32_t codes[5000], sum[1] = {3};
    uint8_t packed[3125];
    float out[5000], want[1];

    (void)state;
    start(&g, AGGREGATION_CLEAR, &p, 2, 5000);
    assert_int_equal(g.payload_bytes, sizeof packed);
    secagg_begin(g.server, 5000);
    for (size_t i = 0; i < 5000; i++)
        codes[i] = 2;
    codes[4999] = 17;
    bits_naive_pack(packed, codes, 5000, 5);
    assert_int_equal(secagg_add(g.server, 0, packed, NULL, &err), STATUS_PROTOCOL);
    codes[4999] = 2;
    codes[0] = 31;
    bits_naive_pack(packed, codes, 5000, 5);
    assert_int_equal(secagg_add(g.server, 0, packed, NULL, &err), STATUS_PROTOCOL);
    for (uint32_t m = 0; m < 2; m++) {
        for (size_t i = 0; i < 5000; i++)
            codes[i] = m + 1;
        bits_naive_pack(packed, codes, 5000, 5);
        assert_int_equal(secagg_add(g.server, m, packed, NULL, &err), STATUS_OK);
    }
    assert_int_equal(secagg_combine(g.server, out, 1, &err), STATUS_OK);
    encode_estimate(&g.shape.encode, want, sum, 1, 2);
    for (size_t i = 0; i < 5000; i++)
        assert_true(out[i] == want[0]);
    generation_deinit(&g);
}

static void test_largest_code_is_taken(void **state)
{
    struct plan p = generation_plan(ENCODING_PBM);
    struct generation g;
    struct error err = {0};
    uint32_t code = 16;
    uint8_t packed[1];

    (void)state;
    start(&g, AGGREGATION_CLEAR, &p, 2, 1);
    secagg_begin(g.server, 1);
    bits_naive_pack(packed, &code, 1, 5);
    packed[0] |= 0x20; /* the first of three spare bits */
    assert_int_equal(secagg_add(g.server, 0, packed, NULL, &err), STATUS_PROTOCOL);
    packed[0] &= 0x1f;
    assert_int_equal(secagg_add(g.server, 0, packed, NULL, &err), STATUS_OK);
    generation_deinit(&g);
}

/* Row r of the result is member 0's row r, then member 1's, then member 2's. */
static void expect_side_by_side(enum plan_encoding encoding, double tolerance)
{
    enum { P = 4, ROWS = 5, M = 3 };
    struct plan p = generation_plan(encoding);
    struct secagg_shape shape =
        generation_shape(&p, M, P * (ROWS + 2)); /* room for a longer round */
    struct generation g;
    struct secagg_round round;
    struct error err = {0};
    struct rng r;
    float x[M][P * ROWS], out[M * P * ROWS];

    shape.concat = true;
    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    generation_init(&g, AGGREGATION_CLEAR, &shape, &r);
    round = generation_round(&g, 0);
    for (uint32_t m = 0; m < M; m++) {
        for (size_t i = 0; i < P * ROWS; i++)
            x[m][i] = (float)(0.3 * m + 0.01 * (double)i - 0.5);
        assert_int_equal(generation_protect(&g, m, x[m], P * ROWS, &round, &r), STATUS_OK);
    }
    assert_int_equal(generation_combine(&g, out, P * ROWS, P, &err), STATUS_OK);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t m = 0; m < M; m++)
            for (size_t k = 0; k < P; k++)
                assert_true(fabs((double)out[row * M * P + m * P + k] -
                                 (double)x[m][row * P + k]) <= tolerance);
    rng_deinit(&r);
    generation_deinit(&g);
}

static void test_concat_keeps_members_apart_in_member_order(void **state)
{
    (void)state;
    expect_side_by_side(ENCODING_FLOAT32, 0.0);
    expect_side_by_side(ENCODING_FIXED, 1.0 / 1023 + 1e-6);
}

static void test_width_is_that_of_one_code(void **state)
{
    struct plan p = generation_plan(ENCODING_PBM);
    struct secagg_shape s = generation_shape(&p, 50, 10);

    (void)state;
    assert_int_equal(secagg_width(AGGREGATION_CLEAR, &s), 5); /* 0..16 */
    assert_int_equal(secagg_payload_bytes(AGGREGATION_CLEAR, &s, 10), 7);
    assert_int_equal(secagg_check_bytes(AGGREGATION_CLEAR, &s), 0);
    p.protocol.pbm.trials = 15;
    s = generation_shape(&p, 50, 10);
    assert_int_equal(secagg_width(AGGREGATION_CLEAR, &s), 4);
    p.protocol.encoding = ENCODING_FIXED;
    s = generation_shape(&p, 50, 10);
    assert_int_equal(secagg_width(AGGREGATION_CLEAR, &s), 10);
    p.protocol.encoding = ENCODING_FLOAT32;
    s = generation_shape(&p, 50, 10);
    assert_int_equal(secagg_width(AGGREGATION_CLEAR, &s), 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clear_and_masked_agree_on_the_same_integers),
        cmocka_unit_test(test_floats_are_added_in_member_order_whoever_comes_first),
        cmocka_unit_test(test_value_that_is_no_number_leaves_as_nought),
        cmocka_unit_test(test_floats_travel_as_little_endian_words),
        cmocka_unit_test(test_float_beyond_what_the_encoding_gives_is_refused),
        cmocka_unit_test(test_code_above_the_largest_is_refused_and_leaves_no_trace),
        cmocka_unit_test(test_largest_code_is_taken),
        cmocka_unit_test(test_concat_keeps_members_apart_in_member_order),
        cmocka_unit_test(test_any_residue_is_a_code),
        cmocka_unit_test(test_width_is_that_of_one_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
