/* test_best.c -- the best model is what every side keeps: as a run leaves it that ended there.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/expect.h"
#include "tests/sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

enum { PARTIES = 3, STEPS = 3 /* an epoch */, SETS = 12 };

struct mode {
    const char *name, *set[6], *party_set[4];
};

/* The noise makes scores go up and down; a large step makes them. */
static const struct mode modes[] = {
    {.name = "masked", .set = {"training.learning_rate=2"}},
    {.name = "coded", .set = {"protocol.aggregation=coded", "training.learning_rate=2"}},
    {.name = "drop", .set = {"protocol.straggler=drop", "training.learning_rate=2"}},
    {.name = "clear",
     .set = {"protocol.aggregation=clear", "protocol.encoding=float32", "training.learning_rate=2"},
     .party_set = {"policy.encodings=[float32]", "policy.aggregations=[clear]"}},
    {.name = "fedvs",
     .set = {"protocol.aggregation=fedvs", "protocol.encoding=fixed", "training.learning_rate=2",
             "model.fusion=mean"},
     .party_set = {"model.layers=[]", "model.polynomial.degree=1", "policy.encodings=[fixed]"}},
};
enum { MODES = sizeof modes / sizeof modes[0] };

struct texts {
    char epochs[32], patience[32];
};

static struct sim_options options(const struct mode *m, struct texts *t, const char *epochs,
                                  unsigned patience)
{
    struct sim_options o = {
        .parties = PARTIES,
        .train_rows = 18,
        .test_rows = 14,
        .validate_rows = 9,
        .checkpoint_rounds = 4,
        .sets = {"training.batch=6", "data.validate=0.5", "training.best_by=loss",
                 "protocol.patience_ms=2000"},
        .party_sets = {"data.validate=0.5", "policy.max_learning_rate=5", "policy.min_parties=2"}};
    size_t n = 4, parties = 3;

    snprintf(t->epochs, sizeof t->epochs, "training.epochs=%s", epochs);
    snprintf(t->patience, sizeof t->patience, "training.patience=%u", patience);
    o.sets[n++] = t->epochs;
    o.sets[n++] = t->patience;
    for (size_t i = 0; m->set[i] != NULL; i++)
        o.sets[n++] = m->set[i];
    for (size_t i = 0; m->party_set[i] != NULL; i++)
        o.party_sets[parties++] = m->party_set[i];
    return o;
}

/* What a run leaves. */
struct left {
    char model[PARTIES + 1][65];
    struct server_measured measured;
    uint64_t steps;
};

static void leaves(struct left *out, struct sim *s)
{
    const struct server_report *rep = sim_server_report(s);

    expect_completed(s);
    out->measured = rep->measured;
    out->steps = rep->steps;
    for (int who = SIM_SERVER; who < PARTIES; who++)
        sim_model(s, who, out->model[who + 1]);
}

static void assert_same_models(const struct left *a, const struct left *b)
{
    for (size_t i = 0; i <= PARTIES; i++)
        assert_string_equal(a->model[i], b->model[i]);
}

static void play(struct left *out, const struct sim_options *o)
{
    struct sim *s = sim_new(o);

    sim_run(s, HOUR_US);
    leaves(out, s);
    for (uint32_t i = 0; i < PARTIES; i++)
        assert_int_equal(out->measured.settled ? out->measured.best.step : 0,
                         sim_party_report(s, i)->progress.best);
    sim_free(s);
}

/* --- the law --- */

static void test_the_model_is_that_of_a_run_that_ended_at_the_best_evaluation(void **state)
{
    (void)state;
    for (size_t i = 0; i < MODES; i++) {
        struct texts t, u;
        struct sim_options o = options(&modes[i], &t, "40", 3), shorter;
        struct left best, ended;
        char epochs[16];

        play(&best, &o);
        assert_true(best.measured.settled);
        assert_true(best.measured.best.step < best.steps); /* else this shows nothing */
        assert_true(best.steps < 40 * STEPS);
        assert_int_equal(best.steps, best.measured.best.step + 3 * STEPS);
        snprintf(epochs, sizeof epochs, "%g", best.measured.best.epoch);
        shorter = options(&modes[i], &u, epochs, 0);
        shorter.sets[2] = "training.evaluate_every=1"; /* best_by has no meaning there */
        play(&ended, &shorter);
        assert_false(ended.measured.settled);
        assert_same_models(&best, &ended);
        assert_memory_equal(&best.measured.best.scored, &ended.measured.scored,
                            sizeof ended.measured.scored);
    }
}

static void test_without_patience_the_last_model_is_kept(void **state)
{
    struct texts t, u;
    struct sim_options o = options(&modes[0], &t, "6", 0), patient = options(&modes[0], &u, "6", 9);
    struct left last, best;

    (void)state;
    o.sets[2] = "training.evaluate_every=1";
    play(&last, &o);
    play(&best, &patient);
    assert_int_equal(6 * STEPS, last.steps);
    assert_int_equal(6 * STEPS, best.steps); /* patience was not over */
    assert_false(last.measured.settled);
    assert_true(best.measured.settled && best.measured.best.step < 6 * STEPS);
    assert_string_not_equal(last.model[0], best.model[0]);
    assert_string_not_equal(last.model[1], best.model[1]);
}

/* Validation rows score apart from test rows, and both are scored. */
static void test_rows_to_choose_by_are_no_test_rows(void **state)
{
    struct texts t;
    struct sim_options o = options(&modes[3], &t, "2", 5);
    struct left left;

    (void)state;
    play(&left, &o);
    assert_true(left.measured.scored.validate.has[SCORE_LOSS]);
    assert_true(left.measured.scored.test.has[SCORE_LOSS]);
    assert_true(left.measured.scored.test.value[SCORE_LOSS] <
                    left.measured.scored.validate.value[SCORE_LOSS] ||
                left.measured.scored.test.value[SCORE_LOSS] >
                    left.measured.scored.validate.value[SCORE_LOSS]);
}

/* --- deaths --- */

/* Whoever dies, and whenever: the same models. */
static void test_a_death_at_any_message_changes_nothing(void **state)
{
    static const enum wire_kind kinds[] = {WIRE_UPLOAD, WIRE_BROADCAST, WIRE_KEPT};
    struct texts t;
    struct sim_options o = options(&modes[0], &t, "40", 3);
    struct left whole, mended;
    uint32_t deaths = 0;

    (void)state;
    play(&whole, &o);
    for (size_t k = 0; k < 3; k++) {
        const int who = kinds[k] == WIRE_BROADCAST ? SIM_SERVER : 1;

        for (uint32_t nth = 1; nth < 60; nth++) {
            struct sim *s = sim_new(&o);

            sim_rule(
                s,
                (struct sim_rule){
                    .act = SIM_KILL, .from = who, .party = SIM_ANY, .kind = kinds[k], .nth = nth});
            sim_run(s, HOUR_US);
            leaves(&mended, s);
            assert_same_models(&whole, &mended);
            assert_int_equal(whole.measured.best.step, mended.measured.best.step);
            deaths += sim_sent(s, who, kinds[k]) >= nth;
            sim_free(s);
        }
    }
    assert_true(deaths > 80);
}

/* All that is left of the party is its first checkpoint: what it is replayed passes the best
 * evaluation, and others after that. */
static void test_a_replay_past_the_best_evaluation_keeps_it(void **state)
{
    struct texts t;
    struct sim_options o = options(&modes[0], &t, "40", 3);
    struct left whole, mended;

    (void)state;
    o.checkpoint_rounds = 1000;
    play(&whole, &o);
    for (uint64_t later = 1; later <= 3 * STEPS; later++) {
        struct sim *s = sim_new(&o);

        sim_run_to_step(s, whole.measured.best.step + later - 1);
        sim_kill_at(s, 1, sim_now_us(s) + 1);
        sim_run(s, HOUR_US);
        assert_true(sim_server_report(s)->degraded.replayed >= whole.measured.best.step);
        leaves(&mended, s);
        assert_same_models(&whole, &mended);
        sim_free(s);
    }
}

/* A party that sits the best evaluation out under drop has its bottom of then: it has not moved. */
static void test_a_party_that_sits_out_keeps_what_it_had_then(void **state)
{
    struct texts t;
    struct sim_options o = options(&modes[2], &t, "40", 3);
    const struct server_report *rep;
    struct sim *s = sim_new(&o);

    (void)state;
    sim_break_at(
        s, (struct sim_break){.what = SIM_CUT, .who = 2, .at_us = 60000, .down_us = 20000000});
    sim_run(s, HOUR_US);
    expect_completed(s);
    rep = sim_server_report(s);
    assert_true(rep->measured.settled);
    for (uint32_t i = 0; i < PARTIES; i++)
        assert_true(sim_party_report(s, i)->progress.left_out ||
                    sim_party_report(s, i)->progress.best == rep->measured.best.step);
    sim_free(s);
}

/* --- a server that names what it cannot know --- */

struct lie {
    uint64_t step;
};

static void name_step(struct wire_msg *m, void *owner)
{
    m->broadcast.best = ((const struct lie *)owner)->step;
}

static void refused(const struct mode *m, unsigned patience, uint32_t nth, uint64_t step)
{
    struct texts t;
    struct sim_options o = options(m, &t, "6", patience);
    struct lie lie = {step};
    struct sim *s;

    if (patience == 0)
        o.sets[2] = "training.evaluate_every=1";
    s = sim_new(&o);
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = 1,
                                  .kind = WIRE_BROADCAST,
                                  .nth = nth,
                                  .alter = name_step,
                                  .owner = &lie});
    sim_run(s, HOUR_US);
    assert_true(sim_party_end(s, 1)->over);
    assert_int_equal(STATUS_PROTOCOL, sim_party_end(s, 1)->error.status);
    assert_non_null(strstr(sim_party_end(s, 1)->error.text, "best evaluation"));
    sim_free(s);
}

static void test_a_step_without_an_evaluation_is_refused(void **state)
{
    (void)state;
    refused(&modes[0], 3, 8, STEPS - 1); /* none was due */
    refused(&modes[0], 3, 3, 5 * STEPS); /* not there yet */
    refused(&modes[0], 3, 3, UINT64_MAX);
    refused(&modes[0], 0, 8, STEPS); /* none is kept under this plan */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_model_is_that_of_a_run_that_ended_at_the_best_evaluation),
        cmocka_unit_test(test_without_patience_the_last_model_is_kept),
        cmocka_unit_test(test_rows_to_choose_by_are_no_test_rows),
        cmocka_unit_test(test_a_death_at_any_message_changes_nothing),
        cmocka_unit_test(test_a_replay_past_the_best_evaluation_keeps_it),
        cmocka_unit_test(test_a_party_that_sits_out_keeps_what_it_had_then),
        cmocka_unit_test(test_a_step_without_an_evaluation_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
