/* test_package_text.c -- metadata is read as it would be written, and no other way.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/package_text.h"

#include "common/config/plan_keys.h"
#include "common/metrics/score.h"
#include "tests/unit/daemon/packages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_what_does_not_fit_together_is_refused(void **state)
{
    static const char *const change[][2] = {
        {"\"widths\":\"3,4,2\"", "\"widths\":\"3,16777216,2\""}, /* before there is memory for it */
        {"\"widths\":\"3,4,2\"", "\"widths\":\"2,4,2\""},
        {"\"widths\":\"3,4,2\"", "\"widths\":\"3,04,2\""},
        {"\"activations\":\"relu,tanh\"", "\"activations\":\"relu\""},
        {"\"activations\":\"relu,tanh\"", "\"activations\":\"relu,gelu\""},
        {"age\\n", "age\\nsex\\n"},
        {"age\\n", "\\u0061ge\\n"},
        {"\"loss\":\"softmax\"", "\"loss\":\"sigmoid\""},
        {"\"run\":\"abc-2\"", "\"run\":\"../abc\""},
        {"\"role\":\"bottom\"", "\"role\":\"head\""},
        {"\"degree\":\"0\"", "\"degree\":\"0\",\"more\":\"\""},
        {"\"degree\":\"0\"", "\"degree\":\"9\""},
        {"\"reach\":\"0\"", "\"reach\":\"2\""}, /* its plan is no fedvs */
        {"\"reach\":\"0\"", "\"reach\":\"-1\""},
        {"\"out_scale\":\"0.5\"", "\"out_scale\":\"inf\""},
        /* Said again, when there is memory for as many as were said first. */
        {"\"standardise\"", "\"widths\":\"65536,4,2\",\"standardise\""},
        {"kind: category, levels: [\\\"x\\\"]", "kind: ignored"},
        {"kind: category, levels: [\\\"x\\\"]", "kind: category"}, /* whatever its levels will be */
        {"levels: [\\\"x\\\"]", "levels: [\\\"x\\\", \\\"y\\\"]"},
        {"missing: refused", "missing:  refused"},
        {"missing: refused", "missing: never"},
        {"\"degree\":\"0\"", "\"degree\":\"0\",\"classes\":\"no\\nyes\\n\""},
        {"training.batch=4", "training.batch=0"},
        {"colonnade-model/1", "colonnade-model/2"},
    };
    struct packages s = {0};
    struct package p;
    struct buf b, other;

    (void)state;
    packages_init(&s);
    packages_bottom(&p);
    packages_print(&p, &s.bottom, &b);
    buf_init(&other, SIZE_MAX);
    packages_with(&other, &b, "abc-2", "abc-2");
    assert_int_equal(packages_parse(&other, other.len), STATUS_OK);
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        packages_with(&other, &b, change[i][0], change[i][1]);
        if (packages_parse(&other, other.len) != STATUS_DATA)
            fail_msg("\"%s\" was taken for \"%s\"", change[i][1], change[i][0]);
    }
    package_deinit(&p);
    buf_deinit(&b);
    buf_deinit(&other);
    packages_deinit(&s);
}

static void test_each_class_of_a_head_has_a_name_or_none_has(void **state)
{
    static const char *const change[] = {"no\\n", "no\\nyes\\nmore\\n", "no\\n\\n", "no\\nyes",
                                         "no\\n\\u001b[31myes\\n"};
    struct packages s = {0};
    struct package p;
    struct buf b, other;

    (void)state;
    packages_init(&s);
    packages_head(&p);
    packages_print(&p, &s.head, &b);
    buf_init(&other, SIZE_MAX);
    packages_with(&other, &b, "no\\nyes\\n", "");
    assert_int_equal(packages_parse(&other, other.len), STATUS_OK);
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        packages_with(&other, &b, "no\\nyes\\n", change[i]);
        assert_int_equal(packages_parse(&other, other.len), STATUS_DATA);
    }
    package_deinit(&p);
    buf_deinit(&b);
    buf_deinit(&other);
    packages_deinit(&s);
}

/* training.stop.metric has a word for each score, in their order. */
static void test_a_run_can_stop_by_the_name_of_each_score(void **state)
{
    const char *const *words = NULL;

    (void)state;
    for (size_t k = 0; k < PLAN_KEYS_N; k++) {
        if (strcmp(plan_keys[k].path, "training.stop.metric") == 0)
            words = plan_keys[k].choices;
    }
    assert_non_null(words);
    for (size_t m = 0; m < SCORE_METRICS; m++)
        assert_string_equal(words[METRIC_FIRST + m], score_names[m]);
    assert_null(words[METRIC_FIRST + SCORE_METRICS]);
    assert_null(score_names[SCORE_METRICS]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_can_stop_by_the_name_of_each_score),
        cmocka_unit_test(test_what_does_not_fit_together_is_refused),
        cmocka_unit_test(test_each_class_of_a_head_has_a_name_or_none_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
