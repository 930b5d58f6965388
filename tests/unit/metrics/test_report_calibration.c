/* test_report_calibration.c -- what a summary says of a temperature.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>

#include "common/metrics/report_calibration.h"

static void test_a_temperature_is_told_with_its_rows_and_errors(void **state)
{
    const struct calibration c = {.temperature = 1.5, .rows = 40, .before = 0.2, .after = 0.1};
    struct report_json j = {.bad = false};
    json_t *root = json_object(), *o;

    (void)state;
    report_calibration(&j, root, &(struct calibration){.temperature = 1});
    assert_int_equal(json_object_size(root), 0);
    report_calibration(&j, root, &c);
    o = json_object_get(root, "calibration");
    assert_true(fabs(json_real_value(json_object_get(o, "temperature")) - 1.5) < 1e-12);
    assert_int_equal(json_integer_value(json_object_get(o, "rows")), 40);
    assert_true(json_real_value(json_object_get(o, "ece")) <
                json_real_value(json_object_get(o, "ece_before")));
    assert_false(j.bad);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_temperature_is_told_with_its_rows_and_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
