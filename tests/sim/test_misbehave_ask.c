/* test_misbehave_ask.c -- a server that asks for more than the plan has, one allowed question after
 * another: no step is released twice in a generation, whatever is asked in between.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/flight.h"
#include "tests/sim/misbehave_scripts.h"

#include "common/base/check.h"
#include "tests/sim/inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A question to p2, right behind the ones before it. */
struct question {
    enum wire_purpose purpose;
    int64_t place; /* TRAIN: steps from the next one on */
};

enum { QUESTIONS_MAX = 4 };

static const struct ask {
    const char *name;
    struct question q[QUESTIONS_MAX];
    size_t n;
    uint32_t answers; /* how many of them may be asked */
} asks[] = {
    {"the same step", {{PURPOSE_TRAIN, 0}, {PURPOSE_TRAIN, 0}}, 2, 1},
    {"the step after it", {{PURPOSE_TRAIN, 0}, {PURPOSE_TRAIN, 1}}, 2, 1},
    {"the step before it", {{PURPOSE_TRAIN, 0}, {PURPOSE_TRAIN, -1}}, 2, 1},
    {"the evaluation twice", {{PURPOSE_EVALUATE_TEST, 0}, {PURPOSE_EVALUATE_TEST, 0}}, 2, 1},
    {"the other evaluation", {{PURPOSE_EVALUATE_TEST, 0}, {PURPOSE_EVALUATE_TRAIN, 0}}, 2, 1},
    {"a step behind the evaluation",
     {{PURPOSE_EVALUATE_TEST, 0}, {PURPOSE_TRAIN, 0}, {PURPOSE_TRAIN, 0}},
     3,
     2},
};

static void ask(struct mis *m, struct flight *f)
{
    const struct ask *a = m->owner;
    const struct party_session *p = m->sim->party[MIS_VICTIM].session;
    struct wire_msg msg = mis_unpack(&f->frame);
    const struct wire_broadcast was = msg.broadcast;

    CHECK(msg.kind == WIRE_BROADCAST && was.opens && was.purpose == PURPOSE_EVALUATE_TEST);
    for (size_t i = 0; i < a->n; i++) {
        bool train = a->q[i].purpose == PURPOSE_TRAIN;

        msg.broadcast = (struct wire_broadcast){.generation = was.generation,
                                                .opens = true,
                                                .round = was.round + i,
                                                .purpose = a->q[i].purpose,
                                                .sweep = train ? 0 : was.sweep};
        if (train)
            msg.broadcast.place = inside(p)->learner.applied + (uint64_t)a->q[i].place;
        if (i == 0)
            mis_pack(&f->frame, &msg);
        else
            flight_add(m->sim, MIS_VICTIM, false, &msg, 0, false);
    }
}

/* The first evaluation on test rows, with steps behind it. */
static size_t evaluation(const struct mis_script *c)
{
    size_t at = 0;

    while (c->at[at].up || !c->at[at].opens || c->at[at].purpose != PURPOSE_EVALUATE_TEST)
        at++;
    return at;
}

static void no_step_twice(enum mis_which which)
{
    struct mis_script c = *mis_script(which);
    struct mis_tally t = {.script = &c, .what = "questions"};
    size_t n = 0;

    while (c.options.sets[n] != NULL)
        n++;
    c.options.sets[n] = "training.epochs=2";
    c.options.sets[n + 1] = "training.evaluate_train=true";
    mis_record(&c);
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        struct mis m = {.at = evaluation(&c),
                        .act = ask,
                        .owner = (void *)(uintptr_t)&asks[i],
                        .answers = asks[i].answers,
                        .mute = true,
                        .unwatched = true};

        snprintf(m.name, sizeof m.name, "%s", asks[i].name);
        mis_expect(&t, &m, MIS(REFUSED));
    }
    mis_forget(&c);
    mis_close(&t, sizeof asks / sizeof *asks);
}

/* --- generations without end --- */

/* One offer after another, each of which would be taken by itself. */
static void offer_again(struct mis *m, struct flight *f)
{
    struct wire_msg msg = mis_unpack(&f->frame);

    for (uint32_t i = 0; i < *(const uint32_t *)m->owner; i++) {
        msg.offer.generation++;
        flight_add(m->sim, MIS_VICTIM, false, &msg, 0, false);
    }
}

static void test_a_step_is_not_asked_for_in_ever_new_generations(void **state)
{
    struct mis_script *c = mis_script(MIS_MASKED);
    struct mis_tally t = {.script = c, .what = "generations"};
    uint32_t more = PARTY_STALLED_MAX, few = PARTY_STALLED_MAX - 1;
    struct mis m = {.name = "offers without end",
                    .act = offer_again,
                    .owner = &more,
                    .names = "generations without a step forward",
                    .alone = true,
                    .taken = true,
                    .mute = true};

    (void)state;
    mis_record(c);
    while (c->at[m.at].kind != WIRE_OFFER)
        m.at++;
    mis_expect(&t, &m, MIS(REFUSED));
    m.owner = &few; /* that many may be the others' fault: its hello is to the last of them */
    m.names = "waiting for p2";
    m.alone = false;
    mis_expect(&t, &m, MIS(REFUSED));
    mis_forget(c);
    mis_close(&t, 2);
}

static void test_no_step_is_released_twice_masked(void **state)
{
    (void)state;
    no_step_twice(MIS_MASKED);
}

static void test_no_step_is_released_twice_clear(void **state)
{
    (void)state;
    no_step_twice(MIS_CLEAR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_step_is_released_twice_masked),
        cmocka_unit_test(test_no_step_is_released_twice_clear),
        cmocka_unit_test(test_a_step_is_not_asked_for_in_ever_new_generations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
