/* price.h -- `vfl-party -n`: what a plan would cost this party, before anybody proposes it.
 *
 * The plan is read from a server's configuration, or from the part of it that is the plan; rows and
 * parties are this party's own and the roster's.  In a run the same price is computed again from
 * the plan that the server signs (policy.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_PRICE_H
#define COLONNADE_PARTY_PRICE_H

#include "common/base/buf.h"
#include "common/flow/agenda.h"
#include "common/privacy/account.h"
#include "common/privacy/corners.h"
#include "party/policy.h"
#include "party/prepare.h"

struct price {
    const char *file; /* NULL: a plan of defaults */
    struct plan plan;
    uint8_t members[PLAN_PARTIES_MAX]; /* the whole roster */
    struct policy_set set;
    const char *raw_because; /* NULL: the bottom does not count as raw */
    struct agenda_releases releases;
    struct account_entry entry; /* the plan's mechanism, with its releases */
    struct account_entry spent[ACCOUNT_MECHANISMS_MAX]; /* before it, by the ledger */
    size_t spent_n;
    size_t mechanisms; /* that the ledger has accounts for */
    bool taken;        /* one of them, or there is room for another */
    /* Of a schema's statistics: dp; NULL: none. Not paid yet, they are in `spent`. */
    const struct drawn *drawn;
    bool drawn_paid;
    size_t spared;    /* rows here without room for it all: they would have no part (spared.h) */
    uint64_t records; /* in it once those that are priced are, too */
    double delta;     /* of the claims */
};

/* Reads the plan (file NULL: defaults, no batch larger than the rows) and prices it for the data in
 * `in`, which must outlive *out, and the ledger under state.  STATUS_CONFIG: no such plan, or it
 * makes no sense for these rows and this roster; or the ledger's error. */
enum status price_load(struct price *out, const struct party_inputs *in, const char *file,
                       struct error *err) MUST_USE;

/* Releases by purpose, each claim, their curves by order, and the paper's figure, as comment
 * lines. */
enum status price_print(const struct price *p, struct buf *out) MUST_USE;

/* What it costs to answer for every row of data.predict once (predicted_inputs), on top of
 * what the ledger holds; and whether the policy takes them all. */
enum status price_predictions(struct price *out, const struct party_inputs *in,
                              struct error *err) MUST_USE;
enum status price_print_predictions(const struct price *p, const struct party_inputs *in,
                                    struct buf *out) MUST_USE;

/* The claims of one mechanism and its releases, by the delta and the T of this price. */
enum status price_print_claims(const struct account_entry *of, const struct price *p,
                               struct buf *out) MUST_USE;

/* What this party's policy says of it, on top of what its ledger holds: STATUS_POLICY or
 * STATUS_BUDGET as in a run. */
enum status price_judge(const struct price *p, const struct party_inputs *in,
                        struct error *err) MUST_USE;

/* --verify-accountant: every corner (common/privacy/corners.h) for the plan's b, beta and the M_eff
 * of each adversary, as comment lines.  `figure` is the accountant on trial, corners_figure but for
 * tests.  STATUS_FAULT when a corner passes it; what is no pbm has no corners. */
enum status price_verify(const struct price *p,
                         void (*figure)(const struct corners *c, double out[CORNERS_ORDERS]),
                         struct buf *out, struct error *err) MUST_USE;

#endif
