/* test_full_round.c -- the protocol, as a transcript.  Read this first.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/mem.h"
#include "tests/sim/sim.h"
#include "tests/sim/world.h"

static const uint64_t HOUR_US = 3600000000ull;

/* Six rows in batches of three: two steps, then one evaluation, which is also what carries the last
 * gradient. */
static void test_a_run_is_this_transcript(void **state)
{
    struct sim_options o = {.parties = 3};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_run(s, HOUR_US);
    assert_string_equal(sim_transcript(s), "p1: join\n"
                                           "p2: join\n"
                                           "p3: join\n"
                                           "server: offer 1\n"
                                           "p1: hello\n"
                                           "p2: hello\n"
                                           "p3: hello\n"
                                           "server: hellos\n"
                                           "p1: confirm\n"
                                           "p2: confirm\n"
                                           "p3: confirm\n"
                                           "server: confirms\n"
                                           "server: broadcast open train 0\n"
                                           "p1: upload\n"
                                           "p2: upload\n"
                                           "p3: upload\n"
                                           "server: broadcast close 0 open train 1\n"
                                           "p1: upload\n"
                                           "p2: upload\n"
                                           "p3: upload\n"
                                           "server: broadcast close 1 open evaluate test 0\n"
                                           "p1: upload\n"
                                           "p2: upload\n"
                                           "p3: upload\n"
                                           "server: broadcast last\n"
                                           "p1: kept\n"
                                           "p2: kept\n"
                                           "p3: kept\n"
                                           "server: finish completed\n");
    assert_true(sim_server_end(s)->over);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(sim_party_end(s, i)->over);
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
        assert_int_equal(sim_party_report(s, i)->progress.applied, 2);
    }
    assert_int_equal(sim_server_report(s)->rounds, 2);
    assert_int_equal(sim_server_report(s)->void_rounds, 0);
    assert_true(sim_server_report(s)->measured.scored.test.has[SCORE_ACCURACY]);
    sim_free(s);
}

static void model_of(const char *const *sets, char head[65], char bottom[65])
{
    struct sim_options o = {.parties = 3, .train_rows = 20, .quiet = true};
    struct sim *s;

    for (size_t i = 0; sets != NULL && sets[i] != NULL; i++)
        o.sets[i] = sets[i];
    s = sim_new(&o);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    sim_model(s, SIM_SERVER, head);
    sim_model(s, 1, bottom);
    sim_free(s);
}

static void test_masked_and_clear_give_the_same_model(void **state)
{
    const char *clear[] = {"protocol.aggregation=clear", NULL},
               *other[] = {"protocol.pbm.trials=17", NULL};
    char head[65], bottom[65], head2[65], bottom2[65];

    (void)state;
    model_of(NULL, head, bottom);
    model_of(clear, head2, bottom2);
    assert_string_equal(head, head2);
    assert_string_equal(bottom, bottom2);
    model_of(other, head2, bottom2);
    assert_string_not_equal(head, head2);
    assert_string_not_equal(bottom, bottom2);
}

static void test_gaussian_codes_give_the_same_model_under_every_aggregation(void **state)
{
    static const char *const ways[] = {"protocol.aggregation=masked", "protocol.aggregation=coded",
                                       "protocol.aggregation=clear"};
    char head[3][65], bottom[3][65], other_head[65], other[65];

    (void)state;
    for (int k = 0; k < 3; k++) {
        const char *sets[] = {"protocol.encoding=gaussian", ways[k], NULL};

        model_of(sets, head[k], bottom[k]);
        assert_string_equal(head[k], head[0]);
        assert_string_equal(bottom[k], bottom[0]);
    }
    model_of((const char *[]){"protocol.encoding=gaussian", "protocol.gaussian.levels=17", NULL},
             other_head, other);
    assert_string_not_equal(other_head, head[0]);
    assert_string_not_equal(other, bottom[0]);
}

static void test_a_seeded_run_repeats_itself(void **state)
{
    char head[65], bottom[65], head2[65], bottom2[65];

    (void)state;
    model_of(NULL, head, bottom);
    model_of(NULL, head2, bottom2);
    assert_string_equal(head, head2);
    assert_string_equal(bottom, bottom2);
}

static void test_every_combination_that_the_plan_admits_completes(void **state)
{
    static const char *const ways[][6] = {
        {"protocol.encoding=fixed"},
        {"protocol.encoding=float32", "protocol.aggregation=clear"},
        {"protocol.encoding=gaussian", "protocol.aggregation=clear"},
        {"protocol.encoding=gaussian", "protocol.straggler=drop"},
        {"protocol.encoding=gaussian", "protocol.aggregation=coded", "model.fusion=mean"},
        {"protocol.encoding=gaussian", "protocol.local_view=refreshed"},
        {"protocol.encoding=gaussian", "protocol.aggregation=clear", "model.fusion=concat"},
        {"protocol.encoding=float32", "protocol.aggregation=clear", "model.fusion=concat"},
        {"protocol.encoding=pbm", "protocol.aggregation=clear", "model.fusion=concat"},
        {"model.fusion=mean", "model.head=[6]", "training.optimizer=adam", "model.init=he"},
        {"protocol.local_iterations=3", "training.schedule=inverse_sqrt",
         "training.optimizer=momentum"},
        {"training.evaluate_train=true", "training.evaluate_every=0.5", "training.epochs=2.5"},
        {"model.binary_loss=sigmoid", "training.evaluate_every=0", "model.init=torch"},
        {"protocol.straggler=drop"},
    };

    (void)state;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        struct sim_options o = {.parties = 3, .train_rows = 8, .quiet = true};
        struct sim *s;
        for (size_t i = 0; i < 6 && ways[w][i] != NULL; i++)
            o.sets[i] = ways[w][i];
        s = sim_new(&o);
        sim_run(s, HOUR_US);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        assert_true(sim_party_end(s, 2)->over);
        assert_int_equal(sim_party_end(s, 2)->outcome, OUTCOME_COMPLETED);
        sim_free(s);
    }
}

static void test_what_is_charged_is_what_is_sent(void **state)
{
    struct sim_options o = {.parties = 3,
                            .train_rows = 50,
                            .test_rows = 11,
                            .quiet = true,
                            .sets = {"training.epochs=2.4", "training.evaluate_train=true"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(sim_uploaded(s, i) > 0);
        assert_int_equal(sim_charged(s, i), sim_uploaded(s, i));
    }
    sim_free(s);
}

/* With the same rows to train and to test on, and without noise.  Otherwise the training scores are
 * what the epoch's own sums gave, of models on their way. */
static void test_a_sweep_over_the_training_rows_gives_their_scores_of_one_model(void **state)
{
    static const char *const sweeps[] = {"training.evaluate_train=false",
                                         "training.evaluate_train=true"};

    (void)state;
    for (int swept = 0; swept < 2; swept++) {
        struct sim_options o = {
            .parties = 3,
            .train_rows = 12,
            .test_rows = 12,
            .quiet = true,
            .sets = {"protocol.encoding=float32", "protocol.aggregation=clear", sweeps[swept]}};
        struct sim *s = sim_new(&o);
        const struct score *train, *test;

        for (uint32_t i = 0; i < 3; i++) {
            const struct table *of = &s->party[i].train;
            memcpy(s->party[i].test.x, of->x, of->rows * of->cols * sizeof *of->x);
        }
        sim_run(s, HOUR_US);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        train = &sim_server_report(s)->measured.scored.train;
        test = &sim_server_report(s)->measured.scored.test;
        assert_true(train->has[SCORE_LOSS] && test->has[SCORE_LOSS]);
        assert_int_equal(train->value[SCORE_LOSS] == test->value[SCORE_LOSS], swept);
        sim_free(s);
    }
}

static void test_a_round_allocates_nothing_after_the_first(void **state)
{
    struct sim_options o = {.parties = 4,
                            .train_rows = 3000,
                            .quiet = true,
                            .sets = {"training.evaluate_every=0", "protocol.local_iterations=2"}};
    struct sim *s = sim_new(&o);
    uint64_t before, rounds;

    (void)state;
    sim_run(s, 200000);
    rounds = sim_server_report(s)->rounds;
    assert_true(rounds > 1 && rounds < 200);
    before = mem_count();
    sim_run(s, 800000);
    assert_true(sim_server_report(s)->rounds > rounds + 100);
    assert_int_equal(mem_count(), before);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_is_this_transcript),
        cmocka_unit_test(test_masked_and_clear_give_the_same_model),
        cmocka_unit_test(test_gaussian_codes_give_the_same_model_under_every_aggregation),
        cmocka_unit_test(test_a_seeded_run_repeats_itself),
        cmocka_unit_test(test_every_combination_that_the_plan_admits_completes),
        cmocka_unit_test(test_what_is_charged_is_what_is_sent),
        cmocka_unit_test(test_a_sweep_over_the_training_rows_gives_their_scores_of_one_model),
        cmocka_unit_test(test_a_round_allocates_nothing_after_the_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
