/* gemm.c -- matrix products by OpenBLAS, and the environment it wants.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/gemm.h"

#include "common/base/check.h"

#include <cblas.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int dim(uint32_t n)
{
    CHECK(n <= INT_MAX);
    return (int)n;
}

void gemm_nn(float *c, const float *a, const float *b, uint32_t m, uint32_t n, uint32_t k)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, dim(m), dim(n), dim(k), 1.0F, a, dim(k),
                b, dim(n), 0.0F, c, dim(n));
}

void gemm_tn(float *c, const float *a, const float *b, uint32_t m, uint32_t n, uint32_t k)
{
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, dim(m), dim(n), dim(k), 1.0F, a, dim(m), b,
                dim(n), 0.0F, c, dim(n));
}

void gemm_nn_part(float *c, uint32_t ldc, const float *a, uint32_t lda, const float *b,
                  uint32_t ldb, uint32_t m, uint32_t n, uint32_t k, int more)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, dim(m), dim(n), dim(k), 1.0F, a,
                dim(lda), b, dim(ldb), more ? 1.0F : 0.0F, c, dim(ldc));
}

void gemm_tn_part(float *c, uint32_t ldc, const float *a, uint32_t lda, const float *b,
                  uint32_t ldb, uint32_t m, uint32_t n, uint32_t k, int more)
{
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, dim(m), dim(n), dim(k), 1.0F, a, dim(lda),
                b, dim(ldb), more ? 1.0F : 0.0F, c, dim(ldc));
}

void gemm_tn_add(double *c, const double *a, const double *b, uint32_t m, uint32_t n, uint32_t k)
{
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, dim(m), dim(n), dim(k), 1.0, a, dim(m), b,
                dim(n), 1.0, c, dim(n));
}

void gemm_transpose(float *t, const float *a, uint32_t m, uint32_t n)
{
    gemm_transpose_part(t, a, n, m, n);
}

void gemm_transpose_part(float *t, const float *a, uint32_t lda, uint32_t m, uint32_t n)
{
    cblas_somatcopy(CblasRowMajor, CblasTrans, dim(m), dim(n), 1.0F, a, dim(lda), t, dim(m));
}

int gemm_core_gains(const char *config, const char *core)
{
    /* OpenBLAS 0.3.21 (Debian 12) knows CPUs by model number: on one that is younger than itself it
     * takes the AVX2 core of the same maker.  Cores that have AVX-512 kernels (SkylakeX,
     * Cooperlake, SapphireRapids and what later versions add) are left as they are, and so is a
     * build for one core, which does not read the variable. */
    return strstr(config, "DYNAMIC_ARCH") != NULL &&
           (strcmp(core, "Haswell") == 0 || strcmp(core, "Zen") == 0);
}

static int cpu_has_avx512(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
    return 0;
#endif
}

/* Sets what is unset; a value that someone chose, even an empty one, stays. */
static int set_default(const char *name, const char *value)
{
    return getenv(name) == NULL && setenv(name, value, 1) == 0;
}

int gemm_environment(void)
{
    int changed = set_default("OPENBLAS_NUM_THREADS", "1");

    /* Whatever the variable says: a thread of the library's own would compute in a mode of its own
     * (common/base/subnormal.h). */
    openblas_set_num_threads(1);

    if (cpu_has_avx512() && gemm_core_gains(openblas_get_config(), openblas_get_corename()))
        changed |= set_default("OPENBLAS_CORETYPE", "SkylakeX");
    return changed;
}
