/* test_head.c -- the top model against differences of one in double, for every loss and fusion; its
 * parameters in and out; its memory.  The one without weights: test_head_identity.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/head.h"

#include "common/base/mem.h"
#include "common/config/plan_head.h"
#include "tests/unit/nn/heads.h"

/* --- the same in double, from sums and parameters in the documented order --- */

static double exact_act(enum plan_activation act, double z)
{
    switch (act) {
    case ACTIVATION_RELU: return z > 0.0 ? z : 0.0;
    case ACTIVATION_TANH: return tanh(z);
    case ACTIVATION_SIGMOID: return 1.0 / (1.0 + exp(-z));
    case ACTIVATION_NONE: break;
    }
    return z;
}

/* Logits of one row. */
static void exact_row(double *z, const struct shape *s, const float *params, const double *fused)
{
    const uint32_t width[] = {inputs_of(s), s->hidden > 0 ? 7 : s->outputs,
                              s->hidden > 1 ? 6 : s->outputs, s->outputs};
    double y[WIDEST];

    memcpy(z, fused, width[0] * sizeof *z);
    for (size_t l = 0; l <= s->hidden && s->output == OUTPUT_LINEAR; l++) {
        const size_t in = width[l], out = width[l + 1];

        for (size_t j = 0; j < out; j++) {
            y[j] = (double)params[in * out + j];
            for (size_t i = 0; i < in; i++)
                y[j] += z[i] * (double)params[i * out + j];
            y[j] = l < s->hidden ? exact_act(s->activation, y[j]) : y[j];
        }
        memcpy(z, y, out * sizeof *z);
        params += in * out + out;
    }
}

static double exact_row_loss(const struct shape *s, const double *z, double target)
{
    double sum = 0.0;

    if (s->task == TASK_REGRESSION)
        return (z[0] - target) * (z[0] - target) / 2.0;
    if (s->binary_loss == BINARY_SIGMOID)
        return log1p(exp(z[0])) - target * z[0];
    for (size_t j = 0; j < s->outputs; j++)
        sum += exp(z[j]);
    return log(sum) - z[(size_t)target];
}

/* Mean loss when each row's fused input is `times` x, x being what is in the trial. */
static double exact_loss(const struct trial *t, const struct shape *s, const double *x,
                         double times)
{
    double fused[WIDEST], z[WIDEST], loss = 0.0;

    for (size_t r = 0; r < ROWS; r++) {
        for (size_t i = 0; i < inputs_of(s); i++)
            fused[i] = times * x[r * inputs_of(s) + i];
        exact_row(z, s, t->p, fused);
        loss += exact_row_loss(s, z, (double)t->target[r]);
    }
    return loss / ROWS;
}

static double slope(const struct trial *t, const struct shape *s, double *x, size_t at,
                    double times)
{
    const double step = 1e-6, kept = x[at];
    double up, down;

    x[at] = kept + step;
    up = exact_loss(t, s, x, times);
    x[at] = kept - step;
    down = exact_loss(t, s, x, times);
    x[at] = kept;
    return (up - down) / (2.0 * step);
}

/* --- losses and gradients --- */

/* A trial's sums are in t->fused; the head runs on their fusion, the formula divides by `divisor`.
 * How many of the values that belong to some member's embedding are not the slope there. */
static size_t misses_of(const struct shape *s, uint32_t members, double divisor)
{
    const struct plan p = plan_of(s);
    const size_t n = (size_t)ROWS * inputs_of(s), width = width_of(s);
    const double times = s->fusion == FUSION_MEAN ? 1.0 / divisor : 1.0;
    double x[ROWS * WIDEST], loss;
    size_t misses = 0;
    struct trial t;

    trial_open(&t, s, &p);
    t.h.parties = members;
    for (size_t i = 0; i < n; i++)
        x[i] = (double)t.fused[i];
    nn_head_fuse(&t.h, t.fused, ROWS);
    loss = nn_head_forward(&t.h, t.fused, t.target, ROWS, true);
    misses += !sample_close(loss, exact_loss(&t, s, x, times), 1e-6, 1e-6);
    nn_head_backward(&t.h, t.dfused);
    for (uint32_t m = 0; m < MEMBERS; m++) {
        const size_t own = s->fusion == FUSION_CONCAT ? m * width : 0;

        nn_head_part(&t.h, t.part, t.dfused, ROWS, m);
        for (size_t i = 0; i < ROWS * width; i++) {
            const size_t at = i / width * inputs_of(s) + own + i % width;

            misses += !sample_close((double)t.part[i], slope(&t, s, x, at, times), 2e-5, 2e-6);
        }
    }
    trial_close(&t);
    return misses;
}

static void test_each_member_gets_the_slope_of_the_loss_in_its_embedding(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++)
        assert_int_equal(misses_of(&shapes[i], MEMBERS, MEMBERS), 0);
}

static void test_the_mean_is_over_as_many_members_as_there_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        if (shapes[i].fusion != FUSION_MEAN)
            continue;
        assert_int_equal(misses_of(&shapes[i], MEMBERS - 1, MEMBERS - 1), 0);
        assert_true(misses_of(&shapes[i], MEMBERS, MEMBERS - 1) > ROWS); /* another: it is seen */
    }
}

/* dfused itself, which under mean is not what a member gets. */
static void test_dfused_is_the_slope_of_the_loss_in_what_the_head_takes(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        const struct shape *s = &shapes[i];
        const struct plan p = plan_of(s);
        double x[ROWS * WIDEST];
        size_t misses = 0;
        struct trial t;

        trial_open(&t, s, &p);
        (void)nn_head_forward(&t.h, t.fused, t.target, ROWS, true);
        nn_head_backward(&t.h, t.dfused);
        for (size_t k = 0; k < (size_t)ROWS * inputs_of(s); k++)
            x[k] = (double)t.fused[k];
        for (size_t k = 0; k < (size_t)ROWS * inputs_of(s); k++)
            misses += !sample_close((double)t.dfused[k], slope(&t, s, x, k, 1.0), 2e-5, 2e-6);
        assert_int_equal(misses, 0);
        trial_close(&t);
    }
}

static void test_predictions_are_those_of_the_last_forward(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        const struct shape *s = &shapes[i];
        const struct plan p = plan_of(s);
        struct trial t;

        trial_open(&t, s, &p);
        (void)nn_head_forward(&t.h, t.fused, t.target, ROWS, false);
        nn_head_predict(&t.h, t.prob, ROWS);
        for (size_t r = 0; r < ROWS; r++) {
            double fused[WIDEST], z[WIDEST], sum = 0.0;

            for (size_t k = 0; k < inputs_of(s); k++)
                fused[k] = (double)t.fused[r * inputs_of(s) + k];
            exact_row(z, s, t.p, fused);
            for (size_t j = 0; j < s->outputs; j++)
                sum += exp(z[j]);
            for (size_t j = 0; j < s->outputs; j++) {
                const double want = s->task == TASK_REGRESSION         ? z[j]
                                    : s->binary_loss == BINARY_SIGMOID ? 1.0 / (1.0 + exp(-z[j]))
                                                                       : exp(z[j]) / sum;

                assert_true(sample_close((double)t.prob[r * s->outputs + j], want, 1e-5, 1e-6));
            }
        }
        trial_close(&t);
    }
}

static void test_a_forward_without_slopes_leaves_the_last_ones(void **state)
{
    const struct plan p = plan_of(&shapes[0]);
    float before[ROWS * 5];
    struct trial t;
    double with, without;

    (void)state;
    trial_open(&t, &shapes[0], &p);
    with = nn_head_forward(&t.h, t.fused, t.target, ROWS, true);
    memcpy(before, t.h.dlogits, sizeof before);
    without = nn_head_forward(&t.h, t.fused, t.target, ROWS, false);
    assert_true(with == without);
    (void)nn_head_forward(&t.h, t.fused + 1, t.target, ROWS, false);
    assert_memory_equal(t.h.dlogits, before, sizeof before);
    (void)nn_head_forward(&t.h, t.fused + 1, t.target, ROWS, true);
    assert_memory_not_equal(t.h.dlogits, before, sizeof before);
    trial_close(&t);
}

static void test_only_the_mean_changes_a_sum(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        const struct plan p = plan_of(&shapes[i]);
        const size_t n = (size_t)ROWS * inputs_of(&shapes[i]);
        float was[ROWS_MAX * WIDEST];
        struct trial t;

        trial_open(&t, &shapes[i], &p);
        memcpy(was, t.fused, sizeof was);
        t.h.parties = 4;
        nn_head_fuse(&t.h, t.fused, ROWS);
        for (size_t k = 0; k < n; k++)
            assert_true(t.fused[k] == (shapes[i].fusion == FUSION_MEAN ? was[k] / 4 : was[k]));
        assert_memory_equal(t.fused + n, was + n, sizeof was - n * sizeof *was);
        trial_close(&t);
    }
}

/* --- parameters --- */

static void test_parameters_are_each_layers_weights_then_biases(void **state)
{
    static const size_t counts[LINEAR] = {4 * 7 + 7 + 7 * 6 + 6 + 6 * 5 + 5,
                                          4 * 7 + 7 + 7 * 1 + 1,
                                          4 * 1 + 1,
                                          4 * 2 + 2,
                                          4 * 7 + 7 + 7 * 6 + 6 + 6 * 1 + 1,
                                          4 * 7 + 7 + 7 * 6 + 6 + 6 * 1 + 1,
                                          12 * 7 + 7 + 7 * 3 + 3,
                                          12 * 1 + 1,
                                          12 * 7 + 7 + 7 * 1 + 1};

    (void)state;
    for (size_t i = 0; i < LINEAR; i++) {
        const struct plan p = plan_of(&shapes[i]);
        const float *at;
        struct trial t;

        trial_open(&t, &shapes[i], &p);
        assert_int_equal(plan_head_params(&p), counts[i]);
        assert_int_equal(nn_spec_params(&t.h.net.spec), counts[i]);
        at = t.p;
        for (size_t l = 0; l < t.h.net.spec.layers; l++) {
            const struct nn_layer *y = &t.h.net.layer[l];

            assert_memory_equal(y->w, at, sizeof(float) * y->in * y->out);
            at += (size_t)y->in * y->out;
            assert_memory_equal(y->b, at, sizeof(float) * y->out);
            at += y->out;
        }
        assert_true(at == t.p + t.params);
        trial_close(&t);
    }
}

static void test_a_head_that_gets_anothers_parameters_computes_the_same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        struct plan p = plan_of(&shapes[i]);
        float params[PARAMS_MAX + 1];
        struct trial a, b;

        p.training.optimizer = OPTIMIZER_ADAM;
        trial_open(&a, &shapes[i], &p);
        trial_open(&b, &shapes[i], &p);
        for (uint32_t k = 0; k < 3; k++) {
            (void)nn_head_forward(&a.h, a.fused, a.target, ROWS, true);
            nn_head_backward(&a.h, NULL);
            nn_head_step(&a.h, 0.05F);
        }
        assert_int_equal(a.h.net.spec.optimizer, NN_ADAM);
        params[a.params] = 4711.0F;
        nn_head_get(&a.h, params);
        assert_true(params[a.params] == 4711.0F); /* and no more than there are */
        if (a.params > 0)
            assert_memory_not_equal(params, b.p, a.params * sizeof *params);
        nn_head_set(&b.h, params);
        (void)nn_head_forward(&a.h, a.fused, a.target, ROWS, true);
        (void)nn_head_forward(&b.h, b.fused, b.target, ROWS, true);
        nn_head_backward(&a.h, a.dfused);
        nn_head_backward(&b.h, b.dfused);
        assert_memory_equal(a.h.logits, b.h.logits, sizeof(float) * ROWS * shapes[i].outputs);
        assert_memory_equal(a.dfused, b.dfused, sizeof a.dfused);
        memset(b.p, 0, sizeof b.p);
        nn_head_get(&b.h, b.p);
        assert_memory_equal(b.p, params, a.params * sizeof *params);
        trial_close(&a);
        trial_close(&b);
    }
}

static void test_a_head_without_a_generator_begins_at_zero(void **state)
{
    const struct plan p = plan_of(&shapes[0]);
    float params[PARAMS_MAX];
    struct nn_head h;
    struct arena a;

    (void)state;
    assert_int_equal(arena_init(&a, nn_head_bytes(&p, ROWS_MAX)), STATUS_OK);
    memset(a.base, 0x3f, a.size);
    assert_int_equal(nn_head_init(&h, &p, ROWS_MAX, &a, NULL), STATUS_OK);
    nn_head_get(&h, params);
    for (size_t i = 0; i < plan_head_params(&p); i++)
        assert_true(params[i] == 0.0F);
    arena_deinit(&a);
}

static void test_a_generator_draws_the_plans_init(void **state)
{
    static const enum plan_init inits[] = {INIT_GLOROT, INIT_HE, INIT_TORCH};
    static const uint8_t key[RNG_KEY_BYTES] = {5};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct plan p = plan_of(&shapes[0]);
        float params[PARAMS_MAX], drawn[PARAMS_MAX];
        struct nn_head h;
        struct nn_net net;
        struct arena a;
        struct rng r = {0};

        p.model.init = inits[i];
        assert_int_equal(arena_init(&a, 2 * nn_head_bytes(&p, ROWS_MAX)), STATUS_OK);
        assert_int_equal(rng_init_key(&r, key), STATUS_OK);
        assert_int_equal(nn_head_init(&h, &p, ROWS_MAX, &a, &r), STATUS_OK);
        nn_head_get(&h, params);
        assert_int_equal(nn_net_init(&net, &h.net.spec, &a), STATUS_OK);
        rng_rekey(&r, key);
        nn_net_randomize(&net, (enum nn_init)i, &r);
        nn_net_copy_params(&net, drawn);
        assert_memory_equal(params, drawn, plan_head_params(&p) * sizeof *params);
        assert_true(params[0] != 0.0F);
        rng_deinit(&r);
        arena_deinit(&a);
    }
}

/* --- memory --- */

static void test_head_bytes_suffice_from_any_place_in_an_arena(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        const struct plan p = plan_of(&shapes[i]);
        const size_t bytes = nn_head_bytes(&p, ROWS_MAX);

        for (size_t odd = 1; odd <= 65; odd += 8) {
            struct nn_head h;
            struct arena a;

            assert_int_equal(arena_init(&a, odd + 2 * bytes), STATUS_OK);
            assert_non_null(arena_alloc(&a, odd, 1));
            assert_int_equal(nn_head_init(&h, &p, ROWS_MAX, &a, NULL), STATUS_OK);
            assert_int_equal(nn_head_init(&h, &p, ROWS_MAX, &a, NULL), STATUS_OK);
            arena_deinit(&a);
        }
    }
}

static void test_a_short_arena_is_out_of_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        const struct plan p = plan_of(&shapes[i]);
        const size_t bytes = nn_head_bytes(&p, ROWS_MAX);
        struct nn_head h;
        struct arena a;

        assert_int_equal(arena_init(&a, bytes), STATUS_OK);
        for (a.size = 0; a.size + 3 * MEM_ALIGNMENT <= bytes; a.size += 16) {
            a.used = 0;
            assert_int_equal(nn_head_init(&h, &p, ROWS_MAX, &a, NULL), STATUS_MEMORY);
        }
        arena_deinit(&a);
    }
}

static void test_nothing_is_allocated_after_init(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        const struct plan p = plan_of(&shapes[i]);
        struct trial t;
        uint64_t before;
        size_t used;

        trial_open(&t, &shapes[i], &p);
        before = mem_count();
        used = t.arena.used;
        (void)nn_head_forward(&t.h, t.fused, t.target, ROWS_MAX, true);
        nn_head_predict(&t.h, t.prob, ROWS_MAX);
        nn_head_backward(&t.h, t.dfused);
        nn_head_step(&t.h, 0.1F);
        assert_int_equal(mem_count(), before);
        assert_int_equal(t.arena.used, used);
        trial_close(&t);
    }
}

/* Of five rows of class 0 and one of class 1, with k classes, each counts 6 / 5k and 6 / k: in
 * training, and there alone. */
static void test_balanced_classes_weigh_the_same_in_training(void **state)
{
    const float target[] = {0, 0, 1, 0, 0, 0};
    size_t seen = 0;

    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        struct plan p = plan_of(&shapes[i]);
        struct trial plain, t;

        if (shapes[i].task == TASK_REGRESSION)
            continue;
        trial_open(&plain, &shapes[i], &p);
        p.training.class_weights = CLASS_WEIGHTS_BALANCED;
        trial_open(&t, &shapes[i], &p);
        nn_head_weigh(&t.h, target, sizeof target / sizeof *target);
        assert_true(t.h.class_weight[0] == (float)(6.0 / t.h.weights / 5.0));
        assert_true(t.h.class_weight[1] == (float)(6.0 / t.h.weights));
        for (uint32_t c = 2; c < t.h.weights; c++)
            assert_true(t.h.class_weight[c] == 0.0F);
        /* The first row alone: all of its gradient is that many times as large. */
        for (int class = 0; class < 2; class ++) {
            const double times = (double)t.h.class_weight[class];
            double loss;

            t.target[0] = plain.target[0] = (float)class;
            loss = nn_head_forward(&plain.h, plain.fused, plain.target, 1, true);
            assert_true(sample_close(nn_head_forward(&t.h, t.fused, t.target, 1, true),
                                     times * loss, 1e-6, 1e-9));
            for (uint32_t k = 0; k < t.h.outputs; k++)
                assert_true(sample_close((double)t.h.dlogits[k], times * (double)plain.h.dlogits[k],
                                         1e-6, 1e-9));
            assert_true(nn_head_forward(&t.h, t.fused, t.target, 1, false) == loss);
            seen++;
        }
        trial_close(&t);
        trial_close(&plain);
    }
    assert_true(seen >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_member_gets_the_slope_of_the_loss_in_its_embedding),
        cmocka_unit_test(test_the_mean_is_over_as_many_members_as_there_are),
        cmocka_unit_test(test_dfused_is_the_slope_of_the_loss_in_what_the_head_takes),
        cmocka_unit_test(test_predictions_are_those_of_the_last_forward),
        cmocka_unit_test(test_a_forward_without_slopes_leaves_the_last_ones),
        cmocka_unit_test(test_only_the_mean_changes_a_sum),
        cmocka_unit_test(test_parameters_are_each_layers_weights_then_biases),
        cmocka_unit_test(test_a_head_that_gets_anothers_parameters_computes_the_same_bits),
        cmocka_unit_test(test_a_head_without_a_generator_begins_at_zero),
        cmocka_unit_test(test_a_generator_draws_the_plans_init),
        cmocka_unit_test(test_head_bytes_suffice_from_any_place_in_an_arena),
        cmocka_unit_test(test_a_short_arena_is_out_of_memory),
        cmocka_unit_test(test_nothing_is_allocated_after_init),
        cmocka_unit_test(test_balanced_classes_weigh_the_same_in_training),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
