/* test_fedvs_wiped.c -- of what a member of fedvs quantised, shared, opened and drew, nothing is in
 * its memory once it was sealed or sent.
 *
 * The whole process is searched (needle.h) for weights, records, shares and coefficients that the
 * test knows.  K = T = 1, three members.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "common/field/mod.h"
#include "common/lcc/points.h"
#include "common/secagg/draw.h"
#include "common/secagg/round.h"
#include "common/secagg/share.h"
#include "tests/unit/secagg/members.h"
#include "tests/unit/secagg/needle.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

/* A row of a member and its weights have more bytes than a needle. */
enum { FEATURES = 40, WIDTH = 8, ROWS = 40, CODE = 777 };

static const uint8_t SEED[32] = "wiped";
static uint32_t coded[ROWS];

static void start(struct members *g, enum plan_prime prime)
{
    struct members_case c = {
        .parties = 3,
        .segments = 1,
        .privacy = 1,
        .width = WIDTH,
        .rows = ROWS,
        .features = {FEATURES, FEATURES, FEATURES},
        .degree = {1, 1, 1},
        .prime = prime,
        .x_bits = 10,
        .w_bits = 10,
        .x_max = 1,
        .w_max = 1,
    };
    struct rng r;

    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    members_init(g, &c, &r);
    rng_deinit(&r);
    for (uint32_t i = 0; i < ROWS; i++)
        coded[i] = i;
    for (uint32_t m = 0; m < 3; m++) {
        for (size_t i = 0; i < ROWS * FEATURES; i++)
            g->x[m][i] = CODE / 1024.0F;
        for (size_t i = 0; i < FEATURES * WIDTH; i++)
            g->w[m][i] = CODE / 1024.0F;
    }
}

/* The quantised value of all records and weights, in lanes of so many bytes. */
static struct needle codes(size_t lane)
{
    struct needle x;

    for (size_t i = 0; i < NEEDLE_BYTES; i++)
        x.inverted[i] = (uint8_t) ~(i % lane == 0 ? CODE & 0xff : i % lane == 1 ? CODE >> 8 : 0);
    return x;
}

static void expect_no_codes(void)
{
    const struct needle narrow = codes(4), wide = codes(8);

    assert_int_equal(needle_count(&narrow), 0);
    assert_int_equal(needle_count(&wide), 0);
}

/* What member `from` sealed for `to` in its last dealing: packed, and as elements. */
struct pair_of_needles {
    struct needle packed, elements;
};

static uint8_t text[16 * ROWS * FEATURES], elements[16 * ROWS * FEATURES];

/* Leaves the share's elements in `elements`. */
static struct pair_of_needles share_of(struct members *g, uint32_t from, uint32_t to,
                                       enum secagg_part part, size_t n,
                                       const struct secagg_round *r)
{
    const size_t bytes = secagg_part_bytes(AGGREGATION_FEDVS, &g->shape, part, from, n);
    struct pair_of_needles x;
    struct share_keys keys;

    assert_int_equal(share_init(&keys, 3, to, g->pairs[to]), STATUS_OK);
    assert_int_equal(share_begin(&keys, r), STATUS_OK);
    assert_true(share_open(&keys, from, text, g->share[from] + members_part(g, from, to, part, n),
                           bytes, g->tag[from] + (to < from ? to : to - 1) * (size_t)MEMBERS_TAG));
    share_deinit(&keys);
    g->shape.terms.field->unpack(elements, text, 8 * bytes / g->shape.terms.field->bits);
    x.packed = needle_of(text);
    x.elements = needle_of(elements);
    secret_wipe(text, sizeof text);
    return x;
}

/* The beginning of the share that member 0 kept of its own, by those of the others: a line. */
static struct needle own_share(struct members *g, enum secagg_part part, size_t n,
                               const struct secagg_round *r)
{
    const struct field *f = g->shape.terms.field;
    const uint64_t from[2] = {points_alpha(2, 1), points_alpha(2, 2)}, to = points_alpha(2, 0);
    uint64_t c[2], own[32] = {0};
    struct needle x;

    points_lagrange(c, &to, 1, from, 2, f->p);
    for (uint32_t m = 1; m < 3; m++) {
        (void)share_of(g, 0, m, part, n, r);
        for (size_t i = 0; i < 32; i++)
            own[i] = mod_add(own[i], mod_mul(c[m - 1], f->get(elements, i), f->p), f->p);
    }
    for (size_t i = 0; i < 32; i++)
        f->set(elements, i, own[i]);
    x = needle_of(elements);
    secret_wipe(own, sizeof own);
    secret_wipe(elements, sizeof elements);
    return x;
}

static void test_the_search_finds_what_lies_about(void **state)
{
    const struct needle x = codes(8);
    int64_t *lanes = mem_alloc(1000, sizeof *lanes);

    (void)state;
    for (size_t i = 0; i < NEEDLE_BYTES / 8; i++)
        lanes[500 + i] = CODE;
    assert_int_equal(needle_count(&x), 1);
    secret_wipe(lanes, 1000 * sizeof *lanes);
    assert_int_equal(needle_count(&x), 0);
    mem_free(lanes);
}

static void records(enum plan_prime prime)
{
    struct pair_of_needles theirs;
    struct secagg_round r;
    struct needle own, rest;
    struct error err = {0};
    struct members g;
    uint32_t faulty;

    start(&g, prime);
    members_deal_keys(&g);
    r = members_round(&g);
    for (uint32_t m = 0; m < 3; m++)
        assert_int_equal(members_deal_chunk(&g, m, 0, ROWS, &r), STATUS_OK);
    expect_no_codes();
    own = own_share(&g, SECAGG_PART_DATA, ROWS, &r);
    assert_int_equal(needle_count(&own), 1); /* until it is taken */
    theirs = share_of(&g, 2, 0, SECAGG_PART_DATA, ROWS, &r);
    /* Of the first chunk, where the second, which is shorter, does not reach. */
    rest = needle_of(elements + (size_t)15 * FEATURES * g.shape.terms.field->bytes);
    secret_wipe(elements, sizeof elements);
    for (uint32_t m = 0; m < 3; m++) {
        members_route(&g, m, SECAGG_PART_DATA, ROWS);
        assert_int_equal(
            secagg_take(g.party[m], g.data[m], g.sealed, g.tags, ROWS, &r, &faulty, &err),
            STATUS_OK);
    }
    assert_int_equal(needle_count(&own), 1); /* in g.data[0] alone */
    assert_int_equal(needle_count(&theirs.elements), 1);
    assert_int_equal(needle_count(&rest), 1);
    assert_int_equal(needle_count(&theirs.packed), 0);
    secret_wipe(g.data[0], (size_t)ROWS * 3 * FEATURES * g.shape.terms.field->bytes);
    assert_int_equal(needle_count(&own), 0);
    assert_int_equal(needle_count(&theirs.elements), 0);
    members_deinit(&g);
}

static void
test_records_are_where_their_owner_has_them_and_shares_where_they_were_taken(void **state)
{
    (void)state;
    records(PRIME_31);
    records(PRIME_61);
}

/* The key of the set without member `missing`, out of member 0's part for `to`. */
static void key_of(struct members *g, uint32_t to, uint32_t missing, const struct secagg_round *r,
                   uint8_t key[32])
{
    struct share_keys keys;

    assert_int_equal(share_init(&keys, 3, to, g->pairs[to]), STATUS_OK);
    assert_int_equal(share_begin(&keys, r), STATUS_OK);
    assert_true(share_open(&keys, 0, text, g->share[0] + (to - 1) * 64, 64,
                           g->tag[0] + (to - 1) * MEMBERS_TAG));
    share_deinit(&keys);
    memcpy(key, text + (missing - 1) * (size_t)32, 32);
    secret_wipe(text, sizeof text);
}

/* The coefficients that a key gives in this round. */
static struct needle coefficients(struct members *g, const uint8_t key[32],
                                  const struct secagg_round *r)
{
    static uint8_t random[DRAW_BYTES];
    uint8_t iv[PRG_IV_BYTES];
    struct digest d;
    struct prg stream;
    struct needle x;

    assert_int_equal(prg_init(&stream, key), STATUS_OK);
    round_iv(&d, iv, "vfl/zero/1", r);
    prg_seek(&stream, iv);
    draw_from_prg(g->shape.terms.field, elements, 32, &stream, random);
    x = needle_of(elements);
    secret_wipe(elements, sizeof elements);
    secret_wipe(random, sizeof random);
    prg_deinit(&stream);
    digest_deinit(&d);
    return x;
}

static void a_round(enum plan_prime prime)
{
    struct secagg_round r;
    struct pair_of_needles theirs;
    struct needle own, zero;
    struct members g;
    uint8_t key[32];
    uint32_t faulty;

    start(&g, prime);
    r = (struct secagg_round){.purpose = 1, .round = 1, .sid = g.sid, .broadcast = g.broadcast};
    members_deal_keys(&g);
    key_of(&g, 1, 2, &r, key); /* of {0, 1} */
    members_deal_data(&g);
    r = members_round(&g);
    r.coded = coded;
    r.coded_n = ROWS;
    zero = coefficients(&g, key, &r);
    secret_wipe(key, sizeof key);
    for (uint32_t m = 0; m < 3; m++)
        assert_int_equal(members_protect(&g, m, &r), STATUS_OK);
    expect_no_codes();
    own = own_share(&g, SECAGG_PART_ROUND, 0, &r);
    theirs = share_of(&g, 2, 0, SECAGG_PART_ROUND, 0, &r);
    secret_wipe(elements, sizeof elements);
    assert_int_equal(needle_count(&own), 1); /* until the relay */
    for (uint32_t m = 0; m < 3; m++) {
        members_route(&g, m, SECAGG_PART_ROUND, 0);
        assert_int_equal(members_relay(&g, m, &r, &faulty), STATUS_OK);
    }
    assert_int_equal(needle_count(&own), 0);
    assert_int_equal(needle_count(&theirs.packed), 0);
    assert_int_equal(needle_count(&theirs.elements), 0);
    assert_int_equal(needle_count(&zero), 0);
    g.shape.terms.field->unpack(elements, g.payload[0], 32);
    own = needle_of(elements);
    assert_int_equal(needle_count(&own), 1); /* here */
    secret_wipe(elements, sizeof elements);
    assert_int_equal(needle_count(&own), 0); /* and nowhere but packed, in the upload */
    members_deinit(&g);
}

static void test_no_weight_share_product_or_coefficient_is_left_after_a_round(void **state)
{
    (void)state;
    a_round(PRIME_31);
    a_round(PRIME_61);
}

/* A relay that fails leaves no share either. */
static void test_no_share_is_left_after_a_refusal(void **state)
{
    struct pair_of_needles first;
    struct secagg_round r;
    struct needle own;
    struct members g;
    uint32_t faulty;

    (void)state;
    start(&g, PRIME_31);
    members_deal_keys(&g);
    members_deal_data(&g);
    r = members_round(&g);
    r.coded = coded;
    r.coded_n = ROWS;
    for (uint32_t m = 0; m < 3; m++)
        assert_int_equal(members_protect(&g, m, &r), STATUS_OK);
    own = own_share(&g, SECAGG_PART_ROUND, 0, &r);
    first = share_of(&g, 1, 0, SECAGG_PART_ROUND, 0, &r);
    secret_wipe(elements, sizeof elements);
    members_route(&g, 0, SECAGG_PART_ROUND, 0);
    g.tags[MEMBERS_TAG] ^= 1; /* that of member 2, after member 1 was well */
    assert_int_equal(members_relay(&g, 0, &r, &faulty), STATUS_AUTH);
    assert_int_equal(faulty, 2);
    assert_int_equal(needle_count(&own), 0);
    assert_int_equal(needle_count(&first.packed), 0);
    assert_int_equal(needle_count(&first.elements), 0);
    members_deinit(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_search_finds_what_lies_about),
        cmocka_unit_test(
            test_records_are_where_their_owner_has_them_and_shares_where_they_were_taken),
        cmocka_unit_test(test_no_weight_share_product_or_coefficient_is_left_after_a_round),
        cmocka_unit_test(test_no_share_is_left_after_a_refusal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
