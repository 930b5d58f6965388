/* test_misbehave_replay.c -- what was said once is said again: at once, with the next message, in
 * the next generation, after the process was started anew, and at the end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/flight.h"
#include "tests/sim/misbehave_scripts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* Landing number *owner lands before this one; where it is this one, twice in a row. */
static void say_again(struct mis *m, struct flight *f)
{
    flight_put_before(m->sim, f, &m->frame[*(const size_t *)m->owner]);
}

/* The next landing in the same direction from `at` on, after `generation`; c->n: none. */
static size_t next(const struct mis_script *c, size_t at, bool up, uint64_t generation)
{
    while (at < c->n && (c->at[at].up != up || c->at[at].generation <= generation))
        at++;
    return at;
}

static size_t last(const struct mis_script *c, bool up)
{
    size_t at = c->n - 1;

    while (c->at[at].up != up)
        at--;
    return at;
}

/* Data that p2 sends in answer to landing `at` before it is told anything else. */
static uint32_t answers_to(const struct mis_script *c, size_t at)
{
    uint32_t n = 0;

    if (c->at[at].up)
        return 0;
    for (size_t i = at + 1; i < c->n && c->at[i].up; i++)
        n += c->at[i].kind == WIRE_UPLOAD || c->at[i].kind == WIRE_SHARE;
    return n;
}

/* The answer to this landing is where the script kills p2. */
static bool dies_of(const struct mis_script *c, size_t at)
{
    return c->rules_n > 0 && c->rule[0].act == SIM_KILL && at + 1 < c->n && c->at[at + 1].up &&
           c->at[at + 1].kind == WIRE_JOIN;
}

static unsigned may_end(const struct mis_script *c, size_t which, size_t at)
{
    const struct mis_landing *said = &c->at[which], *now = &c->at[at];
    uint64_t generation = 0;

    for (size_t i = 0; i <= at; i++) {
        if (c->at[i].generation > generation)
            generation = c->at[i].generation;
    }
    if (said->kind == WIRE_FINISH || said->kind == WIRE_KEPT)
        return MIS(SAME); /* behind the end; at any time, as often as one likes (3.6) */
    if (said->up && said->generation > 0 &&
        (said->generation < generation || (now->phase == PHASE_GATHER && now->kind != WIRE_JOIN)))
        return MIS(SAME) | MIS(REFUSED); /* late, not wrong (3.2); of the round under way, wrong */
    if (said->up && now->phase == PHASE_GATHER && (now->kind != WIRE_JOIN || which == at))
        return MIS(SAME) | MIS(REFUSED);
    if (!said->up && which == at && said->opens && dies_of(c, at))
        return MIS(SAME); /* p2 was killed in between */
    if (said->kind == WIRE_OFFER && now->phase == PHASE_GATHER && at > which)
        return MIS(SAME); /* to a new process, which has said nothing in that generation */
    return MIS(REFUSED);
}

static void try_again(struct mis_tally *t, size_t which, size_t at, const char *when)
{
    const struct mis_script *c = t->script;
    struct mis m = {.at = at, .act = say_again, .owner = &which};

    if (at >= c->n)
        return;
    if (at == which)
        m.answers = answers_to(c, at);
    snprintf(m.name, sizeof m.name, "%s %zu, %s, again %s (%zu, %s)",
             c->at[which].up ? "up" : "down", which, wire_kind_name(c->at[which].kind), when, at,
             phase_row(c->at[at].phase)->name);
    mis_expect(t, &m, may_end(c, which, at));
}

static void everything_again(enum mis_which script, size_t least)
{
    struct mis_script *c = mis_script(script);
    struct mis_tally t = {.script = c, .what = "repetitions"};

    mis_record(c);
    for (size_t i = 0; i < c->n; i++) {
        const struct mis_landing *l = &c->at[i];
        size_t soon = next(c, i + 1, l->up, 0), later = next(c, i + 1, l->up, l->generation),
               end = last(c, l->up);

        try_again(&t, i, i, "at once");
        try_again(&t, i, soon, "with the next");
        if (later != soon)
            try_again(&t, i, later, "in the next generation");
        if (end > i && end != soon && end != later)
            try_again(&t, i, end, "at the end");
    }
    mis_forget(c);
    mis_close(&t, least);
}

static void test_nothing_is_taken_twice_masked(void **state)
{
    (void)state;
    everything_again(MIS_MASKED, 50);
}

static void test_nothing_is_taken_twice_coded(void **state)
{
    (void)state;
    everything_again(MIS_CODED, 50);
}

static void test_nothing_is_taken_twice_fedvs(void **state)
{
    (void)state;
    everything_again(MIS_FEDVS, 50);
}

static void test_nothing_is_taken_twice_clear(void **state)
{
    (void)state;
    everything_again(MIS_CLEAR, 50);
}

static void test_nothing_is_taken_twice_by_who_came_back(void **state)
{
    (void)state;
    everything_again(MIS_BEHIND, 50);
}

static void test_nothing_is_taken_twice_once(void **state)
{
    (void)state;
    everything_again(MIS_ONCE, 40);
}

static void test_nothing_is_taken_twice_drop(void **state)
{
    (void)state;
    everything_again(MIS_DROP, 30);
}

static void test_nothing_is_taken_twice_async(void **state)
{
    (void)state;
    everything_again(MIS_ASYNC, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_taken_twice_masked),
        cmocka_unit_test(test_nothing_is_taken_twice_coded),
        cmocka_unit_test(test_nothing_is_taken_twice_fedvs),
        cmocka_unit_test(test_nothing_is_taken_twice_clear),
        cmocka_unit_test(test_nothing_is_taken_twice_by_who_came_back),
        cmocka_unit_test(test_nothing_is_taken_twice_once),
        cmocka_unit_test(test_nothing_is_taken_twice_drop),
        cmocka_unit_test(test_nothing_is_taken_twice_async),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
