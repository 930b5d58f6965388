/* test_head_layers.c -- heads of listed layers, and of the largest of the parties' coordinates,
 * beside PyTorch's and by their own laws.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/head.h"

#include "common/base/mem.h"
#include "common/config/plan_head.h"
#include "tests/golden/head.h"
#include "tests/unit/nn/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <float.h>
#include <string.h>
#include <cmocka.h>

enum { ROWS = 6, PARTIES = 3, WIDTH = 4, OUTPUTS = 3, COLUMNS = PARTIES * WIDTH, STEPS = 3 };
enum { PARAMS_MAX = 128 };

#define BATCHNORM                                                                                  \
    {                                                                                              \
        .word = LAYERS_BATCHNORM                                                                   \
    }

static const struct golden {
    enum plan_fusion fusion;
    struct config_layers head;
    const float *first, *fused, *target, *dfused, *losses, *last, *prob;
} goldens[] = {
    {FUSION_SUM,
     {3, {{LAYERS_UNITS, {5}}, BATCHNORM, {.word = LAYERS_RELU}}},
     sum_first,
     sum_fused,
     sum_target,
     sum_dfused,
     sum_losses,
     sum_last,
     sum_prob},
    {FUSION_MAX,
     {3, {BATCHNORM, {LAYERS_UNITS, {5}}, {.word = LAYERS_TANH}}},
     max_first,
     max_fused,
     max_target,
     max_dfused,
     max_losses,
     max_last,
     max_prob},
};

static struct arena arena;
static struct nn_head h;
static float fused[ROWS * COLUMNS], dfused[ROWS * COLUMNS];

static void open_head(enum plan_fusion fusion, const struct config_layers *head,
                      enum plan_absent absent)
{
    struct plan p;

    plan_defaults(&p);
    p.model.embedding = WIDTH;
    p.model.fusion = fusion;
    p.model.head = *head;
    p.model.head_activation = ACTIVATION_NONE;
    p.model.task = TASK_MULTICLASS;
    p.training.optimizer = OPTIMIZER_SGD;
    p.protocol.absent = absent;
    p.shape.parties = PARTIES;
    p.shape.outputs = OUTPUTS;
    assert_int_equal(arena_init(&arena, nn_head_bytes(&p, ROWS)), STATUS_OK);
    assert_int_equal(nn_head_init(&h, &p, ROWS, &arena, NULL), STATUS_OK);
    assert_true(plan_head_params(&p) <= PARAMS_MAX);
}

static void close_head(void)
{
    arena_deinit(&arena);
}

static void expect_close(const float *got, const float *want, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (!sample_close((double)got[i], (double)want[i], 2e-5, 2e-6))
            fail_msg("%s %zu is %.9g, and PyTorch's %.9g", what, i, (double)got[i],
                     (double)want[i]);
}

/* Losses, the gradient that goes to the parties, running moments, and predictions by these. */
static void test_heads_with_batch_normalisation_are_pytorchs(void **state)
{
    (void)state;
    for (size_t g = 0; g < sizeof goldens / sizeof *goldens; g++) {
        const struct golden *of = &goldens[g];
        const size_t columns = of->fusion == FUSION_MAX ? COLUMNS : WIDTH;
        float params[PARAMS_MAX], prob[ROWS * OUTPUTS], loss;

        open_head(of->fusion, &of->head, ABSENT_IGNORE);
        assert_int_equal(h.inputs, columns);
        nn_head_set(&h, of->first);
        for (size_t step = 0; step < STEPS; step++) {
            loss = (float)nn_head_forward(&h, of->fused, of->target, ROWS, true);
            expect_close(&loss, &of->losses[step], 1, "a loss");
            nn_head_backward(&h, dfused);
            if (step == 0)
                expect_close(dfused, of->dfused, ROWS * columns, "a gradient");
            nn_head_step(&h, 0.125F);
        }
        nn_head_get(&h, params);
        expect_close(params, of->last, nn_spec_params(&h.net.spec), "a parameter");
        (void)nn_head_forward(&h, of->fused, of->target, ROWS, false);
        nn_head_predict(&h, prob, ROWS);
        expect_close(prob, of->prob, ROWS * OUTPUTS, "a probability");
        close_head();
    }
}

/* What a row is given does not hang on which others are predicted beside it. */
static void test_a_prediction_goes_by_running_moments_alone(void **state)
{
    float all[ROWS * OUTPUTS], one[OUTPUTS];

    (void)state;
    open_head(FUSION_SUM, &goldens[0].head, ABSENT_IGNORE);
    nn_head_set(&h, sum_last);
    (void)nn_head_forward(&h, sum_fused, sum_target, ROWS, false);
    nn_head_predict(&h, all, ROWS);
    for (size_t r = 0; r < ROWS; r++) {
        (void)nn_head_forward(&h, sum_fused + r * WIDTH, sum_target + r, 1, false);
        nn_head_predict(&h, one, 1);
        assert_memory_equal(one, all + r * OUTPUTS, sizeof one);
    }
    close_head();
}

static const struct config_layers bare = {0};

/* Of equal ones the first party has it; all of the gradient is in as many places as the largest. */
static void test_the_gradient_of_the_largest_goes_to_the_first_that_has_it(void **state)
{
    static const float three[COLUMNS] = {1, 5, -3, 0, 2, 5, -1, 0, 0, 4, -1, 0};
    static const size_t whose[WIDTH] = {1, 0, 1, 0};
    static const float target[] = {2};
    float params[PARAMS_MAX], part[WIDTH];
    uint64_t seed = 3;

    (void)state;
    open_head(FUSION_MAX, &bare, ABSENT_IGNORE);
    sample_fill(params, PARAMS_MAX, 1.0F, &seed);
    nn_head_set(&h, params);
    (void)nn_head_forward(&h, three, target, 1, true);
    nn_head_backward(&h, dfused);
    for (uint32_t m = 0; m < PARTIES; m++) {
        nn_head_part(&h, part, dfused, 1, m);
        for (size_t i = 0; i < WIDTH; i++)
            assert_int_equal(part[i] > 0 || part[i] < 0, whose[i] == m);
    }
    close_head();
}

/* As if it had never been there; or as if it had sent zeros. */
static void test_who_is_missing_has_the_largest_of_nothing(void **state)
{
    static const float three[COLUMNS] = {-1, -5, 3, 0, 9, 9, 9, 9, -2, -4, -1, 1};
    static const float without[] = {-1, -4, 3, 1}, zero[] = {0, 0, 3, 1};
    static const bool second[PARTIES] = {false, true, false}, all[PARTIES] = {true, true, true};
    static const float target[] = {0}, none[WIDTH] = {0};

    (void)state;
    for (int a = ABSENT_IGNORE; a <= ABSENT_ZERO; a++) {
        open_head(FUSION_MAX, &bare, (enum plan_absent)a);
        memcpy(fused, three, sizeof three);
        nn_head_without(&h, fused, second, 1);
        (void)nn_head_forward(&h, fused, target, 1, false);
        assert_memory_equal(h.most, a == ABSENT_ZERO ? zero : without, sizeof without);
        nn_head_without(&h, fused, all, 1);
        (void)nn_head_forward(&h, fused, target, 1, false);
        assert_memory_equal(h.most, none, sizeof none);
        close_head();
    }
}

/* Of what they have uploaded, zeros under noise, nothing is left. */
static void test_who_is_missing_leaves_no_noise_in_columns_of_its_own(void **state)
{
    static const float two[2 * COLUMNS] = {1, 2,  3,  4,  .5F, 6, 7, 8, 9, 10, 11, 12,
                                           5, -6, -7, -8, 9,   9, 9, 9, 1, 1,  1,  1};
    static const float want[2 * COLUMNS] = {1, 2,  3,  4,  0, 0, 0, 0, 9, 10, 11, 12,
                                            5, -6, -7, -8, 0, 0, 0, 0, 1, 1,  1,  1};
    static const bool second[PARTIES] = {false, true, false};

    (void)state;
    open_head(FUSION_CONCAT, &bare, ABSENT_IGNORE);
    memcpy(fused, two, sizeof two);
    nn_head_without(&h, fused, second, 2);
    assert_memory_equal(fused, want, sizeof want);
    close_head();
    open_head(FUSION_SUM, &bare, ABSENT_IGNORE);
    memcpy(fused, two, sizeof two);
    nn_head_without(&h, fused, second, 2);
    assert_memory_equal(fused, two, sizeof two); /* a sum has nobody's columns */
    close_head();
}

static void test_columns_of_a_smaller_set_go_to_their_places(void **state)
{
    static const uint8_t place[] = {0, 2};
    static const float want[2 * COLUMNS] = {1, 2,  3,  4,  0, 0, 0, 0, 5,  6,  7,  8,
                                            9, 10, 11, 12, 0, 0, 0, 0, 13, 14, 15, 16};

    (void)state;
    open_head(FUSION_CONCAT, &bare, ABSENT_ZERO);
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        fused[i] = (float)(i + 1);
    nn_head_spread(&h, fused, place, 2, 2);
    assert_memory_equal(fused, want, sizeof want);
    close_head();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads_with_batch_normalisation_are_pytorchs),
        cmocka_unit_test(test_a_prediction_goes_by_running_moments_alone),
        cmocka_unit_test(test_the_gradient_of_the_largest_goes_to_the_first_that_has_it),
        cmocka_unit_test(test_who_is_missing_has_the_largest_of_nothing),
        cmocka_unit_test(test_who_is_missing_leaves_no_noise_in_columns_of_its_own),
        cmocka_unit_test(test_columns_of_a_smaller_set_go_to_their_places),
    };

    return cmocka_run_group_tests_name("head_layers", tests, NULL, NULL);
}
