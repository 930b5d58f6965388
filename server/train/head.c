/* head.c -- the server's top model: memory, what goes down, steps.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/head.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/config/plan_head.h"
#include "common/flow/agenda.h"
#include "common/flow/dropout.h"
#include "common/secagg/lane.h"

#include <math.h>
#include <string.h>

/* Floats of the proximal term's anchor. */
static size_t anchor_floats(const struct plan *p)
{
    return p->protocol.proximal > 0 ? plan_head_params(p) : 0;
}

enum status server_head_init(struct server_head *h, const struct plan *p, uint32_t rows_max,
                             const struct nn_head_outside *outside, struct rng *init)
{
    static const uint8_t nothing[RNG_KEY_BYTES]; /* each step has its own key */
    struct nn_head shape;
    size_t values, filled, blocks, gradient, words, params, anchor = anchor_floats(p), scratch;
    enum status s;

    nn_head_shape(&shape, p);
    *h = (struct server_head){.apart = shape.apart && p->protocol.local_view == VIEW_STALE};
    down_of(&h->down, p);
    values = (size_t)rows_max * shape.inputs;
    filled = p->training.party_dropout > 0 ? values : 0;
    blocks = shape.apart ? shape.parties : 1;
    gradient = gradient_values(&h->down.gradient, p->training.batch) * blocks;
    words = down_words(&h->down, p->training.batch) * (h->apart ? blocks : 1);
    params = h->down.with_head ? plan_head_params(p) : 0;
    scratch = sizeof(float) * (2 * values + filled + gradient + words + params + anchor +
                               rows_max * ((size_t)shape.outputs + shape.targets)) +
              11 * MEM_ALIGNMENT;
    s = arena_init(&h->arena, nn_head_bytes_outside(p, rows_max, outside) + scratch);
    if (s == STATUS_OK)
        s = nn_head_init_outside(&h->top, p, rows_max, &h->arena, outside, init);
    if (s != STATUS_OK)
        return s;
    h->fused = arena_alloc(&h->arena, values, sizeof(float));
    h->values = arena_alloc(&h->arena, gradient, sizeof(float));
    h->blob = arena_alloc(&h->arena, words, sizeof(uint32_t));
    h->dfused = arena_alloc(&h->arena, values, sizeof(float));
    h->target = arena_alloc(&h->arena, (size_t)rows_max * shape.targets, sizeof(float));
    h->prob = arena_alloc(&h->arena, (size_t)rows_max * shape.outputs, sizeof(float));
    CHECK(h->prob != NULL);
    if (params > 0)
        h->params = arena_alloc(&h->arena, params, sizeof(float));
    if (anchor > 0)
        h->anchor = arena_alloc(&h->arena, anchor, sizeof(float));
    if (filled > 0)
        h->filled = arena_alloc(&h->arena, filled, sizeof(float));
    CHECK((params == 0 || h->params != NULL) && (anchor == 0 || h->anchor != NULL) &&
          (filled == 0 || h->filled != NULL));
    return p->model.head_dropout > 0 ? rng_init_key(&h->masks, nothing) : STATUS_OK;
}

void server_head_deinit(struct server_head *h)
{
    rng_deinit(&h->masks);
    arena_deinit(&h->arena);
    *h = (struct server_head){0};
}

void server_head_members(struct server_head *h, uint32_t members)
{
    if (!h->top.apart && !h->top.zeros)
        h->top.parties = members;
}

void server_head_spread(struct server_head *h, const uint8_t *member, uint32_t n,
                        const uint8_t *absent, uint32_t absent_n, uint32_t rows)
{
    bool missing[PLAN_PARTIES_MAX];

    if (!h->top.apart)
        return;
    nn_head_spread(&h->top, h->fused, member, n, rows);
    for (uint32_t i = 0; i < h->top.parties; i++)
        missing[i] = true;
    for (uint32_t m = 0; m < n; m++)
        missing[member[m]] = false;
    for (uint32_t i = 0; i < absent_n; i++)
        missing[member[absent[i]]] = true;
    nn_head_without(&h->top, h->fused, missing, rows);
}

void server_head_fuse(struct server_head *h, uint32_t rows)
{
    nn_head_fuse(&h->top, h->fused, rows);
}

/* The gradient as a product: D behind the first layer, which is everybody's, and each member's rows
 * of W as they were when the gradient was taken. */
static void hand_out_factors(struct server_head *h, uint32_t rows)
{
    const struct nn_layer *first = &h->top.net.layer[0];
    size_t d = (size_t)rows * first->out, w = (size_t)h->top.width * first->out;
    float factor = h->top.mean ? 1.0f / (float)h->top.parties : 1.0f;

    for (uint32_t m = 0; m < (h->top.apart ? h->top.parties : 1); m++) {
        float *to = h->values + m * (d + w);

        for (size_t i = 0; i < d; i++)
            to[i] = factor * first->dy[i];
        memcpy(to + d, first->w + m * w, w * sizeof *to);
    }
}

/* d loss / d fused to what the members receive: d loss / d sum, or each member's own columns. */
static void hand_out_gradient(struct server_head *h, uint32_t rows)
{
    if (h->down.gradient.form == GRADIENT_FACTORED) {
        hand_out_factors(h, rows);
        return;
    }
    for (uint32_t m = 0; m < (h->top.apart ? h->top.parties : 1); m++)
        nn_head_part(&h->top, h->values + (size_t)m * rows * h->top.width, h->dfused, rows, m);
}

void server_head_pack(struct server_head *h, uint32_t rows, uint32_t blocks, struct rng *r)
{
    const size_t values = gradient_values(&h->down.gradient, rows),
                 words = down_words(&h->down, rows);

    for (uint32_t m = 0; m < blocks; m++)
        down_gradient_pack(&h->down, h->blob + m * words, h->values + m * values, rows, r);
}

bool server_head_show(struct server_head *h, uint32_t rows, const uint8_t *dither, struct rng *r)
{
    if (!h->down.with_head)
        return true;
    nn_head_get(&h->top, h->params);
    if (!lane_finite(h->params, h->down.head_params))
        return false;
    down_head_pack(&h->down, h->blob, h->params, rows, dither, r);
    return true;
}

double server_head_evaluate(struct server_head *h, uint32_t rows)
{
    double loss = nn_head_forward(&h->top, h->fused, h->target, rows, false);

    nn_head_predict(&h->top, h->prob, rows);
    return loss;
}

/* One pass there and back: dfused where somebody needs it.  Stand-ins are put in anew, since they
 * take steps like the rest of the head; h->fused stays what was released. */
static double pass(struct server_head *h, uint32_t rows, float *dfused)
{
    const float *in = h->fused;
    double loss;

    if (h->filled != NULL) {
        nn_head_fill(&h->top, h->filled, h->fused, h->missing, rows);
        in = h->filled;
        dfused = h->dfused;
    }
    loss = nn_head_forward(&h->top, in, h->target, rows, true);
    nn_head_backward(&h->top, dfused);
    nn_head_fill_slopes(&h->top, h->dfused, h->missing, rows);
    return loss;
}

/* Local iterations 1 .. Q-1 on the same sums (FedBCD, Algorithm 1), drawn back to `anchor`
 * (equation (13)). */
static void step_on(struct server_head *h, const struct plan *p, uint64_t step, uint32_t rows)
{
    for (uint32_t q = 1; q < p->protocol.local_iterations; q++) {
        (void)pass(h, rows, NULL);
        if (h->anchor != NULL)
            nn_net_pull(&h->top.net, h->anchor, (float)p->protocol.proximal);
        nn_head_step(&h->top, agenda_rate(p, step, q));
    }
}

/* Under sequential all parties have stepped on the batch before the head does. */
static bool has_turn(const struct plan *p, uint64_t step)
{
    return p->protocol.local_order == ORDER_PARALLEL || (step + 1) % p->shape.parties == 0;
}

double server_head_train(struct server_head *h, const struct plan *p, uint64_t step, uint32_t rows)
{
    const bool full = h->down.gradient.form == GRADIENT_FULL;
    double loss;

    (void)dropout_of(h->missing, p, step);
    nn_head_draw_masks(&h->top, p->training.seed, step, rows, &h->masks); /* for all Q passes */
    loss = pass(h, rows, full && h->down.with_gradient ? h->dfused : NULL);
    nn_head_predict(&h->top, h->prob, rows);
    if (nn_net_lost_backward(&h->top.net) > 0) /* what is here was released: it may be told */
        return INFINITY;
    if (h->down.with_gradient)
        hand_out_gradient(h, rows);
    if (h->top.fixed || !has_turn(p, step))
        return loss;
    if (h->anchor != NULL)
        nn_head_get(&h->top, h->anchor);
    nn_head_step(&h->top, agenda_rate(p, step, 0));
    step_on(h, p, step, rows);
    return loss;
}
