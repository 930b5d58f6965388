/* golden_fedvs.h -- the members of tests/golden/fedvs.h: their terms, keys, records and rounds.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SECAGG_GOLDEN_FEDVS_H
#define COLONNADE_TESTS_SECAGG_GOLDEN_FEDVS_H

#include "common/base/check.h"
#include "common/crypto/digest.h"
#include "common/secagg/secagg.h"
#include "tests/golden/fedvs.h"

#include <stdio.h>
#include <string.h>

enum { GOLDEN_FEDVS_N = sizeof GOLDEN_FEDVS / sizeof GOLDEN_FEDVS[0], GOLDEN_FEDVS_MEMBERS = 6 };

/* SHA-256(label || case || numbers). */
static inline void golden_digest(uint8_t out[32], const char *label, size_t k,
                                 const uint8_t *numbers, size_t n)
{
    uint8_t text[32];
    size_t at = strlen(label);

    CHECK(at + 1 + n <= sizeof text);
    memcpy(text, label, at);
    text[at++] = (uint8_t)k;
    memcpy(text + at, numbers, n);
    digest_sha256(out, text, at + n);
}

/* What member `self` of case k holds of the others. */
static inline void golden_pairs(struct secagg_pair *pairs, size_t k, uint32_t self)
{
    for (uint32_t j = 0; j < GOLDEN_FEDVS[k].parties; j++) {
        const uint8_t to[2] = {(uint8_t)self, (uint8_t)j}, from[2] = {(uint8_t)j, (uint8_t)self};

        memset(&pairs[j], 0, sizeof pairs[j]);
        golden_digest(pairs[j].seal_to, "fedvs key", k, to, 2);
        golden_digest(pairs[j].seal_from, "fedvs key", k, from, 2);
    }
}

struct golden_round {
    uint8_t sid[32], broadcast[32];
    struct secagg_round round;
};

static inline void golden_round(struct golden_round *r, size_t k, uint8_t purpose, uint64_t number)
{
    char text[32];

    snprintf(text, sizeof text, "fedvs sid %zu", k);
    digest_sha256(r->sid, text, strlen(text));
    snprintf(text, sizeof text, "fedvs view %zu", k);
    digest_sha256(r->broadcast, text, strlen(text));
    r->round = (struct secagg_round){.purpose = purpose,
                                     .round = number,
                                     .sid = r->sid,
                                     .broadcast = r->broadcast,
                                     .coded = GOLDEN_FEDVS[k].coded,
                                     .coded_n = GOLDEN_FEDVS[k].coded_n};
}

static inline uint32_t golden_len(size_t k)
{
    return (GOLDEN_FEDVS[k].rows + GOLDEN_FEDVS[k].segments - 1) / GOLDEN_FEDVS[k].segments;
}

static inline struct secagg_shape golden_shape(size_t k)
{
    const struct golden_fedvs *g = &GOLDEN_FEDVS[k];
    struct secagg_shape s = {.parties = g->parties, .self = g->parties - 1};
    struct plan p;

    plan_defaults(&p);
    p.model.embedding = g->width;
    p.protocol.encoding = ENCODING_FIXED;
    p.protocol.fedvs.segments = g->segments;
    p.protocol.fedvs.privacy = g->privacy;
    p.protocol.fedvs.prime = g->bits == 31 ? PRIME_31 : PRIME_61;
    p.protocol.fedvs.x_bits = g->x_bits;
    p.protocol.fedvs.w_bits = g->w_bits;
    p.protocol.fedvs.x_max = 1;
    p.protocol.fedvs.w_max = 2;
    CHECK(encode_init(&s.encode, &p, g->parties) == STATUS_OK);
    CHECK(fedvs_terms_init(&s.terms, &p, g->parties, g->features, g->degree, NULL) == STATUS_OK);
    s.values_max = golden_len(k) * g->segments * g->width;
    s.deal_rows_max = golden_len(k);
    return s;
}

/* The records of member m, segment by segment. */
static inline void golden_x(float *x, size_t k, uint32_t m)
{
    const struct golden_fedvs *g = &GOLDEN_FEDVS[k];

    for (uint32_t row = 0; row < g->segments * golden_len(k); row++)
        for (uint32_t f = 0; f < g->features[m]; f++) {
            const int quarters = (int)((row * 7 + f * 3 + m * 5) % 11) - 5;

            x[row * g->features[m] + f] = row < g->rows ? (float)quarters / 4 : 0;
        }
}

#endif
