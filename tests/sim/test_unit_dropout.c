/* test_unit_dropout.c -- model.dropout and model.head_dropout: masks of a step are the same whoever
 * dies, nobody outside can tell of them, and evaluations are by all units.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/parts.h"
#include "tests/sim/deaths.h"
#include "tests/sim/expect.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

static const char *const runs[][3] = {
    {"protocol.aggregation=masked", "protocol.encoding=pbm", "training.optimizer=adam"},
    {"protocol.aggregation=coded", "protocol.encoding=gaussian", "model.fusion=mean"},
    {"protocol.aggregation=clear", "protocol.encoding=float32", "protocol.local_iterations=3"},
    {"protocol.aggregation=masked", "protocol.encoding=fixed", "protocol.gradient.form=factored"},
    {"protocol.aggregation=clear", "protocol.encoding=pbm", "training.party_dropout=0.4"},
};
enum { RUNS = sizeof runs / sizeof *runs };

static struct sim_options options_of(size_t i, const char *head, const char *bottom)
{
    return (struct sim_options){
        .parties = 3,
        .train_rows = 10,
        .checkpoint_rounds = 3,
        .quiet = true,
        .watch = true,
        .sets = {"training.epochs=2", "training.batch=4", "model.head=[6]", runs[i][0], runs[i][1],
                 runs[i][2], "training.seed=3", head},
        .party_sets = {"policy.encodings=[pbm, fixed, gaussian, float32]", "model.layers=[7, 5]",
                       bottom},
    };
}

static struct sim_options with_both(size_t i)
{
    return options_of(i, "model.head_dropout=0.3", "model.dropout=0.4");
}

static void test_whoever_dies_the_models_are_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUNS; i++) {
        const struct sim_options o = with_both(i);

        deaths_at_every_message(&o, runs[i][0]);
        deaths_whenever(&o, runs[i][0]);
    }
}

/* The law above says nothing where nothing is dropped: either of the two makes another head and
 * other bottoms. */
static void test_either_dropout_makes_another_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUNS; i++) {
        const struct sim_options o[3] = {
            options_of(i, "model.head_dropout=0", "model.dropout=0"),
            options_of(i, "model.head_dropout=0.3", "model.dropout=0"),
            options_of(i, "model.head_dropout=0", "model.dropout=0.4"),
        };
        struct deaths_models m[3];

        for (int k = 0; k < 3; k++)
            m[k] = deaths_calm(&o[k]).models;
        for (int k = 1; k < 3; k++)
            for (int who = 0; who < 4; who++)
                assert_string_not_equal(m[0].of[who], m[k].of[who]);
    }
}

/* Unseeded each party draws for itself: runs end well, no more can be said. */
static void test_unseeded_runs_end_well_whoever_dies(void **state)
{
    struct sim_options o = with_both(0);

    (void)state;
    o.unseeded = true;
    deaths_at_every_message(&o, "unseeded");
}

/* As many messages of the same bytes, for which everybody is charged the same. */
static void test_masks_send_and_cost_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUNS; i++) {
        uint64_t charged[2], uploaded[2], sent[2];

        for (int k = 0; k < 2; k++) {
            struct sim_options o =
                k == 0 ? options_of(i, "model.head_dropout=0", "model.dropout=0") : with_both(i);
            struct sim *s = sim_new(&o);

            sim_run(s, HOUR_US);
            expect_completed(s);
            charged[k] = sim_charged(s, 1);
            uploaded[k] = sim_uploaded(s, 1);
            sent[k] = sim_sent(s, 1, WIRE_UPLOAD);
            sim_free(s);
        }
        assert_true(charged[0] > 0);
        assert_int_equal(charged[0], charged[1]);
        assert_int_equal(uploaded[0], uploaded[1]);
        assert_int_equal(sent[0], sent[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whoever_dies_the_models_are_the_same),
        cmocka_unit_test(test_either_dropout_makes_another_model),
        cmocka_unit_test(test_unseeded_runs_end_well_whoever_dies),
        cmocka_unit_test(test_masks_send_and_cost_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
