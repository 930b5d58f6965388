/* uploads.h -- the uploads of coded rounds at the server: who is in, what to decode from, who is
 * wrong.
 *
 * Those of two rounds are kept, so that an upload that comes after the next round has begun can
 * still be compared with the polynomial that was decoded.  What an element is and how rows are
 * compared is the protocol's own: struct uploads_code.
 *
 * With e uploads more than a quorum, any inconsistency of up to e of them is noticed, and up to
 * e / 2 are found (common/lcc/search.h).  A wrong row may be the fault of its member or of a dealer
 * who gave that member a share off the polynomial; the uploads cannot tell these two apart.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_UPLOADS_H
#define COLONNADE_SECAGG_UPLOADS_H

#include "common/lcc/search.h"
#include "common/secagg/ops.h"

/* Rows to look at together: n pointers to len elements each, of distinct members. */
struct uploads_rows {
    const void *const *row;
    const uint32_t *member;
    uint32_t n;
    size_t len;
};

struct uploads_code {
    void *code; /* struct lcc, struct product: the first argument below */
    uint64_t prime;
    uint32_t parties, quorum;
    uint32_t bytes;                           /* of an element in memory */
    size_t (*packed)(void *code, size_t len); /* bytes of an upload */
    /* len elements of one upload; false when one is not of the field. */
    bool (*unpack)(void *code, void *row, const uint8_t *payload, size_t len);
    /* lcc_check(), product_check(). */
    enum lcc_verdict (*check)(void *code, uint32_t *faulty, uint32_t *faulty_n,
                              const struct uploads_rows *rows);
};

/* The uploads of a round. */
struct uploads_round {
    uint8_t *rows; /* M x len of the largest */
    size_t len;
    bool in[PLAN_PARTIES_MAX];
    bool combined;
    uint32_t basis[PLAN_PARTIES_MAX]; /* combined: the quorum it was decoded from */
};

struct uploads {
    struct uploads_code code;
    struct uploads_round round[2], *open, *other;
    const void *row[PLAN_PARTIES_MAX];
    uint32_t member[PLAN_PARTIES_MAX];
    uint32_t faulty[LCC_PARTIES_MAX];
};

/* First member of a server that decodes from uploads: add, combine and late of struct secagg_ops
 * are the same for all of them. */
struct uploads_server {
    struct secagg_server base;
    struct uploads uploads;
    /* out from the rows of uploads_basis(): the protocol's own. */
    enum status (*decode)(struct uploads_server *p, float *out, struct error *err);
};

enum status uploads_server_add(struct secagg_server *base, uint32_t member, const uint8_t *payload,
                               const uint8_t *check, struct error *err) MUST_USE;
enum status uploads_server_combine(struct secagg_server *base, float *out, uint32_t width,
                                   struct error *err) MUST_USE;
enum status uploads_server_late(struct secagg_server *base, uint32_t member, const uint8_t *payload,
                                size_t bytes, struct error *err) MUST_USE;

/* Rows of up to len_max elements.  On failure *u is zeroed. */
enum status uploads_init(struct uploads *u, const struct uploads_code *code,
                         size_t len_max) MUST_USE;
void uploads_deinit(struct uploads *u); /* safe on a zeroed struct */

/* Opens a round of rows of len elements.  One that was combined stays until the next one is. */
void uploads_begin(struct uploads *u, size_t len);
/* The rows of the quorum that a combination has chosen, from column `at` on, until the next call of
 * any of these. */
struct uploads_rows uploads_basis(struct uploads *u, size_t at, size_t len);

#endif
