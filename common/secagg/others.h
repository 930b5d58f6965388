/* others.h -- what was added up, at a party: without its own part.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_OTHERS_H
#define COLONNADE_SECAGG_OTHERS_H

#include "common/secagg/secagg.h"

/* Are the members' payloads shown, and not a sum of them? */
bool others_apart(const struct secagg_shape *s);
/* Bits of a shown sum of codes. */
uint32_t others_sum_width(const struct secagg_shape *s);

/* The arguments of secagg_others. */
struct others_of {
    const uint8_t *shown;
    const float *own;
    size_t n;
    uint32_t width;
    const struct secagg_round *round;
};

/* secagg_others. */
enum status others_estimate(const struct secagg_shape *s, float *out, const struct others_of *o,
                            struct error *err) MUST_USE;

#endif
