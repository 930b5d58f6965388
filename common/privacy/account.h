/* account.h -- what a run reveals: claims by adversary and adjacency, by the exact formulas of docs/privacy.md.
 *
 * record_raw: one record of this party; its bottom trains on raw data, so every later release counts.
 * columns: this party's whole column block: every release.  sample: all parties' data of one record.
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

enum account_kind { ACCOUNT_PBM, ACCOUNT_GAUSSIAN, ACCOUNT_NONE }; /* NONE: no noise, epsilon infinite */
enum account_adversary { ACCOUNT_SERVER, ACCOUNT_SERVER_1, ACCOUNT_ALL_BUT_ONE, ACCOUNT_PARTY };
enum account_adjacency { ACCOUNT_RECORD_RAW, ACCOUNT_COLUMNS, ACCOUNT_SAMPLE };

/* `vectors` releases of P coordinates each, by one mechanism among `parties` parties. */
struct account_entry {
    enum account_kind kind;
    uint32_t trials;       /* PBM: b */
    double beta;           /* PBM */
    double sigma, clip;    /* Gaussian noise of each party's own upload, sd; box [-C, C] */
    bool clear;            /* uploads seen one by one (aggregation clear): M_eff = 1 for the server */
    uint32_t coordinates;  /* P */
    uint32_t parties;      /* M */
    uint32_t colluders;    /* most entries of one operator, at least 1: the `1` of server+1 */
    uint64_t releases;     /* released vectors, total (columns, record_raw) */
    uint64_t participations_max; /* of one record (sample) */
};

struct account_claim {
    enum account_adversary adversary;
    enum account_adjacency adjacency;
    uint32_t m_eff;        /* smallest over the entries */
    double alpha, epsilon; /* epsilon INFINITY when there is no noise */
    bool vacuous;
};

/* Claims over the composition of n entries at `delta`: one for each adversary x adjacency. */
size_t account_claims(struct account_claim out[ACCOUNT_CLAIMS_MAX], const struct account_entry *entries,
                      size_t n, double delta);

const char *account_adversary_name(enum account_adversary a); /* as in summary.json */
const char *account_adjacency_name(enum account_adjacency a);

#endif
