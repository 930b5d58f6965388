/* view.h -- rounds of fedvs as a server and members see them, with the shares of zero known.
 *
 * The keys of sets, and everybody's shares of weights, are opened with the pairs' keys, as members
 * can and a server cannot.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SECAGG_VIEW_H
#define COLONNADE_TESTS_SECAGG_VIEW_H

#include "tests/unit/secagg/members.h"

enum {
    VIEW_SETS = 1 << MEMBERS_MAX,
    VIEW_ELEMENTS = 64, /* of a round */
    VIEW_ROUNDS = 8,
    VIEW_INPUTS = 8, /* of all members together; columns of the embedding */
};

/* One generation, and what the test knows of it; sets of members are bits. */
struct view {
    struct members g;
    uint64_t p;
    uint32_t threshold, results;
    uint8_t key[VIEW_SETS][32]; /* zeros: no set of M - T */
    uint32_t n;                 /* elements of a round: coded rows x P */
    uint32_t coded[VIEW_ELEMENTS];
    /* Of each round: results as they are, shares of zero, and what of these a coalition knows. */
    uint32_t rounds;
    struct secagg_round round[VIEW_ROUNDS];
    uint64_t result[VIEW_ROUNDS][MEMBERS_MAX][VIEW_ELEMENTS];
    uint64_t zero[VIEW_ROUNDS][MEMBERS_MAX][VIEW_ELEMENTS];
    uint64_t known[VIEW_ROUNDS][MEMBERS_MAX][VIEW_ELEMENTS];
    uint64_t weights[VIEW_ROUNDS][MEMBERS_MAX][VIEW_INPUTS]
                    [VIEW_INPUTS]; /* at member j, all inputs */
};

/* Deals keys and data. */
void view_begin(struct view *w, const struct members_case *c, struct rng *r);
/* Runs so many rounds of all coded rows, with new weights or the same. */
void view_run(struct view *w, uint32_t rounds, bool same_weights, struct rng *r);
/* All shares of zero of the rounds, and those of them that the coalition can compute. */
void view_learn_zero(struct view *w, uint32_t coalition);
/* What member m computed of an element without its share of zero: F(alpha_m) G(alpha_m). */
uint64_t view_product(const struct view *w, uint32_t t, uint32_t m, uint32_t e);

uint64_t view_alpha(const struct view *w, uint32_t m);

#endif
