/* mat.h -- C = A B cut into blocks that stay in the caches.
 *
 * What an element is, only a kernel knows: it packs rows of A and panels of B into the form it
 * multiplies, and adds the product of a few packed rows with a panel to a tile of C.  Everything
 * about sizes and tails is here.  Users go through fp31_mat.h and fp61_mat.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_MAT_H
#define COLONNADE_FIELD_MAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* C (n x m) = A (n x k) B (k x m), row by row; row i of A begins at element i * lda, and so on.
 * lda >= k, ldb >= m, ldc >= m. */
struct mat_shape {
    size_t n, k, m;
    size_t lda, ldb, ldc;
};

/* One tile: `rows` packed rows of A, `depth` long, times a packed panel of which `columns` columns
 * are there; 1 <= rows <= those of the kernel, the same for columns, depth >= 1. */
struct mat_tile {
    const void *a, *b;
    size_t a_stride; /* from a packed row to the next, in bytes */
    size_t depth;
    uint32_t rows, columns;
    bool add; /* to what C has, canonical, instead of to 0 */
};

struct mat_kernel {
    const char *name;
    bool (*runs_here)(void);
    uint32_t element;       /* bytes of an element of A, B and C */
    uint32_t packed_a;      /* bytes of a packed element of A */
    uint32_t packed_b;      /* the same of B */
    uint32_t rows, columns; /* of a full tile; a panel has `columns` columns */
    uint32_t depth;         /* the longest part of k that is packed at once */
    void (*pack_a)(void *restrict out, const void *restrict a, size_t depth);
    /* Columns that are not there become 0. */
    void (*pack_b)(void *restrict out, const void *restrict b, size_t ldb, size_t depth,
                   uint32_t columns);
    void (*tile)(void *c, size_t ldc, const struct mat_tile *t); /* ldc in elements */
};

/* Bytes of scratch that mat_mul() needs, at any alignment. */
size_t mat_space(const struct mat_kernel *kernel, const struct mat_shape *shape);
/* C overlaps neither A nor B.  Afterwards the scratch holds both in another form: the caller wipes
 * it when they are secret.  Sizes outside the contract abort (CHECK). */
void mat_mul(const struct mat_kernel *kernel, void *c, const void *a, const void *b,
             const struct mat_shape *shape, void *scratch);

#endif
