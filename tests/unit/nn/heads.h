/* heads.h -- top models of every loss and fusion for the tests of common/nn/head, with something to
 * compute on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_NN_HEADS_H
#define COLONNADE_TESTS_NN_HEADS_H

#include "common/config/plan_head.h"
#include "common/nn/head.h"
#include "tests/unit/nn/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { MEMBERS = 3, WIDTH = 4, ROWS = 5, ROWS_MAX = 9, WIDEST = 16, PARAMS_MAX = 512 };

struct shape {
    enum plan_fusion fusion;
    enum plan_task task;
    enum plan_binary_loss binary_loss;
    uint32_t outputs;
    size_t hidden; /* layers of 7 and 6 */
    enum plan_activation activation;
    enum plan_output output;
};

#define SOFTMAX TASK_MULTICLASS, BINARY_SOFTMAX
#define SIGMOID TASK_BINARY, BINARY_SIGMOID
#define SQUARED TASK_REGRESSION, BINARY_SOFTMAX

static const struct shape shapes[] = {
    {FUSION_SUM, SOFTMAX, 5, 2, ACTIVATION_SIGMOID, OUTPUT_LINEAR},
    {FUSION_SUM, SIGMOID, 1, 1, ACTIVATION_TANH, OUTPUT_LINEAR},
    {FUSION_SUM, SQUARED, 1, 0, ACTIVATION_RELU, OUTPUT_LINEAR},
    {FUSION_MEAN, SOFTMAX, 2, 0, ACTIVATION_RELU, OUTPUT_LINEAR},
    {FUSION_MEAN, SIGMOID, 1, 2, ACTIVATION_TANH, OUTPUT_LINEAR},
    {FUSION_MEAN, SQUARED, 1, 2, ACTIVATION_NONE, OUTPUT_LINEAR},
    {FUSION_CONCAT, SOFTMAX, 3, 1, ACTIVATION_TANH, OUTPUT_LINEAR},
    {FUSION_CONCAT, SIGMOID, 1, 0, ACTIVATION_RELU, OUTPUT_LINEAR},
    {FUSION_CONCAT, SQUARED, 1, 1, ACTIVATION_SIGMOID, OUTPUT_LINEAR},
    /* From here on without weights: the embedding is as wide as the logits. */
    {FUSION_SUM, SOFTMAX, 4, 0, ACTIVATION_RELU, OUTPUT_IDENTITY},
    {FUSION_SUM, SIGMOID, 1, 0, ACTIVATION_RELU, OUTPUT_IDENTITY},
    {FUSION_SUM, SQUARED, 1, 0, ACTIVATION_RELU, OUTPUT_IDENTITY},
    {FUSION_MEAN, SOFTMAX, 2, 0, ACTIVATION_RELU, OUTPUT_IDENTITY},
    {FUSION_MEAN, SIGMOID, 1, 0, ACTIVATION_RELU, OUTPUT_IDENTITY},
    {FUSION_MEAN, SQUARED, 1, 0, ACTIVATION_RELU, OUTPUT_IDENTITY},
};

enum { SHAPES = sizeof shapes / sizeof shapes[0], LINEAR = 9 };

static inline uint32_t width_of(const struct shape *s)
{
    return s->output == OUTPUT_IDENTITY ? s->outputs : WIDTH;
}

static inline uint32_t inputs_of(const struct shape *s)
{
    return width_of(s) * (s->fusion == FUSION_CONCAT ? MEMBERS : 1);
}

static inline struct plan plan_of(const struct shape *s)
{
    struct plan p;

    plan_defaults(&p);
    p.model.embedding = width_of(s);
    p.model.fusion = s->fusion;
    p.model.output = s->output;
    p.model.task = s->task;
    p.model.binary_loss = s->binary_loss;
    p.model.head = (struct config_layers){s->hidden, {{LAYERS_UNITS, {7}}, {LAYERS_UNITS, {6}}}};
    p.model.head_activation = (uint32_t)s->activation;
    p.training.optimizer = OPTIMIZER_SGD;
    p.shape.parties = MEMBERS;
    p.shape.outputs = s->outputs;
    return p;
}

/* A head with weights that are no round numbers, and what it is given. */
struct trial {
    struct arena arena;
    struct nn_head h;
    size_t params;
    float p[PARAMS_MAX];
    float fused[ROWS_MAX * WIDEST], target[ROWS_MAX];
    float dfused[ROWS_MAX * WIDEST], part[ROWS_MAX * WIDEST], prob[ROWS_MAX * WIDEST];
};

static inline void trial_open(struct trial *t, const struct shape *s, const struct plan *p)
{
    uint64_t seed = 77 + (uint64_t)(s - shapes);

    memset(t, 0, sizeof *t);
    assert_int_equal(arena_init(&t->arena, nn_head_bytes(p, ROWS_MAX)), STATUS_OK);
    assert_int_equal(nn_head_init(&t->h, p, ROWS_MAX, &t->arena, NULL), STATUS_OK);
    t->params = plan_head_params(p);
    assert_true(t->params <= PARAMS_MAX);
    sample_fill(t->p, t->params, 0.7F, &seed);
    nn_head_set(&t->h, t->p);
    sample_fill(t->fused, (size_t)ROWS_MAX * inputs_of(s), 1.0F, &seed);
    for (uint32_t r = 0; r < ROWS_MAX; r++)
        t->target[r] = s->task == TASK_REGRESSION
                           ? 0.3F * (float)r - 0.5F
                           : (float)(r * 3 % (s->outputs > 1 ? s->outputs : 2));
}

static inline void trial_close(struct trial *t)
{
    arena_deinit(&t->arena);
}

#endif
