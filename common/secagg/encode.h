/* encode.h -- embeddings to what an aggregation adds up, and sums back to embeddings.
 *
 * pbm and fixed give integers (exact under any aggregation); float32 and gaussian give floats, the
 * compressors (common/compress) bytes of their own (clear only).
 *
 *   fixed      x in [-C, C] -> round((x + C) / (2C) * (2^bits - 1)), nearest
 *   gaussian   x + N(0, sigma^2) at each party; sigma^2 = 2 M C^2 / (b beta^2) (`paper`),
 *              M C^2 (1 - 4 beta^2) / (4 b beta^2) (`equal_rdp`), or given, or from (epsilon,
 *              delta, clip) per release
 *   compressors   x clipped to [-C, C], packed; what is unpacked is clipped to [-C, C] again, which
 *              brings it nearer to x and bounds what a lie can do
 *
 * Every encoding is total: an x that is not finite counts as 0, the middle of the box.  Nothing is
 * refused for what a value is, since that would tell of it (docs/security.md).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_ENCODE_H
#define COLONNADE_SECAGG_ENCODE_H

#include "common/base/status.h"
#include "common/compress/compress.h"
#include "common/config/plan.h"
#include "common/crypto/rng.h"
#include "common/pbm/pbm.h"

#include <stdbool.h>

struct encode {
    enum plan_encoding encoding;
    bool integers;
    bool compressed;    /* neither integers nor floats */
    uint32_t value_max; /* integers: largest code of one party (b, or 2^bits - 1) */
    float clip, sigma;
    struct pbm pbm;
    struct compress compress;
};

/* STATUS_CONFIG when the plan's numbers are out of range.  parties: the generation's (Gaussian
 * noise). */
enum status encode_init(struct encode *e, const struct plan *p, uint32_t parties) MUST_USE;
/* Integer encodings: q[n] from x[n].  Noise from r; NULL will do for fixed. */
void encode_integers(const struct encode *e, uint32_t *q, const float *x, size_t n, struct rng *r);
/* y[n] = x[n] clipped to [-C, C]; may be the same array. */
void encode_clip(const struct encode *e, float *y, const float *x, size_t n);
/* Float encodings: y[n] from x[n] (clipped to [-C, C]). */
void encode_floats(const struct encode *e, float *y, const float *x, size_t n, struct rng *r);
/* No honest float code is larger than this in magnitude: C, and with noise what the generator of
 * normals can add at most; with compressors, no value of encode_unpack(). */
float encode_float_max(const struct encode *e);
/* out[n] = estimate of the sum over `parties` from the sum of their codes. */
void encode_estimate(const struct encode *e, float *out, const uint32_t *q_sum, size_t n,
                     uint32_t parties);
/* Does the same x give other codes with other noise?  Then the noise is for the upload alone, and
 * no party computes with its own again (alone.c). */
bool encode_noisy(const struct encode *e);

/* Compressors: out[compress_bytes] from x[n]; clipped[n] is left with x clipped, which is
 * what error feedback measures against (against x, its residual would grow without end wherever x
 * stays beyond C). */
void encode_pack(const struct encode *e, uint8_t *out, float *clipped, const float *x, size_t n,
                 const struct compress_round *r);
/* The same back, y[n] in [-C, C].  False, and y holds anything, when malformed. */
bool encode_unpack(const struct encode *e, float *y, const uint8_t *in, size_t n,
                   const struct compress_round *r) MUST_USE;

#endif
