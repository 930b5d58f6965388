/* work.c -- the work between the last upload and the next broadcast: combine, head, a record of it.
 *
 * What is released is in the journal before anything of it is sent (job.c); a restarted server
 * takes its steps from there again (server_work_again), bit for bit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/work.h"

#include "common/base/check.h"
#include "common/secagg/lane.h"
#include "server/train/evaluate.h"
#include "server/train/stored.h"

#include <math.h>
#include <string.h>

/* Of all members' gradients. */
static size_t gradient_words_n(const struct server_close *c)
{
    return c->words * c->blocks;
}

/* Members that are not in the sum, and parties that are no members. */
static void count_missing(struct server_report *r, const struct server_set *set, size_t parties,
                          const uint8_t *missing, uint32_t n)
{
    bool member[WIRE_MEMBERS_MAX] = {false};

    for (uint32_t m = 0; m < set->n; m++)
        member[set->member[m]] = true;
    for (uint32_t i = 0; i < n; i++)
        r->whose.missing[set->member[missing[i]]]++;
    for (size_t i = 0; i < parties; i++)
        r->whose.absent[i] += !member[i];
    r->missing_now = (uint32_t)parties - set->n + n;
    r->degraded.missing += n;
    r->degraded.absent += parties - set->n;
}

/* Who was not in the sum gets no gradient; the others' share of the sum was scaled by M / |S|, and
 * so is theirs of the gradient (Ignore, FedVS section 6). */
static void note_absent(struct server_trainer *t, const struct server_sum *sum,
                        struct server_report *r, const struct server_set *set,
                        const struct server_task *task)
{
    uint32_t present = secagg_present(sum->secagg, t->close.absent);
    float factor = (float)set->n / (float)present;

    t->close.absent_n = sum->shape.partial ? set->n - present : 0;
    count_missing(r, set, t->setup->roster->n, t->close.absent, set->n - present);
    if (t->close.absent_n == 0 || t->head.top.apart || t->head.top.zeros)
        return;
    for (size_t i = 0; i < gradient_row_values(&t->head.down.gradient, task->rows); i++)
        t->head.values[i] *= factor;
}

/* Sums that the head does not use before the parties have gone. */
static void store(struct server_trainer *t, const struct server_task *task)
{
    server_stored_put(t->stored, task, t->head.fused);
    if (!purpose_of(task->purpose)->trains && server_sweep_on(t, task))
        server_sweep_done(t);
}

/* The head's part of a round whose sum is in head.fused; true: it has ended a sweep. */
static bool use_sum(struct server_trainer *t, struct server_report *r,
                    const struct server_task *task)
{
    const bool train = purpose_of(task->purpose)->trains;
    double loss;

    program_round(t->program.program);
    if (train)
        t->close = (struct server_close){
            .any = true,
            .fresh = true,
            .step = t->steps_done,
            .words = down_words(&t->head.down, task->rows),
            .blocks = t->head.apart ? t->head.top.parties : 1,
        };
    if (t->stored != NULL) {
        store(t, task);
        return false;
    }
    server_trainer_aim(t, task);
    if (!train) {
        server_score_batch(t, r, task, server_head_evaluate(&t->head, task->rows));
        return server_sweep_on(t, task);
    }
    loss = server_head_train(&t->head, t->plan, task->place, task->rows);
    if (task->place % t->agenda.turns == 0) /* a batch counts once */
        server_score_batch(t, r, task, loss);
    else
        r->measured.last_loss = loss;
    return false;
}

static enum status diverged(const struct server_trainer *t, struct error *err)
{
    return error_set(err, STATUS_DATA,
                     "training diverged in step %llu: try a smaller learning_rate",
                     (unsigned long long)t->steps_done);
}

static void begin_rounding(struct server_trainer *t, const char *purpose, uint64_t place)
{
    uint8_t key[RNG_KEY_BYTES];

    if (!t->setup->start.seeded || t->head.down.gradient.type != GRADIENT_INT8)
        return;
    rng_seed_key(key, t->setup->start.seed, 0, purpose, place);
    rng_rekey(&t->rounding, key);
}

enum status server_pack_gradient(struct server_trainer *t, const struct server_task *task,
                                 uint64_t place, uint32_t blocks, double loss, struct error *err)
{
    size_t values = gradient_values(&t->head.down.gradient, task->rows) * blocks;
    const bool any = t->head.down.with_gradient;

    if (!isfinite(loss) || (any && !lane_finite(t->head.values, values)))
        return diverged(t, err);
    if (!any)
        return STATUS_OK;
    begin_rounding(t, "gradient", place);
    server_head_pack(&t->head, task->rows, blocks, &t->rounding);
    return STATUS_OK;
}

/* What parties with labels need: the sum as it was given, and the head before its own steps. */
static enum status show(struct server_trainer *t, struct server_sum *sum,
                        const struct server_task *task, struct error *err)
{
    struct server_head *h = &t->head;

    if (h->down.shown == DOWN_SHOWN_NONE)
        return STATUS_OK;
    secagg_show(sum->secagg, down_shown_begin(&h->down, h->blob, task->rows));
    begin_rounding(t, "head", task->place);
    return server_head_show(h, task->rows, sum->dither, &t->rounding) ? STATUS_OK
                                                                      : diverged(t, err);
}

/* The step is done, once its gradient is final. */
static void count_round(struct server_trainer *t, struct server_report *r,
                        const struct server_task *task, bool swept)
{
    if (purpose_of(task->purpose)->trains) {
        trail_add(&t->trail, &t->digest, t->steps_done, t->head.blob,
                  gradient_words_n(&t->close) * sizeof *t->head.blob);
        r->rounds++;
        t->steps_done++;
    } else if (swept) {
        server_sweep_done(t);
        server_sweep_told(t, r);
    }
}

static struct journal_record record_of(const struct server_trainer *t, const struct server_set *set,
                                       const struct server_task *task)
{
    const bool train = purpose_of(task->purpose)->trains;
    struct journal_record r = {
        .purpose = task->purpose,
        .round = task->number,
        .place = task->place,
        .sweep = task->sweep,
        .generation = set->generation,
        .rows = task->rows,
        .present = set->n,
        .sum = t->head.fused,
        .sum_floats = (size_t)task->rows * t->head.top.inputs,
        .gradient = train ? t->head.blob : NULL,
        .gradient_words = train ? gradient_words_n(&t->close) : 0,
    };

    memcpy(r.trail, t->trail.value, sizeof r.trail);
    return r;
}

/* Always between two steps, never in the middle of a sweep; and due every so many of them. */
static void say_when_to_keep(struct server_worked *w, const struct server_trainer *t,
                             const struct server_task *task)
{
    const uint32_t every = t->setup->checkpoint_rounds;

    w->may_keep = every > 0 && purpose_of(task->purpose)->trains;
    w->keep = w->may_keep && t->steps_done % every == 0;
}

/* From the sum to what goes out: it is in the journal by then, or the run does not go on. */
static void close_round(struct server_worked *w, struct server_trainer *t, struct server_sum *sum,
                        struct server_report *r, const struct server_set *set,
                        const struct server_task *task)
{
    const bool train = purpose_of(task->purpose)->trains;
    uint8_t absent[WIRE_MEMBERS_MAX];
    uint32_t absent_n;

    w->spoiled = true;
    if (train && show(t, sum, task, &w->error) != STATUS_OK)
        return;
    absent_n = set->n - secagg_present(sum->secagg, absent);
    server_head_spread(&t->head, set->member, set->n, absent, absent_n, task->rows);
    server_head_fuse(&t->head, task->rows);
    w->swept = use_sum(t, r, task);
    if (train) {
        note_absent(t, sum, r, set, task);
        if (server_pack_gradient(t, task, task->place, t->close.blocks, r->measured.last_loss,
                                 &w->error) != STATUS_OK)
            return;
    }
    count_round(t, r, task, w->swept);
    w->record = record_of(t, set, task);
    w->append = true;
    say_when_to_keep(w, t, task);
    w->spoiled = false;
}

struct server_worked server_work(struct server_trainer *t, struct server_sum *sum,
                                 struct server_report *r, const struct server_set *set,
                                 const struct server_task *task)
{
    const uint64_t start = t->setup->clock_us();
    struct server_worked w = {0};
    const enum status st =
        secagg_combine(sum->secagg, t->head.fused, t->plan->model.embedding, &w.error);
    const uint64_t combined = t->setup->clock_us();

    CHECK(w.error.status == st);
    w.combine_us = combined - start;
    if (st != STATUS_OK)
        return w;
    close_round(&w, t, sum, r, set, task);
    w.head_us = t->setup->clock_us() - combined;
    return w;
}

/* --- the same from the journal --- */

enum status server_work_again(struct server_trainer *t, struct server_report *r,
                              const struct server_task *task, const struct journal_record *record)
{
    const bool train = purpose_of(task->purpose)->trains;
    bool swept;

    server_head_members(&t->head, record->present);
    memcpy(t->head.fused, record->sum, record->sum_floats * sizeof(float));
    swept = use_sum(t, r, task);
    if (train && record->gradient_words != gradient_words_n(&t->close))
        return STATUS_DATA;
    if (train) /* what the parties were given is what counts */
        memcpy(t->head.blob, record->gradient, record->gradient_words * sizeof *t->head.blob);
    count_round(t, r, task, swept);
    t->close.fresh = false;
    return STATUS_OK;
}
