/* job.c -- an alignment as a federation sees it: the table, and the set.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/align/align.h"

#include "common/base/log.h"
#include "server/members.h"

#include <inttypes.h>
#include <string.h>

/* --- a set comes together --- */

/* All hellos are in, and what this generation costs is counted before anybody is shown them. */
static enum status agreed(void *state, const struct agree_hello *hellos)
{
    struct server_align *p = state;
    struct error *err = &p->fed->error;
    uint64_t all = 0;

    p->listed[0] = p->about.ids;
    if (p->about.rows == CONFIG_ROWS_LABELLED && p->about.ids < p->about.result_min)
        return error_set(err, STATUS_POLICY, "policy.align.min_result: fewer labelled rows than %u",
                         p->about.result_min);
    for (uint32_t m = 0; m < p->fed->set.n; m++) {
        const char *name = server_name(p->fed, p->fed->set.member[m]);
        const uint32_t n = hellos[m].train_rows;

        if (n == 0 || n > ALIGN_IDS_MAX)
            return error_set(err, STATUS_PROTOCOL, "%s lists %u ids", name, n);
        if (n > p->ids.ids_max)
            return error_set(err, STATUS_POLICY,
                             "policy.align.max_ids: %s lists %u ids, %u are the most", name, n,
                             p->ids.ids_max);
        p->listed[m + 1] = n;
        all += n;
    }
    for (uint32_t k = 0; k <= p->fed->set.n && p->about.rows == CONFIG_ROWS_COMMON; k++) {
        if (p->listed[k] < p->about.result_min)
            return error_set(
                err, STATUS_POLICY,
                "policy.align.min_result: %s lists %u ids, and %u rows in common are the fewest",
                k == 0 ? "the server" : server_name(p->fed, p->fed->set.member[k - 1]),
                p->listed[k], p->about.result_min);
    }
    if (all > p->ids.all_max)
        return error_set(err, STATUS_POLICY,
                         "policy.align.max_ids_of_all: the parties list %" PRIu64
                         " ids, %u are the most",
                         all, p->ids.all_max);
    if (!align_course_fits(p->fed->set.n + 1, p->listed, p->about.chunk))
        return error_set(err, STATUS_PROTOCOL, "an alignment of too many steps");
    return p->ids.list.count(p->ids.list.owner, &p->about, ALIGNMENT_BEGUN, err);
}

static enum status prepare(void *state)
{
    struct server_align *p = state;

    server_align_forget(p);
    p->pass = p->base = p->found = 0;
    memcpy(p->size, p->listed, sizeof p->size);
    memcpy(p->session, p->fed->agree.sid, sizeof p->session);
    server_align_open_course(p);
    return STATUS_OK;
}

static struct server_next begin(void *state, struct actions *a)
{
    struct server_align *p = state;

    log_info("alignment %s: %u ids here, and the lists of %u parties, in %u steps", p->about.name,
             p->about.ids, p->fed->set.n, p->steps);
    sm_move(&p->fed->sm, PHASE_ALIGN, p->fed->set.generation);
    return server_align_open(p, a);
}

static struct server_next nothing(void *state, struct actions *a)
{
    (void)state;
    (void)a;
    return next_of(NEXT_WAIT);
}

/* --- it is played --- */

static struct server_next message(void *state, struct actions *a, uint32_t peer,
                                  const struct wire_msg *m)
{
    struct server_align *p = state;

    if (m->kind == WIRE_BATCH)
        return server_align_batch(p, a, peer, &m->batch);
    error_set(&p->fed->error, STATUS_PROTOCOL, "%s: %s in an alignment", server_name(p->fed, peer),
              wire_kind_name(m->kind));
    return next_of_peer(NEXT_DROP, peer);
}

static struct server_next timer(void *state, struct actions *a, const char *missing)
{
    (void)state;
    (void)a;
    (void)missing;
    return next_of(NEXT_LATE);
}

/* The set is no more, nor is the key that served in it. */
static void voided(void *state)
{
    server_align_forget(state);
}

static bool lost(void *state, bool had_answered)
{
    (void)state;
    (void)had_answered;
    return false;
}

static struct server_next done(void *state, struct actions *a, const struct error *written)
{
    (void)written; /* it wants nothing written */
    return server_align_worked(state, a);
}

static enum server_job_state job_state(const void *state)
{
    const struct server_align *p = state;

    return p->complete ? JOB_DONE : p->rounds > 0 ? JOB_BEGUN : JOB_FRESH;
}

static struct server_next complete(void *state, struct actions *a)
{
    (void)state;
    (void)a;
    return next_finish(OUTCOME_COMPLETED);
}

static void frames(const void *state, size_t *up, size_t *down)
{
    (void)state;
    *up = *down = WIRE_BATCH_MAX;
}

const struct server_job server_job_align = {
    .came = nothing,
    .agreed = agreed,
    .prepare = prepare,
    .begin = begin,
    .message = message,
    .timer = timer,
    .voided = voided,
    .lost = lost,
    .settle = nothing,
    .work = server_align_work,
    .done = done,
    .frames = frames,
    .state = job_state,
    .complete = complete,
};
