/* members.c -- messages to members, deadlines, and who has answered.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/members.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "server/job.h"

#include <stdio.h>

const char *server_name(const struct server_federation *f, uint32_t peer)
{
    return f->terms.roster->party[peer].name;
}

bool server_waits(const struct server_federation *f)
{
    return f->terms.straggler == STRAGGLER_WAIT;
}

/* What a process before this one has trained counts, too. */
bool server_does_without(const struct server_federation *f)
{
    if (server_waits(f))
        return false;
    return f->play.started || (!f->play.idle && f->play.job->state(f->play.state) != JOB_FRESH);
}

/* --- deadlines --- */

uint64_t server_limit_ms(const struct server_federation *f, bool hurries)
{
    return phase_limit_ms(f->sm.phase, hurries, f->terms.patience_ms, f->terms.deadline_ms);
}

void server_arm(struct actions *a, uint64_t after_ms)
{
    actions_add(a, ACTION_ARM)->after_ms = after_ms;
}

/* From now on, whatever the phase before took: those who answer in this one may have had to wait
 * for whoever was slow in that. */
void server_arm_phase(struct server_federation *f, struct actions *a, bool patient)
{
    const bool hurries = !patient && server_does_without(f) && f->terms.straggler == STRAGGLER_DROP;

    server_arm(a, server_limit_ms(f, hurries));
}

/* --- messages --- */

uint8_t *server_audience(struct server_federation *f)
{
    CHECK(f->audience.n < SERVER_SENDS_MAX);
    return f->audience.list[f->audience.n++];
}

struct action *server_send_members(struct server_federation *f, struct actions *a,
                                   enum wire_kind kind)
{
    struct action *send = actions_add(a, ACTION_SEND);
    uint8_t *to = server_audience(f);
    size_t n = 0;

    for (uint32_t m = 0; m < f->set.n; m++) {
        if (f->peer[f->set.member[m]].member >= 0)
            to[n++] = f->set.member[m];
    }
    send->msg.kind = kind;
    send->to = to;
    send->to_n = n;
    return send;
}

struct action *server_send_one(struct server_federation *f, struct actions *a, uint32_t peer,
                               enum wire_kind kind)
{
    struct action *send = actions_add(a, ACTION_SEND);

    send->msg.kind = kind;
    f->audience.alone[peer] = (uint8_t)peer; /* the set may be another one when it is sent */
    send->to = &f->audience.alone[peer];
    send->to_n = 1;
    return send;
}

static void tell(struct server_federation *f, struct actions *a, enum wire_outcome outcome,
                 const uint8_t *to, size_t n)
{
    struct action *send = actions_add(a, ACTION_SEND);
    enum status_kind kind = outcome == OUTCOME_FAILED || outcome == OUTCOME_BUDGET
                                ? status_kind(f->error.status)
                                : STATUS_KIND_NONE;

    send->msg.kind = WIRE_FINISH;
    send->msg.finish.outcome = outcome;
    send->msg.finish.kind = kind;
    snprintf(send->msg.finish.text, sizeof send->msg.finish.text, "%.*s", WIRE_TEXT_MAX,
             kind == STATUS_KIND_NONE ? "" : f->error.text);
    send->to = to;
    send->to_n = n;
}

void server_say_over(struct server_federation *f, struct actions *a, enum wire_outcome outcome)
{
    uint8_t *to = server_audience(f);
    size_t n = 0;

    for (size_t i = 0; i < f->terms.roster->n; i++) {
        if (f->peer[i].present)
            to[n++] = (uint8_t)i;
    }
    actions_add(a, ACTION_DISARM);
    tell(f, a, outcome, to, n);
}

void server_say_over_to(struct server_federation *f, struct actions *a, uint32_t peer)
{
    uint8_t *to = server_audience(f);

    to[0] = (uint8_t)peer;
    tell(f, a, OUTCOME_COMPLETED, to, 1);
}

/* --- answers --- */

void server_next_question(struct server_federation *f)
{
    for (uint32_t m = 0; m < f->set.n; m++)
        f->peer[f->set.member[m]].answered = false;
    f->set.answers = 0;
}

bool server_all_answered(const struct server_federation *f)
{
    for (uint32_t m = 0; m < f->set.n; m++) {
        const struct server_peer *p = &f->peer[f->set.member[m]];

        if (p->member >= 0 && !p->answered)
            return false;
    }
    return true;
}

bool server_answered(struct server_federation *f, uint32_t peer)
{
    f->peer[peer].answered = true;
    f->set.answers++;
    return server_all_answered(f);
}

void server_awaits(struct server_federation *f, uint32_t peer, bool answer)
{
    f->peer[peer].answered = !answer;
}

void server_missing(const struct server_federation *f, char *out, size_t n)
{
    size_t used = 0;

    out[0] = 0;
    for (size_t i = 0; i < f->terms.roster->n && used < n; i++) {
        bool asked = f->sm.phase == PHASE_GATHER || f->peer[i].member >= 0;
        if (asked && !f->peer[i].answered) {
            int w = snprintf(out + used, n - used, "%s%s", used == 0 ? "" : ", ",
                             server_name(f, (uint32_t)i));
            used += w > 0 ? (size_t)w : 0;
        }
    }
}

/* --- who goes --- */

void server_drop(struct server_federation *f, struct actions *a, uint32_t peer)
{
    struct action *drop = actions_add(a, ACTION_DROP);

    drop->peer = peer;
    drop->error = f->error;
}

void server_leaves(struct server_federation *f, uint32_t peer)
{
    struct server_peer *p = &f->peer[peer];

    f->set.left += p->member >= 0;
    p->present = p->answered = p->excluded = false;
    p->member = -1;
    f->counts.lost[peer]++;
}

uint32_t server_colluders(const struct server_federation *f)
{
    return f->terms.colluders > 1 ? f->terms.colluders : 1;
}
