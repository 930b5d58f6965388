/* test_sm.c -- allowed moves move, all others abort.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/sm.h"

#include "common/flow/action.h"
#include "tests/lib/aborts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

struct move {
    enum phase from, to;
};

static void make(void *arg)
{
    const struct move *m = arg;
    struct sm sm = {m->from};

    sm_move(&sm, m->to, 1);
    if (sm.phase != m->to)
        _exit(1); /* neither an abort nor a return */
}

static void test_a_move_is_made_exactly_when_the_table_allows_it(void **state)
{
    (void)state;
    for (int from = 0; from < PHASES; from++) {
        for (int to = 0; to < PHASES; to++) {
            struct move m = {(enum phase)from, (enum phase)to};

            assert_int_equal(aborts(make, &m), !phase_allows(m.from, m.to));
        }
    }
}

static void walk(struct sm *sm, const enum phase *to, size_t n)
{
    assert_int_equal(sm->phase, PHASE_GATHER);
    for (size_t i = 0; i < n; i++) {
        sm_move(sm, to[i], 1 + i / 4);
        assert_int_equal(sm->phase, to[i]);
    }
}

#define WALK(...)                                                                                  \
    do {                                                                                           \
        static const enum phase to[] = {__VA_ARGS__};                                              \
        struct sm sm = {0};                                                                        \
        walk(&sm, to, sizeof to / sizeof to[0]);                                                   \
    } while (0)

static void test_a_session_begins_by_gathering_and_walks_to_the_end(void **state)
{
    (void)state;
    /* masked: two rounds take no move, and a lost party a new generation */
    WALK(PHASE_AGREE, PHASE_CONFIRM, PHASE_ROUND, PHASE_GATHER, PHASE_AGREE, PHASE_CONFIRM,
         PHASE_ROUND, PHASE_CLOSE, PHASE_OVER);
    /* coded */
    WALK(PHASE_AGREE, PHASE_CONFIRM, PHASE_SHARE, PHASE_SUM, PHASE_SHARE, PHASE_SUM, PHASE_CLOSE,
         PHASE_OVER);
    /* async: an evaluation between two streams */
    WALK(PHASE_AGREE, PHASE_CONFIRM, PHASE_STREAM, PHASE_ROUND, PHASE_STREAM, PHASE_ROUND,
         PHASE_CLOSE, PHASE_OVER);
    /* a server that comes back when all steps are done */
    WALK(PHASE_AGREE, PHASE_CONFIRM, PHASE_CLOSE, PHASE_OVER);
    /* and one that finds the run complete */
    WALK(PHASE_OVER);
}

static void fill(void *n)
{
    static struct actions actions;

    for (actions.n = 0; *(size_t *)n > 0; --*(size_t *)n)
        (void)actions_add(&actions, ACTION_DROP);
}

static void test_actions_have_room_for_every_member_and_end_there(void **state)
{
    size_t fits = ACTIONS_MAX, over = ACTIONS_MAX + 1;

    (void)state;
    assert_true((int)ACTIONS_MAX > (int)WIRE_MEMBERS_MAX);
    assert_false(aborts(fill, &fits));
    assert_true(aborts(fill, &over));
}

static void test_an_added_action_carries_nothing_of_an_earlier_one(void **state)
{
    static struct actions actions;
    static const uint8_t to[1];
    struct action *a = actions_add(&actions, ACTION_SEND);

    (void)state;
    a->to = to;
    a->to_n = 1;
    error_set(&a->error, STATUS_DATA, "of another");
    actions.n = 0;
    a = actions_add(&actions, ACTION_FINISH);
    assert_int_equal(actions.n, 1);
    assert_int_equal(a->kind, ACTION_FINISH);
    assert_null(a->to);
    assert_int_equal(a->to_n, 0);
    assert_int_equal(a->error.status, STATUS_OK);
    assert_string_equal(a->error.text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_move_is_made_exactly_when_the_table_allows_it),
        cmocka_unit_test(test_a_session_begins_by_gathering_and_walks_to_the_end),
        cmocka_unit_test(test_actions_have_room_for_every_member_and_end_there),
        cmocka_unit_test(test_an_added_action_carries_nothing_of_an_earlier_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
