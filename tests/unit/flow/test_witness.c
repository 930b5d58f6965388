/* test_witness.c -- how many have to say that a ledger was put back, and who does.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/agree.h"
#include "common/flow/witness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { MEMBERS = 4 };

static void test_under_wait_one_suffices(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= WIRE_MEMBERS_MAX; n++)
        assert_int_equal(witness_needed(STRAGGLER_WAIT, 3, n), 1);
}

static void test_elsewhere_it_takes_one_more_than_may_lie_or_all_others(void **state)
{
    (void)state;
    for (uint32_t t = 1; t < 9; t++) {
        for (uint32_t n = 2; n <= WIRE_MEMBERS_MAX; n++) {
            const uint32_t least = n - 1 < t + 1 ? n - 1 : t + 1;

            assert_int_equal(witness_needed(STRAGGLER_DROP, t, n), least);
            assert_int_equal(witness_needed(STRAGGLER_ASYNC, t, n), least);
        }
    }
}

/* Nobody is a witness where there is nobody else. */
static void test_one_alone_is_never_stopped(void **state)
{
    struct agree_confirm c = {.members = 1};
    bool who[WIRE_MEMBERS_MAX];
    struct wire_confirm shown;

    (void)state;
    agree_put_seen(&c, 0, 12);
    shown = agree_show_confirm(&c, 1);
    assert_int_equal(witness_count(who, &shown, 1, 0, 0), 0);
    assert_true(witness_needed(STRAGGLER_DROP, 1, 1) > 0);
}

static void test_whoever_has_seen_more_is_one_and_the_member_itself_is_none(void **state)
{
    struct agree_confirm c[MEMBERS] = {{.members = 0}};
    struct wire_confirm shown[MEMBERS];
    bool who[WIRE_MEMBERS_MAX];

    (void)state;
    for (uint32_t by = 0; by < MEMBERS; by++) {
        c[by].members = MEMBERS;
        for (uint32_t m = 0; m < MEMBERS; m++)
            agree_put_seen(&c[by], m, 100 + by);
        shown[by] = agree_show_confirm(&c[by], 1);
    }
    assert_int_equal(witness_count(who, shown, MEMBERS, 1, 101), 2);
    assert_true(!who[0] && !who[1] && who[2] && who[3]);
    assert_int_equal(witness_count(who, shown, MEMBERS, 1, 102), 1);
    assert_int_equal(witness_count(who, shown, MEMBERS, 1, 103), 0);
    assert_int_equal(witness_count(who, shown, MEMBERS, 3, 0), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_under_wait_one_suffices),
        cmocka_unit_test(test_elsewhere_it_takes_one_more_than_may_lie_or_all_others),
        cmocka_unit_test(test_one_alone_is_never_stopped),
        cmocka_unit_test(test_whoever_has_seen_more_is_one_and_the_member_itself_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
