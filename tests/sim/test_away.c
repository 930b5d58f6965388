/* test_away.c -- predictions without parties that stay away: the set is smaller and keyed before
 * anything is masked, the answer says who is missing, each row among another set is charged as
 * another release, and exact sums are of everybody, whatever the server says.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/core.h"
#include "party/predict/parts.h"
#include "server/parts.h"
#include "tests/sim/standing.h"
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
#define WAIT_MS 2000u

enum { PARTIES = 4, ROWS = 6, BATCH = 2, AWAY = 2, OUTPUTS_MAX = 2 };

static const char *const pbm[] = {"protocol.encoding=pbm", NULL};
static const char *const coded[] = {"protocol.encoding=pbm", "protocol.aggregation=coded", NULL};
static const char *const fixed[] = {"protocol.encoding=fixed", NULL};
static const char *const clear[] = {"protocol.encoding=float32", "protocol.aggregation=clear",
                                    NULL};
static const char *const mean[] = {"protocol.encoding=float32", "protocol.aggregation=clear",
                                   "model.fusion=mean", NULL};
static const char *const concat[] = {"protocol.encoding=float32", "protocol.aggregation=clear",
                                     "model.fusion=concat", NULL};
static const char *const dropout[] = {"protocol.encoding=float32", "protocol.aggregation=clear",
                                      "training.party_dropout=0.2", NULL};

static struct sim *federation(const char *const *sets)
{
    struct sim_options o = {.parties = PARTIES,
                            .train_rows = 12,
                            .checkpoint_rounds = 1,
                            .predicted = ROWS,
                            .stands = true,
                            .quiet = true};

    for (int i = 0; sets[i] != NULL; i++)
        o.sets[i] = sets[i];
    return sim_new(&o);
}

static void leave(struct sim *s)
{
    const char *broken = sim_broken(s);

    if (broken != NULL)
        fail_msg("%s", broken);
    sim_free(s);
}

static struct standing_question among(uint32_t least)
{
    return (struct standing_question){
        .rows = ROWS, .batch = BATCH, .min_parties = least, .wait_ms = WAIT_MS};
}

static void ask(struct sim *s, struct standing_question q)
{
    const struct standing_job job = {.kind = STANDING_PREDICT, .plan = s->plan, .asked = q};

    standing_play(s, &job);
}

static void play(struct sim *s, struct standing_question q)
{
    ask(s, q);
    sim_run(s, HOUR_US / 2); /* whoever is away for an hour is still away */
    assert_false(standing_plays(s));
}

static void goes_away(struct sim *s, int who, uint64_t down_us)
{
    sim_break_at(
        s, (struct sim_break){
               .what = SIM_DEATH, .who = who, .at_us = sim_now_us(s) + 1, .down_us = down_us});
    sim_run(s, 1000);
}

static void expect_completed(struct sim *s)
{
    if (sim_server_end(s)->outcome != OUTCOME_COMPLETED)
        fail_msg("%s", sim_server_end(s)->error.text);
}

static void expect_failed(struct sim *s, const char *words)
{
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    if (strstr(sim_server_end(s)->error.text, words) == NULL)
        fail_msg("%s", sim_server_end(s)->error.text);
}

static void expect_missing(const struct sim *s, uint32_t from, uint32_t until, uint64_t who)
{
    for (uint32_t r = from; r < until; r++) {
        assert_non_null(standing_score(s, r));
        assert_int_equal(standing_missing(s, r), who);
    }
}

/* --- away from the start --- */

/* As if it had been there and sent a constant, whatever the head makes of that. */
static void test_who_is_away_is_missing_as_one_that_is_left_out(void **state)
{
    const char *const *const how[] = {clear, mean, concat, dropout};

    (void)state;
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        for (int who = 0; who < PARTIES; who++) {
            struct sim *s = federation(how[i]), *there = federation(how[i]);
            struct standing_question left_out = {.rows = ROWS, .absent = 1ull << who};
            const uint32_t outputs = s->plan.shape.outputs;

            goes_away(s, who, HOUR_US);
            play(s, among(PARTIES - 1));
            expect_completed(s);
            play(there, left_out);
            expect_missing(s, 0, ROWS, 1ull << who);
            expect_missing(there, 0, ROWS, 1ull << who);
            for (uint32_t r = 0; r < ROWS; r++)
                for (uint32_t k = 0; k < outputs; k++)
                    assert_true(fabs((double)(standing_score(s, r)[k] -
                                              standing_score(there, r)[k])) < 1e-6);
            for (int k = 0; k < PARTIES; k++)
                assert_int_equal(sim_charged(s, (uint32_t)k), k == who ? 0 : ROWS);
            leave(s);
            leave(there);
        }
    }
}

/* Nobody is done without where all are there; and where too few are, or more than that were asked
 * for, the job fails by name, and nothing was charged. */
static void test_fewer_than_were_asked_for_answer_nothing(void **state)
{
    static const struct {
        uint32_t least, away;
        bool well;
    } how[] = {{3, 0, true}, {3, 1, true},  {3, 2, false},
               {2, 2, true}, {0, 1, false}, {4, 1, false}};

    (void)state;
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        struct sim *s = federation(pbm);
        const uint64_t began = sim_now_us(s);

        for (uint32_t k = 0; k < how[i].away; k++)
            goes_away(s, (int)k, HOUR_US);
        play(s, among(how[i].least));
        if (how[i].well) {
            expect_completed(s);
            expect_missing(s, 0, ROWS, (1u << how[i].away) - 1);
        } else {
            expect_failed(s, "out of patience in phase gather");
            assert_true(strstr(sim_server_end(s)->error.text, "p1") != NULL);
        }
        for (uint32_t k = 0; k < PARTIES; k++)
            assert_int_equal(sim_charged(s, k), how[i].well && k >= how[i].away ? ROWS : 0);
        assert_true(sim_now_us(s) > began);
        leave(s);
    }
}

/* Whoever asks for more than there are is not in the set, nor is the job, where the rest is too
 * few. */
static void test_each_partys_own_least_holds(void **state)
{
    (void)state;
    for (uint32_t choosy = 0; choosy <= 1; choosy++) {
        for (uint32_t least = 2; least <= 3; least++) {
            struct sim *s = federation(pbm);
            const bool well = choosy == 0 || least == 2;

            s->party[0].config.policy.min_parties = choosy ? PARTIES : 3;
            goes_away(s, AWAY, HOUR_US);
            sim_run(s, 1000);
            play(s, among(least));
            if (well)
                expect_completed(s);
            else
                expect_failed(s, "out of patience");
            assert_int_equal(sim_charged(s, 0), choosy ? 0 : ROWS);
            assert_int_equal(sim_charged(s, 1), well ? ROWS : 0);
            leave(s);
        }
    }
}

/* --- in the middle --- */

/* Tells of the uploads that are on their way, and has somebody go at one. */
struct leaver {
    uint32_t uploads, at;
    int who;
    uint64_t down_us;
};

static void said(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    struct leaver *l = owner;

    (void)who, (void)to;
    if (m->kind == WIRE_UPLOAD && ++l->uploads == l->at)
        sim_break_at(s, (struct sim_break){.what = SIM_DEATH,
                                           .who = l->who,
                                           .at_us = sim_now_us(s),
                                           .down_us = l->down_us});
}

static void charged(struct sim *s, uint32_t party, const struct action_charge *c, void *owner)
{
    (void)s, (void)party, (void)c, (void)owner;
}

static void over(struct sim *s, int who, void *owner)
{
    (void)s, (void)who, (void)owner;
}

/* At each upload of the job: the round under way is asked again among those who are there, or among
 * all when it is back in time, and paid for again; what was scored stays as it was. */
static void test_who_goes_in_the_middle_costs_the_round_under_way(void **state)
{
    static const uint64_t for_us[] = {500000, HOUR_US};
    const char *const *const how[] = {pbm, coded};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        for (uint32_t at = 1; at <= PARTIES * ROWS / BATCH; at++) {
            for (int long_time = 0; long_time < 2; long_time++) {
                struct sim *s = federation(how[i]);
                struct leaver l = {.at = at, .who = AWAY, .down_us = for_us[long_time]};
                const uint32_t whole = (at - 1) / PARTIES * BATCH;
                const uint64_t missing = long_time ? 1u << AWAY : 0;

                s->ear = (struct sim_ear){said, charged, over, &l};
                play(s, among(PARTIES - 1));
                expect_completed(s);
                expect_missing(s, 0, whole, 0);
                for (uint32_t r = whole; r < ROWS; r++) /* or it was in when it went */
                    assert_true(standing_missing(s, r) == missing ||
                                (r < whole + BATCH && standing_missing(s, r) == 0));
                for (uint32_t k = 0; k < PARTIES; k++) {
                    assert_true(sim_charged(s, k) >= sim_uploaded(s, k));
                    assert_true(sim_charged(s, k) <= ROWS + BATCH);
                }
                leave(s);
            }
        }
    }
}

/* At any time: it is in the set again where a round has ended, and no round is asked again. */
static void test_who_comes_back_is_in_the_rounds_that_follow(void **state)
{
    uint32_t both = 0;

    (void)state;
    for (uint64_t us = WAIT_MS * 1000ull - 20000; us < WAIT_MS * 1000ull + 5000; us += 250) {
        struct sim *s = federation(pbm);
        uint32_t without = 0;

        goes_away(s, AWAY, us);
        play(s, among(PARTIES - 1));
        expect_completed(s);
        while (without < ROWS && standing_missing(s, without) != 0)
            without++;
        expect_missing(s, 0, without, 1u << AWAY);
        expect_missing(s, without, ROWS, 0);
        both += without > 0 && without < ROWS;
        for (uint32_t k = 0; k < PARTIES; k++)
            assert_int_equal(sim_charged(s, k), k == AWAY ? ROWS - without : ROWS);
        leave(s);
    }
    assert_true(both > 0);
}

/* One of a smaller set is lost and comes again: nobody waits once more for who was not in it. */
static void test_a_set_that_is_whole_again_goes_on(void **state)
{
    struct sim *s = federation(pbm);
    struct leaver l = {.at = 3, .who = 0, .down_us = 100000};
    uint64_t began;

    (void)state;
    s->ear = (struct sim_ear){said, charged, over, &l};
    goes_away(s, AWAY, HOUR_US);
    began = sim_now_us(s);
    ask(s, among(PARTIES - 1));
    sim_run(s, (WAIT_MS + 1000) * 1000ull);
    assert_false(standing_plays(s));
    expect_completed(s);
    expect_missing(s, 0, ROWS, 1u << AWAY);
    assert_int_equal(sim_charged(s, 1), ROWS + BATCH);
    assert_true(sim_now_us(s) - began <= (WAIT_MS + 1000) * 1000ull);
    leave(s);
}

/* It is connected and says nothing: its connection is closed, and the others go on. */
static void test_who_does_not_answer_is_gone(void **state)
{
    struct sim *s = federation(pbm);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = AWAY, .kind = WIRE_UPLOAD, .nth = 0});
    play(s, among(PARTIES - 1));
    expect_completed(s);
    expect_missing(s, 0, ROWS, 1u << AWAY);
    leave(s);
}

/* --- a server that lies --- */

static const struct party_predict *job_of(const struct sim *s, uint32_t party)
{
    return s->party[party].session->state;
}

/* Of exact sums, in any aggregation, everybody refuses a set of fewer: nothing is charged or sent,
 * before an answer of all or after one. */
static void test_exact_sums_are_never_of_fewer(void **state)
{
    (void)state;
    for (uint64_t denied = 1; denied < 15; denied++) {
        struct sim *s = federation(fixed);
        struct standing_question q = among(1);

        for (uint32_t k = 0; k < PARTIES; k++)
            s->party[k].config.policy.min_parties = 1;
        q.denied = denied;
        q.anew = true;
        for (int after = 0; after < 2; after++) {
            play(s, q);
            expect_failed(s, "the encoding has no noise");
            for (uint32_t k = 0; k < PARTIES; k++)
                assert_int_equal(sim_charged(s, k), after * ROWS);
            play(s, (struct standing_question){.rows = ROWS, .batch = BATCH, .anew = true});
            expect_completed(s);
        }
        leave(s);
    }
}

/* The same row among all and among each set of three: so many releases, each at the noise of those
 * who are in it. */
static void test_a_row_among_many_sets_is_as_many_releases(void **state)
{
    struct sim *s = federation(pbm);

    (void)state;
    for (uint32_t who = 0; who < PARTIES; who++) {
        struct standing_question q = among(PARTIES - 1);

        q.denied = 1ull << who;
        q.anew = true;
        play(s, q);
        expect_completed(s);
        for (uint32_t k = 0; k < PARTIES; k++)
            assert_int_equal(sim_charged(s, k), ROWS * (who + 1 - (k <= who)));
        assert_int_equal(job_of(s, (who + 1) % PARTIES)->mechanism.parties, PARTIES - 1);
    }
    play(s, (struct standing_question){.rows = ROWS, .batch = BATCH, .anew = true});
    expect_completed(s);
    for (uint32_t k = 0; k < PARTIES; k++)
        assert_int_equal(sim_charged(s, k), ROWS * PARTIES);
    assert_int_equal(job_of(s, 0)->mechanism.parties, PARTIES);
    leave(s);
}

/* What the policy says of sets and prices holds of the set as it is: one that is fine among all is
 * refused among fewer, before anything is charged. */
static void test_a_policy_is_of_the_set_as_it_is(void **state)
{
    (void)state;
    for (int eff = 0; eff < 2; eff++) {
        for (int fewer = 0; fewer < 2; fewer++) {
            struct sim *s = federation(pbm);
            struct standing_question q = among(PARTIES - 1);

            if (eff)
                s->party[1].config.policy.min_m_eff = PARTIES - 1;
            else
                s->party[1].config.policy.min_parties = PARTIES;
            q.denied = fewer ? 1u << AWAY : 0;
            play(s, q);
            if (fewer)
                assert_int_equal(sim_charged(s, 1), 0);
            else
                expect_completed(s);
            leave(s);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_away_is_missing_as_one_that_is_left_out),
        cmocka_unit_test(test_fewer_than_were_asked_for_answer_nothing),
        cmocka_unit_test(test_each_partys_own_least_holds),
        cmocka_unit_test(test_who_goes_in_the_middle_costs_the_round_under_way),
        cmocka_unit_test(test_who_comes_back_is_in_the_rounds_that_follow),
        cmocka_unit_test(test_a_set_that_is_whole_again_goes_on),
        cmocka_unit_test(test_who_does_not_answer_is_gone),
        cmocka_unit_test(test_exact_sums_are_never_of_fewer),
        cmocka_unit_test(test_a_row_among_many_sets_is_as_many_releases),
        cmocka_unit_test(test_a_policy_is_of_the_set_as_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
