/* test_shares.c -- shares, gradients sent again and those who were absent, put together by hand:
 * each field at its number, each malformed twin refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/message.h"

#include "tests/unit/wire/raw.h"

#include <string.h>

/* What is said of both: a relay is shares seen from the other side. */
static const enum wire_kind both[] = {WIRE_SHARE, WIRE_RELAY};

static const struct wire_shares *shares_of(const struct wire_msg *m)
{
    return m->kind == WIRE_SHARE ? &m->share : &m->relay;
}

static void body_of_shares(struct raw *r, uint64_t purpose, size_t sealed, size_t tags)
{
    static const uint8_t bytes[WIRE_TAGS_MAX + WIRE_TAG_BYTES] = {1, 2, 3};

    r->n = 0;
    put_value(r, 1, 300);
    if (purpose != PURPOSE_TRAIN)
        put_value(r, 2, purpose);
    put_value(r, 3, 400);
    if (sealed > 0)
        put_bytes(r, 4, bytes, sealed);
    if (tags > 0)
        put_bytes(r, 5, bytes, tags);
}

static void test_a_share_and_a_relay_are_read_field_by_field(void **state)
{
    struct wire_msg m;
    struct raw r;

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        for (int p = PURPOSE_TRAIN; p <= PURPOSE_DEAL_DATA; p++) {
            const struct wire_shares *w;

            body_of_shares(&r, (uint64_t)p, 30, 2 * WIRE_TAG_BYTES);
            expect_ok(&m, both[k], &r);
            w = shares_of(&m);
            assert_int_equal(w->generation, 300);
            assert_int_equal(w->purpose, p);
            assert_int_equal(w->round, 400);
            assert_int_equal(w->sealed.n, 30);
            assert_int_equal(w->tags.n, 2 * WIRE_TAG_BYTES);
            assert_memory_equal(w->sealed.data, w->tags.data, 30); /* of the same text */
        }
    }
}

static void test_shares_of_no_purpose_are_refused(void **state)
{
    static const uint64_t beyond[] = {5, 6, 127, 128, INT32_MAX, UINT32_MAX, UINT64_MAX};
    struct raw r;

    (void)state;
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        body_of_shares(&r, beyond[i], 30, WIRE_TAG_BYTES);
        expect_refused(WIRE_SHARE, &r, beyond[i] > INT32_MAX ? "" : "share");
        expect_refused(WIRE_RELAY, &r, beyond[i] > INT32_MAX ? "" : "relay");
    }
}

static void expect_shares(enum wire_kind kind, unsigned purpose, size_t sealed, size_t tags,
                          bool ok)
{
    struct wire_msg m;
    struct raw r;

    body_of_shares(&r, purpose, sealed, tags);
    if (ok)
        expect_ok(&m, kind, &r);
    else
        expect_refused(
            kind, &r, kind == WIRE_SHARE ? "malformed message: share" : "malformed message: relay");
}

static void test_every_share_has_a_tag_and_one_part_of_the_ciphertexts(void **state)
{
    static const struct {
        size_t sealed, tags;
        bool share, relay, keys; /* fine as a share; as a relay; as a share that deals keys */
    } cases[] = {
        {1, 16, true, true, true},
        {7, 16, true, true, true}, /* one part may have any size */
        {6, 32, true, true, true},
        {6, 48, true, true, true},
        {0, 16, false, false, true}, /* of a member that deals none */
        {0, 48, false, false, true},
        {6, 0, false, false, false},
        {0, 0, false, false, false},
        {7, 32, false, true, false}, /* parts of different sizes */
        {8, 48, false, true, false},
        {6, 64, false, true, false},
        {1, 32, false, false, false}, /* an empty part */
        {2, 48, false, false, false},
        {6, 15, false, false, false}, /* broken tags */
        {6, 17, false, false, false},
        {6, 8, false, false, false},
        {6, 31, false, false, false},
        {WIRE_MEMBERS_MAX - 2, WIRE_TAGS_MAX, false, false, false},
        {WIRE_MEMBERS_MAX - 1, WIRE_TAGS_MAX, true, true, true},
        {2 * (WIRE_MEMBERS_MAX - 1), WIRE_TAGS_MAX, true, true, true},
        {WIRE_MEMBERS_MAX, WIRE_TAGS_MAX, false, true, false},
        /* More than other members. */
        {WIRE_MEMBERS_MAX, WIRE_TAGS_MAX + WIRE_TAG_BYTES, false, false, false},
        {0, WIRE_TAGS_MAX + WIRE_TAG_BYTES, false, false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (unsigned p = PURPOSE_TRAIN; p <= PURPOSE_DEAL_DATA; p++) {
            bool keys = p == PURPOSE_DEAL_KEYS, any = cases[i].relay || cases[i].sealed < 256;
            bool tags_ok = cases[i].tags > 0 && cases[i].tags % WIRE_TAG_BYTES == 0 &&
                           cases[i].tags <= WIRE_TAGS_MAX;

            expect_shares(WIRE_SHARE, p, cases[i].sealed, cases[i].tags,
                          keys ? cases[i].keys : cases[i].share);
            expect_shares(WIRE_RELAY, p, cases[i].sealed, cases[i].tags,
                          keys ? any && tags_ok : cases[i].relay);
        }
    }
}

static void test_shares_have_one_form(void **state)
{
    struct wire_msg m;
    struct raw r;

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        body_of_shares(&r, PURPOSE_TRAIN, 30, WIRE_TAG_BYTES);
        expect_ok(&m, both[k], &r);
        put_bytes(&r, 5, sample_bytes(1), WIRE_TAG_BYTES);
        expect_refused(both[k], &r, "unknown, repeated or disordered fields");
        body_of_shares(&r, PURPOSE_TRAIN, 30, WIRE_TAG_BYTES);
        put_value(&r, 6, 1);
        expect_refused(both[k], &r, "unknown, repeated or disordered fields");
        r.n = 0;
        put_bytes(&r, 5, sample_bytes(1), WIRE_TAG_BYTES);
        put_bytes(&r, 4, sample_bytes(1), 30);
        expect_refused(both[k], &r, "unknown, repeated or disordered fields");
        r.n = 0;
        put_value(&r, 2, PURPOSE_TRAIN); /* is what absence means */
        put_bytes(&r, 4, sample_bytes(1), 30);
        put_bytes(&r, 5, sample_bytes(1), WIRE_TAG_BYTES);
        expect_refused(both[k], &r, "unknown, repeated or disordered fields");
    }
}

/* --- who fell behind, and what is kept --- */

static void test_a_join_says_what_it_brings(void **state)
{
    struct wire_msg m;
    struct raw r = {.n = 0};

    (void)state;
    put_value(&r, 1, 1);
    put_bytes(&r, 2, sample_bytes(1), WIRE_DIGEST_BYTES);
    put_value(&r, 3, 77);
    put_value(&r, 4, 70);
    put_bytes(&r, 5, sample_bytes(2), WIRE_DIGEST_BYTES);
    expect_ok(&m, WIRE_JOIN, &r);
    assert_false(m.join.resumes);
    put_value(&r, 6, 1);
    put_value(&r, 7, 299);
    expect_ok(&m, WIRE_JOIN, &r);
    assert_int_equal(m.join.generation, 299);
    assert_int_equal(m.join.applied, 77);
    assert_int_equal(m.join.kept, 70);
    assert_true(m.join.resumes);
    assert_memory_equal(m.join.trail, sample_bytes(2), WIRE_DIGEST_BYTES);
}

static void test_a_trail_is_a_digest_even_of_nothing(void **state)
{
    static const uint8_t zeros[WIRE_DIGEST_BYTES + 1];
    struct wire_msg m;
    struct raw r;

    (void)state;
    for (size_t n = 0; n <= WIRE_DIGEST_BYTES + 1; n++) {
        r.n = 0;
        put_bytes(&r, 2, sample_bytes(1), WIRE_DIGEST_BYTES);
        if (n > 0)
            put_bytes(&r, 5, zeros, n);
        if (n == WIRE_DIGEST_BYTES)
            expect_ok(&m, WIRE_JOIN, &r);
        else
            expect_refused(WIRE_JOIN, &r, "malformed message: join");
    }
}

static void test_behind_and_kept_carry_numbers_alone(void **state)
{
    struct raw r = {.n = 0};
    struct wire_msg m;

    (void)state;
    expect_ok(&m, WIRE_KEPT, &r);
    assert_int_equal(m.kept.step, 0);
    expect_ok(&m, WIRE_BEHIND, &r);
    assert_int_equal(m.behind.applied, 0);
    put_value(&r, 1, 9);
    expect_ok(&m, WIRE_KEPT, &r);
    assert_int_equal(m.kept.step, 9);
    put_value(&r, 2, 8);
    expect_refused(WIRE_KEPT, &r, "unknown, repeated or disordered fields");
    expect_ok(&m, WIRE_BEHIND, &r);
    assert_int_equal(m.behind.generation, 9);
    assert_int_equal(m.behind.applied, 8);
    put_value(&r, 3, 7);
    expect_refused(WIRE_BEHIND, &r, "unknown, repeated or disordered fields");
    r.n = 0;
    put_value(&r, 1, 9);
    put_value(&r, 1, 9);
    expect_refused(WIRE_KEPT, &r, "unknown, repeated or disordered fields");
    expect_refused(WIRE_BEHIND, &r, "unknown, repeated or disordered fields");
}

static void body_of_replay(struct raw *r, size_t gradient)
{
    r->n = 0;
    put_value(r, 1, 300);
    put_value(r, 2, 12);
    if (gradient > 0)
        put_bytes(r, 3, sample_bytes(1), gradient);
}

static void test_a_replay_carries_floats_and_at_least_one(void **state)
{
    struct wire_msg m;
    struct raw r;

    (void)state;
    for (size_t n = 0; n <= 33; n++) {
        body_of_replay(&r, n);
        if (n > 0 && n % 4 == 0) {
            expect_ok(&m, WIRE_REPLAY, &r);
            assert_int_equal(m.replay.generation, 300);
            assert_int_equal(m.replay.step, 12);
            assert_int_equal(m.replay.gradient.n, n);
            assert_memory_equal(m.replay.gradient.data, sample_bytes(1), n);
        } else {
            expect_refused(WIRE_REPLAY, &r, "malformed message: replay");
        }
    }
    body_of_replay(&r, 8);
    put_bytes(&r, 3, sample_bytes(1), 8);
    expect_refused(WIRE_REPLAY, &r, "unknown, repeated or disordered fields");
    body_of_replay(&r, 8);
    put_value(&r, 4, 1);
    expect_refused(WIRE_REPLAY, &r, "unknown, repeated or disordered fields");
}

/* --- who was absent --- */

static void body_of_broadcast(struct raw *r, bool closes, const uint8_t *absent, size_t n)
{
    r->n = 0;
    if (closes) {
        put_value(r, 2, 1);
        put_bytes(r, 4, sample_bytes(1), 8);
    }
    put_value(r, 5, 1);
    if (n > 0)
        put_bytes(r, 10, absent, n);
}

static void test_absentees_are_of_a_closed_step_and_ascending(void **state)
{
    static const uint8_t twice[] = {3, 3}, falling[] = {3, 2}, late[] = {0, 5, 5}, last[] = {255};
    uint8_t all[WIRE_MEMBERS_MAX + 1];
    struct wire_msg m;
    struct raw r;

    (void)state;
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (uint8_t)i;
    for (size_t n = 0; n <= WIRE_MEMBERS_MAX; n++) {
        body_of_broadcast(&r, true, all, n);
        expect_ok(&m, WIRE_BROADCAST, &r);
        assert_int_equal(m.broadcast.absent.n, n);
        if (n > 0)
            assert_memory_equal(m.broadcast.absent.data, all, n);
        body_of_broadcast(&r, false, all, n);
        if (n > 0)
            expect_refused(WIRE_BROADCAST, &r, "broadcast: absent members");
        else
            expect_ok(&m, WIRE_BROADCAST, &r);
    }
    body_of_broadcast(&r, true, last, sizeof last);
    expect_ok(&m, WIRE_BROADCAST, &r);
    body_of_broadcast(&r, true, all, sizeof all);
    expect_refused(WIRE_BROADCAST, &r, "broadcast: absent members");
    body_of_broadcast(&r, true, twice, sizeof twice);
    expect_refused(WIRE_BROADCAST, &r, "broadcast: absent members");
    body_of_broadcast(&r, true, falling, sizeof falling);
    expect_refused(WIRE_BROADCAST, &r, "broadcast: absent members");
    body_of_broadcast(&r, true, late, sizeof late);
    expect_refused(WIRE_BROADCAST, &r, "broadcast: absent members");
}

static void test_no_absentees_are_not_spelt_out(void **state)
{
    struct raw r;

    (void)state;
    body_of_broadcast(&r, true, NULL, 0);
    put_bytes(&r, 10, NULL, 0);
    expect_refused(WIRE_BROADCAST, &r, "unknown, repeated or disordered fields");
    body_of_broadcast(&r, true, sample_bytes(0), 1);
    put_bytes(&r, 10, sample_bytes(0), 1);
    expect_refused(WIRE_BROADCAST, &r, "unknown, repeated or disordered fields");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_share_and_a_relay_are_read_field_by_field),
        cmocka_unit_test(test_shares_of_no_purpose_are_refused),
        cmocka_unit_test(test_every_share_has_a_tag_and_one_part_of_the_ciphertexts),
        cmocka_unit_test(test_shares_have_one_form),
        cmocka_unit_test(test_a_join_says_what_it_brings),
        cmocka_unit_test(test_a_trail_is_a_digest_even_of_nothing),
        cmocka_unit_test(test_behind_and_kept_carry_numbers_alone),
        cmocka_unit_test(test_a_replay_carries_floats_and_at_least_one),
        cmocka_unit_test(test_absentees_are_of_a_closed_step_and_ascending),
        cmocka_unit_test(test_no_absentees_are_not_spelt_out),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
