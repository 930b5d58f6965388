/* test_best_copies.c -- a party's copies of its bottom, when a run that was over goes on, or back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/learner.h"

#include "common/base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { COLS = 2, STEPS = 3 /* an epoch, after which there is an evaluation */ };

static struct plan plan;
static struct config_party config;
static struct agenda agenda;
static struct party_learner learner;

/* All weights of the net are the number of steps that it has taken. */
static void train_to(uint64_t step)
{
    struct nn_layer *layer = &learner.bottom.net.layer[0];

    for (uint64_t at = learner.applied; at < step; at++) {
        for (size_t i = 0; i < nn_layer_params(layer); i++)
            layer->w[i] = (float)(at + 1);
        party_best_pass(&learner.best, &learner.bottom.net, at, at + 1);
    }
    learner.applied = step;
}

static void assert_weights_of(uint64_t step)
{
    const struct nn_layer *layer = &learner.bottom.net.layer[0];

    for (size_t i = 0; i < nn_layer_params(layer); i++)
        assert_true(layer->w[i] == (float)step);
}

static void name(uint64_t step)
{
    assert_true(party_best_may_be(&learner.best, step, learner.applied));
    party_learner_best(&learner, step);
}

/* As CLOSE does it. */
static bool end(void)
{
    learner.final = true;
    return party_best_settle(&learner.best, &learner.bottom.net);
}

static int set_up(void **state)
{
    static const uint8_t key[RNG_KEY_BYTES] = {7};
    struct rng init = {0};

    (void)state;
    config_party_defaults(&config);
    config.layers = (struct config_layers){0};
    plan_defaults(&plan);
    plan.shape.train_rows = STEPS * plan.training.batch;
    plan.shape.test_rows = plan.shape.validate_rows = 1;
    plan.shape.parties = 2;
    plan.training.evaluate_every = 1;
    plan.training.patience = 3;
    agenda_make(&agenda, &plan);
    learner = (struct party_learner){.applied = 0};
    CHECK(rng_init_key(&init, key) == STATUS_OK);
    CHECK(party_bottom_init(&learner.bottom, &config, &plan, COLS, NULL, &init) == STATUS_OK);
    rng_deinit(&init);
    CHECK(party_best_init(&learner.best, &plan, &agenda, &learner.bottom.net) == STATUS_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    party_best_deinit(&learner.best);
    party_bottom_deinit(&learner.bottom);
    return 0;
}

/* The best one is of the first epoch; there was another one, and a step since. */
static void end_after_two_epochs(void)
{
    train_to(STEPS);
    name(STEPS);
    train_to(2 * STEPS + 1);
    name(STEPS);
    assert_true(end());
    assert_weights_of(STEPS);
}

static void test_the_same_best_one_once_more_changes_nothing(void **state)
{
    (void)state;
    end_after_two_epochs();
    name(STEPS);
    assert_true(learner.final);
    assert_weights_of(STEPS);
    assert_true(end());
    assert_weights_of(STEPS);
}

static void test_a_run_that_goes_on_has_the_weights_that_were_trained(void **state)
{
    (void)state;
    end_after_two_epochs();
    party_learner_reopen(&learner);
    assert_false(learner.final);
    assert_weights_of(2 * STEPS + 1);
    train_to(3 * STEPS);
    assert_true(end());
    assert_weights_of(STEPS);
}

/* The last evaluation was done again, with others there, and another one is the best now. */
static void test_another_best_one_after_the_end_loses_no_weights(void **state)
{
    (void)state;
    end_after_two_epochs();
    name((uint64_t)2 * STEPS);
    assert_false(learner.final);
    assert_weights_of(2 * STEPS + 1);
    assert_true(end());
    assert_weights_of((uint64_t)2 * STEPS);
    party_learner_reopen(&learner);
    assert_weights_of(2 * STEPS + 1);
}

static void test_nor_does_one_of_which_there_is_no_copy(void **state)
{
    (void)state;
    train_to(STEPS);
    train_to(2 * STEPS + 1);
    name((uint64_t)2 * STEPS);
    assert_true(end());
    name(STEPS);
    assert_false(learner.final);
    assert_false(end());
    assert_weights_of(2 * STEPS + 1);
}

/* Two checkpoints of one moment: before the server has named the evaluation that is the last one,
 * and after it. */
static void goes_back(bool was_named)
{
    struct buf kept;

    buf_init(&kept, SIZE_MAX);
    train_to(STEPS);
    name(STEPS);
    train_to((uint64_t)2 * STEPS);
    if (was_named)
        name((uint64_t)2 * STEPS);
    assert_int_equal(STATUS_OK, party_best_print(&learner.best, &kept));
    assert_int_equal(party_best_bytes(&learner.best), kept.len);
    train_to((uint64_t)3 * STEPS);
    name((uint64_t)2 * STEPS);
    assert_int_equal(STATUS_OK, party_best_parse(&learner.best, kept.data));
    learner.applied = (uint64_t)2 * STEPS;
    assert_int_equal(2 * STEPS, learner.best.named); /* the offer says it, not the checkpoint */
    party_learner_best(&learner, learner.best.named);
    train_to((uint64_t)3 * STEPS); /* the replay */
    assert_true(end());
    assert_weights_of((uint64_t)2 * STEPS);
    buf_deinit(&kept);
}

static void test_who_goes_back_has_the_best_one_of_the_offer(void **state)
{
    goes_back(true);
    tear_down(state);
    set_up(state);
    goes_back(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_same_best_one_once_more_changes_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_run_that_goes_on_has_the_weights_that_were_trained,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_another_best_one_after_the_end_loses_no_weights,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nor_does_one_of_which_there_is_no_copy, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_who_goes_back_has_the_best_one_of_the_offer, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
