/* purse.h -- what this party's records have spent and may spend: the mechanism that a generation
 * charges, releases that are reserved, how far everybody's ledger is known to have come.
 *
 * Written by charge.c and, what is in `witness`, by witness.c; the last three fields by plan.c,
 * which prices a plan, or out of a checkpoint by resume.c; `before` by
 * from.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_PURSE_H
#define COLONNADE_PARTY_TRAIN_PURSE_H

#include "common/privacy/account.h"
#include "party/policy.h"
#include "party/train/course.h"
#include "party/train/learner.h"
#include "party/train/task.h"

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
    size_t seen_n;
    bool due;               /* the generation's first upload has to wait until they are durable */
    bool dirty;             /* some are not durable yet */
    uint64_t opened, ended; /* rounds of this generation that cost something */
    struct party_paid
        paid;    /* of the own one, by the checkpoint that this process began with; 0 without one */
    bool proven; /* the ledger has what the steps since took, and this party has come as far */
    bool lacking; /* it has less, and this party has stopped */
};

struct party_openings {
    uint64_t once, again; /* rounds that were opened for the first time, and repetitions */
};

/* Rounds that were opened, in this process: how far they have come, how many there were. */
struct party_opened {
    uint64_t steps;   /* training steps below this have been opened */
    uint64_t reached; /* the most that these ever were, before this party went back */
    uint64_t sweep, row;
    enum wire_purpose split;
    struct party_openings all;
    struct party_openings since; /* a step beyond all others was opened, which counts as well */
};

struct party_purse {
    struct account_entry mechanism; /* of the generation */
    struct party_reserve train, sweep;
    struct party_witness witness;
    struct party_opened opened;
    uint32_t *rows; /* of one charge */
    size_t rows_max;
    bool steps_cost;             /* model.train dp: a local step does, whenever it is taken */
    bool raw;                    /* the bottom has been priced as raw: for good */
    struct policy_bottom before; /* under training.from: what its model was made with (from.c) */
    struct validate_repeats repeats;
    uint32_t together; /* rows of one person at most in one batch of the plan */
};

/* --- charge.c --- */

/* What was seen of others' ledgers, and what the ledger charges. */
void party_purse_init(struct party_purse *purse, const struct party_setup *setup);
/* For the rows of one charge under the plan. */
enum status party_purse_make_room(struct party_purse *purse, const struct plan *p) MUST_USE;
void party_purse_deinit(struct party_purse *purse);

/* A round of `t` is opened: an error when too many of them were opened before, which is paid for
 * each time; members that make each sum fail, or that go in the middle of rounds, have that happen.
 */
enum status party_count_opened(struct party_purse *purse, const struct party_task *t,
                               struct error *err) MUST_USE;
/* Steps from `applied` on are to be taken again, after a checkpoint: there are few of these. */
void party_opened_back(struct party_purse *purse, uint64_t applied);
/* True when the task's releases are reserved; false: an ACTION_CHARGE is on its way. */
bool party_reserved(struct party_purse *purse, struct party_course *c, const struct party_task *t,
                    struct actions *a);
/* Rounds that are reserved and may be opened without a charge. */
uint64_t party_unopened(const struct party_purse *purse, const struct plan *p);
/* Of n entries of the own ledger: less the training rounds that party_unopened counts, which are
 * given back before another mechanism is charged. */
void party_less_unopened(const struct party_purse *purse, struct party_course *c,
                         struct account_entry *spent, size_t n);
/* Where local steps cost, those that are taken again are charged as participations of their own,
 * releases that they do not make included.  Returns how many of the steps first .. until, of which
 * ACTION_CHARGE then is; 0: none costs. */
uint64_t party_charge_again(struct party_purse *purse, struct party_course *c, struct actions *a,
                            uint64_t first, uint64_t until);
void party_give_back(struct party_purse *purse, struct party_course *c, struct actions *a);
/* At the end: that, and what was seen since the last charge. */
void party_settle_up(struct party_purse *purse, struct party_course *c, struct actions *a,
                     uint64_t applied);
/* The rest counts as spent: it will neither be sent nor given back. */
void party_forget_reserves(struct party_purse *purse);
/* The mechanism of the generation to come.  What is reserved under another one serves no more. */
void party_use_mechanism(struct party_purse *purse, struct party_course *c, struct actions *a,
                         struct account_entry next);

/* --- witness.c --- */

void party_witness_init(struct party_witness *w, const struct party_setup *setup);
/* What a hello says: rounds that the own ledger has paid for, less those still to be sent
 * (party_unopened, here and below). */
uint64_t party_number(const struct party_setup *setup, uint64_t unopened);
/* All are good. */
void party_witness_hellos(struct party_witness *w, const struct party_setup *setup,
                          const struct party_set *set);
/* Into the own confirmation; and do enough others remember more of this party than it has? */
void party_witness_say(const struct party_witness *w, const struct party_set *set,
                       struct agree_confirm *c);
enum status party_witness_check(const struct party_setup *setup, const struct party_set *set,
                                const struct party_course *c, const struct wire_confirms *cs,
                                struct error *err) MUST_USE;
/* Into a checkpoint. */
struct party_paid party_witness_paid(const struct party_witness *w, const struct party_setup *setup,
                                     const struct party_learner *l, uint64_t unopened);
/* Out of one: is the ledger the one that it was made with, or a later one? */
enum status party_witness_restore(struct party_witness *w, const struct party_setup *setup,
                                  const struct party_paid *paid, struct error *err) MUST_USE;
/* The steps were another run's; how far the ledger had come stays. */
void party_witness_forget_steps(struct party_witness *w);
/* The server says that it has done l->behind.offered steps.  Where all wait this party had to pay
 * for each: an error if the ledger has less.  Until it has all, and this party has come as far,
 * nothing of it is paid in what is kept; _offered looks at that without a word, before the first
 * is. */
void party_witness_offered(struct party_witness *w, const struct party_setup *setup,
                           const struct party_course *c, const struct party_learner *l);
enum status party_witness_steps(struct party_witness *w, const struct party_setup *setup,
                                const struct party_course *c, const struct party_learner *l,
                                struct error *err) MUST_USE;
/* A round is opened that costs something; the one before has ended, for all members. */
void party_witness_opened(struct party_witness *w);
void party_witness_ended(struct party_witness *w, const struct party_course *c,
                         const struct party_set *set);
/* What is seen becomes durable with this charge. */
void party_witness_charge(struct party_witness *w, struct action_charge *c);

#endif
