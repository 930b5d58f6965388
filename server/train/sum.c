/* sum.c -- the shape that sums have, and how a round of them begins.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/sum.h"

#include "common/base/check.h"
#include "common/compress/down.h"
#include "common/config/aggregation.h"
#include "common/flow/dither.h"

/* What secagg shows is written where common/compress has left room for it. */
static void check_shown(const struct server_sum *sum)
{
    const struct plan *p = sum->plan;
    const size_t rows[] = {1, p->training.batch};
    struct down down;

    down_of(&down, p);
    for (size_t i = 0; i < 2 && sum->shape.shown; i++)
        CHECK(down_shown_bytes(&down, rows[i]) == secagg_shown_bytes(p->protocol.aggregation,
                                                                     &sum->shape,
                                                                     rows[i] * p->model.embedding));
}

enum status server_sum_init(struct server_sum *sum, const struct plan *p, struct error *err)
{
    enum status st;

    sum->plan = p;
    sum->shape = (struct secagg_shape){
        .concat = plan_keeps_apart(p),
        .partial = aggregation_partial(p),
        .absent_zero = p->protocol.absent == ABSENT_ZERO,
        .shown = p->protocol.local_view == VIEW_REFRESHED,
        .parties = p->shape.parties,
        .values_max = wire_evaluate_rows(p) * p->model.embedding,
        .segments = p->protocol.coded.segments,
        .privacy = p->protocol.coded.privacy,
    };
    st = encode_init(&sum->shape.encode, p, p->shape.parties);
    if (st != STATUS_OK)
        return error_set(err, st, "encoding: %s", status_words(st));
    check_shown(sum);
    sum->check_bytes = secagg_check_bytes(p->protocol.aggregation, &sum->shape);
    sum->payload_max = server_sum_payload(sum, sum->shape.values_max);
    return STATUS_OK;
}

void server_sum_deinit(struct server_sum *sum)
{
    secagg_server_free(sum->secagg);
    digest_deinit(&sum->digest);
}

enum status server_sum_members(struct server_sum *sum, uint32_t n)
{
    const enum plan_aggregation agg = sum->plan->protocol.aggregation;
    enum status st = encode_init(&sum->shape.encode, sum->plan, n);

    if (st != STATUS_OK)
        return st;
    sum->shape.parties = n;
    sum->shape.self = 0;
    sum->combined_round = 0;
    sum->check_bytes = secagg_check_bytes(agg, &sum->shape); /* follows the width */
    secagg_server_free(sum->secagg);
    sum->secagg = NULL;
    return secagg_server_new(&sum->secagg, agg, &sum->shape);
}

void server_sum_terms_known(struct server_sum *sum)
{
    sum->payload_max = server_sum_payload(sum, sum->shape.values_max);
}

void server_sum_begin(struct server_sum *sum, const struct server_task *task)
{
    secagg_begin_padded(sum->secagg, task->values, task->real);
    if (!plan_compresses(sum->plan))
        return;
    dither_make(sum->dither, &sum->digest, sum->plan, task->purpose, task->place, task->sweep);
    secagg_dither(sum->secagg, sum->dither);
}

size_t server_sum_payload(const struct server_sum *sum, uint64_t values)
{
    return secagg_payload_bytes(sum->plan->protocol.aggregation, &sum->shape, values);
}

/* Where the server decodes products, it does so from as many members' as there are. */
double server_sum_flops(const struct server_sum *sum, const struct server_task *task)
{
    const bool products = aggregation_of(sum->plan)->polynomial;

    return 2.0 * (double)task->values * (products ? 8.0 * sum->shape.parties : 1.0);
}

enum status server_sum_open(struct server_sum *sum, float *out, const struct server_task *task,
                            const struct wire_upload *u, uint32_t member, struct error *err)
{
    uint8_t dither[WIRE_DIGEST_BYTES];
    const bool dithers = plan_compresses(sum->plan);

    if (dithers)
        dither_make(dither, &sum->digest, sum->plan, task->purpose, task->place, task->sweep);
    return secagg_open(&sum->shape, out, u->payload.data, task->real, member,
                       dithers ? dither : NULL, err);
}
