/* test_mem.c -- zeroed, aligned, counted, and failing exactly when asked.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static int all_zero(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != 0)
            return 0;
    }
    return 1;
}

static void test_blocks_are_aligned_and_zero_even_where_others_wrote(void **state)
{
    (void)state;
    for (size_t n = 0; n < 400; n++) {
        uint8_t *block = mem_alloc(n, 3);

        assert_non_null(block);
        assert_int_equal((uintptr_t)block % MEM_ALIGNMENT, 0);
        assert_true(all_zero(block, 3 * n));
        memset(block, 0xa5, 3 * n);
        mem_free(block);
    }
}

static void test_products_that_overflow_give_nothing(void **state)
{
    uint64_t before = mem_count();

    (void)state;
    assert_null(mem_alloc(SIZE_MAX / 2 + 1, 2));
    assert_null(mem_alloc(SIZE_MAX / 3, 4));
    assert_null(mem_alloc(1, SIZE_MAX));
    assert_null(mem_alloc(1, SIZE_MAX - MEM_ALIGNMENT + 1));
    assert_int_equal(mem_count(), before);
}

static void test_memory_from_elsewhere_is_counted_and_fails_when_asked(void **state)
{
    uint64_t before = mem_count();

    (void)state;
    assert_true(mem_admit());
    mem_fail_at(2);
    assert_int_equal(mem_fail_left(), 2);
    assert_true(mem_admit());
    assert_int_equal(mem_fail_left(), 1);
    assert_false(mem_admit());
    assert_int_equal(mem_fail_left(), 0);
    assert_true(mem_admit());
    assert_int_equal(mem_fail_left(), 0);
    assert_int_equal(mem_count(), before + 3);
    mem_fail_at(1);
    assert_null(mem_alloc(1, 1));
    assert_true(mem_admit());
    assert_int_equal(mem_count(), before + 4);
}

static void test_growing_keeps_the_bytes_and_zeroes_the_rest(void **state)
{
    uint8_t *block = mem_alloc(10, 1);

    (void)state;
    assert_non_null(block);
    memset(block, 7, 10);
    block = mem_grow(block, 10, 5000);
    assert_non_null(block);
    for (int i = 0; i < 10; i++)
        assert_int_equal(block[i], 7);
    assert_true(all_zero(block + 10, 4990));
    block = mem_grow(block, 5000, 4);
    assert_non_null(block);
    assert_int_equal(block[3], 7);
    mem_free(block);
    block = mem_grow(NULL, 0, 8);
    assert_non_null(block);
    assert_true(all_zero(block, 8));
    mem_free(block);
}

static void test_a_block_that_cannot_grow_stays_as_it_was(void **state)
{
    uint8_t *block = mem_alloc(4, 1);

    (void)state;
    assert_non_null(block);
    memset(block, 9, 4);
    mem_fail_at(1);
    assert_null(mem_grow(block, 4, 400));
    assert_int_equal(block[0], 9);
    assert_int_equal(block[3], 9);
    mem_free(block);
}

static void test_an_array_grows_by_doubling_and_keeps_what_is_in_it(void **state)
{
    uint32_t *array = NULL, *room;
    uint64_t before = mem_count();
    size_t max = 0;

    (void)state;
    for (uint32_t n = 0; n < 1000; n++) {
        room = mem_room(array, &max, n + 1, sizeof *room);
        assert_non_null(room);
        array = room;
        assert_true(max > n && max <= 2 * n + 8);
        assert_int_equal(array[n], 0);
        array[n] = n + 1;
    }
    assert_in_range(mem_count() - before, 5, 9);
    for (uint32_t n = 0; n < 1000; n++)
        assert_int_equal(array[n], n + 1);
    array = mem_room(array, &max, 5000, sizeof *array);
    assert_int_equal(max, 5000);
    assert_int_equal(array[999], 1000);
    mem_free(array);
}

static void test_an_array_that_cannot_grow_stays_as_it_was(void **state)
{
    size_t max = 0;
    uint32_t *array = mem_room(NULL, &max, 3, sizeof *array);

    (void)state;
    assert_int_equal(max, 8);
    array[7] = 7;
    mem_fail_at(1);
    assert_ptr_equal(mem_room(array, &max, 8, sizeof *array), array); /* nothing is asked for */
    assert_null(mem_room(array, &max, 9, sizeof *array));
    assert_null(mem_room(array, &max, SIZE_MAX / 2, sizeof *array));
    assert_int_equal(max, 8);
    assert_int_equal(array[7], 7);
    mem_free(array);
}

static void test_the_nth_allocation_fails_once_and_no_other(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 5; n++) {
        mem_fail_at(n);
        for (uint64_t i = 1; i <= 10; i++) {
            void *block = mem_alloc(1, 1);

            assert_int_equal(block == NULL, i == n);
            mem_free(block);
        }
    }
    mem_fail_at(2);
    mem_fail_at(0);
    for (int i = 0; i < 4; i++) {
        char *copy = mem_strdup("ab");

        assert_non_null(copy);
        mem_free(copy);
    }
}

static void test_every_allocation_is_counted_and_freeing_is_not(void **state)
{
    uint64_t before = mem_count();
    char *text = mem_strdup("words");
    void *block = mem_alloc(2, 2);

    (void)state;
    assert_non_null(text);
    assert_string_equal(text, "words");
    assert_int_equal(mem_count(), before + 2);
    block = mem_grow(block, 4, 8);
    assert_int_equal(mem_count(), before + 3);
    mem_free(block);
    mem_free(text);
    mem_free(NULL);
    assert_int_equal(mem_count(), before + 3);
}

static void test_a_text_that_finds_no_memory_is_not_copied(void **state)
{
    (void)state;
    mem_fail_at(1);
    assert_null(mem_strdup("words"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_are_aligned_and_zero_even_where_others_wrote),
        cmocka_unit_test(test_products_that_overflow_give_nothing),
        cmocka_unit_test(test_memory_from_elsewhere_is_counted_and_fails_when_asked),
        cmocka_unit_test(test_growing_keeps_the_bytes_and_zeroes_the_rest),
        cmocka_unit_test(test_a_block_that_cannot_grow_stays_as_it_was),
        cmocka_unit_test(test_an_array_grows_by_doubling_and_keeps_what_is_in_it),
        cmocka_unit_test(test_an_array_that_cannot_grow_stays_as_it_was),
        cmocka_unit_test(test_the_nth_allocation_fails_once_and_no_other),
        cmocka_unit_test(test_every_allocation_is_counted_and_freeing_is_not),
        cmocka_unit_test(test_a_text_that_finds_no_memory_is_not_copied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
