/* test_best.c -- the best model is what every side keeps: as a run leaves it that ended there.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/expect.h"
#include "tests/sim/sim.h"
#include "tests/sim/world.h"

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

static const struct mode once = {
    .name = "once",
    .set = {"training.releases=once", "model.init=he", "training.learning_rate=2"},
    .party_set = {"model.train=frozen", "model.layers=[8, 8]"}};

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
    uint64_t steps, uploaded;
};

static void leaves(struct left *out, struct sim *s)
{
    const struct server_report *rep = sim_server_report(s);

    expect_completed(s);
    out->measured = rep->measured;
    out->steps = rep->steps;
    out->uploaded = sim_uploaded(s, 0);
    for (int who = SIM_SERVER; who < PARTIES; who++)
        sim_model(s, who, out->model[who + 1]);
}

static void assert_same_models(const struct left *a, const struct left *b)
{
    for (size_t i = 0; i <= PARTIES; i++)
        assert_string_equal(a->model[i], b->model[i]);
}

/* Member by member: between and behind them anything may stand. */
static void assert_same_scored(const struct server_scored *a, const struct server_scored *b)
{
    const struct score *x[] = {&a->train, &a->validate, &a->test},
                       *y[] = {&b->train, &b->validate, &b->test};

    for (size_t i = 0; i < 3; i++) {
        assert_memory_equal(x[i]->value, y[i]->value, sizeof x[i]->value);
        assert_memory_equal(x[i]->has, y[i]->has, sizeof x[i]->has);
    }
}

static void assert_same_scores(const struct left *a, const struct left *b)
{
    assert_int_equal(a->measured.settled, b->measured.settled);
    assert_int_equal(a->measured.best.step, b->measured.best.step);
    assert_same_scored(&a->measured.best.scored, &b->measured.best.scored);
}

/* Of whose bottoms none changes: the best one is the head's alone. */
static bool has_copies(const struct sim *s)
{
    return s->plan.training.releases != RELEASES_ONCE;
}

static void play(struct left *out, const struct sim_options *o)
{
    struct sim *s = sim_new(o);

    sim_run(s, HOUR_US);
    leaves(out, s);
    for (uint32_t i = 0; i < PARTIES; i++)
        assert_int_equal(out->measured.settled && has_copies(s) ? out->measured.best.step : 0,
                         sim_party_report(s, i)->progress.best);
    sim_free(s);
}

/* --- the law --- */

static void ends_at_its_best(const struct mode *m, struct left *best)
{
    struct texts t, u;
    struct sim_options o = options(m, &t, "40", 3), shorter;
    struct left ended;
    char epochs[16];

    play(best, &o);
    assert_true(best->measured.settled);
    snprintf(epochs, sizeof epochs, "%g", best->measured.best.epoch);
    shorter = options(m, &u, epochs, 0);
    shorter.sets[2] = "training.evaluate_every=1"; /* best_by has no meaning there */
    play(&ended, &shorter);
    assert_false(ended.measured.settled);
    assert_same_models(best, &ended);
    assert_same_scored(&best->measured.best.scored, &ended.measured.scored);
}

static void test_the_model_is_that_of_a_run_that_ended_at_the_best_evaluation(void **state)
{
    (void)state;
    for (size_t i = 0; i < MODES; i++) {
        struct left best;

        ends_at_its_best(&modes[i], &best);
        assert_true(best.measured.best.step < best.steps); /* else this shows nothing */
        assert_true(best.steps < 40 * STEPS);
        assert_int_equal(best.steps, best.measured.best.step + 3 * STEPS);
    }
}

/* Steps of the run are one epoch's; the head has its own. */
static void test_so_it_is_of_a_head_that_trains_alone(void **state)
{
    struct left best;

    (void)state;
    ends_at_its_best(&once, &best);
    assert_int_equal(STEPS, best.steps);
    assert_true(best.measured.best.step > STEPS); /* sweeps of the run are no evaluations */
    assert_int_equal(best.measured.sweeps, best.measured.best.step / STEPS + 3);
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
    static const struct {
        int who;
        enum wire_kind kind;
    } at[] = {{1, WIRE_UPLOAD}, {SIM_SERVER, WIRE_BROADCAST}, {1, WIRE_KEPT}};
    struct texts t;
    struct sim_options o = options(&modes[0], &t, "40", 3);
    struct left whole, mended;
    uint32_t deaths = 0;

    (void)state;
    play(&whole, &o);
    for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
        bool died = true;

        for (uint32_t nth = 1; nth < 60 && died; nth++) {
            struct sim *s = sim_new(&o);

            sim_rule(s, (struct sim_rule){.act = SIM_KILL,
                                          .from = at[k].who,
                                          .party = SIM_ANY,
                                          .kind = at[k].kind,
                                          .nth = nth});
            sim_run(s, HOUR_US);
            leaves(&mended, s);
            assert_same_models(&whole, &mended);
            assert_same_scores(&whole, &mended);
            died = sim_sent(s, at[k].who, at[k].kind) >= nth;
            deaths += died;
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

/* A power cut takes the server's last records, and with them the parties' last steps: each goes
 * back to a checkpoint that knows nothing of the evaluation which is the best one by then. */
static void test_parties_that_went_back_keep_the_best_one(void **state)
{
    struct texts t;
    struct sim_options o = options(&modes[0], &t, "40", 3);
    struct left whole, mended;
    uint32_t back = 0;

    (void)state;
    o.checkpoint_rounds = 5;
    play(&whole, &o);
    for (uint64_t later = 0; later <= 3 * STEPS; later++) {
        for (uint32_t lost = 1; lost <= 4; lost++) {
            struct sim *s = sim_new(&o);

            sim_run_to_step(s, whole.measured.best.step + later);
            sim_lose_records(s, lost);
            sim_kill_at(s, SIM_SERVER, sim_now_us(s) + 1);
            sim_run(s, HOUR_US);
            if (sim_server_end(s)->outcome == OUTCOME_COMPLETED) {
                leaves(&mended, s);
                assert_same_models(&whole, &mended);
                assert_same_scores(&whole, &mended);
                back += mended.uploaded > whole.uploaded + o.test_rows; /* more than a round */
            }
            sim_free(s);
        }
    }
    assert_true(back > 10);
}

/* --- the end --- */

/* What a run of the masked mode has whose server dies so long before its end and stays away for
 * longer than any party waits.  True: all parties have ended well without it. */
static bool server_away_at_the_end(const struct sim_options *o, uint64_t at_us, struct left *out)
{
    struct sim *s = sim_new(o);
    uint32_t well = 0;

    sim_break_at(
        s, (struct sim_break){
               .what = SIM_DEATH, .who = SIM_SERVER, .at_us = at_us, .down_us = HOUR_US / 60});
    sim_run(s, HOUR_US);
    for (uint32_t i = 0; i < PARTIES; i++)
        well += sim_party_end(s, i)->outcome == OUTCOME_COMPLETED;
    if (well == PARTIES)
        leaves(out, s);
    sim_free(s);
    return well == PARTIES;
}

static void completes_alone(const struct sim_options *o)
{
    struct left whole, alone;
    uint64_t length_us;
    uint32_t times = 0;
    struct sim *s = sim_new(o);

    sim_run(s, HOUR_US);
    leaves(&whole, s);
    length_us = sim_now_us(s);
    sim_free(s);
    assert_true(whole.measured.settled);
    for (uint64_t before_us = 8000; before_us >= 250; before_us -= 250) {
        if (!server_away_at_the_end(o, length_us - before_us, &alone))
            continue;
        assert_same_models(&whole, &alone);
        assert_same_scores(&whole, &alone);
        times++;
    }
    assert_true(times > 4);
}

/* The head is that of the parties' bottoms: all epochs are done, patience is over, or the head has
 * yet to be trained on sums that were kept. */
static void test_a_server_that_completes_alone_has_the_best_head(void **state)
{
    struct texts t;
    struct sim_options o = options(&modes[0], &t, "6", 9);

    (void)state;
    completes_alone(&o);
    o = options(&modes[0], &t, "40", 3);
    completes_alone(&o);
    o = options(&once, &t, "40", 3);
    completes_alone(&o);
}

/* Killed when it had written that the run is complete, and nothing else yet: the next process has
 * nothing to do but to end. */
static void test_a_server_that_finds_its_run_complete_says_the_same_of_it(void **state)
{
    struct texts t;
    struct sim_options o = options(&modes[0], &t, "40", 3);
    struct left whole;
    char head[65];
    struct sim *before = sim_new(&o), *s;

    (void)state;
    sim_run(before, HOUR_US);
    leaves(&whole, before);
    s = sim_resume(before);
    sim_free(before);
    sim_run(s, HOUR_US);
    assert_int_equal(OUTCOME_COMPLETED, sim_server_end(s)->outcome);
    assert_int_equal(0, sim_sent(s, SIM_SERVER, WIRE_OFFER));
    sim_model(s, SIM_SERVER, head);
    assert_string_equal(whole.model[0], head);
    assert_true(sim_server_report(s)->measured.settled);
    assert_int_equal(whole.measured.best.step, sim_server_report(s)->measured.best.step);
    assert_same_scored(&whole.measured.best.scored, &sim_server_report(s)->measured.best.scored);
    sim_free(s);
}

static void run_until_settled(struct sim *s)
{
    uint32_t settled = 0;
    uint64_t us = 250;

    while (settled < PARTIES) {
        const uint64_t before = sim_now_us(s);

        sim_run(s, us);
        us = sim_now_us(s) == before ? us + 250 : 250;
        settled = 0;
        for (uint32_t i = 0; i < PARTIES; i++)
            settled += sim_party_report(s, i)->progress.best > 0;
        assert_false(sim_server_end(s)->over);
    }
}

/* All have settled when the server dies and loses the last evaluation.  It begins that anew, which
 * may make another one the best, and is gone for good: nobody has a final model then. */
static void test_a_model_whose_evaluation_was_begun_anew_is_not_final(void **state)
{
    struct texts t;
    struct sim_options o = options(&modes[0], &t, "6", 9);
    struct sim *s = sim_new(&o);

    (void)state;
    for (int i = 0; i < PARTIES; i++)
        sim_rule(s, (struct sim_rule){.act = SIM_DELAY, .from = i, .kind = WIRE_KEPT, .us = 90000});
    run_until_settled(s);
    sim_lose_records(s, 1);
    sim_kill_at(s, SIM_SERVER, sim_now_us(s) + 1);
    sim_rule(s, (struct sim_rule){.act = SIM_KILL, /* at the next question after that sweep */
                                  .from = SIM_SERVER,
                                  .party = SIM_ANY,
                                  .kind = WIRE_BROADCAST,
                                  .nth = PARTIES + 1,
                                  .how = {.down_us = HOUR_US}});
    sim_run(s, HOUR_US / 2);
    for (uint32_t i = 0; i < PARTIES; i++) {
        assert_true(sim_party_end(s, i)->over);
        assert_int_equal(OUTCOME_FAILED, sim_party_end(s, i)->outcome);
        assert_false(sim_party_report(s, i)->progress.final);
    }
    sim_free(s);
}

/* What p3 has done by the server's steps, and its bottom when it came back. */
struct absence {
    struct sim *sim;
    uint32_t hellos;
    uint64_t last_before, back;
    char model[65];
};

static void note_hello(struct wire_msg *m, void *owner)
{
    struct absence *a = owner;

    (void)m;
    if (++a->hellos != 2)
        return;
    a->back = sim_server_report(a->sim)->steps;
    sim_model(a->sim, 2, a->model);
}

static void note_upload(struct wire_msg *m, void *owner)
{
    struct absence *a = owner;

    (void)m;
    if (a->hellos == 1)
        a->last_before = sim_server_report(a->sim)->steps;
}

/* True: it was away at the best evaluation, and back before the end. */
static bool sits_out(uint64_t from_step, uint64_t down_us)
{
    struct texts t;
    struct sim_options o = options(&modes[2], &t, "40", 3);
    struct sim *s = sim_new(&o);
    struct absence a = {.sim = s};
    uint64_t best;
    char model[65];
    bool away;

    sim_rule(
        s, (struct sim_rule){
               .act = SIM_ALTER, .from = 2, .kind = WIRE_HELLO, .alter = note_hello, .owner = &a});
    sim_rule(
        s,
        (struct sim_rule){
            .act = SIM_ALTER, .from = 2, .kind = WIRE_UPLOAD, .alter = note_upload, .owner = &a});
    sim_run_to_step(s, from_step);
    sim_break_at(s, (struct sim_break){
                        .what = SIM_CUT, .who = 2, .at_us = sim_now_us(s) + 1, .down_us = down_us});
    sim_run(s, HOUR_US);
    best = sim_server_report(s)->measured.best.step;
    away = a.hellos == 2 && a.last_before < best && best < a.back;
    if (away) {
        expect_completed(s);
        assert_false(sim_party_report(s, 2)->progress.left_out);
        for (uint32_t i = 0; i < PARTIES; i++)
            assert_int_equal(best, sim_party_report(s, i)->progress.best);
        sim_model(s, 2, model);
        assert_string_equal(a.model, model);
    }
    sim_free(s);
    return away;
}

/* A party that sits the best evaluation out under drop has its bottom of then: it has not moved,
 * whatever it has trained since. */
static void test_a_party_that_sits_out_keeps_what_it_had_then(void **state)
{
    uint32_t away = 0;

    (void)state;
    for (uint64_t step = 1; step < 8 * STEPS; step += 2)
        for (uint64_t down_us = 20000; down_us <= 100000; down_us += 20000)
            away += sits_out(step, down_us);
    assert_true(away > 3);
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
        cmocka_unit_test(test_so_it_is_of_a_head_that_trains_alone),
        cmocka_unit_test(test_without_patience_the_last_model_is_kept),
        cmocka_unit_test(test_rows_to_choose_by_are_no_test_rows),
        cmocka_unit_test(test_a_death_at_any_message_changes_nothing),
        cmocka_unit_test(test_a_replay_past_the_best_evaluation_keeps_it),
        cmocka_unit_test(test_parties_that_went_back_keep_the_best_one),
        cmocka_unit_test(test_a_server_that_completes_alone_has_the_best_head),
        cmocka_unit_test(test_a_server_that_finds_its_run_complete_says_the_same_of_it),
        cmocka_unit_test(test_a_model_whose_evaluation_was_begun_anew_is_not_final),
        cmocka_unit_test(test_a_party_that_sits_out_keeps_what_it_had_then),
        cmocka_unit_test(test_a_step_without_an_evaluation_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
