/* test_standing.c -- processes that stand play one job after another: runs of training, new ones
 * and such that go on, and probes, with kills, cuts, stops and refusals in jobs and between them.
 *
 * The law: a run ends with the models that it ends with when nothing else was ever played and
 * nobody was disturbed, however it was interrupted; and each job ends on every side.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/standing.h"
#include "party/core.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

enum { PARTIES = 3, RUNS = 4, DROPS = RUNS - 1, MODELS = PARTIES + 1 };

/* What each run is, and ends with in a federation of its own. */
static struct run {
    const char *sets[4];
    struct standing_job job;
    char model[MODELS][65];
    uint64_t length_us;
} runs[RUNS] = {
    {.sets = {"training.epochs=2", "training.seed=11"}},
    {.sets = {"training.epochs=2", "training.seed=12", "protocol.aggregation=coded"}},
    {.sets = {"training.epochs=1", "training.seed=13", "training.learning_rate=0.5",
              "training.evaluate_every=0"}},
    [DROPS] = {.sets = {"training.epochs=3", "training.seed=14", "protocol.straggler=drop",
                        "protocol.deadline_ms=200"}},
};

static const struct standing_job probe = {.kind = STANDING_PROBE, .numbers = "5"},
                                 refused = {.kind = STANDING_PROBE, .numbers = "0"};

static struct sim_options options_of(const struct run *r)
{
    struct sim_options o = {
        .parties = PARTIES, .train_rows = 12, .checkpoint_rounds = 1, .quiet = true};

    memcpy(o.sets, r->sets, sizeof r->sets);
    return o;
}

/* Who has started anew since has none: "". */
static void models_of(struct sim *s, char out[MODELS][65])
{
    memset(out, 0, MODELS * 65);
    for (int who = SIM_SERVER; who < PARTIES; who++) {
        if (who == SIM_SERVER ? sim_server_report(s)->steps > 0
                              : sim_party_report(s, (uint32_t)who)->planned)
            sim_model(s, who, out[who + 1]);
    }
}

static int undisturbed(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUNS; i++) {
        const struct sim_options o = options_of(&runs[i]);
        struct sim *s = sim_new(&o);

        runs[i].job = (struct standing_job){.kind = STANDING_TRAIN, .plan = s->plan};
        sim_run(s, HOUR_US);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        models_of(s, runs[i].model);
        runs[i].length_us = sim_now_us(s);
        sim_free(s);
    }
    return 0;
}

/* --- one job --- */

static struct sim *standing(uint64_t seed)
{
    struct sim_options o = options_of(&runs[0]);

    o.stands = true;
    o.jitter_us = seed == 0 ? 0 : 900;
    o.work_us = seed == 0 ? 0 : 700;
    o.jitter_seed = seed;
    return sim_new(&o);
}

static const struct sim_end *end_of(const struct sim *s, int who)
{
    return who == SIM_SERVER ? sim_server_end(s) : sim_party_end(s, (uint32_t)who);
}

static void start_who_was_stopped(struct sim *s)
{
    for (int who = SIM_SERVER; who < PARTIES; who++) {
        if (end_of(s, who)->over)
            standing_start(s, who);
    }
}

static void play(struct sim *s, const struct standing_job *job)
{
    standing_play(s, job);
    sim_run(s, 300000);
    start_who_was_stopped(s);
    sim_run(s, HOUR_US);
    assert_false(standing_plays(s));
}

/* Whoever is there is in no job, and waits for the next. */
static void expect_idle(struct sim *s)
{
    assert_int_equal(sim_server_report(s)->presence.phase, PHASE_GATHER);
    for (uint32_t i = 0; i < PARTIES; i++) {
        assert_int_equal(sim_party_report(s, i)->phase, PHASE_GATHER);
        assert_true(s->party[i].session->ended);
        assert_false(sim_party_end(s, i)->over);
    }
}

static void expect_models(struct sim *s, const struct run *r)
{
    char got[MODELS][65];

    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    models_of(s, got);
    for (int m = 0; m < MODELS; m++) {
        if (got[m][0] != 0)
            assert_string_equal(got[m], r->model[m]);
    }
}

static void leave(struct sim *s)
{
    const char *broken = sim_broken(s);

    if (broken != NULL)
        fail_msg("%s", broken);
    sim_free(s);
}

/* --- sequences --- */

static void test_runs_and_probes_follow_each_other(void **state)
{
    struct sim *s = standing(0);

    (void)state;
    for (uint32_t k = 0; k < 2 * RUNS; k++) {
        play(s, &runs[k % RUNS].job);
        expect_models(s, &runs[k % RUNS]);
        expect_idle(s);
        play(s, &probe);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        assert_int_equal(sim_server_end(s)->jobs, 2 * k + 2);
        for (uint32_t i = 0; i < PARTIES; i++) {
            assert_int_equal(sim_party_end(s, i)->jobs, 2 * k + 2);
            assert_int_equal(sim_party_report(s, i)->progress.rounds,
                             0); /* of a run that is over */
            assert_false(sim_party_report(s, i)->planned);
        }
        assert_int_equal(sim_server_report(s)->rounds, 0);
    }
    leave(s);
}

/* A ledger refuses in the middle: that run is over for all, others are played, and it goes on. */
static void test_a_run_that_was_refused_in_the_middle_goes_on_later(void **state)
{
    struct sim *s = standing(0);

    (void)state;
    sim_fail_charge(s, 1, 2, STATUS_BUDGET);
    play(s, &runs[0].job);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_BUDGET);
    assert_true(sim_server_report(s)->steps > 0);
    for (uint32_t i = 0; i < PARTIES; i++)
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_BUDGET);
    expect_idle(s);
    play(s, &runs[1].job);
    expect_models(s, &runs[1]);
    play(s, &refused);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    expect_idle(s);
    play(s, &probe);
    play(s, &runs[0].job);
    expect_models(s, &runs[0]);
    leave(s);
}

/* The clock stands still until something happens. */
static void run_while(struct sim *s, bool (*so)(const struct sim *s))
{
    for (uint64_t us = 1; so(s) && us < HOUR_US; us *= 2) {
        const uint64_t now_us = sim_now_us(s);

        sim_run(s, us);
        us = sim_now_us(s) > now_us ? 1 : us;
    }
}

static bool nobody_ends(const struct sim *s)
{
    return s->party[0].driver.ending == NULL;
}

/* A checkpoint that is under way when the job ends is that job's: nothing of the next is told of
 * it, overwrites it, or keeps something at the same time. */
static void test_the_end_of_a_job_waits_for_its_checkpoint(void **state)
{
    struct sim *s = standing(0);

    (void)state;
    s->options.keep_us = 50000; /* longer than a round takes by far */
    sim_fail_charge(s, 0, 2, STATUS_BUDGET);
    standing_play(s, &runs[0].job);
    run_while(s, nobody_ends);
    assert_int_equal(sim_party_end(s, 0)->jobs, 0);
    assert_true(s->party[0].disk.durable_us > 0);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_BUDGET);
    play(s, &runs[2].job);
    expect_models(s, &runs[2]);
    play(s, &runs[0].job);
    expect_models(s, &runs[0]);
    leave(s);
}

static void test_a_stop_between_jobs_and_in_one_ends_that_process_alone(void **state)
{
    (void)state;
    for (int who = SIM_SERVER; who < PARTIES; who++) {
        struct sim *s = standing(0);

        play(s, &probe);
        sim_stop_at(s, who, sim_now_us(s) + 10);
        sim_run(s, HOUR_US);
        for (int other = SIM_SERVER; other < PARTIES; other++)
            assert_int_equal(end_of(s, other)->over, other == who);
        standing_start(s, who);
        sim_stop_at(s, who, sim_now_us(s) + 20000);
        standing_play(s, &runs[0].job);
        sim_run(s, 1000000);
        assert_int_equal(end_of(s, who)->outcome, OUTCOME_STOPPED);
        assert_true(end_of(s, who)->over);
        standing_start(s, who);
        sim_run(s, HOUR_US);
        if (who == SIM_SERVER)
            play(s, &runs[0].job);
        assert_false(standing_plays(s));
        expect_models(s, &runs[0]);
        leave(s);
    }
}

/* --- the end of a job, missed --- */

enum { AWAY = 1 };

enum miss { CUT_OFF, UNHEARD_BY_SERVER, UNHEARD_BY_PARTY, KILLED, DOWN_FOR_LONG, MISSES };

/* What each party has when the server hears that its model is final: it is kept from then on. */
struct missed {
    struct sim *s;
    enum miss how;
    char kept[PARTIES][65];
};

static void miss_the_end(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    struct missed *e = owner;
    const bool dies = e->how >= KILLED,
               unheard = e->how == UNHEARD_BY_SERVER || e->how == UNHEARD_BY_PARTY;

    if (who != SIM_SERVER && m->kind == WIRE_KEPT && m->kept.final)
        sim_model(s, who, e->kept[who]);
    if (who != SIM_SERVER || to != AWAY || m->kind != WIRE_FINISH)
        return;
    sim_break_at(s, (struct sim_break){.what = dies ? SIM_DEATH : SIM_CUT,
                                       .who = AWAY,
                                       .at_us = sim_now_us(s),
                                       .unheard_us = unheard ? 50000 : 0,
                                       .party_unaware = e->how == UNHEARD_BY_PARTY,
                                       .down_us = e->how == DOWN_FOR_LONG ? 500000 : 0});
}

static void charged(struct sim *s, uint32_t party, const struct action_charge *c, void *owner)
{
    (void)s, (void)party, (void)c, (void)owner;
}

static void over(struct sim *s, int who, void *owner)
{
    (void)s, (void)who, (void)owner;
}

static void ends_without(struct sim *s, struct missed *e, const struct standing_job *job)
{
    s->ear = (struct sim_ear){miss_the_end, charged, over, e};
    standing_play(s, job);
    run_while(s, standing_plays);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    sim_run(s, 1);
    assert_true(!s->party[AWAY].connected || s->party[AWAY].deaf_us > 0);
    s->ear = (struct sim_ear){NULL, NULL, NULL, NULL};
}

/* The server has its end, and who missed it has the model; it takes part in whatever comes, the
 * same run once more, too. */
static void test_who_misses_the_end_of_a_run_has_its_model_and_is_in_the_next_job(void **state)
{
    (void)state;
    for (enum miss how = CUT_OFF; how < MISSES; how++) {
        for (size_t first = 0; first < DROPS; first++) {
            for (size_t second = 0; second < DROPS; second++) {
                struct missed e = {.how = how};
                struct sim *s = standing(0);

                ends_without(s, &e, &runs[first].job);
                for (uint32_t i = 0; i < PARTIES; i++)
                    assert_string_equal(e.kept[i], runs[first].model[i + 1]);
                play(s, &runs[second].job);
                expect_models(s, &runs[second]);
                expect_idle(s);
                play(s, &probe);
                assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
                play(s, &runs[first].job);
                expect_models(s, &runs[first]);
                leave(s);
            }
        }
    }
}

/* Of the shares that it holds nothing is used again: all data are dealt anew. */
static void test_the_same_of_a_run_on_shares_of_data(void **state)
{
    (void)state;
    for (enum miss how = CUT_OFF; how < MISSES; how++) {
        const struct sim_options o = {
            .parties = PARTIES,
            .train_rows = 12,
            .checkpoint_rounds = 1,
            .quiet = true,
            .stands = true,
            .watch = true,
            .party_sets = {"model.layers=[]", "model.polynomial.degree=1"},
            .sets = {"training.epochs=2", "protocol.aggregation=fedvs"}};
        struct sim *s = sim_new(&o);
        const struct standing_job job = {.kind = STANDING_TRAIN, .plan = s->plan};
        struct missed e = {.how = how};
        char again[MODELS][65];

        ends_without(s, &e, &job);
        play(s, &job);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        models_of(s, again);
        for (uint32_t i = 0; i < PARTIES; i++)
            assert_string_equal(again[i + 1], e.kept[i]);
        leave(s);
    }
}

static void test_who_misses_the_end_of_a_probe_is_in_the_next_job(void **state)
{
    (void)state;
    for (enum miss how = CUT_OFF; how < MISSES; how++) {
        struct missed e = {.how = how};
        struct sim *s = standing(0);

        ends_without(s, &e, &probe);
        play(s, &runs[0].job);
        expect_models(s, &runs[0]);
        leave(s);
    }
}

/* The same of a job that somebody ended meanwhile: the operator, or another's ledger. */
static void test_who_is_away_when_a_job_is_ended_is_in_the_next(void **state)
{
    (void)state;
    for (int refused_by_another = 0; refused_by_another < 2; refused_by_another++) {
        for (size_t second = 0; second < DROPS; second++) {
            struct sim *s = standing(0);

            standing_play(s, &runs[0].job);
            sim_run(s, runs[0].length_us / 2);
            sim_break_at(s, (struct sim_break){.what = SIM_DEATH,
                                               .who = AWAY,
                                               .at_us = sim_now_us(s) + 1,
                                               .down_us = 100000});
            sim_run(s, 1000);
            assert_true(standing_plays(s));
            if (refused_by_another)
                sim_fail_charge(s, 0, s->party[0].charges + 1, STATUS_BUDGET);
            else
                world_tell_server(s, &(struct event){.kind = EVENT_CANCEL});
            sim_run(s, HOUR_US);
            assert_false(standing_plays(s));
            assert_int_not_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
            play(s, &runs[second].job);
            expect_models(s, &runs[second]);
            play(s, &runs[0].job);
            expect_models(s, &runs[0]);
            leave(s);
        }
    }
}

/* --- at random --- */

static uint64_t next_random(uint64_t *x)
{
    *x += 0x9e3779b97f4a7c15ull;
    uint64_t z = (*x ^ (*x >> 30)) * 0xbf58476d1ce4e5b9ull;

    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static uint64_t below(uint64_t *x, uint64_t n)
{
    return next_random(x) % n;
}

/* Somebody dies, or a connection breaks, or a ledger says no: soon. */
static void disturb(struct sim *s, uint64_t *x, uint64_t within_us)
{
    const uint64_t at_us = sim_now_us(s) + 1 + below(x, within_us);
    const int who = (int)below(x, PARTIES + 1) - 1;

    s->breaks_n = 0;
    switch (below(x, 6)) {
    case 0: break;
    case 1:
        sim_break_at(s, (struct sim_break){.what = SIM_CUT,
                                           .who = who < 0 ? 0 : who,
                                           .at_us = at_us,
                                           .unheard_us = below(x, 2) * below(x, 30000)});
        break;
    case 2:
    case 3:
        sim_break_at(s, (struct sim_break){.what = SIM_DEATH,
                                           .who = who,
                                           .at_us = at_us,
                                           .down_us = below(x, 30000),
                                           .unheard_us = below(x, 2) * below(x, 20000),
                                           .last_words = below(x, 2) == 0});
        break;
    case 4:
        if (who >= 0)
            sim_fail_charge(s, (uint32_t)who, s->party[who].charges + 1 + (uint32_t)below(x, 3),
                            STATUS_BUDGET);
        break;
    case 5: sim_stop_at(s, who, at_us); break;
    }
}

/* From nothing where it was complete, or on from where it was. */
static void play_run(struct sim *s, size_t which)
{
    play(s, &runs[which].job);
    if (sim_server_end(s)->outcome == OUTCOME_COMPLETED &&
        which != DROPS) /* a party that is done without is not in the model */
        expect_models(s, &runs[which]);
}

static void one_job(struct sim *s, uint64_t *x)
{
    const size_t which = below(x, RUNS);
    const struct run *r = &runs[which];
    const uint64_t kind = below(x, 6);
    const uint32_t before = sim_server_end(s)->jobs;

    disturb(s, x, r->length_us + r->length_us / 4);
    if (below(x, 3) == 0) {
        disturb(s, x, 20000); /* between the jobs */
        sim_run(s, 100000);
        start_who_was_stopped(s);
        s->breaks_n = 0;
    }
    if (kind > 1)
        play_run(s, which);
    else
        play(s, kind == 0 ? &refused : &probe);
    assert_true(sim_server_end(s)->jobs > before);
}

static void test_random_sequences_of_jobs_end_as_each_would_alone(void **state)
{
    uint32_t completed = 0, failed = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct sim *s = standing(seed);
        uint64_t x = seed;

        for (uint64_t jobs = 2 + below(&x, 5); jobs > 0; jobs--) {
            one_job(s, &x);
            completed += sim_server_end(s)->outcome == OUTCOME_COMPLETED;
            failed += sim_server_end(s)->outcome != OUTCOME_COMPLETED;
        }
        for (uint32_t i = 0; i < PARTIES; i++)
            sim_fail_charge(s, i, 0, STATUS_OK);
        s->breaks_n = 0;
        sim_run(s, HOUR_US);
        start_who_was_stopped(s);
        for (size_t i = 0; i < RUNS; i++) {
            play_run(s, i);
            assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
            expect_idle(s);
        }
        leave(s);
    }
    assert_true(completed > 300 && failed > 100);
}

/* A run that is ended in its first round and offered again is another meeting, for which a party
 * counts anew; so it is with any other plan.  What bounds both is that each time is paid for, and
 * that nothing leaves when it cannot be. */
static void test_a_run_that_is_offered_over_and_over_is_paid_for_each_time(void **state)
{
    enum { OFFERED = PARTY_STALLED_MAX + 16, SPENT = PARTY_STALLED_MAX + 11 };
    struct sim *s = standing(0);
    uint32_t in_vain = 0;

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_UPLOAD});
    for (uint32_t i = 0; i < PARTIES; i++)
        sim_fail_charge(s, i, SPENT, STATUS_BUDGET);
    for (uint32_t i = 1; i <= OFFERED; i++) {
        const uint64_t sent = sim_uploaded(s, 0);

        standing_play(s, &runs[0].job);
        sim_run(s, HOUR_US);
        assert_false(standing_plays(s));
        assert_int_equal(sim_server_report(s)->steps, 0);
        assert_int_equal(sim_uploaded(s, 0), sim_charged(s, 0));
        if (sim_uploaded(s, 0) == sent) {
            assert_non_null(strstr(sim_server_end(s)->error.text, "privacy budget"));
            in_vain++;
        }
    }
    assert_int_equal(in_vain, 1);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_and_probes_follow_each_other),
        cmocka_unit_test(test_a_run_that_was_refused_in_the_middle_goes_on_later),
        cmocka_unit_test(test_the_end_of_a_job_waits_for_its_checkpoint),
        cmocka_unit_test(test_a_stop_between_jobs_and_in_one_ends_that_process_alone),
        cmocka_unit_test(test_who_misses_the_end_of_a_run_has_its_model_and_is_in_the_next_job),
        cmocka_unit_test(test_the_same_of_a_run_on_shares_of_data),
        cmocka_unit_test(test_who_misses_the_end_of_a_probe_is_in_the_next_job),
        cmocka_unit_test(test_who_is_away_when_a_job_is_ended_is_in_the_next),
        cmocka_unit_test(test_a_run_that_is_offered_over_and_over_is_paid_for_each_time),
        cmocka_unit_test(test_random_sequences_of_jobs_end_as_each_would_alone),
    };

    return cmocka_run_group_tests(tests, undisturbed, NULL);
}
