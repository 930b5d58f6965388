/* lattice_scale.h -- the scale and the region under which a message comes back best.  Private to
 * common/compress.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_COMPRESS_LATTICE_SCALE_H
#define COLONNADE_COMPRESS_LATTICE_SCALE_H

#include "common/compress/lattice.h"

/* Tries scales on a sample of the message's blocks, those of the largest norms among them, and
 * takes that of the smallest squared error: golden-section search between 0.7 and 2 max / rms times
 * 2 rms / 2^b for a round region, then near the result for a square one.  The dithers of the trials
 * are a stream of their own, always the same, so that the scale depends on x alone and unpacking
 * stays right on average. */
void lattice_scale_fit(struct lattice_fit *fit, enum plan_encoding kind, uint32_t bits,
                       const float *x, size_t n);

/* The least scale of Z by which no value in [-range, range] overloads under any dither: what comes
 * back of them is right on average, at the ends, too. */
float lattice_scale_spanning(uint32_t bits, float range);

#endif
