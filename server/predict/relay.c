/* relay.c -- shares of a coded round: what passes through here is sealed from member to member.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/predict/predict.h"

#include "common/base/mem.h"
#include "server/members.h"

#include <string.h>

/* Of coded shares each is as long as any other. */
static size_t each(const struct server_predict *p)
{
    return secagg_part_bytes(p->plan.protocol.aggregation, &p->shape, SECAGG_PART_ROUND, 0,
                             server_predict_values(p));
}

enum status server_relay_new(struct server_predict *p)
{
    const enum plan_aggregation agg = p->plan.protocol.aggregation;
    const size_t n = p->shape.parties;
    struct predict_relay *r = &p->relay;

    if (!secagg_shares(agg))
        return STATUS_OK;
    r->share_max = secagg_share_bytes(agg, &p->shape, SECAGG_PART_ROUND, 0, p->shape.values_max);
    r->tags_max = r->tags = secagg_tag_bytes(agg, &p->shape);
    if (r->share_max > WIRE_SHARES_MAX)
        return STATUS_LIMIT;
    r->sealed = mem_alloc(n, r->share_max);
    r->tag = mem_alloc(n, r->tags_max);
    return r->sealed != NULL && r->tag != NULL ? STATUS_OK : STATUS_MEMORY;
}

void server_relay_free(struct server_predict *p)
{
    mem_free(p->relay.sealed);
    mem_free(p->relay.tag);
}

bool server_relay_add(struct server_predict *p, uint32_t peer, const struct wire_shares *w)
{
    struct predict_relay *r = &p->relay;
    const size_t n = p->fed->set.n, from = (size_t)p->fed->peer[peer].member, part = each(p);
    const uint8_t *sealed = w->sealed.data, *tag = w->tags.data;

    if (w->round != p->number || w->purpose != PURPOSE_EVALUATE_TEST ||
        w->sealed.n != part * (n - 1) || w->tags.n != r->tags) {
        error_set(&p->fed->error, STATUS_PROTOCOL, "%s: no shares of round %llu",
                  server_name(p->fed, peer), (unsigned long long)p->number);
        return false;
    }
    for (size_t to = 0; to < n; to++) {
        const size_t place = to < from ? from - 1 : from; /* its own is not in its relay */

        if (to == from)
            continue;
        memcpy(r->sealed + to * r->share_max + place * part, sealed, part);
        memcpy(r->tag + to * r->tags_max + place * WIRE_TAG_BYTES, tag, WIRE_TAG_BYTES);
        sealed += part;
        tag += WIRE_TAG_BYTES;
    }
    r->in++;
    return true;
}

void server_relay_send(struct server_predict *p, struct actions *a)
{
    struct predict_relay *r = &p->relay;

    for (uint32_t m = 0; m < p->fed->set.n; m++)
        server_send_one(p->fed, a, p->fed->set.member[m], WIRE_RELAY)->msg.relay =
            (struct wire_shares){
                .generation = p->fed->set.generation,
                .round = p->number,
                .purpose = PURPOSE_EVALUATE_TEST,
                .sealed = {r->sealed + m * r->share_max, each(p) * (p->fed->set.n - 1)},
                .tags = {r->tag + m * r->tags_max, r->tags},
            };
}
