/* test_fp61_vec.c -- vectors of 2^61 - 1: the laws of every field, and packing that is its own.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp61_vec.h"

#include "tests/lib/aborts.h"
#include "tests/unit/field/laws_vec.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static void ask(void *arg)
{
    fp61_vec_bytes(*(const size_t *)arg);
}

static void test_a_run_that_no_memory_could_hold_aborts(void **state)
{
    size_t most = (SIZE_MAX - 7) / FP61_BITS, more = most + 1;

    (void)state;
    assert_int_equal(fp61_vec_bytes(most), (most * FP61_BITS + 7) / 8);
    assert_false(aborts(ask, &most));
    assert_true(aborts(ask, &more));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_that_no_memory_could_hold_aborts),
    };

    return laws_vec(&subject_61) + cmocka_run_group_tests(tests, NULL, NULL);
}
