/* test_gemm.c -- matrix products against the definition; what the environment of OpenBLAS becomes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/gemm.h"

#include "tests/unit/nn/sample.h"

#include <string.h>
#include <stdlib.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { MOST = 70 };

static const uint32_t SHAPES[][3] = {{1, 1, 1},    {1, 7, 3},    {7, 1, 5},   {3, 4, 1},  {5, 6, 7},
                                     {16, 16, 16}, {17, 33, 65}, {64, 70, 6}, {70, 2, 64}};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof SHAPES[0] };

static float a[MOST * MOST], b[MOST * MOST], c[MOST * MOST];
static double want[MOST * MOST];

static void test_nn_is_the_matrix_product(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (size_t s = 0; s < SHAPE_COUNT; s++) {
        const uint32_t m = SHAPES[s][0], n = SHAPES[s][1], k = SHAPES[s][2];

        sample_fill(a, m * k, 1.0F, &seed);
        sample_fill(b, k * n, 1.0F, &seed);
        memset(c, 0xff, sizeof c); /* NaN: the old content must not count */
        gemm_nn(c, a, b, m, n, k);
        for (uint32_t i = 0; i < m; i++)
            for (uint32_t j = 0; j < n; j++) {
                want[i * n + j] = 0.0;
                for (uint32_t l = 0; l < k; l++)
                    want[i * n + j] += (double)a[i * k + l] * (double)b[l * n + j];
            }
        assert_int_equal(sample_misses(c, want, m * n, 1e-5, 1e-5), 0);
    }
}

static void test_tn_is_the_product_with_the_left_side_transposed(void **state)
{
    uint64_t seed = 2;

    (void)state;
    for (size_t s = 0; s < SHAPE_COUNT; s++) {
        const uint32_t m = SHAPES[s][0], n = SHAPES[s][1], k = SHAPES[s][2];

        sample_fill(a, m * k, 1.0F, &seed);
        sample_fill(b, k * n, 1.0F, &seed);
        memset(c, 0xff, sizeof c);
        gemm_tn(c, a, b, m, n, k);
        for (uint32_t i = 0; i < m; i++)
            for (uint32_t j = 0; j < n; j++) {
                want[i * n + j] = 0.0;
                for (uint32_t l = 0; l < k; l++)
                    want[i * n + j] += (double)a[l * m + i] * (double)b[l * n + j];
            }
        assert_int_equal(sample_misses(c, want, m * n, 1e-5, 1e-5), 0);
    }
}

static void test_transpose_moves_every_element(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (size_t s = 0; s < SHAPE_COUNT; s++) {
        const uint32_t m = SHAPES[s][0], n = SHAPES[s][1];

        sample_fill(a, m * n, 1.0F, &seed);
        gemm_transpose(c, a, m, n);
        for (uint32_t i = 0; i < m; i++)
            for (uint32_t j = 0; j < n; j++)
                assert_true(c[j * m + i] == a[i * n + j]);
    }
}

static void test_only_avx2_cores_of_a_dynamic_build_gain(void **state)
{
    const char *dynamic =
        "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY Haswell MAX_THREADS=64";
    const char *fixed = "OpenBLAS 0.3.21 NO_LAPACKE NO_AFFINITY Haswell MAX_THREADS=64";

    (void)state;
    assert_true(gemm_core_gains(dynamic, "Haswell"));
    assert_true(gemm_core_gains(dynamic, "Zen"));
    assert_false(gemm_core_gains(fixed, "Haswell"));
    assert_false(gemm_core_gains(dynamic, "SkylakeX"));
    assert_false(gemm_core_gains(dynamic, "Cooperlake"));
    assert_false(gemm_core_gains(dynamic, "SapphireRapids"));
    assert_false(gemm_core_gains(dynamic, "armv8"));
    assert_false(gemm_core_gains(dynamic, "a name of the future"));
}

static void test_environment_is_set_once(void **state)
{
    (void)state;
    unsetenv("OPENBLAS_NUM_THREADS");
    unsetenv("OPENBLAS_CORETYPE");
    assert_int_equal(gemm_environment(), 1);
    assert_string_equal(getenv("OPENBLAS_NUM_THREADS"), "1");
    assert_int_equal(gemm_environment(), 0); /* or a program would re-execute itself for ever */
}

static void test_environment_keeps_what_somebody_chose(void **state)
{
    (void)state;
    setenv("OPENBLAS_NUM_THREADS", "2", 1);
    setenv("OPENBLAS_CORETYPE", "Haswell", 1);
    assert_int_equal(gemm_environment(), 0);
    assert_string_equal(getenv("OPENBLAS_NUM_THREADS"), "2");
    assert_string_equal(getenv("OPENBLAS_CORETYPE"), "Haswell");
    setenv("OPENBLAS_CORETYPE", "", 1);
    assert_int_equal(gemm_environment(), 0);
    assert_string_equal(getenv("OPENBLAS_CORETYPE"), "");
}

/* OpenBLAS's own, whose header stays where it is wrapped. */
void openblas_set_num_threads(int n);
int openblas_get_num_threads(void);

/* A thread of the library's own would not flush what is too small (common/base/subnormal.h). */
static void test_products_are_made_on_one_thread_whatever_the_environment_says(void **state)
{
    (void)state;
    openblas_set_num_threads(4);
    (void)gemm_environment();
    assert_int_equal(openblas_get_num_threads(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nn_is_the_matrix_product),
        cmocka_unit_test(test_tn_is_the_product_with_the_left_side_transposed),
        cmocka_unit_test(test_transpose_moves_every_element),
        cmocka_unit_test(test_only_avx2_cores_of_a_dynamic_build_gain),
        cmocka_unit_test(test_environment_is_set_once),
        cmocka_unit_test(test_environment_keeps_what_somebody_chose),
        cmocka_unit_test(test_products_are_made_on_one_thread_whatever_the_environment_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
