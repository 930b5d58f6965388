/* test_task.c -- the rows of tasks, beside what the plan's words and scores say.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct plan of_task(enum plan_task task)
{
    struct plan p;

    plan_defaults(&p);
    p.model.task = task;
    p.shape.outputs = 5;
    return p;
}

static void test_each_task_has_its_row(void **state)
{
    (void)state;
    for (int i = 0; i < PLAN_TASKS; i++) {
        const struct plan p = of_task((enum plan_task)i);

        assert_string_equal(task_of(&p)->name, task_names[i]);
        assert_non_null(task_of(&p)->loss_name);
        assert_true(task_has_metric(task_of(&p), task_of(&p)->best_by));
        assert_int_equal(plan_best_by(&p), task_of(&p)->best_by);
    }
    assert_null(task_names[PLAN_TASKS]);
}

static void test_a_sigmoid_of_two_classes_is_a_row_of_its_own(void **state)
{
    struct plan p = of_task(TASK_BINARY);

    (void)state;
    assert_int_equal(task_outputs(&p), 2);
    p.model.binary_loss = BINARY_SIGMOID;
    assert_int_equal(task_of(&p)->loss, TASK_SIGMOID);
    assert_string_equal(task_of(&p)->name, "binary");
    assert_int_equal(task_outputs(&p), 1);
}

static void test_only_several_labels_have_several_targets(void **state)
{
    (void)state;
    for (int i = 0; i < PLAN_TASKS; i++) {
        const struct plan p = of_task((enum plan_task)i);

        assert_int_equal(task_targets(&p), i == TASK_MULTILABEL ? 5 : 1);
        assert_int_equal(task_outputs(&p), i == TASK_REGRESSION ? 1 : i == TASK_BINARY ? 2 : 5);
    }
}

static void test_scores_belong_to_tasks(void **state)
{
    const struct plan classes = of_task(TASK_MULTICLASS), values = of_task(TASK_REGRESSION),
                      labels = of_task(TASK_MULTILABEL);

    (void)state;
    for (int m = METRIC_NONE; m <= METRIC_F1_MICRO; m++) {
        const enum plan_metric of = (enum plan_metric)m;
        const bool any = m == METRIC_LOSS, value = m >= METRIC_R2 && m <= METRIC_RMSE,
                   micro = m >= METRIC_AUC_MICRO, class = m > METRIC_LOSS && m <= METRIC_F1;

        assert_int_equal(task_has_metric(task_of(&classes), of), any || class);
        assert_int_equal(task_has_metric(task_of(&values), of), any || value);
        assert_int_equal(task_has_metric(task_of(&labels), of), any || class || micro);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_task_has_its_row),
        cmocka_unit_test(test_a_sigmoid_of_two_classes_is_a_row_of_its_own),
        cmocka_unit_test(test_only_several_labels_have_several_targets),
        cmocka_unit_test(test_scores_belong_to_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
