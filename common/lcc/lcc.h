/* lcc.h -- Lagrange coded computing of sums (Yu, Li, Raviv, Mousavi Kalan, Soltanolkotabi,
 * Avestimehr 2019) over F_p, p of at most 16 bits: shares, decoding from any K + T, checking.
 *
 * A member cuts its n integers into K segments of len = ceil(n / K) elements, the last one padded
 * with 0, and adds T segments of uniform elements.  Column by column these K + T rows are the
 * values of a polynomial of degree < K + T at beta_1 .. beta_{K+T}; share j is its value at alpha_j
 * (points.h).  Shares of several members add up to shares of the sum, so any K + T sums of shares
 * give the sum of the segments; any T shares are uniform and independent of the segments.
 *
 * Sums do not wrap as long as p is above them: p = fp16_prime_above(max(b M, M + K + T)) for M
 * members with integers 0..b.
 *
 * A struct lcc holds everything that the functions need besides their arguments: they never
 * allocate, and none of them is for two threads at once on one struct.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_LCC_LCC_H
#define COLONNADE_LCC_LCC_H

#include "common/base/status.h"
#include "common/field/fp16_mat.h"
#include "common/lcc/search.h"

struct lcc_shape {
    uint64_t prime;
    uint32_t parties;  /* M */
    uint32_t segments; /* K >= 1 */
    uint32_t privacy;  /* T >= 1 */
};

struct lcc {
    struct lcc_shape shape;
    uint32_t threshold; /* K + T <= M */
    struct fp16 field;
    struct fp16_mat encode; /* M x (K+T) */
    struct fp16_mat decode; /* K x (K+T), from the members in `decodes` */
    uint32_t *decodes;      /* K+T of them; M: none yet */
    /* Scratch of one call. */
    uint64_t *wide;         /* M x (K+T) coefficients, before they are made ready */
    uint16_t *narrow;       /* the same */
    struct fp16_mat expect; /* (n-K-T) x (K+T): of lcc_check */
    struct search search;
    void *block; /* what all of these are cut from */
};

/* Rows of one column block, each from another member. */
struct lcc_shares {
    const uint16_t *const *row; /* n pointers to len canonical elements each */
    const uint32_t *member;     /* n member numbers below M, distinct (CHECK) */
    uint32_t n;
    size_t len;
};

/* STATUS_CONFIG: K or T is 0, K + T > M, M > LCC_PARTIES_MAX, or the prime is none, above
 * FP16_PRIME_MAX, or not above M + K + T.  STATUS_MEMORY.  On failure *c is zeroed. */
enum status lcc_init(struct lcc *c, const struct lcc_shape *s, struct error *err) MUST_USE;
void lcc_deinit(struct lcc *c); /* safe on a zeroed struct */

/* rows: (K+T) x len, segments first, then T rows of uniform elements that the caller has drawn for
 * this call alone (fp16_vec_uniform); shares: M x len.  Branch-free on the rows. */
void lcc_encode(const struct lcc *c, uint16_t *shares, const uint16_t *rows, size_t len);

/* out: K x len, the segments.  Reads the first K+T of the shares, of which there are at least so
 * many (CHECK).  The coefficients are kept for the next call with the same members in the same
 * order.  Cannot fail: whether the shares belong together is lcc_check's question. */
void lcc_decode(struct lcc *c, uint16_t *out, const struct lcc_shares *s);

/* search_wrong() on at least K+T shares (CHECK), which K+T of them say all about.  What it cannot
 * see is a dealer who shared wrong values consistently.  faulty: room for LCC_PARTIES_MAX / 2
 * member numbers, ascending; *faulty_n is 0 unless LCC_LOCATED. */
enum lcc_verdict lcc_check(struct lcc *c, uint32_t *faulty, uint32_t *faulty_n,
                           const struct lcc_shares *s);

#endif
