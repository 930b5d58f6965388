/* fp61_mat.h -- products of matrices over F_p, p = 2^61 - 1.
 *
 *   c[i][j] = sum over u of a[i][u] b[u][j]  mod p        i < n, u < k, j < m
 *
 * Exact for all canonical inputs and any sizes, and branch-free on the values, which may be secret.
 * In plain C up to 64 products are added in 128 bits before the sum is reduced, and that by adding
 * the bits above the 61st to those below.  With vectors an element is balanced and cut in two,
 *
 *   x = x1 2^31 + x0      |x0| <= 2^30, |x1| <= 2^29
 *   a b = a1 b1 2^62 + ((a0 + a1)(b0 + b1) - a0 b0 - a1 b1) 2^31 + a0 b0
 *
 * three products instead of four (Karatsuba and Ofman 1962), each sum of them in 64 bits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FP61_MAT_H
#define COLONNADE_FIELD_FP61_MAT_H

#include "common/field/fp61.h"
#include "common/field/mat.h"

/* Bytes of scratch for this shape; bounded whatever the shape. */
size_t fp61_mat_space(const struct mat_shape *shape);
/* c overlaps neither a nor b.  Afterwards the scratch holds parts of both, which the caller wipes
 * when they are secret. */
void fp61_mat_mul(uint64_t *c, const uint64_t *a, const uint64_t *b, const struct mat_shape *shape,
                  void *scratch);

/* The definition, element by element: the twin that every kernel must equal. */
void fp61_mat_naive(uint64_t *c, const uint64_t *a, const uint64_t *b,
                    const struct mat_shape *shape);

/* For mat_mul(): the instruction sets, widest first; the last runs everywhere. */
extern const struct mat_kernel *const fp61_mat_kernels[];
extern const size_t fp61_mat_kernels_n;

#endif
