/* pbm_kernel.c -- the kernels' table, and those written in plain C.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/pbm/pbm_kernel.h"

#include "common/pbm/pbm_avx512.h"

/* A loop that the compiler turns into whole registers, once for each instruction set it is told of.
 */
#define COUNT_ROWS                                                                                 \
    for (size_t k = 0; k < rows; k++)                                                              \
        for (size_t i = 0; i < PBM_BLOCK; i++)                                                     \
            count[i] = (uint16_t)(count[i] + (words[k * PBM_BLOCK + i] < t[i]));

static bool anywhere(void)
{
    return true;
}

static void count_portable(uint16_t count[restrict PBM_BLOCK], const uint16_t t[restrict PBM_BLOCK],
                           const uint16_t *restrict words, size_t rows)
{
    COUNT_ROWS
}

#ifdef __x86_64__
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

__attribute__((target("avx2"))) static void count_avx2(uint16_t count[restrict PBM_BLOCK],
                                                       const uint16_t t[restrict PBM_BLOCK],
                                                       const uint16_t *restrict words, size_t rows)
{
    COUNT_ROWS
}
#endif

/* The definition, element by element and branch by branch: the twin that the others must equal. */
static void count_naive(uint16_t count[PBM_BLOCK], const uint16_t t[PBM_BLOCK],
                        const uint16_t *words, size_t rows)
{
    for (size_t i = 0; i < PBM_BLOCK; i++) {
        for (size_t k = 0; k < rows; k++) {
            const uint8_t *w = (const uint8_t *)(words + k * PBM_BLOCK + i);

            if ((w[0] | w[1] << 8) < t[i])
                count[i]++;
        }
    }
}

const struct pbm_kernel pbm_kernels[] = {
    {"avx512", pbm_avx512_runs_here, pbm_avx512_count},
#ifdef __x86_64__
    {"avx2", has_avx2, count_avx2},
#endif
    {"portable", anywhere, count_portable},
    {"naive", anywhere, count_naive},
};
const size_t pbm_kernels_n = sizeof pbm_kernels / sizeof pbm_kernels[0];

const struct pbm_kernel *pbm_kernel_best(void)
{
    const struct pbm_kernel *k = pbm_kernels;

    while (!k->runs_here())
        k++;
    return k;
}
