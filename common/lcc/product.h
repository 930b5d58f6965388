/* product.h -- Lagrange coded computing of products (FedVS: Li, Yao, Liu 2023, eq. 2, 4 and 6).
 *
 * Data: K segments and T masks are the values of a polynomial F of degree < K + T at beta_1 ..
 * beta_{K+T} (eq. 2).  A model: the same W at beta_1 .. beta_K, and T masks, of a polynomial G
 * (eq. 4).  Member j has F and G at alpha_j (points.h, with the threshold K + T) and computes their
 * product.  F G has degree 2 (K+T-1), so any R = 2 (K+T-1) + 1 members' products, or sums of
 * products, give its values at beta_1 .. beta_K: the segments times W (eq. 6).  T shares are
 * uniform and independent of what was shared, as long as the masks are uniform, of this call alone.
 *
 * Whether a product fits the field is the caller's to prove.  All elements are canonical.
 *
 * A struct product holds everything that the functions need besides their arguments: they never
 * allocate, and none of them is for two threads at once on one struct.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_LCC_PRODUCT_H
#define COLONNADE_LCC_PRODUCT_H

#include "common/base/status.h"
#include "common/field/field.h"
#include "common/lcc/search.h"

struct product_shape {
    const struct field *field;
    uint32_t parties;  /* M */
    uint32_t segments; /* K >= 1 */
    uint32_t privacy;  /* T >= 1 */
};

/* Coefficients, row by row: elements of the field. */
struct product_matrix {
    void *c;
    uint32_t rows, terms;
};

struct product {
    struct product_shape shape;
    uint32_t threshold;           /* K + T */
    uint32_t results;             /* R = 2 (K+T-1) + 1 <= M */
    struct product_matrix encode; /* M x (K+T) */
    struct product_matrix same;   /* M x (1+T): those of the K segments added up, of the masks */
    struct product_matrix decode; /* K x R, from the members in `decodes` */
    uint32_t *decodes;            /* R of them; M: none yet */
    /* Scratch of one call. */
    struct product_matrix expect; /* (n-R) x R: of product_check */
    uint64_t *wide;               /* M x R coefficients, before they are elements */
    void *columns;                /* R x LCC_CHUNK: a part of the results */
    void *scratch;                /* of mat_mul */
    size_t scratch_bytes;
    struct search search;
    void *block; /* what all of these are cut from */
};

/* Rows of one column block, each from another member. */
struct product_results {
    const void *const *row; /* n pointers to len canonical elements each */
    const uint32_t *member; /* n member numbers below M, distinct (CHECK) */
    uint32_t n;
    size_t len;
};

/* STATUS_CONFIG: K or T is 0, R > M, or M > LCC_PARTIES_MAX.  STATUS_MEMORY.  On failure *p is
 * zeroed. */
enum status product_init(struct product *p, const struct product_shape *s,
                         struct error *err) MUST_USE;
void product_deinit(struct product *p); /* safe on a zeroed struct */

/* shares: M x len; rows: (K+T) x len, segments first, then T rows of uniform elements.  Branch-free
 * on the rows; the scratch that held parts of them is wiped. */
void product_encode(struct product *p, void *shares, const void *rows, size_t len);
/* The same of one row that all K segments are: rows: (1+T) x len. */
void product_encode_same(struct product *p, void *shares, const void *rows, size_t len);

/* out: K x len.  Reads the first R of the results, of which there are at least so many (CHECK).
 * The coefficients are kept for the next call with the same members in the same order.  Cannot
 * fail: whether the results belong together is product_check's question. */
void product_decode(struct product *p, void *out, const struct product_results *s);

/* search_wrong() on at least R results (CHECK), which R of them say all about.  What it cannot see
 * is a dealer who shared wrong values consistently.  faulty: room for LCC_PARTIES_MAX / 2 member
 * numbers, ascending; *faulty_n is 0 unless LCC_LOCATED. */
enum lcc_verdict product_check(struct product *p, uint32_t *faulty, uint32_t *faulty_n,
                               const struct product_results *s);

#endif
