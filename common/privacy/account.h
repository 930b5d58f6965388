/* account.h -- what a run reveals: claims by adversary and adjacency, by the formulas of
 * docs/privacy.md.
 *
 * record_frozen, record_dp, record_raw: one record of this party. They are one claim under the name
 * of the weakest bottom it was released through: a frozen bottom shows it in its own releases
 * alone, one trained with clipped and noised gradients in these and in its own steps, one trained
 * on raw gradients in every release. columns: this party's whole column block, which changes every
 * release. sample: all parties' data of one record, through every release: what the others' bottoms
 * do with it this party cannot know.
 * person_frozen, person_dp, person_raw: the same of all records of one person, where everything
 * was counted by person.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_ACCOUNT_H
#define COLONNADE_PRIVACY_ACCOUNT_H

#include "common/base/status.h"
#include "common/config/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* MECHANISMS: that a ledger holds, and so that are composed, in all.  OUTCOMES: of all tables of
 * one composition. */
enum { ACCOUNT_MECHANISMS_MAX = 1024, ACCOUNT_CLAIMS_MAX = 16, ACCOUNT_OUTCOMES_MAX = 1 << 24 };
#define ACCOUNT_VACUOUS 20.0 /* above this epsilon a claim says nothing */

/* No draw of discrete Gaussian noise is further from its law than 2^-ACCOUNT_DISTANCE_BITS, and no
 * step has more of them than ACCOUNT_STEP_DRAWS_MAX weights. */
enum { ACCOUNT_DISTANCE_BITS = 100, ACCOUNT_STEP_DRAWS_MAX = 1 << 30 };
/* Rounding to the grid and to floats moves the sum of a batch's gradients by no more than this many
 * clips beyond the 2 of a record (docs/privacy.md). */
#define ACCOUNT_STEP_SLACK 0x1p-9

#define ACCOUNT_KIND(id, name) ACCOUNT_##id,
enum account_kind {
    PLAN_NOISE_LIST(ACCOUNT_KIND) ACCOUNT_NONE /* no noise, epsilon infinite */
};
enum account_adversary {
    ACCOUNT_SERVER,
    ACCOUNT_SERVER_1,
    ACCOUNT_SERVER_T,
    ACCOUNT_ALL_BUT_ONE,
    ACCOUNT_PARTY
};
enum account_adjacency {
    ACCOUNT_RECORD_FROZEN,
    ACCOUNT_RECORD_DP,
    ACCOUNT_RECORD_RAW,
    ACCOUNT_COLUMNS,
    ACCOUNT_SAMPLE,
    ACCOUNT_PERSON_FROZEN,
    ACCOUNT_PERSON_DP,
    ACCOUNT_PERSON_RAW
};
enum { ACCOUNT_ADVERSARIES = 5, ACCOUNT_ADJACENCIES = 8 };

/* What the embedding of one record can depend on. Zero is the widest. FROZEN and DP hold only where
 * nothing else of the party was made from its records: weights from a file had other data, and
 * data.scale is not `fit`. */
enum account_bottom {
    ACCOUNT_RAW,    /* gradients as they are: all records that came before */
    ACCOUNT_FROZEN, /* weights made without these records: the record itself */
    ACCOUNT_DP,     /* steps of clipped, noised per-sample gradients */
    /* No bottom: what a column's preparation has of it, drawn once (statistics.h).  It is seen in
     * what is released alone, which columns and sample count as if it changed in any way. */
    ACCOUNT_STATISTICS
};

/* `releases` vectors of P coordinates each, by one mechanism among `parties` parties.  Nominal beta
 * bounds the sampler from above, because its thresholds are rounded inwards. */
struct account_entry {
    enum account_kind kind;
#define ACCOUNT_PARAMETER(name, type) type name;
    PLAN_NOISE_PARAMETERS(ACCOUNT_PARAMETER) /* those of other kinds are not looked at */
    bool clear; /* uploads seen one by one (aggregation clear): M_eff = 1 for the server */
    /* Clear, and fusion concat, a sum that may do without some, or uploads that go down as they
     * came: parties too see more than a function of the sum over all, M_eff = 1 for them as well.
     */
    bool concat;
    enum account_bottom bottom;
    /* DP: noise multiplier > 0 (the sum of a batch's gradients, each clipped to G, gets the
     * discrete N(0, step_noise^2 G^2) in every weight), and local steps in one participation: Q. */
    double step_noise;
    uint32_t steps;
    uint32_t coordinates;        /* P */
    uint32_t parties;            /* M */
    uint32_t colluders;          /* most entries of one operator, at least 1: the `1` of server+1 */
    uint64_t releases;           /* released vectors, total (columns, sample, RAW's record) */
    uint64_t participations_max; /* of one record (FROZEN's and DP's record) */
    uint64_t trained_max;        /* DP: those in training, which `steps` follow at the most */
    /* What is counted is a person (or another group of records), and these are all its records'. */
    bool persons;
    uint32_t together; /* DP: of its records at most in one batch; 0: 1 */
};

/* What g records cost that change together, where one of them costs `entry`: copies of one another,
 * or of one family.  Their releases compose, g times as many.  In one batch of `batch` rows their
 * gradients add up before the noise: k of them move the clipped sum by k 2 G, which costs k^2 times
 * a step, and as many as fit are expected there (g^2 when all do). */
struct account_entry account_group(const struct account_entry *entry, uint32_t g, uint32_t batch);

struct account_claim {
    enum account_adversary adversary;
    enum account_adjacency adjacency;
    uint32_t t;     /* parties of server+t; no fewer than an operator's entries are ever counted */
    uint32_t m_eff; /* smallest over the entries; 0 when there is none */
    double alpha, epsilon; /* epsilon INFINITY and alpha 0 when there is no noise */
    bool vacuous;
};

/* The name under which a record's claim over these entries holds: record_raw when any is RAW, else
 * record_dp when any is DP, else record_frozen; person_* when there are entries and each of them
 * counts persons. */
enum account_adjacency account_record_adjacency(const struct account_entry *entries, size_t n);

/* Claims over the composition of n entries at `delta` in (0, 1): one for each adversary x (that
 * record's, columns, sample); those of server+t if t, the colluders that the plan's shares
 * withstand (plan_withstands()), is above 1. With alpha the order, a record's claim is the
 * conversion of
 *
 *     RAW     releases P eps_1(alpha)
 *     FROZEN  participations_max P eps_1(alpha)
 *     DP      participations_max P eps_1(alpha)
 *             + trained_max together steps (2 + ACCOUNT_STEP_SLACK)^2 alpha / (2 step_noise^2)
 *
 * summed over the entries.  (A person with k_t records in batch t costs sum k_t^2 there, which is
 * at most together times sum k_t = trained_max.)  Where noise is Gaussian, delta also pays for the
 * draws: with eta the sum of their distances the claim is that of delta - (1 + e^epsilon) eta
 * (docs/privacy.md). Beyond ACCOUNT_VACUOUS, where e^epsilon eta may be more than there is, it is
 * that of the exact law at delta; a claim below that cannot be paid for is infinite. n may
 * be a full ledger's and one more, ACCOUNT_MECHANISMS_MAX + 1 (CHECK).  If memory is short, or
 * tables would have more than ACCOUNT_OUTCOMES_MAX outcomes (b M_eff each), a claim falls back to
 * M_eff = 1 and says so: larger, still true. */
size_t account_claims(struct account_claim out[ACCOUNT_CLAIMS_MAX],
                      const struct account_entry *entries, size_t n, double delta, uint32_t t);

/* One of them, by which->adversary, adjacency and t, for instance to price a plan before it runs.
 * Whichever record's name is asked for, the claim is that of account_record_adjacency, and bears
 * its name. */
struct account_claim account_claim(const struct account_entry *entries, size_t n,
                                   const struct account_claim *which, double delta);

/* The divergence behind that claim at `orders` orders 1 + excess[i]: its RDP curve.  INFINITY where
 * something is released without noise. */
void account_curve(double *out, const double *excess, size_t orders,
                   const struct account_claim *which, const struct account_entry *entries,
                   size_t n);

const char *account_adversary_name(enum account_adversary a); /* as in summary.json */
const char *account_adjacency_name(enum account_adjacency a);

#endif
