/* compress.h -- compressors: float vectors in b bits a component, and back.
 *
 *   scalar, lattice, e8   dithered quantisers on Z, A2 (hexagonal) and E8 with a scale for each
 *                         message (lattice.h)
 *   topk                  the k = max(1, round(P b / 32)) columns that matter most, as float32
 *                         (topk.h)
 *
 * Payloads hold no lengths: both sides know n.  What a payload says depends on the dither, which is
 * public and must reach every receiver.  Compressors hide nothing.  (Castiglia et al. 2022, section
 * 4 and appendix B.)
 *
 * Nothing here keeps state: any thread may call it.  A quantiser uses a cipher context of OpenSSL
 * for the time of a call, which compress_ready has made for two threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_COMPRESS_COMPRESS_H
#define COLONNADE_COMPRESS_COMPRESS_H

#include "common/base/status.h"
#include "common/config/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    COMPRESS_BITS_MAX = 8,
    COMPRESS_KEY_BYTES = 32,
    COMPRESS_HEAD = 0xffff, /* whose stream key is the head's: no member's number */
};

struct compress {
    enum plan_encoding kind; /* one that compresses */
    uint32_t bits;           /* 1 .. COMPRESS_BITS_MAX */
    uint32_t width;          /* topk: P, of whose multiple every n is; others: 0 */
    float range;             /* scalar: its levels span [-range, range]; 0: what suits a message */
};

struct compress_round {
    const uint8_t *dither;   /* COMPRESS_KEY_BYTES, of this message alone; topk needs none: NULL */
    const float *importance; /* topk, when packing: P of them, the larger the better (nothing
                              * negative, all finite); NULL: the mean |x| of each column */
};

/* Once it has been called, nothing here takes memory on a session's two threads.  A status of kind
 * LOCAL when there is too little for that. */
enum status compress_ready(void) MUST_USE;

/* The compressor of embeddings, and that of the head going down (head_bits, or bits; topk's head is
 * scalar).  The plan compresses (CHECK). */
void compress_of(struct compress *c, const struct plan *p);
void compress_head_of(struct compress *c, const struct plan *p);

/* The stream key of one member's message in a round, or of the head's (COMPRESS_HEAD):
 * SHA-256("vfl/dither/1" || dither || u16 member, little-endian). */
void compress_key(uint8_t key[COMPRESS_KEY_BYTES], const uint8_t dither[COMPRESS_KEY_BYTES],
                  uint16_t member);

/* Bytes of n values; 0 for n = 0. */
size_t compress_bytes(const struct compress *c, size_t n);

/* out[compress_bytes] from x[n], all finite; no overlap. */
void compress_pack(const struct compress *c, uint8_t *out, const float *x, size_t n,
                   const struct compress_round *r);
/* y[n] from in[compress_bytes].  False, and y holds anything, when the payload is malformed: a
 * scale that is not a number or out of range, a negative one under scalar (lattice, e8: its sign
 * says that the region is square), codes without a scale, an index out of range or order, a
 * value that is not finite, spare bits that are not 0.  What comes back is finite. */
bool compress_unpack(const struct compress *c, float *y, const uint8_t *in, size_t n,
                     const struct compress_round *r) MUST_USE;

#endif
