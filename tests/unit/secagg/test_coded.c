/* test_coded.c -- coded sums are the plain sums, from any K + T uploads.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/coded.h"

#include "common/base/bits.h"
#include "common/secagg/share.h"
#include "tests/unit/secagg/golden_coded.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { VALUES = 4099 };

static const uint8_t SEED[32] = "coded";

static struct secagg_shape shape_of(const struct plan *p, uint32_t parties, uint32_t segments,
                                    uint32_t privacy, uint32_t values)
{
    struct secagg_shape s = generation_shape(p, parties, values);

    s.segments = segments;
    s.privacy = privacy;
    return s;
}

static void start(struct generation *g, enum plan_aggregation a, const struct secagg_shape *s)
{
    struct rng r;

    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    generation_init(g, a, s, &r);
    rng_deinit(&r);
}

/* Every member's protect and relay; the noise of a member depends on it and the round alone. */
static void share_all(struct generation *g, size_t n, uint64_t number)
{
    static float x[VALUES];
    struct secagg_round round = generation_round(g, number);

    for (uint32_t m = 0; m < g->shape.parties; m++) {
        uint8_t key[RNG_KEY_BYTES];
        struct rng noise;

        rng_seed_key(key, 1, m, "noise", number);
        assert_int_equal(rng_init_key(&noise, key), STATUS_OK);
        for (size_t i = 0; i < n; i++)
            x[i] = (float)sin((double)(i * 13 + m * 7 + 1)) * 1.2F; /* some beyond the clip */
        assert_int_equal(generation_protect(g, m, x, n, &round, &noise), STATUS_OK);
        rng_deinit(&noise);
    }
    assert_int_equal(generation_relay(g, n, &round), STATUS_OK);
}

/* --- the same sums --- */

static void expect_same(const struct secagg_shape *s)
{
    static float coded[VALUES], clear[VALUES];
    const size_t sizes[] = {s->values_max, 1, s->values_max / 2 + 1};
    struct generation g, h;
    struct error err = {0};

    start(&g, AGGREGATION_CODED, s);
    start(&h, AGGREGATION_CLEAR, s);
    for (size_t k = 0; k < 3; k++) {
        const size_t n = sizes[k];
        const uint64_t number = 251 * k; /* past the ratchet */

        memset(coded, 0xff, sizeof coded);
        memset(clear, 0, sizeof clear);
        share_all(&g, n, number);
        share_all(&h, n, number);
        assert_int_equal(generation_combine(&g, coded, n, 1, &err), STATUS_OK);
        assert_int_equal(generation_combine(&h, clear, n, 1, &err), STATUS_OK);
        assert_memory_equal(coded, clear, n * sizeof *coded);
        share_all(&h, n, number + 1);
        assert_int_equal(generation_combine(&h, clear, n, 1, &err), STATUS_OK);
        /* Other noise, other codes: the comparison could have failed. */
        assert_true(s->encode.encoding == ENCODING_FIXED || n < 9 ||
                    memcmp(coded, clear, n * sizeof *coded) != 0);
    }
    generation_deinit(&g);
    generation_deinit(&h);
}

static void test_coded_and_clear_agree_on_the_same_integers(void **state)
{
    static const struct {
        uint32_t parties, segments, privacy, values;
    } SHAPES[] = {
        {2, 1, 1, 100},  {3, 1, 1, 1},     {3, 2, 1, 7},    {3, 1, 2, 2047},
        {5, 3, 1, 4099}, {6, 4, 2, 3},     {6, 5, 1, 4096}, {10, 2, 4, 2048},
        {10, 4, 2, 999}, {10, 9, 1, 1801}, {30, 7, 13, 64}, {50, 20, 30, 41},
    };

    (void)state;
    for (size_t k = 0; k < sizeof SHAPES / sizeof SHAPES[0]; k++) {
        struct plan p = generation_plan(ENCODING_PBM);
        struct secagg_shape s;

        for (int fixed = 0; fixed < 4; fixed++) {
            p.protocol.encoding = fixed == 3  ? ENCODING_GAUSSIAN
                                  : fixed > 0 ? ENCODING_FIXED
                                              : ENCODING_PBM;
            p.protocol.fixed.bits = fixed == 1 ? 1 : 10;
            s = shape_of(&p, SHAPES[k].parties, SHAPES[k].segments, SHAPES[k].privacy,
                         SHAPES[k].values);
            expect_same(&s);
        }
    }
}

static void test_masked_and_coded_agree_too(void **state)
{
    static float coded[VALUES], masked[VALUES];
    struct plan p = generation_plan(ENCODING_PBM);
    struct secagg_shape s = shape_of(&p, 5, 2, 2, VALUES);
    struct generation g, h;
    struct error err = {0};

    (void)state;
    start(&g, AGGREGATION_CODED, &s);
    start(&h, AGGREGATION_MASKED, &s);
    share_all(&g, VALUES, 9);
    share_all(&h, VALUES, 9);
    assert_int_equal(generation_combine(&g, coded, VALUES, 1, &err), STATUS_OK);
    assert_int_equal(generation_combine(&h, masked, VALUES, 1, &err), STATUS_OK);
    assert_memory_equal(coded, masked, sizeof coded);
    generation_deinit(&g);
    generation_deinit(&h);
}

static void test_coded_decodes_from_any_k_plus_t_in_any_order(void **state)
{
    enum { M = 6, NEED = 3, N = 11 };
    struct plan p = generation_plan(ENCODING_FIXED);
    struct secagg_shape s = shape_of(&p, M, 2, 1, N);
    float want[N], out[N];
    struct generation g;
    struct error err = {0};
    size_t tried = 0;

    (void)state;
    start(&g, AGGREGATION_CODED, &s);
    share_all(&g, N, 0);
    assert_int_equal(generation_combine(&g, want, N, 1, &err), STATUS_OK);
    for (uint32_t k = 0; k < M * M * M; k++) {
        const uint32_t who[NEED] = {k % M, k / M % M, k / (M * M)};

        if (who[0] == who[1] || who[0] == who[2] || who[1] == who[2])
            continue;
        secagg_begin(g.server, N);
        for (size_t i = 0; i < NEED; i++) {
            assert_int_equal(secagg_combine(g.server, out, 1, &err), STATUS_INTEGRITY);
            assert_int_equal(secagg_add(g.server, who[i], g.payload[who[i]], NULL, &err),
                             STATUS_OK);
        }
        memset(out, 0xff, sizeof out);
        assert_int_equal(secagg_combine(g.server, out, 1, &err), STATUS_OK);
        assert_memory_equal(out, want, sizeof out);
        tried++;
    }
    assert_int_equal(tried, 120);
    generation_deinit(&g);
}

/* --- with members of an independent generator --- */

/* Adds what the product's member 0 dealt to member j to `others`, the sum of what the generator's
 * members dealt to j, into upload[]. */
static void add_dealt(uint8_t *upload, const struct golden_coded *c, size_t k, uint32_t j,
                      const uint8_t *sealed, const uint8_t *tag)
{
    static uint32_t sum[GOLDEN_VALUES_MAX], own[GOLDEN_VALUES_MAX];
    static uint8_t text[2 * GOLDEN_VALUES_MAX];
    const size_t len = (c->values + c->segments - 1) / c->segments;
    const size_t part = bits_bytes(len, c->width);
    struct secagg_pair pairs[GENERATION_PARTIES_MAX];
    struct share_keys keys;
    struct golden_round r;

    golden_pairs(pairs, k, j);
    golden_round(&r, k);
    assert_int_equal(share_init(&keys, c->parties, j, pairs), STATUS_OK);
    assert_int_equal(share_begin(&keys, &r.round), STATUS_OK);
    assert_true(share_open(&keys, 0, text, sealed, part, tag));
    share_deinit(&keys);
    bits_naive_unpack(own, text, len, c->width);
    bits_naive_unpack(sum, c->others + j * part, len, c->width);
    for (size_t i = 0; i < len; i++)
        sum[i] = (sum[i] + own[i]) % c->prime;
    bits_naive_pack(upload, sum, len, c->width);
}

/* Member 0 is the product's; its upload and those of the generator's members that took its shares
 * make one round. */
static void expect_round_with_strangers(size_t k)
{
    static float x[GOLDEN_VALUES_MAX], want[GOLDEN_VALUES_MAX], out[GOLDEN_VALUES_MAX];
    static uint8_t sealed[16384], tags[512], upload[16384];
    const struct golden_coded *c = &GOLDEN_CODED[k];
    struct secagg_shape s = golden_shape(k);
    const size_t part = secagg_payload_bytes(AGGREGATION_CODED, &s, c->values);
    struct secagg_pair pairs[GENERATION_PARTIES_MAX];
    struct secagg_party *party;
    struct secagg_server *server;
    struct golden_round r;
    struct error err = {0};
    uint32_t faulty;

    golden_pairs(pairs, k, 0);
    golden_round(&r, k);
    for (uint32_t i = 0; i < c->values; i++)
        x[i] = generation_value(&s, golden_code(k, 0, i));
    assert_int_equal(secagg_width(AGGREGATION_CODED, &s), c->width);
    assert_int_equal(secagg_party_new(&party, AGGREGATION_CODED, &s, pairs), STATUS_OK);
    assert_int_equal(secagg_server_new(&server, AGGREGATION_CODED, &s), STATUS_OK);
    assert_int_equal(secagg_protect(party, sealed, tags, x, c->values, &r.round, NULL), STATUS_OK);
    assert_int_equal(
        secagg_relay(party, upload, c->sealed, c->tags, c->values, &r.round, &faulty, &err),
        STATUS_OK);
    secagg_begin(server, c->values);
    assert_int_equal(secagg_add(server, 0, upload, NULL, &err), STATUS_OK);
    for (uint32_t j = 1; j < c->parties; j++) {
        add_dealt(upload, c, k, j, sealed + (j - 1) * part, tags + (j - 1) * AEAD_TAG_BYTES);
        assert_int_equal(secagg_add(server, j, upload, NULL, &err), STATUS_OK);
    }
    assert_int_equal(secagg_combine(server, out, 1, &err), STATUS_OK);
    golden_sums(want, k);
    assert_memory_equal(out, want, c->values * sizeof *out);
    secagg_party_free(party);
    secagg_server_free(server);
}

static void test_a_round_with_members_of_an_independent_generator_sums_up(void **state)
{
    (void)state;
    for (size_t k = 0; k < GOLDEN_CODED_N; k++)
        expect_round_with_strangers(k);
}

/* --- shapes --- */

static void test_width_is_that_of_the_smallest_sufficient_prime(void **state)
{
    static const struct {
        uint32_t parties, segments, privacy, trials, width;
    } CASES[] = {
        {10, 2, 4, 16, 8},   /* 160: 163 */
        {10, 3, 2, 25, 8},   /* 250: 251 */
        {10, 3, 2, 26, 9},   /* 260: 263 */
        {4, 1, 1, 1, 3},     /* not 4 but 4 + 2: 7 */
        {50, 20, 30, 1, 7},  /* 50 + 50: 101 */
        {6, 2, 1, 21, 7},    /* 126: 127 */
        {61, 2, 1, 1024, 16} /* 62,464: 62,467 */
    };

    (void)state;
    for (size_t k = 0; k < sizeof CASES / sizeof CASES[0]; k++) {
        struct plan p = generation_plan(ENCODING_PBM);
        struct secagg_shape s;
        size_t len;

        p.protocol.pbm.trials = CASES[k].trials;
        s = shape_of(&p, CASES[k].parties, CASES[k].segments, CASES[k].privacy, 100);
        len = (100 + CASES[k].segments - 1) / CASES[k].segments;
        assert_int_equal(secagg_width(AGGREGATION_CODED, &s), CASES[k].width);
        assert_int_equal(secagg_payload_bytes(AGGREGATION_CODED, &s, 100),
                         (len * CASES[k].width + 7) / 8);
        assert_int_equal(secagg_share_bytes(AGGREGATION_CODED, &s, SECAGG_PART_ROUND, 0, 100),
                         (CASES[k].parties - 1) * ((len * CASES[k].width + 7) / 8));
        assert_int_equal(secagg_tag_bytes(AGGREGATION_CODED, &s), 16 * (CASES[k].parties - 1));
        assert_int_equal(secagg_check_bytes(AGGREGATION_CODED, &s), 0);
    }
}

static void expect_none(const struct secagg_shape *s)
{
    static const struct secagg_pair pairs[PLAN_PARTIES_MAX];
    struct secagg_party *party;
    struct secagg_server *server;

    assert_int_equal(secagg_width(AGGREGATION_CODED, s), 0);
    assert_int_equal(secagg_payload_bytes(AGGREGATION_CODED, s, 10), 0);
    assert_int_equal(secagg_share_bytes(AGGREGATION_CODED, s, SECAGG_PART_ROUND, 0, 10), 0);
    assert_int_equal(secagg_tag_bytes(AGGREGATION_CODED, s), 0);
    assert_int_equal(secagg_party_new(&party, AGGREGATION_CODED, s, pairs), STATUS_CONFIG);
    assert_int_equal(secagg_server_new(&server, AGGREGATION_CODED, s), STATUS_CONFIG);
}

static void test_shapes_that_cannot_be_coded_are_refused(void **state)
{
    struct plan p = generation_plan(ENCODING_FIXED);
    struct secagg_shape good = shape_of(&p, 5, 3, 2, 10), s = good;

    (void)state;
    assert_int_equal(secagg_width(AGGREGATION_CODED, &good), 13);
    s.segments = 0;
    expect_none(&s);
    s = good;
    s.privacy = 0;
    expect_none(&s);
    s = good;
    s.segments = 4;
    expect_none(&s);
    s = good;
    s.privacy = UINT32_MAX; /* no sum wraps */
    expect_none(&s);
    s = good;
    s.concat = true;
    expect_none(&s);
    p.protocol.encoding = ENCODING_FLOAT32;
    s = shape_of(&p, 5, 3, 2, 10);
    expect_none(&s);
    p.protocol.encoding = ENCODING_FIXED;
    p.protocol.fixed.bits = 13;
    s = shape_of(&p, 7, 3, 2, 10);
    assert_int_equal(secagg_width(AGGREGATION_CODED, &s), 16); /* 57,337 */
    s = shape_of(&p, 8, 3, 2, 10);
    expect_none(&s); /* 65,528 */
    p.protocol.fixed.bits = 16;
    s = shape_of(&p, 2, 1, 1, 10);
    expect_none(&s);
    p.protocol.encoding = ENCODING_PBM;
    p.protocol.pbm.trials = 255;
    s = shape_of(&p, 256, 200, 56, 10);
    assert_int_equal(secagg_width(AGGREGATION_CODED, &s), 16); /* 65,280 */
    p.protocol.pbm.trials = 256;
    s = shape_of(&p, 256, 200, 56, 10);
    expect_none(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coded_and_clear_agree_on_the_same_integers),
        cmocka_unit_test(test_masked_and_coded_agree_too),
        cmocka_unit_test(test_coded_decodes_from_any_k_plus_t_in_any_order),
        cmocka_unit_test(test_a_round_with_members_of_an_independent_generator_sums_up),
        cmocka_unit_test(test_width_is_that_of_the_smallest_sufficient_prime),
        cmocka_unit_test(test_shapes_that_cannot_be_coded_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
