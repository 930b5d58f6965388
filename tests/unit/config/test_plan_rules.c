/* test_plan_rules.c -- each rule of plan_check with a plan it refuses and the nearest one it lets
 * pass.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct plan p;

static void start(void)
{
    plan_defaults(&p);
    p.shape.parties = 3;
    p.shape.train_rows = 1000;
    p.shape.test_rows = 100;
    p.shape.outputs = 2;
}

static void pass(void)
{
    struct error err = {0};

    if (plan_check(&p, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static void refuse(const char *message)
{
    struct error err = {0};

    assert_int_equal(plan_check(&p, &err), STATUS_CONFIG);
    if (strncmp(err.text, message, strlen(message)) != 0)
        fail_msg("%s", err.text);
}

/* The aggregations that show the server sums only. */
static const enum plan_aggregation HIDDEN[] = {AGGREGATION_MASKED, AGGREGATION_CODED};
enum { HIDDEN_N = sizeof HIDDEN / sizeof HIDDEN[0] };

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
        refuse("protocol.encoding: float32 and gaussian");
        p.protocol.encoding = ENCODING_GAUSSIAN;
        refuse("protocol.encoding: float32 and gaussian");
        p.protocol.aggregation = AGGREGATION_CLEAR;
        pass();
        start();
        p.protocol.aggregation = HIDDEN[i];
        p.protocol.fixed.bits = 12;
        p.protocol.encoding = ENCODING_FIXED;
        pass();
        p.protocol.encoding = ENCODING_PBM;
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
    for (int f = FUSION_SUM; f <= FUSION_CONCAT; f++) {
        for (int e = ENCODING_PBM; e <= ENCODING_GAUSSIAN; e++) {
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

/* --- fedvs --- */

static void fedvs(uint32_t parties, uint32_t segments, uint32_t privacy)
{
    start();
    p.protocol.aggregation = AGGREGATION_FEDVS;
    p.protocol.encoding = ENCODING_FIXED;
    p.shape.parties = parties;
    p.training.batch = 60;
    p.protocol.fedvs.segments = segments;
    p.protocol.fedvs.privacy = privacy;
}

static void test_fedvs_has_one_encoding(void **state)
{
    (void)state;
    fedvs(3, 1, 1);
    pass();
    p.protocol.encoding = ENCODING_PBM;
    refuse("protocol.encoding: fedvs multiplies in a field");
    p.protocol.encoding = ENCODING_FLOAT32;
    refuse("protocol.encoding: float32 and gaussian");
    p.protocol.encoding = ENCODING_GAUSSIAN;
    refuse("protocol.encoding: float32 and gaussian");
    p.protocol.encoding = ENCODING_PBM;
    p.protocol.aggregation = AGGREGATION_MASKED;
    pass();
}

static void test_fedvs_waits_for_all_and_adds_them(void **state)
{
    (void)state;
    fedvs(3, 1, 1);
    p.protocol.straggler = STRAGGLER_DROP;
    refuse("protocol.straggler: the sum of fedvs has the embedding of every party");
    p.protocol.straggler = STRAGGLER_ASYNC;
    refuse("protocol.straggler: async takes each party's embedding");
    p.protocol.straggler = STRAGGLER_WAIT;
    p.model.fusion = FUSION_MEAN;
    pass();
    p.model.fusion = FUSION_CONCAT;
    refuse("model.fusion: under masks and from shares");
}

static void test_fedvs_decodes_from_parties_that_exist(void **state)
{
    (void)state;
    fedvs(11, 4, 2); /* 2 (4 + 2 - 1) + 1 = 11 */
    pass();
    p.shape.parties = 10;
    refuse("protocol.fedvs.segments: a sum is decoded from 2 (segments + privacy - 1) + 1 results, "
           "so there must be that many parties (11 results with segments 4 and privacy 2, 10 "
           "parties)");
    fedvs(11, 5, 2);
    refuse("protocol.fedvs.segments: a sum is decoded");
    fedvs(11, 4, 3);
    refuse("protocol.fedvs.segments: a sum is decoded");
    fedvs(2, 1, 1);
    refuse("protocol.fedvs.segments: a sum is decoded");
    fedvs(3, 1, 1);
    pass();
    fedvs(0, 60, 200); /* not yet known */
    pass();
    p.shape.parties = PLAN_PARTIES_MAX;
    refuse("protocol.fedvs.segments: a sum is decoded");
}

static void test_fedvs_deals_no_more_keys_than_it_may(void **state)
{
    (void)state;
    fedvs(12, 1, 4); /* C(11, 4) = 330 */
    pass();
    fedvs(13, 1, 4); /* C(12, 4) = 495 */
    pass();
    fedvs(14, 1, 4); /* C(13, 4) = 715 */
    refuse("protocol.fedvs.privacy: one key for each choice of `privacy` among the other parties "
           "keeps openings apart: there may be 512 of them at most (privacy 4 among 13)");
    fedvs(33, 1, 2); /* C(32, 2) = 496 */
    pass();
    fedvs(34, 1, 2); /* C(33, 2) = 528 */
    refuse("protocol.fedvs.privacy: one key");
    fedvs(34, 1, 1);
    pass();
    fedvs(PLAN_PARTIES_MAX, 60, 1); /* C(255, 1) */
    pass();
    fedvs(PLAN_PARTIES_MAX, 1, 127); /* C(255, 127) is beyond 64 bits */
    refuse("protocol.fedvs.privacy: one key");
    p.shape.parties = 0; /* not yet known */
    pass();
    fedvs(34, 1, 2);
    p.protocol.aggregation = AGGREGATION_CLEAR;
    pass();
}

static void test_segments_divide_the_batch(void **state)
{
    (void)state;
    fedvs(20, 6, 1);
    pass();
    p.training.batch = 61;
    refuse("training.batch: must be a multiple of protocol.fedvs.segments (batch 61, segments 6)");
    p.training.batch = 3;
    refuse("training.batch: must be a multiple");
    p.protocol.fedvs.segments = 3;
    pass();
    p.protocol.aggregation = AGGREGATION_CLEAR;
    p.protocol.fedvs.segments = 2;
    refuse("training.batch: must be a multiple");
}

static void test_rows_are_cut_under_fedvs_and_clear_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < HIDDEN_N; i++) {
        start();
        p.protocol.aggregation = HIDDEN[i];
        p.protocol.fedvs.segments = 2;
        refuse("protocol.fedvs.segments: rows are cut for aggregation fedvs");
        p.protocol.aggregation = AGGREGATION_CLEAR;
        pass();
        p.protocol.aggregation = HIDDEN[i];
        p.protocol.fedvs.segments = 1;
        pass();
    }
    fedvs(20, 2, 1);
    pass();
}

static void test_fedvs_does_not_read_the_bits_of_fixed(void **state)
{
    (void)state;
    fedvs(200, 1, 1);
    p.protocol.fixed.bits = 24;
    pass();
    p.protocol.aggregation = AGGREGATION_MASKED;
    refuse("protocol.fixed.bits: the sum over all parties must stay within 2^31");
}

static void test_other_rules_count_nothing(void **state)
{
    char numbers[PLAN_RULES_NUMBERS_MAX];
    const struct plan_rule *r;

    (void)state;
    start();
    p.protocol.encoding = ENCODING_FLOAT32;
    r = plan_rules_broken(&p);
    assert_non_null(r);
    memset(numbers, 'x', sizeof numbers);
    plan_rules_numbers(r, &p, numbers, sizeof numbers);
    assert_string_equal(numbers, "");
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
    p.training.batch = 65536;
    p.model.embedding = 256;
    pass();
    p.model.embedding = 257;
    refuse("training.batch: batch times embedding");
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

static void test_regression_stops_on_loss_only(void **state)
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
    p.training.stop.metric = METRIC_LOSS;
    pass();
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
                 {TASK_REGRESSION, BINARY_SOFTMAX, 1, 2}};

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_make_sense),
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
        cmocka_unit_test(test_fedvs_has_one_encoding),
        cmocka_unit_test(test_fedvs_waits_for_all_and_adds_them),
        cmocka_unit_test(test_fedvs_decodes_from_parties_that_exist),
        cmocka_unit_test(test_fedvs_deals_no_more_keys_than_it_may),
        cmocka_unit_test(test_segments_divide_the_batch),
        cmocka_unit_test(test_rows_are_cut_under_fedvs_and_clear_only),
        cmocka_unit_test(test_fedvs_does_not_read_the_bits_of_fixed),
        cmocka_unit_test(test_other_rules_count_nothing),
        cmocka_unit_test(test_masks_need_two_parties),
        cmocka_unit_test(test_sums_stay_within_31_bits),
        cmocka_unit_test(test_a_round_has_a_largest_size),
        cmocka_unit_test(test_concat_keeps_the_head_within_its_width),
        cmocka_unit_test(test_beta_moves_at_least_one_threshold),
        cmocka_unit_test(test_gaussian_noise_is_said_exactly_once),
        cmocka_unit_test(test_sigmoid_is_for_two_classes),
        cmocka_unit_test(test_a_stop_has_metric_and_value),
        cmocka_unit_test(test_regression_stops_on_loss_only),
        cmocka_unit_test(test_a_stop_on_test_rows_needs_them_measured),
        cmocka_unit_test(test_outputs_fit_the_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
