/* work.c -- the work between the last upload and the next broadcast: combine, head, journal.
 *
 * It runs on a worker thread when it is long, and is the session's owner meanwhile.  What is
 * released is in the journal before anything of it is sent; a restarted server takes its steps from
 * there again (server_session_replay), bit for bit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/core.h"

#include "common/base/subnormal.h"
#include "common/secagg/lane.h"

#include <math.h>
#include <string.h>

void server_take_targets(struct server_session *s)
{
    const float *all =
        s->round.purpose == PURPOSE_EVALUATE_TEST ? s->setup.test_target : s->setup.train_target;

    for (uint32_t r = 0; r < s->round.rows; r++)
        s->trainer.head.target[r] =
            all[s->round.row != NULL ? s->round.row[r] : s->round.place + r];
}

/* Of all members' gradients. */
static size_t gradient_words_n(const struct server_session *s)
{
    return s->trainer.close.words * s->trainer.close.blocks;
}

/* Members that are not in the sum, and parties that are no members. */
static void count_missing(struct server_session *s, const uint8_t *missing, uint32_t n)
{
    struct server_report *r = &s->report;
    bool member[WIRE_MEMBERS_MAX] = {false};

    for (uint32_t m = 0; m < s->fed.members_n; m++)
        member[s->fed.members[m]] = true;
    for (uint32_t i = 0; i < n; i++)
        r->missing[s->fed.members[missing[i]]]++;
    for (size_t i = 0; i < s->setup.roster->n; i++)
        r->absent[i] += !member[i];
    r->missing_now = (uint32_t)s->setup.roster->n - s->fed.members_n + n;
    r->degraded.missing += n;
    r->degraded.absent += s->setup.roster->n - s->fed.members_n;
}

/* Who was not in the sum gets no gradient; the others' share of the sum was scaled by M / |S|, and
 * so is theirs of the gradient (Ignore, FedVS section 6). */
static void note_absent(struct server_session *s)
{
    uint32_t present = secagg_present(s->round.sum.secagg, s->trainer.close.absent);
    float factor = (float)s->fed.members_n / (float)present;

    s->trainer.close.absent_n = s->round.sum.shape.partial ? s->fed.members_n - present : 0;
    count_missing(s, s->trainer.close.absent, s->fed.members_n - present);
    if (s->trainer.close.absent_n == 0 || s->trainer.head.top.concat)
        return;
    for (size_t i = 0; i < gradient_row_values(&s->trainer.head.down.gradient, s->round.rows); i++)
        s->trainer.head.values[i] *= factor;
}

/* The head's part of a round whose sum is in head.fused. */
static void use_sum(struct server_session *s)
{
    double loss;

    if (server_stores(s) && s->round.purpose != PURPOSE_TRAIN) {
        server_stored_keep(s);
        return;
    }
    server_take_targets(s);
    if (s->round.purpose != PURPOSE_TRAIN) {
        server_score_batch(s, server_head_evaluate(&s->trainer.head, s->round.rows));
        return;
    }
    s->trainer.close = (struct server_close){
        .any = true,
        .fresh = true,
        .step = s->trainer.steps_done,
        .words = down_words(&s->trainer.head.down, s->round.rows),
        .blocks = s->trainer.head.apart ? s->fed.members_n : 1,
    };
    if (server_stores(s)) {
        server_stored_keep(s);
        return;
    }
    loss = server_head_train(&s->trainer.head, &s->plan, s->round.place, s->round.rows);
    if (s->round.place % s->trainer.agenda.turns == 0) /* a batch counts once */
        server_score_batch(s, loss);
    else
        s->report.last_loss = loss;
}

static enum status diverged(struct server_session *s)
{
    return error_set(&s->fed.error, STATUS_DATA,
                     "training diverged in step %llu: try a smaller learning_rate",
                     (unsigned long long)s->trainer.steps_done);
}

static void begin_rounding(struct server_session *s, const char *purpose, uint64_t place)
{
    uint8_t key[RNG_KEY_BYTES];

    if (!s->setup.seeded || s->trainer.head.down.gradient.type != GRADIENT_INT8)
        return;
    rng_seed_key(key, s->setup.seed, 0, purpose, place);
    rng_rekey(&s->trainer.rounding, key);
}

enum status server_pack_gradient(struct server_session *s, uint64_t place, uint32_t blocks)
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
static enum status show(struct server_session *s)
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
static void count_round(struct server_session *s)
{
    if (s->round.purpose == PURPOSE_TRAIN) {
        trail_add(&s->trainer.trail, &s->trainer.digest, s->trainer.steps_done,
                  s->trainer.head.blob, gradient_words_n(s) * sizeof *s->trainer.head.blob);
        s->report.rounds++;
        s->trainer.steps_done++;
    } else if (s->swept) {
        server_sweep_done(s);
    }
}

static enum status append(struct server_session *s)
{
    bool train = s->round.purpose == PURPOSE_TRAIN;
    struct journal_record r = {
        .purpose = s->round.purpose,
        .round = s->round.number,
        .place = s->round.place,
        .sweep = s->round.sweep,
        .generation = s->fed.generation,
        .rows = s->round.rows,
        .present = s->fed.members_n,
        .sum = s->trainer.head.fused,
        .sum_floats = (size_t)s->round.rows * s->trainer.head.top.inputs,
        .gradient = train ? s->trainer.head.blob : NULL,
        .gradient_words = train ? gradient_words_n(s) : 0,
    };

    if (s->setup.store.append == NULL)
        return STATUS_OK;
    memcpy(r.trail, s->trainer.trail.value, sizeof r.trail);
    return s->setup.store.append(s->setup.store.owner, &r, &s->fed.error);
}

enum status server_save(struct server_session *s)
{
    enum status st = STATUS_OK;

    if (s->keep.under_way)
        return STATUS_OK; /* the one before is still on its way */
    if (s->setup.store.append != NULL)
        st = s->setup.store.turn(s->setup.store.owner, s->trainer.steps_done, &s->fed.error);
    s->keep.bytes.len = 0;
    s->keep.step = s->trainer.steps_done;
    s->keep.due = true;
    if (st == STATUS_OK && server_session_save(s, &s->keep.bytes) != STATUS_OK)
        st = error_set(&s->fed.error, STATUS_MEMORY, "no memory for a checkpoint");
    return st;
}

/* Every so many steps, and always between two steps: never in the middle of a sweep. */
static bool save_is_due(const struct server_session *s)
{
    uint32_t every = s->setup.checkpoint_rounds;

    return every > 0 && s->trainer.steps_done % every == 0 && s->round.purpose == PURPOSE_TRAIN;
}

/* From the sum to what goes out: it is in the journal by then, or the run does not go on. */
static enum status close_round(struct server_session *s)
{
    enum status st;

    s->keep.spoiled = true;
    if (s->round.purpose == PURPOSE_TRAIN) {
        st = show(s);
        if (st != STATUS_OK)
            return st;
    }
    server_head_fuse(&s->trainer.head, s->round.rows);
    use_sum(s);
    if (s->round.purpose == PURPOSE_TRAIN) {
        note_absent(s);
        st = server_pack_gradient(s, s->round.place, s->trainer.close.blocks);
        if (st != STATUS_OK)
            return st;
    }
    st = server_watch_sum(s, s->round.number, s->trainer.close.blocks);
    if (st != STATUS_OK)
        return st;
    count_round(s);
    st = append(s);
    if (st == STATUS_OK && save_is_due(s))
        st = server_save(s);
    s->keep.spoiled = st != STATUS_OK;
    return st;
}

static void work(struct server_session *s)
{
    uint64_t start = s->setup.clock_us(), combined;

    if (s->fed.sm.phase == PHASE_STREAM) {
        server_stream_work(s);
        return;
    }
    if (s->trainer.stored.alone) {
        server_stored_work(s);
        return;
    }
    s->work_status = secagg_combine(s->round.sum.secagg, s->trainer.head.fused,
                                    s->plan.model.embedding, &s->fed.error);
    combined = s->setup.clock_us();
    spans_add(&s->spans, SPAN_COMBINE, combined - start);
    if (s->work_status != STATUS_OK)
        return;
    s->work_status = close_round(s);
    spans_add(&s->spans, SPAN_HEAD, s->setup.clock_us() - combined);
}

void server_session_work(struct server_session *s)
{
    const uint64_t mode = subnormal_flush();

    work(s);
    subnormal_restore(mode);
}

/* --- the same from the journal --- */

static enum status unfit(const struct journal_record *r, struct error *err)
{
    return error_set(err, STATUS_DATA,
                     "the journal does not fit the checkpoint: round %llu, place %llu",
                     (unsigned long long)r->round, (unsigned long long)r->place);
}

static enum status replay(struct server_session *s, const struct journal_record *r,
                          struct error *err)
{
    bool train = r->purpose == PURPOSE_TRAIN;

    if (r->round <= s->round.number)
        return STATUS_OK; /* the checkpoint has it */
    if (!server_choose_round(s) || r->purpose != s->round.purpose || r->place != s->round.place ||
        r->sweep != s->round.sweep || r->rows != s->round.rows ||
        r->sum_floats != (size_t)r->rows * s->trainer.head.top.inputs)
        return unfit(r, err);
    s->round.number = r->round;
    s->fed.members_n = r->present;
    server_head_members(&s->trainer.head, r->present);
    memcpy(s->trainer.head.fused, r->sum, r->sum_floats * sizeof(float));
    use_sum(s);
    if (train && r->gradient_words != gradient_words_n(s))
        return unfit(r, err);
    if (train) /* what the parties were given is what counts */
        memcpy(s->trainer.head.blob, r->gradient, r->gradient_words * sizeof *s->trainer.head.blob);
    count_round(s);
    if (train && server_waits(s) && memcmp(s->trainer.trail.value, r->trail, sizeof r->trail) != 0)
        return unfit(r, err);
    s->trainer.close.fresh = s->swept = false;
    s->fed.generation = r->generation > s->fed.generation ? r->generation : s->fed.generation;
    s->fed.members_n = 0;
    return STATUS_OK;
}

enum status server_session_replay(struct server_session *s, const struct journal_record *r,
                                  struct error *err)
{
    const uint64_t mode = subnormal_flush();
    const enum status st = replay(s, r, err);

    subnormal_restore(mode);
    return st;
}
