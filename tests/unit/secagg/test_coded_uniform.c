/* test_coded_uniform.c -- what T members see together is uniform, whatever was shared; what T + 1
 * see is not.
 *
 * For a fixed input, the shares (or uploads) that a set of members holds are counted jointly, over
 * columns and rounds; the statistic is Pearson's chi-square against the uniform distribution, less
 * its mean, in standard deviations.  Of those that must be under UNIFORM_MAX 24 have 10 degrees of
 * freedom, where a true law is over it once in 7 10^10 draws, the others have 120 (once in 10^21):
 * all seeds but one of 3 10^9 pass.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/bits.h"
#include "common/secagg/coded.h"
#include "common/secagg/share.h"
#include "tests/unit/secagg/generation.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { M = 4, T = 2, PRIME = 11, CELLS_MAX = PRIME * PRIME * PRIME, N = 4000, ROUNDS = 10 };

#define UNIFORM_MAX 14.0

static const uint8_t SEED[32] = "coded uniform";

struct counts {
    size_t samples;
    uint32_t of[CELLS_MAX];
};

static void note(struct counts *c, uint32_t values[][N], const uint32_t *who, size_t who_n,
                 size_t len)
{
    for (size_t i = 0; i < len; i++) {
        size_t cell = 0;

        for (size_t k = 0; k < who_n; k++)
            cell = cell * PRIME + values[who[k]][i];
        c->of[cell]++;
    }
    c->samples += len;
}

static double distance(const struct counts *c, size_t who_n)
{
    const size_t cells = who_n == 1 ? PRIME : who_n == 2 ? PRIME * PRIME : CELLS_MAX;
    const double expected = (double)c->samples / (double)cells, freedom = (double)cells - 1;
    double chi = 0;

    assert_true(expected > 10);
    for (size_t v = 0; v < cells; v++)
        chi += pow(c->of[v] - expected, 2) / expected;
    return (chi - freedom) / sqrt(2 * freedom);
}

static struct secagg_shape shape_of(uint32_t segments)
{
    struct plan p = generation_plan(ENCODING_FIXED);
    struct secagg_shape s;

    p.protocol.fixed.bits = 1; /* codes 0 and 1, of 4 members */
    s = generation_shape(&p, M, N);
    s.segments = segments;
    s.privacy = T;
    assert_int_equal(secagg_width(AGGREGATION_CODED, &s), 4); /* 11 */
    return s;
}

static void protect_all(struct generation *g, float x, uint64_t number)
{
    static float own[N];
    const struct secagg_round round = generation_round(g, number);

    for (size_t i = 0; i < N; i++)
        own[i] = x;
    for (uint32_t m = 0; m < M; m++)
        assert_int_equal(generation_protect(g, m, own, N, &round, NULL), STATUS_OK);
}

/* values[m]: what member 3 dealt to member m of the others, opened with m's keys. */
static void open_dealt(struct generation *g, uint32_t values[][N], size_t len, uint64_t number)
{
    static uint8_t text[2 * N];
    const struct secagg_round round = generation_round(g, number);
    const size_t part = bits_bytes(len, 4);

    for (uint32_t m = 0; m < 3; m++) {
        struct share_keys keys;

        assert_int_equal(share_init(&keys, M, m, g->pairs[m]), STATUS_OK);
        assert_int_equal(share_begin(&keys, &round), STATUS_OK);
        assert_true(share_open(&keys, 3, text, g->share[3] + m * part, part, g->tag[3] + m * 16));
        share_deinit(&keys);
        bits_naive_unpack(values[m], text, len, 4);
    }
}

/* What the members `who` hold of member 3's embedding, all of whose values are x; or their uploads,
 * when all members' values are. */
static double statistic(uint32_t segments, float x, const uint32_t *who, size_t who_n, bool uploads)
{
    static struct counts counts;
    static uint32_t values[M][N];
    struct secagg_shape shape = shape_of(segments);
    const size_t len = coded_upload_values(&shape, N);
    struct generation g;
    struct rng r;

    memset(&counts, 0, sizeof counts);
    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    generation_init(&g, AGGREGATION_CODED, &shape, &r);
    for (uint64_t number = 0; number < ROUNDS; number++) {
        const struct secagg_round round = generation_round(&g, number);

        protect_all(&g, x, number);
        if (uploads) {
            assert_int_equal(generation_relay(&g, N, &round), STATUS_OK);
            for (uint32_t m = 0; m < M; m++)
                bits_naive_unpack(values[m], g.payload[m], len, 4);
        } else {
            open_dealt(&g, values, len, number);
        }
        note(&counts, values, who, who_n, len);
    }
    generation_deinit(&g);
    rng_deinit(&r);
    return distance(&counts, who_n);
}

/* Every set of at most T of members 0, 1, 2. */
static void expect_uniform(uint32_t segments, float x, bool uploads)
{
    static const uint32_t pairs[][T] = {{0, 1}, {0, 2}, {1, 2}};

    for (uint32_t m = 0; m < 3; m++) {
        assert_true(statistic(segments, x, &m, 1, uploads) < UNIFORM_MAX);
        assert_true(statistic(segments, x, pairs[m], 2, uploads) < UNIFORM_MAX);
    }
}

static void test_shares_that_t_members_were_dealt_are_jointly_uniform(void **state)
{
    (void)state;
    for (uint32_t segments = 1; segments <= 2; segments++) {
        expect_uniform(segments, -1.0F, false);
        expect_uniform(segments, 1.0F, false);
    }
}

static void test_uploads_of_t_members_are_jointly_uniform(void **state)
{
    (void)state;
    for (uint32_t segments = 1; segments <= 2; segments++) {
        expect_uniform(segments, -1.0F, true);
        expect_uniform(segments, 1.0F, true);
    }
}

static void test_the_statistic_sees_what_one_member_more_would(void **state)
{
    static const uint32_t who[] = {0, 1, 2};

    (void)state;
    assert_true(statistic(1, 1.0F, who, 3, false) > 1000);
    assert_true(statistic(1, 1.0F, who, 3, true) > 1000);
    assert_true(statistic(2, 1.0F, who, 3, true) > 1000);
}

/* Dealt by hand: t of the T rows are uniform, the others are zeros. */
static double distance_with_rows(uint32_t t, const uint32_t *who, size_t who_n)
{
    enum { LEN = N / 2 };
    static struct counts counts;
    static uint16_t rows[(2 + T) * LEN], shares[M * LEN];
    static uint32_t values[M][N];
    struct secagg_shape shape = shape_of(2);
    struct lcc lcc;
    struct rng r;

    memset(&counts, 0, sizeof counts);
    memset(rows, 0, sizeof rows);
    assert_int_equal(coded_lcc_init(&lcc, &shape), STATUS_OK);
    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < 2 * LEN; i++)
            rows[i] = 1;
        for (size_t i = 2 * LEN; i < (2 + t) * LEN; i++)
            rows[i] = (uint16_t)rng_below(&r, PRIME);
        lcc_encode(&lcc, shares, rows, LEN);
        for (size_t m = 0; m < M; m++)
            for (size_t i = 0; i < LEN; i++)
                values[m][i] = shares[m * LEN + i];
        note(&counts, values, who, who_n, LEN);
    }
    lcc_deinit(&lcc);
    rng_deinit(&r);
    return distance(&counts, who_n);
}

static void test_the_statistic_sees_uniform_rows_that_are_missing(void **state)
{
    static const uint32_t who[] = {0, 1};

    (void)state;
    assert_true(distance_with_rows(2, who, 2) < UNIFORM_MAX);
    assert_true(distance_with_rows(1, who, 2) > 1000);
    assert_true(distance_with_rows(1, who, 1) < UNIFORM_MAX);
    assert_true(distance_with_rows(0, who, 1) > 1000);
}

/* Two members of the same keys, input and noise, in the same round. */
static void test_uniform_rows_do_not_come_from_the_noise(void **state)
{
    static float x[N];
    static uint8_t share[2][3 * 2 * N], tag[2][3 * 16];
    struct secagg_shape shape = shape_of(2);
    static const struct secagg_pair pairs[M];
    uint8_t sid[32] = {0};
    const struct secagg_round round = {.round = 1, .sid = sid, .broadcast = sid};
    const size_t bytes = secagg_share_bytes(AGGREGATION_CODED, &shape, SECAGG_PART_ROUND, 0, N);
    size_t same = 0;

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct secagg_party *party;
        struct rng noise;

        assert_int_equal(rng_init_key(&noise, SEED), STATUS_OK);
        assert_int_equal(secagg_party_new(&party, AGGREGATION_CODED, &shape, pairs), STATUS_OK);
        assert_int_equal(secagg_protect(party, share[k], tag[k], x, N, &round, &noise), STATUS_OK);
        secagg_party_free(party);
        rng_deinit(&noise);
    }
    /* The key stream is the same, so equal bytes are equal shares: two of 11 elements in 121. */
    for (size_t i = 0; i < bytes; i++)
        same += share[0][i] == share[1][i];
    assert_true(same < bytes / 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_that_t_members_were_dealt_are_jointly_uniform),
        cmocka_unit_test(test_uploads_of_t_members_are_jointly_uniform),
        cmocka_unit_test(test_the_statistic_sees_what_one_member_more_would),
        cmocka_unit_test(test_the_statistic_sees_uniform_rows_that_are_missing),
        cmocka_unit_test(test_uniform_rows_do_not_come_from_the_noise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
