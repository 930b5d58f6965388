/* probe_server.c -- the table of functions that plays a probe at a server.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/probe_server.h"

#include "server/members.h"

static enum status prepare(void *state)
{
    struct probe_server *p = state;

    secagg_server_free(p->sum);
    p->sum = NULL;
    probe_shape(&p->shape, p->values, p->fed->set.n, 0);
    return secagg_server_new(&p->sum, AGGREGATION_MASKED, &p->shape);
}

static struct server_next begin(void *state, struct actions *a)
{
    struct probe_server *p = state;

    secagg_begin(p->sum, p->values);
    sm_move(&p->fed->sm, PHASE_ROUND, p->fed->set.generation);
    server_next_question(p->fed);
    server_send_members(p->fed, a, WIRE_BROADCAST)->msg.broadcast =
        (struct wire_broadcast){.generation = p->fed->set.generation,
                                .opens = true,
                                .purpose = PURPOSE_TRAIN,
                                .round = ++p->round};
    server_arm_phase(p->fed, a, false);
    return next_of(NEXT_WAIT);
}

static struct server_next message(void *state, struct actions *a, uint32_t peer,
                                  const struct wire_msg *m)
{
    struct probe_server *p = state;
    const struct wire_upload *u = &m->upload;
    struct error *err = &p->fed->error;

    if (m->kind != WIRE_UPLOAD || u->round != p->round ||
        u->payload.n != secagg_payload_bytes(AGGREGATION_MASKED, &p->shape, p->values) ||
        u->check.n != secagg_check_bytes(AGGREGATION_MASKED, &p->shape)) {
        error_set(err, STATUS_PROTOCOL, "%s: no upload of this probe", server_name(p->fed, peer));
        return next_of_peer(NEXT_DROP, peer);
    }
    if (secagg_add(p->sum, (uint32_t)p->fed->peer[peer].member, u->payload.data, u->check.data,
                   err) != STATUS_OK)
        return next_of_peer(NEXT_DROP, peer);
    if (server_answered(p->fed, peer))
        actions_add(a, ACTION_WORK)->flops = 0;
    return next_of(NEXT_WAIT);
}

static void work(void *state, struct actions *out)
{
    struct probe_server *p = state;

    (void)out;
    p->worked = secagg_combine(p->sum, p->out, p->values, &p->fed->error);
}

static struct server_next done(void *state, struct actions *a, const struct error *written)
{
    struct probe_server *p = state;

    (void)a;
    (void)written; /* it wants nothing written */
    p->over = p->worked == STATUS_OK;
    return p->over ? next_finish(OUTCOME_COMPLETED) : next_of(NEXT_FAIL);
}

/* It needs everybody, and begins again. */
static bool lost(void *state, bool had_answered)
{
    (void)state;
    (void)had_answered;
    return false;
}

static struct server_next nothing(void *state, struct actions *a)
{
    (void)state;
    (void)a;
    return next_of(NEXT_WAIT);
}

static struct server_next timer(void *state, struct actions *a, const char *missing)
{
    (void)state;
    (void)a;
    (void)missing;
    return next_of(NEXT_LATE);
}

static enum server_job_state job_state(const void *state)
{
    return ((const struct probe_server *)state)->over ? JOB_DONE : JOB_FRESH;
}

static struct server_next complete(void *state, struct actions *a)
{
    (void)state;
    (void)a;
    return next_finish(OUTCOME_COMPLETED);
}

const struct server_job probe_server_job = {
    .came = nothing,
    .prepare = prepare,
    .begin = begin,
    .message = message,
    .timer = timer,
    .lost = lost,
    .settle = nothing,
    .work = work,
    .done = done,
    .state = job_state,
    .complete = complete,
};
