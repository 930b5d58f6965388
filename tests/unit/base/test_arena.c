/* test_arena.c -- what fits, what does not, and where it lies.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/arena.h"

#include "common/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void test_pieces_are_aligned_and_do_not_overlap(void **state)
{
    struct arena a;
    uint8_t *end;

    (void)state;
    assert_int_equal(arena_init(&a, 64 * 1024), STATUS_OK);
    end = a.base;
    for (size_t n = 1; n < 100; n++) {
        uint8_t *piece = arena_alloc(&a, n, 3);

        assert_non_null(piece);
        assert_int_equal((uintptr_t)piece % MEM_ALIGNMENT, 0);
        assert_true(piece >= end);
        memset(piece, 0xff, 3 * n);
        end = piece + 3 * n;
    }
    assert_true(end <= a.base + a.size);
    arena_deinit(&a);
}

static void test_an_arena_gives_exactly_its_size_and_not_a_byte_more(void **state)
{
    struct arena a;

    (void)state;
    assert_int_equal(arena_init(&a, 200), STATUS_OK);
    assert_null(arena_alloc(&a, 201, 1));
    assert_non_null(arena_alloc(&a, 200, 1));
    assert_null(arena_alloc(&a, 1, 1));
    arena_deinit(&a);
    assert_int_equal(arena_init(&a, 200), STATUS_OK);
    assert_non_null(arena_alloc(&a, 1, 1));
    assert_null(arena_alloc(&a, 137, 1)); /* 64 .. 201 */
    assert_non_null(arena_alloc(&a, 136, 1));
    arena_deinit(&a);
}

static void test_a_refused_piece_takes_no_room(void **state)
{
    struct arena a;

    (void)state;
    assert_int_equal(arena_init(&a, 128), STATUS_OK);
    assert_null(arena_alloc(&a, 129, 1));
    assert_null(arena_alloc(&a, SIZE_MAX / 2 + 1, 2));
    assert_null(arena_alloc(&a, SIZE_MAX, 1));
    assert_non_null(arena_alloc(&a, 2, 64));
    arena_deinit(&a);
}

static void test_short_memory_is_said_and_leaves_nothing(void **state)
{
    struct arena a;

    (void)state;
    mem_fail_at(1);
    assert_int_equal(arena_init(&a, 256), STATUS_MEMORY);
    assert_null(arena_alloc(&a, 1, 1));
    arena_deinit(&a);
    arena_deinit(&a);
    a = (struct arena){0};
    arena_deinit(&a);
}

static void test_a_text_is_copied_with_its_end(void **state)
{
    struct arena a;
    const char *copy;

    (void)state;
    assert_int_equal(arena_init(&a, 64 + 4), STATUS_OK);
    memset(a.base, 0xff, a.size);
    copy = arena_text(&a, "abcdef", 3);
    assert_string_equal(copy, "abc");
    assert_null(arena_text(&a, "abcd", 4));
    assert_string_equal(arena_text(&a, "abc", 3), "abc");
    arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_are_aligned_and_do_not_overlap),
        cmocka_unit_test(test_an_arena_gives_exactly_its_size_and_not_a_byte_more),
        cmocka_unit_test(test_a_refused_piece_takes_no_room),
        cmocka_unit_test(test_short_memory_is_said_and_leaves_nothing),
        cmocka_unit_test(test_a_text_is_copied_with_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
