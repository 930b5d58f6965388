/* test_fedvs_refused.c -- shares of weights that are not what they should be, and rounds that are
 * not next.
 *
 * Five members, K = T = 1, of different sizes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/secagg/fedvs.h"
#include "common/secagg/share.h"
#include "tests/lib/aborts.h"
#include "tests/unit/secagg/members.h"

#include <math.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static const uint8_t SEED[32] = "refused";

static const struct members_case FIVE = {
    .parties = 5,
    .segments = 1,
    .privacy = 1,
    .width = 2,
    .rows = 4,
    .features = {1, 2, 1, 3, 1},
    .degree = {1, 1, 2, 1, 1},
    .x_bits = 4,
    .w_bits = 4,
    .x_max = 1,
    .w_max = 1,
};
static const uint32_t CODED[] = {0, 2, 3};

enum { ROWS = 3, UPLOAD_MAX = 64 };

static void begin(struct members *g, enum plan_prime prime)
{
    struct members_case c = FIVE;
    struct rng r;

    c.prime = prime;
    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    members_init(g, &c, &r);
    members_deal_keys(g);
    members_deal_data(g);
    rng_deinit(&r);
}

static struct secagg_round next(struct members *g)
{
    struct secagg_round r = members_round(g);

    r.coded = CODED;
    r.coded_n = ROWS;
    return r;
}

static void protect_all(struct members *g, const struct secagg_round *r)
{
    for (uint32_t m = 0; m < 5; m++)
        assert_int_equal(members_protect(g, m, r), STATUS_OK);
}

static void expect(struct members *g, uint32_t m, const struct secagg_round *r, enum status want,
                   uint32_t who)
{
    uint32_t faulty = 99;

    assert_int_equal(members_relay(g, m, r, &faulty), want);
    assert_int_equal(faulty, who);
}

/* A round after all that still decodes to the plain sums. */
static void expect_well(struct members *g)
{
    const struct secagg_round r = members_run(g, CODED, ROWS);
    int64_t sums[2 * ROWS];
    float out[2 * ROWS], want[2 * ROWS];
    struct error err = {0};

    members_sums(g, sums, &r);
    fedvs_real(&g->shape.terms, want, sums, 2 * ROWS);
    secagg_begin(g->server, 2 * ROWS);
    for (uint32_t m = 0; m < 5; m++)
        assert_int_equal(secagg_add(g->server, m, g->payload[m], NULL, &err), STATUS_OK);
    assert_int_equal(secagg_combine(g->server, out, 2, &err), STATUS_OK);
    assert_memory_equal(out, want, sizeof want);
}

static void test_any_bit_of_a_sealed_share_or_tag_flipped_is_refused(void **state)
{
    /* Member 1 receives 2, 4, 6 and 2 weights of 31 bits from 0, 2, 3 and 4. */
    static const uint32_t from[] = {0, 2, 3, 4};
    static const size_t ends[] = {8, 8 + 16, 8 + 16 + 24, 8 + 16 + 24 + 8};
    struct members g;

    (void)state;
    begin(&g, PRIME_31);
    assert_int_equal(secagg_relay_bytes(AGGREGATION_FEDVS, &g.shape, SECAGG_PART_ROUND, 1, 0),
                     ends[3]);
    for (size_t bit = 0; bit < 8 * (ends[3] + 64); bit++) {
        const struct secagg_round r = next(&g);
        const size_t at = bit / 8;
        uint32_t who = 0;

        protect_all(&g, &r);
        members_route(&g, 1, SECAGG_PART_ROUND, 0);
        if (at < ends[3]) {
            g.sealed[at] ^= (uint8_t)(1U << bit % 8);
            while (at >= ends[who])
                who++;
        } else {
            g.tags[at - ends[3]] ^= (uint8_t)(1U << bit % 8);
            who = (uint32_t)(at - ends[3]) / 16;
        }
        expect(&g, 1, &r, STATUS_AUTH, from[who]);
    }
    expect_well(&g);
    members_deinit(&g);
}

static void test_members_that_name_a_round_differently_refuse_each_others_shares(void **state)
{
    uint8_t sid[32] = {1}, view[32] = {2};
    struct members g;

    (void)state;
    begin(&g, PRIME_31);
    for (int i = 0; i < 4; i++) {
        const struct secagg_round r = next(&g);
        struct secagg_round theirs = r;

        theirs.purpose = i == 0 ? 9 : r.purpose;
        theirs.round = i == 1 ? ++g.number : r.round;
        theirs.sid = i == 2 ? sid : r.sid;
        theirs.broadcast = i == 3 ? view : r.broadcast;
        for (uint32_t m = 0; m < 5; m++)
            assert_int_equal(members_protect(&g, m, m == 3 ? &theirs : &r), STATUS_OK);
        members_route(&g, 1, SECAGG_PART_ROUND, 0);
        expect(&g, 1, &r, STATUS_AUTH, 3);
        members_route(&g, 3, SECAGG_PART_ROUND, 0);
        expect(&g, 3, &theirs, STATUS_AUTH, 0);
    }
    expect_well(&g);
    members_deinit(&g);
}

static void test_shares_of_another_round_sender_or_receiver_are_refused(void **state)
{
    struct members g;
    struct secagg_round r;
    uint8_t part[8];

    (void)state;
    begin(&g, PRIME_31);
    r = next(&g);
    protect_all(&g, &r);
    members_route(&g, 1, SECAGG_PART_ROUND, 0); /* of one round .. */
    r = next(&g);
    protect_all(&g, &r);
    expect(&g, 1, &r, STATUS_AUTH, 0); /* .. in the next */
    members_route(&g, 4, SECAGG_PART_ROUND, 0);
    expect(&g, 0, &r, STATUS_AUTH, 1); /* for another receiver, and other sizes */
    r = next(&g);
    protect_all(&g, &r);
    members_route(&g, 1, SECAGG_PART_ROUND, 0);
    memcpy(part, g.sealed, 8); /* those of 0 and 4, which are of one size, the other way about */
    memcpy(g.sealed, g.sealed + 48, 8);
    memcpy(g.sealed + 48, part, 8);
    expect(&g, 1, &r, STATUS_AUTH, 0);
    expect_well(&g);
    members_deinit(&g);
}

static void test_a_round_is_relayed_once_and_only_the_last_that_was_shared(void **state)
{
    struct members g;
    struct secagg_round r, other;
    uint8_t kept[UPLOAD_MAX], nothing[UPLOAD_MAX] = {0};
    size_t bytes;

    (void)state;
    begin(&g, PRIME_61);
    bytes = secagg_payload_bytes(AGGREGATION_FEDVS, &g.shape, members_values(&g, ROWS));
    assert_true(bytes <= UPLOAD_MAX);
    r = next(&g);
    expect(&g, 1, &r, STATUS_PROTOCOL, 1); /* nothing was shared */
    protect_all(&g, &r);
    members_route(&g, 1, SECAGG_PART_ROUND, 0);
    for (int i = 0; i < 3; i++) {
        other = r;
        other.round += i == 0 ? 1 : i == 1 ? UINT64_MAX : 0;
        other.purpose = i == 2 ? 9 : r.purpose;
        expect(&g, 1, &other, STATUS_PROTOCOL, 1);
    }
    expect(&g, 1, &r, STATUS_OK, 1); /* none of these spent it */
    memcpy(kept, g.payload[1], bytes);
    memset(g.payload[1], 0, bytes);
    expect(&g, 1, &r, STATUS_PROTOCOL, 1); /* a second zero share would be the first again */
    assert_memory_equal(g.payload[1], nothing, bytes);
    assert_memory_not_equal(kept, nothing, bytes);
    r = next(&g);
    protect_all(&g, &r);
    members_route(&g, 1, SECAGG_PART_ROUND, 0);
    g.tags[0] ^= 1;
    expect(&g, 1, &r, STATUS_AUTH, 0);
    g.tags[0] ^= 1;
    expect(&g, 1, &r, STATUS_PROTOCOL, 1); /* a refusal is an answer too */
    assert_memory_equal(g.payload[1], nothing, bytes);
    expect_well(&g);
    members_deinit(&g);
}

static void test_a_share_that_is_not_of_the_field_is_refused(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct members g;
        const struct field *f;

        begin(&g, k == 0 ? PRIME_31 : PRIME_61);
        f = g.shape.terms.field;
        for (uint64_t v = f->p - 2; v <= f->p; v++) {
            const struct secagg_round r = next(&g);
            struct share_keys keys;
            uint64_t wide[2] = {v, v};
            uint32_t narrow[2] = {1, (uint32_t)v};

            protect_all(&g, &r);
            members_route(&g, 1, SECAGG_PART_ROUND, 0);
            f->pack(g.sealed, k == 0 ? (const void *)narrow : wide, 2);
            assert_int_equal(share_init(&keys, 5, 0, g.pairs[0]), STATUS_OK);
            assert_int_equal(share_begin(&keys, &r), STATUS_OK);
            share_seal(&keys, 1, g.sealed, f->packed(2), g.tags);
            share_deinit(&keys);
            expect(&g, 1, &r, v < f->p ? STATUS_OK : STATUS_AUTH, v < f->p ? 1 : 0);
        }
        expect_well(&g);
        members_deinit(&g);
    }
}

/* --- what goes in --- */

static void test_round_numbers_only_grow(void **state)
{
    struct members g;
    struct secagg_round r;

    (void)state;
    begin(&g, PRIME_31);
    r = next(&g);
    assert_int_equal(members_protect(&g, 0, &r), STATUS_OK);
    assert_int_equal(members_protect(&g, 0, &r), STATUS_PROTOCOL);
    r.purpose = 9; /* another purpose is no excuse */
    assert_int_equal(members_protect(&g, 0, &r), STATUS_PROTOCOL);
    r.round = UINT64_MAX; /* nobody ratchets that far */
    assert_int_equal(members_protect(&g, 0, &r), STATUS_PROTOCOL);
    g.number += 600; /* two ratchets on, for the keys of sets as for those of pairs */
    expect_well(&g);
    members_deinit(&g);
}

static void test_a_weight_that_is_no_number_counts_as_nought_and_the_round_goes_on(void **state)
{
    static const float strange[] = {NAN, INFINITY, -INFINITY};
    const size_t n = 2 * (size_t)ROWS;
    struct members g;

    (void)state;
    begin(&g, PRIME_31);
    for (size_t i = 0; i < 6; i++) { /* member 3: 3 inputs */
        const float kept = g.w[3][i];
        struct error err = {0};
        float out[2 * ROWS], want[2 * ROWS];
        int64_t sums[2 * ROWS];
        struct secagg_round r;

        g.w[3][i] = strange[i % 3];
        r = members_run(&g, CODED, ROWS);
        g.w[3][i] = 0;
        members_sums(&g, sums, &r);
        g.w[3][i] = kept;
        fedvs_real(&g.shape.terms, want, sums, n);
        secagg_begin(g.server, n);
        for (uint32_t m = 0; m < 5; m++)
            assert_int_equal(secagg_add(g.server, m, g.payload[m], NULL, &err), STATUS_OK);
        assert_int_equal(secagg_combine(g.server, out, 2, &err), STATUS_OK);
        assert_memory_equal(out, want, sizeof want);
    }
    expect_well(&g);
    members_deinit(&g);
}

/* --- shapes and programmers --- */

struct call {
    struct members g;
    size_t n;
    uint32_t coded_n;
    const void *data;
};

static void protect_n(void *arg)
{
    static float w[64];
    static uint8_t bytes[4096];
    struct call *c = arg;
    const struct secagg_round r = next(&c->g);

    (void)!secagg_protect(c->g.party[1], bytes, bytes, w, c->n, &r, NULL);
}

static void relay_n(void *arg)
{
    static uint8_t bytes[4096];
    struct call *c = arg;
    struct secagg_round r = next(&c->g);
    struct error err = {0};
    uint32_t faulty;

    r.coded_n = c->coded_n;
    r.data = c->data;
    (void)!secagg_relay(c->g.party[1], bytes, bytes, bytes, c->n, &r, &faulty, &err);
}

static void test_other_sizes_than_those_of_the_terms_are_a_programmers_mistake(void **state)
{
    static struct call c;

    (void)state;
    begin(&c.g, PRIME_31);
    c.n = 5; /* member 1 has two inputs, and two columns of weights */
    assert_true(aborts(protect_n, &c));
    c = (struct call){.g = c.g, .n = 2 * ROWS, .coded_n = ROWS, .data = c.g.data[1]};
    assert_false(aborts(relay_n, &c));
    c.n++;
    assert_true(aborts(relay_n, &c));
    c.n = 0;
    c.coded_n = 0;
    assert_true(aborts(relay_n, &c));
    c = (struct call){.g = c.g, .n = 2 * ROWS, .coded_n = ROWS};
    assert_true(aborts(relay_n, &c));
    members_deinit(&c.g);
}

static void test_shapes_without_terms_or_with_those_of_others_do_not_exist(void **state)
{
    struct members g;
    struct secagg_shape s;
    struct secagg_party *party;
    struct secagg_server *server;

    (void)state;
    begin(&g, PRIME_31);
    for (int i = 0; i < 3; i++) {
        s = g.shape;
        if (i == 0)
            s.terms = (struct fedvs_terms){0};
        s.parties = i == 1 ? 4 : 5;
        s.concat = i == 2;
        assert_int_equal(secagg_width(AGGREGATION_FEDVS, &s), 0);
        assert_int_equal(secagg_payload_bytes(AGGREGATION_FEDVS, &s, 10), 0);
        assert_int_equal(secagg_share_bytes(AGGREGATION_FEDVS, &s, SECAGG_PART_DATA, 0, 10), 0);
        assert_int_equal(secagg_tag_bytes(AGGREGATION_FEDVS, &s), 0);
        assert_int_equal(secagg_party_new(&party, AGGREGATION_FEDVS, &s, g.pairs[0]),
                         STATUS_CONFIG);
        assert_int_equal(secagg_server_new(&server, AGGREGATION_FEDVS, &s), STATUS_CONFIG);
    }
    members_deinit(&g);
}

/* The n-th allocation of *_new fails, for every n there is; leak checkers watch. */
static void test_any_failing_allocation_is_a_status(void **state)
{
    struct members g;
    enum status s;
    uint64_t n = 0;

    (void)state;
    begin(&g, PRIME_61);
    do {
        struct secagg_party *party;

        mem_fail_at(++n);
        s = secagg_party_new(&party, AGGREGATION_FEDVS, &g.shape, g.pairs[0]);
        mem_fail_at(0);
        if (s != STATUS_OK)
            assert_int_equal(s, STATUS_MEMORY);
        secagg_party_free(party);
    } while (s != STATUS_OK);
    assert_true(n > 8);
    n = 0;
    do {
        struct secagg_server *server;

        mem_fail_at(++n);
        s = secagg_server_new(&server, AGGREGATION_FEDVS, &g.shape);
        mem_fail_at(0);
        if (s != STATUS_OK)
            assert_int_equal(s, STATUS_MEMORY);
        secagg_server_free(server);
    } while (s != STATUS_OK);
    assert_true(n > 4);
    members_deinit(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_bit_of_a_sealed_share_or_tag_flipped_is_refused),
        cmocka_unit_test(test_members_that_name_a_round_differently_refuse_each_others_shares),
        cmocka_unit_test(test_shares_of_another_round_sender_or_receiver_are_refused),
        cmocka_unit_test(test_a_round_is_relayed_once_and_only_the_last_that_was_shared),
        cmocka_unit_test(test_a_share_that_is_not_of_the_field_is_refused),
        cmocka_unit_test(test_round_numbers_only_grow),
        cmocka_unit_test(test_a_weight_that_is_no_number_counts_as_nought_and_the_round_goes_on),
        cmocka_unit_test(test_other_sizes_than_those_of_the_terms_are_a_programmers_mistake),
        cmocka_unit_test(test_shapes_without_terms_or_with_those_of_others_do_not_exist),
        cmocka_unit_test(test_any_failing_allocation_is_a_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
