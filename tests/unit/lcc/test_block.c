/* test_block.c -- parts that follow each other, aligned, inside of what was asked for.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/lcc/block.h"

#include "common/base/mem.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { PARTS = 6 };

static const size_t counts[PARTS] = {1, 0, 64, 65, 3, 7}, sizes[PARTS] = {1, 8, 1, 1, 8, 40};

static size_t cut_all(uint8_t **part, void *block)
{
    size_t at = 0;

    for (uint32_t i = 0; i < PARTS; i++)
        part[i] = block_cut(&at, block, counts[i], sizes[i]);
    return at;
}

static void test_parts_are_aligned_and_do_not_meet(void **state)
{
    uint8_t *part[PARTS], *block;
    size_t bytes;

    (void)state;
    bytes = cut_all(part, NULL);
    assert_int_equal(bytes, 64 + 0 + 64 + 128 + 64 + 320);
    block = mem_alloc(bytes, 1);
    assert_non_null(block);
    assert_int_equal(cut_all(part, block), bytes);
    for (uint32_t i = 0; i < PARTS; i++) {
        const uint8_t *end = i + 1 < PARTS ? part[i + 1] : block + bytes;

        assert_int_equal((uintptr_t)part[i] % MEM_ALIGNMENT, 0);
        assert_true(part[i] + counts[i] * sizes[i] <= end);
    }
    assert_ptr_equal(part[0], block);
    mem_free(block);
}

static void test_without_a_block_there_are_no_parts(void **state)
{
    uint8_t *part[PARTS];

    (void)state;
    assert_true(cut_all(part, NULL) > 0);
    for (uint32_t i = 0; i < PARTS; i++)
        assert_null(part[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_are_aligned_and_do_not_meet),
        cmocka_unit_test(test_without_a_block_there_are_no_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
