/* search.h -- whose rows are wrong: the search that every code of this room makes.
 *
 * n rows, each from another member, should be, column by column, values of polynomials at the
 * members' alphas; any `needed` of them say what the others are.  A column where they do not gives
 * the members that are wrong in it (locate.h), who are taken out, and so on until the rest agrees.
 *
 * What elements are and how the others are computed is the code's own: struct search_kind.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_LCC_SEARCH_H
#define COLONNADE_LCC_SEARCH_H

#include "common/lcc/locate.h"

#include <stddef.h>
#include <stdint.h>

enum {
    LCC_PARTIES_MAX = POINTS_MAX,
    LCC_CHUNK = 512, /* columns that are looked at together */
};

enum lcc_verdict {
    LCC_UNVERIFIED,   /* no more rows than needed: any values are consistent */
    LCC_CONSISTENT,   /* every column is a polynomial of the degree it should have */
    LCC_INCONSISTENT, /* some column is not; too many members for the surplus, or one for 1 */
    LCC_LOCATED,      /* without the members named, of which there are at most floor(surplus/2),
                         every column is */
};

struct search_kind {
    uint32_t bytes; /* of an element */
    uint64_t (*get)(const void *row, size_t i);
    /* Keeps the coefficients, n x needed, of the next calls of expect. */
    void (*prepare)(void *owner, const uint64_t *c, uint32_t n);
    /* out: n x LCC_CHUNK, the first `columns` <= LCC_CHUNK of each row: the coefficients times
     * `needed` rows. */
    void (*expect)(void *owner, void *out, const void *const *row, size_t columns);
};

struct search {
    struct search_kind kind;
    uint64_t prime;
    uint32_t threshold; /* of the points: K + T */
    uint32_t needed;    /* rows that say what all others are */
    uint64_t *wide;     /* room for (M - needed) x needed coefficients */
    void *expected;     /* room for (M - needed) x LCC_CHUNK elements */
    struct locate_code code;
};

struct search_rows {
    const void *row[LCC_PARTIES_MAX]; /* len canonical elements each */
    uint32_t member[LCC_PARTIES_MAX];
    uint32_t n; /* >= needed */
    size_t len;
};

/* Compares all columns.  With at most floor((n - needed) / 2) members whose row is wrong anywhere,
 * it finds all of them and names nobody else.  With at most n - needed it never says
 * LCC_CONSISTENT.  faulty: room for LCC_PARTIES_MAX / 2 member numbers, ascending; *faulty_n is 0
 * unless LCC_LOCATED.  Afterwards r has the rows of those who were not blamed. */
enum lcc_verdict search_wrong(struct search *s, void *owner, uint32_t *faulty, uint32_t *faulty_n,
                              struct search_rows *r);

/* CHECKs that the n member numbers are distinct, below `parties` and no fewer than `needed`. */
void search_check_members(const uint32_t *member, uint32_t n, uint32_t needed, uint32_t parties);

#endif
