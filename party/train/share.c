/* share.c -- what a party sends up, and SHARE and SUM: its half of a coded round, and of dealing.
 *
 * The happy path: broadcast -> own shares, sealed for each other member -> relay: theirs for this
 * one -> work: open, and add or evaluate -> upload.  Dealing ends with the work.  What is sealed
 * depends on the view (flow/trail.h), so members that were shown different things cannot open each
 * other's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/round.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/flow/dealing.h"
#include "common/wire/limits.h"

/* --- sizes --- */

size_t party_values(const struct party_round *r, const struct party_course *c)
{
    return c->mode->values(&r->task, &c->plan, &r->shape);
}

/* Of the others' shares for this party, all together, in the task. */
static size_t sealed_bytes(const struct party_round *r, const struct party_course *c,
                           const struct party_set *set)
{
    return secagg_relay_bytes(c->plan.protocol.aggregation, &r->shape,
                              dealing_part(r->task.purpose), set->self, party_values(r, c));
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

enum status party_size_messages(struct party_round *r, const struct plan *p, uint32_t dealt_rows,
                                struct error *err)
{
    enum plan_aggregation agg = p->protocol.aggregation;
    const struct secagg_shape *s = &r->shape;
    size_t n[SECAGG_PARTS] = {[SECAGG_PART_ROUND] = s->values_max, [SECAGG_PART_DATA] = dealt_rows};
    size_t own = secagg_payload_bytes(agg, s, s->values_max), others = 0;

    for (int part = 0; part < SECAGG_PARTS; part++) {
        own = larger(own, secagg_share_bytes(agg, s, (enum secagg_part)part, s->self, n[part]));
        others =
            larger(others, secagg_relay_bytes(agg, s, (enum secagg_part)part, s->self, n[part]));
    }
    if (own > WIRE_SHARES_MAX || others > WIRE_SHARES_MAX)
        return error_set(err, STATUS_CONFIG,
                         "shares of %zu bytes among these parties, more than a message holds (%d)",
                         larger(own, others), WIRE_SHARES_MAX);
    CHECK(secagg_check_bytes(agg, s) <= PARTY_CHECK_MAX);
    r->upload.share_max = others == 0 ? 0 : wire_share_max(others, secagg_tag_bytes(agg, s));
    if (r->upload.payload != NULL && own <= r->upload.payload_max)
        return STATUS_OK;
    mem_free(r->upload.payload);
    r->upload.payload = mem_alloc(own + 16, 1);
    r->upload.payload_max = own;
    return r->upload.payload != NULL ? STATUS_OK
                                     : error_set(err, STATUS_MEMORY, "no memory for shares");
}

/* --- messages --- */

void party_send_share(struct party_round *r, const struct party_course *c,
                      const struct party_set *set, struct actions *a)
{
    enum plan_aggregation agg = c->plan.protocol.aggregation;
    struct action *send = actions_add(a, ACTION_SEND);

    send->msg.kind = WIRE_SHARE;
    send->msg.share = (struct wire_shares){
        .generation = set->generation,
        .round = r->task.round,
        .purpose = r->task.purpose,
        .sealed = {r->upload.payload,
                   secagg_share_bytes(agg, &r->shape, dealing_part(r->task.purpose), set->self,
                                      party_values(r, c))},
        .tags = {r->upload.check, secagg_tag_bytes(agg, &r->shape)},
    };
    r->relay_due = true;
}

void party_send_upload(struct party_round *r, const struct party_course *c,
                       const struct party_set *set, struct actions *a)
{
    enum plan_aggregation agg = c->plan.protocol.aggregation;
    struct action *send = actions_add(a, ACTION_SEND);

    send->msg.kind = WIRE_UPLOAD;
    send->msg.upload = (struct wire_upload){
        .generation = set->generation,
        .round = r->task.round,
        .purpose = r->task.purpose,
        .payload = {r->upload.payload, secagg_payload_bytes(agg, &r->shape, party_values(r, c))},
        .check = {r->upload.check, secagg_check_bytes(agg, &r->shape)},
    };
}

enum status party_take_relay(struct party_round *r, const struct party_course *c,
                             const struct party_set *set, const struct wire_shares *w,
                             struct error *err)
{
    const size_t sealed = sealed_bytes(r, c, set),
                 tags = secagg_tag_bytes(c->plan.protocol.aggregation, &r->shape);

    if (!r->relay_due || w->generation != set->generation || w->round != r->task.round ||
        w->purpose != r->task.purpose || w->sealed.n != sealed || w->tags.n != tags)
        return party_violation(err, "relays shares that were not due, round", w->round);
    r->received.len = 0;
    if (buf_append(&r->received, w->sealed.data, sealed) != STATUS_OK ||
        buf_append(&r->received, w->tags.data, tags) != STATUS_OK)
        return error_set(err, STATUS_MEMORY, "no memory for shares");
    r->relay_due = false;
    r->task.work = WORK_SUM;
    return STATUS_OK;
}

struct party_sealed party_sealed_of(const struct party_round *r, const struct party_course *c,
                                    const struct party_set *set)
{
    return (struct party_sealed){r->received.data, r->received.data + sealed_bytes(r, c, set)};
}

double party_sum_flops(const struct party_round *r, const struct party_course *c,
                       const struct party_set *set)
{
    return 8.0 * (double)sealed_bytes(r, c, set) + c->mode->slow;
}
