/* charge.c -- releases are reserved in the ledger before the upload that spends them, a block at a
 * time; what is known of others' ledgers becomes durable with it.
 *
 * A block is up to PARTY_CHARGE_ROUNDS training rounds of one epoch, or the rest of a sweep.  A
 * void round was spent all the same: its repetition is charged on its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/purse.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/privacy/ledger_mechanism.h"
#include "common/wire/limits.h"
#include "common/wire/purpose.h"

#include <string.h>

void party_purse_init(struct party_purse *purse, const struct party_setup *setup)
{
    purse->steps_cost = setup->config->train == TRAIN_DP;
    party_witness_init(&purse->witness, setup);
}

/* A block of steps, or a whole split. */
enum status party_purse_make_room(struct party_purse *purse, const struct plan *p)
{
    const size_t block = (size_t)p->training.batch * PARTY_CHARGE_ROUNDS;
    const uint32_t longest =
        p->shape.test_rows > p->shape.train_rows ? p->shape.test_rows : p->shape.train_rows;

    purse->rows_max = block > longest ? block : longest;
    purse->rows = mem_alloc(purse->rows_max, sizeof *purse->rows);
    return purse->rows != NULL ? STATUS_OK : STATUS_MEMORY;
}

void party_purse_deinit(struct party_purse *purse)
{
    mem_free(purse->rows);
    purse->rows = NULL;
}

/* --- charges --- */

/* Rounds from `place` on, with n rows in purse->rows. */
static struct action *charge(struct party_purse *purse, const struct party_course *c,
                             struct actions *a, uint64_t place, uint64_t rounds, size_t n)
{
    struct action *act = actions_add(a, ACTION_CHARGE);

    CHECK(n <= purse->rows_max && rounds <= UINT32_MAX);
    act->charge = (struct action_charge){
        .mechanism = purse->mechanism,
        .purpose = PURPOSE_TRAIN,
        .plan = c->digest,
        .place = place,
        .rounds = (uint32_t)rounds,
        .rows = purse->rows,
        .n = n,
    };
    party_witness_charge(&purse->witness, &act->charge);
    return act;
}

static struct ledger_stretch stretch_of_steps(const struct party_course *c, uint64_t first,
                                              uint64_t steps)
{
    const struct plan *plan = &c->plan;

    return (struct ledger_stretch){.place = first,
                                   .count = steps,
                                   .law = {.kind = LEDGER_STEPS,
                                           .seed = agenda_seed(plan, c->self),
                                           .rows = plan->shape.train_rows,
                                           .batch = plan->training.batch,
                                           .segments = plan->protocol.fedvs.segments,
                                           .turns = c->agenda.turns}};
}

static struct ledger_stretch stretch_of_places(const struct plan *p, bool test, uint64_t first,
                                               uint64_t end)
{
    struct segments cut;

    agenda_segments(&cut, p, test);
    return (struct ledger_stretch){
        .place = first,
        .count = end - first,
        .law = {.kind = LEDGER_PLACES, .rows = cut.rows, .segments = cut.k}};
}

/* Rows of training steps first .. first + steps, at most PARTY_CHARGE_ROUNDS of them. */
static size_t collect_steps(struct party_purse *purse, struct party_course *c, uint64_t first,
                            uint64_t steps)
{
    size_t n = 0;

    for (uint64_t k = 0; k < steps; k++) {
        uint32_t rows;
        const uint32_t *row = party_batch(c, first + k, &rows);
        memcpy(purse->rows + n, row, rows * sizeof *row);
        n += rows;
    }
    return n;
}

/* The rows at places first .. end of a sweep: under fedvs a place stands for one of each segment.
 */
static size_t collect_places(struct party_purse *purse, const struct plan *p, bool test,
                             uint64_t first, uint64_t end)
{
    struct segments s;

    agenda_segments(&s, p, test);
    return segments_range(&s, purse->rows, (uint32_t)first, (uint32_t)(end - first));
}

static struct action *charge_steps(struct party_purse *purse, struct party_course *c,
                                   struct actions *a, uint64_t first, uint64_t steps)
{
    struct action *act = charge(purse, c, a, first, steps, collect_steps(purse, c, first, steps));

    act->charge.stretch = stretch_of_steps(c, first, steps);
    return act;
}

/* Steps from `first` on, at most so many, in one block: of one epoch, so that a limit which is
 * reached in the next one ends no run before that. */
static uint64_t block_from(const struct agenda *a, uint64_t first, uint64_t most)
{
    const uint64_t epoch = agenda_epoch_steps(a), in_epoch = epoch - first % epoch;
    const uint64_t steps = most < in_epoch ? most : in_epoch;

    return steps < PARTY_CHARGE_ROUNDS ? steps : PARTY_CHARGE_ROUNDS;
}

static bool reserved_steps(struct party_purse *purse, struct party_course *c, uint64_t place,
                           struct actions *a)
{
    struct party_reserve *r = &purse->train;
    uint64_t steps = 1; /* of a repetition */

    if (place >= r->next && place < r->until) {
        r->next = place + 1;
        return true;
    }
    if (place >= r->next) {
        steps = block_from(&c->agenda, place, c->agenda.party_steps - place);
        *r = (struct party_reserve){.next = place + 1, .until = place + steps};
    }
    charge_steps(purse, c, a, place, steps);
    return false;
}

/* Rounds that places first .. end of a sweep are. */
static uint64_t sweep_rounds(const struct plan *p, uint64_t first, uint64_t end)
{
    uint64_t most = agenda_round_places(p);

    return first < end ? (end - first + most - 1) / most : 0;
}

static bool reserved_sweep(struct party_purse *purse, const struct party_course *c,
                           const struct party_task *t, struct actions *a)
{
    struct party_reserve *r = &purse->sweep;
    const bool test = purpose_of(t->purpose)->test;
    bool same = r->sweep == t->sweep && r->purpose == t->purpose;
    uint64_t end = t->place + t->coded;
    struct action *act;

    if (same && t->place >= r->next && t->place < r->until) {
        r->next = end;
        return true;
    }
    if (!same || t->place >= r->until) {
        uint32_t all = agenda_places(&c->plan, test);
        *r = (struct party_reserve){
            .next = end, .until = all, .sweep = t->sweep, .purpose = t->purpose};
        end = all;
    }
    act = charge(purse, c, a, t->place, sweep_rounds(&c->plan, t->place, end),
                 collect_places(purse, &c->plan, test, t->place, end));
    act->charge.purpose = t->purpose;
    act->charge.stretch = stretch_of_places(&c->plan, test, t->place, end);
    return false;
}

static bool further(struct party_opened *o, const struct party_task *t)
{
    bool more;

    if (purpose_of(t->purpose)->trains) {
        more = t->place >= o->steps;
        if (more)
            o->steps = t->place + 1;
        if (o->steps > o->reached) {
            o->reached = o->steps;
            o->since = (struct party_openings){0};
        }
        return more;
    }
    if (t->sweep != o->sweep)
        more = t->sweep > o->sweep;
    else if (t->purpose != o->split)
        more = purpose_of(t->purpose)->test; /* training rows go first */
    else
        more = t->place > o->row;
    if (more) {
        o->sweep = t->sweep;
        o->split = t->purpose;
        o->row = t->place;
    }
    return more;
}

static bool too_many_again(const struct party_openings *n)
{
    return n->again > WIRE_AGAIN_MAX + n->once;
}

/* In the whole run, and since its last step: what was new long ago pays for no repetitions of what
 * one batch is asked for now. */
enum status party_count_opened(struct party_purse *purse, const struct party_task *t,
                               struct error *err)
{
    struct party_opened *o = &purse->opened;
    const bool after_going_back = purpose_of(t->purpose)->trains && t->place < o->reached;
    const bool more = further(o, t);
    const struct party_openings *n;

    o->all.once += more;
    o->all.again += !more;
    o->since.once += more && !after_going_back;
    o->since.again += !more;
    n = too_many_again(&o->since) ? &o->since : &o->all;
    if (!too_many_again(n))
        return STATUS_OK;
    return error_set(err, STATUS_PROTOCOL,
                     "%llu rounds were opened again, and %llu once%s: some member, or the server, "
                     "lets none come to its end",
                     (unsigned long long)n->again, (unsigned long long)n->once,
                     n == &o->since ? " since the last step" : "");
}

void party_opened_back(struct party_purse *purse, uint64_t applied)
{
    purse->opened.steps = applied;
    purse->opened.sweep = 0;
}

bool party_reserved(struct party_purse *purse, struct party_course *c, const struct party_task *t,
                    struct actions *a)
{
    const struct purpose *is = purpose_of(t->purpose);

    if (is->deals)
        return true; /* shares of data go to members, whose any T learn nothing of it */
    party_witness_opened(&purse->witness);
    if (!(is->trains ? reserved_steps(purse, c, t->place, a) : reserved_sweep(purse, c, t, a)))
        return false;
    if (!purse->witness.due)
        return true;
    charge(purse, c, a, t->place, 0, 0);
    return false;
}

uint64_t party_unopened(const struct party_purse *purse, const struct plan *p)
{
    const struct party_reserve *train = &purse->train, *sweep = &purse->sweep;

    return (train->next < train->until ? train->until - train->next : 0) +
           sweep_rounds(p, sweep->next, sweep->until);
}

/* A record's count stays: a step of the epoch was opened, so some record has as many without it. */
void party_less_unopened(const struct party_purse *purse, struct party_course *c,
                         struct account_entry *spent, size_t n)
{
    const struct party_reserve *r = &purse->train;
    uint64_t rows = 0;

    for (uint64_t step = r->next; step < r->until; step++) {
        uint32_t batch;

        (void)party_batch(c, step, &batch);
        rows += batch;
    }
    for (size_t i = 0; i < n; i++) {
        if (ledger_mechanism_same(&spent[i], &purse->mechanism) && spent[i].releases >= rows)
            spent[i].releases -= rows;
    }
}

uint64_t party_charge_again(struct party_purse *purse, struct party_course *c, struct actions *a,
                            uint64_t first, uint64_t until)
{
    const uint64_t steps = purse->steps_cost ? block_from(&c->agenda, first, until - first) : 0;

    if (steps > 0)
        charge_steps(purse, c, a, first, steps);
    return steps;
}

void party_give_back(struct party_purse *purse, struct party_course *c, struct actions *a)
{
    struct party_reserve *r = &purse->train;

    /* One block only: purse->rows can hold one, and a sweep's rest is seldom worth a commit. */
    if (r->next >= r->until)
        return;
    charge_steps(purse, c, a, r->next, r->until - r->next)->charge.give_back = true;
    *r = (struct party_reserve){0};
}

void party_settle_up(struct party_purse *purse, struct party_course *c, struct actions *a,
                     uint64_t applied)
{
    party_give_back(purse, c, a);
    if (purse->witness.dirty)
        charge(purse, c, a, applied, 0, 0)->charge.give_back = true;
}

void party_forget_reserves(struct party_purse *purse)
{
    purse->train = (struct party_reserve){0};
    purse->sweep = (struct party_reserve){0};
    purse->witness.dirty = true; /* perhaps: the charge that had it may be the one that failed */
}

void party_use_mechanism(struct party_purse *purse, struct party_course *c, struct actions *a,
                         struct account_entry next)
{
    /* Within a run only the set changes, but more follows it than how many there are: without the
     * server's own party it is as many as before, and sigma another. */
    if (!ledger_mechanism_same(&next, &purse->mechanism)) {
        party_give_back(purse, c, a);
        party_forget_reserves(purse);
    }
    purse->mechanism = next;
}
