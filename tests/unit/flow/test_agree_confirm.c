/* test_agree_confirm.c -- a confirmation is of one member, for one session, about every member's
 * ledger.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/flow/agree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { MEMBERS = 3 };

static struct sign_key key[MEMBERS];

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < MEMBERS; i++)
        CHECK(sign_key_generate(&key[i]) == STATUS_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < MEMBERS; i++)
        sign_key_deinit(&key[i]);
    return 0;
}

static struct agree_confirm confirmation(const struct sign_key *m)
{
    struct agree_confirm c = {.sid = {1, 2, 3}, .proofs = {4, 5}, .marks = {6}, .members = MEMBERS};

    for (size_t i = 0; i < MEMBERS; i++)
        agree_put_seen(&c, i, 700 + i);
    assert_int_equal(agree_sign_confirm(&c, m), STATUS_OK);
    return c;
}

static void expect_confirm(const struct agree_confirm *c, const struct sign_key *by,
                           const uint8_t *sid, enum status status)
{
    struct wire_confirm shown = agree_show_confirm(c, 7);
    struct error err = {0};

    assert_int_equal(agree_check_confirm(&shown, by->public_key, sid, MEMBERS, &err), status);
    assert_int_equal(agree_check_confirm(&shown, by->public_key, sid, MEMBERS, NULL), status);
    if (status == STATUS_AUTH)
        assert_string_equal(err.text, "confirmation: bad signature");
    if (status == STATUS_PROTOCOL)
        assert_string_equal(err.text, "confirmation: another view of keys, set or plan");
}

static void test_a_confirmation_is_of_one_member_and_one_sid(void **state)
{
    struct agree_confirm c = confirmation(&key[0]);
    uint8_t sid[WIRE_DIGEST_BYTES];

    (void)state;
    memcpy(sid, c.sid, sizeof sid);
    expect_confirm(&c, &key[0], sid, STATUS_OK);
    expect_confirm(&c, &key[1], sid, STATUS_AUTH);
    for (size_t i = 0; i < sizeof sid; i++) {
        sid[i] ^= 1; /* correctly signed, and for another session */
        expect_confirm(&c, &key[0], sid, STATUS_PROTOCOL);
        sid[i] ^= 1;
    }
}

static void flip_each(struct agree_confirm *c, uint8_t *field, size_t n, const uint8_t *sid)
{
    for (size_t bit = 0; bit < 8 * n; bit++) {
        field[bit / 8] ^= (uint8_t)(1u << bit % 8);
        expect_confirm(c, &key[0], sid, STATUS_AUTH);
        field[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void test_any_bit_of_a_confirmation_changed_by_a_relay_is_noticed(void **state)
{
    struct agree_confirm c = confirmation(&key[0]);
    uint8_t sid[WIRE_DIGEST_BYTES];

    (void)state;
    memcpy(sid, c.sid, sizeof sid);
    flip_each(&c, c.sid, sizeof c.sid, sid);
    flip_each(&c, c.proofs, sizeof c.proofs, sid);
    flip_each(&c, c.marks, sizeof c.marks, sid);
    flip_each(&c, c.signature, sizeof c.signature, sid);
    flip_each(&c, c.seen, MEMBERS * WIRE_SEEN_BYTES, sid);
    expect_confirm(&c, &key[0], sid, STATUS_OK);
}

static void test_a_confirmation_signed_under_another_label_is_none(void **state)
{
    static const char *const labels[] = {"vfl/hello/2", "vfl/confirm/2", "vfl/confirm/3"};
    struct agree_confirm c = confirmation(&key[0]);
    uint8_t text[WIRE_DIGEST_BYTES + 2 * WIRE_PROOFS_BYTES + MEMBERS * WIRE_SEEN_BYTES];

    (void)state;
    memcpy(text, c.sid, 32);
    memcpy(text + 32, c.proofs, 64);
    memcpy(text + 96, c.marks, 64);
    memcpy(text + 160, c.seen, MEMBERS * WIRE_SEEN_BYTES);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sign_make(c.signature, &key[0], labels[i], text, sizeof text), STATUS_OK);
        expect_confirm(&c, &key[0], c.sid, i < 2 ? STATUS_AUTH : STATUS_OK);
    }
}

static void test_a_kept_confirmation_is_shown_as_it_came(void **state)
{
    struct agree_confirm c = confirmation(&key[2]), kept;
    struct wire_confirm shown = agree_show_confirm(&c, 9);

    (void)state;
    assert_int_equal(shown.generation, 9);
    memset(&kept, 0xa5, sizeof kept);
    memset(kept.seen, 0, sizeof kept.seen);
    agree_keep_confirm(&kept, &shown);
    assert_memory_equal(&kept, &c, sizeof c);
}

static void test_a_confirmation_is_about_every_member(void **state)
{
    struct agree_confirm c = confirmation(&key[0]);
    struct wire_confirm shown = agree_show_confirm(&c, 7);
    struct error err = {0};

    (void)state;
    for (size_t i = 0; i < MEMBERS; i++)
        assert_int_equal(agree_seen(&shown, i), 700 + i);
    for (size_t members = MEMBERS - 1; members <= MEMBERS + 1; members++) {
        enum status s = agree_check_confirm(&shown, key[0].public_key, c.sid, members, &err);

        assert_int_equal(s, members == MEMBERS ? STATUS_OK : STATUS_PROTOCOL);
        if (s != STATUS_OK)
            assert_non_null(strstr(err.text, "numbers of 3 ledgers"));
    }
}

static void test_a_number_seen_may_be_any(void **state)
{
    static const uint64_t numbers[] = {0, 1, 255, 256, UINT64_C(1) << 62, UINT64_MAX};
    struct agree_confirm c = {.members = 2};
    struct wire_confirm shown;

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        agree_put_seen(&c, 1, numbers[i]);
        shown = agree_show_confirm(&c, 1);
        assert_int_equal(agree_seen(&shown, 0), 0);
        assert_true(agree_seen(&shown, 1) == numbers[i]);
        assert_int_equal(shown.seen.data[8], numbers[i] & 0xff); /* the lowest byte first */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_confirmation_is_of_one_member_and_one_sid),
        cmocka_unit_test(test_any_bit_of_a_confirmation_changed_by_a_relay_is_noticed),
        cmocka_unit_test(test_a_confirmation_signed_under_another_label_is_none),
        cmocka_unit_test(test_a_kept_confirmation_is_shown_as_it_came),
        cmocka_unit_test(test_a_confirmation_is_about_every_member),
        cmocka_unit_test(test_a_number_seen_may_be_any),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
