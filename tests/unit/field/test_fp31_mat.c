/* test_fp31_mat.c -- matrices over 2^31 - 1: the laws of every field, and a sum that only balanced
 * factors make.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp31_mat.h"

#include "tests/unit/field/laws_mat.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

/* -2^62 is folded to -2^31, and that to -1: the one way below 0. */
static void test_a_sum_that_is_still_negative_when_reduced(void **state)
{
    const struct mat_shape shape = {.n = 1, .k = 5, .m = 1, .lda = 5, .ldb = 1, .ldc = 1};
    static uint8_t space[1 << 16];
    const int32_t factor = 0x3ffffffe;
    uint32_t a[5], b[5], c;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        a[i] = fp31_from_signed(factor);
        b[i] = fp31_from_signed(-factor);
    }
    a[4] = (1 << 17) - 4;
    b[4] = fp31_from_signed(-(1 << 17) - 4);
    fp31_mat_naive(&c, a, b, &shape);
    assert_int_equal(c, FP31_P - 1);
    for (size_t k = 0; k < fp31_mat_kernels_n; k++) {
        if (!fp31_mat_kernels[k]->runs_here())
            continue;
        assert_true(mat_space(fp31_mat_kernels[k], &shape) <= sizeof space);
        c = 0;
        mat_mul(fp31_mat_kernels[k], &c, a, b, &shape, space);
        assert_int_equal(c, FP31_P - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sum_that_is_still_negative_when_reduced),
    };

    return laws_mat(&subject_31) + cmocka_run_group_tests(tests, NULL, NULL);
}
