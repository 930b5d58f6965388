/* test_buf.c -- bytes in order, never more than the maximum.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/buf.h"

#include "common/base/mem.h"
#include "tests/lib/aborts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void test_what_is_appended_stays_in_order_while_it_grows(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 100000);
    for (unsigned i = 0; i < 30000; i++) {
        uint8_t pair[2] = {(uint8_t)i, (uint8_t)(i >> 8)};
        assert_int_equal(buf_append(&b, pair, sizeof pair), STATUS_OK);
    }
    assert_int_equal(b.len, 60000);
    for (unsigned i = 0; i < 30000; i++)
        assert_int_equal(b.data[2 * i] | b.data[2 * i + 1] << 8, i);
    buf_deinit(&b);
}

static void test_a_buffer_holds_its_maximum_and_not_a_byte_more(void **state)
{
    static const uint8_t bytes[1001];

    (void)state;
    for (size_t max = 0; max < 1000; max += 37) {
        struct buf b;

        buf_init(&b, max);
        assert_int_equal(buf_append(&b, bytes, max + 1), STATUS_LIMIT);
        assert_int_equal(b.len, 0);
        assert_int_equal(buf_append(&b, bytes, max), STATUS_OK);
        assert_int_equal(buf_append(&b, bytes, 1), STATUS_LIMIT);
        assert_int_equal(buf_append(&b, bytes, 0), STATUS_OK);
        assert_int_equal(b.len, max);
        assert_true(b.cap <= max);
        buf_deinit(&b);
    }
}

static void test_one_byte_at_a_time_never_reserves_beyond_the_maximum(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 700);
    for (int i = 0; i < 700; i++) {
        assert_int_equal(buf_append(&b, "x", 1), STATUS_OK);
        assert_true(b.cap <= 700);
    }
    assert_int_equal(buf_append(&b, "x", 1), STATUS_LIMIT);
    buf_deinit(&b);
}

static void test_absurd_sizes_are_over_the_limit_and_do_not_wrap(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, SIZE_MAX);
    assert_int_equal(buf_append(&b, "abcd", 4), STATUS_OK);
    assert_int_equal(buf_reserve(&b, SIZE_MAX), STATUS_LIMIT);
    assert_int_equal(buf_reserve(&b, SIZE_MAX - 3), STATUS_LIMIT);
    assert_int_equal(b.len, 4);
    assert_memory_equal(b.data, "abcd", 4);
    buf_deinit(&b);
}

static void test_reserved_room_is_not_allocated_twice(void **state)
{
    struct buf b;
    uint64_t before;

    (void)state;
    buf_init(&b, 5000);
    assert_int_equal(buf_reserve(&b, 5000), STATUS_OK);
    before = mem_count();
    for (int i = 0; i < 5000; i++)
        assert_int_equal(buf_append(&b, "x", 1), STATUS_OK);
    assert_int_equal(mem_count(), before);
    buf_deinit(&b);
}

static void test_short_memory_leaves_the_content(void **state)
{
    char more[400];
    struct buf b;

    (void)state;
    memset(more, 'y', sizeof more);
    buf_init(&b, 1000);
    assert_int_equal(buf_append(&b, "abc", 3), STATUS_OK);
    mem_fail_at(1);
    assert_int_equal(buf_append(&b, more, sizeof more), STATUS_MEMORY);
    assert_int_equal(b.len, 3);
    assert_memory_equal(b.data, "abc", 3);
    assert_int_equal(buf_append(&b, more, sizeof more), STATUS_OK);
    assert_int_equal(b.len, 403);
    buf_deinit(&b);
}

static void test_printing_appends_text_of_any_length(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 2000);
    assert_int_equal(buf_printf(&b, "%d-%s", 12, "ab"), STATUS_OK);
    assert_int_equal(buf_printf(&b, "%0900d", 7), STATUS_OK);
    assert_int_equal(b.len, 905);
    assert_memory_equal(b.data, "12-ab000", 8);
    assert_int_equal(b.data[904], '7');
    assert_int_equal(b.data[905], 0);
    assert_int_equal(buf_printf(&b, "%02000d", 7), STATUS_LIMIT);
    assert_int_equal(b.len, 905);
    buf_deinit(&b);
}

static void test_consuming_forgets_the_front_only(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 10);
    buf_consume(&b, 0);
    assert_int_equal(buf_append(&b, "abcdef", 6), STATUS_OK);
    buf_consume(&b, 0);
    buf_consume(&b, 2);
    assert_int_equal(b.len, 4);
    assert_memory_equal(b.data, "cdef", 4);
    assert_int_equal(buf_append(&b, "ghijkl", 6), STATUS_OK);
    assert_memory_equal(b.data, "cdefghijkl", 10);
    buf_consume(&b, 10);
    assert_int_equal(b.len, 0);
    buf_deinit(&b);
}

static void consume_three(void *arg)
{
    buf_consume(arg, 3);
}

static void test_consuming_more_than_there_is_aborts(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 10);
    assert_int_equal(buf_append(&b, "ab", 2), STATUS_OK);
    assert_true(aborts(consume_three, &b));
    assert_int_equal(buf_append(&b, "c", 1), STATUS_OK);
    assert_false(aborts(consume_three, &b));
    buf_deinit(&b);
}

static void test_deinit_is_safe_twice_and_on_zeroes(void **state)
{
    struct buf b = {0};

    (void)state;
    buf_deinit(&b);
    buf_init(&b, 10);
    assert_int_equal(buf_append(&b, "ab", 2), STATUS_OK);
    buf_deinit(&b);
    buf_deinit(&b);
    assert_int_equal(buf_append(&b, "ab", 2), STATUS_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_appended_stays_in_order_while_it_grows),
        cmocka_unit_test(test_a_buffer_holds_its_maximum_and_not_a_byte_more),
        cmocka_unit_test(test_one_byte_at_a_time_never_reserves_beyond_the_maximum),
        cmocka_unit_test(test_absurd_sizes_are_over_the_limit_and_do_not_wrap),
        cmocka_unit_test(test_reserved_room_is_not_allocated_twice),
        cmocka_unit_test(test_short_memory_leaves_the_content),
        cmocka_unit_test(test_printing_appends_text_of_any_length),
        cmocka_unit_test(test_consuming_forgets_the_front_only),
        cmocka_unit_test(test_consuming_more_than_there_is_aborts),
        cmocka_unit_test(test_deinit_is_safe_twice_and_on_zeroes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
