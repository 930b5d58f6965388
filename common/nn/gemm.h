/* gemm.h -- the matrix products that layers need, row major, float32 but where double is said; the
 * only user of BLAS.
 *
 * Matrices are contiguous.  With one thread the same input gives the same bits on one kind of
 * machine.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_GEMM_H
#define COLONNADE_NN_GEMM_H

#include <stdint.h>

/* c (m x n) = a (m x k) b (k x n) */
void gemm_nn(float *c, const float *a, const float *b, uint32_t m, uint32_t n, uint32_t k);
/* c (m x n) = a' b for a (k x m), b (k x n) */
void gemm_tn(float *c, const float *a, const float *b, uint32_t m, uint32_t n, uint32_t k);
/* The same of parts of wider matrices, whose rows begin ldc, lda and ldb floats apart; `more`: it
 * is added to what is in c. */
void gemm_nn_part(float *c, uint32_t ldc, const float *a, uint32_t lda, const float *b,
                  uint32_t ldb, uint32_t m, uint32_t n, uint32_t k, int more);
void gemm_tn_part(float *c, uint32_t ldc, const float *a, uint32_t lda, const float *b,
                  uint32_t ldb, uint32_t m, uint32_t n, uint32_t k, int more);
/* gemm_tn in double precision, added to what is in c. */
void gemm_tn_add(double *c, const double *a, const double *b, uint32_t m, uint32_t n, uint32_t k);
/* t (n x m) = a' for a (m x n), whose rows begin lda floats apart */
void gemm_transpose(float *t, const float *a, uint32_t m, uint32_t n);
void gemm_transpose_part(float *t, const float *a, uint32_t lda, uint32_t m, uint32_t n);

/* nn_blas_environment (net.h). */
int gemm_environment(void);
/* 1 when a CPU with AVX-512 F, BW, VL and DQ gains by OPENBLAS_CORETYPE=SkylakeX over the core that
 * OpenBLAS chose: `config` and `core` are openblas_get_config() and openblas_get_corename(). */
int gemm_core_gains(const char *config, const char *core);

#endif
