/* test_predict_deaths.c -- a process is killed at each message of a job of predictions, the
 * server's and each party's in turn: nothing leaves uncharged (oracle.h), the job has an end on
 * every side, its scores are what they would have been, and what was answered is not asked again.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/core.h"
#include "tests/sim/standing.h"
#include "tests/lib/instrumented.h"
#include "tests/sim/world.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

enum { PARTIES = 3, ROWS = 6, BATCH = 2, OUTPUTS_MAX = 2, TABLES = 2, MESSAGES_MIN = 27 };

enum { ONE_OF = INSTRUMENTED ? 11 : 1 };

/* How a process dies, and how the others hear of it. */
enum manner { AT_ONCE, LAST_WORDS, UNHEARD, AWAY_FOR_LONG, FOR_AN_HOUR, MANNERS };

/* What is played, and what comes of it when nobody dies. */
static struct way {
    const char *sets[4];
    double apart; /* rounding, which hangs on how far a job had come */
    struct plan plan;
    uint32_t messages;
    float score[ROWS][OUTPUTS_MAX];
} ways[] = {
    {.sets = {"protocol.encoding=fixed"}, .apart = 1e-4},
    {.sets = {"protocol.encoding=fixed", "protocol.aggregation=coded", "protocol.fixed.bits=12"},
     .apart = 5e-3},
    {.sets = {"protocol.encoding=pbm"}, .apart = 1},
    {.sets = {"protocol.encoding=pbm", "protocol.aggregation=coded"}, .apart = 1},
    {.sets = {"protocol.encoding=float32", "protocol.aggregation=clear"}, .apart = 1e-4},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* Counts what is said, and has somebody die at one of the messages. */
struct death {
    uint32_t said, at;
    int who;
    enum manner how;
};

static struct sim_break break_of(const struct sim *s, const struct death *d)
{
    return (struct sim_break){.what = SIM_DEATH,
                              .who = d->who,
                              .at_us = sim_now_us(s),
                              .down_us = d->how == FOR_AN_HOUR     ? HOUR_US
                                         : d->how == AWAY_FOR_LONG ? 500000
                                                                   : 0,
                              .unheard_us = d->how == UNHEARD ? 50000 : 0,
                              .last_words = d->how == LAST_WORDS};
}

static void said(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    struct death *d = owner;

    (void)who, (void)to, (void)m;
    if (++d->said == d->at)
        sim_break_at(s, break_of(s, d));
}

static void charged(struct sim *s, uint32_t party, const struct action_charge *c, void *owner)
{
    (void)s, (void)party, (void)c, (void)owner;
}

static void over(struct sim *s, int who, void *owner)
{
    (void)s, (void)who, (void)owner;
}

/* --- one job --- */

static const struct standing_question all_rows = {.rows = ROWS, .batch = BATCH};

static void play(struct sim *s, const struct way *w, struct standing_question q)
{
    const struct standing_job job = {.kind = STANDING_PREDICT, .plan = w->plan, .asked = q};

    standing_play(s, &job);
    sim_run(s, 2 * HOUR_US); /* whoever is away for one is back */
    assert_false(standing_plays(s));
}

static struct sim *federation(const struct way *w)
{
    struct sim_options o = {.parties = PARTIES,
                            .train_rows = 12,
                            .checkpoint_rounds = 1,
                            .predicted = ROWS,
                            .stands = true,
                            .quiet = true};

    memcpy(o.sets, w->sets, sizeof w->sets);
    return sim_new(&o);
}

static void leave(struct sim *s)
{
    const char *broken = sim_broken(s);

    if (broken != NULL)
        fail_msg("%s", broken);
    sim_free(s);
}

static int undisturbed(void **state)
{
    (void)state;
    sim_keep_pages();
    for (int i = 0; i < WAYS; i++) {
        struct way *w = &ways[i];
        struct sim *s = federation(w);
        struct death nobody = {.at = 0};

        w->plan = s->plan;
        s->ear = (struct sim_ear){said, charged, over, &nobody};
        play(s, w, all_rows);
        if (sim_server_end(s)->outcome != OUTCOME_COMPLETED)
            fail_msg("%s", sim_server_end(s)->error.text);
        for (uint32_t r = 0; r < ROWS; r++)
            memcpy(w->score[r], standing_score(s, r), w->plan.shape.outputs * sizeof(float));
        for (uint32_t k = 0; k < PARTIES; k++) {
            assert_int_equal(sim_charged(s, k), ROWS);
            assert_int_equal(sim_uploaded(s, k), ROWS);
        }
        w->messages = nobody.said;
        assert_true(w->messages >= MESSAGES_MIN);
        leave(s);
    }
    return 0;
}

/* Whoever is there has no job, and waits for the next. */
static void expect_an_end(struct sim *s)
{
    assert_int_equal(sim_server_report(s)->presence.phase, PHASE_GATHER);
    for (uint32_t i = 0; i < PARTIES; i++) {
        assert_int_equal(sim_party_report(s, i)->phase, PHASE_GATHER);
        assert_true(s->party[i].session->ended);
        assert_false(sim_party_end(s, i)->over);
    }
}

static void expect_scores(const struct sim *s, const struct way *w)
{
    for (uint32_t r = 0; r < ROWS; r++) {
        const float *got = standing_score(s, r);

        assert_non_null(got);
        for (uint32_t k = 0; k < w->plan.shape.outputs; k++)
            assert_true(fabs((double)(got[k] - w->score[r][k])) <= w->apart);
    }
}

/* What was answered is asked of nobody; what was not, of everybody, and is paid for. */
static void ask_again(struct sim *s, const struct way *w)
{
    uint64_t before[PARTIES], missing = 0;

    for (uint32_t r = 0; r < ROWS; r++)
        missing += standing_score(s, r) == NULL;
    for (uint32_t i = 0; i < PARTIES; i++)
        before[i] = sim_charged(s, i);
    play(s, w, all_rows);
    expect_scores(s, w);
    for (uint32_t i = 0; i < PARTIES; i++)
        assert_int_equal(sim_charged(s, i), before[i] + missing);
}

static void die(const struct way *w, struct death d, uint32_t *failed)
{
    struct sim *s = federation(w);
    bool completed;

    s->ear = (struct sim_ear){said, charged, over, &d};
    play(s, w, all_rows);
    assert_true(d.said >= d.at);
    completed = sim_server_end(s)->outcome == OUTCOME_COMPLETED;
    *failed += !completed;
    if (completed)
        expect_scores(s, w);
    else
        assert_int_equal(d.how, FOR_AN_HOUR); /* for whoever is back sooner the job waits */
    sim_run(s, HOUR_US);
    expect_an_end(s);
    for (uint32_t i = 0; i < PARTIES; i++) {
        assert_true(sim_charged(s, i) >= sim_uploaded(s, i));
        assert_true(sim_charged(s, i) <= 2 * ROWS);
    }
    ask_again(s, w);
    expect_an_end(s);
    leave(s);
}

static void test_a_death_at_any_message_sends_nothing_uncharged_and_ends_nothing_else(void **state)
{
    uint32_t failed = 0;

    (void)state;
    for (int i = 0; i < WAYS; i++)
        for (uint32_t at = 1; at <= ways[i].messages; at += ONE_OF)
            for (int who = SIM_SERVER; who < PARTIES; who++)
                for (enum manner how = AT_ONCE; how < MANNERS; how++)
                    die(&ways[i], (struct death){.at = at, .who = who, .how = how}, &failed);
    assert_true(failed > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_death_at_any_message_sends_nothing_uncharged_and_ends_nothing_else),
    };

    return cmocka_run_group_tests(tests, undisturbed, NULL);
}
