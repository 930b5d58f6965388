/* solve.h -- one equation in eight unknowns: what a record's releases cost, and what would cost
 * that much.
 *
 * The equation is the accountant's (common/privacy/account.h): `releases` vectors of `embedding`
 * coordinates by pbm (trials, beta) among m_eff parties, each followed by `steps` local steps at
 * noise multiplier `noise` unless the bottom is frozen, have epsilon at delta; of `group` records
 * that change together and may all be in one batch (account_group); and what columns are prepared
 * by was drawn for rho = `statistics` (common/privacy/statistics.h), 0: nothing.  It is monotone in
 * each of them, so any one follows from the others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_PRICE_SOLVE_H
#define COLONNADE_TOOLS_PRICE_SOLVE_H

#include "common/base/status.h"
#include "common/privacy/account.h"

#include <stdbool.h>

enum term {
    TERM_EPSILON,
    TERM_DELTA,
    TERM_TRIALS,
    TERM_BETA,
    TERM_EMBEDDING,
    TERM_RELEASES,
    TERM_M_EFF,
    TERM_NOISE,
    TERM_STEPS,
    TERM_GROUP,
    TERM_STATISTICS
};
enum { TERMS = 11 };

struct term_kind {
    const char *name; /* as an option */
    double lo, hi;    /* what may be given and what is searched */
    bool whole;
    bool grows; /* epsilon grows with it, so the largest value is sought, otherwise the smallest */
};
extern const struct term_kind term_kinds[TERMS];

struct terms {
    double value[TERMS];
};

/* The accountant's entry for these terms. */
struct account_entry terms_entry(const struct terms *t);

/* The claim of everything but epsilon. */
struct account_claim terms_claim(const struct terms *t);

/* Fills in t->value[missing] (any but those from TERM_STEPS on): epsilon itself, or the largest or
 * smallest value with which it is not passed, rounded to six digits to that side.  STATUS_BUDGET:
 * none in the range of term_kinds does it, and t->value[missing] is the end of the range that comes
 * closest. */
enum status terms_solve(struct terms *t, enum term missing) MUST_USE;

#endif
