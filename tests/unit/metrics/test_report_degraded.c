/* test_report_degraded.c -- names are an interface; a terminal is told what it should know of.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/report_degraded.h"
#include "tests/lib/aborts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void test_degraded_names_are_those_of_the_interface(void **state)
{
    static const char *const names[] = {
        "missing_uploads",   "late_uploads",       "absent_parties", "stale_embeddings",
        "unseen_embeddings", "unverified_decodes", "faulty_uploads", "replayed_gradients",
        "void_rounds",       "integrity_failures",
    };

    (void)state;
    assert_int_equal(sizeof names / sizeof names[0], REPORT_DEGRADATIONS);
    for (int k = 0; k < REPORT_DEGRADATIONS; k++)
        assert_string_equal(report_degraded_name((enum report_degradation)k), names[k]);
}

static void test_degraded_words_name_what_happened_and_nothing_else(void **state)
{
    struct report_degraded d = {0};
    char words[96];

    (void)state;
    report_degraded_words(words, sizeof words, &d);
    assert_string_equal(words, "");
    report_degraded_set(&d, REPORT_VOID_ROUNDS, 0);
    report_degraded_set(&d, REPORT_FAULTY_UPLOADS, 1);
    report_degraded_set(&d, REPORT_UNVERIFIED_DECODES, 12);
    report_degraded_words(words, sizeof words, &d);
    assert_string_equal(words, "12 unverified decodes, 1 faulty upload");
    d.applies[REPORT_FAULTY_UPLOADS] = false;
    report_degraded_words(words, sizeof words, &d);
    assert_string_equal(words, "12 unverified decodes");
}

/* The course of things under a plan that reckons with stragglers. */
static void test_degraded_words_leave_out_what_is_expected(void **state)
{
    struct report_degraded d = {0};
    char words[96];

    (void)state;
    report_degraded_set(&d, REPORT_MISSING_UPLOADS, 400);
    report_degraded_set(&d, REPORT_LATE_UPLOADS, 400);
    report_degraded_set(&d, REPORT_ABSENT_PARTIES, 3);
    report_degraded_set(&d, REPORT_STALE_EMBEDDINGS, 4000);
    report_degraded_set(&d, REPORT_UNSEEN_EMBEDDINGS, 40);
    report_degraded_set(&d, REPORT_REPLAYED_GRADIENTS, 4);
    report_degraded_words(words, sizeof words, &d);
    assert_string_equal(words, "");
}

static void test_degraded_words_are_cut_to_their_room(void **state)
{
    struct report_degraded d = {0};
    char words[24];

    (void)state;
    for (int k = 0; k < REPORT_DEGRADATIONS; k++)
        report_degraded_set(&d, (enum report_degradation)k, UINT64_MAX);
    memset(words, 'x', sizeof words);
    report_degraded_words(words, 8, &d);
    assert_string_equal(words, "1844674");
    assert_int_equal(words[8], 'x');
    report_degraded_words(words, 1, &d);
    assert_string_equal(words, "");
}

static void name_of_none(void *arg)
{
    (void)arg;
    (void)report_degraded_name(REPORT_DEGRADATIONS);
}

static void test_degraded_has_no_name_for_what_is_no_kind(void **state)
{
    (void)state;
    assert_true(aborts(name_of_none, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_degraded_names_are_those_of_the_interface),
        cmocka_unit_test(test_degraded_words_name_what_happened_and_nothing_else),
        cmocka_unit_test(test_degraded_words_leave_out_what_is_expected),
        cmocka_unit_test(test_degraded_words_are_cut_to_their_room),
        cmocka_unit_test(test_degraded_has_no_name_for_what_is_no_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
