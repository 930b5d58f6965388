/* resume.c -- a session to bytes and back, between rounds.
 *
 * Kept: how far the run is, the last gradient (a party may not have seen it), what the running
 * scores are made of, how far embeddings of fedvs reach (the package says so, and its run may be
 * over), the head with its optimiser, and who is shut out or at odds.  Not kept: keys, masks, the
 * round in progress, and under async the embeddings of others, which count as never seen.  A
 * restarted server opens a new generation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include "common/base/record.h"
#include "common/nn/state.h"

#include <string.h>

enum { RESUME_VERSION = 12 };

struct kept {
    uint32_t version;
    uint64_t generation, round, steps_done, arrivals;
    uint64_t rounds, void_rounds, sweeps, integrity_failures;
    struct server_degraded degraded;
    struct server_sweep sweep;
    bool close_any;
    uint64_t close_step, close_words, close_blocks;
    double reach;
    uint8_t trail[WIRE_DIGEST_BYTES], playing[WIRE_DIGEST_BYTES];
    bool target_reached, complete;
    struct server_reached reached;
    struct server_scored scored;
    struct server_best_of best;
    uint32_t best_since;
};

#define KEPT(member) RECORD_FIELD(struct kept, member)
#define KEPT_METRIC(of, m) KEPT(of.value[m]), KEPT(of.has[m])
#define KEPT_SCORE(of)                                                                             \
    KEPT_METRIC(of, SCORE_LOSS), KEPT_METRIC(of, SCORE_ACCURACY), KEPT_METRIC(of, SCORE_AUC),      \
        KEPT_METRIC(of, SCORE_AUPRC), KEPT_METRIC(of, SCORE_F1), KEPT_METRIC(of, SCORE_R2),        \
        KEPT_METRIC(of, SCORE_MAE), KEPT_METRIC(of, SCORE_RMSE), KEPT_METRIC(of, SCORE_AUC_MICRO), \
        KEPT_METRIC(of, SCORE_AUPRC_MICRO), KEPT_METRIC(of, SCORE_F1_MICRO)

#define KEPT_CALIBRATION(of) KEPT(of.temperature), KEPT(of.rows), KEPT(of.before), KEPT(of.after)

static const struct record_field kept_field[] = {
    KEPT(version),
    KEPT(generation),
    KEPT(round),
    KEPT(steps_done),
    KEPT(arrivals),
    KEPT(rounds),
    KEPT(void_rounds),
    KEPT(sweeps),
    KEPT(integrity_failures),
    KEPT(degraded.missing),
    KEPT(degraded.late),
    KEPT(degraded.absent),
    KEPT(degraded.stale),
    KEPT(degraded.unseen),
    KEPT(degraded.unverified),
    KEPT(degraded.faulty),
    KEPT(degraded.replayed),
    KEPT(sweep.number),
    KEPT(sweep.done_at),
    KEPT(sweep.running),
    KEPT(sweep.on_train),
    KEPT(sweep.next_place),
    KEPT(close_any),
    KEPT(close_step),
    KEPT(close_words),
    KEPT(close_blocks),
    KEPT(reach),
    KEPT(trail),
    KEPT(playing),
    KEPT(target_reached),
    KEPT(complete),
    KEPT(reached.yes),
    KEPT(reached.epoch),
    KEPT(reached.value),
    KEPT(reached.round),
    KEPT_SCORE(scored.train),
    KEPT_SCORE(scored.validate),
    KEPT_SCORE(scored.test),
    KEPT_CALIBRATION(scored.calibrated),
    KEPT(best.yes),
    KEPT(best.step),
    KEPT(best.epoch),
    KEPT(best.value),
    KEPT(best.round),
    KEPT(best_since),
    KEPT_SCORE(best.scored.train),
    KEPT_SCORE(best.scored.validate),
    KEPT_SCORE(best.scored.test),
    KEPT_CALIBRATION(best.scored.calibrated),
};
enum { KEPT_FIELDS = sizeof kept_field / sizeof kept_field[0] };

static struct kept kept_of(const struct server_train *s)
{
    struct kept k;

    k.version = RESUME_VERSION;
    k.generation = s->fed->set.generation;
    k.round = s->round.number;
    k.steps_done = s->trainer.steps_done;
    k.arrivals = server_stream_arrivals(s->stream);
    k.sweep = s->trainer.sweep;
    k.rounds = s->report.rounds;
    k.void_rounds = s->report.void_rounds;
    k.integrity_failures = s->report.integrity_failures;
    k.degraded = s->report.degraded;
    k.sweeps = s->report.measured.sweeps;
    k.close_any = s->trainer.close.any;
    k.close_step = s->trainer.close.step;
    k.close_words = s->trainer.close.words;
    k.close_blocks = s->trainer.close.blocks;
    k.reach = s->deal.reach;
    k.target_reached = s->trainer.scores.target_reached;
    k.complete = s->keep.complete;
    k.reached = s->report.measured.reached;
    k.scored = s->report.measured.scored;
    k.best = s->trainer.scores.best.of;
    k.best_since = s->trainer.scores.best.since;
    memcpy(k.trail, s->trainer.trail.value, sizeof k.trail);
    memcpy(k.playing, s->keep.playing, sizeof k.playing);
    return k;
}

/* The boards that this plan has; score_board_print of an empty one is harmless. */
enum { BOARDS = 4 };

static void boards_of(struct server_train *s, struct score_board *out[BOARDS])
{
    out[0] = &s->trainer.scores.running;
    out[1] = &s->trainer.scores.test;
    out[2] = &s->trainer.scores.train;
    out[3] = &s->trainer.scores.validate;
}

enum status server_train_save(const struct server_train *s, struct buf *out)
{
    const struct score_board *board[BOARDS] = {&s->trainer.scores.running, &s->trainer.scores.test,
                                               &s->trainer.scores.train,
                                               &s->trainer.scores.validate};
    struct kept k = kept_of(s);
    enum status st = record_print(out, kept_field, KEPT_FIELDS, &k);

    if (st == STATUS_OK)
        st = buf_append(out, s->trainer.head.blob,
                        k.close_words * k.close_blocks * sizeof *s->trainer.head.blob);
    for (size_t i = 0; i < BOARDS && st == STATUS_OK; i++)
        st = score_board_print(board[i], out);
    if (st == STATUS_OK)
        st = server_best_print(&s->trainer.scores.best, out);
    if (st == STATUS_OK)
        st = server_marks_print(s->fed, out);
    if (st == STATUS_OK)
        st = server_stored_print(s->trainer.stored, out);
    return st == STATUS_OK ? nn_state_print(&s->trainer.head.top.net, out) : st;
}

static bool fits(const struct server_train *s, const struct kept *k)
{
    uint64_t blocks = s->trainer.head.apart ? s->trainer.plan->shape.parties : 1;

    return k->version == RESUME_VERSION && k->steps_done <= s->trainer.agenda.steps &&
           k->close_words <= down_words(&s->trainer.head.down, s->trainer.plan->training.batch) &&
           k->close_blocks <= blocks && k->sweep.number <= s->trainer.agenda.sweeps &&
           k->best.step <= k->steps_done && k->reach >= 0 &&
           k->sweep.next_place <=
               s->trainer.plan->shape.train_rows + (uint64_t)s->trainer.plan->shape.test_rows;
}

static void take(struct server_train *s, const struct kept *k)
{
    s->round.number = k->round;
    s->trainer.steps_done = k->steps_done;
    server_stream_go_on(s->stream, k->arrivals);
    s->trainer.sweep = k->sweep;
    s->report.rounds = k->rounds;
    s->report.void_rounds = k->void_rounds;
    s->report.integrity_failures = k->integrity_failures;
    s->report.degraded = k->degraded;
    s->report.measured.sweeps = k->sweeps;
    s->report.measured.reached = k->reached;
    s->report.measured.scored = k->scored;
    s->report.measured.best = s->trainer.scores.best.of = k->best;
    s->trainer.scores.best.since = k->best_since;
    s->trainer.scores.target_reached = k->target_reached;
    s->keep.complete = k->complete;
    s->trainer.close = (struct server_close){
        .any = k->close_any,
        .step = k->close_step,
        .words = (size_t)k->close_words,
        .blocks = (uint32_t)k->close_blocks,
    };
    s->deal.reach = k->reach;
    memcpy(s->trainer.trail.value, k->trail, sizeof k->trail);
    memcpy(s->keep.playing, k->playing, sizeof k->playing);
    s->keep.durable_step = k->steps_done;
    s->keep.marks = server_marks(s->fed);
}

enum status server_train_restore(struct server_train *s, const uint8_t *bytes, size_t n,
                                 uint64_t *generation)
{
    struct score_board *board[BOARDS];
    struct kept k;
    size_t at = record_bytes(kept_field, KEPT_FIELDS), used;

    if (n < at || !record_parse(&k, kept_field, KEPT_FIELDS, bytes) || !fits(s, &k))
        return STATUS_DATA;
    used = (size_t)(k.close_words * k.close_blocks) * sizeof *s->trainer.head.blob;
    if (n - at < used)
        return STATUS_DATA;
    memcpy(s->trainer.head.blob, bytes + at, used);
    at += used;
    boards_of(s, board);
    for (size_t i = 0; i < BOARDS; i++) {
        if (score_board_parse(board[i], bytes + at, n - at, &used) != STATUS_OK)
            return STATUS_DATA;
        at += used;
    }
    if (server_best_parse(&s->trainer.scores.best, bytes + at, n - at, &used) != STATUS_OK)
        return STATUS_DATA;
    at += used;
    if (server_marks_parse(s->fed, bytes + at, n - at, &used) != STATUS_OK)
        return STATUS_DATA;
    at += used;
    if (server_stored_parse(s->trainer.stored, bytes + at, n - at, &used) != STATUS_OK)
        return STATUS_DATA;
    at += used;
    if (nn_state_parse(&s->trainer.head.top.net, bytes + at, n - at) != STATUS_OK)
        return STATUS_DATA;
    take(s, &k);
    *generation = k.generation;
    return STATUS_OK;
}
