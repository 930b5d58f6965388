/* test_phase.c -- the table, spelt out a second time: every phase, every message, both directions.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/phase.h"

#include "tests/lib/aborts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/* One column for each kind, in their order.  x: expected. */
static const struct {
    enum phase phase;
    const char *to_server, *to_member;
} expected[PHASES] = {
    /*                  JOIN OFFER BEHIND REPLAY HELLO HELLOS CONFIRM CONFIRMS BROADCAST UPLOAD SHARE
     *                  RELAY KEPT FINISH REFUSE */
    {PHASE_GATHER, /**/ "x-------------x", "-x-----------xx"},
    {PHASE_AGREE, /* */ "x---x---------x", "-x---x-------xx"},
    {PHASE_CONFIRM, /**/ "x-----x-------x", "-x-----x-----xx"},
    {PHASE_ROUND, /* */ "x--------x----x", "-x------x----xx"},
    {PHASE_OVER, /*  */ "x-------------x", "-------------xx"},
};

static void test_each_phase_expects_its_messages_and_no_others(void **state)
{
    (void)state;
    for (int p = 0; p < PHASES; p++) {
        assert_int_equal(expected[p].phase, p);
        assert_false(phase_expects((enum phase)p, true, WIRE_NONE));
        assert_false(phase_expects((enum phase)p, false, WIRE_NONE));
        assert_false(phase_expects((enum phase)p, true, WIRE_KINDS));
        assert_false(phase_expects((enum phase)p, false, WIRE_KINDS));
        for (int k = WIRE_JOIN; k < WIRE_KINDS; k++) {
            bool up = phase_expects((enum phase)p, true, (enum wire_kind)k);
            bool down = phase_expects((enum phase)p, false, (enum wire_kind)k);

            if (up != (expected[p].to_server[k - 1] == 'x') ||
                down != (expected[p].to_member[k - 1] == 'x'))
                fail_msg("%s in %s", wire_kind_name((enum wire_kind)k),
                         phase_row((enum phase)p)->name);
        }
    }
}

static void test_only_the_written_moves_are_allowed(void **state)
{
    static const char *const next[PHASES] = {
        [PHASE_GATHER] = "-x--x", [PHASE_AGREE] = "xxx-x", [PHASE_CONFIRM] = "xx-xx",
        [PHASE_ROUND] = "xx--x",  [PHASE_OVER] = "-----",
    };

    (void)state;
    for (int from = 0; from < PHASES; from++) {
        for (int to = 0; to < PHASES; to++)
            assert_int_equal(phase_allows((enum phase)from, (enum phase)to), next[from][to] == 'x');
    }
}

static void test_every_phase_can_end_and_the_end_is_final(void **state)
{
    (void)state;
    for (int p = 0; p < PHASE_OVER; p++) {
        assert_true(phase_allows((enum phase)p, PHASE_OVER));
        assert_false(phase_allows(PHASE_OVER, (enum phase)p));
        /* Each phase but the last is bounded: no peer can make a session wait for ever. */
        assert_true(phase_row((enum phase)p)->deadline != PHASE_ENDLESS);
    }
}

static void test_data_flows_only_after_the_confirmations(void **state)
{
    (void)state;
    for (int p = 0; p < PHASES; p++) {
        assert_int_equal(phase_allows((enum phase)p, PHASE_ROUND), p == PHASE_CONFIRM);
        assert_int_equal(phase_expects((enum phase)p, true, WIRE_UPLOAD), p == PHASE_ROUND);
    }
}

static void test_rows_stand_at_their_phase_with_name_clause_and_answer(void **state)
{
    static const char *const names[PHASES] = {"gather", "agree", "confirm", "round", "over"};
    static const enum wire_kind answers[PHASES] = {WIRE_JOIN, WIRE_HELLO, WIRE_CONFIRM, WIRE_UPLOAD,
                                                   WIRE_NONE};
    static const enum wire_kind says[PHASES] = {WIRE_NONE, WIRE_OFFER, WIRE_HELLOS, WIRE_BROADCAST,
                                                WIRE_FINISH};

    (void)state;
    for (int p = 0; p < PHASES; p++) {
        const struct phase_row *row = phase_row((enum phase)p);

        assert_int_equal(row->phase, p);
        assert_string_equal(row->name, names[p]);
        assert_int_equal(row->member_answers, answers[p]);
        assert_int_equal(row->server_says, says[p]);
        assert_true(row->clause[0] != 0);
    }
    assert_int_equal(phase_row(PHASE_GATHER)->quorum, QUORUM_ROSTER);
    assert_int_equal(phase_row(PHASE_ROUND)->quorum, QUORUM_MEMBERS);
    assert_int_equal(phase_row(PHASE_ROUND)->deadline, PHASE_ROUND_DEADLINE);
}

static void ask_for(void *phase)
{
    (void)phase_row(*(enum phase *)phase);
}

static void test_a_phase_beyond_the_table_aborts(void **state)
{
    enum phase last = PHASE_OVER, beyond = PHASES;

    (void)state;
    assert_false(aborts(ask_for, &last));
    assert_true(aborts(ask_for, &beyond));
}

static void test_the_printed_table_has_a_row_for_each_phase(void **state)
{
    struct buf out;
    size_t lines = 0;

    (void)state;
    buf_init(&out, 4096);
    assert_int_equal(phase_print(&out), STATUS_OK);
    for (size_t i = 0; i < out.len; i++)
        lines += out.data[i] == '\n';
    assert_int_equal(lines, 2 + PHASES);
    assert_non_null(memmem(out.data, out.len,
                           "| round | 3.1 | broadcast | upload | all members | deadline_ms (drop), "
                           "patience_ms (wait) | gather agree over |\n",
                           107));
    assert_non_null(memmem(out.data, out.len, "| over | 4.1 | finish | - | - | - | |\n", 38));
    buf_deinit(&out);
    buf_init(&out, 300);
    assert_int_equal(phase_print(&out), STATUS_LIMIT);
    buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_phase_expects_its_messages_and_no_others),
        cmocka_unit_test(test_only_the_written_moves_are_allowed),
        cmocka_unit_test(test_every_phase_can_end_and_the_end_is_final),
        cmocka_unit_test(test_data_flows_only_after_the_confirmations),
        cmocka_unit_test(test_rows_stand_at_their_phase_with_name_clause_and_answer),
        cmocka_unit_test(test_a_phase_beyond_the_table_aborts),
        cmocka_unit_test(test_the_printed_table_has_a_row_for_each_phase),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
