/* test_others.c -- what is left of a sum without the own part; what no honest server shows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/others.h"

#include "common/base/bits.h"
#include "tests/lib/aborts.h"
#include "tests/unit/secagg/needle.h"
#include "tests/unit/secagg/shown.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { VALUES = 9 * 803, CASES = 15, ENCODINGS_N = ENCODING_TOPK + 1 };

static const uint8_t SEED[32] = "others";

static const enum plan_aggregation AGGREGATIONS[] = {AGGREGATION_MASKED, AGGREGATION_CODED,
                                                     AGGREGATION_CLEAR};

static struct rng chance;
static float out[SHOWN_PARTIES_MAX * VALUES], own[VALUES], alone[SHOWN_PARTIES_MAX][VALUES];

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

static void alone_of_all(const struct shown *w)
{
    for (uint32_t m = 0; m < w->c.parties; m++)
        shown_alone(w, m, alone[m]);
}

/* --- what is left --- */

/* Codes: exactly the estimate of the others' sum; and what all amount to less oneself. */
static void expect_codes_of_others(const struct shown *w, uint32_t self)
{
    static uint32_t sum[VALUES], q[VALUES];
    static float want[VALUES];
    const struct encode *e = &w->g.shape.encode;

    memset(sum, 0, sizeof sum);
    for (uint32_t m = 0; m < w->c.parties; m++) {
        shown_codes(w, m, q);
        for (size_t i = 0; i < w->n && m != self; i++)
            sum[i] += q[i];
    }
    encode_estimate(e, want, sum, w->n, w->c.parties - 1);
    assert_int_equal(shown_others(w, self, out, w->shown), STATUS_OK);
    assert_memory_equal(out, want, w->n * sizeof *want);
}

static void expect_sum_of_others(const struct shown *w, uint32_t self)
{
    /* Half a unit in the last place of the sum, of what is left, and of each addition. */
    const double unit = (double)encode_float_max(&w->g.shape.encode) * w->c.parties * FLT_EPSILON;

    assert_int_equal(shown_others(w, self, out, w->shown), STATUS_OK);
    for (size_t i = 0; i < w->n; i++) {
        double sum = 0;

        for (uint32_t m = 0; m < w->c.parties; m++)
            sum += m == self ? 0 : (double)alone[m][i];
        assert_true(fabs((double)out[i] - sum) <= w->c.parties * unit);
        assert_true(fabs((double)out[i] + (double)alone[self][i] - (double)w->combined[i]) <=
                    w->c.parties * unit);
    }
}

static void expect_columns_of_others(const struct shown *w, uint32_t self)
{
    const uint32_t parties = w->c.parties, width = w->c.width;

    assert_int_equal(shown_others(w, self, out, w->shown), STATUS_OK);
    for (size_t i = 0; i < w->n * parties; i++) {
        const size_t m = i / width % parties;

        if (m == self)
            assert_true(out[i] == 0);
        else
            assert_true(out[i] == w->combined[i]);
    }
}

static void test_what_is_left_is_what_the_others_amount_to(void **state)
{
    size_t seen[3] = {0};

    (void)state;
    for (size_t k = 0; k < 3 * ENCODINGS_N * CASES; k++) {
        const enum plan_encoding e = (enum plan_encoding)(k / 3 % ENCODINGS_N);
        const bool integers = e == ENCODING_PBM || e == ENCODING_FIXED;
        const struct shown_case c =
            shown_random_case(&chance, integers ? AGGREGATIONS[k % 3] : AGGREGATION_CLEAR, e);
        struct shown w;

        shown_init(&w, &c, &chance);
        shown_run(&w);
        alone_of_all(&w);
        for (uint32_t self = 0; self < c.parties; self++) {
            seen[c.concat ? 0 : integers ? 1 : 2]++;
            if (c.concat)
                expect_columns_of_others(&w, self);
            else if (integers)
                expect_codes_of_others(&w, self);
            else
                expect_sum_of_others(&w, self);
        }
        shown_deinit(&w);
    }
    assert_true(seen[0] > 100 && seen[1] > 100 && seen[2] > 100);
}

static void test_of_one_member_alone_there_are_no_others(void **state)
{
    (void)state;
    for (int e = 0; e < ENCODINGS_N; e++)
        for (int concat = 0; concat < 2; concat++) {
            struct shown_case c =
                shown_random_case(&chance, AGGREGATION_CLEAR, (enum plan_encoding)e);
            struct shown w;

            c.parties = 1;
            c.concat = concat == 1;
            shown_init(&w, &c, &chance);
            shown_run(&w);
            assert_int_equal(shown_others(&w, 0, out, w.shown), STATUS_OK);
            for (size_t i = 0; i < w.n; i++)
                assert_true(out[i] == 0);
            shown_deinit(&w);
        }
}

static void test_estimates_of_codes_are_codes_again(void **state)
{
    (void)state;
    for (int k = 0; k < 400; k++) {
        struct shown_case c = shown_random_case(&chance, AGGREGATION_CLEAR,
                                                k % 2 == 0 ? ENCODING_PBM : ENCODING_FIXED);
        struct encode e;
        uint32_t q[64], back[64];
        float y[64];

        if (k % 20 == 1)
            c.bits = 24; /* as many as a float has */
        if (k % 20 == 2)
            c.bits = 1024; /* trials */
        e = shown_shape(&c, 0).encode;
        for (size_t i = 0; i < 64; i++)
            q[i] =
                i < 2 ? (uint32_t)i * e.value_max : (uint32_t)rng_below(&chance, e.value_max + 1);
        encode_estimate(&e, y, q, 64, 1);
        assert_true(encode_codes(&e, back, y, 64));
        assert_memory_equal(q, back, sizeof q);
        if (c.encoding == ENCODING_PBM || c.bits < 20) {
            y[63] = nextafterf(y[63], 9);
            assert_false(encode_codes(&e, back, y, 64));
        }
        y[63] = NAN;
        assert_false(encode_codes(&e, back, y, 64));
        y[63] = 1e9F;
        assert_false(encode_codes(&e, back, y, 64));
    }
}

/* --- replays --- */

static struct shown_case large(enum plan_aggregation a, enum plan_encoding encoding)
{
    return (struct shown_case){a, encoding, false, 4, 3, 777, 9, 1, 1, 1.5};
}

static enum status replay(struct shown *w, bool replayed)
{
    const struct secagg_shape s = shown_shape(&w->c, 1);
    struct error err = {0};

    w->round.replayed = replayed;
    return secagg_others(&s, out, w->shown, own, w->n, w->c.width, &w->round, &err);
}

static void test_a_replay_without_its_noise_subtracts_its_values(void **state)
{
    static const enum plan_encoding noisy[] = {ENCODING_PBM, ENCODING_GAUSSIAN};

    (void)state;
    for (int k = 0; k < 2; k++) {
        const struct shown_case c = large(AGGREGATION_CLEAR, noisy[k]);
        const struct secagg_shape s = shown_shape(&c, 1);
        struct shown w;

        shown_init(&w, &c, &chance);
        shown_run(&w);
        secagg_alone(&s, own, w.x[1], w.n, &w.round, NULL);
        assert_int_equal(replay(&w, true), STATUS_OK);
        for (size_t i = 0; i < w.n; i++)
            assert_true(out[i] == (float)((double)w.combined[i] - (double)own[i]));
        shown_deinit(&w);
    }
}

/* Codes without noise are known in a replay, too. */
static void test_a_replay_without_noise_is_no_guess(void **state)
{
    const struct shown_case c = large(AGGREGATION_MASKED, ENCODING_FIXED);
    struct shown w;

    (void)state;
    shown_init(&w, &c, &chance);
    shown_run(&w);
    for (int replayed = 0; replayed < 2; replayed++) {
        w.round.replayed = replayed == 1;
        expect_codes_of_others(&w, 3);
    }
    shown_deinit(&w);
}

struct call {
    struct shown w;
    bool replayed;
};

static void replay_call(void *arg)
{
    struct call *c = arg;

    (void)!replay(&c->w, c->replayed);
}

static void test_values_that_are_no_codes_are_a_programmers_mistake(void **state)
{
    static struct call call;
    const struct shown_case c = large(AGGREGATION_MASKED, ENCODING_PBM);
    const struct secagg_shape s = shown_shape(&c, 1);

    (void)state;
    shown_init(&call.w, &c, &chance);
    shown_run(&call.w);
    secagg_alone(&s, own, call.w.x[1], call.w.n, &call.w.round, NULL);
    call.replayed = true;
    assert_false(aborts(replay_call, &call));
    call.replayed = false;
    assert_true(aborts(replay_call, &call));
    shown_deinit(&call.w);
}

/* --- what no honest server shows --- */

/* One sum of codes in place of another. */
static enum status with_sum(const struct shown *w, uint32_t self, size_t at, uint64_t sum)
{
    static uint32_t sums[VALUES];
    static uint8_t bytes[4 * VALUES];
    const uint32_t width = bits_width((uint64_t)w->g.shape.encode.value_max * w->c.parties + 1);

    bits_naive_unpack(sums, w->shown, w->n, width);
    sums[at] = (uint32_t)sum;
    bits_naive_pack(bytes, sums, w->n, width);
    return shown_others(w, self, out, bytes);
}

static void test_sums_that_the_members_cannot_reach_are_refused(void **state)
{
    static uint32_t q[VALUES];

    (void)state;
    for (size_t k = 0; k < 6; k++) {
        const struct shown_case c =
            large(AGGREGATIONS[k % 3], k < 3 ? ENCODING_PBM : ENCODING_FIXED);
        struct shown w;

        shown_init(&w, &c, &chance);
        shown_run(&w);
        shown_codes(&w, 2, q);
        for (int place = 0; place < 3; place++) {
            const size_t at = place == 0 ? 0 : place == 1 ? 2048 : w.n - 1;
            const uint32_t top = w.g.shape.encode.value_max;

            assert_int_equal(with_sum(&w, 2, at, q[at]), STATUS_OK);
            assert_int_equal(with_sum(&w, 2, at, q[at] + 3 * top), STATUS_OK);
            assert_int_equal(with_sum(&w, 2, at, q[at] + 3 * top + 1), STATUS_PROTOCOL);
            assert_int_equal(with_sum(&w, 2, at, 4 * top + 1), STATUS_PROTOCOL);
            if (q[at] > 0)
                assert_int_equal(with_sum(&w, 2, at, q[at] - 1), STATUS_PROTOCOL);
        }
        shown_deinit(&w);
    }
}

/* A replay knows not its codes, but what all can reach. */
static void test_replays_refuse_sums_beyond_all_members(void **state)
{
    static uint32_t sums[VALUES];
    const struct shown_case c = large(AGGREGATION_MASKED, ENCODING_PBM);
    const struct secagg_shape s = shown_shape(&c, 1);
    struct shown w;
    uint32_t width;

    (void)state;
    shown_init(&w, &c, &chance);
    shown_run(&w);
    secagg_alone(&s, own, w.x[1], w.n, &w.round, NULL);
    width = bits_width(4 * c.bits + 1);
    bits_naive_unpack(sums, w.shown, w.n, width);
    for (uint32_t more = 0; more < 2; more++) {
        sums[w.n - 1] = 4 * c.bits + more;
        bits_naive_pack(w.shown, sums, w.n, width);
        assert_int_equal(replay(&w, true), more == 0 ? STATUS_OK : STATUS_PROTOCOL);
    }
    shown_deinit(&w);
}

static void test_bits_behind_the_last_sum_are_zero(void **state)
{
    const struct shown_case c = large(AGGREGATION_MASKED, ENCODING_PBM); /* 0..36: 6 bits */
    struct shown w;
    uint8_t *last;

    (void)state;
    shown_init(&w, &c, &chance);
    shown_run(&w);
    assert_int_equal(w.n * 6 % 8, 2);
    last = w.shown + w.shown_bytes - 1;
    assert_int_equal(shown_others(&w, 0, out, w.shown), STATUS_OK);
    for (int bit = 2; bit < 8; bit++) {
        *last = (uint8_t)(*last ^ 1U << bit);
        assert_int_equal(shown_others(&w, 0, out, w.shown), STATUS_PROTOCOL);
        *last = (uint8_t)(*last ^ 1U << bit);
    }
    assert_int_equal(shown_others(&w, 0, out, w.shown), STATUS_OK);
    shown_deinit(&w);
}

static void test_floats_beyond_all_members_are_refused(void **state)
{
    static const enum plan_encoding floats[] = {ENCODING_FLOAT32, ENCODING_GAUSSIAN};

    (void)state;
    for (int k = 0; k < 2; k++) {
        const struct shown_case c = large(AGGREGATION_CLEAR, floats[k]);
        struct shown w;
        float most;

        shown_init(&w, &c, &chance);
        shown_run(&w);
        most = 4 * encode_float_max(&w.g.shape.encode);
        for (int place = 0; place < 3; place++) {
            const float v[] = {
                most,     -most,    nextafterf(most, FLT_MAX), -nextafterf(most, FLT_MAX), NAN,
                INFINITY, -INFINITY};
            uint8_t *at = w.shown + sizeof(float) * (place == 0 ? 0 : place == 1 ? 2048 : w.n - 1);

            for (int i = 0; i < 7; i++) {
                uint8_t before[sizeof(float)];

                memcpy(before, at, sizeof before);
                memcpy(at, &v[i], sizeof v[i]);
                assert_int_equal(shown_others(&w, 3, out, w.shown),
                                 i < 2 ? STATUS_OK : STATUS_PROTOCOL);
                memcpy(at, before, sizeof before);
            }
        }
        shown_deinit(&w);
    }
}

/* The sum of the largest values there are, which floats cannot hold exactly, is no lie. */
static void test_the_largest_sums_are_taken(void **state)
{
    (void)state;
    for (int k = 0; k < 60; k++) {
        struct shown_case c = shown_random_case(&chance, AGGREGATION_CLEAR, ENCODING_FLOAT32);
        struct shown w;

        c.concat = false;
        shown_init(&w, &c, &chance);
        for (uint32_t m = 0; m < c.parties; m++)
            for (size_t i = 0; i < w.n; i++)
                w.x[m][i] = k % 2 == 0 ? 100 : -100;
        shown_run(&w);
        assert_int_equal(shown_others(&w, 0, out, w.shown), STATUS_OK);
        shown_deinit(&w);
    }
}

/* Something that no member sends, of one member. */
static void spoil(const struct shown *w, uint8_t *payload)
{
    static const float nan = NAN;
    const size_t bytes = secagg_payload_bytes(AGGREGATION_CLEAR, &w->g.shape, w->n);
    const enum plan_encoding e = w->c.encoding;

    if (e == ENCODING_PBM || e == ENCODING_FIXED)
        memset(payload, 0xff, bytes); /* 9 trials: no code is 15 */
    else if (e == ENCODING_TOPK)
        memcpy(payload + bytes - sizeof nan, &nan, sizeof nan);
    else
        memcpy(payload, &nan, sizeof nan);
}

static void test_payloads_that_no_member_sends_are_refused_but_the_own(void **state)
{
    (void)state;
    for (int e = 0; e < ENCODINGS_N; e++)
        for (int concat = 0; concat < 2; concat++) {
            struct shown_case c = large(AGGREGATION_CLEAR, (enum plan_encoding)e);
            struct shown w;

            c.concat = concat == 1;
            if (e >= ENCODING_SCALAR)
                c.bits = 4;
            /* fixed has no codes that nobody sends; sums were above */
            if (e == ENCODING_FIXED || (concat == 0 && e < ENCODING_SCALAR))
                continue;
            shown_init(&w, &c, &chance);
            for (uint32_t liar = 0; liar < c.parties; liar++) {
                shown_run(&w);
                spoil(&w, w.shown + liar * (w.shown_bytes / c.parties));
                for (uint32_t self = 0; self < c.parties; self++)
                    assert_int_equal(shown_others(&w, self, out, w.shown),
                                     self == liar ? STATUS_OK : STATUS_PROTOCOL);
            }
            shown_deinit(&w);
        }
}

/* A server could not be blamed for what a member sent. */
static void test_whatever_an_upload_is_the_server_and_the_others_agree_about_it(void **state)
{
    size_t taken = 0, refused = 0;

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N * 300; k++) {
        const enum plan_encoding e = (enum plan_encoding)(k % ENCODINGS_N);
        struct shown_case c = shown_random_case(&chance, AGGREGATION_CLEAR, e);
        struct error err = {0};
        struct shown w;
        size_t bytes;
        enum status at_server;

        c.concat = true;
        c.parties = 2;
        c.rows = 1 + (uint32_t)rng_below(&chance, 3);
        shown_init(&w, &c, &chance);
        shown_run(&w);
        bytes = w.shown_bytes / 2;
        for (int flips = (int)rng_below(&chance, 4); flips >= 0; flips--)
            w.shown[bytes + rng_below(&chance, bytes)] ^= (uint8_t)(1U << rng_below(&chance, 8));
        secagg_begin(w.g.server, w.n);
        secagg_dither(w.g.server, w.round.dither);
        at_server = secagg_add(w.g.server, 1, w.shown + bytes, NULL, &err);
        assert_int_equal(shown_others(&w, 0, out, w.shown), at_server);
        taken += at_server == STATUS_OK;
        refused += at_server == STATUS_PROTOCOL;
        shown_deinit(&w);
    }
    assert_true(taken > 100 && refused > 100 && taken + refused == ENCODINGS_N * 300);
}

/* --- what is left behind --- */

static struct needle of_words(uint32_t word)
{
    struct needle x;

    for (size_t i = 0; i < NEEDLE_BYTES; i++)
        x.inverted[i] = (uint8_t) ~(word >> 8 * (i % 4));
    return x;
}

/* Neither the own codes nor those of the others together; the estimate of the own is only where the
 * caller has it. */
static void test_no_code_is_left_behind(void **state)
{
    enum { CODE = 0x1b5d, OTHER = 0x0a97 };
    const uint32_t first = 2000, n = 100; /* not all: the rest of a chunk is another's */
    struct shown_case c = large(AGGREGATION_MASKED, ENCODING_FIXED);
    struct needle code, rest, value;
    struct secagg_shape s;
    struct error err = {0};
    struct shown w;
    uint32_t word;

    (void)state;
    c.bits = 14;
    shown_init(&w, &c, &chance);
    s = shown_shape(&c, 0);
    for (uint32_t m = 0; m < c.parties; m++)
        for (size_t i = first; i < first + n; i++)
            w.x[m][i] = generation_value(&s, m == 0 ? CODE : OTHER);
    shown_run(&w);
    shown_alone(&w, 0, own);
    memcpy(&word, &own[first], sizeof word);
    code = of_words(CODE);
    rest = of_words(3 * OTHER);
    value = of_words(word);
    assert_int_equal(needle_count(&code), 0);
    assert_true(needle_count(&value) > 0);
    word = (uint32_t)needle_count(&value);
    assert_int_equal(secagg_others(&s, out, w.shown, own, w.n, c.width, &w.round, &err), STATUS_OK);
    assert_int_equal(needle_count(&code), 0);
    assert_int_equal(needle_count(&rest), 0);
    assert_int_equal(needle_count(&value), word);
    shown_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_left_is_what_the_others_amount_to),
        cmocka_unit_test(test_of_one_member_alone_there_are_no_others),
        cmocka_unit_test(test_estimates_of_codes_are_codes_again),
        cmocka_unit_test(test_a_replay_without_its_noise_subtracts_its_values),
        cmocka_unit_test(test_a_replay_without_noise_is_no_guess),
        cmocka_unit_test(test_no_code_is_left_behind),
        cmocka_unit_test(test_values_that_are_no_codes_are_a_programmers_mistake),
        cmocka_unit_test(test_sums_that_the_members_cannot_reach_are_refused),
        cmocka_unit_test(test_replays_refuse_sums_beyond_all_members),
        cmocka_unit_test(test_bits_behind_the_last_sum_are_zero),
        cmocka_unit_test(test_floats_beyond_all_members_are_refused),
        cmocka_unit_test(test_the_largest_sums_are_taken),
        cmocka_unit_test(test_payloads_that_no_member_sends_are_refused_but_the_own),
        cmocka_unit_test(test_whatever_an_upload_is_the_server_and_the_others_agree_about_it),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
