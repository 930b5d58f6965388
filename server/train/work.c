/* work.c -- the work between the last upload and the next broadcast: combine, head, journal.
 *
 * It runs on a worker thread when it is long, and is the session's owner meanwhile.  What is
 * released is in the journal before anything of it is sent; a restarted server takes its steps from
 * there again (server_work_again), bit for bit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include "common/secagg/lane.h"

#include <math.h>
#include <string.h>

void server_take_targets(struct server_train *s)
{
    const float *all =
        purpose_of(s->round.purpose)->test ? s->setup.test_target : s->setup.train_target;

    for (uint32_t r = 0; r < s->round.rows; r++)
        s->trainer.head.target[r] =
            all[s->round.row != NULL ? s->round.row[r] : s->round.place + r];
}

/* Of all members' gradients. */
static size_t gradient_words_n(const struct server_train *s)
{
    return s->trainer.close.words * s->trainer.close.blocks;
}

/* Members that are not in the sum, and parties that are no members. */
static void count_missing(struct server_train *s, const uint8_t *missing, uint32_t n)
{
    struct server_report *r = &s->report;
    bool member[WIRE_MEMBERS_MAX] = {false};

    for (uint32_t m = 0; m < s->fed->set.n; m++)
        member[s->fed->set.member[m]] = true;
    for (uint32_t i = 0; i < n; i++)
        r->missing[s->fed->set.member[missing[i]]]++;
    for (size_t i = 0; i < s->fed->terms.roster->n; i++)
        r->absent[i] += !member[i];
    r->missing_now = (uint32_t)s->fed->terms.roster->n - s->fed->set.n + n;
    r->degraded.missing += n;
    r->degraded.absent += s->fed->terms.roster->n - s->fed->set.n;
}

/* Who was not in the sum gets no gradient; the others' share of the sum was scaled by M / |S|, and
 * so is theirs of the gradient (Ignore, FedVS section 6). */
static void note_absent(struct server_train *s)
{
    uint32_t present = secagg_present(s->round.sum.secagg, s->trainer.close.absent);
    float factor = (float)s->fed->set.n / (float)present;

    s->trainer.close.absent_n = s->round.sum.shape.partial ? s->fed->set.n - present : 0;
    count_missing(s, s->trainer.close.absent, s->fed->set.n - present);
    if (s->trainer.close.absent_n == 0 || s->trainer.head.top.concat)
        return;
    for (size_t i = 0; i < gradient_row_values(&s->trainer.head.down.gradient, s->round.rows); i++)
        s->trainer.head.values[i] *= factor;
}

/* The head's part of a round whose sum is in head.fused; true: it has ended a sweep. */
static bool use_sum(struct server_train *s, uint32_t members)
{
    double loss;

    if (server_stores(s) && !purpose_of(s->round.purpose)->trains) {
        server_stored_keep(s);
        return false;
    }
    server_take_targets(s);
    if (!purpose_of(s->round.purpose)->trains) {
        return server_score_batch(s, server_head_evaluate(&s->trainer.head, s->round.rows));
    }
    s->trainer.close = (struct server_close){
        .any = true,
        .fresh = true,
        .step = s->trainer.steps_done,
        .words = down_words(&s->trainer.head.down, s->round.rows),
        .blocks = s->trainer.head.apart ? members : 1,
    };
    if (server_stores(s)) {
        server_stored_keep(s);
        return false;
    }
    loss = server_head_train(&s->trainer.head, &s->plan, s->round.place, s->round.rows);
    if (s->round.place % s->trainer.agenda.turns == 0) /* a batch counts once */
        (void)server_score_batch(s, loss);
    else
        s->report.last_loss = loss;
    return false;
}

static enum status diverged(struct server_train *s)
{
    return error_set(&s->fed->error, STATUS_DATA,
                     "training diverged in step %llu: try a smaller learning_rate",
                     (unsigned long long)s->trainer.steps_done);
}

static void begin_rounding(struct server_train *s, const char *purpose, uint64_t place)
{
    uint8_t key[RNG_KEY_BYTES];

    if (!s->setup.seeded || s->trainer.head.down.gradient.type != GRADIENT_INT8)
        return;
    rng_seed_key(key, s->setup.seed, 0, purpose, place);
    rng_rekey(&s->trainer.rounding, key);
}

enum status server_pack_gradient(struct server_train *s, uint64_t place, uint32_t blocks)
{
    size_t values = gradient_values(&s->trainer.head.down.gradient, s->round.rows) * blocks;
    const bool any = s->trainer.head.down.with_gradient;

    if (!isfinite(s->report.last_loss) || (any && !lane_finite(s->trainer.head.values, values)))
        return diverged(s);
    if (!any)
        return STATUS_OK;
    begin_rounding(s, "gradient", place);
    server_head_pack(&s->trainer.head, s->round.rows, blocks, &s->trainer.rounding);
    return STATUS_OK;
}

/* What parties with labels need: the sum as it was given, and the head before its own steps. */
static enum status show(struct server_train *s)
{
    struct server_head *h = &s->trainer.head;

    if (h->down.shown == DOWN_SHOWN_NONE)
        return STATUS_OK;
    secagg_show(s->round.sum.secagg, down_shown_begin(&h->down, h->blob, s->round.rows));
    begin_rounding(s, "head", s->round.place);
    return server_head_show(h, s->round.rows, s->round.sum.dither, &s->trainer.rounding)
               ? STATUS_OK
               : diverged(s);
}

/* The step is done, once its gradient is final. */
static void count_round(struct server_train *s, bool swept)
{
    if (purpose_of(s->round.purpose)->trains) {
        trail_add(&s->trainer.trail, &s->trainer.digest, s->trainer.steps_done,
                  s->trainer.head.blob, gradient_words_n(s) * sizeof *s->trainer.head.blob);
        s->report.rounds++;
        s->trainer.steps_done++;
    } else if (swept) {
        server_sweep_done(s);
    }
}

static void note_record(struct server_train *s)
{
    bool train = purpose_of(s->round.purpose)->trains;

    s->keep.record = (struct journal_record){
        .purpose = s->round.purpose,
        .round = s->round.number,
        .place = s->round.place,
        .sweep = s->round.sweep,
        .generation = s->fed->set.generation,
        .rows = s->round.rows,
        .present = s->fed->set.n,
        .sum = s->trainer.head.fused,
        .sum_floats = (size_t)s->round.rows * s->trainer.head.top.inputs,
        .gradient = train ? s->trainer.head.blob : NULL,
        .gradient_words = train ? gradient_words_n(s) : 0,
    };

    memcpy(s->keep.record.trail, s->trainer.trail.value, sizeof s->keep.record.trail);
}

/* Every so many steps, and always between two steps: never in the middle of a sweep. */
static bool save_is_due(const struct server_train *s)
{
    uint32_t every = s->setup.checkpoint_rounds;

    return every > 0 && s->trainer.steps_done % every == 0 && purpose_of(s->round.purpose)->trains;
}

/* From the sum to what goes out: it is in the journal by then, or the run does not go on. */
static struct server_worked close_round(struct server_train *s)
{
    const bool train = purpose_of(s->round.purpose)->trains;
    struct server_worked w = {.status = STATUS_OK};

    s->keep.spoiled = true;
    if (train)
        w.status = show(s);
    if (w.status != STATUS_OK)
        return w;
    server_head_fuse(&s->trainer.head, s->round.rows);
    w.swept = use_sum(s, s->fed->set.n);
    if (train) {
        note_absent(s);
        w.status = server_pack_gradient(s, s->round.place, s->trainer.close.blocks);
    }
    if (w.status == STATUS_OK)
        w.status = server_watch_sum(s, s->round.number, s->trainer.close.blocks);
    if (w.status != STATUS_OK)
        return w;
    count_round(s, w.swept);
    note_record(s);
    w.append = true;
    w.keep = save_is_due(s);
    s->keep.spoiled = w.status != STATUS_OK;
    return w;
}

struct server_worked server_work(struct server_train *s)
{
    uint64_t start = s->setup.clock_us(), combined;
    struct server_worked w = {.status = STATUS_OK};

    w.status = secagg_combine(s->round.sum.secagg, s->trainer.head.fused, s->plan.model.embedding,
                              &s->fed->error);
    combined = s->setup.clock_us();
    spans_add(&s->spans, SPAN_COMBINE, combined - start);
    if (w.status != STATUS_OK)
        return w;
    w = close_round(s);
    spans_add(&s->spans, SPAN_HEAD, s->setup.clock_us() - combined);
    return w;
}

/* --- the same from the journal --- */

enum status server_work_again(struct server_train *s, const struct journal_record *r)
{
    const bool train = purpose_of(r->purpose)->trains;
    bool swept;

    server_head_members(&s->trainer.head, r->present);
    memcpy(s->trainer.head.fused, r->sum, r->sum_floats * sizeof(float));
    swept = use_sum(s, r->present);
    if (train && r->gradient_words != gradient_words_n(s))
        return STATUS_DATA;
    if (train) /* what the parties were given is what counts */
        memcpy(s->trainer.head.blob, r->gradient, r->gradient_words * sizeof *s->trainer.head.blob);
    count_round(s, swept);
    if (train && server_waits(s->fed) &&
        memcmp(s->trainer.trail.value, r->trail, sizeof r->trail) != 0)
        return STATUS_DATA;
    s->trainer.close.fresh = false;
    return STATUS_OK;
}
