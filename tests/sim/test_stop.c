/* test_stop.c -- a stop in the middle of a step of several local iterations: the step is left, the
 * model is the one from before it, and a run that goes on from there ends as if nothing had been.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/expect.h"
#include "tests/sim/local_mirror.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define HOUR_US 3600000000ull

enum { WHO = 1, SETS = 8, UPLOADS_MAX = 9 };

static const char *const shapes[][SETS] = {
    {"protocol.aggregation=masked", "protocol.encoding=pbm"},
    {"protocol.aggregation=masked", "protocol.encoding=pbm", "protocol.straggler=drop"},
    {"protocol.aggregation=clear", "protocol.encoding=float32", "training.optimizer=adam"},
    {"protocol.aggregation=clear", "protocol.encoding=float32", "protocol.proximal=0.4"},
    {"protocol.aggregation=clear", "protocol.encoding=topk", "protocol.bits=8",
     "protocol.error_feedback=true"},
    {"protocol.aggregation=clear", "protocol.encoding=topk", "protocol.bits=8",
     "protocol.local_view=refreshed", "protocol.error_feedback=true"},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, UNDER_DROP = 1 };

static struct sim_options options_of(const char *const sets[SETS], bool several)
{
    struct sim_options o = {
        .parties = 3,
        .train_rows = 14,
        .test_rows = 3,
        .columns = LOCAL_COLUMNS,
        .sets = {"training.batch=4", "training.epochs=2", "training.evaluate_every=0",
                 several ? "protocol.local_iterations=3" : "protocol.local_iterations=1"},
        .party_sets = {"model.layers=[]", "policy.aggregations=[masked, clear]",
                       "policy.encodings=[pbm, float32, topk]"},
    };

    for (size_t i = 0; i < SETS && sets[i] != NULL; i++)
        o.sets[4 + i] = sets[i];
    return o;
}

static void interrupt(struct wire_msg *m, void *owner)
{
    struct sim *s = owner;

    (void)m;
    party_session_interrupt(s->party[WHO].session);
}

/* The order comes while the work on the nth broadcast is under way, and is carried out a little
 * later. */
static struct sim *stopped_at(const struct sim_options *o, uint32_t nth)
{
    struct sim *s = sim_new(o);

    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = WHO,
                                  .kind = WIRE_BROADCAST,
                                  .nth = nth,
                                  .alter = interrupt,
                                  .owner = s});
    for (uint64_t us = 100; expect_count(s, "p2: upload\n") < nth - 1 && us < HOUR_US;) {
        uint64_t before = sim_now_us(s);
        sim_run(s, us);
        us = sim_now_us(s) == before ? us + 100 : 100;
    }
    return s;
}

static void models(const struct sim *s, char out[2][65])
{
    sim_model(s, SIM_SERVER, out[0]);
    sim_model(s, WHO, out[1]);
}

static void test_a_step_that_was_left_has_left_no_trace(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        struct sim_options o = options_of(shapes[i], true);

        for (uint32_t nth = 2; nth < UPLOADS_MAX; nth++) {
            struct sim *s = stopped_at(&o, nth);
            uint64_t applied = sim_party_report(s, WHO)->progress.applied;
            char before[65], after[65];

            assert_int_equal(applied, nth - 2);
            sim_model(s, WHO, before);
            sim_run(s, 20000);
            sim_model(s, WHO, after);
            assert_string_equal(before, after);
            assert_int_equal(sim_party_report(s, WHO)->progress.applied, applied);
            assert_int_equal(expect_count(s, "p2: upload\n"), nth - 1);
            sim_free(s);
        }
    }
}

/* The negative twin: a step of one iteration has no middle, and its round is answered. */
static void test_a_step_of_one_iteration_is_taken_to_its_end(void **state)
{
    struct sim_options o = options_of(shapes[0], false);
    struct sim *s = stopped_at(&o, 3);

    (void)state;
    sim_run(s, 20000);
    assert_true(sim_party_report(s, WHO)->progress.applied >= 2);
    assert_true(expect_count(s, "p2: upload\n") >= 3);
    sim_free(s);
}

static void test_a_run_goes_on_from_a_step_that_was_left(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        struct sim_options o = options_of(shapes[i], true);
        struct sim *calm = sim_new(&o);
        char want[2][65], got[2][65];

        sim_run(calm, HOUR_US);
        expect_completed(calm);
        models(calm, want);
        sim_free(calm);
        for (uint32_t nth = 2; nth < UPLOADS_MAX && i != UNDER_DROP; nth++) {
            struct sim *s = stopped_at(&o, nth), *then;

            sim_run(s, 20000);
            sim_stop_at(s, WHO, sim_now_us(s) + 1);
            sim_run(s, 5000);
            assert_int_equal(sim_party_end(s, WHO)->outcome, OUTCOME_STOPPED);
            then = sim_resume(s);
            sim_run(then, HOUR_US);
            expect_completed(then);
            models(then, got);
            assert_string_equal(want[0], got[0]);
            assert_string_equal(want[1], got[1]);
            sim_free(then);
            sim_free(s);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_that_was_left_has_left_no_trace),
        cmocka_unit_test(test_a_step_of_one_iteration_is_taken_to_its_end),
        cmocka_unit_test(test_a_run_goes_on_from_a_step_that_was_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
