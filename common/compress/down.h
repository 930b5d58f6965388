/* down.h -- what goes down after a training step: one blob of 4-byte words, which is broadcast,
 * journalled, replayed and chained in the trail as it is.
 *
 *   stale        [gradient]
 *   once         nothing (training.releases: no bottom steps)
 *   refreshed    [gradient, if some party holds no labels] [shown] [head]
 *
 *   gradient     gradient.h; under concat each member's own
 *   shown        what the round's embeddings amounted to, so that a party can put its refreshed
 *                ones in place of its old ones:
 *                  payloads   concat, or a compressor: every member's upload in member order
 *                  sums       pbm, fixed, gaussian: n sums of codes, each of encoding_sum_bits()
 *                  floats     float32: the n sums
 *   head         plan_head_params values in the order of the net: as the compressor of heads says,
 *                or one row in the numbers of gradient.type; nothing when the head does not train
 *
 * Zeros fill every part up to whole words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_COMPRESS_DOWN_H
#define COLONNADE_COMPRESS_DOWN_H

#include "common/base/status.h"
#include "common/compress/compress.h"
#include "common/compress/gradient.h"
#include "common/config/encoding.h"
#include "common/config/plan.h"
#include "common/crypto/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum down_shown {
    DOWN_SHOWN_NONE,     /* stale */
    DOWN_SHOWN_PAYLOADS, /* M uploads */
    DOWN_SHOWN_SUMS,     /* sums of codes */
    DOWN_SHOWN_FLOATS,   /* sums of floats */
};

struct down {
    struct gradient_form gradient;
    bool with_gradient, with_head;
    bool compressed; /* embeddings and head go through these two */
    struct compress embedding, head;
    enum down_shown shown;
    uint32_t members, width;      /* M, P */
    uint32_t code_bits, sum_bits; /* of one member's code, of a sum of all; 0: floats */
    size_t head_params;
};

/* The layout under this plan, of shape.parties members. */
void down_of(struct down *d, const struct plan *p);

/* Sizes and places, in 4-byte words, of a step of so many rows. */
size_t down_words(const struct down *d, size_t rows);
size_t down_gradient_words(const struct down *d, size_t rows); /* at 0; 0: no gradient */
size_t down_shown_at(const struct down *d, size_t rows);
size_t down_head_at(const struct down *d, size_t rows);
/* Bytes without the filling: of one member's upload where payloads are shown, of the whole part,
 * and of the head. */
size_t down_payload_bytes(const struct down *d, size_t rows);
size_t down_shown_bytes(const struct down *d, size_t rows);
size_t down_head_bytes(const struct down *d);

/* Each writes one part of blob[down_words], filling included.  dither: the round's, 32 bytes
 * (compressors only); r: of int8 heads. */
void down_gradient_pack(const struct down *d, uint32_t *blob, const float *x, size_t rows,
                        struct rng *r);
/* Returns where down_shown_bytes are to be written. */
uint8_t *down_shown_begin(const struct down *d, uint32_t *blob, size_t rows);
void down_head_pack(const struct down *d, uint32_t *blob, const float *params, size_t rows,
                    const uint8_t *dither, struct rng *r);

/* And back.  False, NULL: not what an honest server packs (a filling that is not 0, a value that is
 * not finite, ...). */
bool down_gradient_unpack(const struct down *d, float *x, const uint32_t *blob,
                          size_t rows) MUST_USE;
/* The part of whose content only the filling was checked. */
const uint8_t *down_shown_read(const struct down *d, const uint32_t *blob, size_t rows) MUST_USE;
bool down_head_unpack(const struct down *d, float *params, const uint32_t *blob, size_t rows,
                      const uint8_t *dither) MUST_USE;

#endif
