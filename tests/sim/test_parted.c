/* test_parted.c -- who leaves a set so that no two in it are at odds: as few as possible where the
 * job needs as many as there can be, as long as few are at odds.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/odds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static uint32_t part(const struct odds *o, uint32_t n, bool by_turns, bool in[WIRE_MEMBERS_MAX])
{
    uint32_t left = 0;

    memset(in, 0, WIRE_MEMBERS_MAX * sizeof *in);
    for (uint32_t i = 0; i < n; i++)
        in[i] = true;
    odds_part(o, in, n, by_turns);
    for (uint32_t i = 0; i < n; i++) {
        left += in[i];
        for (uint32_t j = 0; in[i] && j < i; j++)
            assert_false(in[j] && odds_between(o, i, j));
    }
    return left;
}

/* In another way: with each party, and without it. */
static uint32_t most(const struct odds *o, uint32_t n, uint32_t at, uint32_t set)
{
    uint32_t without, with = 0;
    bool may = true;

    if (at == n)
        return 0;
    for (uint32_t i = 0; i < at; i++)
        may = may && ((set >> i & 1) == 0 || !odds_between(o, i, at));
    without = most(o, n, at + 1, set);
    if (may)
        with = 1 + most(o, n, at + 1, set | UINT32_C(1) << at);
    return with > without ? with : without;
}

/* The one at odds with the most of them is content with all that are left when its three enemies
 * go, each of which has another one. */
static void test_who_is_at_odds_with_the_most_may_be_the_one_to_stay(void **state)
{
    static struct odds o;
    bool in[WIRE_MEMBERS_MAX];

    (void)state;
    for (uint32_t i = 1; i <= 3; i++) {
        assert_true(odds_add(&o, i, 0, ODDS_SHARES));
        assert_true(odds_add(&o, i, i + 3, ODDS_SHARES));
    }
    assert_int_equal(part(&o, 7, false, in), 4);
    assert_true(in[0] && in[4] && in[5] && in[6]);
    assert_int_equal(part(&o, 7, true, in), 3); /* by turns it is its own */
    assert_false(in[0]);
}

static void test_as_many_as_can_be_are_left(void **state)
{
    uint32_t from = 1;

    (void)state;
    for (uint32_t run = 0; run < 300; run++) {
        const uint32_t n = 2 + run % (ODDS_EXACT_MAX - 1);
        struct odds o = {0};
        bool in[WIRE_MEMBERS_MAX];

        for (uint32_t k = 0; k < n + run % 7; k++) {
            uint32_t by, of;

            from = from * 1664525u + 1013904223u;
            by = (from >> 8) % n;
            of = (from >> 20) % n;
            if (by != of)
                (void)odds_add(&o, by, of, ODDS_IDS);
        }
        assert_int_equal(part(&o, n, false, in), most(&o, n, 0, 0));
    }
}

/* Beyond that many it is not sought, and still no two are left that are at odds. */
static void test_of_many_some_are_left(void **state)
{
    static struct odds o;
    bool in[WIRE_MEMBERS_MAX];

    (void)state;
    for (uint32_t i = 0; i + 1 < WIRE_MEMBERS_MAX; i++)
        assert_true(odds_add(&o, i, i + 1, ODDS_SHARES));
    assert_in_range(part(&o, WIRE_MEMBERS_MAX, false, in), WIRE_MEMBERS_MAX / 3, WIRE_MEMBERS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_at_odds_with_the_most_may_be_the_one_to_stay),
        cmocka_unit_test(test_as_many_as_can_be_are_left),
        cmocka_unit_test(test_of_many_some_are_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
