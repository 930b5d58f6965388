/* spared.h -- a training by labelled rows: limits of one record that refuse nothing.
 *
 * That a record has spent its budget, by another alignment, say, must not show: a refusal would
 * tell that it is here.  So before the first release of a job each record is asked whether it has
 * room for all that the job may still come to, with rounds that are played again
 * (policy_repetitions).
 * Who has not is left out of this job: its rows are as if they were not here (absent.h), and
 * nobody's in the ledger.  From then on no charge is judged by what single records have spent, but
 * by what this job has charged for the row that it has charged most, which is everybody's affair.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_SPARED_H
#define COLONNADE_PARTY_SPARED_H

#include "common/data/table.h"
#include "common/flow/action.h"
#include "common/privacy/account.h"

/* Of one split. */
struct spared_rows {
    const struct table *table;   /* whose `lacks` says who is not here or is left out of this job */
    uint8_t *absent;             /* by row: not here, whatever the job */
    uint8_t *left_out;           /* by row: left out of this job, here or not */
    uint32_t *charged, *trained; /* by row: releases of this job, and those in training steps */
    uint64_t most;               /* of charged[] that there ever was */
};

struct spared {
    struct spared_rows train, test;
    uint64_t most, most_trained; /* of one record: what it was left room for; 0: there is no job */
};

/* Of tables that stay; nothing where that was done before.  STATUS_MEMORY: s is zeroed. */
enum status spared_init(struct spared *s, const struct table *train,
                        const struct table *test) MUST_USE;
void spared_deinit(struct spared *s);      /* safe on a zeroed struct */
bool spared_is_on(const struct spared *s); /* is there a job within such limits? */

/* A job begins whose records may be released as often as `planned` says, and left_out[] of both
 * splits says who has no room for that: `lacks` of the tables is brought in line. */
void spared_begin(struct spared *s, const struct account_entry *planned);
/* A charge of this job.  STATUS_BUDGET: a row would be released more often
 * than records were left room for, since so many rounds were played again; nothing is counted. */
enum status spared_charge(struct spared *s, const struct action_charge *c,
                          struct error *err) MUST_USE;
/* A charge that was counted and came to nothing. */
void spared_take_back(struct spared *s, const struct action_charge *c);

#endif
