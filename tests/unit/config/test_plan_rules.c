/* test_plan_rules.c -- each rule of plan_check with a plan it refuses and the nearest one it lets
 * pass.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_rules.h"

#include "common/config/key.h"
#include "common/config/plan_keys.h"
#include "tests/unit/config/refused.h"

#include <math.h>

static void test_defaults_make_sense(void **state)
{
    (void)state;
    plan_defaults(&p);
    pass();
    start();
    pass();
}

static void test_masks_and_shares_take_integers_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < HIDDEN_N; i++) {
        start();
        p.protocol.aggregation = HIDDEN[i];
        p.protocol.encoding = ENCODING_FLOAT32;
        refuse("protocol.encoding: float32 and what compresses");
        p.protocol.aggregation = AGGREGATION_CLEAR;
        pass();
        start();
        p.protocol.aggregation = HIDDEN[i];
        p.protocol.fixed.bits = 12;
        p.protocol.encoding = ENCODING_FIXED;
        pass();
        p.protocol.encoding = ENCODING_PBM;
        pass();
        p.protocol.encoding = ENCODING_GAUSSIAN;
        pass();
    }
}

static void test_masks_and_shares_give_sums_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < HIDDEN_N; i++) {
        start();
        p.protocol.aggregation = HIDDEN[i];
        p.model.fusion = FUSION_CONCAT;
        refuse("model.fusion: under masks and from shares");
        p.protocol.aggregation = AGGREGATION_CLEAR;
        pass();
        p.protocol.aggregation = HIDDEN[i];
        p.model.fusion = FUSION_MEAN;
        pass();
    }
}

static void test_hidden_fixed_never_goes_on_with_another_set(void **state)
{
    (void)state;
    for (size_t i = 0; i < HIDDEN_N; i++) {
        start();
        p.protocol.aggregation = HIDDEN[i];
        p.protocol.fixed.bits = 12;
        p.protocol.encoding = ENCODING_FIXED;
        p.protocol.straggler = STRAGGLER_DROP;
        refuse("protocol.straggler: fixed has no noise");
        p.protocol.encoding = ENCODING_PBM;
        pass();
        p.protocol.encoding = ENCODING_FIXED;
        p.protocol.straggler = STRAGGLER_WAIT;
        pass();
        p.protocol.straggler = STRAGGLER_DROP;
        p.protocol.aggregation = AGGREGATION_CLEAR;
        pass();
    }
}

static void test_concat_drops_nobody(void **state)
{
    (void)state;
    start();
    p.protocol.aggregation = AGGREGATION_CLEAR;
    p.model.fusion = FUSION_CONCAT;
    p.protocol.straggler = STRAGGLER_DROP;
    refuse("protocol.straggler: with concat");
    p.model.fusion = FUSION_SUM;
    pass();
}

static void test_async_sees_each_embedding(void **state)
{
    (void)state;
    for (size_t i = 0; i < HIDDEN_N; i++) {
        start();
        p.protocol.straggler = STRAGGLER_ASYNC;
        p.protocol.aggregation = HIDDEN[i];
        refuse("protocol.straggler: async takes each party's embedding");
        p.protocol.straggler = STRAGGLER_WAIT;
        pass();
        p.protocol.straggler = STRAGGLER_ASYNC;
        p.protocol.aggregation = AGGREGATION_CLEAR;
        pass();
    }
}

static void test_async_takes_every_encoding_and_fusion_of_clear(void **state)
{
    (void)state;
    for (int f = FUSION_SUM; f <= FUSION_MAX; f++) {
        for (int e = ENCODING_PBM; e < PLAN_ENCODINGS; e++) {
            start();
            p.protocol.straggler = STRAGGLER_ASYNC;
            p.protocol.aggregation = AGGREGATION_CLEAR;
            p.model.fusion = (enum plan_fusion)f;
            p.protocol.encoding = (enum plan_encoding)e;
            pass();
        }
    }
}

static void test_async_takes_one_step_at_each_arrival(void **state)
{
    (void)state;
    start();
    p.protocol.aggregation = AGGREGATION_CLEAR;
    p.protocol.straggler = STRAGGLER_ASYNC;
    p.protocol.local_iterations = 2;
    refuse("protocol.local_iterations: async takes one step");
    p.protocol.local_iterations = 1;
    pass();
    p.protocol.local_iterations = 2;
    p.protocol.straggler = STRAGGLER_WAIT;
    pass();
}

static void test_what_async_keeps_has_a_largest_size(void **state)
{
    (void)state;
    start();
    p.protocol.aggregation = AGGREGATION_CLEAR;
    p.protocol.straggler = STRAGGLER_ASYNC;
    p.model.embedding = 16;
    p.shape.train_rows = 1 << 20;
    p.shape.parties = 16;
    pass();
    p.shape.parties = 17;
    refuse("model.embedding: training rows times embedding");
    p.protocol.straggler = STRAGGLER_DROP;
    pass();
    p.protocol.straggler = STRAGGLER_ASYNC;
    p.shape.parties = 16;
    p.shape.train_rows++;
    refuse("model.embedding: training rows times embedding");
    p.shape.parties = PLAN_PARTIES_MAX; /* the product of the largest shape does not wrap */
    p.shape.train_rows = PLAN_ROWS_MAX;
    p.model.embedding = PLAN_WIDTH_MAX;
    p.training.batch = 1;
    refuse("model.embedding: training rows times embedding");
    p.shape.parties = 0; /* not yet known */
    pass();
}

static void coded(uint32_t parties, uint32_t segments, uint32_t privacy)
{
    start();
    p.protocol.aggregation = AGGREGATION_CODED;
    p.shape.parties = parties;
    p.protocol.coded.segments = segments;
    p.protocol.coded.privacy = privacy;
}

static void test_coded_decodes_from_parties_that_exist(void **state)
{
    (void)state;
    coded(10, 6, 4);
    pass();
    coded(10, 7, 4);
    refuse("protocol.coded.segments: segments + privacy");
    coded(10, 6, 5);
    refuse("protocol.coded.segments: segments + privacy");
    p.protocol.aggregation = AGGREGATION_MASKED;
    pass();
    coded(1, 1, 1);
    refuse("protocol.coded.segments: segments + privacy");
    coded(2, 1, 1);
    pass();
    coded(0, 200, 200); /* not yet known */
    pass();
}

static void test_coded_sums_stay_below_the_largest_prime(void **state)
{
    (void)state;
    coded(64, 2, 4); /* 64 * 1023 = 65472, 64 * 1024 = 65536 */
    p.protocol.pbm.trials = 1023;
    pass();
    p.protocol.pbm.trials = 1024;
    refuse("protocol.pbm.trials: the sum over all parties must stay below 65521");
    p.protocol.aggregation = AGGREGATION_MASKED;
    pass();
    coded(0, 2, 4); /* not yet known */
    p.protocol.pbm.trials = 1024;
    pass();
}

static void test_coded_sums_reach_the_number_before_the_largest_prime(void **state)
{
    (void)state;
    coded(180, 2, 4); /* 180 * 364 = 65520: the prime is 65521 itself */
    p.protocol.pbm.trials = 364;
    pass();
    p.shape.parties = 181;
    refuse("protocol.pbm.trials: the sum over all parties");
}

static void test_coded_sums_of_fixed_count_the_largest_code(void **state)
{
    (void)state;
    coded(16, 2, 4); /* 16 * 4095 = 65520, not 16 * 4096 */
    p.protocol.encoding = ENCODING_FIXED;
    p.protocol.fixed.bits = 12;
    pass();
    p.shape.parties = 17;
    refuse("protocol.fixed.bits: the sum over all parties must stay below 65521");
    p.protocol.aggregation = AGGREGATION_MASKED;
    pass();
    coded(2, 1, 1);
    p.protocol.encoding = ENCODING_FIXED; /* 16 bits, the default */
    refuse("protocol.fixed.bits: the sum over all parties must stay below 65521");
    p.protocol.encoding = ENCODING_PBM; /* which does not read fixed.bits */
    pass();
}

static void test_masks_need_two_parties(void **state)
{
    (void)state;
    start();
    p.shape.parties = 1;
    refuse("shape.parties: a sum over one party");
    p.shape.parties = 2;
    pass();
    p.shape.parties = 1;
    p.protocol.aggregation = AGGREGATION_CLEAR;
    pass();
}

static void test_sums_stay_within_31_bits(void **state)
{
    (void)state;
    start();
    p.protocol.encoding = ENCODING_FIXED;
    p.protocol.fixed.bits = 24;
    p.shape.parties = 128;
    pass();
    p.shape.parties = 129;
    refuse("protocol.fixed.bits: the sum");
    p.protocol.fixed.bits = 23;
    pass();
    p.protocol.encoding = ENCODING_PBM;
    p.protocol.pbm.trials = PLAN_TRIALS_MAX;
    p.shape.parties = PLAN_PARTIES_MAX;
    pass();
}

static void test_a_round_has_a_largest_size(void **state)
{
    (void)state;
    start();
    p.training.batch = p.shape.train_rows = 65536;
    p.model.embedding = 256;
    pass();
    p.model.embedding = 257;
    refuse("training.batch: batch times embedding");
}

static void test_a_batch_has_at_most_all_rows(void **state)
{
    (void)state;
    start();
    p.shape.parties = 3;
    p.shape.train_rows = 100;
    p.training.batch = 100;
    pass();
    p.training.batch = 101;
    refuse("training.batch: a step has at most all of the training rows (batch 101, rows 100)");
    p.shape.parties = 0; /* not yet known */
    pass();
}

static void test_concat_keeps_the_head_within_its_width(void **state)
{
    (void)state;
    start();
    p.protocol.aggregation = AGGREGATION_CLEAR;
    p.model.fusion = FUSION_CONCAT;
    p.training.batch = 1;
    p.model.embedding = 32768;
    p.shape.parties = 2;
    pass();
    p.shape.parties = 3;
    refuse("model.embedding: embedding times parties");
    p.model.fusion = FUSION_SUM;
    pass();
}

static void test_beta_moves_at_least_one_threshold(void **state)
{
    (void)state;
    start();
    p.protocol.pbm.beta = 1.0 / 65536;
    pass();
    p.protocol.pbm.beta = nextafter(0.25, 1);
    refuse("protocol.pbm.beta: is over 0.25");
    p.protocol.pbm.wide = true;
    pass();
    p.protocol.pbm.beta = 1.0 / 65537;
    refuse("protocol.pbm.beta: below 2^-16");
    p.protocol.encoding = ENCODING_FIXED;
    pass();
}

static void test_gaussian_noise_is_said_exactly_once(void **state)
{
    (void)state;
    start();
    p.protocol.gaussian.match = GAUSSIAN_SIGMA;
    refuse("protocol.gaussian.sigma: must be given");
    p.protocol.gaussian.sigma = 0.5;
    pass();
    p.protocol.gaussian.match = GAUSSIAN_EQUAL_RDP;
    refuse("protocol.gaussian.sigma: has a meaning only");
    p.protocol.gaussian.sigma = 0;
    p.protocol.gaussian.match = GAUSSIAN_EPSILON;
    refuse("protocol.gaussian.epsilon: must be given");
    p.protocol.gaussian.epsilon = 2;
    pass();
    p.protocol.gaussian.match = GAUSSIAN_PAPER;
    refuse("protocol.gaussian.epsilon: has a meaning only");
}

static void test_sigmoid_is_for_two_classes(void **state)
{
    (void)state;
    start();
    p.model.binary_loss = BINARY_SIGMOID;
    pass();
    p.model.task = TASK_BINARY;
    p.shape.outputs = 1;
    pass();
    p.model.task = TASK_MULTICLASS;
    refuse("model.binary_loss: sigmoid has one output");
    p.model.task = TASK_REGRESSION;
    refuse("model.binary_loss: sigmoid has one output");
    p.model.task = TASK_MULTILABEL;
    refuse("model.binary_loss: sigmoid has one output");
}

static void test_a_stop_has_metric_and_value(void **state)
{
    (void)state;
    start();
    p.training.stop.metric = METRIC_AUC;
    refuse("training.stop.value: must be given");
    p.training.stop.value = 1.5;
    refuse("training.stop.value: accuracy, auc");
    p.training.stop.value = 0.9;
    pass();
    p.training.stop.metric = METRIC_LOSS;
    p.training.stop.value = 1.5;
    pass();
    p.training.stop.metric = METRIC_NONE;
    refuse("training.stop.value: has a meaning only");
}

static void test_regression_stops_on_what_values_have(void **state)
{
    (void)state;
    start();
    p.model.task = TASK_REGRESSION;
    p.shape.outputs = 1;
    p.training.stop.value = 0.5;
    for (int m = METRIC_ACCURACY; m <= METRIC_F1; m++) {
        p.training.stop.metric = (enum plan_metric)m;
        refuse("training.stop.metric: regression has no classes");
    }
    for (int m = METRIC_R2; m <= METRIC_RMSE; m++) {
        p.training.stop.metric = (enum plan_metric)m;
        p.model.task = TASK_REGRESSION;
        p.shape.outputs = 1;
        pass();
        p.training.stop.value = 1.5;
        if (m == METRIC_R2)
            refuse("training.stop.value: accuracy, auc");
        else
            pass();
        p.training.stop.value = 0.5;
        p.model.task = TASK_MULTICLASS;
        p.shape.outputs = 2;
        refuse("training.stop.metric: r2, mae and rmse are of regression");
    }
    p.training.stop.metric = METRIC_LOSS;
    pass();
}

static void test_weights_are_of_classes(void **state)
{
    (void)state;
    start();
    p.training.class_weights = CLASS_WEIGHTS_BALANCED;
    pass();
    p.model.task = TASK_REGRESSION;
    p.shape.outputs = 1;
    refuse("training.class_weights: regression has no classes");
}

static void test_a_stop_on_test_rows_needs_them_measured(void **state)
{
    (void)state;
    start();
    p.training.stop.metric = METRIC_LOSS;
    p.training.stop.value = 0.5;
    p.training.evaluate_every = 0;
    refuse("training.evaluate_every: is 0");
    p.training.stop.split = SPLIT_TRAIN;
    pass();
    p.shape.test_rows = 0;
    pass();
    p.training.stop.split = SPLIT_TEST;
    p.training.evaluate_every = 1;
    refuse("training.stop.split: there are no test rows");
    p.shape.parties = 0; /* not yet known */
    pass();
}

static void test_outputs_fit_the_task(void **state)
{
    static const struct {
        enum plan_task task;
        enum plan_binary_loss loss;
        uint32_t good, bad;
    } cases[] = {{TASK_BINARY, BINARY_SOFTMAX, 2, 1},
                 {TASK_BINARY, BINARY_SIGMOID, 1, 2},
                 {TASK_MULTICLASS, BINARY_SOFTMAX, 2, 1},
                 {TASK_REGRESSION, BINARY_SOFTMAX, 1, 2},
                 {TASK_MULTILABEL, BINARY_SOFTMAX, 3, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        start();
        p.model.task = cases[i].task;
        p.model.binary_loss = cases[i].loss;
        p.shape.outputs = cases[i].good;
        pass();
        p.shape.outputs = cases[i].bad;
        refuse("shape.outputs: does not fit the task");
    }
}

static void test_every_rule_is_about_keys_of_a_plan(void **state)
{
    const struct plan_rule *r;
    size_t n = 0;

    (void)state;
    for (; (r = plan_rules_at(n)) != NULL; n++) {
        assert_non_null(r->broken);
        assert_true(key_find(&plan_keys_text, r->key) >= 0);
        for (size_t i = 0; i < PLAN_RULES_WITH_MAX && r->with[i] != NULL; i++) {
            if (key_find(&plan_keys_text, r->with[i]) < 0 || strcmp(r->with[i], r->key) == 0)
                fail_msg("%s with %s", r->key, r->with[i]);
        }
    }
    assert_true(n > 50);
    assert_null(plan_rules_at(n + 1));
}

static void test_the_size_of_a_step_is_said_whole(void **state)
{
    (void)state;
    start();
    p.training.schedule = SCHEDULE_STEP;
    refuse("training.step.epochs: must be given (above 0) with schedule step");
    p.training.step.epochs = 0.5;
    pass();
    p.training.schedule = SCHEDULE_COSINE;
    refuse("training.step.epochs: has a meaning only with schedule step");
    p.training.step.epochs = 0;
    p.training.warmup = p.training.epochs;
    pass();
    p.training.warmup = p.training.epochs * 1.001;
    refuse("training.warmup: is longer than the run");
}

static void test_weights_never_decay_beyond_nought(void **state)
{
    (void)state;
    for (int o = OPTIMIZER_SGD; o <= OPTIMIZER_ADAMW; o++) {
        start();
        p.training.optimizer = (enum plan_optimizer)o;
        p.training.learning_rate = 0.25;
        p.training.weight_decay = 4;
        pass();
        p.training.weight_decay = 4.001;
        refuse("training.weight_decay: times training.learning_rate must be at most 1");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_make_sense),
        cmocka_unit_test(test_the_size_of_a_step_is_said_whole),
        cmocka_unit_test(test_weights_never_decay_beyond_nought),
        cmocka_unit_test(test_masks_and_shares_take_integers_only),
        cmocka_unit_test(test_masks_and_shares_give_sums_only),
        cmocka_unit_test(test_hidden_fixed_never_goes_on_with_another_set),
        cmocka_unit_test(test_concat_drops_nobody),
        cmocka_unit_test(test_async_sees_each_embedding),
        cmocka_unit_test(test_async_takes_every_encoding_and_fusion_of_clear),
        cmocka_unit_test(test_async_takes_one_step_at_each_arrival),
        cmocka_unit_test(test_what_async_keeps_has_a_largest_size),
        cmocka_unit_test(test_coded_decodes_from_parties_that_exist),
        cmocka_unit_test(test_coded_sums_stay_below_the_largest_prime),
        cmocka_unit_test(test_coded_sums_reach_the_number_before_the_largest_prime),
        cmocka_unit_test(test_coded_sums_of_fixed_count_the_largest_code),
        cmocka_unit_test(test_masks_need_two_parties),
        cmocka_unit_test(test_sums_stay_within_31_bits),
        cmocka_unit_test(test_a_round_has_a_largest_size),
        cmocka_unit_test(test_a_batch_has_at_most_all_rows),
        cmocka_unit_test(test_concat_keeps_the_head_within_its_width),
        cmocka_unit_test(test_beta_moves_at_least_one_threshold),
        cmocka_unit_test(test_gaussian_noise_is_said_exactly_once),
        cmocka_unit_test(test_sigmoid_is_for_two_classes),
        cmocka_unit_test(test_a_stop_has_metric_and_value),
        cmocka_unit_test(test_regression_stops_on_what_values_have),
        cmocka_unit_test(test_weights_are_of_classes),
        cmocka_unit_test(test_a_stop_on_test_rows_needs_them_measured),
        cmocka_unit_test(test_outputs_fit_the_task),
        cmocka_unit_test(test_every_rule_is_about_keys_of_a_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
