/* fp16_mat.h -- a small public matrix times long rows of elements of F_p, p of at most 16 bits.
 *
 *   out[i][j] = sum over u of c[i][u] in[u][j]  mod p        i < rows, u < terms, j < n
 *
 * Exact, and branch-free on the elements of `in`, which may be secret.  The values are centred,
 * x - (p-1)/2, so that factors are int16 and the hardware adds their products in pairs into int32;
 * what centring changes is one constant a row.  Coefficients are balanced, |c| <= (p-1)/2.
 *
 *   narrow form: the whole sum fits 31 bits, and is reduced once (p < 2^15, and few enough terms);
 *   wide form: coefficients are cut into two balanced bytes, c = 256 c1 + c0, whose sums fit; the
 *   first is reduced, times 256 added to the second, and reduced again.
 *
 * Reduction rounds the quotient in float.  A sum of at most 256 products has |sum / p| < 2^19,
 * which float gets wrong by less than 2^-3 before it rounds, so the remainder stays below 5/8 p.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FP16_MAT_H
#define COLONNADE_FIELD_FP16_MAT_H

#include "common/field/fp16.h"

#include <stddef.h>

enum { FP16_MAT_TERMS_MAX = 256 };

/* A matrix made ready: once for many products. */
struct fp16_mat {
    struct fp16 f;
    uint32_t rows, terms;
    uint32_t pairs; /* ceil(terms / 2) */
    bool wide;
    /* In the caller's space.  Pairs: rows x pairs, c[2k] in the lower half, c[2k+1] in the upper,
     * both int16; a missing last one is 0. */
    int32_t *low;  /* c, or c0 */
    int32_t *high; /* c1; wide only */
    int32_t *bias; /* rows: (p-1)/2 sum of c[i], balanced */
};

/* How many int32_t a matrix of these sizes needs. */
size_t fp16_mat_space(uint32_t rows, uint32_t terms);
/* c: rows x terms canonical, read once; space: fp16_mat_space() of them, which must outlive m.
 * 1 <= terms <= FP16_MAT_TERMS_MAX, rows >= 1 (CHECK). */
void fp16_mat_init(struct fp16_mat *m, int32_t *space, const uint16_t *c, uint32_t rows,
                   uint32_t terms, const struct fp16 *f);
/* out: row i begins at out + i * stride, stride >= n; in: `terms` pointers to n elements each, that
 * may be equal; none overlaps out. */
void fp16_mat_mul(const struct fp16_mat *m, uint16_t *out, size_t stride, const uint16_t *const *in,
                  size_t n);

/* The definition, element by element: the twin that every kernel must equal. */
void fp16_mat_naive(uint16_t *out, size_t stride, const uint16_t *c, const uint16_t *const *in,
                    size_t n, uint32_t rows, uint32_t terms, const struct fp16 *f);

/* The instruction sets, widest first; the last runs everywhere.  For tests and benchmarks. */
struct fp16_mat_kernel {
    const char *name;
    bool (*runs_here)(void);
    void (*mul)(const struct fp16_mat *m, uint16_t *out, size_t stride, const uint16_t *const *in,
                size_t n);
};

extern const struct fp16_mat_kernel fp16_mat_kernels[];
extern const size_t fp16_mat_kernels_n;

#endif
