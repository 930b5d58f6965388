/* share.c -- SHARE and SUM: this party's half of a coded round.
 *
 * The happy path: broadcast -> own shares, sealed for each other member -> relay: theirs for this
 * one -> work: open, add -> upload of the sum.  The first two lines of what leaves depend on the
 * view (flow/trail.h), so members that were shown different things cannot open each other's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/core.h"

#include <string.h>

static size_t values(const struct party_session *p)
{
    return (size_t)p->task.rows * p->plan.model.embedding;
}

void party_send_share(struct party_session *p, struct actions *a)
{
    enum plan_aggregation agg = p->plan.protocol.aggregation;
    struct action *send = actions_add(a, ACTION_SEND);

    send->msg.kind = WIRE_SHARE;
    send->msg.share = (struct wire_shares){
        .generation = p->generation,
        .round = p->task.round,
        .purpose = p->task.purpose,
        .sealed = {p->payload,
                   secagg_share_bytes(agg, &p->shape, SECAGG_PART_ROUND, p->shape.self, values(p))},
        .tags = {p->check, secagg_tag_bytes(agg, &p->shape)},
    };
    p->relay_due = true;
}

void party_send_upload(struct party_session *p, struct actions *a)
{
    enum plan_aggregation agg = p->plan.protocol.aggregation;
    struct action *send = actions_add(a, ACTION_SEND);

    send->msg.kind = WIRE_UPLOAD;
    send->msg.upload = (struct wire_upload){
        .generation = p->generation,
        .round = p->task.round,
        .purpose = p->task.purpose,
        .payload = {p->payload, secagg_payload_bytes(agg, &p->shape, values(p))},
        .check = {p->check, secagg_check_bytes(agg, &p->shape)},
    };
}

void party_relay(struct party_session *p, struct actions *a, const struct wire_shares *w)
{
    enum plan_aggregation agg = p->plan.protocol.aggregation;
    size_t sealed = secagg_relay_bytes(agg, &p->shape, SECAGG_PART_ROUND, p->shape.self, values(p)),
           tags = secagg_tag_bytes(agg, &p->shape);
    enum status s = STATUS_OK;

    if (!p->relay_due || w->generation != p->generation || w->round != p->task.round ||
        w->purpose != p->task.purpose || w->sealed.n != sealed || w->tags.n != tags)
        s = party_violation(p, "relays shares that were not due, round", w->round);
    p->received.len = 0;
    if (s == STATUS_OK && (buf_append(&p->received, w->sealed.data, sealed) != STATUS_OK ||
                           buf_append(&p->received, w->tags.data, tags) != STATUS_OK))
        s = error_set(&p->error, STATUS_MEMORY, "no memory for shares");
    if (s != STATUS_OK) {
        party_refuse(p, a);
        return;
    }
    p->relay_due = false;
    p->task.work = WORK_SUM;
    sm_move(&p->sm, PHASE_SUM, p->generation);
    actions_add(a, ACTION_WORK)->flops = 8.0 * (double)sealed;
}
