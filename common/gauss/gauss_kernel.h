/* gauss_kernel.h -- from random words to draws: one definition, several instruction sets.
 *
 * The order of the words is part of the definition, so that a seeded run draws the same on every
 * machine: draws go in blocks of 16, and a block takes, for each of its table draws in turn, 16
 * words for `main` and 16 for `rest`, little-endian.  The upper 62 bits of a word are compared with
 * the entries; the lowest of the word for `main` is the sign.  Private to common/gauss and its
 * tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_GAUSS_GAUSS_KERNEL_H
#define COLONNADE_GAUSS_GAUSS_KERNEL_H

#include "common/gauss/gauss.h"

#include <stdbool.h>

enum { GAUSS_BLOCK = 16 };

struct gauss_kernel {
    const char *name;
    bool (*runs_here)(void); /* has this CPU the instructions? */
    /* words: draws x 2 x GAUSS_BLOCK. */
    void (*draw)(int32_t z[GAUSS_BLOCK], const struct gauss *g, const uint64_t *words);
};

/* Widest first; the last is the naive twin, which runs everywhere. */
extern const struct gauss_kernel gauss_kernels[];
extern const size_t gauss_kernels_n;

/* The widest that runs here. */
const struct gauss_kernel *gauss_kernel_best(void);

/* gauss_sample by a kernel of one's choice. */
void gauss_sample_by(const struct gauss_kernel *kernel, const struct gauss *g, int32_t *z, size_t n,
                     struct rng *r);

#endif
