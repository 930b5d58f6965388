/* members.c -- messages to members, deadlines, and who has answered.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/members.h"

#include "common/base/check.h"
#include "common/base/log.h"

#include <stdio.h>

const char *server_name(const struct server_federation *f, uint32_t peer)
{
    return f->terms.roster->party[peer].name;
}

bool server_waits(const struct server_federation *f)
{
    return f->terms.straggler == STRAGGLER_WAIT;
}

bool server_does_without(const struct server_federation *f)
{
    return !server_waits(f) && f->started;
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

/* Under `wait` each phase has its whole limit; a deadline is for all phases that share a clock. */
void server_arm_phase(struct server_federation *f, struct actions *a, bool patient)
{
    const bool hurries = !patient && server_does_without(f) && f->terms.straggler == STRAGGLER_DROP;
    uint64_t passed_ms, all_ms = server_limit_ms(f, hurries);

    if (!phase_row(f->sm.phase)->goes_on)
        f->clock_us = f->now_us;
    passed_ms = hurries ? (f->now_us - f->clock_us) / 1000 : 0;
    server_arm(a, passed_ms < all_ms ? all_ms - passed_ms : 1);
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
    send->to = &f->set.member[f->peer[peer].member];
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

/* --- who sits out --- */

void server_sits_out(struct server_federation *f, uint32_t peer)
{
    struct server_peer *p = &f->peer[peer];

    p->excluded = true;
    p->barred = ++p->losses >= SERVER_LOSSES_MAX;
    if (p->barred)
        log_warn("%s was late or lost %d times in a row without a whole round; it is shut out",
                 server_name(f, peer), SERVER_LOSSES_MAX);
}

/* Whoever is at odds with more than can collude is so with somebody honest, or lies itself. */
static void at_odds(struct server_federation *f, uint32_t peer, uint32_t with)
{
    struct server_peer *p = &f->peer[peer];
    const uint32_t most = f->terms.colluders > 1 ? f->terms.colluders : 1;

    p->again += p->at_odds[with];
    p->odds += !p->at_odds[with];
    p->at_odds[with] = true;
    if (p->barred || (p->odds <= most && p->again < SERVER_LOSSES_MAX))
        return;
    p->barred = true;
    log_warn("%s is at odds with %s, and has been with %u in all: it is shut out",
             server_name(f, peer), server_name(f, with), p->odds);
}

/* One of the two lies, or this server, and nobody can tell which.  The first time it is the accused
 * that sits out, so that a liar to all is left alone; a second time both do. */
bool server_accuses(struct server_federation *f, uint32_t peer, uint32_t accused)
{
    struct server_peer *by = &f->peer[peer], *of = &f->peer[accused];
    const bool again = by->at_odds[accused], there = of->member >= 0;

    if (by->member < 0 || accused == peer)
        return false;
    log_warn("%s says that a share of %s did not open: %s", server_name(f, peer),
             server_name(f, accused), again ? "both sit out" : "that one sits out");
    of->excluded = true;
    by->excluded |= again;
    at_odds(f, accused, peer);
    at_odds(f, peer, accused);
    return there || by->excluded || by->barred || phase_trains(f->sm.phase);
}

uint32_t server_largest_set(const struct server_federation *f, bool of_all,
                            bool in[WIRE_MEMBERS_MAX])
{
    uint32_t n = 0, before;

    for (size_t i = 0; i < f->terms.roster->n; i++) {
        const struct server_peer *p = &f->peer[i];
        in[i] = p->present && !p->barred && (of_all || !p->excluded);
        n += in[i];
    }
    do {
        before = n;
        for (size_t i = 0; i < f->terms.roster->n; i++) {
            if (in[i] && f->peer[i].min_parties > before) {
                in[i] = false;
                n--;
            }
        }
    } while (n < before);
    return n;
}

bool server_may_come_in(const struct server_federation *f, bool who[WIRE_MEMBERS_MAX])
{
    bool somebody = false;
    uint32_t n = server_largest_set(f, true, who);

    for (size_t i = 0; i < f->terms.roster->n; i++) {
        who[i] = who[i] && f->peer[i].excluded && n >= f->terms.smallest;
        somebody |= who[i];
    }
    return somebody;
}

bool server_let_in(struct server_federation *f)
{
    bool who[WIRE_MEMBERS_MAX];

    if (!server_may_come_in(f, who))
        return false;
    for (size_t i = 0; i < f->terms.roster->n; i++)
        f->peer[i].excluded &= !who[i];
    return true;
}
