/* test_crash_local.c -- processes die at any message of runs with local views, turns, residuals and
 * weights of components, come back from their disks, and the run goes on to the models of an
 * undisturbed one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/inside.h"
#include "tests/sim/deaths.h"
#include "tests/sim/world.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
enum { PARTIES = 3, SETS = 10 };

#define REFRESHED "protocol.local_view=refreshed"
#define FEEDBACK "protocol.error_feedback=true"
#define CLEAR "protocol.aggregation=clear"
#define CONCAT "model.fusion=concat"

static struct sim_options options_of(const char *const sets[SETS])
{
    struct sim_options o = {
        .parties = PARTIES,
        .train_rows = 10,
        .checkpoint_rounds = 3,
        .quiet = true,
        .watch = true,
        .sets = {"training.epochs=2", "training.batch=4", "protocol.local_iterations=2"},
        .party_sets = {"policy.encodings=[pbm, fixed, float32, gaussian, scalar, lattice, e8, "
                       "topk]"},
    };

    for (size_t i = 0; i < SETS && sets[i] != NULL; i++)
        o.sets[3 + i] = sets[i];
    return o;
}

static void dies_at_every_message(const char *const sets[SETS], bool unseeded)
{
    struct sim_options o = options_of(sets);

    o.unseeded = unseeded;
    deaths_at_every_message(&o, sets[1]);
}

static void dies_whenever(const char *const sets[SETS])
{
    struct sim_options o = options_of(sets);

    deaths_whenever(&o, sets[1]);
}

static const char *const of_views[][SETS] = {
    {CLEAR, "protocol.encoding=float32", REFRESHED},
    {"protocol.aggregation=masked", "protocol.encoding=pbm", REFRESHED, "protocol.label_holders=1"},
    {"protocol.aggregation=coded", "protocol.encoding=pbm", REFRESHED,
     "training.evaluate_train=true"},
    {CLEAR, "protocol.encoding=pbm", REFRESHED, CONCAT, "training.optimizer=adam"},
    {"protocol.aggregation=masked", "protocol.encoding=fixed", REFRESHED, "protocol.proximal=0.2",
     "protocol.gradient.type=int8"},
    {CLEAR, "protocol.encoding=gaussian", REFRESHED, "model.output=identity", "model.embedding=2"},
};

static void test_whoever_dies_in_a_refreshed_run_the_models_are_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof of_views / sizeof *of_views; i++) {
        dies_at_every_message(of_views[i], false);
        dies_whenever(of_views[i]);
    }
}

static const char *const of_turns[][SETS] = {
    {CLEAR, "protocol.encoding=float32", "protocol.local_order=sequential"},
    {CLEAR, "protocol.encoding=pbm", "protocol.local_order=sequential", REFRESHED,
     "training.optimizer=momentum"},
};

static void test_the_same_of_a_run_in_turns(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof of_turns / sizeof *of_turns; i++) {
        dies_at_every_message(of_turns[i], false);
        dies_whenever(of_turns[i]);
    }
}

static const char *const of_compressors[][SETS] = {
    {CLEAR, "protocol.encoding=e8", FEEDBACK},
    {CLEAR, "protocol.encoding=topk", "protocol.bits=8"},
    {CLEAR, "protocol.encoding=topk", "protocol.bits=8", FEEDBACK, REFRESHED, CONCAT},
    {CLEAR, "protocol.encoding=lattice", FEEDBACK, REFRESHED, "protocol.label_holders=2"},
    {CLEAR, "protocol.encoding=scalar", FEEDBACK, REFRESHED, "protocol.local_order=sequential"},
};

static void test_the_same_of_residuals_and_weights(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof of_compressors / sizeof *of_compressors; i++) {
        dies_at_every_message(of_compressors[i], false);
        dies_whenever(of_compressors[i]);
    }
}

/* Noise is nobody's to keep: a replay needs none, and nothing is refused. */
static void test_runs_without_a_seed_end_well_whoever_dies(void **state)
{
    static const char *const sets[][SETS] = {
        {"protocol.aggregation=masked", "protocol.encoding=pbm", REFRESHED},
        {CLEAR, "protocol.encoding=pbm", REFRESHED, CONCAT},
        {CLEAR, "protocol.encoding=gaussian", REFRESHED},
    };

    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        dies_at_every_message(sets[i], true);
}

/* The codes of the others are whole numbers.  What a party has of them is not: it took the value
 * out that its own code stood for, which it knows in every process, and not its draw. */
struct whole {
    struct sim *sim;
    uint32_t party, looks, replays, broken;
};

static void look_at_others(struct wire_msg *msg, void *owner)
{
    struct whole *w = owner;
    const struct party_session *p = w->sim->party[w->party].session;
    const struct plan *plan = &inside(p)->course.plan;
    const double unit = plan->protocol.clip / (plan->protocol.pbm.beta * plan->protocol.pbm.trials);

    (void)msg;
    for (uint32_t i = 0; inside(p)->learner.applied > 0 && i < plan->model.embedding; i++) {
        double codes = (double)inside(p)->learner.refresh.others[i] / unit;

        w->broken += fabs(codes - round(codes)) > 1e-4;
        w->looks++;
    }
}

/* dies: and does not live to be sent it again. */
static void run_with_a_break(struct whole *w, bool dies)
{
    static const char *const sets[SETS] = {"protocol.aggregation=masked", "protocol.encoding=pbm",
                                           REFRESHED};
    struct sim_options o = options_of(sets);

    o.unseeded = true;
    *w = (struct whole){.sim = sim_new(&o), .party = PARTIES - 1};
    /* The last upload of a round has arrived, and its party hears nothing of what came of it. */
    sim_rule(w->sim, (struct sim_rule){.act = SIM_CUT_BEFORE,
                                       .from = SIM_SERVER,
                                       .party = PARTIES - 1,
                                       .kind = WIRE_BROADCAST,
                                       .nth = 3});
    if (dies)
        sim_rule(w->sim, (struct sim_rule){
                             .act = SIM_KILL, .from = PARTIES - 1, .kind = WIRE_BEHIND, .nth = 1});
    sim_rule(w->sim, (struct sim_rule){.act = SIM_ALTER,
                                       .from = PARTIES - 1,
                                       .kind = WIRE_UPLOAD,
                                       .alter = look_at_others,
                                       .owner = w});
    sim_run(w->sim, HOUR_US);
    (void)deaths_models(w->sim, PARTIES, "a break");
    w->replays = sim_sent(w->sim, SIM_SERVER, WIRE_REPLAY);
}

static void test_a_party_takes_out_its_value_and_not_its_draw_in_every_process(void **state)
{
    (void)state;
    for (int dies = 0; dies < 2; dies++) {
        struct whole w;

        run_with_a_break(&w, dies == 1);
        assert_true(w.looks > 0 && w.replays == 1);
        assert_true(w.broken > 0);
        sim_free(w.sim);
    }
}

/* --- a journal that lost records, with residuals --- */

static void test_parties_that_go_back_take_their_residuals_along(void **state)
{
    struct sim_options o = options_of(of_compressors[2]);
    const struct deaths_calm want = deaths_calm(&o);
    uint64_t repeated = 0;

    (void)state;
    for (uint64_t us = 12000; us < want.length_us; us += 1000) {
        struct sim *s = sim_new(&o);

        sim_lose_records(s, 2);
        sim_kill_at(s, SIM_SERVER, us);
        sim_run(s, HOUR_US);
        if (sim_server_end(s)->outcome == OUTCOME_COMPLETED) {
            struct deaths_models got = deaths_models(s, PARTIES, "power cut");

            assert_memory_equal(&want.models, &got, sizeof got);
            repeated += sim_uploaded(s, 0) > 2 * 10 + 3;
        }
        sim_free(s);
    }
    assert_true(repeated > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whoever_dies_in_a_refreshed_run_the_models_are_the_same),
        cmocka_unit_test(test_the_same_of_a_run_in_turns),
        cmocka_unit_test(test_the_same_of_residuals_and_weights),
        cmocka_unit_test(test_runs_without_a_seed_end_well_whoever_dies),
        cmocka_unit_test(test_a_party_takes_out_its_value_and_not_its_draw_in_every_process),
        cmocka_unit_test(test_parties_that_go_back_take_their_residuals_along),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
