/* test_masked.c -- masked sums are the plain sums, and anything else is noticed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/masked.h"

#include "common/base/bits.h"
#include "common/crypto/digest.h"
#include "common/crypto/prg.h"
#include "tests/unit/secagg/generation.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { VALUES = 9001 }; /* three chunks, the last one odd */

static const uint8_t SEED[32] = "masked";

static void start(struct generation *g, const struct plan *p, uint32_t parties, uint32_t values)
{
    struct secagg_shape shape = generation_shape(p, parties, values);
    struct rng r;

    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    generation_init(g, AGGREGATION_MASKED, &shape, &r);
    rng_deinit(&r);
}

/* Every party's code for value i, and the upload of it. */
static uint32_t code_of(const struct generation *g, uint32_t m, size_t i)
{
    return (uint32_t)((i * 7919 + m * 104729) % (g->shape.encode.value_max + 1));
}

static void upload_all(struct generation *g, size_t n, uint64_t number)
{
    static float x[VALUES];
    struct secagg_round round = generation_round(g, number);

    for (uint32_t m = 0; m < g->shape.parties; m++) {
        for (size_t i = 0; i < n; i++)
            x[i] = generation_value(&g->shape, code_of(g, m, i));
        assert_int_equal(generation_protect(g, m, x, n, &round, NULL), STATUS_OK);
    }
}

static void expect_plain_sums(struct generation *g, size_t n, uint64_t number)
{
    static float out[VALUES], want[VALUES];
    static uint32_t sum[VALUES];
    struct error err = {0};

    memset(sum, 0, sizeof sum);
    for (uint32_t m = 0; m < g->shape.parties; m++)
        for (size_t i = 0; i < n; i++)
            sum[i] += code_of(g, m, i);
    encode_estimate(&g->shape.encode, want, sum, n, g->shape.parties);
    upload_all(g, n, number);
    assert_int_equal(generation_combine(g, out, n, 1, &err), STATUS_OK);
    assert_memory_equal(out, want, n * sizeof *out);
}

static void test_masked_sums_equal_plain_sums(void **state)
{
    static const uint32_t parties[] = {2, 3, 5, 50}, bits[] = {2, 8, 13, 15, 16, 24};

    (void)state;
    for (size_t a = 0; a < sizeof parties / sizeof parties[0]; a++)
        for (size_t b = 0; b < sizeof bits / sizeof bits[0]; b++) {
            struct plan p = generation_plan(ENCODING_FIXED);
            struct generation g;

            p.protocol.fixed.bits = bits[b];
            start(&g, &p, parties[a], parties[a] == 50 ? 301 : VALUES);
            expect_plain_sums(&g, g.shape.values_max, 0);
            expect_plain_sums(&g, 1, 3); /* a shorter round after a longer one */
            expect_plain_sums(&g, 299, 800);
            generation_deinit(&g);
        }
}

static void test_order_of_arrival_does_not_matter(void **state)
{
    struct plan p = generation_plan(ENCODING_FIXED);
    struct generation g;
    float first[100], second[100];
    struct error err = {0};

    (void)state;
    start(&g, &p, 5, 100);
    upload_all(&g, 100, 0);
    assert_int_equal(generation_combine(&g, first, 100, 1, &err), STATUS_OK);
    secagg_begin(g.server, 100);
    for (uint32_t k = 0; k < 5; k++) {
        uint32_t m = (3 * k + 2) % 5;

        assert_int_equal(secagg_add(g.server, m, g.payload[m], g.check[m], &err), STATUS_OK);
    }
    assert_int_equal(secagg_combine(g.server, second, 1, &err), STATUS_OK);
    assert_memory_equal(first, second, sizeof first);
    generation_deinit(&g);
}

static void test_combine_waits_for_all_members(void **state)
{
    struct plan p = generation_plan(ENCODING_FIXED);
    struct generation g;
    struct error err = {0};
    float out[5];

    (void)state;
    start(&g, &p, 3, 5);
    upload_all(&g, 5, 0);
    secagg_begin(g.server, 5);
    assert_int_equal(secagg_combine(g.server, out, 1, &err), STATUS_INTEGRITY);
    assert_int_equal(secagg_add(g.server, 0, g.payload[0], g.check[0], &err), STATUS_OK);
    assert_int_equal(secagg_add(g.server, 2, g.payload[2], g.check[2], &err), STATUS_OK);
    assert_int_equal(secagg_combine(g.server, out, 1, &err), STATUS_INTEGRITY);
    assert_int_equal(secagg_add(g.server, 1, g.payload[1], g.check[1], &err), STATUS_OK);
    assert_int_equal(secagg_combine(g.server, out, 1, &err), STATUS_OK);
    generation_deinit(&g);
}

/* --- negative twins: one member of three differs
 * --------------------------------------------------- */

static enum status combine(struct generation *g, size_t n)
{
    static float out[VALUES];
    struct error err = {0};
    enum status s = generation_combine(g, out, n, 1, &err);

    assert_int_equal(err.status, s);
    return s;
}

/* Member 1 of three masks round 5 by another name of the round; the others by `theirs`. */
static enum status disagree(const struct secagg_round *theirs, const struct secagg_round *own)
{
    struct plan p = generation_plan(ENCODING_PBM);
    struct generation g;
    struct rng noise;
    float x[64] = {0};
    enum status s;

    start(&g, &p, 3, 64);
    assert_int_equal(rng_init_key(&noise, SEED), STATUS_OK);
    for (uint32_t m = 0; m < 3; m++)
        assert_int_equal(generation_protect(&g, m, x, 64, m == 1 ? own : theirs, &noise),
                         STATUS_OK);
    s = combine(&g, 64);
    rng_deinit(&noise);
    generation_deinit(&g);
    return s;
}

static void
test_member_with_another_round_purpose_sid_or_broadcast_is_an_integrity_failure(void **state)
{
    (void)state;
    generation_expect_one_name(disagree, STATUS_INTEGRITY);
}

/* upload[n] += times * stream of pair (a, b), mod 2^w, computed here from key and IV. */
static void add_stream(const struct generation *g, uint32_t *upload, size_t n, uint64_t number,
                       const uint8_t key[32], uint32_t times)
{
    static uint16_t words[256];
    uint8_t text[10 + 1 + 8 + 32 + 32] = "vfl/mask/1", iv[32];
    struct prg stream;

    assert_true(n <= 256);
    for (int i = 0; i < 8; i++)
        text[11 + i] = (uint8_t)(number >> 8 * i);
    memcpy(text + 19, g->sid, 32);
    memcpy(text + 51, g->broadcast, 32);
    digest_sha256(iv, text, sizeof text);
    assert_int_equal(prg_init(&stream, key), STATUS_OK);
    prg_seek(&stream, iv);
    prg_fill(&stream, words, n * sizeof *words);
    prg_deinit(&stream);
    for (size_t i = 0; i < n; i++)
        upload[i] += times * words[i];
}

/* Member 0's upload of round `number` with the stream of (0, 2) added `times` times more. */
static void alter_mask(struct generation *g, size_t n, uint64_t number, uint32_t times)
{
    uint32_t v[256], w = secagg_width(AGGREGATION_MASKED, &g->shape), checks = (64 + w - 1) / w;

    bits_naive_unpack(v, g->payload[0], n, w);
    bits_naive_unpack(v + n, g->check[0], checks, w);
    add_stream(g, v, n + checks, number, g->pairs[0][2].mask, times);
    bits_naive_pack(g->payload[0], v, n, w);
    bits_naive_pack(g->check[0], v + n, checks, w);
}

static void test_upload_with_a_mask_missing_or_twice_is_an_integrity_failure(void **state)
{
    struct plan p = generation_plan(ENCODING_FIXED);
    struct generation g;

    (void)state;
    start(&g, &p, 3, 100);
    upload_all(&g, 100, 0);
    alter_mask(&g, 100, 0, 0); /* as it was */
    assert_int_equal(combine(&g, 100), STATUS_OK);
    upload_all(&g, 100, 1);
    alter_mask(&g, 100, 1, UINT32_MAX); /* without */
    assert_int_equal(combine(&g, 100), STATUS_INTEGRITY);
    upload_all(&g, 100, 2);
    alter_mask(&g, 100, 2, 1); /* twice */
    assert_int_equal(combine(&g, 100), STATUS_INTEGRITY);
    upload_all(&g, 100, 3);
    alter_mask(&g, 100, 3, UINT32_MAX - 1); /* with the wrong sign */
    assert_int_equal(combine(&g, 100), STATUS_INTEGRITY);
    upload_all(&g, 100, 4);
    assert_int_equal(combine(&g, 100), STATUS_OK);
    generation_deinit(&g);
}

static void flip_each_check_bit(uint32_t code_bits, uint32_t width)
{
    struct plan p = generation_plan(ENCODING_FIXED);
    struct generation g;
    size_t bits = (64 + width - 1) / width * width;

    p.protocol.fixed.bits = code_bits;
    start(&g, &p, 3, 10);
    assert_int_equal(secagg_width(AGGREGATION_MASKED, &g.shape), width);
    assert_int_equal(g.check_bytes, (bits + 7) / 8);
    upload_all(&g, 10, 0);
    for (size_t bit = 0; bit < bits; bit++) {
        g.check[1][bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(combine(&g, 10), STATUS_INTEGRITY);
        g.check[1][bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(combine(&g, 10), STATUS_OK);
    generation_deinit(&g);
}

static void test_each_bit_of_the_check_part_counts(void **state)
{
    (void)state;
    flip_each_check_bit(3, 6); /* eleven elements in narrow lanes */
    flip_each_check_bit(13, 16);
    flip_each_check_bit(14, 17); /* four in wide lanes */
    flip_each_check_bit(24, 27);
}

/* 60 bits of values and 66 of check elements: what is behind them says nothing, and is 0. */
static void test_spare_bits_are_refused_and_leave_no_trace(void **state)
{
    struct plan p = generation_plan(ENCODING_FIXED);
    struct generation g;
    struct error err = {0};
    float want[10], out[10];

    (void)state;
    p.protocol.fixed.bits = 3;
    start(&g, &p, 3, 10);
    upload_all(&g, 10, 0);
    assert_int_equal(generation_combine(&g, want, 10, 1, &err), STATUS_OK);
    secagg_begin(g.server, 10);
    for (uint8_t bit = 4; bit < 8; bit++) {
        g.payload[1][7] ^= (uint8_t)(1 << bit);
        assert_int_equal(secagg_add(g.server, 1, g.payload[1], g.check[1], &err), STATUS_PROTOCOL);
        g.payload[1][7] ^= (uint8_t)(1 << bit);
    }
    for (uint8_t bit = 2; bit < 8; bit++) {
        g.check[1][8] ^= (uint8_t)(1 << bit);
        assert_int_equal(secagg_add(g.server, 1, g.payload[1], g.check[1], &err), STATUS_PROTOCOL);
        g.check[1][8] ^= (uint8_t)(1 << bit);
    }
    for (uint32_t m = 0; m < 3; m++)
        assert_int_equal(secagg_add(g.server, m, g.payload[m], g.check[m], &err), STATUS_OK);
    assert_int_equal(secagg_combine(g.server, out, 1, &err), STATUS_OK);
    assert_memory_equal(out, want, sizeof want);
    generation_deinit(&g);
}

/* Adds d to value i of a packed upload. */
static void tamper(struct generation *g, uint32_t m, size_t n, size_t i, uint32_t d)
{
    uint32_t v[VALUES], w = secagg_width(AGGREGATION_MASKED, &g->shape);

    bits_naive_unpack(v, g->payload[m], n, w);
    v[i] += d;
    bits_naive_pack(g->payload[m], v, n, w);
}

static void expect_bound(enum plan_encoding encoding, uint32_t bits)
{
    struct plan p = generation_plan(encoding);
    struct generation g;
    uint64_t top;
    uint32_t sum = 0;

    p.protocol.fixed.bits = bits;
    start(&g, &p, 3, 50);
    top = 3 * (uint64_t)g.shape.encode.value_max;
    upload_all(&g, 50, 0);
    for (uint32_t m = 0; m < 3; m++)
        sum += code_of(&g, m, 49);
    tamper(&g, 2, 50, 49, (uint32_t)(top - sum));
    assert_int_equal(combine(&g, 50), STATUS_OK); /* the largest that members can reach */
    tamper(&g, 2, 50, 49, 1);
    assert_int_equal(combine(&g, 50), STATUS_INTEGRITY);
    generation_deinit(&g);
}

static void test_sum_above_what_members_can_reach_is_an_integrity_failure(void **state)
{
    (void)state;
    expect_bound(ENCODING_FIXED, 10); /* narrow lanes */
    expect_bound(ENCODING_FIXED, 20); /* wide lanes */
}

/* Sums of residues wrap where the other sign begins, whatever the lanes. */
static void wraps_at(uint32_t levels)
{
    struct plan p = generation_plan(ENCODING_GAUSSIAN);
    const float x[1] = {0};
    struct generation g;
    struct secagg_round round;
    struct error err = {0};
    struct rng noise;
    int64_t half, before;
    float out[1];
    double step;

    p.protocol.gaussian.levels = levels;
    start(&g, &p, 3, 50);
    step = g.shape.encode.step;
    half = (int64_t)1 << (secagg_width(AGGREGATION_MASKED, &g.shape) - 1);
    round = generation_round(&g, 0);
    assert_int_equal(rng_init_key(&noise, SEED), STATUS_OK);
    for (uint32_t m = 0; m < 3; m++)
        assert_int_equal(generation_protect(&g, m, x, 1, &round, &noise), STATUS_OK);
    rng_deinit(&noise);
    assert_int_equal(generation_combine(&g, out, 1, 1, &err), STATUS_OK);
    before = llround((double)out[0] / step);
    assert_true(before != 0 && (double)out[0] == (double)(float)(step * (double)before));
    tamper(&g, 1, 1, 0, (uint32_t)(half - 1 - before));
    assert_int_equal(generation_combine(&g, out, 1, 1, &err), STATUS_OK);
    assert_true(out[0] == (float)(step * (double)(half - 1)));
    tamper(&g, 2, 1, 0, 1);
    assert_int_equal(generation_combine(&g, out, 1, 1, &err), STATUS_OK);
    assert_true(out[0] == (float)(step * -(double)half));
    generation_deinit(&g);
}

static void test_any_sum_of_residues_is_one_and_has_a_sign(void **state)
{
    (void)state;
    wraps_at(16);      /* narrow lanes */
    wraps_at(1 << 13); /* wide lanes */
}

/* What one member uploads is uniform mod 2^w, whatever it hides: one count for each residue of the
 * low and of the high bits, from members whose values are all C. */
static void test_masked_residues_are_uniform(void **state)
{
    enum { N = 4096, ROUNDS = 8, CELLS = 32 };
    static float x[N];
    static uint32_t v[N];
    struct plan p = generation_plan(ENCODING_GAUSSIAN);
    size_t low[CELLS] = {0}, high[CELLS] = {0};
    struct generation g;
    struct rng noise;
    uint32_t w;

    (void)state;
    start(&g, &p, 2, N);
    w = secagg_width(AGGREGATION_MASKED, &g.shape);
    for (size_t i = 0; i < N; i++)
        x[i] = 1;
    assert_int_equal(rng_init_key(&noise, SEED), STATUS_OK);
    for (uint64_t number = 0; number < ROUNDS; number++) {
        const struct secagg_round round = generation_round(&g, number);

        assert_int_equal(generation_protect(&g, 0, x, N, &round, &noise), STATUS_OK);
        bits_naive_unpack(v, g.payload[0], N, w);
        for (size_t i = 0; i < N; i++) {
            low[v[i] % CELLS]++;
            high[v[i] >> (w - 5)]++;
        }
    }
    rng_deinit(&noise);
    for (size_t k = 0; k < CELLS; k++) { /* 1024 in each; 6 deviations of it are 189 */
        assert_true(fabs((double)low[k] - N * ROUNDS / CELLS) < 189);
        assert_true(fabs((double)high[k] - N * ROUNDS / CELLS) < 189);
    }
    generation_deinit(&g);
}

static void test_round_numbers_only_grow(void **state)
{
    struct plan p = generation_plan(ENCODING_FIXED);
    struct generation g;
    struct secagg_round round;
    float x[4] = {0};

    (void)state;
    start(&g, &p, 2, 4);
    round = generation_round(&g, 7);
    assert_int_equal(generation_protect(&g, 0, x, 4, &round, NULL), STATUS_OK);
    assert_int_equal(generation_protect(&g, 0, x, 4, &round, NULL), STATUS_PROTOCOL);
    round.purpose = 2; /* another purpose is no excuse */
    assert_int_equal(generation_protect(&g, 0, x, 4, &round, NULL), STATUS_PROTOCOL);
    round.round = 6;
    assert_int_equal(generation_protect(&g, 0, x, 4, &round, NULL), STATUS_PROTOCOL);
    round.round = 8;
    assert_int_equal(generation_protect(&g, 0, x, 4, &round, NULL), STATUS_OK);
    round.round = (UINT64_C(1) << 32) + 1; /* nobody ratchets that far */
    assert_int_equal(generation_protect(&g, 0, x, 4, &round, NULL), STATUS_PROTOCOL);
    round.round = UINT64_MAX;
    assert_int_equal(generation_protect(&g, 0, x, 4, &round, NULL), STATUS_PROTOCOL);
    round.round = 9;
    assert_int_equal(generation_protect(&g, 0, x, 4, &round, NULL), STATUS_OK);
    generation_deinit(&g);
}

static void test_value_that_is_no_number_counts_as_nought_and_the_round_goes_on(void **state)
{
    static float x[9001], out[9001], want[9001];
    static const size_t places[] = {0, 4095, 4096, 9000};
    static const float strange[] = {0, NAN, INFINITY, -INFINITY};
    struct plan p = generation_plan(ENCODING_FIXED);
    struct error err = {0};
    struct generation g;

    (void)state;
    start(&g, &p, 2, 9001);
    for (size_t i = 0; i < 4; i++) {
        const struct secagg_round round = generation_round(&g, i);

        for (size_t k = 0; k < sizeof places / sizeof places[0]; k++)
            x[places[k]] = strange[i];
        for (uint32_t m = 0; m < 2; m++)
            assert_int_equal(generation_protect(&g, m, x, 9001, &round, NULL), STATUS_OK);
        assert_int_equal(generation_combine(&g, i == 0 ? want : out, 9001, 1, &err), STATUS_OK);
        if (i > 0)
            assert_memory_equal(out, want, sizeof want);
    }
    generation_deinit(&g);
}

static void test_second_upload_of_a_member_is_refused_and_changes_nothing(void **state)
{
    struct plan p = generation_plan(ENCODING_FIXED);
    struct generation g;
    struct error err = {0};
    float out[20], want[20];

    (void)state;
    start(&g, &p, 2, 20);
    upload_all(&g, 20, 0);
    assert_int_equal(generation_combine(&g, want, 20, 1, &err), STATUS_OK);
    secagg_begin(g.server, 20);
    assert_int_equal(secagg_add(g.server, 0, g.payload[0], g.check[0], &err), STATUS_OK);
    assert_int_equal(secagg_add(g.server, 0, g.payload[0], g.check[0], &err), STATUS_PROTOCOL);
    assert_int_equal(secagg_add(g.server, 1, g.payload[1], g.check[1], &err), STATUS_OK);
    assert_int_equal(secagg_combine(g.server, out, 1, &err), STATUS_OK);
    assert_memory_equal(out, want, sizeof out);
    generation_deinit(&g);
}

static void test_width_is_that_of_the_paper(void **state)
{
    struct plan p = generation_plan(ENCODING_PBM);
    struct secagg_shape s;

    (void)state;
    p.protocol.pbm.trials = 16;
    s = generation_shape(&p, 4, 100); /* 0..64: one more than six bits hold */
    assert_int_equal(secagg_width(AGGREGATION_MASKED, &s), 7);
    assert_int_equal(secagg_payload_bytes(AGGREGATION_MASKED, &s, 100), 88);
    assert_int_equal(secagg_check_bytes(AGGREGATION_MASKED, &s), 9); /* ten elements */
    p.protocol.pbm.trials = 21;
    s = generation_shape(&p, 3, 100); /* 0..63 */
    assert_int_equal(secagg_width(AGGREGATION_MASKED, &s), 6);
    p.protocol.encoding = ENCODING_FIXED;
    p.protocol.fixed.bits = 4;
    s = generation_shape(&p, 4, 100); /* ceil(log2(4 * 16)) + 1 */
    assert_int_equal(secagg_width(AGGREGATION_MASKED, &s), 7);
    s = generation_shape(&p, 5, 100);
    assert_int_equal(secagg_width(AGGREGATION_MASKED, &s), 8);
}

static void test_shapes_that_cannot_be_masked_are_refused(void **state)
{
    static const struct secagg_pair pairs[256];
    struct plan p = generation_plan(ENCODING_FLOAT32);
    struct secagg_shape s = generation_shape(&p, 2, 10);
    struct secagg_party *party;
    struct secagg_server *server;

    (void)state;
    assert_int_equal(secagg_width(AGGREGATION_MASKED, &s), 0);
    assert_int_equal(secagg_party_new(&party, AGGREGATION_MASKED, &s, pairs), STATUS_CONFIG);
    assert_int_equal(secagg_server_new(&server, AGGREGATION_MASKED, &s), STATUS_CONFIG);
    p.protocol.encoding = ENCODING_FIXED;
    s = generation_shape(&p, 2, 10);
    s.concat = true;
    assert_int_equal(secagg_party_new(&party, AGGREGATION_MASKED, &s, pairs), STATUS_CONFIG);
    p.protocol.fixed.bits = 24;
    s = generation_shape(&p, 256, 10); /* 33 bits */
    assert_int_equal(secagg_party_new(&party, AGGREGATION_MASKED, &s, pairs), STATUS_CONFIG);
    s = generation_shape(&p, 128, 10);
    assert_int_equal(secagg_width(AGGREGATION_MASKED, &s), 32);
    assert_int_equal(secagg_party_new(&party, AGGREGATION_MASKED, &s, pairs), STATUS_OK);
    secagg_party_free(party);
    s.self = 128;
    assert_int_equal(secagg_party_new(&party, AGGREGATION_MASKED, &s, pairs), STATUS_CONFIG);
    assert_null(party);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masked_sums_equal_plain_sums),
        cmocka_unit_test(test_order_of_arrival_does_not_matter),
        cmocka_unit_test(test_combine_waits_for_all_members),
        cmocka_unit_test(
            test_member_with_another_round_purpose_sid_or_broadcast_is_an_integrity_failure),
        cmocka_unit_test(test_upload_with_a_mask_missing_or_twice_is_an_integrity_failure),
        cmocka_unit_test(test_each_bit_of_the_check_part_counts),
        cmocka_unit_test(test_spare_bits_are_refused_and_leave_no_trace),
        cmocka_unit_test(test_sum_above_what_members_can_reach_is_an_integrity_failure),
        cmocka_unit_test(test_round_numbers_only_grow),
        cmocka_unit_test(test_value_that_is_no_number_counts_as_nought_and_the_round_goes_on),
        cmocka_unit_test(test_second_upload_of_a_member_is_refused_and_changes_nothing),
        cmocka_unit_test(test_any_sum_of_residues_is_one_and_has_a_sign),
        cmocka_unit_test(test_masked_residues_are_uniform),
        cmocka_unit_test(test_width_is_that_of_the_paper),
        cmocka_unit_test(test_shapes_that_cannot_be_masked_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
