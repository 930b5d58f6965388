/* shares.c -- sealed shares, sorted by who they are for.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/shares.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/flow/dealing.h"

#include <string.h>

struct server_shares {
    size_t share_max, relay_max,
        tags_max;          /* bytes from, and for, one member in the largest round */
    uint8_t *relay, *tags; /* for member m: at m relay_max and m tags_max */
    uint32_t in;
};

size_t server_share_max(const struct server_shares *h)
{
    if (h == NULL)
        return 0;
    return wire_share_max(h->share_max > h->relay_max ? h->share_max : h->relay_max, h->tags_max);
}

enum status server_shares_new(struct server_shares **out, const struct server_sum *sum,
                              struct error *err)
{
    if (!secagg_shares(sum->plan->protocol.aggregation))
        return STATUS_OK;
    *out = mem_alloc(1, sizeof **out);
    return *out == NULL ? STATUS_MEMORY : server_shares_size(*out, sum, 0, err);
}

static void free_room(struct server_shares *h)
{
    mem_free(h->relay);
    mem_free(h->tags);
    *h = (struct server_shares){0};
}

/* The largest of all members and parts. */
static void measure(struct server_shares *h, const struct server_sum *sum, uint32_t chunk_rows)
{
    const enum plan_aggregation agg = sum->plan->protocol.aggregation;
    const struct secagg_shape *s = &sum->shape;
    const size_t n[SECAGG_PARTS] = {
        [SECAGG_PART_ROUND] = s->values_max, [SECAGG_PART_DATA] = chunk_rows};

    for (int part = 0; part < SECAGG_PARTS; part++) {
        for (uint32_t m = 0; m < s->parties; m++) {
            size_t up = secagg_share_bytes(agg, s, (enum secagg_part)part, m, n[part]),
                   down = secagg_relay_bytes(agg, s, (enum secagg_part)part, m, n[part]);
            h->share_max = up > h->share_max ? up : h->share_max;
            h->relay_max = down > h->relay_max ? down : h->relay_max;
        }
    }
    h->tags_max = secagg_tag_bytes(agg, s);
}

enum status server_shares_size(struct server_shares *h, const struct server_sum *sum,
                               uint32_t chunk_rows, struct error *err)
{
    const size_t members = sum->plan->shape.parties;
    struct server_shares need = {0};

    measure(&need, sum, chunk_rows);
    if (need.share_max > WIRE_SHARES_MAX || need.relay_max > WIRE_SHARES_MAX)
        return error_set(err, STATUS_CONFIG,
                         "shares of %zu bytes among these parties, more than a message holds (%d)",
                         need.share_max > need.relay_max ? need.share_max : need.relay_max,
                         WIRE_SHARES_MAX);
    if (h->relay != NULL && need.share_max <= h->share_max && need.relay_max <= h->relay_max &&
        need.tags_max <= h->tags_max)
        return STATUS_OK;
    free_room(h);
    *h = need;
    h->relay = mem_alloc(members, need.relay_max + 1);
    h->tags = mem_alloc(members, need.tags_max + 1);
    if (h->relay != NULL && h->tags != NULL)
        return STATUS_OK;
    return error_set(err, STATUS_MEMORY, "no memory for the shares of %zu parties", members);
}

void server_shares_free(struct server_shares *h)
{
    if (h == NULL)
        return;
    free_room(h);
    mem_free(h);
}

void server_shares_begin(struct server_shares *h)
{
    h->in = 0;
}

size_t server_shares_due(const struct server_sum *sum, const struct server_task *task,
                         uint32_t member)
{
    return secagg_share_bytes(sum->plan->protocol.aggregation, &sum->shape,
                              dealing_part(task->purpose), member, task->values);
}

size_t server_shares_tags(const struct server_sum *sum)
{
    return secagg_tag_bytes(sum->plan->protocol.aggregation, &sum->shape);
}

/* Each part of a member's share to its place in the relay of the member that it is for. */
void server_shares_take(struct server_shares *h, const struct server_sum *sum,
                        const struct server_task *task, uint32_t from, const struct wire_shares *w)
{
    const enum plan_aggregation agg = sum->plan->protocol.aggregation;
    const enum secagg_part part = dealing_part(task->purpose);
    const uint8_t *sealed = w->sealed.data, *tag = w->tags.data;
    size_t n = task->values, before = 0, each = secagg_part_bytes(agg, &sum->shape, part, from, n);

    for (uint32_t m = 0; m < from; m++)
        before += secagg_part_bytes(agg, &sum->shape, part, m, n);
    for (uint32_t to = 0; to < sum->shape.parties; to++) {
        /* Its own part is not in its relay. */
        size_t own = to < from ? secagg_part_bytes(agg, &sum->shape, part, to, n) : 0,
               place = to < from ? from - 1 : from;
        if (to == from)
            continue;
        if (each > 0) { /* of a round of keys, a member may deal none */
            memcpy(h->relay + to * h->relay_max + before - own, sealed, each);
            sealed += each;
        }
        memcpy(h->tags + to * h->tags_max + place * WIRE_TAG_BYTES, tag, WIRE_TAG_BYTES);
        tag += WIRE_TAG_BYTES;
    }
    h->in++;
}

/* The shares of all others, in member order. */
struct wire_shares server_shares_for(const struct server_shares *h, const struct server_sum *sum,
                                     const struct server_task *task, uint64_t generation,
                                     uint32_t to)
{
    const enum plan_aggregation agg = sum->plan->protocol.aggregation;

    CHECK(h->in == sum->shape.parties);
    return (struct wire_shares){
        .generation = generation,
        .round = task->number,
        .purpose = task->purpose,
        .sealed = {h->relay + to * h->relay_max,
                   secagg_relay_bytes(agg, &sum->shape, dealing_part(task->purpose), to,
                                      task->values)},
        .tags = {h->tags + to * h->tags_max, server_shares_tags(sum)},
    };
}
