/* gauss.c -- of which table draws a draw is made, and drawing them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/gauss/gauss.h"

#include "common/base/check.h"
#include "common/crypto/secret.h"
#include "common/gauss/gauss_kernel.h"
#include "common/gauss/gauss_table.h"

#include <math.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "random words are read in place");

/* A table ends where a sub-Gaussian variable has less than 2^-106 left: 2 e^(-N^2 / 2 s^2). */
static const double CUT_BITS = 106;

/* x + k y has the law of sigma up to a factor 1 +- e, e = 2 (e^(-2 pi^2 v^2) + ...) with
 * v = sigma / (1 + k^2): 2^-106 here, and so has what is made of more. */
static const double SMOOTH = 1.9392;
#define SMOOTH_DISTANCE 0x1p-105

#define LN2 0.69314718055994530942

/* 8 KiB of random words at a time, so that they are still in the first cache level when read. */
enum { WORDS_MAX = 1024 };

static double entries_for(double s)
{
    return ceil(s * sqrt(2 * LN2 * (CUT_BITS + 1))) + 1;
}

/* Takes sigma apart until one table is enough; returns the product of all 1 + k^2. */
static uint64_t take_apart(struct gauss *g)
{
    uint64_t part = 1;
    double s = g->sigma;

    g->draws = 1;
    g->factor[0] = 1;
    while (entries_for(s) >= GAUSS_ENTRIES) {
        const uint64_t k = (uint64_t)sqrt(s / SMOOTH - 1);

        CHECK(k >= 2 && g->draws < GAUSS_DRAWS_MAX);
        for (uint32_t i = 0; i < g->draws; i++)
            g->factor[g->draws + i] = (int32_t)k * g->factor[i];
        g->draws *= 2;
        part *= 1 + k * k;
        s = g->sigma / sqrt((double)part);
    }
    g->entries = (uint32_t)entries_for(s);
    return part;
}

enum status gauss_init(struct gauss *g, double sigma)
{
    uint64_t part;

    *g = (struct gauss){.sigma = sigma};
    if (!(sigma >= GAUSS_SIGMA_MIN && sigma <= GAUSS_SIGMA_MAX))
        return STATUS_CONFIG;
    part = take_apart(g);
    gauss_table_fill(g, sigma, part);
    g->distance = g->draws * (GAUSS_TABLE_DISTANCE + ldexp(1, -(int)CUT_BITS)) +
                  (g->draws - 1) * SMOOTH_DISTANCE;
    return STATUS_OK;
}

void gauss_deinit(struct gauss *g)
{
    *g = (struct gauss){0};
}

double gauss_distance(const struct gauss *g)
{
    return g->distance;
}

/* The missing elements of the last block are drawn too and dropped. */
void gauss_sample_by(const struct gauss_kernel *kernel, const struct gauss *g, int32_t *z, size_t n,
                     struct rng *r)
{
    uint64_t words[WORDS_MAX] __attribute__((aligned(64)));
    int32_t last[GAUSS_BLOCK];
    const size_t block_words = (size_t)g->draws * 2 * GAUSS_BLOCK;
    size_t blocks = (n + GAUSS_BLOCK - 1) / GAUSS_BLOCK, blocks_max;

    CHECK(g->draws > 0);
    blocks_max = WORDS_MAX / block_words;
    for (size_t take; blocks > 0; blocks -= take) {
        take = blocks < blocks_max ? blocks : blocks_max;
        rng_fill(r, words, take * block_words * sizeof words[0]);
        for (size_t k = 0; k < take; k++) {
            const size_t here = n < GAUSS_BLOCK ? n : GAUSS_BLOCK;

            kernel->draw(here < GAUSS_BLOCK ? last : z, g, words + k * block_words);
            if (here < GAUSS_BLOCK)
                memcpy(z, last, here * sizeof *z);
            z += here;
            n -= here;
        }
    }
    secret_wipe(words, sizeof words);
    secret_wipe(last, sizeof last);
}

void gauss_sample(const struct gauss *g, int32_t *z, size_t n, struct rng *r)
{
    gauss_sample_by(gauss_kernel_best(), g, z, n, r);
}
