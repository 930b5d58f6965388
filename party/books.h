/* books.h -- this party's ledger, bound to its data sets, with the limits of its policy.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_BOOKS_H
#define COLONNADE_PARTY_BOOKS_H

#include "common/daemon/aligned.h"
#include "common/flow/action.h"
#include "common/flow/alignment.h"
#include "common/privacy/ledger.h"
#include "party/prepare.h"
#include "party/spared.h"

struct books {
    const struct party_inputs *in;
    struct ledger *ledger;
    bool borrowed;     /* the ledger is another's, who closes it */
    uint32_t bindings; /* of it before */
    uint32_t *train_slots, *test_slots;
    uint32_t train_set, test_set; /* the ledger's numbers of both */
    uint32_t nobody;              /* its slot, where rows may not be here */
    uint32_t *slots;              /* scratch: the slots of a charge */
    size_t slots_max;
    uint8_t data[LEDGER_DIGEST_BYTES]; /* which data sets: SHA-256 of both; never leaves */
    bool due;                          /* in->fitted.drawn is in use, and not charged yet */
    double delta;         /* mechanism_delta() of the plan, for policy.max_epsilon; 0: none yet */
    uint32_t withstands;  /* plan_withstands() of it */
    struct spared spared; /* of the training that is played */
};

/* The ledger of a party that keeps its state so, with its key; NULL with STATUS_OK when there is
 * none yet and `make` is false. */
enum status books_open_ledger(struct ledger **out, const struct config_party *c, bool make,
                              struct error *err) MUST_USE;

/* Opens state/ledger.db and binds both data sets. */
enum status books_open(struct books *b, const struct party_inputs *in, struct error *err) MUST_USE;
/* Other data sets in the ledger of `whole`, which stays open as long. */
enum status books_share(struct books *b, const struct books *whole, const struct party_inputs *in,
                        struct error *err) MUST_USE;
/* What they bound in the ledger of another one is let go of. */
void books_close(struct books *b); /* safe on a zeroed struct */

/* By which plan policy.max_epsilon is judged from now on. */
void books_judge(struct books *b, const struct plan *p);
/* Records that it will hold once the data sets of `in` are bound; nothing is written. */
enum status books_records_with(struct ledger *l, const struct party_inputs *in, uint64_t *records,
                               struct error *err) MUST_USE;
/* Records that the ledger holds, those of both data sets among them. */
uint64_t books_records(const struct books *b);
/* What the ledger holds, as entries for the accountant. */
size_t books_entries(const struct books *b, struct account_entry out[ACCOUNT_MECHANISMS_MAX]);
/* With what is charged before the first release: the statistics that are due. */
size_t books_expected(const struct books *b, struct account_entry out[ACCOUNT_MECHANISMS_MAX]);
/* Are those of `in` charged in this ledger, or is there nothing to charge? */
enum status books_drawn_paid(struct ledger *l, const struct party_inputs *in, bool *paid,
                             struct error *err) MUST_USE;

/* A training begins that releases each record as often as `planned` says at most, by rows that may
 * not all be here (table.lacks): records without room for that are left out of it (spared.h). */
enum status books_spare(struct books *b, const struct account_entry *planned,
                        struct error *err) MUST_USE;
/* How many rows of both data sets that would be under a plan, of those that are here; nothing is
 * written. */
enum status books_spared_with(struct ledger *l, const struct party_inputs *in, const struct plan *p,
                              const struct account_entry *planned, size_t *n,
                              struct error *err) MUST_USE;

/* May predictions of so many rows be answered, by what was asked for before (counted.h)? */
enum status books_may_answer(const struct books *b, uint32_t rows, struct error *err) MUST_USE;

/* Alignments that there were, those of an earlier version of this program among them; l NULL: there
 * is no ledger yet. */
enum status books_aligned(const struct config_party *c, const struct ledger *l,
                          struct aligned_counts *out, struct error *err) MUST_USE;
/* An alignment begins, or may tell something from now on: noted, durably, within policy.align.  May
 * run on a worker thread. */
enum status books_align(struct books *b, const struct alignment *about, uint32_t ids,
                        enum alignment_count what, struct error *err) MUST_USE;

/* Reserves (durably) or gives back, and keeps what was seen of peers.  STATUS_BUDGET when a limit
 * of the policy would be passed; nothing is charged then.  May run on a worker thread. */
enum status books_charge(struct books *b, const struct action_charge *c,
                         struct error *err) MUST_USE;

#endif
