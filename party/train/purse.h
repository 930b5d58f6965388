/* purse.h -- what this party's records have spent and may spend: the mechanism that a generation
 * charges, releases that are reserved, how far everybody's ledger is known to have come.
 *
 * Touched by charge.c and witness.c; what prices a plan (offer) fills the last two.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_PURSE_H
#define COLONNADE_PARTY_TRAIN_PURSE_H

#include "common/privacy/account.h"
#include "common/wire/message.h"

/* Releases committed in the ledger but not sent yet: training steps [next, until) or rows of a
 * sweep. */
struct party_reserve {
    uint64_t next, until;
    uint64_t sweep;
    enum wire_purpose purpose;
};

/* How far the own ledger had come when a checkpoint was made. */
struct party_paid {
    uint64_t last;   /* its number */
    uint64_t rounds; /* that number less what was reserved and not opened; or forgotten by order */
    uint64_t step;   /* training steps that they have paid for: the server's, where it was ahead */
};
#define PARTY_PAID_FORGOTTEN UINT64_MAX

/* How far ledgers have come: what tells that one was put back. */
struct party_witness {
    uint64_t seen[WIRE_MEMBERS_MAX]; /* by roster index: the highest ever */
    bool due;               /* the generation's first upload has to wait until they are durable */
    bool dirty;             /* some are not durable yet */
    uint64_t opened, ended; /* rounds of this generation that cost something */
    struct party_paid
        paid;    /* of the own one, by the checkpoint that this process began with; 0 without one */
    bool proven; /* the ledger has what the steps since took, and this party has come as far */
};

/* Rounds that were opened, in this process: how far they have come, how many there were. */
struct party_opened {
    uint64_t steps; /* training steps below this have been opened */
    uint64_t sweep, row;
    enum wire_purpose split;
    uint64_t once, again;
};

struct party_purse {
    struct account_entry mechanism; /* of the generation */
    struct party_reserve train, sweep;
    struct party_witness witness;
    struct party_opened opened;
    uint32_t *rows; /* of one charge */
    size_t rows_max;
    bool shared_ids;   /* some record is in the training split and in the test split */
    uint32_t together; /* rows of one person at most in one batch of the plan */
};

#endif
