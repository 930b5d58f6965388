/* gauss_kernel.c -- the kernels' table, and those written in plain C.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/gauss/gauss_kernel.h"

#include "common/gauss/gauss_avx512.h"
#include "common/gauss/gauss_table.h"

#include <string.h>

/* Four words at a time, in whatever registers there are. */
typedef int64_t lanes __attribute__((vector_size(32)));

enum { LANES = sizeof(lanes) / sizeof(int64_t), GROUPS = GAUSS_BLOCK / LANES };

/* Every word is compared with every entry: how many are not above it is the magnitude.  Signed,
 * since older sets compare no others; a comparison that holds gives -1. */
static inline __attribute__((always_inline)) void count(int64_t *restrict magnitude,
                                                        const uint64_t *restrict t,
                                                        uint32_t columns,
                                                        const uint64_t *restrict words)
{
    lanes u[GROUPS], n[GROUPS];

    for (size_t i = 0; i < GAUSS_BLOCK; i++)
        u[i / LANES][i % LANES] = (int64_t)(words[i] >> (64 - GAUSS_WORD_BITS));
    for (size_t k = 0; k < GROUPS; k++)
        n[k] = (lanes){0} + (int64_t)columns * GAUSS_SIDE;
    for (size_t row = 0; row < GAUSS_SIDE; row++) {
        for (size_t c = 0; c < columns; c++) {
            const lanes entry = (lanes){0} + (int64_t)t[row * GAUSS_SIDE + c];

            n[0] += entry > u[0];
            n[1] += entry > u[1];
            n[2] += entry > u[2];
            n[3] += entry > u[3];
        }
    }
    memcpy(magnitude, n, sizeof n);
}

static inline __attribute__((always_inline)) void
draw(int32_t *restrict z, const struct gauss *restrict g, const uint64_t *restrict words)
{
    const uint32_t columns = (g->entries + GAUSS_SIDE - 1) / GAUSS_SIDE;
    int64_t main[GAUSS_BLOCK], rest[GAUSS_BLOCK];

    memset(z, 0, GAUSS_BLOCK * sizeof *z);
    for (uint32_t d = 0; d < g->draws; d++, words += 2 * GAUSS_BLOCK) {
        count(main, g->main, columns, words);
        count(rest, g->rest, columns, words + GAUSS_BLOCK);
        for (size_t i = 0; i < GAUSS_BLOCK; i++) {
            const int64_t left = -(int64_t)(main[i] == (int64_t)g->entries);
            const int64_t sign = -(int64_t)(words[i] & 1);
            const int64_t magnitude = (main[i] & ~left) | (rest[i] & left);

            z[i] += g->factor[d] * (int32_t)((magnitude ^ sign) - sign);
        }
    }
}

static bool anywhere(void)
{
    return true;
}

static void draw_portable(int32_t z[GAUSS_BLOCK], const struct gauss *g, const uint64_t *words)
{
    draw(z, g, words);
}

#ifdef __x86_64__
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

__attribute__((target("avx2"))) static void draw_avx2(int32_t z[GAUSS_BLOCK], const struct gauss *g,
                                                      const uint64_t *words)
{
    draw(z, g, words);
}
#endif

/* The first entry above a word, found one by one. */
static uint32_t search(const uint64_t *t, uint32_t entries, const uint64_t *word)
{
    const uint8_t *b = (const uint8_t *)word;
    uint64_t u = 0;
    uint32_t m = 0;

    for (int i = 7; i >= 0; i--)
        u = u << 8 | b[i];
    while (m < entries && gauss_table_entry(t, m) <= u >> 2)
        m++;
    return m;
}

/* The definition, draw by draw and branch by branch: the twin that the others must equal. */
static void draw_naive(int32_t z[GAUSS_BLOCK], const struct gauss *g, const uint64_t *words)
{
    for (size_t i = 0; i < GAUSS_BLOCK; i++) {
        z[i] = 0;
        for (uint32_t d = 0; d < g->draws; d++) {
            const uint64_t *word = words + (size_t)d * 2 * GAUSS_BLOCK + i;
            uint32_t m = search(g->main, g->entries, word);

            if (m == g->entries)
                m = search(g->rest, g->entries, word + GAUSS_BLOCK);
            z[i] += g->factor[d] * (*(const uint8_t *)word & 1 ? -(int32_t)m : (int32_t)m);
        }
    }
}

const struct gauss_kernel gauss_kernels[] = {
    {"avx512", gauss_avx512_runs_here, gauss_avx512_draw},
#ifdef __x86_64__
    {"avx2", has_avx2, draw_avx2},
#endif
    {"portable", anywhere, draw_portable},
    {"naive", anywhere, draw_naive},
};
const size_t gauss_kernels_n = sizeof gauss_kernels / sizeof gauss_kernels[0];

const struct gauss_kernel *gauss_kernel_best(void)
{
    const struct gauss_kernel *k = gauss_kernels;

    while (!k->runs_here())
        k++;
    return k;
}
