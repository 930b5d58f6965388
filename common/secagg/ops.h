/* ops.h -- what an aggregation protocol implements.  Private to common/secagg.
 *
 * secagg.c has checked the arguments before any of these runs: shapes, sizes,
 * members that upload once, a combine only from the quorum on, what is shown only after one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_OPS_H
#define COLONNADE_SECAGG_OPS_H

#include "common/secagg/secagg.h"

struct secagg_ops {
    uint32_t (*width)(const struct secagg_shape *s);
    size_t (*check_bytes)(const struct secagg_shape *s); /* NULL: no check elements */
    /* NULL: n values, each of the width. */
    size_t (*payload_bytes)(const struct secagg_shape *s, size_t n);
    uint32_t (*quorum)(const struct secagg_shape *s);
    /* NULL: nothing is sealed from member to member. */
    size_t (*part_bytes)(const struct secagg_shape *s, enum secagg_part part, uint32_t from,
                         size_t n);

    enum status (*party_new)(struct secagg_party **out, const struct secagg_shape *s,
                             const struct secagg_pair *pairs);
    void (*party_free)(struct secagg_party *p);
    /* Total: nothing is refused for what x is. */
    enum status (*protect)(struct secagg_party *p, uint8_t *payload, uint8_t *check, const float *x,
                           size_t n, const struct secagg_round *r, struct rng *noise);
    /* NULL: no shares go between members. */
    enum status (*relay)(struct secagg_party *p, uint8_t *payload, const uint8_t *sealed,
                         const uint8_t *tags, size_t n, const struct secagg_round *r,
                         uint32_t *faulty, struct error *err);
    /* NULL, all of them: nothing is dealt before the first round. */
    enum status (*deal_keys)(struct secagg_party *p, uint8_t *sealed, uint8_t *tags,
                             const struct secagg_round *r);
    enum status (*take_keys)(struct secagg_party *p, const uint8_t *sealed, const uint8_t *tags,
                             const struct secagg_round *r, uint32_t *faulty, struct error *err);
    enum status (*deal)(struct secagg_party *p, uint8_t *sealed, uint8_t *tags, const float *x,
                        uint32_t rows, const struct secagg_round *r, struct rng *masks);
    enum status (*take)(struct secagg_party *p, void *shares, const uint8_t *sealed,
                        const uint8_t *tags, uint32_t rows, const struct secagg_round *r,
                        uint32_t *faulty, struct error *err);

    enum status (*server_new)(struct secagg_server **out, const struct secagg_shape *s);
    void (*server_free)(struct secagg_server *p);
    void (*begin)(struct secagg_server *p);
    enum status (*add)(struct secagg_server *p, uint32_t member, const uint8_t *payload,
                       const uint8_t *check, struct error *err);
    enum status (*combine)(struct secagg_server *p, float *out, uint32_t width, struct error *err);
    /* Of the round that was combined.  NULL: nothing is ever shown. */
    void (*show)(const struct secagg_server *p, uint8_t *out);
    /* NULL: every upload is in before a combine. */
    enum status (*late)(struct secagg_server *p, uint32_t member, const uint8_t *payload,
                        size_t bytes, struct error *err);
};

/* First members of each protocol's own structs. */
struct secagg_party {
    const struct secagg_ops *ops;
    struct secagg_shape shape;
    uint64_t clipped; /* fedvs: weights beyond w_max */
};

struct secagg_server {
    const struct secagg_ops *ops;
    struct secagg_shape shape;
    size_t n;            /* values per party of the open round */
    size_t real;         /* the first of them, which are not padding */
    uint32_t members_in; /* uploads added */
    bool member_in[PLAN_PARTIES_MAX];
    uint8_t order[PLAN_PARTIES_MAX];  /* the members_in members, as they came */
    uint8_t dither[SECAGG_KEY_BYTES]; /* compressors: of the open round */
    bool dithered;                    /* it is there */
    bool combined;                    /* the open round, well */
    enum secagg_verdict verdict;      /* of the last combine */
    uint8_t faulty[PLAN_PARTIES_MAX];
    size_t faulty_n;
};

#endif
