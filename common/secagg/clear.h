/* clear.h -- no protection: the measured baseline.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_CLEAR_H
#define COLONNADE_SECAGG_CLEAR_H

#include "common/secagg/ops.h"

extern const struct secagg_ops clear_ops;

/* The arguments of secagg_open. */
struct clear_upload {
    const uint8_t *payload;
    size_t n;
    uint32_t member;
    const uint8_t *dither;
};

/* secagg_open. */
enum status clear_open(const struct secagg_shape *s, float *out, const struct clear_upload *u,
                       struct error *err) MUST_USE;

#endif
