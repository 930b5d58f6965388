/* test_coded_refused.c -- shares that are not what they should be, and rounds that are not next.
 *
 * Three members, K = T = 1.
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

enum { N = 5, VALUES = 4099 };

static const uint8_t SEED[32] = "coded";

static void start(struct generation *g, uint32_t values)
{
    struct plan p = generation_plan(ENCODING_FIXED);
    struct secagg_shape s = generation_shape(&p, 3, values);
    struct rng r;

    s.segments = 1;
    s.privacy = 1;
    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    generation_init(g, AGGREGATION_CODED, &s, &r);
    rng_deinit(&r);
}

static void protect_three(struct generation *g, const struct secagg_round *round)
{
    static const float x[N] = {0.1F, -0.5F, 0.9F, 0, 1};

    for (uint32_t m = 0; m < 3; m++)
        assert_int_equal(generation_protect(g, m, x, N, round, NULL), STATUS_OK);
}

/* Member m's answer to what lies there; whom it names, or nobody. */
static void expect_answer(struct generation *g, uint32_t m, const struct secagg_round *round,
                          enum status want, uint32_t who)
{
    uint32_t faulty = 99;

    assert_int_equal(generation_answer(g, m, N, round, &faulty), want);
    assert_int_equal(faulty, who);
}

static void flip_each(struct generation *g, uint8_t *field, size_t bytes, uint64_t number)
{
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        struct secagg_round round = generation_round(g, number + bit);

        protect_three(g, &round);
        generation_route(g, 1, N);
        field[bit / 8] ^= (uint8_t)(1U << bit % 8);
        /* What is for member 1 came from members 0 and 2, in halves. */
        expect_answer(g, 1, &round, STATUS_AUTH, bit < 4 * bytes ? 0 : 2);
    }
}

static void test_any_bit_of_a_sealed_share_or_tag_flipped_is_refused(void **state)
{
    struct generation g;

    (void)state;
    start(&g, 2 * N);
    flip_each(&g, g.sealed,
              secagg_share_bytes(AGGREGATION_CODED, &g.shape, SECAGG_PART_ROUND, 0, N), 0);
    flip_each(&g, g.tags, secagg_tag_bytes(AGGREGATION_CODED, &g.shape), 2000);
    generation_deinit(&g);
}

static void test_shares_of_another_round_sender_or_receiver_are_refused(void **state)
{
    struct generation g;
    struct secagg_round round;
    const size_t part = 8; /* 5 values of 12 bits */

    (void)state;
    start(&g, 2 * N);
    assert_int_equal(secagg_payload_bytes(AGGREGATION_CODED, &g.shape, N), part);
    round = generation_round(&g, 0);
    protect_three(&g, &round);
    generation_route(&g, 1, N); /* of round 0 .. */
    round.round++;
    protect_three(&g, &round);
    expect_answer(&g, 1, &round, STATUS_AUTH, 0); /* .. in round 1 */
    generation_route(&g, 2, N);
    expect_answer(&g, 0, &round, STATUS_AUTH, 1); /* for another receiver */
    generation_route(&g, 2, N);
    expect_answer(&g, 2, &round, STATUS_OK, 2);
    round.round++;
    protect_three(&g, &round);
    generation_route(&g, 1, N);
    for (size_t i = 0; i < part; i++) { /* of 0 as of 2, and the other way about */
        uint8_t byte = g.sealed[i];

        g.sealed[i] = g.sealed[part + i];
        g.sealed[part + i] = byte;
    }
    expect_answer(&g, 1, &round, STATUS_AUTH, 0);
    generation_deinit(&g);
}

/* Members 0 and 2 share by another name of the round than member 1. */
static enum status disagree(const struct secagg_round *theirs, const struct secagg_round *own)
{
    static const float x[N] = {0};
    struct generation g;
    uint32_t faulty;
    enum status s;

    start(&g, 2 * N);
    for (uint32_t m = 0; m < 3; m++)
        assert_int_equal(generation_protect(&g, m, x, N, m == 1 ? own : theirs, NULL), STATUS_OK);
    generation_route(&g, 1, N);
    s = generation_answer(&g, 1, N, own, &faulty);
    generation_deinit(&g);
    return s;
}

static void test_members_that_name_a_round_differently_refuse_each_others_shares(void **state)
{
    (void)state;
    generation_expect_one_name(disagree, STATUS_AUTH);
}

static void test_a_round_is_relayed_once_and_only_the_last_that_was_shared(void **state)
{
    struct generation g;
    struct secagg_round round, other;
    uint8_t upload[8];
    const uint8_t nothing[sizeof upload] = {0};
    uint32_t faulty;

    (void)state;
    start(&g, 2 * N);
    round = generation_round(&g, 7);
    expect_answer(&g, 1, &round, STATUS_PROTOCOL, 1); /* nothing was shared */
    protect_three(&g, &round);
    generation_route(&g, 1, N);
    other = round;
    other.round = 6;
    expect_answer(&g, 1, &other, STATUS_PROTOCOL, 1);
    other.round = 8;
    expect_answer(&g, 1, &other, STATUS_PROTOCOL, 1);
    other = round;
    other.purpose = 1;
    expect_answer(&g, 1, &other, STATUS_PROTOCOL, 1);
    assert_int_equal(generation_answer(&g, 1, N + 1, &round, &faulty), STATUS_PROTOCOL);
    expect_answer(&g, 1, &round, STATUS_OK, 1); /* none of these spent it */
    memcpy(upload, g.payload[1], sizeof upload);
    memset(g.payload[1], 0, sizeof upload);
    expect_answer(&g, 1, &round, STATUS_PROTOCOL, 1);
    assert_memory_not_equal(upload, nothing, sizeof upload);
    assert_memory_equal(g.payload[1], nothing, sizeof nothing);
    round.round++;
    protect_three(&g, &round);
    generation_route(&g, 1, N);
    g.tags[0] ^= 1;
    expect_answer(&g, 1, &round, STATUS_AUTH, 0);
    g.tags[0] ^= 1;
    expect_answer(&g, 1, &round, STATUS_PROTOCOL, 1); /* a refusal is an answer too */
    generation_deinit(&g);
}

/* What member 0 would seal for member 1, did it not keep to the field: all its elements are v. */
static void seal_elements(struct generation *g, uint32_t v, const struct secagg_round *round)
{
    const uint32_t w = secagg_width(AGGREGATION_CODED, &g->shape);
    uint32_t values[N];
    struct share_keys keys;

    for (size_t i = 0; i < N; i++)
        values[i] = i == N - 1 ? v : 0;
    bits_naive_pack(g->sealed, values, N, w);
    assert_int_equal(share_init(&keys, 3, 0, g->pairs[0]), STATUS_OK);
    assert_int_equal(share_begin(&keys, round), STATUS_OK);
    share_seal(&keys, 1, g->sealed, bits_bytes(N, w), g->tags);
    share_deinit(&keys);
}

static void test_a_share_that_is_not_of_the_field_is_refused(void **state)
{
    struct generation g;
    struct secagg_round round;
    uint32_t p;

    (void)state;
    start(&g, 2 * N);
    p = fp16_prime_above(3 * 1023);
    for (uint32_t v = p - 2; v < p + 3; v++) {
        round = generation_round(&g, v);
        protect_three(&g, &round);
        generation_route(&g, 1, N);
        seal_elements(&g, v, &round);
        expect_answer(&g, 1, &round, v < p ? STATUS_OK : STATUS_AUTH, v < p ? 1 : 0);
    }
    generation_deinit(&g);
}

/* --- what goes in --- */

static void test_round_numbers_only_grow(void **state)
{
    struct generation g;
    struct secagg_round round;
    float x[N] = {0};

    (void)state;
    start(&g, 2 * N);
    round = generation_round(&g, 7);
    assert_int_equal(generation_protect(&g, 0, x, N, &round, NULL), STATUS_OK);
    assert_int_equal(generation_protect(&g, 0, x, N, &round, NULL), STATUS_PROTOCOL);
    round.purpose = 2; /* another purpose is no excuse */
    assert_int_equal(generation_protect(&g, 0, x, N, &round, NULL), STATUS_PROTOCOL);
    round.round = UINT64_MAX; /* nobody ratchets that far */
    assert_int_equal(generation_protect(&g, 0, x, N, &round, NULL), STATUS_PROTOCOL);
    round.round = 8;
    assert_int_equal(generation_protect(&g, 0, x, N, &round, NULL), STATUS_OK);
    generation_deinit(&g);
}

static void test_value_that_is_no_number_counts_as_nought_and_the_round_goes_on(void **state)
{
    static float x[VALUES], out[VALUES], want[VALUES];
    static const size_t places[] = {0, 2047, 2048, VALUES - 1};
    static const float strange[] = {0, NAN, INFINITY, -INFINITY};
    struct generation g;
    struct error err = {0};
    uint64_t number = 0;

    (void)state;
    start(&g, VALUES);
    for (size_t i = 0; i < 4; i++) {
        const struct secagg_round round = generation_round(&g, number++);

        for (size_t k = 0; k < sizeof places / sizeof places[0]; k++)
            x[places[k]] = strange[i];
        for (uint32_t m = 0; m < 3; m++)
            assert_int_equal(generation_protect(&g, m, x, VALUES, &round, NULL), STATUS_OK);
        assert_int_equal(generation_relay(&g, VALUES, &round), STATUS_OK);
        assert_int_equal(generation_combine(&g, i == 0 ? want : out, VALUES, 1, &err), STATUS_OK);
        if (i > 0)
            assert_memory_equal(out, want, sizeof want);
    }
    generation_deinit(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_bit_of_a_sealed_share_or_tag_flipped_is_refused),
        cmocka_unit_test(test_shares_of_another_round_sender_or_receiver_are_refused),
        cmocka_unit_test(test_members_that_name_a_round_differently_refuse_each_others_shares),
        cmocka_unit_test(test_a_round_is_relayed_once_and_only_the_last_that_was_shared),
        cmocka_unit_test(test_a_share_that_is_not_of_the_field_is_refused),
        cmocka_unit_test(test_round_numbers_only_grow),
        cmocka_unit_test(test_value_that_is_no_number_counts_as_nought_and_the_round_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
