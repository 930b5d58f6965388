/* test_others.c -- what is left of a sum without the own part; what no honest server shows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/others.h"

#include "common/base/bits.h"
#include "tests/unit/secagg/needle.h"
#include "tests/unit/secagg/shown.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { VALUES = 9 * 803, CASES = 15, ENCODINGS_N = PLAN_ENCODINGS };

static const uint8_t SEED[32] = "others";

static const enum plan_aggregation AGGREGATIONS[] = {AGGREGATION_MASKED, AGGREGATION_CODED,
                                                     AGGREGATION_CLEAR};

static struct rng chance;
static float out[SHOWN_PARTIES_MAX * VALUES], own[VALUES];

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

/* What the server makes of member m's upload, noise and all: in double of codes, so that nothing
 * but the library rounds. */
static void sent_by(const struct shown *w, uint32_t m, double *y)
{
    static uint32_t q[VALUES];
    static float opened[VALUES];
    const struct encode *e = &w->g.shape.encode;
    const double clip = (double)e->clip, top = e->value_max;
    const bool pbm = e->encoding == ENCODING_PBM;
    struct error err = {0};

    if (e->integers) {
        shown_codes(w, m, q);
        for (size_t i = 0; i < w->n; i++)
            y[i] = e->residues ? e->step * (int32_t)q[i]
                   : pbm       ? e->pbm.clip / (e->pbm.beta * top) * (q[i] - top / 2)
                               : 2 * clip / top * q[i] - clip;
        return;
    }
    assert_int_equal(
        secagg_open(&w->g.shape, opened, w->g.payload[m], w->n, m, w->round.dither, &err),
        STATUS_OK);
    for (size_t i = 0; i < w->n; i++)
        y[i] = (double)opened[i];
}

static bool adds_noise(enum plan_encoding e)
{
    return e == ENCODING_PBM || e == ENCODING_GAUSSIAN;
}

/* --- what is left --- */

/* The most that one member's part can be. */
static double part_max(const struct encode *e)
{
    if (e->residues)
        return ldexp(e->step, (int)e->sum_bits - 1);
    return e->encoding == ENCODING_PBM ? e->pbm.clip / (2 * e->pbm.beta) : (double)e->clip;
}

/* What the others sent and this one's noise; without noise, what the others sent. Each rounding is
 * at most half a unit of the largest number there can be: of codes it is the estimate, the own part
 * and the difference that are rounded, of floats each addition at the server and the difference. */
static void expect_others_and_own_noise(const struct shown *w, uint32_t self)
{
    static double want[VALUES], sent[VALUES];
    const struct encode *e = &w->g.shape.encode;
    const double half = part_max(e) * (w->c.parties + 1) * FLT_EPSILON / 2 * (1 + 1e-6);
    const double bound = half * (e->integers ? 3 : w->c.parties + 1);

    memset(want, 0, sizeof want);
    for (uint32_t m = 0; m < w->c.parties; m++) {
        sent_by(w, m, sent);
        for (size_t i = 0; i < w->n; i++) {
            const double x =
                fmax(-w->g.shape.encode.clip, fmin(w->g.shape.encode.clip, w->x[m][i]));

            if (m != self)
                want[i] += sent[i];
            else if (adds_noise(e->encoding))
                want[i] += sent[i] - x;
        }
    }
    assert_int_equal(shown_others(w, self, out, w->shown), STATUS_OK);
    for (size_t i = 0; i < w->n; i++)
        assert_true(fabs((double)out[i] - want[i]) <= bound);
}

/* And it is the server's estimate less the own part, of which nothing is rounded before. */
static void expect_sum_less_own(const struct shown *w, uint32_t self)
{
    shown_alone(w, self, own);
    assert_int_equal(shown_others(w, self, out, w->shown), STATUS_OK);
    for (size_t i = 0; i < w->n && !w->g.shape.encode.compressed; i++)
        assert_true(out[i] == (float)((double)w->combined[i] - (double)own[i]));
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
        const bool integers = e == ENCODING_PBM || e == ENCODING_FIXED || e == ENCODING_GAUSSIAN;
        const struct shown_case c =
            shown_random_case(&chance, integers ? AGGREGATIONS[k % 3] : AGGREGATION_CLEAR, e);
        struct shown w;

        shown_init(&w, &c, &chance);
        shown_run(&w);
        for (uint32_t self = 0; self < c.parties; self++) {
            seen[c.concat ? 0 : integers ? 1 : 2]++;
            if (c.concat) {
                expect_columns_of_others(&w, self);
                continue;
            }
            expect_others_and_own_noise(&w, self);
            expect_sum_less_own(&w, self);
        }
        shown_deinit(&w);
    }
    assert_true(seen[0] > 100 && seen[1] > 100 && seen[2] > 100);
}

/* But for its noise, which nobody takes out. */
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
            shown_alone(&w, 0, own);
            for (size_t i = 0; i < w.n; i++) {
                const bool noise = !c.concat && adds_noise(c.encoding);

                assert_true(out[i] == (noise ? w.combined[i] - own[i] : 0));
            }
            shown_deinit(&w);
        }
}

static struct shown_case large(enum plan_aggregation a, enum plan_encoding encoding)
{
    return (struct shown_case){a, encoding, false, 4, 3, 777, 9, 1, 1, 1.5};
}

/* On a scale that floats hold exactly nothing is rounded at all. */
static void test_the_own_part_of_fixed_is_taken_out_exactly(void **state)
{
    static uint32_t q[VALUES];

    (void)state;
    for (int a = 0; a < 3; a++) {
        struct shown_case c = large(AGGREGATIONS[a], ENCODING_FIXED);
        struct shown w;

        c.bits = 10;
        c.clip = 1023.0 / 2; /* steps of 1 */
        shown_init(&w, &c, &chance);
        shown_run(&w);
        for (uint32_t self = 0; self < c.parties; self++) {
            static double sum[VALUES];

            memset(sum, 0, sizeof sum);
            for (uint32_t m = 0; m < c.parties; m++) {
                shown_codes(&w, m, q);
                for (size_t i = 0; i < w.n && m != self; i++)
                    sum[i] += q[i] - c.clip;
            }
            assert_int_equal(shown_others(&w, self, out, w.shown), STATUS_OK);
            for (size_t i = 0; i < w.n; i++)
                assert_true((double)out[i] == sum[i]);
        }
        shown_deinit(&w);
    }
}

/* --- what no honest server shows --- */

/* One sum of codes in place of another. */
static enum status with_sum(const struct shown *w, uint32_t self, size_t at, uint64_t sum)
{
    static uint32_t sums[VALUES];
    static uint8_t bytes[4 * VALUES];
    const uint32_t width = w->g.shape.encode.sum_bits;

    bits_naive_unpack(sums, w->shown, w->n, width);
    sums[at] = (uint32_t)sum;
    bits_naive_pack(bytes, sums, w->n, width);
    return shown_others(w, self, out, bytes);
}

static void test_sums_that_the_members_cannot_reach_are_refused(void **state)
{
    (void)state;
    for (size_t k = 0; k < 6; k++) {
        const struct shown_case c =
            large(AGGREGATIONS[k % 3], k < 3 ? ENCODING_PBM : ENCODING_FIXED);
        struct shown w;

        shown_init(&w, &c, &chance);
        shown_run(&w);
        for (int place = 0; place < 3; place++) {
            const size_t at = place == 0 ? 0 : place == 1 ? 2048 : w.n - 1;
            const uint32_t top = w.g.shape.encode.value_max;

            assert_int_equal(with_sum(&w, 2, at, 0), STATUS_OK);
            assert_int_equal(with_sum(&w, 2, at, 4 * top), STATUS_OK);
            assert_int_equal(with_sum(&w, 2, at, 4 * top + 1), STATUS_PROTOCOL);
        }
        shown_deinit(&w);
    }
}

/* Any residue may be one. */
static void test_no_sum_of_residues_is_refused(void **state)
{
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        const struct shown_case c = large(AGGREGATIONS[k], ENCODING_GAUSSIAN);
        struct shown w;
        uint32_t half;

        shown_init(&w, &c, &chance);
        shown_run(&w);
        half = 1U << (w.g.shape.encode.sum_bits - 1);
        shown_alone(&w, 2, own);
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t sum[] = {0, half - 1, half, 2 * half - 1};
            const int32_t read[] = {0, (int32_t)half - 1, -(int32_t)half, -1};

            assert_int_equal(with_sum(&w, 2, w.n - 1, sum[i]), STATUS_OK);
            assert_true(out[w.n - 1] == (float)((double)(float)(w.g.shape.encode.step * read[i]) -
                                                (double)own[w.n - 1]));
        }
        shown_deinit(&w);
    }
}

/* secagg_others of member 1 if its values were all v. */
static enum status with_own(const struct shown *w, float v, struct error *err)
{
    const struct secagg_shape s = shown_shape(&w->c, 1);
    static float x[VALUES];

    for (size_t i = 0; i < w->n; i++)
        x[i] = v;
    secagg_alone(&s, own, x, w->n, &w->round);
    return secagg_others(&s, out, w->shown, own, w->n, w->c.width, &w->round, err);
}

/* Else a server that shows one sum after the other would be told the own part. */
static void test_whether_a_sum_is_refused_says_nothing_of_the_own_part(void **state)
{
    size_t taken = 0, refused = 0;

    (void)state;
    for (size_t k = 0; k < ENCODINGS_N * 150; k++) {
        const enum plan_encoding e = (enum plan_encoding)(k % ENCODINGS_N);
        struct shown_case c = shown_random_case(&chance, AGGREGATION_CLEAR, e);
        struct error err[3] = {{0}, {0}, {0}};
        enum status st;
        struct shown w;

        c.parties = 2;
        c.rows = 1 + (uint32_t)rng_below(&chance, 3);
        shown_init(&w, &c, &chance);
        shown_run(&w);
        if (k % 3 == 0)
            memset(w.shown, 0, w.shown_bytes);
        for (int flips = k % 3 == 0 ? 0 : (int)rng_below(&chance, 9); flips > 0; flips--)
            w.shown[rng_below(&chance, w.shown_bytes)] ^= (uint8_t)(1U << rng_below(&chance, 8));
        st = with_own(&w, -9, &err[0]);
        assert_int_equal(with_own(&w, 0.1F, &err[1]), st);
        assert_int_equal(with_own(&w, 9, &err[2]), st);
        assert_string_equal(err[0].text, err[1].text);
        assert_string_equal(err[0].text, err[2].text);
        taken += st == STATUS_OK;
        refused += st == STATUS_PROTOCOL;
        shown_deinit(&w);
    }
    assert_true(taken > 100 && refused > 100 && taken + refused == ENCODINGS_N * 150);
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
    const struct shown_case c = large(AGGREGATION_CLEAR, ENCODING_FLOAT32);
    struct shown w;
    float most;

    (void)state;
    shown_init(&w, &c, &chance);
    shown_run(&w);
    most = 4 * w.g.shape.encode.clip;
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
            /* fixed and gaussian have no codes that nobody sends; sums were above */
            if (e == ENCODING_FIXED || e == ENCODING_GAUSSIAN ||
                (concat == 0 && e < ENCODING_SCALAR))
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

/* Neither codes of the own part nor it itself, but where the caller has it. */
static void test_nothing_of_the_own_part_is_left_behind(void **state)
{
    enum { CODE = 0x1b5d, OTHER = 0x0a97 };
    const uint32_t first = 2000, n = 100; /* not all: the rest of a chunk is another's */
    struct shown_case c = large(AGGREGATION_MASKED, ENCODING_FIXED);
    struct needle code, value;
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
    value = of_words(word);
    assert_int_equal(needle_count(&code), 0);
    assert_true(needle_count(&value) > 0);
    word = (uint32_t)needle_count(&value);
    assert_int_equal(secagg_others(&s, out, w.shown, own, w.n, c.width, &w.round, &err), STATUS_OK);
    assert_int_equal(needle_count(&code), 0);
    assert_int_equal(needle_count(&value), word);
    shown_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_left_is_what_the_others_amount_to),
        cmocka_unit_test(test_of_one_member_alone_there_are_no_others),
        cmocka_unit_test(test_the_own_part_of_fixed_is_taken_out_exactly),
        cmocka_unit_test(test_nothing_of_the_own_part_is_left_behind),
        cmocka_unit_test(test_sums_that_the_members_cannot_reach_are_refused),
        cmocka_unit_test(test_whether_a_sum_is_refused_says_nothing_of_the_own_part),
        cmocka_unit_test(test_bits_behind_the_last_sum_are_zero),
        cmocka_unit_test(test_no_sum_of_residues_is_refused),
        cmocka_unit_test(test_floats_beyond_all_members_are_refused),
        cmocka_unit_test(test_the_largest_sums_are_taken),
        cmocka_unit_test(test_payloads_that_no_member_sends_are_refused_but_the_own),
        cmocka_unit_test(test_whatever_an_upload_is_the_server_and_the_others_agree_about_it),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
