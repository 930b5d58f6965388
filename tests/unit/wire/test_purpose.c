/* test_purpose.c -- each purpose has its name, and is exactly one of a step, a part of a sweep, a
 * dealing.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/purpose.h"

#include "tests/lib/aborts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void test_each_purpose_has_its_name(void **state)
{
    static const char *const names[] = {"train", "evaluate test", "evaluate train", "deal_keys",
                                        "deal_data"};

    (void)state;
    for (int p = PURPOSE_TRAIN; p <= PURPOSE_DEAL_DATA; p++)
        assert_string_equal(purpose_of((enum wire_purpose)p)->name, names[p]);
}

static void test_a_round_is_a_step_or_part_of_a_sweep_or_deals_and_counts_as_such(void **state)
{
    (void)state;
    for (int p = PURPOSE_TRAIN; p <= PURPOSE_DEAL_DATA; p++) {
        const struct purpose *is = purpose_of((enum wire_purpose)p);

        assert_int_equal(is->trains, p == PURPOSE_TRAIN);
        assert_int_equal(is->scores, p == PURPOSE_EVALUATE_TEST || p == PURPOSE_EVALUATE_TRAIN);
        assert_int_equal(is->deals, p == PURPOSE_DEAL_KEYS || p == PURPOSE_DEAL_DATA);
        assert_int_equal(is->phase, is->trains   ? WIRE_PHASE_TRAIN
                                    : is->scores ? WIRE_PHASE_EVALUATE
                                                 : WIRE_PHASE_SETUP);
    }
}

static void test_keys_are_dealt_once_and_one_sweep_is_of_test_rows(void **state)
{
    (void)state;
    for (int p = PURPOSE_TRAIN; p <= PURPOSE_DEAL_DATA; p++) {
        assert_int_equal(purpose_of((enum wire_purpose)p)->keys, p == PURPOSE_DEAL_KEYS);
        assert_int_equal(purpose_of((enum wire_purpose)p)->test, p == PURPOSE_EVALUATE_TEST);
    }
}

static void look_up(void *arg)
{
    (void)purpose_of(*(const enum wire_purpose *)arg);
}

static void test_what_is_no_purpose_aborts(void **state)
{
    enum wire_purpose last = PURPOSE_DEAL_DATA, none = (enum wire_purpose)(PURPOSE_DEAL_DATA + 1);

    (void)state;
    assert_false(aborts(look_up, &last));
    assert_true(aborts(look_up, &none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_purpose_has_its_name),
        cmocka_unit_test(test_a_round_is_a_step_or_part_of_a_sweep_or_deals_and_counts_as_such),
        cmocka_unit_test(test_keys_are_dealt_once_and_one_sweep_is_of_test_rows),
        cmocka_unit_test(test_what_is_no_purpose_aborts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
