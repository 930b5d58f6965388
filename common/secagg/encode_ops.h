/* encode_ops.h -- what an encoding does: one table of functions for each of the plan's list.
 * Private to common/secagg, whose encode.c has made sure of what an encoding is asked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_ENCODE_OPS_H
#define COLONNADE_SECAGG_ENCODE_OPS_H

#include "common/secagg/encode.h"

struct encode_ops {
    /* What it needs beside the widths, which are there; STATUS_CONFIG when out of range. */
    enum status (*init)(struct encode *e, const struct plan *p, uint32_t parties);
    /* Integers: encode_integers, encode_estimate. */
    void (*integers)(const struct encode *e, uint32_t *q, const float *x, size_t n, struct rng *r);
    void (*estimate)(const struct encode *e, float *out, const uint32_t *q_sum, size_t n,
                     uint32_t parties);
    /* Noisy: encode_price. */
    void (*price)(const struct encode *e, struct account_entry *out);
};

#define ENCODE_OPS(id, name) extern const struct encode_ops encode_##name;
PLAN_ENCODING_LIST(ENCODE_OPS)
#undef ENCODE_OPS

/* round((x + C) / 2C * top), nearest, of [-C, C]. */
void encode_round(uint32_t *restrict q, const float *restrict x, size_t n, double clip, double top);

#endif
