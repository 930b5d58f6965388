/* policy.h -- what this party accepts, whatever the server proposes; and what a plan costs it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_POLICY_H
#define COLONNADE_PARTY_POLICY_H

#include "common/config/config.h"
#include "common/flow/agenda.h"
#include "common/flow/roster.h"
#include "common/privacy/account.h"
#include "party/persons.h"

/* What a claim for one record may rest on. */
struct policy_bottom {
    enum account_bottom kind;
    double noise; /* dp: sigma */
};
/* Frozen and dp count as such only where data.scale was not made of the records too: none, or a
 * file of which data.scale_given says so, since nobody can tell; nor weights from a file, which
 * count as raw once the n entries of the ledger hold releases through a bottom that trained on raw
 * records.
 */
struct policy_bottom policy_bottom_of(const struct config_party *config,
                                      const struct account_entry *spent, size_t n);
/* The same of a bottom that was made before, as its package says: what claims less of the two.  Raw
 * once the ledger has releases through any bottom that was. */
struct policy_bottom policy_bottom_kept(struct policy_bottom kept,
                                        const struct config_party *config,
                                        const struct account_entry *spent, size_t n);
/* Why that is raw, in words with the key that decides; NULL: it is not. */
const char *policy_raw_because(const struct config_party *config, const struct account_entry *spent,
                               size_t n);

/* The set a plan is priced for.  Written by price.c, fewest.c and train/plan.c. */
struct policy_set {
    const struct roster *roster;
    const uint8_t *members; /* roster indices */
    size_t n;
    uint32_t self;
    uint64_t done; /* training steps that need no pricing any more */
    bool again;    /* but the sweep that is due after them does: perhaps it came to nothing */
    struct policy_bottom bottom;
    struct validate_repeats repeats;
    const struct persons *persons; /* data.group; NULL: each row is its own */
    uint32_t together;             /* persons_together() under this plan */
    uint64_t records;              /* that the ledger holds or will, for mechanism_delta() */
    /* Rows are labelled ones, of which some may not be here (absent.h): no limit of one record
     * refuses what its ledger has of it (spared.h). */
    bool lacking;
};

/* Is there a limit on epsilon at all? */
bool policy_limits_epsilon(const struct config_policy *policy);
/* A claim that passes its limit. */
struct policy_excess {
    struct account_claim claim;
    double most;
};
/* How entries are judged. */
struct policy_terms {
    double delta;
    uint32_t withstands; /* colluders: the t of server+t */
    /* A price, of what is charged later: it stays below a limit by more than may be rounded away
     * when the same releases are added up in another order. */
    bool ahead;
};
/* Does the composition of n entries pass one of policy.max_epsilon's limits? */
bool policy_exceeded(struct policy_excess *out, const struct config_policy *policy,
                     const struct account_entry *entries, size_t n,
                     const struct policy_terms *terms);

/* The mechanism of one upload under this plan among this set; releases and participations 0. */
struct account_entry policy_mechanism(const struct plan *p, const struct policy_set *set);
/* With what is planned, or is left of it once set->done steps are done, filled in. */
struct account_entry policy_planned(const struct plan *p, const struct policy_set *set,
                                    struct agenda_releases *planned);
/* With a job of contributions filled in: each of `rows` rows, `times` times. */
struct account_entry policy_contributed(const struct plan *p, const struct policy_set *set,
                                        uint32_t rows, uint32_t times);
/* With a job of predictions filled in, of `rows` rows. */
struct account_entry policy_predicted(const struct plan *p, const struct policy_set *set,
                                      uint32_t rows);

/* What was spent, without what single records have of it: releases in all stay.  Where some rows
 * may not be here a record's own counts decide what is sent of it, and refuse nothing. */
void policy_of_no_record(struct account_entry *spent, size_t n);

/* What is planned of a record, for what is left of a plan after set->done steps, with rounds that
 * may be played again by labelled rows within limits of one record: an eighth more and four; where
 * the limits have room for eight such jobs as the whole plan, twice as much and 64.  A process that
 * goes on asks for three less, or four: so much may those before it have paid for in vain. */
void policy_repetitions(struct account_entry *planned, const struct config_policy *policy,
                        const struct plan *p, const struct policy_set *set);
/* Is there a limit of one record at all: on its releases or on epsilon? */
bool policy_limits_record(const struct config_policy *policy);

/* STATUS_BUDGET: the ledger takes no further mechanism, and the plan's is one (ledger_takes()). */
enum status policy_full(struct error *err) MUST_USE;
/* Of the set alone. */
enum status policy_check_set(const struct config_policy *policy, const struct plan *p,
                             const struct policy_set *set, struct error *err) MUST_USE;
/* The same of releases that no agenda plans: the n entries are what is spent and, the last one,
 * they themselves.  Where the set is lacking rows, what single records have spent is taken out. */
enum status policy_check_entries(const struct config_policy *policy, const struct plan *p,
                                 const struct policy_set *set, struct account_entry *entries,
                                 size_t n, struct error *err) MUST_USE;
/* STATUS_POLICY or STATUS_BUDGET with the key of the policy that refuses and both numbers.  `spent`
 * is what the ledger holds; the plan's planned releases are priced on top. */
enum status policy_check(const struct config_policy *policy, const struct plan *p,
                         const struct policy_set *set, const struct account_entry *spent,
                         size_t spent_n, struct error *err) MUST_USE;

#endif
