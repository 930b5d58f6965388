/* test_report_account.c -- what summary.json says of privacy beside its claims.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct traffic traffic;
static struct spans spans;
static struct summary r;

static int fill(void **state)
{
    static const char *const kinds[] = {"upload"};

    (void)state;
    spans = (struct spans){0};
    r = (struct summary){
        .status = "completed",
        .spans = &spans,
        .traffic = &traffic,
        .privacy = {.mechanism = "pbm",
                    .mechanisms_n = 2,
                    .with = {{.kind = "pbm",
                              .parameters = 4,
                              .parameter = {{"trials", true, 16},
                                            {"beta", false, 0.125},
                                            {"t_lo", true, 24576},
                                            {"t_hi", true, 40960}},
                              .coordinates = 3,
                              .parties = 5,
                              .colluders = 2,
                              .clear = true,
                              .bottom = "dp",
                              .step_noise = 7.5,
                              .steps = 4,
                              .trained_max = 8,
                              .releases = 4114,
                              .participations_max = 10},
                             {.kind = "gaussian",
                              .parameters = 3,
                              .parameter = {{"sigma", false, 2.5},
                                            {"clip", false, 1.5},
                                            {"step", false, 0.25}},
                              .bottom = "frozen"}},
                    .bins_n = 3,
                    .bin_width = 4,
                    .bin = {7, 0, 9},
                    .labels = "disclosed to parties"},
    };
    return traffic_init(&traffic, 1, kinds, 1) == STATUS_OK ? 0 : -1;
}

static int empty(void **state)
{
    (void)state;
    traffic_deinit(&traffic);
    return 0;
}

/* Is the text there, line ends and blanks apart? */
static bool says(const char *words)
{
    char dense[1 << 14];
    struct buf out;
    size_t n = 0;

    buf_init(&out, sizeof dense - 1);
    assert_int_equal(report_print(&r, &out), STATUS_OK);
    for (size_t i = 0; i < out.len; i++)
        if (strchr(" \n", out.data[i]) == NULL)
            dense[n++] = (char)out.data[i];
    dense[n] = 0;
    buf_deinit(&out);
    return strstr(dense, words) != NULL;
}

static void test_a_mechanism_says_its_own_terms_and_no_others(void **state)
{
    (void)state;
    assert_true(says(
        "\"mechanisms\":[{\"mechanism\":\"pbm\",\"trials\":16,\"beta\":0.125,"
        "\"t_lo\":24576,\"t_hi\":40960,\"coordinates\":3,\"parties\":5,"
        "\"colluders\":2,\"clear\":true,\"each\":false,\"bottom\":\"dp\","
        "\"step_noise\":7.5,\"steps\":4,\"trained_max\":8,"
        "\"releases\":4114,\"participations_max\":10},"
        "{\"mechanism\":\"gaussian\",\"sigma\":2.5,\"clip\":1.5,\"step\":0.25,\"coordinates\":0,"));
    assert_true(says("\"bottom\":\"frozen\",\"releases\":0,\"participations_max\":0}]"));
}

static void test_participations_are_told_by_range_without_the_empty(void **state)
{
    (void)state;
    assert_true(says("\"participations\":[{\"from\":0,\"to\":3,\"records\":7},"
                     "{\"from\":8,\"to\":11,\"records\":9}]"));
    assert_true(says("\"labels\":\"disclosedtoparties\""));
}

static void test_who_has_no_ledger_says_nothing_of_it(void **state)
{
    (void)state;
    r.privacy.mechanisms_n = r.privacy.bins_n = 0;
    r.privacy.labels = NULL;
    assert_true(says("\"claims\":[]"));
    assert_false(says("mechanisms"));
    assert_false(says("\"participations\""));
    assert_false(says("labels"));
}

int main(void)
{
#define TEST(law) cmocka_unit_test_setup_teardown(law, fill, empty)
    const struct CMUnitTest tests[] = {
        TEST(test_a_mechanism_says_its_own_terms_and_no_others),
        TEST(test_participations_are_told_by_range_without_the_empty),
        TEST(test_who_has_no_ledger_says_nothing_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
