/* protocol.h -- what an aggregation protocol is to secagg.c.  Private to common/secagg.
 *
 * A protocol fills one struct secagg_protocol and gets one row in the table of secagg.c, which does
 * what is common to all: sizes, growing rounds, who has uploaded, allocation of what is named here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_PROTOCOL_H
#define COLONNADE_SECAGG_PROTOCOL_H

#include "common/secagg/mask.h"
#include "common/secagg/secagg.h"

/* Values are encoded, masked and packed in chunks: a multiple of 32, hence of whole bytes at any
 * width and of whole blocks of the sampler. */
enum { PROTOCOL_CHUNK = 4096, PROTOCOL_CHECKS_MAX = 64 };

struct protocol_scratch {
    uint32_t codes[PROTOCOL_CHUNK];
    uint16_t lanes[PROTOCOL_CHUNK];
    float reals[PROTOCOL_CHUNK];
};

struct secagg_party {
    const struct secagg_protocol *protocol;
    struct secagg_shape shape;
    uint32_t width, checks;
    uint64_t round_min;               /* the next round's number is at least this */
    struct mask mask;                 /* of protocols that have one */
    struct protocol_scratch *scratch; /* wiped after every round */
};

struct secagg_server {
    const struct secagg_protocol *protocol;
    struct secagg_shape shape;
    uint32_t width, checks;
    size_t n;        /* values of the open round */
    uint32_t joined; /* members that have uploaded */
    bool *seen;      /* [parties] */
    /* Integers: values_max sums, in lanes of 16 bits where the protocol's width allows, else of 32.
     */
    uint16_t *sums16;
    uint32_t *sums32;
    uint32_t check_sums[PROTOCOL_CHECKS_MAX];
    /* Floats and concat: values_max per member. */
    float *slots;
    uint32_t *codes; /* PROTOCOL_CHUNK of scratch */
};

struct secagg_protocol {
    uint32_t (*width)(const struct secagg_shape *s);  /* bits of a value, 0: no such shape */
    uint32_t (*checks)(const struct secagg_shape *s); /* check elements */
    bool lanes16; /* sums of at most 16 bits are kept in lanes of 16 */
    enum status (*party_init)(struct secagg_party *p, const uint8_t *pair_keys);
    enum status (*protect)(struct secagg_party *p, uint8_t *payload, uint8_t *check, const float *x,
                           size_t n, const struct secagg_round *r, struct rng *noise);
    enum status (*add)(struct secagg_server *p, uint32_t member, const uint8_t *payload,
                       const uint8_t *check, struct error *err);
    enum status (*combine)(struct secagg_server *p, float *out, uint32_t width, struct error *err);
};

#endif
