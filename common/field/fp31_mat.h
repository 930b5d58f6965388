/* fp31_mat.h -- products of matrices over F_p, p = 2^31 - 1.
 *
 *   c[i][j] = sum over u of a[i][u] b[u][j]  mod p        i < n, u < k, j < m
 *
 * Exact for all canonical inputs and any sizes, and branch-free on the values, which may be secret.
 * A product has less than 62 bits, so a few are added in 64 before the sum is reduced, and that by
 * adding the bits above the 31st to those below.  With factors balanced, |x| <= (p-1)/2, eight fit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FP31_MAT_H
#define COLONNADE_FIELD_FP31_MAT_H

#include "common/field/fp31.h"
#include "common/field/mat.h"

/* Bytes of scratch for this shape; bounded whatever the shape. */
size_t fp31_mat_space(const struct mat_shape *shape);
/* c overlaps neither a nor b.  Afterwards the scratch holds parts of both, which the caller wipes
 * when they are secret. */
void fp31_mat_mul(uint32_t *c, const uint32_t *a, const uint32_t *b, const struct mat_shape *shape,
                  void *scratch);

/* The definition, element by element: the twin that every kernel must equal. */
void fp31_mat_naive(uint32_t *c, const uint32_t *a, const uint32_t *b,
                    const struct mat_shape *shape);

/* For mat_mul(): the instruction sets, widest first; the last runs everywhere. */
extern const struct mat_kernel *const fp31_mat_kernels[];
extern const size_t fp31_mat_kernels_n;

#endif
