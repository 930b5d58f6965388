/* test_le.c -- the lowest byte comes first, and what was put is what is taken.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/le.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_the_lowest_byte_comes_first_and_no_other_is_written(void **state)
{
    static const uint8_t want[8] = {0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01};

    (void)state;
    for (size_t n = 0; n <= 8; n++) {
        uint8_t got[9];

        memset(got, 0xee, sizeof got);
        assert_ptr_equal(le_put(got, 0x0102030405060708u, n), got + n);
        assert_memory_equal(got, want, n);
        for (size_t i = n; i < sizeof got; i++)
            assert_int_equal(got[i], 0xee);
    }
}

static void test_a_number_is_taken_from_its_own_bytes_alone(void **state)
{
    static const uint8_t bytes[9] = {0xf8, 0xf7, 0xf6, 0xf5, 0xf4, 0xf3, 0xf2, 0xf1, 0xff};
    static const uint64_t want[9] = {
        0,
        0xf8,
        0xf7f8,
        0xf6f7f8,
        0xf5f6f7f8,
        0xf4f5f6f7f8,
        0xf3f4f5f6f7f8,
        0xf2f3f4f5f6f7f8,
        0xf1f2f3f4f5f6f7f8,
    };

    (void)state;
    for (size_t n = 0; n <= 8; n++) {
        const uint8_t *from = bytes;

        assert_true(le_take(&from, n) == want[n]);
        assert_ptr_equal(from, bytes + n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_lowest_byte_comes_first_and_no_other_is_written),
        cmocka_unit_test(test_a_number_is_taken_from_its_own_bytes_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
