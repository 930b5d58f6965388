/* test_unpack.c -- bytes that no wire_pack would write, put together by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/message.h"

#include "tests/unit/wire/raw.h"

#include <string.h>

/* --- lengths --- */

static void test_a_join_has_a_digest_of_its_size(void **state)
{
    struct wire_msg m;
    struct raw r;

    (void)state;
    body_of_join(&r, WIRE_DIGEST_BYTES);
    expect_ok(&m, WIRE_JOIN, &r);
    assert_int_equal(m.join.applied, 77);
    body_of_join(&r, WIRE_DIGEST_BYTES - 1);
    expect_refused(WIRE_JOIN, &r, "join");
    body_of_join(&r, WIRE_DIGEST_BYTES + 1);
    expect_refused(WIRE_JOIN, &r, "join");
    r.n = 0;
    expect_refused(WIRE_JOIN, &r, "join");
}

static void test_a_hello_has_keys_digests_and_signature_of_their_sizes(void **state)
{
    size_t length[HELLO_LENGTHS] = {32, 32, 32, 32, 64, 64};
    struct wire_msg m;
    struct raw r;

    (void)state;
    body_of_hello(&r, length, "p1");
    expect_ok(&m, WIRE_HELLO, &r);
    assert_string_equal(m.hello.name, "p1");
    for (size_t i = 0; i < HELLO_LENGTHS; i++) {
        length[i]--;
        body_of_hello(&r, length, "p1");
        expect_refused(WIRE_HELLO, &r, i < 3 || i == 5 ? "hello body" : "hello");
        length[i] += 2;
        body_of_hello(&r, length, "p1");
        expect_refused(WIRE_HELLO, &r, i < 3 || i == 5 ? "hello body" : "hello");
        length[i]--;
    }
    r.n = 0;
    expect_refused(WIRE_HELLO, &r, "hello");
}

static void test_a_signature_with_a_byte_more_is_refused(void **state)
{
    static const size_t length[HELLO_LENGTHS] = {32, 32, 32, 32, 64, 64};
    uint8_t longer[WIRE_SIGNATURE_BYTES + 1] = {1};
    struct raw r;

    (void)state;
    body_of_hello(&r, length, "p1");
    r.n -= 2 + WIRE_SIGNATURE_BYTES;
    put_bytes(&r, 3, longer, sizeof longer);
    expect_refused(WIRE_HELLO, &r, "hello");
    for (unsigned field = 1; field <= 4; field++) {
        struct raw c = {.n = 0};

        for (unsigned f = 1; f <= 4; f++)
            put_bytes(&c, f, longer, (f > 1 ? 64u : 32u) + (f == field));
        put_bytes(&c, 6, sample_bytes(6), WIRE_SEEN_BYTES);
        expect_refused(WIRE_CONFIRM, &c, "confirm");
    }
}

static void test_a_confirm_has_digests_and_signature_of_their_sizes(void **state)
{
    struct wire_msg m;

    (void)state;
    for (unsigned shorter = 0; shorter <= 4; shorter++) {
        struct raw c = {.n = 0};

        for (unsigned f = 1; f <= 4; f++)
            put_bytes(&c, f, sample_bytes((uint8_t)f), (f > 1 ? 64u : 32u) - (f == shorter));
        put_bytes(&c, 6, sample_bytes(6), WIRE_SEEN_BYTES);
        if (shorter > 0)
            expect_refused(WIRE_CONFIRM, &c, "confirm");
        else
            expect_ok(&m, WIRE_CONFIRM, &c);
    }
}

static void test_a_confirm_has_a_whole_number_for_each_of_1_to_256_members(void **state)
{
    static const uint8_t seen[WIRE_SEEN_BYTES * (WIRE_MEMBERS_MAX + 1)] = {1};
    static const size_t bad[] = {0, 1, 7, 9, 15, 2047, 2049, sizeof seen};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad + WIRE_MEMBERS_MAX; i++) {
        bool good = i < WIRE_MEMBERS_MAX;
        struct raw c = {.n = 0};
        struct wire_msg m;

        for (unsigned f = 1; f <= 4; f++)
            put_bytes(&c, f, sample_bytes((uint8_t)f), f > 1 ? 64u : 32u);
        if (good || bad[i - WIRE_MEMBERS_MAX] > 0)
            put_bytes(&c, 6, seen, good ? WIRE_SEEN_BYTES * (i + 1) : bad[i - WIRE_MEMBERS_MAX]);
        if (good) {
            expect_ok(&m, WIRE_CONFIRM, &c);
            assert_int_equal(m.confirm.seen.n, WIRE_SEEN_BYTES * (i + 1));
        } else {
            expect_refused(WIRE_CONFIRM, &c, "confirm");
        }
    }
}

/* Bytes of dealing and holds at their numbers, where not 0, between the numbers around them. */
static void body_of_dealing_hello(struct raw *r, size_t dealing, size_t holds)
{
    static const size_t length[HELLO_LENGTHS] = {32, 32, 32, 32, 64, 64};
    struct raw part;

    signed_part(&part, length, "p1");
    put_value(&part, 8, 20);
    put_value(&part, 9, 2);
    if (dealing > 0)
        put_bytes(&part, 10, sample_bytes(6), dealing);
    if (holds > 0)
        put_bytes(&part, 11, sample_bytes(7), holds);
    put_value(&part, 12, 40);
    around_signed_part(r, &part, length);
}

static void test_what_a_hello_says_of_dealings_is_a_digest_or_nothing(void **state)
{
    struct wire_msg m;
    struct raw r;

    (void)state;
    for (size_t dealing = 0; dealing <= 40; dealing++) {
        for (size_t holds = 0; holds <= 40; holds++) {
            body_of_dealing_hello(&r, dealing, holds);
            if (dealing % WIRE_DIGEST_BYTES != 0 || holds % WIRE_DIGEST_BYTES != 0) {
                expect_refused(WIRE_HELLO, &r, "hello body");
                continue;
            }
            expect_ok(&m, WIRE_HELLO, &r);
            assert_int_equal(m.hello.features, 20);
            assert_int_equal(m.hello.degree, 2);
            assert_int_equal(m.hello.held, 40);
            assert_int_equal(m.hello.dealing.n, dealing);
            assert_int_equal(m.hello.holds.n, holds);
            if (dealing > 0)
                assert_memory_equal(m.hello.dealing.data, sample_bytes(6), dealing);
            if (holds > 0)
                assert_memory_equal(m.hello.holds.data, sample_bytes(7), holds);
        }
    }
}

static void test_a_hello_without_a_dealing_does_not_spell_it_out(void **state)
{
    static const size_t length[HELLO_LENGTHS] = {32, 32, 32, 32, 64, 64};
    struct raw r, part;
    struct wire_msg m;

    (void)state;
    signed_part(&part, length, "p1");
    around_signed_part(&r, &part, length);
    expect_ok(&m, WIRE_HELLO, &r);
    assert_int_equal(m.hello.features, 0);
    assert_int_equal(m.hello.degree, 0);
    assert_int_equal(m.hello.dealing.n, 0);
    assert_int_equal(m.hello.holds.n, 0);
    assert_int_equal(m.hello.held, 0);
    for (unsigned field = 8; field <= 12; field++) {
        signed_part(&part, length, "p1");
        if (field == 10 || field == 11)
            put_bytes(&part, field, NULL, 0);
        else
            put_value(&part, field, 0);
        around_signed_part(&r, &part, length);
        expect_refused(WIRE_HELLO, &r, "hello body");
    }
}

static void test_the_signed_part_of_a_hello_is_bounded(void **state)
{
    static const size_t length[HELLO_LENGTHS] = {32, 32, 32, 32, 64, 0};
    struct raw r, part = {.n = WIRE_HELLO_MAX};

    (void)state;
    around_signed_part(&r, &part, length);
    expect_refused(WIRE_HELLO, &r, "hello body"); /* was looked at */
    part.n++;
    around_signed_part(&r, &part, length);
    expect_refused(WIRE_HELLO, &r, "hello");
}

static void put_job(struct raw *r, const char *kind, size_t text_n)
{
    static const uint8_t text[WIRE_JOB_TEXT_MAX + 1];
    struct raw job = {.n = 0};

    if (kind[0] != 0)
        put_bytes(&job, 1, (const uint8_t *)kind, strlen(kind));
    if (text_n > 0)
        put_bytes(&job, 2, text, text_n);
    put_bytes(r, 2, job.bytes, job.n);
}

static void body_of_offer(struct raw *r, size_t plan, const uint8_t *members, size_t n)
{
    static const uint8_t text[WIRE_ELEMENT_BYTES];

    r->n = 0;
    put_value(r, 1, 1);
    put_job(r, "train", plan);
    put_bytes(r, 3, members, n);
    put_bytes(r, 5, text, WIRE_ELEMENT_BYTES);
    put_bytes(r, 6, text, WIRE_DIGEST_BYTES);
}

static void test_an_offer_has_a_job_and_ascending_members(void **state)
{
    static const uint8_t twice[] = {1, 1}, falling[] = {2, 1}, late[] = {0, 5, 4};
    uint8_t all[WIRE_MEMBERS_MAX + 1];
    struct wire_msg m;
    struct raw r;

    (void)state;
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (uint8_t)i;
    body_of_offer(&r, WIRE_JOB_TEXT_MAX, all, WIRE_MEMBERS_MAX);
    expect_ok(&m, WIRE_OFFER, &r);
    assert_int_equal(m.offer.members.n, WIRE_MEMBERS_MAX);
    body_of_offer(&r, WIRE_JOB_TEXT_MAX + 1, all, 3);
    expect_refused(WIRE_OFFER, &r, "offer");
    body_of_offer(&r, 10, all, WIRE_MEMBERS_MAX + 1);
    expect_refused(WIRE_OFFER, &r, "offer");
    body_of_offer(&r, 10, twice, sizeof twice);
    expect_refused(WIRE_OFFER, &r, "members are not ascending");
    body_of_offer(&r, 10, falling, sizeof falling);
    expect_refused(WIRE_OFFER, &r, "members are not ascending");
    body_of_offer(&r, 10, late, sizeof late);
    expect_refused(WIRE_OFFER, &r, "members are not ascending");
    r.n = 0;
    put_bytes(&r, 3, all, 3);
    expect_refused(WIRE_OFFER, &r, "offer"); /* no job */
    r.n = 0;
    put_job(&r, "train", 3);
    expect_refused(WIRE_OFFER, &r, "offer"); /* no members */
    for (size_t n = 31; n <= 33; n++) {
        for (size_t k = 31; k <= 33; k++) {
            r.n = 0;
            put_job(&r, "train", 3);
            put_bytes(&r, 3, all, 3);
            put_bytes(&r, 5, all, n);
            put_bytes(&r, 6, all, k);
            if (n == WIRE_ELEMENT_BYTES && k == WIRE_DIGEST_BYTES)
                expect_ok(&m, WIRE_OFFER, &r);
            else
                expect_refused(WIRE_OFFER, &r, "offer");
        }
    }
}

static void test_the_kind_of_a_job_is_a_short_word_of_small_letters(void **state)
{
    static const char *const wrong[] = {
        "", "Train", "train ", "train-2", "train\xc3\xa9", "train1", "a\nb", "abcdefghijklmnopq"};
    static const uint8_t element[WIRE_ELEMENT_BYTES], member[] = {0};
    struct wire_msg m;
    struct raw r = {.n = 0};

    (void)state;
    put_job(&r, "abcdefghijklmnop", 1);
    put_bytes(&r, 3, member, 1);
    put_bytes(&r, 5, element, sizeof element);
    put_bytes(&r, 6, element, sizeof element);
    expect_ok(&m, WIRE_OFFER, &r);
    assert_string_equal(m.offer.job.kind, "abcdefghijklmnop");
    assert_int_equal(m.offer.job.text.n, 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        r.n = 0;
        put_job(&r, wrong[i], 1);
        put_bytes(&r, 3, member, 1);
        put_bytes(&r, 5, element, sizeof element);
        put_bytes(&r, 6, element, sizeof element);
        expect_refused(WIRE_OFFER, &r, "offer");
    }
    r.n = 0;
    put_job(&r, "train", 0);
    put_bytes(&r, 3, member, 1);
    put_bytes(&r, 5, element, sizeof element);
    put_bytes(&r, 6, element, sizeof element);
    expect_refused(WIRE_OFFER, &r, "offer"); /* no text */
}

static void put_hello_of(struct raw *list, const char *name)
{
    static const size_t length[HELLO_LENGTHS] = {32, 32, 32, 32, 64, 64};
    struct raw one;

    body_of_hello(&one, length, name);
    put_bytes(list, 2, one.bytes, one.n);
}

static void test_lists_have_a_member_and_no_more_than_the_maximum(void **state)
{
    struct raw list = {.n = 0}, confirm = {.n = 0};
    struct wire_msg m;

    (void)state;
    assert_int_equal(wire_unpacker_grow(&unpacker, RAW_MAX), STATUS_OK);
    expect_refused(WIRE_HELLOS, &list, "hellos");
    expect_refused(WIRE_CONFIRMS, &list, "confirms");
    for (unsigned f = 1; f <= 4; f++)
        put_bytes(&confirm, f, sample_bytes(1), f > 1 ? 64 : 32);
    put_bytes(&confirm, 6, sample_bytes(6), WIRE_SEEN_BYTES);
    for (size_t n = 0; n <= WIRE_MEMBERS_MAX + 1; n++) {
        size_t end = list.n;

        if (n % 128 <= 1) {
            put_bytes(&list, 3, sample_bytes(2), WIRE_PROOF_BYTES);
            if (n > 0 && n <= WIRE_MEMBERS_MAX)
                expect_ok(&m, WIRE_CONFIRMS, &list);
            else
                expect_refused(WIRE_CONFIRMS, &list, "confirms");
            list.n = end;
            put_bytes(&list, 3, sample_bytes(2), WIRE_PROOF_BYTES - 1);
            expect_refused(WIRE_CONFIRMS, &list, "confirms");
            list.n = end;
            expect_refused(WIRE_CONFIRMS, &list, "confirms");
        }
        put_bytes(&list, 2, confirm.bytes, confirm.n);
    }
    list.n = 0;
    for (int i = 0; i < WIRE_MEMBERS_MAX; i++)
        put_hello_of(&list, "p");
    expect_ok(&m, WIRE_HELLOS, &list);
    put_hello_of(&list, "p");
    expect_refused(WIRE_HELLOS, &list, "hellos");
}

static void test_one_bad_member_spoils_a_list(void **state)
{
    static const size_t length[HELLO_LENGTHS] = {32, 32, 31, 32, 64, 64};
    struct raw list = {.n = 0}, bad;
    struct wire_msg m;

    (void)state;
    put_hello_of(&list, "p1");
    put_hello_of(&list, "p2");
    expect_ok(&m, WIRE_HELLOS, &list);
    assert_int_equal(m.hellos.n, 2);
    assert_string_equal(m.hellos.hello[1].name, "p2");
    body_of_hello(&bad, length, "p3");
    put_bytes(&list, 2, bad.bytes, bad.n);
    expect_refused(WIRE_HELLOS, &list, "hello body");
    list.n = bad.n = 0;
    put_bytes(&bad, 1, sample_bytes(1), WIRE_DIGEST_BYTES);
    put_bytes(&list, 2, bad.bytes, bad.n);
    put_bytes(&list, 3, sample_bytes(2), WIRE_PROOF_BYTES);
    expect_refused(WIRE_CONFIRMS, &list, "confirm");
}

/* --- text --- */

static void test_a_name_is_one_to_63_printable_characters_without_spaces(void **state)
{
    static const size_t length[HELLO_LENGTHS] = {32, 32, 32, 32, 64, 64};
    char name[WIRE_NAME_MAX + 2];
    struct wire_msg m;
    struct raw r;

    (void)state;
    memset(name, 'n', sizeof name);
    name[WIRE_NAME_MAX] = 0;
    body_of_hello(&r, length, name);
    expect_ok(&m, WIRE_HELLO, &r);
    assert_string_equal(m.hello.name, name);
    name[WIRE_NAME_MAX] = 'n';
    name[WIRE_NAME_MAX + 1] = 0;
    body_of_hello(&r, length, name);
    expect_refused(WIRE_HELLO, &r, "hello body");
    body_of_hello(&r, length, "");
    expect_refused(WIRE_HELLO, &r, "hello body");
    for (unsigned c = 1; c < 256; c++) {
        char text[] = {'a', (char)c, 'b', 0};

        body_of_hello(&r, length, text);
        if (c > 0x20 && c < 0x7f)
            expect_ok(&m, WIRE_HELLO, &r);
        else
            expect_refused(WIRE_HELLO, &r, "hello body");
    }
}

static void test_a_text_with_a_zero_inside_is_refused(void **state)
{
    struct raw r = {.n = 0};
    struct wire_msg m;

    (void)state;
    put_value(&r, 1, STATUS_KIND_PEER);
    put_bytes(&r, 2, "abc", 3);
    expect_ok(&m, WIRE_REFUSE, &r);
    r.n = 0;
    put_value(&r, 1, STATUS_KIND_PEER);
    put_bytes(&r, 2, "a\0c", 3);
    expect_refused(WIRE_REFUSE, &r, "unknown, repeated or disordered fields");
}

static void test_texts_are_cleaned_and_bounded(void **state)
{
    char text[WIRE_TEXT_MAX + 2];
    struct wire_msg m;
    struct raw r;

    (void)state;
    for (unsigned c = 1; c < 256; c++) {
        char given[] = {'<', (char)c, '>', 0}, clean[] = {'<', (char)c, '>', 0};

        if (c < 0x20 || c >= 0x7f)
            clean[1] = '?';
        r.n = 0;
        put_value(&r, 1, STATUS_KIND_PEER);
        put_text(&r, 2, given);
        expect_ok(&m, WIRE_REFUSE, &r);
        assert_string_equal(m.refuse.text, clean);
        r.n = 0;
        put_text(&r, 2, given);
        expect_ok(&m, WIRE_FINISH, &r);
        assert_string_equal(m.finish.text, clean);
    }
    memset(text, 'x', sizeof text);
    for (size_t n = WIRE_TEXT_MAX; n <= WIRE_TEXT_MAX + 1; n++) {
        struct raw refuse = {.n = 0}, finish = {.n = 0};

        put_value(&refuse, 1, STATUS_KIND_NET);
        put_bytes(&refuse, 2, text, n);
        put_bytes(&finish, 2, text, n);
        if (n <= WIRE_TEXT_MAX) {
            expect_ok(&m, WIRE_REFUSE, &refuse);
            assert_int_equal(strlen(m.refuse.text), n);
            expect_ok(&m, WIRE_FINISH, &finish);
        } else {
            expect_refused(WIRE_REFUSE, &refuse, "refuse");
            expect_refused(WIRE_FINISH, &finish, "finish");
        }
    }
}

/* --- ranges --- */

static void test_purposes_outcomes_and_kinds_beyond_the_last_are_refused(void **state)
{
    static const uint64_t beyond[] = {7, 100, UINT32_MAX, UINT64_MAX};
    struct wire_msg m;
    struct raw r;

    (void)state;
    for (uint64_t v = 3; v < 300; v++) {
        r.n = 0;
        put_value(&r, 2, v); /* of a dealing, too: it has no uploads */
        put_bytes(&r, 4, "x", 1);
        expect_refused(WIRE_UPLOAD, &r, "upload");
        r.n = 0;
        put_value(&r, 5, 1);
        put_value(&r, 6, v);
        if (v > PURPOSE_DEAL_DATA)
            expect_refused(WIRE_BROADCAST, &r, "broadcast");
        else
            expect_ok(&m, WIRE_BROADCAST, &r);
        r.n = 0;
        put_value(&r, 1, v);
        if (v > OUTCOME_FAILED)
            expect_refused(WIRE_FINISH, &r, "finish");
        else
            expect_ok(&m, WIRE_FINISH, &r);
        if (v > STATUS_KIND_LOCAL)
            expect_refused(WIRE_REFUSE, &r, "refuse");
        else
            expect_ok(&m, WIRE_REFUSE, &r);
    }
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        r.n = 0;
        put_value(&r, 2, beyond[i]);
        put_bytes(&r, 4, "x", 1);
        expect_refused(WIRE_UPLOAD, &r, "");
        r.n = 0;
        put_value(&r, 3, beyond[i]);
        expect_refused(WIRE_FINISH, &r, "");
    }
    r.n = 0;
    expect_refused(WIRE_REFUSE, &r, "refuse"); /* nobody's fault is no reason to refuse */
    expect_ok(&m, WIRE_FINISH, &r);
}

static void test_a_broadcast_does_something_and_a_gradient_closes(void **state)
{
    static const struct {
        bool closes, opens, last;
        size_t gradient;
        bool ok;
    } cases[] = {
        {false, false, false, 0, false},
        {false, false, false, 8, false},
        {true, false, false, 8, true},
        {true, true, false, 8, true},
        {false, true, false, 0, true},
        {true, false, false, 0, true}, /* nothing goes down under releases once */
        {true, true, false, 0, true},
        {false, true, false, 8, false},
        {true, false, false, 7, false},
        {true, false, false, 9, false},
        {true, false, false, 4, true},
        {true, true, false, 1, false},
        /* The last opens nothing. */
        {false, false, true, 0, true},
        {true, false, true, 8, true},
        {false, true, true, 0, false},
        {true, true, true, 8, false},
        {true, false, true, 0, true},
        {false, false, true, 8, false},
    };
    struct wire_msg m;
    struct raw r;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        r.n = 0;
        if (cases[i].closes)
            put_value(&r, 2, 1);
        if (cases[i].gradient > 0)
            put_bytes(&r, 4, sample_bytes(1), cases[i].gradient);
        if (cases[i].opens)
            put_value(&r, 5, 1);
        if (cases[i].last)
            put_value(&r, 11, 1);
        if (cases[i].ok) {
            expect_ok(&m, WIRE_BROADCAST, &r);
            assert_int_equal(m.broadcast.last, cases[i].last);
        } else {
            expect_refused(WIRE_BROADCAST, &r, "broadcast");
        }
    }
}

static void test_an_upload_without_payload_is_refused(void **state)
{
    struct raw r = {.n = 0};
    struct wire_msg m;

    (void)state;
    put_value(&r, 3, 5);
    put_bytes(&r, 5, "check", 5);
    expect_refused(WIRE_UPLOAD, &r, "upload");
    r.n = 0;
    put_value(&r, 3, 5);
    put_bytes(&r, 4, "p", 1);
    expect_ok(&m, WIRE_UPLOAD, &r);
    assert_int_equal(m.upload.check.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_join_has_a_digest_of_its_size),
        cmocka_unit_test(test_a_hello_has_keys_digests_and_signature_of_their_sizes),
        cmocka_unit_test(test_a_signature_with_a_byte_more_is_refused),
        cmocka_unit_test(test_a_confirm_has_digests_and_signature_of_their_sizes),
        cmocka_unit_test(test_a_confirm_has_a_whole_number_for_each_of_1_to_256_members),
        cmocka_unit_test(test_what_a_hello_says_of_dealings_is_a_digest_or_nothing),
        cmocka_unit_test(test_a_hello_without_a_dealing_does_not_spell_it_out),
        cmocka_unit_test(test_the_signed_part_of_a_hello_is_bounded),
        cmocka_unit_test(test_an_offer_has_a_job_and_ascending_members),
        cmocka_unit_test(test_the_kind_of_a_job_is_a_short_word_of_small_letters),
        cmocka_unit_test(test_lists_have_a_member_and_no_more_than_the_maximum),
        cmocka_unit_test(test_one_bad_member_spoils_a_list),
        cmocka_unit_test(test_a_name_is_one_to_63_printable_characters_without_spaces),
        cmocka_unit_test(test_a_text_with_a_zero_inside_is_refused),
        cmocka_unit_test(test_texts_are_cleaned_and_bounded),
        cmocka_unit_test(test_purposes_outcomes_and_kinds_beyond_the_last_are_refused),
        cmocka_unit_test(test_a_broadcast_does_something_and_a_gradient_closes),
        cmocka_unit_test(test_an_upload_without_payload_is_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
