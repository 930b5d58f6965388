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

/* One column for each kind, in their order.  x: expected.
 *
 * J join, O offer, B behind, R replay, H hello, h hellos, C confirm, c confirms, b broadcast,
 * U upload, S share, r relay, K kept, A batch, F finish, X refuse */
static const struct {
    enum phase phase;
    const char *to_server, *to_member;
} expected[PHASES] = {
    /*                  JOBRHhCcbUSrKAFX    JOBRHhCcbUSrKAFX */
    {PHASE_GATHER, /**/ "x-----------x--x", "-x------------xx"},
    {PHASE_AGREE, /* */ "x-x-x-------x--x", "-x-x-x--------xx"},
    {PHASE_CONFIRM, /**/ "x-----x-----x--x", "-x-----x------xx"},
    {PHASE_ROUND, /* */ "x--------x--x--x", "-x------x-----xx"},
    {PHASE_SHARE, /* */ "x--------xx-x--x", "-x------x--x--xx"},
    {PHASE_SUM, /*   */ "x--------x--x--x", "-x------x-----xx"},
    {PHASE_STREAM, /**/ "x--------x--x--x", "-x------x-----xx"},
    {PHASE_ALIGN, /* */ "x-----------xx-x", "-x-----------xxx"},
    {PHASE_CLOSE, /* */ "x--------x--x--x", "-x------------xx"},
    {PHASE_OVER, /*  */ "x-----------x--x", "--------------xx"},
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
    /* Columns: gather, agree, confirm, round, share, sum, stream, align, close, over. */
    static const char *const next[PHASES] = {
        [PHASE_GATHER] = "-x-------x", [PHASE_AGREE] = "xxx------x", [PHASE_CONFIRM] = "xx-xx-xxxx",
        [PHASE_ROUND] = "xx----x-xx",  [PHASE_SHARE] = "xx--xx--xx", [PHASE_SUM] = "xx--x---xx",
        [PHASE_STREAM] = "xx-x----xx", [PHASE_ALIGN] = "xx-------x", [PHASE_CLOSE] = "xx-------x",
        [PHASE_OVER] = "x---------",
    };

    (void)state;
    for (int from = 0; from < PHASES; from++) {
        for (int to = 0; to < PHASES; to++)
            assert_int_equal(phase_allows((enum phase)from, (enum phase)to), next[from][to] == 'x');
    }
}

static void test_every_phase_can_end_and_then_only_another_job_begins(void **state)
{
    (void)state;
    for (int p = 0; p < PHASE_OVER; p++) {
        assert_true(phase_allows((enum phase)p, PHASE_OVER));
        assert_int_equal(phase_allows(PHASE_OVER, (enum phase)p), p == PHASE_GATHER);
        /* Each phase but the last is bounded: no peer can make a session wait for ever. */
        assert_true(phase_row((enum phase)p)->limit[0] != LIMIT_NONE);
        assert_true(phase_row((enum phase)p)->limit[1] != LIMIT_NONE);
    }
}

/* Nothing that depends on a row may leave a party, nor a gradient the server, before all hold one
 * view: the phases of data are entered from CONFIRM and from each other alone. */
static void test_data_flows_only_after_the_confirmations(void **state)
{
    (void)state;
    for (int p = 0; p < PHASES; p++) {
        bool plays = p >= PHASE_ROUND && p <= PHASE_CLOSE;

        assert_int_equal(phase_plays((enum phase)p), plays);
        assert_int_equal(phase_expects((enum phase)p, true, WIRE_UPLOAD),
                         plays && p != PHASE_ALIGN);
        assert_int_equal(phase_expects((enum phase)p, true, WIRE_SHARE), p == PHASE_SHARE);
        assert_int_equal(phase_expects((enum phase)p, false, WIRE_BROADCAST),
                         plays && p != PHASE_CLOSE && p != PHASE_ALIGN);
        assert_int_equal(phase_expects((enum phase)p, true, WIRE_BATCH), p == PHASE_ALIGN);
        assert_int_equal(phase_expects((enum phase)p, false, WIRE_BATCH), p == PHASE_ALIGN);
        assert_int_equal(phase_expects((enum phase)p, false, WIRE_RELAY), p == PHASE_SHARE);
        for (int q = PHASE_ROUND; q <= PHASE_CLOSE; q++)
            assert_true(!phase_allows((enum phase)p, (enum phase)q) || plays || p == PHASE_CONFIRM);
    }
}

/* What was missed is sent to a party before its hello, at no other time. */
static void test_who_is_behind_catches_up_while_keys_are_agreed(void **state)
{
    (void)state;
    for (int p = 0; p < PHASES; p++) {
        assert_int_equal(phase_expects((enum phase)p, true, WIRE_BEHIND), p == PHASE_AGREE);
        assert_int_equal(phase_expects((enum phase)p, false, WIRE_REPLAY), p == PHASE_AGREE);
        assert_false(phase_expects((enum phase)p, false, WIRE_BEHIND));
        assert_false(phase_expects((enum phase)p, true, WIRE_REPLAY));
    }
}

/* SUM follows shares of the same round only, and never another SUM; a round that deals keys or
 * data has none and is followed by the next SHARE. */
static void test_shares_are_added_up_once_everybody_has_shared(void **state)
{
    (void)state;
    for (int p = 0; p < PHASES; p++)
        assert_int_equal(phase_allows((enum phase)p, PHASE_SUM), p == PHASE_SHARE);
    assert_true(phase_allows(PHASE_SHARE, PHASE_SHARE));
    assert_false(phase_allows(PHASE_ROUND, PHASE_SHARE));
    assert_false(phase_allows(PHASE_STREAM, PHASE_SHARE));
}

/* From CLOSE nothing is trained again in the same generation. */
static void test_after_the_last_broadcast_no_round_opens(void **state)
{
    (void)state;
    for (int q = PHASE_ROUND; q <= PHASE_CLOSE; q++) {
        assert_false(phase_allows(PHASE_CLOSE, (enum phase)q));
        assert_int_equal(phase_allows((enum phase)q, PHASE_CLOSE),
                         q != PHASE_CLOSE && q != PHASE_ALIGN);
    }
}

static void test_rows_stand_at_their_phase_with_name_clause_and_answer(void **state)
{
    static const struct {
        const char *name, *clause;
        enum wire_kind says, answers;
        enum phase_quorum quorum;
        enum phase_limit late; /* where parties are done without */
        enum phase_spares spares;
    } row[PHASES] = {
        {"gather", "2.1", WIRE_NONE, WIRE_JOIN, QUORUM_ROSTER, LIMIT_PATIENCE, SPARES_NOBODY},
        {"agree", "2.2", WIRE_OFFER, WIRE_HELLO, QUORUM_MEMBERS, LIMIT_DEADLINE, SPARES_NOBODY},
        {"confirm", "2.5", WIRE_HELLOS, WIRE_CONFIRM, QUORUM_MEMBERS, LIMIT_DEADLINE,
         SPARES_NOBODY},
        {"round", "3.1", WIRE_BROADCAST, WIRE_UPLOAD, QUORUM_MEMBERS, LIMIT_DEADLINE,
         SPARES_PARTIAL},
        {"share", "3.3", WIRE_BROADCAST, WIRE_SHARE, QUORUM_MEMBERS, LIMIT_DEADLINE, SPARES_SHARED},
        {"sum", "3.4", WIRE_RELAY, WIRE_UPLOAD, QUORUM_DECODES, LIMIT_DEADLINE, SPARES_DECODES},
        {"stream", "3.5", WIRE_BROADCAST, WIRE_UPLOAD, QUORUM_ANY, LIMIT_PATIENCE, SPARES_ANYBODY},
        {"align", "3.35", WIRE_BATCH, WIRE_BATCH, QUORUM_MEMBERS, LIMIT_PATIENCE, SPARES_NOBODY},
        {"close", "3.6", WIRE_BROADCAST, WIRE_KEPT, QUORUM_MEMBERS, LIMIT_DEADLINE,
         SPARES_ANSWERED},
        {"over", "4.1", WIRE_FINISH, WIRE_NONE, QUORUM_NONE, LIMIT_NONE, SPARES_NOBODY},
    };

    (void)state;
    for (int p = 0; p < PHASES; p++) {
        const struct phase_row *r = phase_row((enum phase)p);

        assert_int_equal(r->phase, p);
        assert_string_equal(r->name, row[p].name);
        assert_string_equal(r->clause, row[p].clause);
        assert_int_equal(r->server_says, row[p].says);
        assert_int_equal(r->member_answers, row[p].answers);
        assert_int_equal(r->quorum[0], row[p].quorum);
        assert_int_equal(r->quorum[1], p == PHASE_GATHER ? QUORUM_PRESENT : row[p].quorum);
        assert_int_equal(r->limit[0], p == PHASE_OVER ? LIMIT_NONE : LIMIT_PATIENCE);
        assert_int_equal(r->limit[1], row[p].late);
        assert_int_equal(r->patiences, p == PHASE_AGREE ? 10 : 1);
        assert_int_equal(r->spares, row[p].spares);
        /* What the server says is taken, and so is its answer. */
        if (row[p].answers != WIRE_NONE)
            assert_true(phase_expects((enum phase)p, true, row[p].answers));
    }
}

static void test_a_phase_lasts_as_long_as_its_row_says(void **state)
{
    (void)state;
    for (int p = 0; p < PHASES; p++) {
        const struct phase_row *r = phase_row((enum phase)p);
        uint64_t late = r->limit[1] == LIMIT_DEADLINE ? 7 : 300;

        assert_int_equal(phase_limit_ms((enum phase)p, false, 300, 7),
                         p == PHASE_OVER ? UINT64_MAX : 300);
        assert_int_equal(phase_limit_ms((enum phase)p, true, 300, 7),
                         p == PHASE_OVER ? UINT64_MAX : late);
    }
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
    static const char *const some[] = {
        "| gather | 2.1 | - | join | the roster (drop: those present) | patience_ms | - | agree "
        "over |\n",
        "| agree | 2.2 | offer | hello | all members | patience_ms (drop: deadline_ms), again at "
        "progress, 10 times | - | gather agree confirm over |\n",
        "| round | 3.1 | broadcast | upload | all members | patience_ms (drop: deadline_ms) | "
        "anybody, of a partial sum | gather agree stream close over |\n",
        "| sum | 3.4 | relay | upload | as many as decode | patience_ms (drop: deadline_ms) | "
        "anybody, if the rest decodes | gather agree share close over |\n",
        "| over | 4.1 | finish | - | - | - | - | gather |\n",
    };
    struct buf out;
    size_t lines = 0;

    (void)state;
    buf_init(&out, 4096);
    assert_int_equal(phase_print(&out), STATUS_OK);
    for (size_t i = 0; i < out.len; i++)
        lines += out.data[i] == '\n';
    assert_int_equal(lines, 2 + PHASES);
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        assert_non_null(memmem(out.data, out.len, some[i], strlen(some[i])));
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
        cmocka_unit_test(test_every_phase_can_end_and_then_only_another_job_begins),
        cmocka_unit_test(test_data_flows_only_after_the_confirmations),
        cmocka_unit_test(test_who_is_behind_catches_up_while_keys_are_agreed),
        cmocka_unit_test(test_shares_are_added_up_once_everybody_has_shared),
        cmocka_unit_test(test_after_the_last_broadcast_no_round_opens),
        cmocka_unit_test(test_rows_stand_at_their_phase_with_name_clause_and_answer),
        cmocka_unit_test(test_a_phase_lasts_as_long_as_its_row_says),
        cmocka_unit_test(test_a_phase_beyond_the_table_aborts),
        cmocka_unit_test(test_the_printed_table_has_a_row_for_each_phase),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
