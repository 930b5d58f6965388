/* test_larger.c -- one who is late ends no run whose parties want a larger set than is left.
 *
 * What a party refuses such a set for is its policy's (min_m_eff with what the roster's operators
 * may know, max_epsilon of the smaller set): under the policy that is the default, unless a test
 * says another.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/federation.h"
#include "tests/sim/expect.h"
#include "tests/sim/larger.h"
#include "tests/sim/standing.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void be_late_at(struct sim *s, int party, uint32_t nth)
{
    sim_rule(s,
             (struct sim_rule){
                 .act = SIM_DELAY, .from = party, .kind = WIRE_UPLOAD, .nth = nth, .us = 150000});
}

/* In the first epoch. */
static void be_late_once(struct sim *s, int party)
{
    be_late_at(s, party, 3);
}

/* All of them, two of one operator if asked for, and whoever says so is late once. */
static struct sim *with_one_late(const struct sim_options *o, int who, bool two_of_one)
{
    struct sim *s = sim_new(o);

    for (uint32_t i = 0; i < o->parties && two_of_one; i++) {
        struct roster *r = sim_party_roster(s, i);

        for (size_t k = r->n - 2; k < r->n; k++)
            snprintf(r->party[k].operator_name, sizeof r->party[k].operator_name, "group");
    }
    be_late_once(s, who);
    sim_run(s, HOUR_US);
    return s;
}

static void expect_nobody_lost(struct sim *s)
{
    expect_completed(s);
    for (uint32_t i = 0; i < s->options.parties; i++)
        assert_int_equal(sim_server_report(s)->presence.lost[i], 0);
}

/* --- whose set is too small --- */

/* p1 is late: p4, of the server's operator, hides nobody, and is content itself. */
static void test_who_would_be_with_the_servers_own_waits_for_who_was_late(void **state)
{
    struct sim_options o = larger_options(4);
    struct sim *s;

    (void)state;
    o.servers_own = true;
    s = with_one_late(&o, 0, false);
    expect_nobody_lost(s);
    assert_non_null(strstr(sim_transcript(s), "server: offer 2 -> p2 p3 p4\n"
                                              "p2: refuse\n"
                                              "p3: refuse\n"
                                              "p4: hello\n"
                                              "server: offer 3\n"));
    assert_null(strstr(sim_transcript(s), "server: offer 4"));
    sim_free(s);
}

/* It is p4 that is late: of the three who are left none may be with the server, but for one. */
static void test_a_set_as_small_without_the_servers_own_goes_on(void **state)
{
    struct sim_options o = larger_options(4);
    struct sim *s;

    (void)state;
    o.servers_own = true;
    s = with_one_late(&o, 3, false);
    expect_nobody_lost(s);
    assert_null(strstr(sim_transcript(s), "refuse"));
    assert_non_null(strstr(sim_transcript(s), "server: offer 2 -> p1 p2 p3\n"));
    sim_free(s);
}

static void test_who_would_be_with_two_of_one_operator_waits_for_who_was_late(void **state)
{
    struct sim_options o = larger_options(4);
    struct sim *s = with_one_late(&o, 0, true);

    (void)state;
    expect_nobody_lost(s);
    assert_non_null(strstr(sim_transcript(s), "server: offer 2 -> p2 p3 p4\n"
                                              "p2: refuse\n"));
    assert_non_null(strstr(sim_transcript(s), "server: offer 3\n"));
    sim_free(s);
}

/* Six within a limit that five would pass. */
static void test_a_set_too_dear_for_all_waits_for_who_was_late(void **state)
{
    struct sim_options o = larger_options(6);
    struct sim *s;

    (void)state;
    o.party_sets[2] = "policy.max_epsilon.value=640";
    s = with_one_late(&o, 0, false);
    expect_nobody_lost(s);
    assert_non_null(strstr(sim_transcript(s), "server: offer 2 -> p2 p3 p4 p5 p6\n"
                                              "p2: refuse\n"
                                              "p3: refuse\n"
                                              "p4: refuse\n"
                                              "p5: refuse\n"
                                              "p6: refuse\n"
                                              "server: offer 3\n"));
    sim_free(s);
}

/* What the six cost is too much: no larger set would do, and the run ends before it begins. */
static void test_who_would_not_be_in_the_whole_roster_either_ends_it(void **state)
{
    struct sim_options o = larger_options(6);
    struct sim *s;

    (void)state;
    o.party_sets[2] = "policy.max_epsilon.value=64";
    s = with_one_late(&o, 0, false);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 5);
    assert_int_equal(status_exit_code(sim_party_end(s, 5)->error.status), 5);
    assert_null(strstr(sim_transcript(s), "offer 2"));
    sim_free(s);
}

/* --- what is spent already --- */

/* Six who have room for one round more than the plan, and five for a part of it; ledgers judge.
 * Whichever upload p1 is late with, all come to the end. */
static void expect_done_under(const char *const limits[], size_t n)
{
    struct sim_options o = larger_options(6);

    o.judged = true;
    for (size_t i = 0; i < n; i++)
        o.party_sets[2 + i] = limits[i];
    for (uint32_t nth = 0; nth <= 20; nth++) {
        struct sim *s = sim_new(&o);

        if (nth > 0)
            be_late_at(s, 0, nth);
        sim_run(s, HOUR_US);
        expect_nobody_lost(s);
        for (uint32_t i = 0; i < 6; i++)
            assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
        sim_free(s);
    }
}

/* What is left would be within the limit, but not on top of what was spent among the six. */
static void test_a_set_too_dear_after_what_is_spent_waits_for_who_was_late(void **state)
{
    static const char *const raw[] = {"policy.max_epsilon.value=640"};
    static const char *const frozen[] = {
        "policy.max_epsilon.value=130", "policy.max_epsilon.adversary=server",
        "policy.max_epsilon.adjacency=record_dp", "model.train=frozen", "data.scale=none"};

    (void)state;
    expect_done_under(raw, sizeof raw / sizeof *raw);
    expect_done_under(frozen, sizeof frozen / sizeof *frozen);
}

/* The same where a job before this one has spent a part of the limit. */
static void test_what_an_earlier_job_has_spent_counts_in_a_set_that_is_left(void **state)
{
    struct sim_options o = larger_options(6);
    struct standing_job job = {.kind = STANDING_TRAIN};
    struct sim *s;

    (void)state;
    o.judged = o.stands = true;
    o.party_sets[2] = "policy.max_epsilon.value=1160";
    s = sim_new(&o);
    be_late_at(s, 0, 28); /* of its 20 in each job */
    for (uint32_t jobs = 1; jobs <= 2; jobs++) {
        job.plan = s->plan;
        job.plan.training.seed = jobs;
        standing_play(s, &job);
        sim_run(s, HOUR_US);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    }
    assert_int_equal(expect_count(s, ": refuse\n"), 5);
    sim_free(s);
}

/* --- another set, or the same one later --- */

/* p1 of all is late with its third upload, and this party dies for good instead of its nth message
 * of this kind. */
static void be_late_and_die(struct sim *s, int party, enum wire_kind kind, uint32_t nth)
{
    sim_rule(s, (struct sim_rule){.act = SIM_KILL,
                                  .from = party,
                                  .kind = kind,
                                  .nth = nth,
                                  .how = {.down_us = 2 * HOUR_US}});
    be_late_once(s, 0);
    sim_run(s, HOUR_US);
}

static void expect_the_other_three(enum wire_kind kind, uint32_t nth)
{
    struct sim_options o = larger_options(4);
    struct sim *s;

    o.servers_own = true;
    s = sim_new(&o);
    be_late_and_die(s, 3, kind, nth);
    assert_int_equal(expect_count(s, ": refuse\n"), 2);
    assert_non_null(strstr(sim_transcript(s), "server: offer 4 -> p1 p2 p3\n"));
    larger_completed_but(s, 3);
    sim_free(s);
}

/* p2 and p3 will not hide with p4 alone; without it three are as many, and none is the server's.
 * It may be gone before anything more was trained. */
static void test_another_set_as_small_as_one_that_was_refused_is_offered(void **state)
{
    (void)state;
    expect_the_other_three(WIRE_UPLOAD, 12);
    expect_the_other_three(WIRE_HELLO, 3);
}

/* Five are too dear in the first epoch, and within the limit for what the last one has left. */
static void test_a_set_that_was_too_dear_is_offered_again_when_less_is_left(void **state)
{
    struct sim_options o = larger_options(6);
    struct sim *s;

    (void)state;
    o.judged = true;
    o.party_sets[2] = "policy.max_epsilon.value=690";
    s = sim_new(&o);
    be_late_and_die(s, 0, WIRE_UPLOAD, 19);
    assert_int_equal(expect_count(s, ": refuse\n"), 5);
    assert_non_null(strstr(sim_transcript(s), "server: offer 4 -> p2 p3 p4 p5 p6\n"));
    larger_completed_but(s, 0);
    sim_free(s);
}

/* --- who goes on --- */

/* p4 alone wants five, by what it hides among: the other three go on, until an epoch ends. */
static void test_who_sits_out_costs_nobody_else_the_set(void **state)
{
    struct sim_options o = larger_options(5);
    struct sim *s = sim_new(&o);

    (void)state;
    s->party[3].config.policy.min_m_eff = 4;
    be_late_once(s, 4);
    sim_run(s, HOUR_US);
    expect_nobody_lost(s);
    assert_non_null(strstr(sim_transcript(s), "server: offer 2 -> p1 p2 p3 p4\n"
                                              "p1: hello\n"
                                              "p2: hello\n"
                                              "p3: hello\n"
                                              "p4: refuse\n"
                                              "server: offer 3 -> p1 p2 p3\n"));
    assert_non_null(strstr(sim_transcript(s), "server: offer 4\n"));
    assert_null(strstr(sim_transcript(s), "server: offer 5"));
    sim_free(s);
}

/* Late over and over p1 is shut out; those who want it are not, and wait for it in vain. */
static void test_who_sits_out_often_is_not_shut_out_for_it(void **state)
{
    struct sim_options o = larger_options(4);
    struct sim *s;

    (void)state;
    o.servers_own = true;
    s = sim_new(&o);
    for (uint32_t i = 0; i < 3; i++) /* each swallows the one behind that of the rule before */
        sim_rule(s,
                 (struct sim_rule){.act = SIM_SWALLOW, .from = 0, .kind = WIRE_UPLOAD, .nth = 3});
    sim_run(s, HOUR_US);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 4);
    for (uint32_t i = 1; i < 4; i++) {
        assert_int_equal(status_exit_code(sim_party_end(s, i)->error.status), 4);
        assert_int_equal(sim_server_report(s)->presence.lost[i], 0);
        assert_false(world_federation(s)->peer[i].barred);
    }
    assert_true(world_federation(s)->peer[0].barred);
    sim_free(s);
}

/* --- one job after another --- */

static void test_who_sat_out_is_there_for_the_next_job(void **state)
{
    struct sim_options o = larger_options(4);
    struct standing_job job = {.kind = STANDING_TRAIN};
    struct sim *s;

    (void)state;
    o.servers_own = true;
    o.stands = true;
    s = sim_new(&o);
    be_late_once(s, 0);
    for (uint32_t jobs = 1; jobs <= 2; jobs++) {
        job.plan = s->plan;
        job.plan.training.seed = jobs;
        standing_play(s, &job);
        sim_run(s, HOUR_US);
        assert_false(standing_plays(s));
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        assert_int_equal(expect_count(s, ": refuse\n"), 2);
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
            assert_int_equal(world_federation(s)->peer[i].refused.n, 0);
        }
    }
    sim_free(s);
}

/* --- who says so out of turn --- */

/* p5 is late, the other four go on; in the place of its nth message of this kind p1 says so. */
static struct sim *with_a_wish(enum wire_kind kind, uint32_t nth, uint64_t generation)
{
    struct larger_wish w = {generation};
    struct sim_options o = larger_options(5);
    struct sim *s = sim_new(&o);

    be_late_once(s, 4);
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = 0,
                                  .kind = kind,
                                  .nth = nth,
                                  .alter = larger_wish,
                                  .owner = &w});
    sim_run(s, 200000);
    return s;
}

static void expect_wish(enum wire_kind kind, uint32_t nth, uint64_t generation, uint64_t lost)
{
    struct sim *s = with_a_wish(kind, nth, generation);

    assert_int_equal(sim_server_report(s)->presence.lost[0], lost);
    for (uint32_t i = 1; i < 5; i++)
        assert_int_equal(sim_server_report(s)->presence.lost[i], 0);
    sim_free(s);
}

static void test_a_larger_set_is_asked_for_instead_of_a_hello_alone(void **state)
{
    (void)state;
    expect_wish(WIRE_HELLO, 2, 2, 0);   /* of four */
    expect_wish(WIRE_HELLO, 2, 3, 1);   /* that there is not yet */
    expect_wish(WIRE_CONFIRM, 2, 2, 1); /* after its hello */
    expect_wish(WIRE_UPLOAD, 4, 2, 1);
    expect_wish(WIRE_HELLO, 3, 3, 1); /* than the roster */
}

/* The generation before is over: its set is no matter any more. */
static void test_what_is_said_of_a_set_that_is_no_more_counts_for_nothing(void **state)
{
    struct sim *s = with_a_wish(WIRE_UPLOAD, 4, 1);

    (void)state;
    assert_int_equal(sim_server_report(s)->presence.lost[0], 0);
    assert_int_equal(world_federation(s)->peer[0].refused.n, 0);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_would_be_with_the_servers_own_waits_for_who_was_late),
        cmocka_unit_test(test_a_set_as_small_without_the_servers_own_goes_on),
        cmocka_unit_test(test_who_would_be_with_two_of_one_operator_waits_for_who_was_late),
        cmocka_unit_test(test_a_set_too_dear_for_all_waits_for_who_was_late),
        cmocka_unit_test(test_who_would_not_be_in_the_whole_roster_either_ends_it),
        cmocka_unit_test(test_a_set_too_dear_after_what_is_spent_waits_for_who_was_late),
        cmocka_unit_test(test_what_an_earlier_job_has_spent_counts_in_a_set_that_is_left),
        cmocka_unit_test(test_another_set_as_small_as_one_that_was_refused_is_offered),
        cmocka_unit_test(test_a_set_that_was_too_dear_is_offered_again_when_less_is_left),
        cmocka_unit_test(test_who_sits_out_costs_nobody_else_the_set),
        cmocka_unit_test(test_who_sits_out_often_is_not_shut_out_for_it),
        cmocka_unit_test(test_who_sat_out_is_there_for_the_next_job),
        cmocka_unit_test(test_a_larger_set_is_asked_for_instead_of_a_hello_alone),
        cmocka_unit_test(test_what_is_said_of_a_set_that_is_no_more_counts_for_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
