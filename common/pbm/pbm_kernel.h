/* pbm_kernel.h -- the inner loop of the sampler, in the forms this CPU can run.  Private to
 * common/pbm.
 *
 * All kernels compute the same numbers; they differ in speed alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PBM_PBM_KERNEL_H
#define COLONNADE_PBM_PBM_KERNEL_H

#include "common/pbm/pbm.h"

enum { PBM_LANES = 32 }; /* elements that are drawn side by side */

struct pbm_kernel {
    const char *name;
    /* count[i] += number of rows r with words[r * PBM_LANES + i] < t[i]; words little-endian. */
    void (*count)(uint16_t count[PBM_LANES], const uint16_t t[PBM_LANES], const uint16_t *words,
                  size_t rows);
};

/* The i-th kernel that runs here, best first; NULL past the last. */
const struct pbm_kernel *pbm_kernel_at(size_t i);

/* As pbm_sample, by the given kernel. */
void pbm_sample_by(const struct pbm_kernel *k, const struct pbm *p, uint32_t *q, const float *x,
                   size_t n, struct rng *r);

#endif
