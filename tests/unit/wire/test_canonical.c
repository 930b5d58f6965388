/* test_canonical.c -- one form only: what protobuf would forgive is refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/canonical.h"

#include "tests/unit/wire/raw.h"

#include <string.h>

static void test_frames_without_a_body_or_with_two_are_refused(void **state)
{
    struct raw join, refuse = {.n = 0}, frame = {.n = 0};
    struct wire_msg m;

    (void)state;
    assert_int_equal(wire_unpack(&m, &unpacker, frame.bytes, 0, NULL), STATUS_PROTOCOL);
    body_of_join(&join, WIRE_DIGEST_BYTES);
    put_value(&refuse, 1, STATUS_KIND_PEER);
    put_bytes(&frame, number_of(WIRE_JOIN), join.bytes, join.n);
    assert_int_equal(wire_unpack(&m, &unpacker, frame.bytes, frame.n, NULL), STATUS_OK);
    put_bytes(&frame, number_of(WIRE_REFUSE), refuse.bytes, refuse.n);
    assert_int_equal(wire_unpack(&m, &unpacker, frame.bytes, frame.n, NULL), STATUS_PROTOCOL);
    frame.n = 0;
    put_bytes(&frame, number_of(WIRE_JOIN), join.bytes, join.n);
    put_bytes(&frame, number_of(WIRE_JOIN), join.bytes, join.n);
    assert_int_equal(wire_unpack(&m, &unpacker, frame.bytes, frame.n, NULL), STATUS_PROTOCOL);
    /* protobuf merges the halves of a message; here a half is no message. */
    frame.n = 0;
    put_bytes(&frame, number_of(WIRE_JOIN), join.bytes, 2);
    put_bytes(&frame, number_of(WIRE_JOIN), join.bytes + 2, join.n - 2);
    assert_int_equal(wire_unpack(&m, &unpacker, frame.bytes, frame.n, NULL), STATUS_PROTOCOL);
}

static void test_unknown_fields_are_refused_at_every_depth(void **state)
{
    static const size_t length[HELLO_LENGTHS] = {32, 32, 32, 32, 64, 64},
                        without[HELLO_LENGTHS] = {32, 32, 32, 32, 64, 0};
    struct raw r, part, body = {.n = 0}, frame = {.n = 0};
    struct wire_msg m;

    (void)state;
    put_bytes(&frame, 16, "x", 1);
    assert_int_equal(wire_unpack(&m, &unpacker, frame.bytes, frame.n, NULL), STATUS_PROTOCOL);
    body_of_join(&r, WIRE_DIGEST_BYTES);
    frame.n = 0;
    put_bytes(&frame, number_of(WIRE_JOIN), r.bytes, r.n);
    put_value(&frame, 1000, 1);
    assert_int_equal(wire_unpack(&m, &unpacker, frame.bytes, frame.n, NULL), STATUS_PROTOCOL);
    put_value(&r, 100, 1);
    expect_refused(WIRE_JOIN, &r, "unknown, repeated or disordered fields");
    body_of_hello(&r, length, "p1");
    put_bytes(&r, 9, "x", 1);
    expect_refused(WIRE_HELLO, &r, "unknown, repeated or disordered fields");
    put_bytes(&body, 2, r.bytes, r.n); /* the same hello in a list */
    expect_refused(WIRE_HELLOS, &body, "unknown, repeated or disordered fields");
    /* And in the signed part, which is a message in bytes. */
    signed_part(&part, length, "p1");
    around_signed_part(&r, &part, length);
    expect_ok(&m, WIRE_HELLO, &r);
    put_bytes(&part, 14, sample_bytes(1), WIRE_ELEMENTS_BYTES);
    around_signed_part(&r, &part, without);
    expect_ok(&m, WIRE_HELLO, &r);
    put_value(&part, 15, 1);
    around_signed_part(&r, &part, without);
    expect_refused(WIRE_HELLO, &r, "hello body");
}

static void test_repeated_disordered_padded_and_spelt_out_fields_are_refused(void **state)
{
    struct wire_msg m;
    struct raw r;

    (void)state;
    body_of_join(&r, WIRE_DIGEST_BYTES);
    expect_ok(&m, WIRE_JOIN, &r);
    put_bytes(&r, 5, sample_bytes(3), WIRE_DIGEST_BYTES); /* the last would win */
    expect_refused(WIRE_JOIN, &r, "unknown, repeated or disordered fields");
    r.n = 0;
    put_value(&r, 3, 77);
    put_value(&r, 1, 1);
    put_bytes(&r, 2, sample_bytes(1), WIRE_DIGEST_BYTES);
    put_bytes(&r, 5, sample_bytes(2), WIRE_DIGEST_BYTES);
    expect_refused(WIRE_JOIN, &r, "unknown, repeated or disordered fields");
    body_of_join(&r, WIRE_DIGEST_BYTES);
    put_value(&r, 6, 1);
    expect_ok(&m, WIRE_JOIN, &r);
    r.bytes[r.n - 1] |= 0x80;
    r.bytes[r.n++] = 0; /* true in two bytes */
    expect_refused(WIRE_JOIN, &r, "unknown, repeated or disordered fields");
    body_of_join(&r, WIRE_DIGEST_BYTES);
    expect_ok(&m, WIRE_JOIN, &r);
    put_value(&r, 6, 0); /* is what absence means */
    expect_refused(WIRE_JOIN, &r, "unknown, repeated or disordered fields");
    r.n = 0;
    put_value(&r, 5, 2); /* any other number is true, too */
    expect_refused(WIRE_BROADCAST, &r, "unknown, repeated or disordered fields");
    r.n = 0;
    put_value(&r, 5, 1);
    expect_ok(&m, WIRE_BROADCAST, &r);
}

static void test_values_wider_than_their_field_are_refused(void **state)
{
    struct wire_msg m;
    struct raw r;

    (void)state;
    body_of_join(&r, WIRE_DIGEST_BYTES);
    for (uint64_t v = UINT32_MAX; v <= (uint64_t)UINT32_MAX + 1; v++) {
        struct raw wide = {.n = 0};

        put_value(&wide, 1, v);
        memcpy(wide.bytes + wide.n, r.bytes + 2, r.n - 2);
        wide.n += r.n - 2;
        if (v > UINT32_MAX)
            expect_refused(WIRE_JOIN, &wide, "unknown, repeated or disordered fields");
        else
            expect_ok(&m, WIRE_JOIN, &wide);
    }
}

static void test_fields_of_another_wire_type_are_refused(void **state)
{
    struct wire_msg m;

    (void)state;
    for (unsigned type = 0; type < 8; type++) {
        struct raw r = {.n = 0};

        put_number(&r, 1u << 3 | type);
        put_number(&r, type == LENGTH ? 0 : STATUS_KIND_PEER);
        for (int i = 0; i < 7; i++) /* so that 4 or 8 bytes are there as well */
            r.bytes[r.n + (size_t)i] = 0;
        if (type == VARINT)
            expect_ok(&m, WIRE_REFUSE, &r);
        else
            expect_refused(WIRE_REFUSE, &r, "");
        r.n += type == 1 ? 7 : type == 5 ? 3 : 0;
        if (type != VARINT)
            expect_refused(WIRE_REFUSE, &r, "");
    }
}

/* Of a generation it speaks when it accuses one of its members, or asks for a larger set: of one
 * thing at a time. */
static void test_a_refusal_names_a_generation_for_one_reason_or_none(void **state)
{
    struct wire_msg m;
    struct raw r;

    (void)state;
    for (unsigned has = 0; has < 8; has++) {
        const bool accused = has & 1, generation = has & 2, larger = has & 4;

        r.n = 0;
        put_value(&r, 1, STATUS_KIND_POLICY);
        if (accused)
            put_value(&r, 3, 5);
        if (generation)
            put_value(&r, 4, 300);
        if (larger)
            put_value(&r, 5, 1);
        if (generation ? accused == larger : accused || larger) {
            expect_refused(WIRE_REFUSE, &r, "refuse");
            continue;
        }
        expect_ok(&m, WIRE_REFUSE, &r);
        assert_int_equal(m.refuse.accused, accused ? 5 : 0);
        assert_int_equal(m.refuse.generation, generation ? 300 : 0);
        assert_int_equal(m.refuse.larger, larger);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_without_a_body_or_with_two_are_refused),
        cmocka_unit_test(test_unknown_fields_are_refused_at_every_depth),
        cmocka_unit_test(test_repeated_disordered_padded_and_spelt_out_fields_are_refused),
        cmocka_unit_test(test_values_wider_than_their_field_are_refused),
        cmocka_unit_test(test_fields_of_another_wire_type_are_refused),
        cmocka_unit_test(test_a_refusal_names_a_generation_for_one_reason_or_none),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
