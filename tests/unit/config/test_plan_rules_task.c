/* test_plan_rules_task.c -- the rules of several labels and of scaled targets, each beside the
 * nearest plan that passes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_rules.h"

#include "tests/unit/config/refused.h"

static void test_several_labels_are_the_servers_alone(void **state)
{
    (void)state;
    start();
    p.model.task = TASK_MULTILABEL;
    p.shape.outputs = 4;
    pass();
    p.training.class_weights = CLASS_WEIGHTS_BALANCED;
    pass();
    p.protocol.local_view = VIEW_REFRESHED;
    p.protocol.local_iterations = 2;
    refuse("model.task: multilabel: parties that refresh their view hold one label");
    p.model.task = TASK_MULTICLASS;
    pass();
}

static void test_micro_scores_are_of_several_labels(void **state)
{
    (void)state;
    for (int m = METRIC_AUC_MICRO; m <= METRIC_F1_MICRO; m++) {
        start();
        p.model.task = TASK_MULTILABEL;
        p.training.stop.metric = (enum plan_metric)m;
        p.training.stop.value = 0.5;
        pass();
        p.training.stop.value = 1.5;
        refuse("training.stop.value: accuracy, auc");
        p.training.stop.value = 0.5;
        p.model.task = TASK_MULTICLASS;
        refuse("training.stop.metric: auc_micro, auprc_micro and f1_micro are of multilabel");
        p.model.task = TASK_AUTO;
        refuse("training.stop.metric: auc_micro, auprc_micro and f1_micro are of multilabel");
    }
    p.model.task = TASK_MULTILABEL;
    p.training.stop.metric = METRIC_R2;
    refuse("training.stop.metric: r2, mae and rmse are of regression");
}

static void test_scaled_targets_are_of_values_alone(void **state)
{
    (void)state;
    start();
    p.training.scale_targets = true;
    p.model.task = TASK_REGRESSION;
    p.shape.outputs = 1;
    pass();
    p.protocol.local_view = VIEW_REFRESHED;
    refuse("training.scale_targets: a party that computes the loss itself");
    start();
    p.training.scale_targets = true;
    p.model.task = TASK_BINARY;
    p.protocol.local_view = VIEW_REFRESHED;
    pass();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_several_labels_are_the_servers_alone),
        cmocka_unit_test(test_micro_scores_are_of_several_labels),
        cmocka_unit_test(test_scaled_targets_are_of_values_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
