/* test_fedvs_deal.c -- keys and data go where they should, as the golden generations have them, and
 * nothing else is taken.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/fedvs_deal.h"

#include "common/base/mem.h"
#include "common/field/mod.h"
#include "common/lcc/points.h"
#include "common/secagg/share.h"
#include "tests/lib/aborts.h"
#include "tests/unit/secagg/golden_fedvs.h"
#include "tests/unit/secagg/members.h"

#include <math.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static const uint8_t SEED[32] = "deal";

static const struct members_case FIVE = {
    .parties = 5,
    .segments = 1,
    .privacy = 2,
    .width = 2,
    .rows = 3,
    .chunk_rows = 2,
    .features = {1, 2, 1, 1, 1},
    .degree = {1, 1, 2, 1, 1},
    .prime = PRIME_31,
    .x_bits = 4,
    .w_bits = 4,
    .x_max = 1,
    .w_max = 1,
};

/* --- the golden generations --- */

struct golden {
    size_t k;
    const struct golden_fedvs *v;
    struct secagg_shape shape;
    struct secagg_party *me; /* the last member */
    struct secagg_pair pairs[GOLDEN_FEDVS_MEMBERS];
    struct golden_round round;
    uint8_t sealed[4096], tags[16 * GOLDEN_FEDVS_MEMBERS], data[8192];
};

static void golden_start(struct golden *g, size_t k)
{
    memset(g, 0, sizeof *g);
    g->k = k;
    g->v = &GOLDEN_FEDVS[k];
    g->shape = golden_shape(k);
    golden_pairs(g->pairs, k, g->shape.self);
    assert_int_equal(secagg_party_new(&g->me, AGGREGATION_FEDVS, &g->shape, g->pairs), STATUS_OK);
}

static void golden_keys(struct golden *g)
{
    struct error err = {0};
    uint32_t faulty;

    golden_round(&g->round, g->k, 3, GOLDEN_FEDVS_KEYS);
    assert_int_equal(secagg_deal_keys(g->me, g->sealed, g->tags, &g->round.round), STATUS_OK);
    assert_int_equal(
        secagg_take_keys(g->me, g->v->keys, g->v->keys_tags, &g->round.round, &faulty, &err),
        STATUS_OK);
}

static void golden_data(struct golden *g)
{
    const uint8_t numbers[2] = {(uint8_t)g->k, (uint8_t)g->shape.self};
    float x[64];
    uint8_t key[32];
    struct rng masks;
    struct error err = {0};
    uint32_t faulty;

    golden_round(&g->round, g->k, 4, GOLDEN_FEDVS_DATA);
    golden_x(x, g->k, g->shape.self);
    golden_digest(key, "fedvs masks", g->k, numbers + 1, 1);
    assert_int_equal(rng_init_key(&masks, key), STATUS_OK);
    assert_int_equal(
        secagg_deal(g->me, g->sealed, g->tags, x, golden_len(g->k), &g->round.round, &masks),
        STATUS_OK);
    rng_deinit(&masks);
    assert_int_equal(secagg_take(g->me, g->data, g->v->data, g->v->data_tags, golden_len(g->k),
                                 &g->round.round, &faulty, &err),
                     STATUS_OK);
}

static void test_a_chunk_is_dealt_as_the_golden_generations_deal_it(void **state)
{
    (void)state;
    for (size_t k = 0; k < GOLDEN_FEDVS_N; k++) {
        static struct golden g;

        golden_start(&g, k);
        golden_keys(&g);
        golden_data(&g);
        assert_memory_equal(g.sealed, g.v->dealt,
                            secagg_share_bytes(AGGREGATION_FEDVS, &g.shape, SECAGG_PART_DATA,
                                               g.shape.self, golden_len(k)));
        assert_memory_equal(g.tags, g.v->dealt_tags, secagg_tag_bytes(AGGREGATION_FEDVS, &g.shape));
        secagg_party_free(g.me);
    }
}

static void test_rows_are_taken_member_by_member_as_the_golden_generations_have_them(void **state)
{
    (void)state;
    for (size_t k = 0; k < GOLDEN_FEDVS_N; k++) {
        static struct golden g;

        golden_start(&g, k);
        golden_keys(&g);
        golden_data(&g);
        for (size_t i = 0; i < (size_t)golden_len(k) * g.shape.terms.inputs_n; i++)
            assert_true(g.shape.terms.field->get(g.data, i) == g.v->taken[i]);
        secagg_party_free(g.me);
    }
}

/* This member's share of its own weights, as the others' shares of them say. */
static void own_weights(struct golden *g, uint64_t *own)
{
    const struct field *f = g->shape.terms.field;
    const uint32_t self = g->shape.self, threshold = g->v->segments + g->v->privacy;
    const size_t n = (size_t)g->shape.terms.inputs[self] * g->v->width;
    const size_t part = secagg_part_bytes(AGGREGATION_FEDVS, &g->shape, SECAGG_PART_ROUND, self, 0);
    uint64_t from[GOLDEN_FEDVS_MEMBERS], c[GOLDEN_FEDVS_MEMBERS],
        to = points_alpha(threshold, self);

    memset(own, 0, n * sizeof *own);
    for (uint32_t j = 0; j < threshold; j++)
        from[j] = points_alpha(threshold, j);
    points_lagrange(c, &to, 1, from, threshold, f->p);
    for (uint32_t j = 0; j < threshold; j++) {
        struct secagg_pair pairs[GOLDEN_FEDVS_MEMBERS];
        struct share_keys keys;
        uint8_t text[512], share[512];

        golden_pairs(pairs, g->k, j);
        assert_int_equal(share_init(&keys, g->v->parties, j, pairs), STATUS_OK);
        assert_int_equal(share_begin(&keys, &g->round.round), STATUS_OK);
        assert_true(share_open(&keys, self, text, g->sealed + j * part, part, g->tags + 16 * j));
        share_deinit(&keys);
        f->unpack(share, text, n);
        for (size_t i = 0; i < n; i++)
            own[i] = mod_add(own[i], mod_mul(c[j], f->get(share, i), f->p), f->p);
    }
}

/* What an upload should be: the others' part, this member's own, and its share of zero. */
static void expect_upload(struct golden *g, const uint8_t *payload, const uint64_t *own)
{
    const struct fedvs_terms *t = &g->shape.terms;
    const uint32_t self = g->shape.self, before = t->inputs_n - t->inputs[self];
    const size_t n = (size_t)g->v->coded_n * g->v->width;
    uint8_t got[512];

    t->field->unpack(got, payload, n);
    for (size_t i = 0; i < n; i++) {
        const size_t row = g->v->coded[i / g->v->width];
        const uint64_t *zero = g->v->zero + self * n;
        uint64_t v = mod_add(g->v->others[i], zero[i], t->field->p);

        for (uint32_t k = 0; k < t->inputs[self]; k++)
            v = mod_add(v,
                        mod_mul(g->v->taken[row * t->inputs_n + before + k],
                                own[k * g->v->width + i % g->v->width], t->field->p),
                        t->field->p);
        assert_true(t->field->get(got, i) == v);
    }
}

/* The whole round, but for the masks of this member's own weights, which are the system's. */
static void test_a_result_is_that_of_the_golden_generations(void **state)
{
    (void)state;
    for (size_t k = 0; k < GOLDEN_FEDVS_N; k++) {
        static struct golden g;
        uint64_t own[64];
        uint8_t payload[512];
        float w[64];
        struct rng noise;
        struct error err = {0};
        uint32_t faulty;

        golden_start(&g, k);
        golden_keys(&g);
        golden_data(&g);
        golden_round(&g.round, k, 0, GOLDEN_FEDVS_ROUND);
        g.round.round.data = g.data;
        for (size_t i = 0; i < (size_t)g.shape.terms.inputs[g.shape.self] * g.v->width; i++)
            w[i] = (float)ldexp((double)g.v->mine[i], -(int)g.v->w_bits);
        assert_int_equal(rng_init_key(&noise, SEED), STATUS_OK);
        assert_int_equal(secagg_protect(g.me, g.sealed, g.tags, w,
                                        (size_t)g.shape.terms.inputs[g.shape.self] * g.v->width,
                                        &g.round.round, &noise),
                         STATUS_OK);
        own_weights(&g, own);
        assert_int_equal(secagg_relay(g.me, payload, g.v->weights, g.v->weights_tags,
                                      (size_t)g.v->coded_n * g.v->segments * g.v->width,
                                      &g.round.round, &faulty, &err),
                         STATUS_OK);
        expect_upload(&g, payload, own);
        rng_deinit(&noise);
        secagg_party_free(g.me);
    }
}

/* --- what is not taken --- */

static void begin(struct members *g)
{
    struct rng r;

    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    members_init(g, &FIVE, &r);
    rng_deinit(&r);
}

static void deal_keys(struct members *g, const struct secagg_round *r)
{
    for (uint32_t m = 0; m < 5; m++)
        assert_int_equal(secagg_deal_keys(g->party[m], g->share[m], g->tag[m], r), STATUS_OK);
}

static void expect_keys(struct members *g, uint32_t m, const struct secagg_round *r,
                        enum status want, uint32_t who)
{
    struct error err = {0};
    uint32_t faulty = 99;

    assert_int_equal(secagg_take_keys(g->party[m], g->sealed, g->tags, r, &faulty, &err), want);
    assert_int_equal(err.status, want);
    assert_int_equal(faulty, who);
}

static void deal_data(struct members *g, uint32_t rows, const struct secagg_round *r)
{
    for (uint32_t m = 0; m < 5; m++)
        assert_int_equal(members_deal_chunk(g, m, 0, rows, r), STATUS_OK);
}

static void expect_data(struct members *g, uint32_t m, uint32_t rows, const struct secagg_round *r,
                        enum status want, uint32_t who)
{
    struct error err = {0};
    uint32_t faulty = 99;

    assert_int_equal(
        secagg_take(g->party[m], g->data[m], g->sealed, g->tags, rows, r, &faulty, &err), want);
    assert_int_equal(err.status, want);
    assert_int_equal(faulty, who);
}

/* Who sealed byte `at` of what is for `to`. */
static uint32_t sender_of(const struct members *g, uint32_t to, enum secagg_part part, size_t n,
                          size_t at)
{
    for (uint32_t from = 0;; from++) {
        const size_t bytes = secagg_part_bytes(AGGREGATION_FEDVS, &g->shape, part, from, n);

        if (from == to)
            continue;
        if (at < bytes)
            return from;
        at -= bytes;
    }
}

static void test_any_bit_of_a_dealt_chunk_or_tag_flipped_is_refused(void **state)
{
    struct members g;
    size_t bytes;

    (void)state;
    begin(&g);
    members_deal_keys(&g);
    bytes = secagg_relay_bytes(AGGREGATION_FEDVS, &g.shape, SECAGG_PART_DATA, 1, 2);
    for (size_t bit = 0; bit < 8 * (bytes + 64); bit++) {
        const struct secagg_round r = members_round(&g);
        const size_t at = bit / 8;
        uint32_t who;

        deal_data(&g, 2, &r);
        members_route(&g, 1, SECAGG_PART_DATA, 2);
        if (at < bytes) {
            g.sealed[at] ^= (uint8_t)(1U << bit % 8);
            who = sender_of(&g, 1, SECAGG_PART_DATA, 2, at);
        } else {
            g.tags[at - bytes] ^= (uint8_t)(1U << bit % 8);
            who = (uint32_t)(at - bytes) / 16;
            who += who >= 1;
        }
        expect_data(&g, 1, 2, &r, STATUS_AUTH, who);
    }
    members_deinit(&g);
}

static void test_any_byte_of_keys_changed_is_refused_and_so_is_the_tag_of_no_keys(void **state)
{
    (void)state;
    for (size_t at = 0;; at++) {
        struct members g;
        struct secagg_round r;
        size_t bytes;
        uint32_t who;

        begin(&g);
        r = members_round(&g);
        deal_keys(&g, &r);
        members_route(&g, 4, SECAGG_PART_KEYS, 0);
        bytes = secagg_relay_bytes(AGGREGATION_FEDVS, &g.shape, SECAGG_PART_KEYS, 4, 0);
        assert_int_equal(bytes, (6 + 3 + 1) * 32);
        if (at < bytes)
            g.sealed[at] ^= 0x10;
        else if (at < bytes + 64)
            g.tags[at - bytes] ^= 0x10; /* that of member 3, too, who deals no keys */
        who = at < bytes ? sender_of(&g, 4, SECAGG_PART_KEYS, 0, at) : (uint32_t)(at - bytes) / 16;
        if (at < bytes + 64)
            expect_keys(&g, 4, &r, STATUS_AUTH, who);
        else
            expect_keys(&g, 4, &r, STATUS_OK, 4);
        members_deinit(&g);
        if (at == bytes + 64)
            break;
    }
}

/* What member 0 seals for member 1, did it not keep to the rules. */
static void seal_as_zero(struct members *g, size_t bytes, const struct secagg_round *r)
{
    struct share_keys keys;

    assert_int_equal(share_init(&keys, 5, 0, g->pairs[0]), STATUS_OK);
    assert_int_equal(share_begin(&keys, r), STATUS_OK);
    share_seal(&keys, 1, g->sealed, bytes, g->tags);
    share_deinit(&keys);
}

static void test_an_element_that_is_not_of_the_field_is_refused(void **state)
{
    struct members g;

    (void)state;
    begin(&g);
    members_deal_keys(&g);
    for (uint32_t d = 0; d < 3; d++) {
        const struct secagg_round r = members_round(&g);
        const uint32_t v[2] = {5, 0x7fffffff - 2 + d}; /* p - 2, p - 1, p */

        deal_data(&g, 2, &r);
        members_route(&g, 1, SECAGG_PART_DATA, 2);
        g.shape.terms.field->pack(g.sealed, v, 2);
        seal_as_zero(&g, g.shape.terms.field->packed(2), &r);
        expect_data(&g, 1, 2, &r, d < 2 ? STATUS_OK : STATUS_AUTH, d < 2 ? 1 : 0);
    }
    members_deinit(&g);
}

/* Member 0 deals member 1 a key of a set that it is not in, or none of one that it is in. */
static void test_keys_of_other_sets_are_refused(void **state)
{
    (void)state;
    for (uint32_t i = 0; i <= 6; i++) {
        struct members g;
        struct secagg_round r;
        const bool due = i != 0 && i != 1 && i != 2; /* without {1, 2}, {1, 3}, {1, 4} */

        begin(&g);
        r = members_round(&g);
        deal_keys(&g, &r);
        members_route(&g, 1, SECAGG_PART_KEYS, 0);
        memset(g.sealed, 0, (size_t)6 * 32);
        for (uint32_t set = 3; set < 6; set++)
            g.sealed[32 * set] = 7;
        if (i < 6)
            g.sealed[32 * i] = due ? 0 : 7;
        seal_as_zero(&g, (size_t)6 * 32, &r);
        expect_keys(&g, 1, &r, i < 6 ? STATUS_AUTH : STATUS_OK, i < 6 ? 0 : 1);
        members_deinit(&g);
    }
}

static void test_a_dealing_is_taken_once_and_only_the_last(void **state)
{
    struct members g;
    struct secagg_round r, other;

    (void)state;
    begin(&g);
    r = members_round(&g);
    expect_keys(&g, 1, &r, STATUS_PROTOCOL, 1); /* nothing was dealt */
    deal_keys(&g, &r);
    members_route(&g, 1, SECAGG_PART_KEYS, 0);
    other = r;
    other.purpose = 9;
    expect_keys(&g, 1, &other, STATUS_PROTOCOL, 1);
    expect_data(&g, 1, 2, &r, STATUS_PROTOCOL, 1); /* keys are due */
    expect_keys(&g, 1, &r, STATUS_OK, 1);
    expect_keys(&g, 1, &r, STATUS_PROTOCOL, 1);
    r = members_round(&g);
    deal_data(&g, 2, &r);
    members_route(&g, 1, SECAGG_PART_DATA, 2);
    expect_keys(&g, 1, &r, STATUS_PROTOCOL, 1); /* data are */
    expect_data(&g, 1, 1, &r, STATUS_PROTOCOL, 1);
    other = r;
    other.round--;
    expect_data(&g, 1, 2, &other, STATUS_PROTOCOL, 1);
    expect_data(&g, 1, 2, &r, STATUS_OK, 1); /* none of these spent it */
    expect_data(&g, 1, 2, &r, STATUS_PROTOCOL, 1);
    r = members_round(&g);
    deal_data(&g, 2, &r);
    members_route(&g, 1, SECAGG_PART_DATA, 2);
    g.tags[0] ^= 1;
    expect_data(&g, 1, 2, &r, STATUS_AUTH, 0);
    g.tags[0] ^= 1;
    expect_data(&g, 1, 2, &r, STATUS_PROTOCOL, 1); /* a refusal is an answer too */
    members_deinit(&g);
}

static void swap(uint8_t *a, uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint8_t kept = a[i];

        a[i] = b[i];
        b[i] = kept;
    }
}

static void test_shares_of_another_round_sender_receiver_or_view_are_refused(void **state)
{
    uint8_t theirs[32] = {1};
    struct members g;
    struct secagg_round r, seen;

    (void)state;
    begin(&g);
    assert_int_equal(secagg_relay_bytes(AGGREGATION_FEDVS, &g.shape, SECAGG_PART_DATA, 1, 2),
                     8 + 16 + 8 + 8);
    members_deal_keys(&g);
    r = members_round(&g);
    deal_data(&g, 2, &r);
    members_route(&g, 1, SECAGG_PART_DATA, 2); /* of one round .. */
    r = members_round(&g);
    deal_data(&g, 2, &r);
    expect_data(&g, 1, 2, &r, STATUS_AUTH, 0); /* .. in the next */
    members_route(&g, 4, SECAGG_PART_DATA, 2); /* members 3 and 4 have parts of one size */
    expect_data(&g, 3, 2, &r, STATUS_AUTH, 0); /* for another receiver */
    r = members_round(&g);
    for (uint32_t m = 0; m < 5; m++) {
        seen = r;
        seen.broadcast = m == 2 ? theirs : r.broadcast;
        assert_int_equal(members_deal_chunk(&g, m, 0, 2, &seen), STATUS_OK);
    }
    members_route(&g, 1, SECAGG_PART_DATA, 2);
    expect_data(&g, 1, 2, &r, STATUS_AUTH, 2); /* another view */
    r = members_round(&g);
    deal_data(&g, 2, &r);
    members_route(&g, 1, SECAGG_PART_DATA, 2);
    swap(g.sealed + 8 + 16, g.sealed + 8 + 16 + 8, 8); /* of 0, 2 (twice as long), 3 and 4 */
    swap(g.tags + 32, g.tags + 48, 16);
    expect_data(&g, 1, 2, &r, STATUS_AUTH, 3);
    members_deinit(&g);
}

static void test_keys_are_dealt_once_and_before_any_round(void **state)
{
    struct members g;
    struct secagg_round r;

    (void)state;
    begin(&g);
    r = members_round(&g);
    assert_int_equal(members_protect(&g, 0, &r), STATUS_PROTOCOL); /* nothing would hide psi */
    deal_keys(&g, &r);
    r = members_round(&g);
    assert_int_equal(members_protect(&g, 0, &r), STATUS_PROTOCOL);
    deal_keys(&g, &r); /* those of the last dealing count */
    for (uint32_t m = 0; m < 5; m++) {
        members_route(&g, m, SECAGG_PART_KEYS, 0);
        expect_keys(&g, m, &r, STATUS_OK, m);
    }
    r = members_round(&g);
    assert_int_equal(secagg_deal_keys(g.party[0], g.share[0], g.tag[0], &r), STATUS_PROTOCOL);
    assert_int_equal(members_protect(&g, 0, &r), STATUS_OK);
    members_deinit(&g);
}

static void test_numbers_of_dealings_and_rounds_grow_together(void **state)
{
    struct members g;
    struct secagg_round r;

    (void)state;
    begin(&g);
    members_deal_keys(&g);
    r = members_round(&g);
    assert_int_equal(members_protect(&g, 0, &r), STATUS_OK);
    assert_int_equal(members_deal_chunk(&g, 0, 0, 1, &r), STATUS_PROTOCOL);
    r.purpose = 9;
    assert_int_equal(members_deal_chunk(&g, 0, 0, 1, &r), STATUS_PROTOCOL);
    r = members_round(&g);
    assert_int_equal(members_deal_chunk(&g, 0, 0, 1, &r), STATUS_OK);
    assert_int_equal(members_protect(&g, 0, &r), STATUS_PROTOCOL);
    members_deinit(&g);
}

static void test_a_record_that_is_no_number_is_dealt_as_nought(void **state)
{
    static const float strange[] = {NAN, INFINITY, -INFINITY};
    static uint8_t want[4096];
    struct members g;
    struct secagg_round r;
    size_t bytes;

    (void)state;
    begin(&g);
    members_deal_keys(&g);
    bytes = (size_t)2 * g.shape.terms.inputs_n * g.shape.terms.field->bytes;
    assert_true(bytes <= sizeof want);
    for (int i = -1; i < 3; i++) {
        const float kept = g.x[1][3];

        r = members_round(&g);
        g.x[1][3] = i < 0 ? 0 : strange[i];
        deal_data(&g, 2, &r);
        g.x[1][3] = kept;
        members_route(&g, 0, SECAGG_PART_DATA, 2);
        expect_data(&g, 0, 2, &r, STATUS_OK, 0);
        if (i < 0)
            memcpy(want, g.data[0], bytes);
        assert_memory_equal(g.data[0], want, bytes);
    }
    members_deinit(&g);
}

struct call {
    struct members g;
    uint32_t rows;
};

static void deal_rows(void *arg)
{
    static float x[64];
    static uint8_t bytes[4096];
    struct call *c = arg;
    const struct secagg_round r = members_round(&c->g);
    struct rng masks;

    (void)!rng_init_key(&masks, SEED);
    (void)!secagg_deal(c->g.party[0], bytes, bytes, x, c->rows, &r, &masks);
}

static void test_more_rows_than_announced_are_a_programmers_mistake(void **state)
{
    static struct call c;

    (void)state;
    begin(&c.g);
    members_deal_keys(&c.g);
    c.rows = 2;
    assert_false(aborts(deal_rows, &c));
    c.rows = 3;
    assert_true(aborts(deal_rows, &c));
    c.rows = 0;
    assert_true(aborts(deal_rows, &c));
    members_deinit(&c.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_chunk_is_dealt_as_the_golden_generations_deal_it),
        cmocka_unit_test(test_rows_are_taken_member_by_member_as_the_golden_generations_have_them),
        cmocka_unit_test(test_a_result_is_that_of_the_golden_generations),
        cmocka_unit_test(test_any_bit_of_a_dealt_chunk_or_tag_flipped_is_refused),
        cmocka_unit_test(test_any_byte_of_keys_changed_is_refused_and_so_is_the_tag_of_no_keys),
        cmocka_unit_test(test_an_element_that_is_not_of_the_field_is_refused),
        cmocka_unit_test(test_keys_of_other_sets_are_refused),
        cmocka_unit_test(test_a_dealing_is_taken_once_and_only_the_last),
        cmocka_unit_test(test_shares_of_another_round_sender_receiver_or_view_are_refused),
        cmocka_unit_test(test_keys_are_dealt_once_and_before_any_round),
        cmocka_unit_test(test_numbers_of_dealings_and_rounds_grow_together),
        cmocka_unit_test(test_a_record_that_is_no_number_is_dealt_as_nought),
        cmocka_unit_test(test_more_rows_than_announced_are_a_programmers_mistake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
