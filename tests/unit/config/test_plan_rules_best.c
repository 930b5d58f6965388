/* test_plan_rules_best.c -- the rules of training.patience, each beside the nearest plan that
 * passes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_rules.h"

#include "tests/unit/config/refused.h"

static void patient(void)
{
    start();
    p.model.task = TASK_BINARY;
    p.data.validate = 0.1;
    p.shape.validate_rows = 50;
    p.training.evaluate_every = 1;
    p.training.patience = 3;
}

static void test_patience_needs_evaluations_of_rows_to_choose_by(void **state)
{
    (void)state;
    patient();
    pass();
    p.training.evaluate_every = 0;
    refuse("training.patience: compares evaluations");
    patient();
    p.data.validate = 0;
    p.shape.validate_rows = 0;
    refuse("training.patience: needs rows to choose by");
    patient();
    p.protocol.aggregation = AGGREGATION_CLEAR;
    p.protocol.straggler = STRAGGLER_ASYNC;
    refuse("training.patience: each party counts its own steps");
    p.protocol.straggler = STRAGGLER_DROP;
    pass();
}

static void test_best_by_is_a_score_of_the_task_and_of_patience(void **state)
{
    (void)state;
    patient();
    p.training.best_by = METRIC_F1;
    pass();
    p.training.patience = 0;
    refuse("training.best_by: has a meaning only with training.patience");
    patient();
    p.training.best_by = METRIC_RMSE;
    refuse("training.best_by: loss, r2, mae and rmse are of regression");
    p.model.task = TASK_REGRESSION;
    p.shape.outputs = 1;
    pass();
    p.training.best_by = METRIC_AUC;
    refuse("training.best_by: loss, r2, mae and rmse are of regression");
}

/* The evaluation that reaches such a target is better than all before it, so it is the one that is
 * kept. */
static void test_a_target_beside_patience_is_asked_of_the_best_one(void **state)
{
    (void)state;
    patient();
    p.training.stop.metric = METRIC_AUC; /* what auto is of two classes */
    p.training.stop.value = 0.9;
    p.training.stop.split = SPLIT_VALIDATE;
    pass();
    p.training.stop.split = SPLIT_TEST;
    refuse("training.stop.metric: with patience the best model is kept");
    p.training.patience = 0;
    pass();
    patient();
    p.training.stop.split = SPLIT_VALIDATE;
    p.training.stop.metric = METRIC_ACCURACY;
    p.training.stop.value = 0.9;
    refuse("training.stop.metric: with patience the best model is kept");
    p.training.best_by = METRIC_ACCURACY;
    pass();
}

/* A configuration is checked before anybody knows the classes. */
static void test_of_a_task_that_is_not_known_yet_auto_may_be_any(void **state)
{
    (void)state;
    patient();
    p.model.task = TASK_AUTO;
    p.training.stop.split = SPLIT_VALIDATE;
    p.training.stop.metric = METRIC_ACCURACY;
    p.training.stop.value = 0.9;
    pass();
    p.training.best_by = METRIC_AUC;
    refuse("training.stop.metric: with patience the best model is kept");
}

static void test_rows_kept_back_are_among_those_that_are_evaluated(void **state)
{
    (void)state;
    patient();
    p.shape.validate_rows = p.shape.test_rows;
    pass();
    p.shape.validate_rows++;
    refuse("shape.validate_rows: are not what data.validate keeps back");
    p.shape.validate_rows = 0;
    refuse("shape.validate_rows: are not what data.validate keeps back");
}

static void test_a_way_to_keep_rows_back_needs_a_share(void **state)
{
    (void)state;
    patient();
    p.data.validate_by = VALIDATE_GROUP;
    pass();
    p.training.patience = 0;
    p.data.validate = 0;
    p.shape.validate_rows = 0;
    refuse("data.validate_by: has a meaning only with data.validate");
    p.data.validate_by = VALIDATE_ID;
    pass();
}

static void test_micro_scores_compare_models_of_several_labels(void **state)
{
    (void)state;
    patient();
    p.model.task = TASK_MULTILABEL;
    p.training.best_by = METRIC_AUC_MICRO;
    pass();
    p.model.task = TASK_BINARY;
    refuse("training.best_by: loss, r2, mae and rmse are of regression");
}

static void test_a_run_goes_on_from_what_can_be_one(void **state)
{
    static const char *const wrong[] = {"served", "../0123456789abcdef", "0123456789abcde",
                                        "0123456789ABCDEF",
                                        "0123456789abcdef-1111111111111111111111111"};

    (void)state;
    patient();
    strcpy(p.training.from, "0123456789abcdef-2");
    pass();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        strcpy(p.training.from, wrong[i]);
        refuse("training.from: is no name of a run");
    }
    p.training.from[0] = 0;
    strcpy(p.training.from_trail, "00");
    refuse("training.from_trail: has a meaning only with training.from");
    p.training.from_trail[0] = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_goes_on_from_what_can_be_one),
        cmocka_unit_test(test_a_way_to_keep_rows_back_needs_a_share),
        cmocka_unit_test(test_micro_scores_compare_models_of_several_labels),
        cmocka_unit_test(test_patience_needs_evaluations_of_rows_to_choose_by),
        cmocka_unit_test(test_best_by_is_a_score_of_the_task_and_of_patience),
        cmocka_unit_test(test_a_target_beside_patience_is_asked_of_the_best_one),
        cmocka_unit_test(test_of_a_task_that_is_not_known_yet_auto_may_be_any),
        cmocka_unit_test(test_rows_kept_back_are_among_those_that_are_evaluated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
