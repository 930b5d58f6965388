/* test_report_progress.c -- the line of a terminal says what is amiss, and keeps to its length.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/report_progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_a_line_says_what_is_amiss_and_keeps_to_its_length(void **state)
{
    char line[REPORT_PROGRESS_MAX], name[400];
    struct report_progress p = {
        .epoch = 1.5, .epochs = 10, .loss = 0.25, .bytes = 12345678, .rounds_per_s = 99.95};

    (void)state;
    report_progress_line(line, &p);
    assert_string_equal(line, "epoch 1.50/10  loss 0.2500  12.3 MB  100.0 rounds/s");
    p.split = "train";
    p.metric_name = "auprc";
    p.metric = 0.9;
    p.slow = "p3";
    p.bytes = 999;
    report_progress_line(line, &p);
    assert_string_equal(line,
                        "epoch 1.50/10  loss 0.2500  train auprc 0.9000  999 B  100.0 rounds/s"
                        "  waiting for p3");
    p.slow = p.metric_name = NULL;
    p.missing = 4;
    report_progress_line(line, &p);
    assert_string_equal(line, "epoch 1.50/10  loss 0.2500  999 B  100.0 rounds/s  4 missing");
    report_degraded_set(&p.degraded, REPORT_VOID_ROUNDS, 1);
    report_degraded_set(&p.degraded, REPORT_MISSING_UPLOADS, 400);
    report_progress_line(line, &p);
    assert_string_equal(line, "epoch 1.50/10  loss 0.2500  999 B  100.0 rounds/s"
                              "  4 missing, 1 void round");
    p.missing = 0;
    p.slow = "p3";
    report_progress_line(line, &p);
    assert_string_equal(line, "epoch 1.50/10  loss 0.2500  999 B  100.0 rounds/s"
                              "  1 void round  waiting for p3");
    p.missing = UINT32_MAX;
    for (int k = 0; k < REPORT_DEGRADATIONS; k++)
        report_degraded_set(&p.degraded, (enum report_degradation)k, UINT64_MAX);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    p.slow = p.metric_name = name;
    p.loss = 1e300;
    report_progress_line(line, &p);
    assert_in_range(strlen(line), 1, REPORT_PROGRESS_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_says_what_is_amiss_and_keeps_to_its_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
