/* test_sequences.c -- a thousand random sequences of jobs for processes that stand: training, new
 * and gone on with, predictions by three models, probes, and jobs that somebody refuses, with
 * kills, cuts, stops, spent ledgers and absences of an hour.
 *
 * The law: no daemon ends but by its operator's word, each job has an end on every side, nothing
 * leaves uncharged (oracle.h), and what comes of a job is what would have come of it alone.
 *
 *   test_sequences [FIRST [N]]        other sequences, or one of them again
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/core.h"
#include "tests/sim/played.h"
#include "tests/lib/instrumented.h"
#include "tests/sim/world.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SEQUENCES = INSTRUMENTED ? 50 : 1000 };

static uint64_t first = 1, sequences = SEQUENCES, under_way;

/* What each model says of every row when nobody is disturbed. */
enum { MODELS_N = 3, NOISY = MODELS_N - 1, OUTPUTS = 2 };
static struct model {
    const char *sets[4];
    double apart; /* rounding, which hangs on which rows a round was of */
    struct plan plan;
    float score[PREDICTED][OUTPUTS];
} models[MODELS_N] = {
    {.sets = {"protocol.encoding=fixed"}, .apart = 1e-4},
    {.sets = {"protocol.encoding=fixed", "protocol.aggregation=coded", "protocol.fixed.bits=12"},
     .apart = 5e-3},
    [NOISY] = {.sets = {"protocol.encoding=pbm"}, .apart = 1},
};

static struct standing_job wrong; /* a plan that no party's policy takes */

static struct standing_job job_of(const struct model *m, struct standing_question q)
{
    return (struct standing_job){.kind = STANDING_PREDICT, .plan = m->plan, .asked = q};
}

static void plan_of(struct model *m)
{
    struct sim_options o = {.parties = PARTIES, .train_rows = 12, .quiet = true};
    struct sim *s;

    memcpy(o.sets, m->sets, sizeof m->sets);
    s = sim_new(&o);
    m->plan = s->plan;
    assert_int_equal(m->plan.shape.outputs, OUTPUTS);
    sim_free(s);
}

static int alone(void **state)
{
    (void)played_alone(state);
    wrong = played_runs[0].job;
    wrong.plan.training.learning_rate = 5;
    for (size_t i = 0; i < MODELS_N; i++) {
        struct sim *s = played_federation(0);
        struct standing_job all;

        plan_of(&models[i]);
        all = job_of(&models[i], (struct standing_question){.rows = PREDICTED});
        played_job(s, &all);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        for (uint32_t r = 0; r < PREDICTED; r++)
            memcpy(models[i].score[r], standing_score(s, r), sizeof models[i].score[r]);
        played_leave(s);
    }
    return 0;
}

/* --- chance --- */

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
static void disturb(struct sim *s, uint64_t *x, uint64_t within_us, uint64_t longest_us)
{
    const uint64_t at_us = sim_now_us(s) + 1 + below(x, within_us);
    const int who = (int)below(x, PARTIES + 1) - 1;

    s->breaks_n = 0;
    switch (below(x, 7)) {
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
    case 6:
        sim_break_at(s, (struct sim_break){
                            .what = SIM_DEATH, .who = who, .at_us = at_us, .down_us = longest_us});
        break;
    }
}

/* --- one job --- */

/* From nothing where it was complete, or on from where it was. */
static void train(struct sim *s, size_t which)
{
    played_job(s, &played_runs[which].job);
    if (sim_server_end(s)->outcome == OUTCOME_COMPLETED &&
        which != DROPS) /* a party that is done without is not in the model */
        played_expect_models(s, &played_runs[which]);
}

/* Of these ids: those that are kept, too. */
static void expect_scores(const struct sim *s, const struct model *m, uint32_t from, uint32_t n)
{
    for (uint32_t r = from; r < from + n; r++) {
        const float *got = standing_score(s, r);

        assert_non_null(got);
        for (int k = 0; k < OUTPUTS && r < PREDICTED; k++)
            assert_true(fabs((double)(got[k] - m->score[r][k])) <= m->apart);
    }
}

static void predict(struct sim *s, uint64_t *x)
{
    const struct model *m = &models[below(x, MODELS_N)];
    struct standing_question q = {.first = (uint32_t)below(x, PREDICTED),
                                  .batch = (uint32_t)below(x, 4),
                                  .without = below(x, 6) == 0 ? 1 + (uint32_t)below(x, PARTIES) : 0,
                                  .anew = below(x, 2) == 0};
    const bool unknown = below(x, 6) == 0; /* the last id is one that nobody has */
    struct standing_job job;
    uint32_t before = sim_server_end(s)->jobs;
    bool played;

    q.rows = unknown ? PREDICTED + 1 - q.first : 1 + (uint32_t)below(x, PREDICTED - q.first);
    job = job_of(m, q);
    played_job(s, &job);
    played = sim_server_end(s)->jobs > before; /* else all was kept */
    if (!played || sim_server_end(s)->outcome == OUTCOME_COMPLETED) {
        expect_scores(s, m, q.first, q.rows);
        assert_true(!played || q.without == 0);
        assert_true(!played || !unknown || m == &models[NOISY]);
    }
}

/* A party's table has a record more than once was agreed on, or another. */
static void train_by_other_ids(struct sim *s, uint64_t *x)
{
    char *id = sim_party_train(s, (uint32_t)below(x, PARTIES))->id_text;
    const char was = *id;

    s->breaks_n = 0;
    *id = 'x';
    played_job(s, &played_runs[0].job);
    assert_int_not_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    *id = was;
}

enum kind { TRAIN, PREDICT = 4, PLAYED_PROBE = 8, NOBODY_PROBES, WRONG_PLAN, OTHER_IDS, KINDS };

static void one_job(struct sim *s, uint64_t *x)
{
    const size_t which = below(x, RUNS);
    const struct played_run *r = &played_runs[which];
    const uint64_t kind = below(x, KINDS);

    disturb(s, x, r->length_us + r->length_us / 4, HOUR_US);
    if (below(x, 3) == 0) {
        disturb(s, x, 20000, 50000); /* between the jobs */
        sim_run(s, 100000);
        played_start_stopped(s);
        s->breaks_n = 0;
    }
    if (kind < PREDICT)
        train(s, which);
    else if (kind < PLAYED_PROBE)
        predict(s, x);
    else if (kind == OTHER_IDS)
        train_by_other_ids(s, x);
    else
        played_job(s, kind == PLAYED_PROBE    ? &played_probe
                      : kind == NOBODY_PROBES ? &played_refused
                                              : &wrong);
    if (kind == NOBODY_PROBES || kind == WRONG_PLAN)
        assert_int_not_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 0; i < PARTIES; i++)
        assert_true(sim_uploaded(s, i) <= sim_charged(s, i));
}

/* Nobody is in the way any more. */
static void calm(struct sim *s)
{
    for (uint32_t i = 0; i < PARTIES; i++)
        sim_fail_charge(s, i, 0, STATUS_OK);
    s->breaks_n = 0;
    sim_run(s, HOUR_US);
    played_start_stopped(s);
}

static void test_random_sequences_of_jobs_end_as_each_would_alone(void **state)
{
    uint64_t completed = 0, failed = 0;

    (void)state;
    for (uint64_t seed = first; seed < first + sequences; seed++) {
        struct sim *s = played_federation(seed);
        uint64_t x = seed;

        under_way = seed;
        for (uint64_t jobs = 2 + below(&x, 5); jobs > 0; jobs--) {
            one_job(s, &x);
            completed += sim_server_end(s)->outcome == OUTCOME_COMPLETED;
            failed += sim_server_end(s)->outcome != OUTCOME_COMPLETED;
        }
        calm(s);
        for (size_t i = 0; i < RUNS; i++) {
            train(s, i);
            assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
            played_expect_idle(s);
        }
        for (size_t i = 0; i < MODELS_N; i++) {
            struct standing_job all =
                job_of(&models[i], (struct standing_question){.rows = PREDICTED});

            played_job(s, &all);
            assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
            expect_scores(s, &models[i], 0, PREDICTED);
            played_expect_idle(s);
        }
        played_leave(s);
    }
    under_way = 0;
    assert_true(completed > sequences && failed > sequences);
}

static int say_which(void **state)
{
    (void)state;
    if (under_way > 0)
        print_message("sequence %llu\n", (unsigned long long)under_way);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_random_sequences_of_jobs_end_as_each_would_alone, say_which),
    };

    if (argc > 1)
        first = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        sequences = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, alone, NULL);
}
