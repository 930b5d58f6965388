/* standing.c -- where this party is in a job: on a new connection, and in a second join for a job
 * that it has met on this one (protocol.md, 2.1).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/standing.h"

#include "party/job.h"

#include <string.h>

static void send_join(struct actions *a, const struct wire_join *j)
{
    struct action *send = actions_add(a, ACTION_SEND);

    send->msg.kind = WIRE_JOIN;
    send->msg.join = *j;
}

void party_standing_note(struct party_session *p, bool any)
{
    struct party_standing *n = &p->standing;

    n->agreed = false;
    n->join = (struct wire_join){0};
    party_join(&p->fed, &n->join);
    if (any)
        p->job->join(p->state, &n->join);
    memcpy(n->trail, n->join.trail, sizeof n->trail);
    n->join.trail = n->trail;
}

void party_standing_say(struct party_session *p, struct actions *a, const struct wire_offer *o)
{
    p->standing.join.generation = o->generation;
    if (!p->standing.said && !p->setup.answers.silent)
        send_join(a, &p->standing.join);
}

void party_standing_joins(struct party_session *p, struct actions *a)
{
    struct wire_join j = {0};

    party_join(&p->fed, &j);
    j.between_jobs = p->ended;
    if (!p->ended && p->standing.agreed)
        p->job->join(p->state, &j);
    else if (!p->ended)
        j = p->standing.join;
    send_join(a, &j);
    p->standing.said = !p->ended;
}
