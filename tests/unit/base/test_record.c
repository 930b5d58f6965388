/* test_record.c -- structs to bytes: the layout is written down, and what was printed comes back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct inner {
    bool yes;
    double part;
};

struct all {
    uint64_t far;
    bool flag;
    uint32_t near;
    struct inner in;
    uint8_t digest[3];
    uint64_t unlisted;
};

static const struct record_field fields[] = {
    RECORD_FIELD(struct all, far),     RECORD_FIELD(struct all, flag),
    RECORD_FIELD(struct all, near),    RECORD_FIELD(struct all, in.yes),
    RECORD_FIELD(struct all, in.part), RECORD_FIELD(struct all, digest),
};
enum { FIELDS = sizeof fields / sizeof fields[0], BYTES = 8 + 1 + 4 + 1 + 8 + 3 };

static const struct all some = {
    .far = 0x0102030405060708,
    .flag = true,
    .near = 0xa1b2c3d4,
    .in = {.yes = false, .part = -2.0},
    .digest = {9, 8, 7},
    .unlisted = 5,
};
static const uint8_t printed[BYTES] = {
    8,      7, 6, 5, 4, 3, 2, 1, /**/ 1, /**/ 0xd4, 0xc3, 0xb2, 0xa1,
    /**/ 0, 0, 0, 0, 0, 0, 0, 0, 0xc0,   /**/ 9,    8,    7,
};

static void test_a_record_has_the_bytes_that_its_table_says(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 100);
    assert_int_equal(record_bytes(fields, FIELDS), BYTES);
    assert_int_equal(record_print(&out, fields, FIELDS, &some), STATUS_OK);
    assert_int_equal(out.len, BYTES);
    assert_memory_equal(out.data, printed, BYTES);
    buf_deinit(&out);
}

static void test_what_was_printed_comes_back_and_the_rest_stays(void **state)
{
    struct all back = {.unlisted = 77};

    (void)state;
    assert_true(record_parse(&back, fields, FIELDS, printed));
    assert_int_equal(back.far, some.far);
    assert_true(back.flag);
    assert_int_equal(back.near, some.near);
    assert_false(back.in.yes);
    assert_true(back.in.part == -2.0);
    assert_memory_equal(back.digest, some.digest, sizeof back.digest);
    assert_int_equal(back.unlisted, 77);
}

static void test_a_flag_is_0_or_1(void **state)
{
    uint8_t bytes[BYTES];
    struct all back;

    (void)state;
    memcpy(bytes, printed, BYTES);
    for (int flag = 0; flag < 256; flag++) {
        bytes[8] = (uint8_t)flag;
        assert_int_equal(record_parse(&back, fields, FIELDS, bytes), flag <= 1);
    }
}

static void test_a_record_beyond_its_room_is_refused(void **state)
{
    (void)state;
    for (size_t room = 0; room < BYTES; room++) {
        struct buf out;

        buf_init(&out, room);
        assert_int_equal(record_print(&out, fields, FIELDS, &some), STATUS_LIMIT);
        buf_deinit(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_record_has_the_bytes_that_its_table_says),
        cmocka_unit_test(test_what_was_printed_comes_back_and_the_rest_stays),
        cmocka_unit_test(test_a_flag_is_0_or_1),
        cmocka_unit_test(test_a_record_beyond_its_room_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
