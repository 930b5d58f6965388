/* golden_coded.h -- the members of tests/golden/coded.h: their shapes, keys, codes and rounds.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SECAGG_GOLDEN_CODED_H
#define COLONNADE_TESTS_SECAGG_GOLDEN_CODED_H

#include "common/crypto/digest.h"
#include "tests/golden/coded.h"
#include "tests/unit/secagg/generation.h"

#include <stdio.h>

enum { GOLDEN_CODED_N = sizeof GOLDEN_CODED / sizeof GOLDEN_CODED[0], GOLDEN_VALUES_MAX = 1100 };

static inline void golden_key(uint8_t key[32], size_t k, uint32_t from, uint32_t to)
{
    uint8_t text[11] = "seal key";

    text[8] = (uint8_t)k;
    text[9] = (uint8_t)from;
    text[10] = (uint8_t)to;
    digest_sha256(key, text, sizeof text);
}

/* What member `self` of case k holds of the others. */
static inline void golden_pairs(struct secagg_pair *pairs, size_t k, uint32_t self)
{
    for (uint32_t j = 0; j < GOLDEN_CODED[k].parties; j++) {
        memset(&pairs[j], 0, sizeof pairs[j]);
        golden_key(pairs[j].seal_to, k, self, j);
        golden_key(pairs[j].seal_from, k, j, self);
    }
}

struct golden_round {
    uint8_t sid[32], broadcast[32];
    struct secagg_round round;
};

static inline void golden_round(struct golden_round *r, size_t k)
{
    char text[32];

    snprintf(text, sizeof text, "sid %zu", k);
    digest_sha256(r->sid, text, strlen(text));
    snprintf(text, sizeof text, "broadcast %zu", k);
    digest_sha256(r->broadcast, text, strlen(text));
    r->round = (struct secagg_round){.purpose = GOLDEN_CODED[k].purpose,
                                     .round = GOLDEN_CODED[k].round,
                                     .sid = r->sid,
                                     .broadcast = r->broadcast};
}

static inline struct secagg_shape golden_shape(size_t k)
{
    struct plan p = generation_plan(ENCODING_FIXED);
    struct secagg_shape s;

    p.protocol.fixed.bits = GOLDEN_CODED[k].bits;
    s = generation_shape(&p, GOLDEN_CODED[k].parties, GOLDEN_CODED[k].values);
    s.segments = GOLDEN_CODED[k].segments;
    s.privacy = GOLDEN_CODED[k].privacy;
    return s;
}

static inline uint32_t golden_code(size_t k, uint32_t m, uint32_t i)
{
    return (i * 7919U + m * 104729U) % (1U << GOLDEN_CODED[k].bits);
}

/* out[n]: what the codes of members 0 .. amount to. */
static inline void golden_sums(float *out, size_t k)
{
    const struct secagg_shape s = golden_shape(k);
    uint32_t sum[GOLDEN_VALUES_MAX] = {0};

    for (uint32_t m = 0; m < s.parties; m++)
        for (uint32_t i = 0; i < GOLDEN_CODED[k].values; i++)
            sum[i] += golden_code(k, m, i);
    encode_estimate(&s.encode, out, sum, GOLDEN_CODED[k].values, s.parties);
}

#endif
