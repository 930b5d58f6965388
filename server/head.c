/* head.c -- the top model.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/head.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/flow/agenda.h"

#include <string.h>

static enum nn_act activation_of(uint32_t a)
{
    switch ((enum plan_activation)a) {
    case ACTIVATION_RELU: return NN_ACT_RELU;
    case ACTIVATION_TANH: return NN_ACT_TANH;
    case ACTIVATION_SIGMOID: return NN_ACT_SIGMOID;
    case ACTIVATION_NONE: return NN_ACT_NONE;
    }
    return NN_ACT_NONE;
}

static void spec_of(struct nn_spec *spec, const struct server_head *h, const struct plan *p,
                    uint32_t rows_max)
{
    *spec = (struct nn_spec){
        .layers = p->model.head.n + 1,
        .out_scale = 1,
        .rows_max = rows_max,
        .optimizer = (enum nn_optimizer)p->training.optimizer,
    };
    spec->width[0] = h->inputs;
    for (size_t i = 0; i < p->model.head.n; i++) {
        spec->width[i + 1] = p->model.head.width[i];
        spec->act[i] = activation_of(p->model.head_activation);
    }
    spec->width[spec->layers] = h->outputs;
    spec->act[spec->layers - 1] = NN_ACT_NONE;
}

static void loss_of(struct server_head *h, const struct plan *p)
{
    if (p->model.task == TASK_REGRESSION) {
        h->loss = NN_LOSS_SQUARED;
        h->outputs = 1;
    } else if (p->model.task == TASK_BINARY && p->model.binary_loss == BINARY_SIGMOID) {
        h->loss = NN_LOSS_SIGMOID;
        h->outputs = 1;
    } else {
        h->loss = NN_LOSS_SOFTMAX;
        h->outputs = p->shape.outputs;
    }
}

enum status server_head_init(struct server_head *h, const struct plan *p, uint32_t rows_max,
                             struct rng *init)
{
    struct nn_spec spec;
    size_t values, blocks, gradient, words, scratch;
    enum status s;

    *h = (struct server_head){
        .concat = p->model.fusion == FUSION_CONCAT,
        .mean = p->model.fusion == FUSION_MEAN,
        .form = gradient_form_of(p),
        .parties = p->shape.parties,
        .width = p->model.embedding,
    };
    h->inputs = h->concat ? h->parties * h->width : h->width;
    loss_of(h, p);
    spec_of(&spec, h, p, rows_max);
    values = (size_t)rows_max * h->inputs;
    blocks = h->concat ? h->parties : 1;
    gradient = gradient_values(&h->form, p->training.batch) * blocks;
    words = gradient_words(&h->form, p->training.batch) * blocks;
    scratch =
        sizeof(float) * (2 * values + gradient + words + rows_max * (2 * (size_t)h->outputs + 1)) +
        9 * MEM_ALIGNMENT;
    s = arena_init(&h->arena, nn_net_bytes(&spec) + scratch);
    if (s != STATUS_OK)
        return s;
    s = nn_net_init(&h->net, &spec, &h->arena);
    if (s != STATUS_OK)
        return s;
    h->fused = arena_alloc(&h->arena, values, sizeof(float));
    h->values = arena_alloc(&h->arena, gradient, sizeof(float));
    h->gradient = arena_alloc(&h->arena, words, sizeof(uint32_t));
    h->dfused = arena_alloc(&h->arena, values, sizeof(float));
    h->target = arena_alloc(&h->arena, rows_max, sizeof(float));
    h->prob = arena_alloc(&h->arena, (size_t)rows_max * h->outputs, sizeof(float));
    h->dlogits = arena_alloc(&h->arena, (size_t)rows_max * h->outputs, sizeof(float));
    CHECK(h->dlogits != NULL);
    nn_net_randomize(&h->net, (enum nn_init)p->model.init, init);
    return STATUS_OK;
}

void server_head_deinit(struct server_head *h)
{
    arena_deinit(&h->arena);
    *h = (struct server_head){0};
}

void server_head_members(struct server_head *h, uint32_t members)
{
    h->parties = members;
}

static const float *forward(struct server_head *h, uint32_t rows, double *loss, bool want_gradient)
{
    const float *logits = nn_net_forward(&h->net, h->fused, rows);

    *loss =
        nn_loss(h->loss, want_gradient ? h->dlogits : NULL, logits, h->target, rows, h->outputs);
    return logits;
}

void server_head_fuse(struct server_head *h, uint32_t rows)
{
    float factor = 1.0f / (float)h->parties;

    if (!h->mean)
        return;
    for (size_t i = 0; i < (size_t)rows * h->inputs; i++)
        h->fused[i] *= factor;
}

/* The same as a product: D behind the first layer, which is everybody's, and each member's rows of
 * W as they were when the gradient was taken. */
static void hand_out_factors(struct server_head *h, uint32_t rows, float factor)
{
    const struct nn_layer *first = &h->net.layer[0];
    size_t d = (size_t)rows * first->out, w = (size_t)h->width * first->out;

    for (uint32_t m = 0; m < (h->concat ? h->parties : 1); m++) {
        float *to = h->values + m * (d + w);

        for (size_t i = 0; i < d; i++)
            to[i] = factor * first->dy[i];
        memcpy(to + d, first->w + m * w, w * sizeof *to);
    }
}

/* d loss / d fused to what the members receive: d loss / d sum, or each member's own columns. */
static void hand_out_gradient(struct server_head *h, uint32_t rows)
{
    float factor = h->mean ? 1.0f / (float)h->parties : 1.0f;

    if (h->form.form == GRADIENT_FACTORED) {
        hand_out_factors(h, rows, factor);
        return;
    }
    if (!h->concat) {
        for (size_t i = 0; i < (size_t)rows * h->width; i++)
            h->values[i] = factor * h->dfused[i];
        return;
    }
    for (uint32_t m = 0; m < h->parties; m++) {
        for (uint32_t r = 0; r < rows; r++)
            memcpy(h->values + ((size_t)m * rows + r) * h->width,
                   h->dfused + (size_t)r * h->inputs + (size_t)m * h->width,
                   sizeof(float) * h->width);
    }
}

void server_head_pack(struct server_head *h, uint32_t rows, uint32_t blocks, struct rng *r)
{
    const size_t values = gradient_values(&h->form, rows), words = gradient_words(&h->form, rows);

    for (uint32_t m = 0; m < blocks; m++)
        gradient_pack(&h->form, h->gradient + m * words, h->values + m * values, rows, r);
}

double server_head_evaluate(struct server_head *h, uint32_t rows)
{
    double loss;

    nn_predict(h->loss, h->prob, forward(h, rows, &loss, false), rows, h->outputs);
    return loss;
}

double server_head_train(struct server_head *h, const struct plan *p, uint64_t step, uint32_t rows)
{
    double loss, later;

    nn_predict(h->loss, h->prob, forward(h, rows, &loss, true), rows, h->outputs);
    nn_net_backward(&h->net, h->form.form == GRADIENT_FACTORED ? NULL : h->dfused, h->dlogits);
    hand_out_gradient(h, rows);
    nn_net_step(&h->net, agenda_rate(p, step, 0));
    /* Local iterations 1 .. Q-1 on the same sums (FedBCD, Algorithm 1). */
    for (uint32_t q = 1; q < p->protocol.local_iterations; q++) {
        forward(h, rows, &later, true);
        nn_net_backward(&h->net, NULL, h->dlogits);
        nn_net_step(&h->net, agenda_rate(p, step, q));
    }
    return loss;
}
