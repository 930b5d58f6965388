/* account.h -- what a run reveals: claims by adversary and adjacency, by the formulas of
 * docs/privacy.md.
 *
 * record_raw: one record of this party; its bottom trains on raw data, so every later release
 * counts. columns: this party's whole column block: every release. sample: all parties' data of one
 * record, through the releases of that record.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_ACCOUNT_H
#define COLONNADE_PRIVACY_ACCOUNT_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ACCOUNT_MECHANISMS_MAX = 64, ACCOUNT_CLAIMS_MAX = 16 };
#define ACCOUNT_VACUOUS 20.0 /* above this epsilon a claim says nothing */

enum account_kind {
    ACCOUNT_PBM,
    ACCOUNT_GAUSSIAN,
    ACCOUNT_NONE
}; /* NONE: no noise, epsilon infinite */
enum account_adversary { ACCOUNT_SERVER, ACCOUNT_SERVER_1, ACCOUNT_ALL_BUT_ONE, ACCOUNT_PARTY };
enum account_adjacency { ACCOUNT_RECORD_RAW, ACCOUNT_COLUMNS, ACCOUNT_SAMPLE };
enum { ACCOUNT_ADVERSARIES = 4, ACCOUNT_ADJACENCIES = 3 };

/* `releases` vectors of P coordinates each, by one mechanism among `parties` parties.  Nominal beta
 * bounds the sampler from above, because its thresholds are rounded inwards. */
struct account_entry {
    enum account_kind kind;
    uint32_t trials;    /* PBM: b */
    double beta;        /* PBM */
    double sigma, clip; /* Gaussian noise of each party's own upload, sd; box [-C, C] */
    bool clear;         /* uploads seen one by one (aggregation clear): M_eff = 1 for the server */
    /* Clear, and fusion concat, a sum that may do without some, or uploads that go down as they
     * came: parties too see more than a function of the sum over all, M_eff = 1 for them as well.
     */
    bool concat;
    /* Bottoms train on raw data, so that a record shows in every release after its first, not only
     * in its own: `sample` then counts releases, not participations. */
    bool raw;
    uint32_t coordinates;        /* P */
    uint32_t parties;            /* M */
    uint32_t colluders;          /* most entries of one operator, at least 1: the `1` of server+1 */
    uint64_t releases;           /* released vectors, total (columns, record_raw) */
    uint64_t participations_max; /* of one record (sample, unless raw) */
};

struct account_claim {
    enum account_adversary adversary;
    enum account_adjacency adjacency;
    uint32_t m_eff;        /* smallest over the entries; 0 when there is none */
    double alpha, epsilon; /* epsilon INFINITY and alpha 0 when there is no noise */
    bool vacuous;
};

/* Claims over the composition of n entries at `delta` in (0, 1): one for each adversary x
 * adjacency. n may be a full ledger's and one more, ACCOUNT_MECHANISMS_MAX + 1 (CHECK).  If memory
 * is short a claim falls back to M_eff = 1 and says so: larger, still true. */
size_t account_claims(struct account_claim out[ACCOUNT_CLAIMS_MAX],
                      const struct account_entry *entries, size_t n, double delta);

/* One of them, for instance to price a plan before it runs. */
struct account_claim account_claim(const struct account_entry *entries, size_t n,
                                   enum account_adversary adversary,
                                   enum account_adjacency adjacency, double delta);

/* After what `spent` holds, how much more of `mechanism` (releases, or participations of a record
 * for sample) keeps the claim for limit->adversary and limit->adjacency at or under limit->epsilon?
 * UINT64_MAX: more than 2^53.  `spent` may be full (n = ACCOUNT_MECHANISMS_MAX). */
uint64_t account_affordable(const struct account_entry *spent, size_t n,
                            const struct account_entry *mechanism,
                            const struct account_claim *limit, double delta);

const char *account_adversary_name(enum account_adversary a); /* as in summary.json */
const char *account_adjacency_name(enum account_adjacency a);

#endif
