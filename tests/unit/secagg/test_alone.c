/* test_alone.c -- what a party takes for its own part: what the server made of it, but for noise.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/alone.h"

#include "common/base/bits.h"
#include "tests/lib/aborts.h"
#include "tests/unit/secagg/needle.h"
#include "tests/unit/secagg/shown.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { VALUES = 9 * 803, CASES = 12 };

static const uint8_t SEED[32] = "alone";

static const enum plan_encoding ENCODINGS[] = {ENCODING_PBM,      ENCODING_FIXED,  ENCODING_FLOAT32,
                                               ENCODING_GAUSSIAN, ENCODING_SCALAR, ENCODING_LATTICE,
                                               ENCODING_E8,       ENCODING_TOPK};
enum { ENCODINGS_N = sizeof ENCODINGS / sizeof ENCODINGS[0] };

static struct rng chance;

static int setup(void **state)
{
    (void)state;
    return rng_init_key(&chance, SEED) == STATUS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    rng_deinit(&chance);
    return 0;
}

static bool compresses(enum plan_encoding e)
{
    return e >= ENCODING_SCALAR;
}

static bool adds_noise(enum plan_encoding e)
{
    return e == ENCODING_PBM || e == ENCODING_GAUSSIAN;
}

/* Noise is in the upload and nowhere else: so it is that or the clipped value, never both. */
static void test_alone_is_bit_for_bit_what_an_upload_without_noise_opens_to(void **state)
{
    static float alone[VALUES], opened[VALUES];
    size_t noisy = 0;

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N * CASES; k++) {
        const struct shown_case c =
            shown_random_case(&chance, AGGREGATION_CLEAR, ENCODINGS[k % ENCODINGS_N]);
        struct error err = {0};
        struct shown w;

        shown_init(&w, &c, &chance);
        shown_run(&w);
        for (uint32_t m = 0; m < c.parties; m++) {
            shown_alone(&w, m, alone);
            assert_int_equal(
                secagg_open(&w.g.shape, opened, w.g.payload[m], w.n, m, w.round.dither, &err),
                STATUS_OK);
            if (!adds_noise(c.encoding))
                assert_memory_equal(alone, opened, w.n * sizeof *alone);
            else
                noisy += memcmp(alone, opened, w.n * sizeof *alone) != 0;
        }
        shown_deinit(&w);
    }
    assert_true(noisy > CASES);
}

/* Under masks and shares, too: the sum of all codes less those that the others make in clear is
 * what this one put in. */
static void test_alone_is_the_same_under_masks_and_shares(void **state)
{
    static const enum plan_aggregation hidden[] = {AGGREGATION_MASKED, AGGREGATION_CODED};
    static uint32_t sum[VALUES], q[VALUES];
    static float alone[VALUES], want[VALUES];

    (void)state;
    for (size_t k = 0; k < 2 * CASES; k++) {
        const struct shown_case c = shown_random_case(&chance, hidden[k % 2], ENCODING_FIXED);
        struct shown w;

        shown_init(&w, &c, &chance);
        shown_run(&w);
        for (uint32_t m = 0; m < c.parties; m++) {
            const struct encode *e = &w.g.shape.encode;

            bits_naive_unpack(sum, w.shown, w.n,
                              bits_width((uint64_t)e->value_max * c.parties + 1));
            for (uint32_t j = 0; j < c.parties; j++) {
                shown_codes(&w, j, q);
                for (size_t i = 0; i < w.n && j != m; i++)
                    sum[i] -= q[i];
            }
            encode_estimate(e, want, sum, w.n, 1);
            shown_alone(&w, m, alone);
            assert_memory_equal(alone, want, w.n * sizeof *alone);
        }
        shown_deinit(&w);
    }
}

/* --- and it is this member's, of this round --- */

static struct shown_case large(enum plan_encoding encoding)
{
    return (struct shown_case){.aggregation = AGGREGATION_CLEAR,
                               .encoding = encoding,
                               .parties = 3,
                               .width = 8,
                               .rows = 300,
                               .bits = encoding == ENCODING_PBM ? 16 : 4,
                               .segments = 1,
                               .privacy = 1,
                               .clip = 1.5};
}

/* Another member, another dither, another importance: where it says something. */
static void test_alone_depends_on_member_dither_and_importance(void **state)
{
    static float first[VALUES], again[VALUES];

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N; k++) {
        const enum plan_encoding e = ENCODINGS[k];
        const bool dithered = compresses(e) && e != ENCODING_TOPK;
        const struct shown_case c = large(e);
        const struct secagg_shape s = shown_shape(&c, 0), other = shown_shape(&c, 1);
        struct secagg_round round;
        struct shown w;
        uint8_t dither[32] = "another";

        shown_init(&w, &c, &chance);
        shown_run(&w);
        shown_alone(&w, 0, first);
        secagg_alone(&other, again, w.x[0], w.n, &w.round);
        assert_int_equal(memcmp(first, again, w.n * sizeof *first) != 0, dithered);
        round = w.round;
        round.dither = dither;
        secagg_alone(&s, again, w.x[0], w.n, &round);
        assert_int_equal(memcmp(first, again, w.n * sizeof *first) != 0, dithered);
        for (uint32_t i = 0; i < c.width; i++)
            w.importance[i] = 1 - w.importance[i];
        shown_alone(&w, 0, again);
        assert_int_equal(memcmp(first, again, w.n * sizeof *first) != 0, e == ENCODING_TOPK);
        shown_deinit(&w);
    }
}

/* What was drawn for an upload leaves no trace: two rounds that differ in noise alone. */
static void test_of_values_with_noise_alone_is_the_value_clipped(void **state)
{
    static const enum plan_encoding noisy[] = {ENCODING_PBM, ENCODING_GAUSSIAN, ENCODING_FLOAT32};
    static float first[VALUES], again[VALUES];

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        const struct shown_case c = large(noisy[k]);
        static uint8_t before[4 * VALUES];
        size_t beyond = 0;
        struct shown w;

        shown_init(&w, &c, &chance);
        shown_run(&w);
        assert_true(w.shown_bytes <= sizeof before);
        memcpy(before, w.shown, w.shown_bytes);
        shown_alone(&w, 2, first);
        shown_run(&w);
        assert_int_equal(memcmp(before, w.shown, w.shown_bytes) != 0, adds_noise(noisy[k]));
        shown_alone(&w, 2, again);
        assert_memory_equal(first, again, w.n * sizeof *first);
        for (size_t i = 0; i < w.n; i++) {
            assert_true(first[i] == fminf(fmaxf(w.x[2][i], -1.5F), 1.5F));
            beyond += fabsf(w.x[2][i]) > 1.5F;
        }
        assert_true(beyond > 10);
        shown_deinit(&w);
    }
}

static void test_values_of_compressors_stay_within_the_clip(void **state)
{
    static float y[VALUES];

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N * CASES; k++) {
        const enum plan_encoding e = ENCODINGS[k % ENCODINGS_N];
        const struct shown_case c = shown_random_case(&chance, AGGREGATION_CLEAR, e);
        struct shown w;

        if (!compresses(e))
            continue;
        shown_init(&w, &c, &chance);
        for (size_t i = 0; i < w.n; i++)
            w.x[0][i] *= 10;
        shown_run(&w);
        shown_alone(&w, 0, y);
        for (size_t i = 0; i < w.n; i++)
            assert_true(fabsf(y[i]) <= (float)c.clip);
        shown_deinit(&w);
    }
}

/* --- misuse, and what is left --- */

struct call {
    struct shown_case c;
    struct shown w;
};

static void alone_of_zero(void *arg)
{
    static float y[VALUES];
    struct call *call = arg;

    shown_alone(&call->w, 0, y);
}

static void test_misuse_is_a_programmers_mistake(void **state)
{
    static struct call call;

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N; k++) {
        void *scratch;

        call.c = large(ENCODINGS[k]);
        shown_init(&call.w, &call.c, &chance);
        shown_run(&call.w);
        assert_false(aborts(alone_of_zero, &call));
        scratch = call.w.round.scratch;
        call.w.round.scratch = NULL;
        assert_int_equal(aborts(alone_of_zero, &call), compresses(ENCODINGS[k]));
        call.w.round.scratch = scratch;
        call.w.round.dither = NULL;
        assert_int_equal(aborts(alone_of_zero, &call), compresses(ENCODINGS[k]));
        call.w.round.dither = call.w.g.dither;
        shown_deinit(&call.w);
    }
}

static void test_value_that_is_not_finite_counts_as_nought(void **state)
{
    static const float strange[] = {NAN, INFINITY, -INFINITY};
    static float want[VALUES], y[VALUES];

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N; k++) {
        const struct shown_case c = large(ENCODINGS[k]);
        struct shown w;

        shown_init(&w, &c, &chance);
        shown_run(&w);
        w.x[0][5] = 0;
        shown_alone(&w, 0, want);
        for (size_t i = 0; i < 3; i++) {
            w.x[0][5] = strange[i];
            shown_alone(&w, 0, y);
            assert_memory_equal(y, want, w.n * sizeof *y);
        }
        shown_deinit(&w);
    }
}

/* An upload of few values may be longer than they are. */
static void test_scratch_holds_an_upload_and_the_values_of_one(void **state)
{
    bool longer = false;

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N; k++)
        for (int concat = 0; concat < 2; concat++)
            for (uint32_t n = 1; n < 40; n++) {
                struct shown_case c = large(ENCODINGS[k]);
                struct secagg_shape s;
                size_t bytes;

                c.width = 1;
                c.bits = 8;
                c.concat = concat == 1;
                s = shown_shape(&c, 0);
                bytes = secagg_payload_bytes(AGGREGATION_CLEAR, &s, n);
                if (!compresses(ENCODINGS[k])) {
                    assert_int_equal(secagg_scratch_bytes(&s, n), concat ? n * sizeof(float) : 0);
                    continue;
                }
                longer |= bytes > n * sizeof(float);
                assert_true(secagg_scratch_bytes(&s, n) >= bytes);
                assert_true(secagg_scratch_bytes(&s, n) >= n * sizeof(float));
            }
    assert_true(longer);
}

static void test_no_code_is_left_behind(void **state)
{
    enum { CODE = 0x0b5d };
    struct shown_case c = large(ENCODING_FIXED);
    struct secagg_shape s;
    struct needle x;
    struct shown w;
    static float in[VALUES], y[VALUES];
    static uint32_t q[VALUES];

    (void)state;
    c.bits = 14;
    s = shown_shape(&c, 0);
    shown_init(&w, &c, &chance);
    for (size_t i = 0; i < w.n; i++)
        in[i] = generation_value(&s, CODE);
    for (size_t i = 0; i < NEEDLE_BYTES; i++)
        x.inverted[i] = (uint8_t) ~(i % 4 == 0 ? CODE & 0xff : i % 4 == 1 ? CODE >> 8 : 0);
    secagg_alone(&s, y, in, w.n, &w.round);
    assert_int_equal(needle_count(&x), 0);
    encode_integers(&s.encode, q, in, w.n, NULL); /* it would be found */
    assert_true(needle_count(&x) > 0);
    shown_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone_is_bit_for_bit_what_an_upload_without_noise_opens_to),
        cmocka_unit_test(test_alone_is_the_same_under_masks_and_shares),
        cmocka_unit_test(test_alone_depends_on_member_dither_and_importance),
        cmocka_unit_test(test_of_values_with_noise_alone_is_the_value_clipped),
        cmocka_unit_test(test_values_of_compressors_stay_within_the_clip),
        cmocka_unit_test(test_misuse_is_a_programmers_mistake),
        cmocka_unit_test(test_value_that_is_not_finite_counts_as_nought),
        cmocka_unit_test(test_scratch_holds_an_upload_and_the_values_of_one),
        cmocka_unit_test(test_no_code_is_left_behind),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
