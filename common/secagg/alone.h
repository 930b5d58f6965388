/* alone.h -- what one party's values amount to without the others, and without noise.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_ALONE_H
#define COLONNADE_SECAGG_ALONE_H

#include "common/secagg/secagg.h"

/* secagg_alone. */
void alone_estimate(const struct secagg_shape *s, float *y, const float *x, size_t n,
                    const struct secagg_round *r);

#endif
