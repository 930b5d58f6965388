/* test_standing.c -- processes that stand play one job after another: runs of training, new ones
 * and such that go on, and probes, with kills, cuts, stops and refusals in jobs and between them
 * (at random: test_sequences.c).
 *
 * The law: a run ends with the models that it ends with when nothing else was ever played and
 * nobody was disturbed, however it was interrupted; and each job ends on every side.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/core.h"
#include "tests/sim/played.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* --- sequences --- */

static void test_runs_and_probes_follow_each_other(void **state)
{
    struct sim *s = played_federation(0);

    (void)state;
    for (uint32_t k = 0; k < 2 * RUNS; k++) {
        played_job(s, &played_runs[k % RUNS].job);
        played_expect_models(s, &played_runs[k % RUNS]);
        played_expect_idle(s);
        played_job(s, &played_probe);
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
    played_leave(s);
}

/* A ledger refuses in the middle: that run is over for all, others are played, and it goes on. */
static void test_a_run_that_was_refused_in_the_middle_goes_on_later(void **state)
{
    struct sim *s = played_federation(0);

    (void)state;
    sim_fail_charge(s, 1, 2, STATUS_BUDGET);
    played_job(s, &played_runs[0].job);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_BUDGET);
    assert_true(sim_server_report(s)->steps > 0);
    for (uint32_t i = 0; i < PARTIES; i++)
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_BUDGET);
    played_expect_idle(s);
    played_job(s, &played_runs[1].job);
    played_expect_models(s, &played_runs[1]);
    played_job(s, &played_refused);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    played_expect_idle(s);
    played_job(s, &played_probe);
    played_job(s, &played_runs[0].job);
    played_expect_models(s, &played_runs[0]);
    played_leave(s);
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
    struct sim *s = played_federation(0);

    (void)state;
    s->options.keep_us = 50000; /* longer than a round takes by far */
    sim_fail_charge(s, 0, 2, STATUS_BUDGET);
    standing_play(s, &played_runs[0].job);
    run_while(s, nobody_ends);
    assert_int_equal(sim_party_end(s, 0)->jobs, 0);
    assert_true(s->party[0].disk.durable_us > 0);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_BUDGET);
    played_job(s, &played_runs[2].job);
    played_expect_models(s, &played_runs[2]);
    played_job(s, &played_runs[0].job);
    played_expect_models(s, &played_runs[0]);
    played_leave(s);
}

static void test_a_stop_between_jobs_and_in_one_ends_that_process_alone(void **state)
{
    (void)state;
    for (int who = SIM_SERVER; who < PARTIES; who++) {
        struct sim *s = played_federation(0);

        played_job(s, &played_probe);
        sim_stop_at(s, who, sim_now_us(s) + 10);
        sim_run(s, HOUR_US);
        for (int other = SIM_SERVER; other < PARTIES; other++)
            assert_int_equal(played_end_of(s, other)->over, other == who);
        standing_start(s, who);
        sim_stop_at(s, who, sim_now_us(s) + 20000);
        standing_play(s, &played_runs[0].job);
        sim_run(s, 1000000);
        assert_int_equal(played_end_of(s, who)->outcome, OUTCOME_STOPPED);
        assert_true(played_end_of(s, who)->over);
        standing_start(s, who);
        sim_run(s, HOUR_US);
        if (who == SIM_SERVER)
            played_job(s, &played_runs[0].job);
        assert_false(standing_plays(s));
        played_expect_models(s, &played_runs[0]);
        played_leave(s);
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
                struct sim *s = played_federation(0);

                ends_without(s, &e, &played_runs[first].job);
                for (uint32_t i = 0; i < PARTIES; i++)
                    assert_string_equal(e.kept[i], played_runs[first].model[i + 1]);
                played_job(s, &played_runs[second].job);
                played_expect_models(s, &played_runs[second]);
                played_expect_idle(s);
                played_job(s, &played_probe);
                assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
                played_job(s, &played_runs[first].job);
                played_expect_models(s, &played_runs[first]);
                played_leave(s);
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
        played_job(s, &job);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        played_models(s, again);
        for (uint32_t i = 0; i < PARTIES; i++)
            assert_string_equal(again[i + 1], e.kept[i]);
        played_leave(s);
    }
}

static void test_who_misses_the_end_of_a_probe_is_in_the_next_job(void **state)
{
    (void)state;
    for (enum miss how = CUT_OFF; how < MISSES; how++) {
        struct missed e = {.how = how};
        struct sim *s = played_federation(0);

        ends_without(s, &e, &played_probe);
        played_job(s, &played_runs[0].job);
        played_expect_models(s, &played_runs[0]);
        played_leave(s);
    }
}

/* The same of a job that somebody ended meanwhile: the operator, or another's ledger. */
static void test_who_is_away_when_a_job_is_ended_is_in_the_next(void **state)
{
    (void)state;
    for (int refused_by_another = 0; refused_by_another < 2; refused_by_another++) {
        for (size_t second = 0; second < DROPS; second++) {
            struct sim *s = played_federation(0);

            standing_play(s, &played_runs[0].job);
            sim_run(s, played_runs[0].length_us / 2);
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
            played_job(s, &played_runs[second].job);
            played_expect_models(s, &played_runs[second]);
            played_job(s, &played_runs[0].job);
            played_expect_models(s, &played_runs[0]);
            played_leave(s);
        }
    }
}

/* A run that is ended in its first round and offered again is another meeting, for which a party
 * counts anew; so it is with any other plan.  What bounds both is that each time is paid for, and
 * that nothing leaves when it cannot be. */
static void test_a_run_that_is_offered_over_and_over_is_paid_for_each_time(void **state)
{
    enum { OFFERED = PARTY_STALLED_MAX + 16, SPENT = PARTY_STALLED_MAX + 11 };
    struct sim *s = played_federation(0);
    uint32_t in_vain = 0;

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_UPLOAD});
    for (uint32_t i = 0; i < PARTIES; i++)
        sim_fail_charge(s, i, SPENT, STATUS_BUDGET);
    for (uint32_t i = 1; i <= OFFERED; i++) {
        const uint64_t sent = sim_uploaded(s, 0);

        standing_play(s, &played_runs[0].job);
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
    };

    return cmocka_run_group_tests(tests, played_alone, NULL);
}
