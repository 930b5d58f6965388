/* share.c -- SHARE and SUM: this party's half of a coded round, and of dealing.
 *
 * The happy path: broadcast -> own shares, sealed for each other member -> relay: theirs for this
 * one -> work: open, and add or evaluate -> upload.  Dealing ends with the work.  What is sealed
 * depends on the view (flow/trail.h), so members that were shown different things cannot open each
 * other's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/parts.h"

#include "common/base/check.h"
#include "common/base/mem.h"

/* --- sizes --- */

enum secagg_part party_part(const struct party_train *p)
{
    switch (p->round.task.purpose) {
    case PURPOSE_DEAL_KEYS: return SECAGG_PART_KEYS;
    case PURPOSE_DEAL_DATA: return SECAGG_PART_DATA;
    case PURPOSE_TRAIN:
    case PURPOSE_EVALUATE_TEST:
    case PURPOSE_EVALUATE_TRAIN: break;
    }
    return SECAGG_PART_ROUND;
}

size_t party_values(const struct party_train *p)
{
    if (p->round.task.purpose == PURPOSE_DEAL_DATA)
        return p->round.task.coded;
    if (party_deals(p))
        return (size_t)p->round.task.coded * p->round.shape.terms.segments *
               p->learner.plan.model.embedding;
    return (size_t)p->round.task.rows * p->learner.plan.model.embedding;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

enum status party_size_messages(struct party_train *p)
{
    enum plan_aggregation agg = p->learner.plan.protocol.aggregation;
    const struct secagg_shape *s = &p->round.shape;
    size_t n[SECAGG_PARTS] = {
        [SECAGG_PART_ROUND] = s->values_max, [SECAGG_PART_DATA] = p->deal.chunks.chunk_rows};
    size_t own = secagg_payload_bytes(agg, s, s->values_max), others = 0;

    for (int part = 0; part < SECAGG_PARTS; part++) {
        own = larger(own, secagg_share_bytes(agg, s, (enum secagg_part)part, s->self, n[part]));
        others =
            larger(others, secagg_relay_bytes(agg, s, (enum secagg_part)part, s->self, n[part]));
    }
    if (own > WIRE_SHARES_MAX || others > WIRE_SHARES_MAX)
        return error_set(p->error, STATUS_CONFIG,
                         "shares of %zu bytes among these parties, more than a message holds (%d)",
                         larger(own, others), WIRE_SHARES_MAX);
    CHECK(secagg_check_bytes(agg, s) <= PARTY_CHECK_MAX);
    p->round.upload.share_max = others == 0 ? 0 : wire_share_max(others, secagg_tag_bytes(agg, s));
    if (p->round.upload.payload != NULL && own <= p->round.upload.payload_max)
        return STATUS_OK;
    mem_free(p->round.upload.payload);
    p->round.upload.payload = mem_alloc(own + 16, 1);
    p->round.upload.payload_max = own;
    return p->round.upload.payload != NULL
               ? STATUS_OK
               : error_set(p->error, STATUS_MEMORY, "no memory for shares");
}

/* --- messages --- */

void party_send_share(struct party_train *p, struct actions *a)
{
    enum plan_aggregation agg = p->learner.plan.protocol.aggregation;
    struct action *send = actions_add(a, ACTION_SEND);

    send->msg.kind = WIRE_SHARE;
    send->msg.share = (struct wire_shares){
        .generation = p->set->generation,
        .round = p->round.task.round,
        .purpose = p->round.task.purpose,
        .sealed = {p->round.upload.payload, secagg_share_bytes(agg, &p->round.shape, party_part(p),
                                                               p->set->self, party_values(p))},
        .tags = {p->round.upload.check, secagg_tag_bytes(agg, &p->round.shape)},
    };
    p->round.relay_due = true;
}

void party_send_upload(struct party_train *p, struct actions *a)
{
    enum plan_aggregation agg = p->learner.plan.protocol.aggregation;
    struct action *send = actions_add(a, ACTION_SEND);

    send->msg.kind = WIRE_UPLOAD;
    send->msg.upload = (struct wire_upload){
        .generation = p->set->generation,
        .round = p->round.task.round,
        .purpose = p->round.task.purpose,
        .payload = {p->round.upload.payload,
                    secagg_payload_bytes(agg, &p->round.shape, party_values(p))},
        .check = {p->round.upload.check, secagg_check_bytes(agg, &p->round.shape)},
    };
}

/* Chunks go to a mapped file, zero shares take the streams of many keys, and the product is over
 * the field: all of fedvs is work for another thread. */
static double flops_of_sum(const struct party_train *p)
{
    return party_deals(p) ? PARTY_SLOW_FLOPS : 0;
}

enum status party_relay(struct party_train *p, struct actions *a, const struct wire_shares *w)
{
    enum plan_aggregation agg = p->learner.plan.protocol.aggregation;
    size_t sealed = secagg_relay_bytes(agg, &p->round.shape, party_part(p), p->set->self,
                                       party_values(p)),
           tags = secagg_tag_bytes(agg, &p->round.shape);
    enum status s = STATUS_OK;

    if (!p->round.relay_due || w->generation != p->set->generation ||
        w->round != p->round.task.round || w->purpose != p->round.task.purpose ||
        w->sealed.n != sealed || w->tags.n != tags)
        s = party_violation(p->error, "relays shares that were not due, round", w->round);
    p->round.received.len = 0;
    if (s == STATUS_OK && (buf_append(&p->round.received, w->sealed.data, sealed) != STATUS_OK ||
                           buf_append(&p->round.received, w->tags.data, tags) != STATUS_OK))
        s = error_set(p->error, STATUS_MEMORY, "no memory for shares");
    if (s != STATUS_OK)
        return s;
    p->round.relay_due = false;
    p->round.task.work = WORK_SUM;
    if (party_part(p) == SECAGG_PART_ROUND)
        sm_move(p->sm, PHASE_SUM, p->set->generation);
    actions_add(a, ACTION_WORK)->flops = 8.0 * (double)sealed + flops_of_sum(p);
    return STATUS_OK;
}
