/* resume.c -- a session to bytes and back, between rounds.
 *
 * Kept: how far the run is, the last gradient (a party may not have seen it), the head with its
 * optimiser. Not kept: keys, masks, the round in progress.  A restarted server opens a new
 * generation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/core.h"

#include "common/nn/state.h"

#include <string.h>

enum { RESUME_VERSION = 1 };

struct kept {
    uint64_t version, generation, steps_done, sweeps, swept_at, rounds, void_rounds;
    uint64_t close_any, close_step, close_floats;
};

/* Floats of the last gradient: of one member, or under concat of all. */
static size_t gradient_floats(const struct server_session *s, uint64_t floats)
{
    return (size_t)floats * (s->head.concat ? s->plan.shape.parties : 1);
}

enum status server_session_save(const struct server_session *s, struct buf *out)
{
    struct kept k = {
        .version = RESUME_VERSION,
        .generation = s->generation,
        .steps_done = s->steps_done,
        .sweeps =
            s->sweep.running ? s->sweep.number - 1 : s->sweep.number, /* a sweep starts over */
        .swept_at = s->sweep.done_at,
        .rounds = s->report.rounds,
        .void_rounds = s->report.void_rounds,
        .close_any = s->close.any,
        .close_step = s->close.step,
        .close_floats = s->close.floats,
    };
    enum status st = buf_append(out, &k, sizeof k);

    if (st == STATUS_OK)
        st = buf_append(out, s->head.gradient, gradient_floats(s, k.close_floats) * sizeof(float));
    return st == STATUS_OK ? nn_state_print(&s->head.net, out) : st;
}

enum status server_session_restore(struct server_session *s, const uint8_t *bytes, size_t n)
{
    struct kept k;
    size_t gradient;

    if (n < sizeof k)
        return STATUS_DATA;
    memcpy(&k, bytes, sizeof k);
    if (k.version != RESUME_VERSION || k.steps_done > s->agenda.steps ||
        k.close_floats > (uint64_t)s->plan.training.batch * s->plan.model.embedding)
        return STATUS_DATA;
    gradient = gradient_floats(s, k.close_floats) * sizeof(float);
    if (n - sizeof k < gradient || nn_state_parse(&s->head.net, bytes + sizeof k + gradient,
                                                  n - sizeof k - gradient) != STATUS_OK)
        return STATUS_DATA;
    memcpy(s->head.gradient, bytes + sizeof k, gradient);
    s->generation = k.generation;
    s->steps_done = k.steps_done;
    s->sweep.number = k.sweeps;
    s->sweep.done_at = k.swept_at;
    s->report.rounds = k.rounds;
    s->report.void_rounds = k.void_rounds;
    s->close = (struct server_close){k.close_any != 0, false, k.close_step, (size_t)k.close_floats};
    return STATUS_OK;
}

const uint8_t *server_session_plan_digest(const struct server_session *s)
{
    return s->plan_digest;
}

bool server_session_opened(const struct server_session *s)
{
    return s->steps_done > 0 || s->round.number > 0;
}
