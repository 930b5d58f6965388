/* resume.c -- a session to bytes and back, between rounds.
 *
 * Kept: how far the run is, the last gradient (a party may not have seen it), what the running
 * scores are made of, the head with its optimiser.  Not kept: keys, masks, the round in progress,
 * and under async the embeddings of others, which count as never seen.  A restarted server opens a
 * new generation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include "common/nn/state.h"

#include <string.h>

enum { RESUME_VERSION = 3 };

struct kept {
    uint64_t version, generation, round, steps_done, arrivals;
    uint64_t sweep, swept_at, sweep_row, rounds, void_rounds, sweeps;
    uint64_t integrity_failures;
    struct server_degraded degraded;
    uint64_t close_any, close_step, close_words, close_blocks;
    uint8_t trail[WIRE_DIGEST_BYTES];
    uint8_t sweep_running, sweep_on_train, target_reached, complete;
    struct server_reached reached;
    struct score train, test;
};

static struct kept kept_of(const struct server_train *s)
{
    struct kept k;

    memset(&k, 0, sizeof k); /* padding goes to disk too */
    k.version = RESUME_VERSION;
    k.generation = s->fed->set.generation;
    k.round = s->round.number;
    k.steps_done = s->trainer.steps_done;
    k.arrivals = server_stream_arrivals(s);
    k.sweep = s->trainer.sweep.number;
    k.swept_at = s->trainer.sweep.done_at;
    k.sweep_row = s->trainer.sweep.next_place;
    k.sweep_running = s->trainer.sweep.running;
    k.sweep_on_train = s->trainer.sweep.on_train;
    k.rounds = s->report.rounds;
    k.void_rounds = s->report.void_rounds;
    k.integrity_failures = s->report.integrity_failures;
    k.degraded = s->report.degraded;
    k.sweeps = s->report.sweeps;
    k.close_any = s->trainer.close.any;
    k.close_step = s->trainer.close.step;
    k.close_words = s->trainer.close.words;
    k.close_blocks = s->trainer.close.blocks;
    k.target_reached = s->trainer.target_reached;
    k.complete = s->trainer.complete;
    k.reached = s->report.reached;
    k.train = s->report.train;
    k.test = s->report.test;
    memcpy(k.trail, s->trainer.trail.value, sizeof k.trail);
    return k;
}

/* The boards that this plan has; score_board_print of an empty one is harmless. */
enum { BOARDS = 3 };

static void boards_of(struct server_train *s, struct score_board *out[BOARDS])
{
    out[0] = &s->trainer.scores.running;
    out[1] = &s->trainer.scores.test;
    out[2] = &s->trainer.scores.train;
}

enum status server_train_save(const struct server_train *s, struct buf *out)
{
    const struct score_board *board[BOARDS] = {&s->trainer.scores.running, &s->trainer.scores.test,
                                               &s->trainer.scores.train};
    struct kept k = kept_of(s);
    enum status st = buf_append(out, &k, sizeof k);

    if (st == STATUS_OK)
        st = buf_append(out, s->trainer.head.blob,
                        k.close_words * k.close_blocks * sizeof *s->trainer.head.blob);
    for (size_t i = 0; i < BOARDS && st == STATUS_OK; i++)
        st = score_board_print(board[i], out);
    if (st == STATUS_OK)
        st = server_stored_print(s, out);
    return st == STATUS_OK ? nn_state_print(&s->trainer.head.top.net, out) : st;
}

static bool fits(const struct server_train *s, const struct kept *k)
{
    uint64_t blocks = s->trainer.head.apart ? s->plan.shape.parties : 1;

    return k->version == RESUME_VERSION && k->steps_done <= s->trainer.agenda.steps &&
           k->close_words <= down_words(&s->trainer.head.down, s->plan.training.batch) &&
           k->close_blocks <= blocks && k->sweep <= s->trainer.agenda.sweeps &&
           k->sweep_row <= s->plan.shape.train_rows + (uint64_t)s->plan.shape.test_rows;
}

static void take(struct server_train *s, const struct kept *k)
{
    s->round.number = k->round;
    s->trainer.steps_done = k->steps_done;
    server_stream_go_on(s, k->arrivals);
    s->trainer.sweep = (struct server_sweep){
        .number = k->sweep,
        .done_at = k->swept_at,
        .running = k->sweep_running,
        .on_train = k->sweep_on_train,
        .next_place = (uint32_t)k->sweep_row,
    };
    s->report.rounds = k->rounds;
    s->report.void_rounds = k->void_rounds;
    s->report.integrity_failures = k->integrity_failures;
    s->report.degraded = k->degraded;
    s->report.sweeps = k->sweeps;
    s->report.reached = k->reached;
    s->report.train = k->train;
    s->report.test = k->test;
    s->trainer.target_reached = k->target_reached;
    s->trainer.complete = k->complete;
    s->trainer.close = (struct server_close){
        .any = k->close_any != 0,
        .step = k->close_step,
        .words = (size_t)k->close_words,
        .blocks = (uint32_t)k->close_blocks,
    };
    memcpy(s->trainer.trail.value, k->trail, sizeof k->trail);
    s->keep.durable_step = k->steps_done;
}

enum status server_train_restore(struct server_train *s, const uint8_t *bytes, size_t n,
                                 uint64_t *generation)
{
    struct score_board *board[BOARDS];
    struct kept k;
    size_t at = sizeof k, used;

    if (n < sizeof k)
        return STATUS_DATA;
    memcpy(&k, bytes, sizeof k);
    if (!fits(s, &k))
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
    if (server_stored_parse(s, bytes + at, n - at, &used) != STATUS_OK)
        return STATUS_DATA;
    at += used;
    if (nn_state_parse(&s->trainer.head.top.net, bytes + at, n - at) != STATUS_OK)
        return STATUS_DATA;
    take(s, &k);
    *generation = k.generation;
    return STATUS_OK;
}
