/* test_clear_compressed.c -- clear rounds of what compressors sent, and what none would send.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/le.h"
#include "tests/lib/aborts.h"
#include "tests/unit/secagg/generation.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { M = 4, P = 5, ROWS = 501, N = P * ROWS };

static const uint8_t SEED[32] = "compressed";
static const float CLIP = 1.25F;

static const enum plan_encoding ENCODINGS[] = {ENCODING_SCALAR, ENCODING_LATTICE, ENCODING_E8,
                                               ENCODING_TOPK};
enum { ENCODINGS_N = sizeof ENCODINGS / sizeof ENCODINGS[0] };

static float x[M][N];

static struct secagg_shape shape_of(enum plan_encoding encoding, uint32_t bits)
{
    struct plan p = generation_plan(encoding);

    p.protocol.clip = (double)CLIP;
    p.protocol.bits = bits;
    p.model.embedding = P;
    return generation_shape(&p, M, N + P);
}

static void start(struct generation *g, const struct secagg_shape *s)
{
    struct rng r;

    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    generation_init(g, AGGREGATION_CLEAR, s, &r);
    rng_deinit(&r);
}

static void protect_all(struct generation *g, uint64_t number)
{
    const struct secagg_round round = generation_round(g, number);

    for (uint32_t m = 0; m < M; m++) {
        for (size_t i = 0; i < N; i++)
            x[m][i] = (float)(1.5 * sin((double)(i * 7 + m * 3 + number))); /* some beyond */
        assert_int_equal(generation_protect(g, m, x[m], N, &round, NULL), STATUS_OK);
    }
}

static void open_all(const struct generation *g, float out[M][N])
{
    struct error err = {0};

    for (uint32_t m = 0; m < M; m++)
        assert_int_equal(secagg_open(&g->shape, out[m], g->payload[m], N, m, g->dither, &err),
                         STATUS_OK);
}

/* --- uploads --- */

static void test_an_upload_is_what_the_compressor_makes_of_the_clipped_values(void **state)
{
    static uint8_t want[8 * N];
    static float clipped[N];

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N * 8; k++) {
        struct secagg_shape s = shape_of(ENCODINGS[k % ENCODINGS_N], 1 + (uint32_t)k / ENCODINGS_N);
        const struct compress *c = &s.encode.compress;
        uint8_t key[COMPRESS_KEY_BYTES];
        const struct compress_round round = {key, NULL};
        struct generation g;

        start(&g, &s);
        assert_int_equal(secagg_width(AGGREGATION_CLEAR, &s), 1 + k / ENCODINGS_N);
        assert_int_equal(secagg_payload_bytes(AGGREGATION_CLEAR, &s, N), compress_bytes(c, N));
        assert_int_equal(secagg_check_bytes(AGGREGATION_CLEAR, &s), 0);
        protect_all(&g, 3);
        for (uint32_t m = 0; m < M; m++) {
            for (size_t i = 0; i < N; i++)
                clipped[i] = fminf(fmaxf(x[m][i], -CLIP), CLIP);
            compress_key(key, g.dither, (uint16_t)m);
            compress_pack(c, want, clipped, N, &round);
            assert_memory_equal(g.payload[m], want, compress_bytes(c, N));
        }
        generation_deinit(&g);
    }
}

static void test_value_that_is_no_number_leaves_as_nought(void **state)
{
    static const float strange[] = {0, NAN, INFINITY, -INFINITY};
    static uint8_t want[8 * N];

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N; k++) {
        const struct secagg_shape s = shape_of(ENCODINGS[k], 3);
        const size_t bytes = secagg_payload_bytes(AGGREGATION_CLEAR, &s, N);
        struct generation g;
        struct secagg_round round;

        start(&g, &s);
        round = generation_round(&g, 0);
        assert_true(bytes <= sizeof want);
        for (int i = 0; i < 4; i++) {
            x[0][N - 1] = strange[i];
            assert_int_equal(generation_protect(&g, 0, x[0], N, &round, NULL), STATUS_OK);
            if (i == 0)
                memcpy(want, g.payload[0], bytes);
            assert_memory_equal(g.payload[0], want, bytes);
        }
        x[0][N - 1] = 0;
        generation_deinit(&g);
    }
}

/* --- sums --- */

static void test_sums_are_those_of_what_each_upload_opens_to(void **state)
{
    static float out[N], again[N], opened[M][N];

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N; k++) {
        const struct secagg_shape s = shape_of(ENCODINGS[k], 3);
        struct error err = {0};
        struct generation g;
        double error = 0;

        start(&g, &s);
        protect_all(&g, 1);
        open_all(&g, opened);
        assert_int_equal(generation_combine(&g, out, N, P, &err), STATUS_OK);
        for (size_t i = 0; i < N; i++) {
            double sum = 0;

            for (uint32_t m = 0; m < M; m++) {
                sum += (double)opened[m][i];
                error += fabs((double)opened[m][i] - fmin(fmax((double)x[m][i], -1.25), 1.25));
            }
            assert_true(out[i] == (float)sum);
        }
        /* And it is the values that were sent, more or less: |x| is 0.8 on average. */
        assert_true(error / (M * N) < (ENCODINGS[k] == ENCODING_TOPK ? 0.75 : 0.2));
        secagg_begin(g.server, N);
        secagg_dither(g.server, g.dither);
        for (uint32_t m = M; m-- > 0;)
            assert_int_equal(secagg_add(g.server, m, g.payload[m], NULL, &err), STATUS_OK);
        assert_int_equal(secagg_combine(g.server, again, P, &err), STATUS_OK);
        assert_memory_equal(out, again, sizeof out);
        generation_deinit(&g);
    }
}

static void test_concat_keeps_members_apart_in_member_order(void **state)
{
    static float out[M * N], opened[M][N];

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N; k++) {
        struct secagg_shape s = shape_of(ENCODINGS[k], 3);
        struct error err = {0};
        struct generation g;

        s.concat = true;
        start(&g, &s);
        protect_all(&g, 1);
        open_all(&g, opened);
        assert_int_equal(generation_combine(&g, out, N, P, &err), STATUS_OK);
        for (size_t i = 0; i < M * N; i++)
            assert_true(out[i] == opened[i / P % M][i / P / M * P + i % P]);
        generation_deinit(&g);
    }
}

static void test_the_sum_over_those_present_is_scaled_to_all(void **state)
{
    static float out[N], opened[M][N];

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N; k++) {
        struct secagg_shape s = shape_of(ENCODINGS[k], 3);
        struct error err = {0};
        struct generation g;

        s.partial = true;
        start(&g, &s);
        protect_all(&g, 1);
        open_all(&g, opened);
        secagg_begin(g.server, N);
        secagg_dither(g.server, g.dither);
        assert_int_equal(secagg_add(g.server, 3, g.payload[3], NULL, &err), STATUS_OK);
        assert_int_equal(secagg_add(g.server, 1, g.payload[1], NULL, &err), STATUS_OK);
        assert_int_equal(secagg_combine(g.server, out, P, &err), STATUS_OK);
        for (size_t i = 0; i < N; i++)
            assert_true(out[i] == (float)(2.0 * (double)(float)((double)opened[1][i] +
                                                                (double)opened[3][i])));
        generation_deinit(&g);
    }
}

/* Its dither and its number are what an upload is read by. */
static void test_an_upload_says_something_else_with_another_dither_or_member(void **state)
{
    static float opened[N], other[N];

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N; k++) {
        const struct secagg_shape s = shape_of(ENCODINGS[k], 3);
        const uint8_t dither[SECAGG_KEY_BYTES] = "another";
        const bool dithered = ENCODINGS[k] != ENCODING_TOPK;
        struct error err = {0};
        struct generation g;

        start(&g, &s);
        protect_all(&g, 1);
        assert_int_equal(secagg_open(&s, opened, g.payload[1], N, 1, g.dither, &err), STATUS_OK);
        assert_int_equal(secagg_open(&s, other, g.payload[1], N, 2, g.dither, &err), STATUS_OK);
        assert_int_equal(memcmp(opened, other, sizeof other) != 0, dithered);
        assert_int_equal(secagg_open(&s, other, g.payload[1], N, 1, dither, &err), STATUS_OK);
        assert_int_equal(memcmp(opened, other, sizeof other) != 0, dithered);
        assert_int_equal(secagg_open(&s, other, g.payload[1], N, 1, g.dither, &err), STATUS_OK);
        assert_memory_equal(opened, other, sizeof other);
        generation_deinit(&g);
    }
}

/* --- lies --- */

/* The k-th way to spoil an upload; false when there are no more.  With P = 5 and b = 5 topk begins
 * with one column of three bits, the others with a scale. */
static bool spoil(uint8_t *payload, size_t bytes, enum plan_encoding e, int k)
{
    static const float strange[] = {NAN, INFINITY, 3e38F, 0.0F}; /* 0: codes without a scale */
    enum { STRANGE = sizeof strange / sizeof strange[0] };

    if (e == ENCODING_TOPK) {
        switch (k) {
        case 0: memcpy(payload + bytes - 4, &strange[0], 4); return true;
        case 1: memcpy(payload + bytes - 4, &strange[1], 4); return true;
        case 2: payload[0] = (uint8_t)((payload[0] & 0xf8) | 5); return true; /* no column */
        case 3: payload[0] |= 0x80; return true;                              /* a spare bit */
        default: return false;
        }
    }
    if (k >= STRANGE)
        return false;
    memcpy(payload, &strange[k], 4);
    return true;
}

static void test_what_no_compressor_makes_is_refused_and_leaves_no_trace(void **state)
{
    static float want[N], out[N];
    static uint8_t bad[8 * N];

    (void)state;
    for (size_t e = 0; e < ENCODINGS_N; e++) {
        const struct secagg_shape s = shape_of(ENCODINGS[e], 5);
        const size_t bytes = secagg_payload_bytes(AGGREGATION_CLEAR, &s, N);
        struct error err = {0};
        struct generation g;
        int k = 0;

        start(&g, &s);
        protect_all(&g, 1);
        assert_int_equal(generation_combine(&g, want, N, P, &err), STATUS_OK);
        secagg_begin(g.server, N);
        secagg_dither(g.server, g.dither);
        for (memcpy(bad, g.payload[2], bytes); spoil(bad, bytes, ENCODINGS[e], k);
             memcpy(bad, g.payload[2], bytes), k++) {
            assert_int_equal(secagg_add(g.server, 2, bad, NULL, &err), STATUS_PROTOCOL);
            assert_int_equal(secagg_open(&s, out, bad, N, 2, g.dither, &err), STATUS_PROTOCOL);
        }
        assert_true(k >= 4);
        for (uint32_t m = 0; m < M; m++)
            assert_int_equal(secagg_add(g.server, m, g.payload[m], NULL, &err), STATUS_OK);
        assert_int_equal(secagg_combine(g.server, out, P, &err), STATUS_OK);
        assert_memory_equal(out, want, sizeof want);
        generation_deinit(&g);
    }
}

/* A large scale is no more than the largest honest value. */
static void test_no_upload_says_more_than_the_clip(void **state)
{
    static const float large[] = {10.0F, 1e30F, 1e36F};
    static float out[N];

    (void)state;
    for (size_t e = 0; e < ENCODINGS_N; e++)
        for (int k = 0; k < 3; k++) {
            const struct secagg_shape s = shape_of(ENCODINGS[e], 3);
            const size_t bytes = secagg_payload_bytes(AGGREGATION_CLEAR, &s, N);
            struct error err = {0};
            struct generation g;
            size_t at_the_clip = 0;

            start(&g, &s);
            protect_all(&g, 1);
            memcpy(g.payload[0] + (ENCODINGS[e] == ENCODING_TOPK ? bytes - 4 : 0), &large[k], 4);
            assert_int_equal(secagg_open(&s, out, g.payload[0], N, 0, g.dither, &err), STATUS_OK);
            for (size_t i = 0; i < N; i++) {
                assert_true(fabsf(out[i]) <= CLIP);
                at_the_clip += fabsf(out[i]) == CLIP;
            }
            assert_true(at_the_clip > 0);
            generation_deinit(&g);
        }
}

/* --- misuse --- */

struct call {
    struct generation g;
    bool dithered;
    const uint8_t *dither;
};

static void add_one(void *arg)
{
    struct call *c = arg;
    struct error err = {0};

    secagg_begin(c->g.server, N);
    if (c->dithered)
        secagg_dither(c->g.server, c->g.dither);
    (void)!secagg_add(c->g.server, 0, c->g.payload[0], NULL, &err);
}

static void dither_late(void *arg)
{
    struct call *c = arg;

    add_one(arg);
    secagg_dither(c->g.server, c->g.dither);
}

static void protect_one(void *arg)
{
    struct call *c = arg;
    struct secagg_round round = generation_round(&c->g, 9);

    round.dither = c->dither;
    (void)!generation_protect(&c->g, 0, x[0], N, &round, NULL);
}

static void open_one(void *arg)
{
    static float out[N];
    struct call *c = arg;
    struct error err = {0};

    (void)!secagg_open(&c->g.shape, out, c->g.payload[0], N, 0, c->dither, &err);
}

static void test_a_round_needs_a_dither_of_its_own(void **state)
{
    static struct call c;
    const struct secagg_shape s = shape_of(ENCODING_SCALAR, 3);

    (void)state;
    start(&c.g, &s);
    protect_all(&c.g, 1);
    c.dithered = true;
    assert_false(aborts(add_one, &c));
    assert_true(aborts(dither_late, &c));
    secagg_begin(c.g.server, N);
    secagg_dither(c.g.server, c.g.dither);
    c.dithered = false; /* that of the round before is none */
    assert_true(aborts(add_one, &c));
    c.dither = c.g.dither;
    assert_false(aborts(protect_one, &c));
    assert_false(aborts(open_one, &c));
    c.dither = NULL;
    assert_true(aborts(protect_one, &c));
    assert_true(aborts(open_one, &c));
    generation_deinit(&c.g);
}

static void test_compressors_have_no_sum_to_hide_in(void **state)
{
    (void)state;
    for (size_t k = 0; k < ENCODINGS_N; k++) {
        struct secagg_shape s = shape_of(ENCODINGS[k], 3);

        s.segments = 1;
        s.privacy = 1;
        assert_int_equal(secagg_width(AGGREGATION_MASKED, &s), 0);
        assert_int_equal(secagg_width(AGGREGATION_CODED, &s), 0);
        assert_int_not_equal(secagg_width(AGGREGATION_CLEAR, &s), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_upload_is_what_the_compressor_makes_of_the_clipped_values),
        cmocka_unit_test(test_value_that_is_no_number_leaves_as_nought),
        cmocka_unit_test(test_sums_are_those_of_what_each_upload_opens_to),
        cmocka_unit_test(test_concat_keeps_members_apart_in_member_order),
        cmocka_unit_test(test_the_sum_over_those_present_is_scaled_to_all),
        cmocka_unit_test(test_an_upload_says_something_else_with_another_dither_or_member),
        cmocka_unit_test(test_what_no_compressor_makes_is_refused_and_leaves_no_trace),
        cmocka_unit_test(test_no_upload_says_more_than_the_clip),
        cmocka_unit_test(test_a_round_needs_a_dither_of_its_own),
        cmocka_unit_test(test_compressors_have_no_sum_to_hide_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
