/* test_lane_avx512.c -- the kernel beside the definition; nothing past its last whole register.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/lane_avx512.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { LANES_MAX = 200 };

static uint32_t number(size_t i, uint32_t salt)
{
    uint32_t v = (uint32_t)i * 2654435761U + salt * 40503U;

    return v ^ v >> 13;
}

/* The kernel stops at its last whole register; what it leaves is the loop's. */
static void test_the_kernel_does_whole_registers_and_says_how_many(void **state)
{
    uint16_t sum[LANES_MAX], in[LANES_MAX] = {0};

    (void)state;
    if (!lane_avx512_runs_here())
        skip();
    for (size_t n = 0; n <= LANES_MAX; n++) {
        size_t done;

        for (size_t i = 0; i < LANES_MAX; i++) {
            sum[i] = (uint16_t)number(i, 5);
            in[i] = (uint16_t)number(i, 6);
        }
        done = lane_avx512_add16(sum, in, n);
        assert_true(done <= n && n - done < 32);
        for (size_t i = 0; i < LANES_MAX; i++)
            assert_int_equal(sum[i],
                             (number(i, 5) + (i < done ? number(i, 6) & 0xffff : 0)) & 0xffff);
        assert_int_equal(lane_avx512_sub16(sum, in, n), done);
        for (size_t i = 0; i < LANES_MAX; i++)
            assert_int_equal(sum[i], number(i, 5) & 0xffff);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_kernel_does_whole_registers_and_says_how_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
