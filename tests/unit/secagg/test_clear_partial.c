/* test_clear_partial.c -- clear rounds that close without some members, and single uploads opened.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/bits.h"
#include "tests/unit/secagg/generation.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { M = 5, P = 3, ROWS = 700, N = P * ROWS };

static const uint8_t SEED[32] = "partial";

static const enum plan_encoding ENCODINGS[] = {ENCODING_PBM, ENCODING_FIXED, ENCODING_FLOAT32,
                                               ENCODING_GAUSSIAN};
enum { ENCODINGS_N = sizeof ENCODINGS / sizeof ENCODINGS[0] };

static void start(struct generation *g, enum plan_encoding encoding, bool partial, bool concat)
{
    struct plan p = generation_plan(encoding);
    struct secagg_shape shape;
    struct rng r;

    p.protocol.fixed.bits = 20;
    shape = generation_shape(&p, M, N);
    shape.partial = partial;
    shape.concat = concat;
    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    generation_init(g, AGGREGATION_CLEAR, &shape, &r);
    rng_deinit(&r);
}

/* Every member's upload of a round whose noise depends on member and round alone. */
static void protect_all(struct generation *g, uint64_t number)
{
    static float x[N];
    const struct secagg_round round = generation_round(g, number);

    for (uint32_t m = 0; m < M; m++) {
        uint8_t key[RNG_KEY_BYTES];
        struct rng noise;

        rng_seed_key(key, 2, m, "noise", number);
        assert_int_equal(rng_init_key(&noise, key), STATUS_OK);
        for (size_t i = 0; i < N; i++)
            x[i] = (float)sin((double)(i * 5 + m * 11 + number));
        assert_int_equal(generation_protect(g, m, x, N, &round, &noise), STATUS_OK);
        rng_deinit(&noise);
    }
}

/* The members whose bit is set are in. */
static enum status combine(struct generation *g, float *out, uint32_t present)
{
    struct error err = {0};
    enum status s;

    secagg_begin(g->server, N);
    for (uint32_t m = M; m-- > 0;) {
        if (present >> m & 1)
            assert_int_equal(secagg_add(g->server, m, g->payload[m], NULL, &err), STATUS_OK);
    }
    s = secagg_combine(g->server, out, P, &err);
    assert_int_equal(err.status, s);
    return s;
}

static void open_all(struct generation *g, float out[M][N])
{
    struct error err = {0};

    for (uint32_t m = 0; m < M; m++)
        assert_int_equal(secagg_open(&g->shape, out[m], g->payload[m], N, m, NULL, &err),
                         STATUS_OK);
}

/* --- sums --- */

static void test_the_sum_over_those_present_is_scaled_to_all(void **state)
{
    static float out[N], one[M][N];

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N; k++) {
        struct generation g;

        start(&g, ENCODINGS[k], true, false);
        for (uint32_t present = 1; present < 1 << M; present++) {
            const double scale = (double)M / __builtin_popcount(present);

            protect_all(&g, present);
            open_all(&g, one);
            assert_int_equal(combine(&g, out, present), STATUS_OK);
            for (size_t i = 0; i < N; i++) {
                double sum = 0;

                for (uint32_t m = 0; m < M; m++)
                    sum += present >> m & 1 ? (double)one[m][i] : 0;
                assert_true(fabs((double)out[i] - sum * scale) < 1e-5 * scale * M);
            }
        }
        generation_deinit(&g);
    }
}

static void test_with_everybody_there_nothing_differs_by_a_bit(void **state)
{
    static float partial[N], full[N];

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N; k++) {
        struct generation g, h;

        start(&g, ENCODINGS[k], true, false);
        start(&h, ENCODINGS[k], false, false);
        protect_all(&g, 3);
        protect_all(&h, 3);
        assert_int_equal(combine(&g, partial, 0x1f), STATUS_OK);
        assert_int_equal(combine(&h, full, 0x1f), STATUS_OK);
        assert_memory_equal(partial, full, sizeof full);
        assert_int_equal(combine(&g, partial, 0x0f), STATUS_OK);
        assert_memory_not_equal(partial, full, sizeof full);
        assert_int_equal(combine(&h, full, 0x0f), STATUS_INTEGRITY); /* it was not agreed on */
        generation_deinit(&g);
        generation_deinit(&h);
    }
}

static void test_a_round_without_anybody_is_none(void **state)
{
    static float out[M * N];
    struct generation g;

    (void)state;
    for (int concat = 0; concat < 2; concat++) {
        start(&g, ENCODING_FLOAT32, true, concat == 1);
        protect_all(&g, 0);
        assert_int_equal(combine(&g, out, 0), STATUS_INTEGRITY);
        generation_deinit(&g);
    }
}

static void test_a_refused_upload_or_one_of_an_earlier_round_is_not_in_the_sum(void **state)
{
    static float out[N], want[N];
    static const float strange[N] = {[N - 1] = INFINITY};
    struct generation g;
    struct error err = {0};

    (void)state;
    start(&g, ENCODING_FLOAT32, true, false);
    protect_all(&g, 0);
    assert_int_equal(combine(&g, out, 0x1f), STATUS_OK);
    assert_int_equal(combine(&g, want, 0x1e), STATUS_OK);
    secagg_begin(g.server, N);
    assert_int_equal(secagg_add(g.server, 0, (const uint8_t *)strange, NULL, &err),
                     STATUS_PROTOCOL);
    for (uint32_t m = 1; m < M; m++)
        assert_int_equal(secagg_add(g.server, m, g.payload[m], NULL, &err), STATUS_OK);
    assert_int_equal(secagg_combine(g.server, out, P, &err), STATUS_OK);
    assert_memory_equal(out, want, sizeof want);
    generation_deinit(&g);
}

/* --- side by side --- */

static void test_columns_of_the_absent_are_zero_and_those_present_as_they_are(void **state)
{
    static float out[M * N], one[M][N];
    static const float none[P];

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N; k++) {
        struct generation g;

        start(&g, ENCODINGS[k], true, true);
        protect_all(&g, 1);
        open_all(&g, one);
        assert_int_equal(combine(&g, out, 0x1f), STATUS_OK); /* fills every slot */
        for (uint32_t present = 1; present < 1 << M; present += 3) {
            memset(out, 0xff, sizeof out);
            assert_int_equal(combine(&g, out, present), STATUS_OK);
            for (size_t r = 0; r < ROWS; r++)
                for (uint32_t m = 0; m < M; m++)
                    assert_memory_equal(out + (r * M + m) * P,
                                        present >> m & 1 ? one[m] + r * P : none, sizeof none);
        }
        generation_deinit(&g);
    }
}

static void test_those_absent_are_named_in_ascending_order(void **state)
{
    static float out[N];
    uint8_t absent[PLAN_PARTIES_MAX];
    struct generation g;

    (void)state;
    start(&g, ENCODING_FIXED, true, false);
    protect_all(&g, 0);
    for (uint32_t present = 1; present < 1 << M; present++) {
        uint32_t k = 0;

        assert_int_equal(combine(&g, out, present), STATUS_OK);
        assert_int_equal(secagg_present(g.server, absent), __builtin_popcount(present));
        for (uint8_t m = 0; m < M; m++)
            assert_true((present >> m & 1) || absent[k++] == m);
        assert_int_equal(k, M - __builtin_popcount(present));
    }
    generation_deinit(&g);
}

/* --- one upload --- */

static void test_an_upload_opens_to_what_its_member_sent(void **state)
{
    static float one[M][N];
    static const double tolerance[] = {3.01, 1e-5, 0, 40}; /* of the encodings and their noise */

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N; k++) {
        struct generation g;
        double mean = 0;

        start(&g, ENCODINGS[k], false, false);
        protect_all(&g, 4);
        open_all(&g, one);
        for (uint32_t m = 0; m < M; m++)
            for (size_t i = 0; i < N; i++) {
                const double off =
                    (double)one[m][i] - (double)(float)sin((double)(i * 5 + m * 11 + 4));

                assert_true(fabs(off) <= tolerance[k]);
                mean += off / (M * N);
            }
        assert_true(fabs(mean) < 0.15);
        generation_deinit(&g);
    }
}

static void test_an_upload_that_nobody_sends_does_not_open(void **state)
{
    static float out[N];
    static uint8_t bytes[4 * N];
    struct plan p = generation_plan(ENCODING_PBM); /* codes 0..16 in 5 bits */
    struct secagg_shape s = generation_shape(&p, M, N);
    struct error err = {0};
    uint32_t codes[N] = {0};
    float floats[N] = {0};

    (void)state;
    for (uint32_t v = 16; v < 18; v++) {
        codes[N - 1] = v;
        bits_naive_pack(bytes, codes, N, 5);
        assert_int_equal(secagg_open(&s, out, bytes, N, 0, NULL, &err),
                         v == 16 ? STATUS_OK : STATUS_PROTOCOL);
    }
    p.protocol.encoding = ENCODING_FLOAT32;
    s = generation_shape(&p, M, N);
    for (int k = 0; k < 3; k++) {
        const float v[] = {1, nextafterf(1, 2), NAN};

        floats[N - 1] = v[k];
        assert_int_equal(secagg_open(&s, out, (const uint8_t *)floats, N, 0, NULL, &err),
                         k == 0 ? STATUS_OK : STATUS_PROTOCOL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_sum_over_those_present_is_scaled_to_all),
        cmocka_unit_test(test_with_everybody_there_nothing_differs_by_a_bit),
        cmocka_unit_test(test_a_round_without_anybody_is_none),
        cmocka_unit_test(test_a_refused_upload_or_one_of_an_earlier_round_is_not_in_the_sum),
        cmocka_unit_test(test_columns_of_the_absent_are_zero_and_those_present_as_they_are),
        cmocka_unit_test(test_those_absent_are_named_in_ascending_order),
        cmocka_unit_test(test_an_upload_opens_to_what_its_member_sent),
        cmocka_unit_test(test_an_upload_that_nobody_sends_does_not_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
