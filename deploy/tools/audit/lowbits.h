/* lowbits.h -- what the low bits of released values tell, which no law of their size does.
 *
 * Noise that was added in floating point leaves a trace (Mironov 2012): x + noise, rounded, is a
 * multiple of what the noise was rounded to, and how coarse that is depends on x, so that some
 * values can come from one neighbour alone.  Two things are known of each value: into which cell it
 * falls, by its sign, its exponent, two bits of where it lies between two powers of two, and its
 * lowest bit that is set; and from which of both neighbours' sums it can be reached by adding any
 * float32.  How often either side's values are of each kind is counted on the first half of each
 * side; on the second, the logarithms of the ratios are added up to a number that is judged by a
 * threshold (bound.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_AUDIT_LOWBITS_H
#define COLONNADE_TOOLS_AUDIT_LOWBITS_H

#include "deploy/tools/audit/bound.h"
#include "deploy/tools/audit/view.h"

/* What the server and `held` parties see of the canaries that were released exactly once, at
 * `delta`.  n or m 0: of one side there is none such. */
enum status lowbits(struct bound_test *out, const struct view_of *of, uint32_t held, double delta,
                    struct error *err) MUST_USE;

#endif
