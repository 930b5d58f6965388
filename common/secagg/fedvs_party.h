/* fedvs_party.h -- one member of a generation of fedvs: keys, scratch, and how parts are sealed for
 * all others and opened from all others.  Private to fedvs.c and fedvs_deal.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_FEDVS_PARTY_H
#define COLONNADE_SECAGG_FEDVS_PARTY_H

#include "common/secagg/fedvs.h"
#include "common/secagg/share.h"
#include "common/secagg/zero.h"

/* What was dealt last, and waits to be taken. */
enum fedvs_due { FEDVS_DUE_NOTHING, FEDVS_DUE_KEYS, FEDVS_DUE_DATA, FEDVS_DUE_ROUND };

struct fedvs_party {
    struct secagg_party base;
    const struct field *field;
    struct product code;
    struct share_keys keys;
    struct zero zero;
    struct rng uniform; /* of the system */
    enum fedvs_due due;
    bool keyed;
    uint32_t rows;   /* of the chunk that was dealt last */
    uint32_t before; /* columns of the members before this one */

    int64_t *wide;    /* FEDVS_CHUNK quantised values */
    uint8_t *coded;   /* (K + T) x FEDVS_CHUNK elements: what is coded */
    uint8_t *shares;  /* M x FEDVS_CHUNK */
    uint8_t *own;     /* deal_rows_max x inputs[self]: this member's share of its own data */
    uint8_t *weights; /* inputs_n x P: shares of everybody's */
    uint8_t *opened;  /* a packed part */
    uint8_t *gather;  /* gather_rows x inputs_n */
    uint32_t gather_rows;
    uint8_t *result; /* the largest upload */
    uint8_t *random; /* DRAW_BYTES */
    uint8_t *mat;    /* of mat_mul */
    size_t opened_bytes, gather_bytes, mat_bytes;
    void *block; /* what all of these are cut from */
    size_t block_bytes;
};

/* The contracts of struct secagg_ops. */
enum status fedvs_party_new(struct secagg_party **out, const struct secagg_shape *s,
                            const struct secagg_pair *pairs) MUST_USE;
void fedvs_party_free(struct secagg_party *base);

/* So many rows of data times everybody's weights. */
struct mat_shape fedvs_mat_shape(const struct secagg_shape *s, size_t rows);

/* Opens round r: share_begin(); from then on nothing older is taken any more. */
enum status fedvs_begin(struct fedvs_party *p, const struct secagg_round *r) MUST_USE;
/* Elements at..at+some, in p->shares, of the shares of all: packed into the others' parts of `part`
 * bytes each, and this member's own. */
void fedvs_put_shares(struct fedvs_party *p, uint8_t *sealed, uint8_t *own, size_t part, size_t at,
                      size_t some);
/* After `all` elements were shared, of which `rows` rows at a time were coded. */
void fedvs_wipe_dealt(struct fedvs_party *p, size_t all, uint32_t rows);

/* What is due in round r is taken now, be it well or not.  STATUS_PROTOCOL when it is not due. */
enum status fedvs_take_due(struct fedvs_party *p, enum fedvs_due due, const struct secagg_round *r,
                           struct error *err) MUST_USE;

/* Parts that came, and what is done with one of them once it is in p->opened. */
struct fedvs_taking {
    enum secagg_part part;
    size_t n; /* of secagg_part_bytes() */
    const uint8_t *sealed, *tags;
    /* False: it is malformed. */
    bool (*use)(struct fedvs_party *p, uint32_t from, const struct fedvs_taking *t);
    uint8_t *shares; /* of data: where to */
};

/* Opens the parts of all other members, each of its own size, and uses them.  STATUS_AUTH when one
 * does not open or is malformed: that of *faulty. */
enum status fedvs_open_all(struct fedvs_party *p, const struct fedvs_taking *t, uint32_t *faulty,
                           struct error *err) MUST_USE;

#endif
