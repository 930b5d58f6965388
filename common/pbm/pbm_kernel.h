/* pbm_kernel.h -- counting words below thresholds: one definition, several instruction sets.
 *
 * The order of the random words is part of the mechanism's definition, so that a seeded run gives
 * the same codes on every machine: elements go in blocks of 32; a block takes `trials` rows of 32
 * words; the word of element i in trial k is word k * 32 + i, little-endian.  Private to common/pbm
 * and its tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PBM_PBM_KERNEL_H
#define COLONNADE_PBM_PBM_KERNEL_H

#include "common/pbm/pbm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PBM_BLOCK = 32 };

struct pbm_kernel {
    const char *name;
    bool (*runs_here)(void); /* has this CPU the instructions? */
    /* count[i] += number of rows whose word i is below t[i].  words: rows x PBM_BLOCK, 64-aligned.
     */
    void (*count)(uint16_t count[PBM_BLOCK], const uint16_t t[PBM_BLOCK], const uint16_t *words,
                  size_t rows);
};

/* Widest first; the last is the naive twin, which runs everywhere. */
extern const struct pbm_kernel pbm_kernels[];
extern const size_t pbm_kernels_n;

/* The widest that runs here. */
const struct pbm_kernel *pbm_kernel_best(void);

/* pbm_sample by a kernel of one's choice. */
void pbm_sample_by(const struct pbm_kernel *kernel, const struct pbm *p, uint32_t *q,
                   const float *x, size_t n, struct rng *r);

/* t of one value; of one that is not finite that of 0. */
uint16_t pbm_threshold(const struct pbm *p, float x);

#endif
