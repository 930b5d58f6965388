/* charge.c -- releases are reserved in the ledger before the upload that spends them, a block at a
 * time; what is known of others' ledgers becomes durable with it.
 *
 * A block is up to PARTY_CHARGE_ROUNDS training rounds of one epoch, or the rest of a sweep.  A
 * void round was spent all the same: its repetition is charged on its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/parts.h"

#include "common/base/check.h"
#include "common/privacy/ledger_mechanism.h"
#include "common/wire/limits.h"

#include <string.h>

/* Rounds from `place` on, with n rows in charge_rows. */
static struct action *charge(struct party_train *p, struct actions *a, uint64_t place,
                             uint64_t rounds, size_t n)
{
    struct action *act = actions_add(a, ACTION_CHARGE);

    CHECK(n <= p->purse.rows_max && rounds <= UINT32_MAX);
    act->charge = (struct action_charge){
        .mechanism = p->purse.mechanism,
        .purpose = PURPOSE_TRAIN,
        .plan = p->learner.plan_digest,
        .place = place,
        .rounds = (uint32_t)rounds,
        .rows = p->purse.rows,
        .n = n,
    };
    party_witness_charge(p, &act->charge);
    return act;
}

/* Of `count` training steps or places of a sweep from `place` on. */
static struct ledger_stretch stretch(const struct party_train *p, enum wire_purpose purpose,
                                     uint64_t place, uint64_t count)
{
    const struct plan *plan = &p->learner.plan;
    struct ledger_stretch s = {.place = place, .count = count};
    struct segments cut;

    if (purpose == PURPOSE_TRAIN) {
        s.law = (struct ledger_law){.kind = LEDGER_STEPS,
                                    .seed = agenda_seed(plan, (uint32_t)p->setup->self),
                                    .rows = plan->shape.train_rows,
                                    .batch = plan->training.batch,
                                    .segments = plan->protocol.fedvs.segments,
                                    .turns = p->learner.agenda.turns};
        return s;
    }
    agenda_segments(&cut, plan, purpose == PURPOSE_EVALUATE_TEST);
    s.law = (struct ledger_law){.kind = LEDGER_PLACES, .rows = cut.rows, .segments = cut.k};
    return s;
}

/* Rows of training steps first .. first + steps, at most PARTY_CHARGE_ROUNDS of them. */
static size_t collect_steps(struct party_train *p, uint64_t first, uint64_t steps)
{
    size_t n = 0;

    for (uint64_t k = 0; k < steps; k++) {
        uint32_t rows;
        const uint32_t *row = party_batch(p, first + k, &rows);
        memcpy(p->purse.rows + n, row, rows * sizeof *row);
        n += rows;
    }
    return n;
}

/* The rows at places first .. end of a sweep: under fedvs a place stands for one of each segment.
 */
static size_t collect_places(struct party_train *p, uint64_t first, uint64_t end)
{
    struct segments s;

    agenda_segments(&s, &p->learner.plan, p->round.task.purpose == PURPOSE_EVALUATE_TEST);
    return segments_range(&s, p->purse.rows, (uint32_t)first, (uint32_t)(end - first));
}

static struct action *charge_steps(struct party_train *p, struct actions *a, uint64_t first,
                                   uint64_t steps)
{
    struct action *act = charge(p, a, first, steps, collect_steps(p, first, steps));

    act->charge.stretch = stretch(p, PURPOSE_TRAIN, first, steps);
    return act;
}

static bool reserved_steps(struct party_train *p, struct actions *a)
{
    struct party_reserve *r = &p->purse.train;
    uint64_t place = p->round.task.place, epoch = agenda_epoch_steps(&p->learner.agenda),
             in_epoch = epoch - place % epoch;
    uint64_t steps = p->learner.agenda.party_steps - place;

    if (place >= r->next && place < r->until) {
        r->next = place + 1;
        return true;
    }
    if (place < r->next) { /* a repetition */
        steps = 1;
    } else {
        steps = steps < in_epoch ? steps : in_epoch;
        steps = steps < PARTY_CHARGE_ROUNDS ? steps : PARTY_CHARGE_ROUNDS;
        *r = (struct party_reserve){.next = place + 1, .until = place + steps};
    }
    charge_steps(p, a, place, steps);
    return false;
}

/* Rounds that places first .. end of a sweep are. */
static uint64_t sweep_rounds(const struct party_train *p, uint64_t first, uint64_t end)
{
    uint64_t most = agenda_round_places(&p->learner.plan);

    return first < end ? (end - first + most - 1) / most : 0;
}

static bool reserved_sweep(struct party_train *p, struct actions *a)
{
    struct party_reserve *r = &p->purse.sweep;
    const struct party_task *t = &p->round.task;
    bool same = r->sweep == t->sweep && r->purpose == t->purpose;
    uint64_t end = t->place + t->coded;
    struct action *act;

    if (same && t->place >= r->next && t->place < r->until) {
        r->next = end;
        return true;
    }
    if (!same || t->place >= r->until) {
        uint32_t all = agenda_places(&p->learner.plan, t->purpose == PURPOSE_EVALUATE_TEST);
        *r = (struct party_reserve){
            .next = end, .until = all, .sweep = t->sweep, .purpose = t->purpose};
        end = all;
    }
    act = charge(p, a, t->place, sweep_rounds(p, t->place, end), collect_places(p, t->place, end));
    act->charge.purpose = t->purpose;
    act->charge.stretch = stretch(p, t->purpose, t->place, end - t->place);
    return false;
}

static bool further(struct party_opened *o, const struct party_task *t)
{
    bool more;

    if (t->purpose == PURPOSE_TRAIN) {
        more = t->place >= o->steps;
        if (more)
            o->steps = t->place + 1;
        return more;
    }
    if (t->sweep != o->sweep)
        more = t->sweep > o->sweep;
    else if (t->purpose != o->split)
        more = t->purpose == PURPOSE_EVALUATE_TEST; /* training rows go first */
    else
        more = t->place > o->row;
    if (more) {
        o->sweep = t->sweep;
        o->split = t->purpose;
        o->row = t->place;
    }
    return more;
}

enum status party_count_opened(struct party_train *p)
{
    struct party_opened *o = &p->purse.opened;

    if (further(o, &p->round.task))
        o->once++;
    else if (++o->again > WIRE_AGAIN_MAX + o->once)
        return error_set(p->error, STATUS_PROTOCOL,
                         "%llu rounds were opened again, and %llu once: some member, or the "
                         "server, lets none come to its end",
                         (unsigned long long)o->again, (unsigned long long)o->once);
    return STATUS_OK;
}

void party_opened_back(struct party_train *p)
{
    struct party_opened *o = &p->purse.opened;

    o->steps = p->learner.applied;
    o->sweep = 0;
}

bool party_reserved(struct party_train *p, struct actions *a)
{
    if (wire_purpose_deals(p->round.task.purpose))
        return true; /* shares of data go to members, whose any T learn nothing of it */
    party_witness_opened(p);
    if (!(p->round.task.purpose == PURPOSE_TRAIN ? reserved_steps(p, a) : reserved_sweep(p, a)))
        return false;
    if (!p->purse.witness.due)
        return true;
    charge(p, a, p->round.task.place, 0, 0);
    return false;
}

uint64_t party_unopened(const struct party_train *p)
{
    const struct party_reserve *train = &p->purse.train, *sweep = &p->purse.sweep;

    return (train->next < train->until ? train->until - train->next : 0) +
           sweep_rounds(p, sweep->next, sweep->until);
}

bool party_replay_reserved(struct party_train *p, struct actions *a)
{
    struct party_task *t = &p->round.task;
    const uint64_t first = t->charged, left = t->until - first,
                   epoch = agenda_epoch_steps(&p->learner.agenda), in_epoch = epoch - first % epoch;
    uint64_t steps = left < PARTY_CHARGE_ROUNDS ? left : PARTY_CHARGE_ROUNDS;

    /* A block is priced by the record that is in it most often. */
    steps = steps < in_epoch ? steps : in_epoch;

    if (p->setup->config->train != TRAIN_DP || left == 0)
        return true;
    t->charged += steps;
    charge_steps(p, a, first, steps);
    return false;
}

void party_give_back(struct party_train *p, struct actions *a)
{
    struct party_reserve *r = &p->purse.train;

    /* One block only: charge_rows can hold one, and a sweep's rest is seldom worth a commit. */
    if (r->next >= r->until)
        return;
    charge_steps(p, a, r->next, r->until - r->next)->charge.give_back = true;
    *r = (struct party_reserve){0};
}

void party_settle_up(struct party_train *p, struct actions *a)
{
    party_give_back(p, a);
    if (p->purse.witness.dirty)
        charge(p, a, p->learner.applied, 0, 0)->charge.give_back = true;
}

void party_forget_reserves(struct party_train *p)
{
    p->purse.train = (struct party_reserve){0};
    p->purse.sweep = (struct party_reserve){0};
    p->purse.witness.dirty = true; /* perhaps: the charge that had it may be the one that failed */
}

void party_use_mechanism(struct party_train *p, struct actions *a, struct account_entry next)
{
    /* Within a run only the set changes, but more follows it than how many there are: without the
     * server's own party it is as many as before, and sigma another. */
    if (!ledger_mechanism_same(&next, &p->purse.mechanism)) {
        party_give_back(p, a);
        party_forget_reserves(p);
    }
    p->purse.mechanism = next;
}
