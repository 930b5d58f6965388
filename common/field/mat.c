/* mat.c -- for each part of k: for each block of rows of A: for each panel of B: all tiles.
 *
 * The block of A is read once for each panel and lies in the second cache level; the panel is read
 * once for each tile and lies in the first or second.  C is canonical between two parts of k.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/mat.h"

#include "common/base/check.h"

#include <string.h>

enum {
    ROWS = 256, /* of a block of A: what packing a panel again for each block costs is one in 256 */
    ALIGN = 64, /* a line of the caches */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t align(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t space_a(const struct mat_kernel *kernel, const struct mat_shape *s)
{
    return align(least(s->n, ROWS) * least(s->k, kernel->depth) * kernel->packed_a);
}

size_t mat_space(const struct mat_kernel *kernel, const struct mat_shape *s)
{
    const size_t panel = least(s->k, kernel->depth) * kernel->columns * kernel->packed_b;

    return ALIGN + space_a(kernel, s) + align(panel);
}

static void panel_tiles(const struct mat_kernel *kernel, uint8_t *c, size_t ldc, struct mat_tile t,
                        size_t rows)
{
    for (size_t i = 0; i < rows; i += kernel->rows) {
        t.rows = (uint32_t)least(rows - i, kernel->rows);
        kernel->tile(c + i * ldc * kernel->element, ldc, &t);
        t.a = (const uint8_t *)t.a + kernel->rows * t.a_stride;
    }
}

/* Part of k: `depth` from `from` on. */
struct part {
    size_t from, depth;
    uint8_t *a, *b; /* scratch */
};

static void block_of_rows(const struct mat_kernel *kernel, uint8_t *c, const uint8_t *b,
                          const struct mat_shape *s, const struct part *p, size_t rows)
{
    struct mat_tile t = {.a = p->a, .b = p->b, .depth = p->depth, .add = p->from > 0};

    t.a_stride = p->depth * kernel->packed_a;
    for (size_t j = 0; j < s->m; j += kernel->columns) {
        t.columns = (uint32_t)least(s->m - j, kernel->columns);
        kernel->pack_b(p->b, b + (p->from * s->ldb + j) * kernel->element, s->ldb, p->depth,
                       t.columns);
        panel_tiles(kernel, c + j * kernel->element, s->ldc, t, rows);
    }
}

static void part_of_k(const struct mat_kernel *kernel, uint8_t *c, const uint8_t *a,
                      const uint8_t *b, const struct mat_shape *s, const struct part *p)
{
    for (size_t i = 0, rows; i < s->n; i += rows) {
        rows = least(s->n - i, ROWS);
        for (size_t r = 0; r < rows; r++)
            kernel->pack_a(p->a + r * p->depth * kernel->packed_a,
                           a + ((i + r) * s->lda + p->from) * kernel->element, p->depth);
        block_of_rows(kernel, c + i * s->ldc * kernel->element, b, s, p, rows);
    }
}

void mat_mul(const struct mat_kernel *kernel, void *c, const void *a, const void *b,
             const struct mat_shape *s, void *scratch)
{
    struct part p = {.a = scratch};

    CHECK(s->lda >= s->k && s->ldb >= s->m && s->ldc >= s->m);
    p.a += (ALIGN - (uintptr_t)scratch % ALIGN) % ALIGN;
    p.b = p.a + space_a(kernel, s);
    if (s->k == 0)
        for (size_t i = 0; i < s->n; i++)
            memset((uint8_t *)c + i * s->ldc * kernel->element, 0, s->m * kernel->element);
    for (; p.from < s->k; p.from += p.depth) {
        p.depth = least(s->k - p.from, kernel->depth);
        part_of_k(kernel, c, a, b, s, &p);
    }
}
