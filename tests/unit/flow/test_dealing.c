/* test_dealing.c -- every coded row in exactly one chunk, and dealing goes on where all can.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/dealing.h"

#include "common/crypto/digest.h"
#include "tests/lib/aborts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { MEMBERS = 3, SAID_BYTES = WIRE_DIGEST_BYTES + 8 /* dealing, features, degree */ };

/* --- chunks --- */

static struct plan plan_of(uint32_t parties, uint32_t train, uint32_t test)
{
    struct plan p;

    plan_defaults(&p);
    p.shape.parties = parties;
    p.shape.train_rows = train;
    p.shape.test_rows = test;
    return p;
}

/* Member i has inputs[i] columns, `inputs` of them when it is the widest, which `widest` says. */
static struct fedvs_terms terms_of(const struct field *f, uint32_t segments, uint32_t parties,
                                   uint32_t inputs, uint32_t widest)
{
    struct fedvs_terms t = {.field = f, .segments = segments};

    for (uint32_t m = 0; m < parties; m++) {
        t.inputs[m] = m == widest ? inputs : (inputs + 1) / 2;
        t.inputs_n += t.inputs[m];
    }
    return t;
}

/* The header's rule in whole numbers, by search: the most rows of which a Share is not above the
 * bytes, at least 1, no more than there are. */
static uint32_t rows_by_search(uint32_t parties, uint32_t inputs, uint32_t bytes, uint32_t most)
{
    uint32_t rows = 1;

    while (rows < most &&
           (uint64_t)(rows + 1) * (parties - 1) * inputs * bytes <= DEALING_SHARE_BYTES)
        rows++;
    return rows;
}

static uint32_t ceil_of(uint32_t a, uint32_t b)
{
    return a / b + (a % b != 0);
}

/* Walks all chunks: the splits one after another, each row once, in order, no chunk empty or larger
 * than the others but at the end of a split. */
static void expect_chunks(const struct dealing *d)
{
    uint32_t next[2] = {0, 0};
    bool test = false;

    for (uint64_t c = 0; c < d->chunks; c++) {
        struct dealing_chunk k = dealing_chunk(d, c);

        assert_true(k.test || !test);
        test = k.test;
        assert_true(k.rows > 0 && k.rows <= d->chunk_rows);
        assert_int_equal(k.first, next[test]);
        next[test] += k.rows;
        assert_true(k.rows == d->chunk_rows || next[test] == (test ? d->test_len : d->train_len));
    }
    assert_int_equal(next[0], d->train_len);
    assert_int_equal(next[1], d->test_len);
}

static void test_every_coded_row_is_in_one_chunk_and_no_chunk_mixes_splits(void **state)
{
    static const uint32_t rows[] = {1, 2, 7, 64, 455, 100000};
    static const uint32_t tests[] = {0, 1, 3, 114, 30000};
    static const uint32_t segments[] = {1, 2, 3, 16};
    static const uint32_t inputs[] = {1, 30, 1000, 65536, 300000};
    static const uint32_t parties[] = {2, 3, 11, 256};

    (void)state;
    for (size_t a = 0; a < 6 * 5 * 4 * 5 * 4; a++) {
        uint32_t n = rows[a % 6], m = tests[a / 6 % 5], k = segments[a / 30 % 4];
        uint32_t w = inputs[a / 120 % 5], parts = parties[a / 600];
        const struct field *f = a % 2 ? &field_31 : &field_61;
        struct plan p = plan_of(parts, n, m);
        struct fedvs_terms t = terms_of(f, k, parts, w, (uint32_t)(a % parts));
        uint32_t most = ceil_of(n > m ? n : m, k);
        struct dealing d;

        memset(&d, 0xa5, sizeof d);
        dealing_make(&d, &p, &t);
        assert_int_equal(d.train_len, ceil_of(n, k));
        assert_int_equal(d.test_len, ceil_of(m, k));
        assert_int_equal(d.chunk_rows, rows_by_search(parts, w, f->bytes, most));
        expect_chunks(&d);
    }
}

static void test_a_share_of_a_chunk_is_a_mebibyte_at_most_unless_one_row_is_more(void **state)
{
    struct plan p = plan_of(5, 1 << 20, 10);
    struct fedvs_terms t = terms_of(&field_61, 1, 5, 1 << 10, 4);
    struct dealing d;

    (void)state;
    dealing_make(&d, &p, &t); /* 4 others, 2^10 columns of 8 bytes: 2^15 bytes a row */
    assert_int_equal(d.chunk_rows, 32);
    assert_int_equal(d.chunks, (1 << 15) + 1);
    t.inputs[4]++;
    dealing_make(&d, &p, &t);
    assert_int_equal(d.chunk_rows, 31);
    t.inputs[4] = 1 << 15; /* exactly one row */
    dealing_make(&d, &p, &t);
    assert_int_equal(d.chunk_rows, 1);
    t.inputs[4]++;
    dealing_make(&d, &p, &t);
    assert_int_equal(d.chunk_rows, 1);
    t.inputs[4] = UINT32_MAX / 8;
    dealing_make(&d, &p, &t);
    assert_int_equal(d.chunk_rows, 1);
    t.field = &field_31;
    t.inputs[4] = 1 << 10;
    dealing_make(&d, &p, &t); /* 4 bytes an element */
    assert_int_equal(d.chunk_rows, 64);
}

static void test_without_test_rows_there_are_chunks_of_training_rows_alone(void **state)
{
    struct plan p = plan_of(3, 10, 0);
    struct fedvs_terms t = terms_of(&field_31, 4, 3, 8, 0);
    struct dealing_chunk k;
    struct dealing d;

    (void)state;
    dealing_make(&d, &p, &t);
    assert_int_equal(d.train_len, 3);
    assert_int_equal(d.test_len, 0);
    assert_int_equal(d.chunk_rows, 3);
    assert_int_equal(d.chunks, 1);
    k = dealing_chunk(&d, 0);
    assert_false(k.test);
    assert_int_equal(k.first, 0);
    assert_int_equal(k.rows, 3);
    p.shape.test_rows = 1; /* and with one: a chunk of its own */
    dealing_make(&d, &p, &t);
    assert_int_equal(d.chunks, 2);
    k = dealing_chunk(&d, 1);
    assert_true(k.test);
    assert_int_equal(k.first, 0);
    assert_int_equal(k.rows, 1);
}

/* More test rows than training rows: the chunk is cut for the longer split. */
static void test_a_chunk_may_be_as_long_as_the_longer_split(void **state)
{
    struct plan p = plan_of(3, 4, 9);
    struct fedvs_terms t = terms_of(&field_31, 1, 3, 1, 0);
    struct dealing d;

    (void)state;
    dealing_make(&d, &p, &t);
    assert_int_equal(d.chunk_rows, 9);
    assert_int_equal(d.chunks, 2);
    assert_int_equal(dealing_chunk(&d, 0).rows, 4);
    assert_int_equal(dealing_chunk(&d, 1).rows, 9);
}

static struct dealing asked;

static void ask_for(void *chunk)
{
    (void)dealing_chunk(&asked, *(const uint64_t *)chunk);
}

static void test_a_chunk_beyond_the_last_aborts(void **state)
{
    uint64_t last = 1, beyond = 2, far = UINT64_MAX;

    (void)state;
    asked = (struct dealing){.train_len = 3, .test_len = 2, .chunk_rows = 3, .chunks = 2};
    assert_false(aborts(ask_for, &last));
    assert_true(aborts(ask_for, &beyond));
    assert_true(aborts(ask_for, &far));
}

/* --- terms --- */

static void test_terms_are_of_the_shapes_that_the_hellos_say(void **state)
{
    struct agree_hello h[MEMBERS] = {
        {.features = 10, .degree = 2}, {.features = 3, .degree = 1}, {.features = 7, .degree = 3}};
    struct plan p = plan_of(MEMBERS, 100, 10);
    struct fedvs_terms t;
    struct error err = {0};

    (void)state;
    p.protocol.fedvs.segments = p.protocol.fedvs.privacy = 1;
    assert_int_equal(dealing_terms(&t, &p, h, MEMBERS, &err), STATUS_OK);
    assert_int_equal(t.parties, MEMBERS);
    assert_int_equal(t.inputs[0], 20);
    assert_int_equal(t.inputs[1], 3);
    assert_int_equal(t.inputs[2], 21);
    assert_int_equal(t.degree[0], 2);
    assert_int_equal(t.degree[1], 1);
    assert_int_equal(t.degree[2], 3);
    h[1].degree = 0; /* what a bottom with layers says */
    assert_int_equal(dealing_terms(&t, &p, h, MEMBERS, &err), STATUS_CONFIG);
    h[1].degree = 1;
    assert_int_equal(dealing_terms(&t, &p, h, MEMBERS - 1, &err), STATUS_CONFIG); /* too few */
}

/* --- where to begin --- */

/* All members have dealings of their own, and hold seven chunks of them. */
static void hellos_of(struct agree_hello h[MEMBERS])
{
    uint8_t joined[MEMBERS * SAID_BYTES] = {0}, all[WIRE_DIGEST_BYTES];

    memset(h, 0, MEMBERS * sizeof *h);
    for (int i = 0; i < MEMBERS; i++) {
        h[i].has_dealing = h[i].has_holds = true;
        memset(h[i].dealing, 17 * (i + 1), WIRE_DIGEST_BYTES);
        h[i].features = 0x01020304 + (uint32_t)i;
        h[i].degree = 2;
        memcpy(joined + i * SAID_BYTES, h[i].dealing, WIRE_DIGEST_BYTES);
        joined[i * SAID_BYTES + 32] = (uint8_t)(4 + i);
        joined[i * SAID_BYTES + 33] = 3;
        joined[i * SAID_BYTES + 34] = 2;
        joined[i * SAID_BYTES + 35] = 1;
        joined[i * SAID_BYTES + 36] = 2;
        h[i].held = 7;
    }
    digest_sha256(all, joined, sizeof joined);
    for (int i = 0; i < MEMBERS; i++)
        memcpy(h[i].holds, all, sizeof all);
}

static void test_what_is_held_is_named_by_all_dealings_and_shapes_in_member_order(void **state)
{
    struct agree_hello h[MEMBERS], swapped;
    uint8_t all[WIRE_DIGEST_BYTES], other[WIRE_DIGEST_BYTES];

    (void)state;
    hellos_of(h);
    dealing_holds(all, h, MEMBERS);
    assert_memory_equal(all, h[0].holds, sizeof all);
    dealing_holds(other, h, MEMBERS - 1);
    assert_memory_not_equal(other, all, sizeof all);
    swapped = h[0];
    h[0] = h[1];
    h[1] = swapped;
    dealing_holds(other, h, MEMBERS);
    assert_memory_not_equal(other, all, sizeof all);
}

static void test_dealing_goes_on_behind_what_everybody_has(void **state)
{
    struct agree_hello h[MEMBERS];

    (void)state;
    hellos_of(h);
    assert_int_equal(dealing_start(h, MEMBERS), 7);
    for (int i = 0; i < MEMBERS; i++) {
        hellos_of(h);
        h[i].held = 3; /* it lost some that the others still have */
        assert_int_equal(dealing_start(h, MEMBERS), 3);
        h[i].held = 9;
        assert_int_equal(dealing_start(h, MEMBERS), 7);
        h[i].held = UINT64_MAX;
        assert_int_equal(dealing_start(h, MEMBERS), 7);
    }
    assert_int_equal(dealing_start(h, 1), 0); /* holds of other sets say nothing of this one */
}

static void test_any_dealing_that_is_new_begins_anew(void **state)
{
    struct agree_hello h[MEMBERS];

    (void)state;
    for (int i = 0; i < MEMBERS; i++) {
        for (size_t bit = 0; bit < 8 * WIRE_DIGEST_BYTES; bit++) {
            hellos_of(h);
            h[i].dealing[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_int_equal(dealing_start(h, MEMBERS), 0);
        }
    }
}

/* Another shape is another field, other chunks, other columns. */
static void test_a_member_of_another_shape_begins_anew(void **state)
{
    struct agree_hello h[MEMBERS];

    (void)state;
    for (int i = 0; i < MEMBERS; i++) {
        for (unsigned bit = 0; bit < 32; bit++) {
            hellos_of(h);
            h[i].features ^= UINT32_C(1) << bit;
            assert_int_equal(dealing_start(h, MEMBERS), 0);
            hellos_of(h);
            h[i].degree ^= UINT32_C(1) << bit;
            assert_int_equal(dealing_start(h, MEMBERS), 0);
        }
    }
    hellos_of(h);
    h[0].features = h[0].degree; /* and swapped */
    h[0].degree = 0x01020304;
    assert_int_equal(dealing_start(h, MEMBERS), 0);
}

static void test_any_member_that_holds_others_or_none_begins_anew(void **state)
{
    struct agree_hello h[MEMBERS];

    (void)state;
    for (int i = 0; i < MEMBERS; i++) {
        for (size_t bit = 0; bit < 8 * WIRE_DIGEST_BYTES; bit++) {
            hellos_of(h);
            h[i].holds[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_int_equal(dealing_start(h, MEMBERS), 0);
        }
        hellos_of(h);
        h[i].has_holds = false;
        assert_int_equal(dealing_start(h, MEMBERS), 0);
    }
}

static void start(void *hellos)
{
    (void)dealing_start(hellos, MEMBERS);
}

/* Who must have a dealing is known to the session, which has refused the others. */
static void test_a_member_without_a_dealing_aborts(void **state)
{
    struct agree_hello h[MEMBERS];

    (void)state;
    hellos_of(h);
    assert_false(aborts(start, h));
    h[1].has_dealing = false;
    assert_true(aborts(start, h));
}

/* --- what a round deals --- */

static void test_a_round_deals_keys_or_data_or_what_every_round_needs(void **state)
{
    (void)state;
    assert_int_equal(dealing_part(PURPOSE_DEAL_KEYS), SECAGG_PART_KEYS);
    assert_int_equal(dealing_part(PURPOSE_DEAL_DATA), SECAGG_PART_DATA);
    for (int p = PURPOSE_TRAIN; p <= PURPOSE_EVALUATE_TRAIN; p++)
        assert_int_equal(dealing_part((enum wire_purpose)p), SECAGG_PART_ROUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_coded_row_is_in_one_chunk_and_no_chunk_mixes_splits),
        cmocka_unit_test(test_a_share_of_a_chunk_is_a_mebibyte_at_most_unless_one_row_is_more),
        cmocka_unit_test(test_without_test_rows_there_are_chunks_of_training_rows_alone),
        cmocka_unit_test(test_a_chunk_may_be_as_long_as_the_longer_split),
        cmocka_unit_test(test_a_chunk_beyond_the_last_aborts),
        cmocka_unit_test(test_terms_are_of_the_shapes_that_the_hellos_say),
        cmocka_unit_test(test_what_is_held_is_named_by_all_dealings_and_shapes_in_member_order),
        cmocka_unit_test(test_dealing_goes_on_behind_what_everybody_has),
        cmocka_unit_test(test_any_dealing_that_is_new_begins_anew),
        cmocka_unit_test(test_a_member_of_another_shape_begins_anew),
        cmocka_unit_test(test_any_member_that_holds_others_or_none_begins_anew),
        cmocka_unit_test(test_a_member_without_a_dealing_aborts),
        cmocka_unit_test(test_a_round_deals_keys_or_data_or_what_every_round_needs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
