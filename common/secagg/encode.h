/* encode.h -- embeddings to what an aggregation adds up, and sums back to embeddings.
 *
 * pbm, fixed and gaussian give integers (exact under any aggregation), float32 floats, the
 * compressors (common/compress) bytes of their own (clear only).
 *
 *   fixed      x in [-C, C] -> round((x + C) / (2C) * (2^bits - 1)), nearest
 *   gaussian   x in [-C, C] -> round(x / gamma), nearest, plus a discrete Gaussian draw of the
 *              plan's sigma / gamma steps (common/config/plan_noise.h), gamma = C / levels
 *   compressors   x clipped to [-C, C], packed; what is unpacked is clipped to [-C, C] again, which
 *              brings it nearer to x and bounds what a lie can do
 *
 * Every encoding is total: an x that is not finite counts as 0, the middle of the box.  Nothing is
 * refused for what a value is, since that would tell of it (docs/security.md).
 *
 * Codes of pbm and fixed are 0 .. value_max, and sums of them 0 .. value_max M: what is above is
 * wrong.  Codes of gaussian are whole numbers of either sign in two's complement, which are only
 * ever reduced, mod 2^w or mod p, after the noise is in: any residue is a code and a sum, and w and
 * p only decide how often the residue nearest to 0 is not the sum (docs/adr/0019).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_ENCODE_H
#define COLONNADE_SECAGG_ENCODE_H

#include "common/base/status.h"
#include "common/compress/compress.h"
#include "common/config/plan.h"
#include "common/crypto/rng.h"
#include "common/gauss/gauss.h"
#include "common/pbm/pbm.h"
#include "common/privacy/account.h"

#include <stdbool.h>

struct encode {
    enum plan_encoding encoding;
    bool integers;
    /* The same x gives other codes with other noise, which is for the upload alone: no party
     * computes with its own again (alone.c). */
    bool noisy;
    bool residues;        /* integers of either sign, of which any residue will do (gaussian) */
    bool compressed;      /* neither integers nor floats */
    uint32_t value_max;   /* integers but residues: largest code of one party (b, or 2^bits - 1) */
    uint64_t span;        /* integers: how many sums over all parties there are, less one */
    uint32_t code_bits;   /* integers: of one party's code in clear */
    uint32_t sum_bits;    /* integers: of a sum over all parties */
    uint32_t masked_bits; /* integers: of a sum under masks */
    float clip;
    uint32_t levels;    /* gaussian: L */
    double step, sigma; /* gaussian: gamma; of one party's noise, in units of x */
    struct pbm pbm;
    struct gauss gauss;
    struct compress compress;
};

/* STATUS_CONFIG when the plan's numbers are out of range.  parties: the generation's. */
enum status encode_init(struct encode *e, const struct plan *p, uint32_t parties) MUST_USE;
/* Integer encodings: q[n] from x[n].  Noise from r; NULL will do for fixed.  Runs of a multiple of
 * ENCODE_BLOCK values, one after the other, give the codes of one long run. */
void encode_integers(const struct encode *e, uint32_t *q, const float *x, size_t n, struct rng *r);
enum { ENCODE_BLOCK = 1024 };
/* y[n] = x[n] clipped to [-C, C]; may be the same array.  Floats are sent like this, so that C is
 * the largest that any honest one can be. */
void encode_clip(const struct encode *e, float *y, const float *x, size_t n);
/* Can these be sums of codes, or single ones? */
bool encode_is_sum(const struct encode *e, const uint32_t *q_sum, size_t n);
bool encode_is_code(const struct encode *e, const uint32_t *q, size_t n);
/* Residues: codes to 0 .. p - 1, branch-free, and sums back to the nearest to 0, in two's
 * complement.  p odd, above span. */
void encode_mod(uint16_t *out, const uint32_t *q, size_t n, uint32_t p);
void encode_centre(uint32_t *q, const uint16_t *in, size_t n, uint32_t p);
/* out[n] = estimate of the sum over `parties` from the sum of their codes; of residues only the low
 * sum_bits bits are read. */
void encode_estimate(const struct encode *e, float *out, const uint32_t *q_sum, size_t n,
                     uint32_t parties);
/* What an upload is to the accountant: its kind and that kind's parameters, the rest is left. */
void encode_price(const struct encode *e, struct account_entry *out);

/* Compressors: out[compress_bytes] from x[n]; clipped[n] is left with x clipped, which is
 * what error feedback measures against (against x, its residual would grow without end wherever x
 * stays beyond C). */
void encode_pack(const struct encode *e, uint8_t *out, float *clipped, const float *x, size_t n,
                 const struct compress_round *r);
/* The same back, y[n] in [-C, C].  False, and y holds anything, when malformed. */
bool encode_unpack(const struct encode *e, float *y, const uint8_t *in, size_t n,
                   const struct compress_round *r) MUST_USE;

#endif
