/* test_misbehave_phase.c -- every message in every phase that the phase table does not allow it in,
 * from the server and from a party: refused, and the run can be started again without loss.
 *
 * The phases are those that a script's landings find their receivers in; the table alone says what
 * is wrong there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/flight.h"
#include "tests/sim/misbehave_scripts.h"

#include "party/core.h"
#include "server/parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A message of this kind lands first. */
static void say_first(struct mis *m, struct flight *f)
{
    const enum wire_kind *kind = m->owner;
    struct sim *s = m->sim;
    struct buf frame = {0};
    struct wire_msg msg;

    mis_template(&msg, *kind,
                 f->up ? s->server->fed.set.generation
                       : s->party[f->party].session->fed.set.generation);
    mis_pack(&frame, &msg);
    flight_put_before(s, f, &frame);
    buf_deinit(&frame);
}

/* Before p2 has joined the server knows nobody to speak of phases with. */
static bool wrong_there(const struct mis_landing *l, enum wire_kind kind)
{
    if (l->up && l->kind == WIRE_JOIN)
        return kind != WIRE_JOIN;
    if (l->up && kind == WIRE_JOIN)
        return true; /* once on every connection */
    return !phase_expects(l->phase, l->up, kind);
}

static void try_phase(struct mis_tally *t, size_t at)
{
    const struct mis_landing *l = &t->script->at[at];

    for (enum wire_kind kind = WIRE_NONE + 1; kind < WIRE_KINDS; kind++) {
        struct mis m = {.at = at, .act = say_first, .owner = &kind};
        unsigned may = MIS(REFUSED);

        if (!wrong_there(l, kind))
            continue;
        /* Overtaken by the end of a generation: late, not wrong (docs/protocol.md, 3.2). */
        if (l->up && l->phase == PHASE_GATHER && l->kind != WIRE_JOIN)
            may = MIS(SAME);
        snprintf(m.name, sizeof m.name, "%s in phase %s%s, %s", wire_kind_name(kind),
                 phase_row(l->phase)->name, l->up && l->kind == WIRE_JOIN ? " before join" : "",
                 l->up ? "up" : "down");
        mis_expect(t, &m, may);
    }
}

static void every_message_in_every_wrong_phase(enum mis_which which, size_t least)
{
    struct mis_tally t = {.script = mis_script(which), .what = "wrong phases"};
    bool seen[2][2][PHASES] = {0};

    mis_record(mis_script(which));
    for (size_t i = 0; i < t.script->n; i++) {
        const struct mis_landing *l = &t.script->at[i];
        bool *known = &seen[l->up][l->kind == WIRE_JOIN][l->phase];

        if (!*known)
            try_phase(&t, i);
        *known = true;
    }
    mis_forget(mis_script(which));
    mis_close(&t, least);
}

static void test_no_message_is_taken_in_a_wrong_phase_masked(void **state)
{
    (void)state;
    every_message_in_every_wrong_phase(MIS_MASKED, 90);
}

static void test_no_message_is_taken_in_a_wrong_phase_coded(void **state)
{
    (void)state;
    every_message_in_every_wrong_phase(MIS_CODED, 90);
}

static void test_no_message_is_taken_in_a_wrong_phase_fedvs(void **state)
{
    (void)state;
    every_message_in_every_wrong_phase(MIS_FEDVS, 90);
}

static void test_no_message_is_taken_in_a_wrong_phase_clear(void **state)
{
    (void)state;
    every_message_in_every_wrong_phase(MIS_CLEAR, 90);
}

static void test_no_message_is_taken_in_a_wrong_phase_once(void **state)
{
    (void)state;
    every_message_in_every_wrong_phase(MIS_ONCE, 90);
}

static void test_no_message_is_taken_in_a_wrong_phase_drop(void **state)
{
    (void)state;
    every_message_in_every_wrong_phase(MIS_DROP, 90);
}

static void test_no_message_is_taken_in_a_wrong_phase_async(void **state)
{
    (void)state;
    every_message_in_every_wrong_phase(MIS_ASYNC, 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_message_is_taken_in_a_wrong_phase_masked),
        cmocka_unit_test(test_no_message_is_taken_in_a_wrong_phase_coded),
        cmocka_unit_test(test_no_message_is_taken_in_a_wrong_phase_fedvs),
        cmocka_unit_test(test_no_message_is_taken_in_a_wrong_phase_clear),
        cmocka_unit_test(test_no_message_is_taken_in_a_wrong_phase_once),
        cmocka_unit_test(test_no_message_is_taken_in_a_wrong_phase_drop),
        cmocka_unit_test(test_no_message_is_taken_in_a_wrong_phase_async),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
