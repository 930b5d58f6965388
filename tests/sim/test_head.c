/* test_head.c -- the gradient that parties receive, against differences of a head written here in
 * double; and the head's own steps against a loop by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/head.h"

#include "common/base/check.h"
#include "common/base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { PARTIES = 3, WIDTH = 4, ROWS = 5, ROWS_MAX = 8, INPUTS_MAX = PARTIES * WIDTH, WIDEST = 16 };

struct shape {
    enum plan_fusion fusion;
    enum plan_task task;
    enum plan_binary_loss binary_loss;
    uint32_t outputs;
    size_t hidden; /* layers of 7 and 6 */
    enum plan_activation activation;
    enum plan_output output; /* identity: embeddings as wide as the logits */
};

static double fused_train(struct server_head *h, const struct plan *p, uint64_t step, uint32_t rows)
{
    server_head_fuse(h, rows);
    return server_head_train(h, p, step, rows);
}

static const struct shape shapes[] = {
    {FUSION_SUM, TASK_BINARY, BINARY_SOFTMAX, 2, 0, ACTIVATION_RELU, OUTPUT_LINEAR},
    {FUSION_SUM, TASK_BINARY, BINARY_SIGMOID, 1, 1, ACTIVATION_TANH, OUTPUT_LINEAR},
    {FUSION_SUM, TASK_MULTICLASS, BINARY_SOFTMAX, 5, 2, ACTIVATION_SIGMOID, OUTPUT_LINEAR},
    {FUSION_SUM, TASK_REGRESSION, BINARY_SOFTMAX, 1, 1, ACTIVATION_TANH, OUTPUT_LINEAR},
    {FUSION_MEAN, TASK_BINARY, BINARY_SOFTMAX, 2, 0, ACTIVATION_RELU, OUTPUT_LINEAR},
    {FUSION_MEAN, TASK_MULTICLASS, BINARY_SOFTMAX, 4, 2, ACTIVATION_TANH, OUTPUT_LINEAR},
    {FUSION_MEAN, TASK_REGRESSION, BINARY_SOFTMAX, 1, 2, ACTIVATION_NONE, OUTPUT_LINEAR},
    {FUSION_CONCAT, TASK_BINARY, BINARY_SIGMOID, 1, 1, ACTIVATION_TANH, OUTPUT_LINEAR},
    {FUSION_CONCAT, TASK_MULTICLASS, BINARY_SOFTMAX, 3, 1, ACTIVATION_SIGMOID, OUTPUT_LINEAR},
    {FUSION_CONCAT, TASK_REGRESSION, BINARY_SOFTMAX, 1, 0, ACTIVATION_RELU, OUTPUT_LINEAR},
    {FUSION_SUM, TASK_BINARY, BINARY_SIGMOID, 1, 0, ACTIVATION_RELU, OUTPUT_IDENTITY},
    {FUSION_SUM, TASK_MULTICLASS, BINARY_SOFTMAX, 4, 0, ACTIVATION_RELU, OUTPUT_IDENTITY},
    {FUSION_MEAN, TASK_BINARY, BINARY_SOFTMAX, 2, 0, ACTIVATION_RELU, OUTPUT_IDENTITY},
    {FUSION_MEAN, TASK_REGRESSION, BINARY_SOFTMAX, 1, 0, ACTIVATION_RELU, OUTPUT_IDENTITY},
};

#define SHAPES (sizeof shapes / sizeof shapes[0])

static bool fixed(const struct shape *s)
{
    return s->output == OUTPUT_IDENTITY;
}

static uint32_t width_of(const struct shape *s)
{
    return fixed(s) ? s->outputs : WIDTH;
}

static struct plan plan_of(const struct shape *s)
{
    struct plan p;

    plan_defaults(&p);
    p.model.embedding = width_of(s);
    p.model.output = s->output;
    p.model.fusion = s->fusion;
    p.model.task = s->task;
    p.model.binary_loss = s->binary_loss;
    p.model.head = (struct config_layers){s->hidden, {{LAYERS_UNITS, {7}}, {LAYERS_UNITS, {6}}}};
    p.model.head_activation = (uint32_t)s->activation;
    p.training.learning_rate = 0.125;
    p.training.optimizer = OPTIMIZER_SGD;
    p.training.schedule = SCHEDULE_CONSTANT;
    p.shape.parties = PARTIES;
    p.shape.outputs = s->outputs;
    return p;
}

/* Every head of one plan begins alike. */
static void start(struct server_head *h, const struct plan *p)
{
    static const uint8_t key[RNG_KEY_BYTES] = {5};
    struct rng init = {0};

    CHECK(rng_init_key(&init, key) == STATUS_OK);
    CHECK(server_head_init(h, p, ROWS_MAX, &(struct nn_head_outside){0}, &init) == STATUS_OK);
    rng_deinit(&init);
    for (size_t i = 0; i < h->top.net.spec.layers; i++) {
        struct nn_layer *l = &h->top.net.layer[i];

        for (uint32_t j = 0; j < l->out; j++) /* glorot leaves them zero */
            l->b[j] = 0.1f * (float)(j + 1) - 0.2f * (float)i;
    }
}

/* What secagg_combine would leave, and labels. */
static void give(struct server_head *h, const struct shape *s)
{
    for (uint32_t i = 0; i < ROWS * h->top.inputs; i++)
        h->fused[i] = (float)((int)(i * 29 % 31) - 15) / 12.0f;
    for (uint32_t r = 0; r < ROWS; r++)
        h->target[r] = s->task == TASK_REGRESSION
                           ? 0.3f * (float)r - 0.5f
                           : (float)(r * 3 % (s->outputs > 1 ? s->outputs : 2));
}

/* --- the same head in double --- */

struct reference {
    size_t layers;
    uint32_t width[NN_LAYERS_MAX + 1];
    enum plan_activation act;
    double w[3][WIDEST * WIDEST], b[3][WIDEST];
    double scale; /* of the fused sums: 1 / M under mean */
    const struct shape *shape;
    double x[ROWS * INPUTS_MAX], target[ROWS];
    double logits[ROWS][WIDEST];
};

static void copy_of(struct reference *ref, const struct server_head *h, const struct shape *s,
                    uint32_t members)
{
    ref->layers = h->top.net.spec.layers;
    assert_int_equal(ref->layers, fixed(s) ? 0 : s->hidden + 1);
    ref->width[0] = h->top.inputs;
    ref->act = s->activation;
    ref->shape = s;
    ref->scale = s->fusion == FUSION_MEAN ? 1.0 / members : 1.0;
    for (size_t i = 0; i < ref->layers; i++) {
        const struct nn_layer *l = &h->top.net.layer[i];

        ref->width[i] = l->in;
        ref->width[i + 1] = l->out;
        assert_true(l->in <= WIDEST && l->out <= WIDEST);
        for (uint32_t k = 0; k < l->in * l->out; k++)
            ref->w[i][k] = (double)l->w[k];
        for (uint32_t k = 0; k < l->out; k++)
            ref->b[i][k] = (double)l->b[k];
    }
    for (uint32_t i = 0; i < ROWS * h->top.inputs; i++)
        ref->x[i] = (double)h->fused[i];
    for (uint32_t r = 0; r < ROWS; r++)
        ref->target[r] = (double)h->target[r];
}

static double activate(enum plan_activation act, double z)
{
    switch (act) {
    case ACTIVATION_RELU: return z > 0 ? z : 0;
    case ACTIVATION_TANH: return tanh(z);
    case ACTIVATION_SIGMOID: return 1 / (1 + exp(-z));
    case ACTIVATION_NONE: return z;
    }
    return z;
}

static double row_loss(const struct reference *ref, const double *z, double target)
{
    double sum = 0;

    if (ref->shape->task == TASK_REGRESSION)
        return (z[0] - target) * (z[0] - target) / 2;
    if (ref->shape->outputs == 1)
        return log1p(exp(target > 0 ? -z[0] : z[0]));
    for (uint32_t j = 0; j < ref->shape->outputs; j++)
        sum += exp(z[j]);
    return log(sum) - z[(int)target];
}

static double mean_loss(struct reference *ref)
{
    double total = 0;

    for (uint32_t r = 0; r < ROWS; r++) {
        double y[2][WIDEST];

        for (uint32_t k = 0; k < ref->width[0]; k++)
            y[0][k] = ref->scale * ref->x[r * ref->width[0] + k];
        for (size_t i = 0; i < ref->layers; i++) {
            const double *in = y[i % 2];
            double *out = y[(i + 1) % 2];

            for (uint32_t j = 0; j < ref->width[i + 1]; j++) {
                double z = ref->b[i][j];

                for (uint32_t k = 0; k < ref->width[i]; k++)
                    z += in[k] * ref->w[i][k * ref->width[i + 1] + j];
                out[j] = i + 1 < ref->layers ? activate(ref->act, z) : z;
            }
        }
        memcpy(ref->logits[r], y[ref->layers % 2], sizeof ref->logits[r]);
        total += row_loss(ref, ref->logits[r], ref->target[r]);
    }
    return total / ROWS;
}

static double slope(struct reference *ref, uint32_t at)
{
    const double step = 1e-5, was = ref->x[at];
    double up, down;

    ref->x[at] = was + step;
    up = mean_loss(ref);
    ref->x[at] = was - step;
    down = mean_loss(ref);
    ref->x[at] = was;
    return (up - down) / (2 * step);
}

/* --- gradients --- */

/* Place in h->values of what belongs to input `at` of the head: one block of rows x P, or under
 * concat one for each member. */
static uint32_t handed_out(const struct shape *s, uint32_t at)
{
    uint32_t row = at / INPUTS_MAX, member = at % INPUTS_MAX / WIDTH;

    return s->fusion == FUSION_CONCAT ? (member * ROWS + row) * WIDTH + at % WIDTH : at;
}

static void expect_gradient(const struct shape *s, uint32_t members)
{
    static struct reference ref;
    struct plan p = plan_of(s);
    struct server_head h;
    double loss, largest = 0;

    start(&h, &p);
    server_head_members(&h, members);
    give(&h, s);
    copy_of(&ref, &h, s, members);
    assert_int_equal(h.top.inputs, s->fusion == FUSION_CONCAT ? INPUTS_MAX : width_of(s));
    loss = fused_train(&h, &p, 0, ROWS);
    assert_true(fabs(loss - mean_loss(&ref)) < 1e-5);
    for (uint32_t at = 0; at < ROWS * h.top.inputs; at++) {
        double expected = slope(&ref, at), got = (double)h.values[handed_out(s, at)];

        largest = fmax(largest, fabs(expected));
        if (fabs(got - expected) > 2e-6 + 1e-5 * fabs(expected))
            fail_msg("shape %zu input %u: %.9g where %.9g was expected", (size_t)(s - shapes), at,
                     got, expected);
    }
    assert_true(largest > 1e-3); /* there was something to compare */
    server_head_deinit(&h);
}

static void test_the_gradient_is_the_slope_of_the_mean_loss_in_the_sum(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++)
        expect_gradient(&shapes[i], PARTIES);
}

static void test_the_mean_is_over_the_members_of_the_generation(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        if (shapes[i].fusion != FUSION_CONCAT)
            expect_gradient(&shapes[i], PARTIES - 1);
    }
}

static void test_evaluation_gives_loss_and_predictions_and_changes_no_weight(void **state)
{
    static struct reference ref;

    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        const struct shape *s = &shapes[i];
        struct plan p = plan_of(s);
        struct server_head h, fresh;

        start(&h, &p);
        start(&fresh, &p);
        give(&h, s);
        copy_of(&ref, &h, s, PARTIES);
        server_head_fuse(&h, ROWS);
        assert_true(fabs(server_head_evaluate(&h, ROWS) - mean_loss(&ref)) < 1e-5);
        for (uint32_t r = 0; r < ROWS; r++) {
            double sum = 0;

            for (uint32_t j = 0; j < s->outputs; j++)
                sum += exp(ref.logits[r][j]);
            for (uint32_t j = 0; j < s->outputs; j++) {
                double z = ref.logits[r][j];
                double expected = s->task == TASK_REGRESSION ? z
                                  : s->outputs == 1          ? 1 / (1 + exp(-z))
                                                             : exp(z) / sum;

                assert_true(fabs((double)h.prob[r * s->outputs + j] - expected) < 1e-5);
            }
        }
        for (size_t l = 0; l < h.top.net.spec.layers; l++)
            assert_memory_equal(h.top.net.layer[l].w, fresh.top.net.layer[l].w,
                                sizeof(float) * h.top.net.layer[l].in * h.top.net.layer[l].out);
        server_head_deinit(&h);
        server_head_deinit(&fresh);
    }
}

/* --- steps --- */

/* mu times the way that the head has gone since the round began, on top of its gradients. */
static void draw_back(struct server_head *h, const struct server_head *began, float mu)
{
    for (size_t i = 0; i < h->top.net.spec.layers; i++) {
        struct nn_layer *l = &h->top.net.layer[i];
        const struct nn_layer *was = &began->top.net.layer[i];

        for (uint32_t k = 0; k < l->in * l->out; k++)
            l->dw[k] += mu * (l->w[k] - was->w[k]);
        for (uint32_t k = 0; k < l->out; k++)
            l->db[k] += mu * (l->b[k] - was->b[k]);
    }
}

/* Q steps on the given sums, as the papers write them; `began` is where they begin. */
static void walk(struct server_head *h, const struct server_head *began, const struct plan *p,
                 uint64_t step)
{
    uint32_t local = p->protocol.local_iterations;
    float divisor = 1.0f / PARTIES;

    for (uint32_t i = 0; h->top.mean && i < ROWS * h->top.inputs; i++)
        h->fused[i] *= divisor;
    for (uint32_t q = 0; q < local; q++) {
        const float *logits = nn_net_forward(&h->top.net, h->fused, ROWS);
        double rate = p->training.learning_rate;

        if (p->training.schedule == SCHEDULE_INVERSE_SQRT)
            rate /= sqrt((double)(step * local + q + 1));
        (void)nn_loss(h->top.loss, h->top.dlogits, logits, h->target, ROWS, h->top.outputs);
        nn_net_backward(&h->top.net, NULL, h->top.dlogits);
        if (p->protocol.proximal > 0)
            draw_back(h, began, (float)p->protocol.proximal);
        nn_net_step(&h->top.net, (float)rate);
    }
}

static void expect_same_weights(const struct server_head *a, const struct server_head *b)
{
    for (size_t i = 0; i < a->top.net.spec.layers; i++) {
        const struct nn_layer *l = &a->top.net.layer[i], *m = &b->top.net.layer[i];

        assert_memory_equal(l->w, m->w, sizeof(float) * l->in * l->out);
        assert_memory_equal(l->b, m->b, sizeof(float) * l->out);
    }
}

static void copy_weights(struct server_head *to, const struct server_head *from)
{
    for (size_t i = 0; i < from->top.net.spec.layers; i++) {
        const struct nn_layer *l = &from->top.net.layer[i];

        memcpy(to->top.net.layer[i].w, l->w, sizeof(float) * l->in * l->out);
        memcpy(to->top.net.layer[i].b, l->b, sizeof(float) * l->out);
    }
}

/* Four rounds of this plan, and beside them as many by hand. */
static void expect_steps(const struct shape *s, const struct plan *p)
{
    const uint32_t local = fixed(s) ? 0 : p->protocol.local_iterations;
    struct server_head h, hand, began;

    start(&h, p);
    start(&hand, p);
    start(&began, p);
    for (uint64_t step = 0; step < 4; step++) {
        give(&h, s);
        give(&hand, s);
        copy_weights(&began, &hand);
        (void)fused_train(&h, p, step, ROWS);
        walk(&hand, &began, p, step);
        assert_int_equal(h.top.net.steps, (step + 1) * local);
        expect_same_weights(&h, &hand);
    }
    server_head_deinit(&h);
    server_head_deinit(&hand);
    server_head_deinit(&began);
}

static void test_local_steps_of_the_head_are_a_loop_on_the_kept_sums(void **state)
{
    static const enum plan_optimizer of_plan[] = {OPTIMIZER_SGD, OPTIMIZER_MOMENTUM,
                                                  OPTIMIZER_ADAM};
    static const struct {
        uint32_t local;
        double proximal;
    } rounds[] = {{1, 0}, {6, 0}, {6, 0.5}, {2, 10}};

    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        for (size_t k = 0; k < sizeof rounds / sizeof rounds[0]; k++) {
            struct plan p = plan_of(&shapes[i]);

            p.protocol.local_iterations = rounds[k].local;
            p.protocol.proximal = rounds[k].proximal;
            p.training.schedule = i % 2 == 0 ? SCHEDULE_INVERSE_SQRT : SCHEDULE_CONSTANT;
            p.training.optimizer = of_plan[i % 3];
            expect_steps(&shapes[i], &p);
        }
    }
}

/* How far from its beginning a head is after one round. */
static double way_of(const struct shape *s, uint32_t local, double proximal)
{
    struct plan p = plan_of(s);
    struct server_head h, began;
    double way = 0;

    p.protocol.local_iterations = local;
    p.protocol.proximal = proximal;
    start(&h, &p);
    start(&began, &p);
    give(&h, s);
    (void)fused_train(&h, &p, 0, ROWS);
    for (size_t i = 0; i < h.top.net.spec.layers; i++) {
        for (size_t k = 0; k < nn_layer_params(&h.top.net.layer[i]); k++)
            way += pow((double)(h.top.net.layer[i].w[k] - began.top.net.layer[i].w[k]), 2);
    }
    server_head_deinit(&h);
    server_head_deinit(&began);
    return sqrt(way);
}

static void test_the_proximal_term_keeps_later_local_steps_near_the_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES && !fixed(&shapes[i]); i++) {
        assert_true(way_of(&shapes[i], 20, 1) < way_of(&shapes[i], 20, 0));
        assert_true(way_of(&shapes[i], 1, 1) == way_of(&shapes[i], 1, 0));
        assert_true(way_of(&shapes[i], 2, 1) != way_of(&shapes[i], 2, 0));
    }
}

static void test_the_optimizer_is_the_plans(void **state)
{
    static const enum plan_optimizer of_plan[] = {OPTIMIZER_SGD, OPTIMIZER_MOMENTUM,
                                                  OPTIMIZER_ADAM};
    static const enum nn_optimizer optimizers[] = {NN_SGD, NN_MOMENTUM, NN_ADAM};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct plan p = plan_of(&shapes[0]);
        struct server_head h;

        p.training.optimizer = of_plan[i];
        start(&h, &p);
        assert_int_equal(h.top.net.spec.optimizer, optimizers[i]);
        server_head_deinit(&h);
    }
}

/* d loss / d sum is the slope in the logits, by the factor of the fusion: the head has no part. */
static void test_the_gradient_of_the_identity_is_that_of_the_logits(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        const struct shape *s = &shapes[i];
        const float factor = s->fusion == FUSION_MEAN ? 1.0f / PARTIES : 1.0f;
        struct plan p = plan_of(s);
        struct server_head h;

        if (!fixed(s))
            continue;
        p.protocol.local_iterations = 5;
        p.protocol.proximal = 0.5;
        start(&h, &p);
        give(&h, s);
        (void)fused_train(&h, &p, 0, ROWS);
        for (uint32_t k = 0; k < ROWS * s->outputs; k++)
            assert_true(h.values[k] == factor * h.top.dlogits[k]);
        server_head_deinit(&h);
    }
}

static void test_the_gradient_is_taken_before_the_first_local_step(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        struct plan once = plan_of(&shapes[i]), often = once;
        struct server_head a, b;
        double loss_a, loss_b;

        often.protocol.local_iterations = 9;
        start(&a, &once);
        start(&b, &often);
        give(&a, &shapes[i]);
        give(&b, &shapes[i]);
        loss_a = fused_train(&a, &once, 0, ROWS);
        loss_b = fused_train(&b, &often, 0, ROWS);
        assert_true(loss_a == loss_b);
        assert_memory_equal(a.values, b.values, sizeof(float) * ROWS * a.top.inputs);
        assert_memory_equal(a.prob, b.prob, sizeof(float) * ROWS * a.top.outputs);
        server_head_deinit(&a);
        server_head_deinit(&b);
    }
}

/* All of refreshed have labels: nobody is handed a gradient, and the head steps as ever. */
static void test_a_gradient_that_goes_nowhere_is_not_made(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        struct plan p = plan_of(&shapes[i]);
        struct server_head a, b;

        start(&a, &p);
        p.protocol.local_view = VIEW_REFRESHED;
        start(&b, &p);
        give(&a, &shapes[i]);
        give(&b, &shapes[i]);
        b.values[0] = b.dfused[0] = -17;
        assert_true(fused_train(&a, &p, 0, ROWS) == fused_train(&b, &p, 0, ROWS));
        assert_true(b.values[0] == -17 && b.dfused[0] == -17 && a.values[0] > -17);
        expect_same_weights(&a, &b);
        server_head_deinit(&a);
        server_head_deinit(&b);
    }
}

static void test_training_lowers_the_loss(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        struct plan p = plan_of(&shapes[i]);
        struct server_head h;
        double first = 0, last = 0;

        start(&h, &p);
        for (uint64_t step = 0; step < 50; step++) {
            give(&h, &shapes[i]);
            last = fused_train(&h, &p, step, ROWS);
            first = step == 0 ? last : first;
        }
        assert_true(fixed(&shapes[i]) ? last == first : last < first);
        server_head_deinit(&h);
    }
}

static void test_a_step_allocates_nothing(void **state)
{
    struct plan p = plan_of(&shapes[1]);
    struct server_head h;
    uint64_t before;

    (void)state;
    start(&h, &p);
    give(&h, &shapes[1]);
    before = mem_count();
    (void)fused_train(&h, &p, 0, ROWS);
    (void)server_head_evaluate(&h, ROWS);
    assert_int_equal(mem_count(), before);
    server_head_deinit(&h);
}

static void test_short_memory_is_said(void **state)
{
    static const uint8_t key[RNG_KEY_BYTES] = {5};
    struct plan p = plan_of(&shapes[0]);
    struct rng init = {0};
    struct server_head h;

    (void)state;
    CHECK(rng_init_key(&init, key) == STATUS_OK);
    mem_fail_at(1);
    assert_int_equal(server_head_init(&h, &p, ROWS_MAX, &(struct nn_head_outside){0}, &init),
                     STATUS_MEMORY);
    server_head_deinit(&h);
    server_head_deinit(&h);
    rng_deinit(&init);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_gradient_is_the_slope_of_the_mean_loss_in_the_sum),
        cmocka_unit_test(test_the_mean_is_over_the_members_of_the_generation),
        cmocka_unit_test(test_evaluation_gives_loss_and_predictions_and_changes_no_weight),
        cmocka_unit_test(test_local_steps_of_the_head_are_a_loop_on_the_kept_sums),
        cmocka_unit_test(test_the_proximal_term_keeps_later_local_steps_near_the_first),
        cmocka_unit_test(test_the_optimizer_is_the_plans),
        cmocka_unit_test(test_the_gradient_of_the_identity_is_that_of_the_logits),
        cmocka_unit_test(test_the_gradient_is_taken_before_the_first_local_step),
        cmocka_unit_test(test_a_gradient_that_goes_nowhere_is_not_made),
        cmocka_unit_test(test_training_lowers_the_loss),
        cmocka_unit_test(test_a_step_allocates_nothing),
        cmocka_unit_test(test_short_memory_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
