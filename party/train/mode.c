/* mode.c -- what the modes of rounds do each in its own way.
 *
 * plain     embeddings go up, masked or in clear, and the round is over
 * shared    they go to the other members in shares, and sums of shares go up
 * dealt     data has gone to the others before, and it is the model that goes to them in shares
 * streamed  plain, each party by itself
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/mode.h"

#include "common/config/aggregation.h"
#include "common/wire/purpose.h"
#include "party/train/deal.h"
#include "party/train/learner.h"
#include "party/train/round.h"

/* --- embeddings of rows --- */

static size_t values_of_rows(const struct party_task *t, const struct plan *p,
                             const struct secagg_shape *s)
{
    (void)s;
    return (size_t)t->rows * p->model.embedding;
}

/* The batch is kept: its gradient comes down. */
static const float *embed_batch(struct party_learner *l, const struct party_task *t,
                                const struct table *table)
{
    return party_sent_begin(&l->sent,
                            party_bottom_train(&l->bottom, table, t->row, t->rows, t->place),
                            t->row, t->rows, table->lacks);
}

static const float *embed_rows(struct party_learner *l, const struct party_task *t,
                               const struct table *table, size_t *n)
{
    *n = (size_t)t->rows * l->bottom.width;
    if (purpose_of(t->purpose)->trains)
        return embed_batch(l, t, table);
    return party_bottom_evaluate(&l->bottom, table, (uint32_t)t->place, t->rows);
}

static bool due_by_steps(const struct agenda *a, uint64_t applied, uint64_t sweep)
{
    return agenda_due(a, applied) && sweep == agenda_sweeps_until(a, applied);
}

/* --- the model itself, on rows that were dealt --- */

static size_t values_of_coded(const struct party_task *t, const struct plan *p,
                              const struct secagg_shape *s)
{
    if (purpose_of(t->purpose)->deals)
        return t->coded;
    return (size_t)t->coded * s->terms.segments * p->model.embedding;
}

static void list_coded(struct party_round *r, const struct schedule *s)
{
    const struct purpose *is = purpose_of(r->task.purpose);

    if (is->deals)
        return;
    if (is->trains)
        r->task.coded = s->coded_n;
    for (uint32_t i = 0; i < r->task.coded; i++)
        r->coded[i] = is->trains ? s->coded[i] : (uint32_t)r->task.place + i;
}

static const float *embed_model(struct party_learner *l, const struct party_task *t,
                                const struct table *table, size_t *n)
{
    const struct nn_layer *model = &l->bottom.net.layer[0];

    if (purpose_of(t->purpose)->trains)
        (void)embed_batch(l, t, table);
    *n = (size_t)model->in * model->out;
    return model->w;
}

/* --- each by itself --- */

/* A party's own steps do not tell how many the run has done: it is the number of the sweep that
 * only grows, and every one is on the agenda. */
static bool due_some_time(const struct agenda *a, uint64_t applied, uint64_t sweep)
{
    (void)applied;
    return sweep >= 1 && sweep <= a->sweeps;
}

/* --- the table --- */

static const struct party_mode plain = {
    .opens = PHASE_ROUND,
    .values = values_of_rows,
    .embed = embed_rows,
    .sweep_is_due = due_by_steps,
    .send = party_send_upload,
};
static const struct party_mode shared = {
    .opens = PHASE_SHARE,
    .values = values_of_rows,
    .embed = embed_rows,
    .sweep_is_due = due_by_steps,
    .send = party_send_share,
};
/* Chunks go to a mapped file, zero shares take the streams of many keys, and the product is over
 * the field: all of it is work for another thread. */
static const struct party_mode dealt = {
    .opens = PHASE_SHARE,
    .slow = 1e9,
    .values = values_of_coded,
    .list_coded = list_coded,
    .embed = embed_model,
    .data = party_deal_shares,
    .sweep_is_due = due_by_steps,
    .send = party_send_share,
};
static const struct party_mode streamed = {
    .opens = PHASE_STREAM,
    .own_steps = true,
    .values = values_of_rows,
    .embed = embed_rows,
    .sweep_is_due = due_some_time,
    .send = party_send_upload,
};

const struct party_mode *party_mode_of(const struct plan *p)
{
    const struct aggregation *facts = aggregation_of(p);

    if (facts->deals)
        return &dealt;
    if (facts->shares)
        return &shared;
    return p->protocol.straggler == STRAGGLER_ASYNC ? &streamed : &plain;
}
