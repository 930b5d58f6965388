/* test_abuse.c -- what a peer could do by patience instead of lies: flapping, lateness, repeated
 * asking.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/expect.h"
#include "tests/sim/sim.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const uint64_t HOUR_US = 3600000000ull;

/* Each void round costs the honest parties releases: three in a row by one party are enough. */
static void test_a_party_that_cuts_every_upload_ends_the_run_under_wait(void **state)
{
    struct sim_options o = {.parties = 3, .train_rows = 30, .quiet = true};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 1, .kind = WIRE_UPLOAD});
    sim_run(s, HOUR_US);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 4);
    assert_non_null(strstr(sim_server_end(s)->error.text, "p2 was lost 3 times in a row"));
    assert_int_equal(sim_server_report(s)->void_rounds, 3);
    assert_int_equal(sim_uploaded(s, 0), 3 * 3);
    sim_free(s);
}

static void test_and_is_shut_out_under_drop(void **state)
{
    struct sim_options o = {.parties = 4,
                            .train_rows = 30,
                            .quiet = true,
                            .sets = {"protocol.straggler=drop", "training.epochs=8"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 1, .kind = WIRE_UPLOAD});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_server_report(s)->presence.lost[1], 3);
    assert_int_equal(sim_server_report(s)->steps, 80);
    assert_non_null(strstr(sim_party_end(s, 1)->error.text, "too often"));
    sim_free(s);
}

static void test_losses_with_whole_rounds_between_them_are_forgiven(void **state)
{
    struct sim_options o = {.parties = 3, .train_rows = 60, .quiet = true};
    struct sim *s = sim_new(&o);

    (void)state;
    for (uint32_t nth = 2; nth <= 14; nth += 3)
        sim_rule(s, (struct sim_rule){
                        .act = SIM_CUT_BEFORE, .from = 1, .kind = WIRE_UPLOAD, .nth = nth});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_true(sim_server_report(s)->void_rounds >= 4);
    sim_free(s);
}

/* Two are the least that can hide in each other's masks: the late one is needed after all. */
static void test_a_late_party_comes_back_at_once_where_it_is_needed(void **state)
{
    struct sim_options o = {.parties = 2,
                            .train_rows = 30,
                            .quiet = true,
                            .sets = {"protocol.straggler=drop", "protocol.deadline_ms=100"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){
                    .act = SIM_DELAY, .from = 1, .kind = WIRE_UPLOAD, .nth = 2, .us = 150000});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_party_end(s, 1)->outcome, OUTCOME_COMPLETED);
    sim_free(s);
}

/* Needed or not: who is late three times in a row has voided three rounds of everybody. */
static void test_a_party_that_is_always_late_is_shut_out(void **state)
{
    struct sim_options o = {.parties = 2,
                            .train_rows = 30,
                            .quiet = true,
                            .sets = {"protocol.straggler=drop", "protocol.deadline_ms=100"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_DELAY, .from = 1, .kind = WIRE_UPLOAD, .us = 150000});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_report(s)->void_rounds, 3);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 4);
    assert_non_null(strstr(sim_server_end(s)->error.text, "p2"));
    assert_null(strstr(sim_server_end(s)->error.text, "p1"));
    sim_free(s);
}

static void test_an_excluded_party_waits_for_the_next_epoch_however_long(void **state)
{
    struct sim_options o = {.parties = 4,
                            .train_rows = 90,
                            .quiet = true,
                            .sets = {"protocol.straggler=drop", "protocol.deadline_ms=2500",
                                     "protocol.patience_ms=3000", "training.epochs=2"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){
                    .act = SIM_DELAY, .from = 1, .kind = WIRE_UPLOAD, .nth = 2, .us = 2600000});
    sim_rule(s, (struct sim_rule){.act = SIM_DELAY, .from = 2, .kind = WIRE_UPLOAD, .us = 1000000});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
        assert_int_equal(sim_party_report(s, i)->progress.applied, 60);
    }
    sim_free(s);
}

/* p2 was cut off, and waits for the end of the epoch; all the same it answers in a round. */
static void test_who_waits_for_the_next_epoch_answers_for_nobody(void **state)
{
    struct sim_options o = {
        .parties = 4, .train_rows = 90, .sets = {"protocol.straggler=drop", "training.epochs=2"}};
    struct sim *s = sim_new(&o);
    struct wire_msg m = {.kind = WIRE_UPLOAD};
    const struct event e = {.kind = EVENT_MESSAGE, .peer = 1, .msg = &m};

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 1, .kind = WIRE_UPLOAD, .nth = 3});
    expect_until(s, "p2: join\n", 2);
    expect_until(s, "p1: upload\n", expect_count(s, "p1: upload\n") + 2);
    m.upload.generation = sim_party_report(s, 0)->generation;
    assert_true(m.upload.generation > sim_party_report(s, 1)->generation);
    world_tell_server(s, &e);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(status_exit_code(sim_party_end(s, 1)->error.status), 3);
    assert_non_null(strstr(sim_party_end(s, 1)->error.text, "p2: upload in phase round"));
    sim_free(s);
}

/* The last gradient and the last word go out together, to different sets. */
static void test_the_last_gradient_goes_to_the_members_and_to_nobody_else(void **state)
{
    struct sim_options o = {.parties = 4,
                            .train_rows = 12,
                            .sets = {"protocol.straggler=drop", "protocol.deadline_ms=100",
                                     "training.epochs=0.9", "training.batch=1"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){
                    .act = SIM_DELAY, .from = 1, .kind = WIRE_UPLOAD, .nth = 2, .us = 150000});
    sim_run(s, HOUR_US);
    assert_null(strstr(sim_transcript(s), "close 10 -> p1 p2 p3"));
    assert_int_equal(sim_party_report(s, 3)->progress.applied, 11);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(sim_party_end(s, i)->error.status, STATUS_OK);
    sim_free(s);
}

/* --- a server that asks once more --- */

static void next_sweep(struct wire_msg *m, void *owner)
{
    (void)owner;
    if (m->broadcast.opens && m->broadcast.purpose == PURPOSE_EVALUATE_TEST)
        m->broadcast.sweep++;
}

static void test_a_sweep_has_one_number_and_no_other(void **state)
{
    struct sim_options o = {.parties = 3, .quiet = true, .sets = {"training.epochs=5"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = 1,
                                  .kind = WIRE_BROADCAST,
                                  .alter = next_sweep});
    sim_run(s, HOUR_US);
    assert_int_equal(status_exit_code(sim_party_end(s, 1)->error.status), 3);
    assert_non_null(strstr(sim_party_end(s, 1)->error.text, "not due"));
    assert_int_equal(sim_uploaded(s, 1), 6); /* the epoch before it, and no test row */
    sim_free(s);
}

/* Many parties that take turns in being lost void one step again and again; each charge is refused
 * its end by the party itself, whatever the server forgives. */
static void test_a_step_is_not_asked_for_without_end(void **state)
{
    struct sim_options o = {.parties = 40, .train_rows = 6, .quiet = true};
    struct sim *s = sim_new(&o);

    (void)state;
    for (uint32_t nth = 0; nth < 2; nth++) {
        for (int from = 1; from < 9; from++)
            sim_rule(s,
                     (struct sim_rule){
                         .act = SIM_CUT_BEFORE, .from = from, .kind = WIRE_UPLOAD, .nth = nth + 1});
    }
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_true(sim_server_report(s)->presence.generation <= PARTY_STALLED_MAX);
    sim_free(s);
}

/* In rounds, and at arrivals, where every member has a gradient of its own. */
static void test_divergence_is_said_and_blames_nobody(void **state)
{
    static const char *const how[][4] = {
        {NULL},
        {"protocol.gradient.type=int8", NULL},
        {"protocol.aggregation=clear", "protocol.straggler=async", "model.fusion=concat",
         "protocol.gradient.type=int8"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        struct sim_options o = {.parties = 3,
                                .train_rows = 300,
                                .quiet = true,
                                .sets = {"training.learning_rate=1000", "model.head=[8,8,8,8]",
                                         "model.head_activation=none", "training.epochs=50"},
                                .party_sets = {"policy.max_learning_rate=1000"}};
        struct sim *s;

        memcpy(o.sets + 4, how[i], sizeof how[i]);
        s = sim_new(&o);
        sim_run(s, HOUR_US);
        assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 2);
        assert_non_null(strstr(sim_server_end(s)->error.text, "diverged"));
        assert_int_equal(status_exit_code(sim_party_end(s, 0)->error.status), 2);
        sim_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_party_that_cuts_every_upload_ends_the_run_under_wait),
        cmocka_unit_test(test_and_is_shut_out_under_drop),
        cmocka_unit_test(test_losses_with_whole_rounds_between_them_are_forgiven),
        cmocka_unit_test(test_a_late_party_comes_back_at_once_where_it_is_needed),
        cmocka_unit_test(test_a_party_that_is_always_late_is_shut_out),
        cmocka_unit_test(test_an_excluded_party_waits_for_the_next_epoch_however_long),
        cmocka_unit_test(test_who_waits_for_the_next_epoch_answers_for_nobody),
        cmocka_unit_test(test_the_last_gradient_goes_to_the_members_and_to_nobody_else),
        cmocka_unit_test(test_a_sweep_has_one_number_and_no_other),
        cmocka_unit_test(test_a_step_is_not_asked_for_without_end),
        cmocka_unit_test(test_divergence_is_said_and_blames_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
