/* test_stalled.c -- where rounds go on without the late (drop in clear, async), whoever keeps the
 * others waiting over and over, never three times in a row, is shut out; whoever has but a poor
 * line, is slow as async has it, or late among others as the papers' Ignore has it, is not.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/parts.h"
#include "tests/sim/inside.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <stdio.h>

#include <cmocka.h>

static const uint64_t DAY_US = 86400000000ull, SECOND_US = 1000000;

/* A round, or a halt of the stream, for each epoch. */
enum { PARTIES = 4, LATE = 1, ROWS = 12, A = 12 };

/* How the late one is late, which knows all that the server counts of it. */
enum manner {
    EVERY_SECOND,
    CAREFUL,   /* whenever it is not shut out for it */
    POOR_LINE, /* once in four */
    SILENT_IN_EVALUATIONS,
    SELDOM_SILENT_IN_EVALUATIONS,
    SILENT_IN_KEYS /* leaves, and says no hello when it is back; and then takes part */
};

struct plot {
    const char *straggler;
    uint64_t wait_us; /* what lateness costs the others: a deadline, or patience */
    enum manner manner;
    uint32_t epochs;
    const char *also[2];
    struct sim *s;
    uint32_t uploads, evaluations, hellos, since_hello, stalls;
};

static const struct server_peer *late_one(const struct plot *p)
{
    return &p->s->server->fed.peer[LATE];
}

static bool trains(const struct wire_msg *m)
{
    return m->kind == WIRE_UPLOAD && m->upload.purpose == PURPOSE_TRAIN;
}

static enum sim_act how(struct plot *p, const struct wire_msg *m)
{
    const bool evaluation = m->kind == WIRE_UPLOAD && !trains(m);
    bool silent = false;

    p->uploads += trains(m);
    p->evaluations += evaluation;
    p->hellos += m->kind == WIRE_HELLO;
    p->since_hello = m->kind == WIRE_HELLO ? 0 : p->since_hello + 1;
    switch (p->manner) {
    case EVERY_SECOND: silent = trains(m) && p->uploads % 2 == 0; break;
    case CAREFUL:
        silent = trains(m) && late_one(p)->stalled + 2 <= SERVER_OWED_MAX &&
                 late_one(p)->losses + 1 < SERVER_LOSSES_MAX;
        break;
    case POOR_LINE: silent = trains(m) && p->uploads % 4 == 1; break;
    case SILENT_IN_EVALUATIONS: silent = evaluation && p->evaluations % 2 == 1; break;
    case SELDOM_SILENT_IN_EVALUATIONS: silent = evaluation && p->evaluations % 4 == 1; break;
    case SILENT_IN_KEYS:
        silent = m->kind == WIRE_HELLO && p->hellos % 2 == 0;
        if (trains(m) && p->since_hello > 1)
            return SIM_CUT_BEFORE;
    }
    p->stalls += silent;
    return silent ? SIM_SWALLOW : SIM_DELAY; /* by nothing */
}

static void hear(struct sim *s, int from, uint32_t party, const struct wire_msg *m, void *owner)
{
    struct plot *p = owner;

    (void)party;
    if (from == LATE && m->kind == WIRE_UPLOAD)
        s->rule[0].act = how(p, m);
    else if (from == LATE && m->kind == WIRE_HELLO)
        s->rule[1].act = how(p, m);
}

static struct sim *begin(const struct plot *p)
{
    char epochs[40];
    struct sim_options o = {.parties = PARTIES,
                            .train_rows = ROWS,
                            .quiet = true,
                            .sets = {"protocol.aggregation=clear", p->straggler,
                                     "protocol.deadline_ms=30000", "protocol.patience_ms=60000",
                                     epochs, p->also[0], p->also[1]},
                            .party_sets = {"policy.aggregations=[clear]"}};

    snprintf(epochs, sizeof epochs, "training.epochs=%u", p->epochs);
    return sim_new(&o);
}

static void play(struct plot *p)
{
    p->s = begin(p);
    sim_rule(p->s, (struct sim_rule){.act = SIM_DELAY, .from = LATE, .kind = WIRE_UPLOAD});
    sim_rule(p->s, (struct sim_rule){.act = SIM_DELAY, .from = LATE, .kind = WIRE_HELLO});
    p->s->ear.said = hear;
    p->s->ear.owner = p;
    sim_run(p->s, DAY_US);
}

static void expect_others_complete(const struct plot *p)
{
    assert_int_equal(sim_server_end(p->s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 0; i < PARTIES; i++) {
        if (i == LATE)
            continue;
        assert_int_equal(sim_party_end(p->s, i)->outcome, OUTCOME_COMPLETED);
        assert_int_equal(p->s->server->fed.peer[i].stalled, 0);
        assert_false(p->s->server->fed.peer[i].barred);
    }
}

/* In W whole rounds, or halts, one is late A + 1 + W / 2 times at most; and nothing else takes any
 * time to speak of. */
static void expect_bounded(const struct plot *p)
{
    assert_true(p->stalls > 0 && p->stalls <= A + 1 + (p->epochs - p->stalls) / 2);
    assert_true(sim_now_us(p->s) >= p->stalls * p->wait_us);
    assert_true(sim_now_us(p->s) < p->stalls * p->wait_us + 10 * SECOND_US);
}

/* --- over and over --- */

/* A stream halts for evaluations. */
static const struct plot modes[] = {
    {.straggler = "protocol.straggler=drop",
     .wait_us = 30000000,
     .also = {"training.batch=12", "training.evaluate_every=0"}},
    {.straggler = "protocol.straggler=async", .wait_us = 60000000, .also = {"training.batch=12"}},
};
enum { DROP, ASYNC, MODES };

static struct plot plot_of(size_t mode, enum manner manner, uint32_t epochs)
{
    struct plot p = modes[mode];

    p.manner = manner;
    p.epochs = epochs;
    return p;
}

static void test_who_is_late_every_second_time_is_shut_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < MODES; i++) {
        uint32_t stalls = 0;

        for (uint32_t epochs = 80; epochs <= 160; epochs *= 2) {
            struct plot p = plot_of(i, EVERY_SECOND, epochs);

            play(&p);
            expect_others_complete(&p);
            expect_bounded(&p);
            assert_true(late_one(&p)->barred && late_one(&p)->losses < SERVER_LOSSES_MAX);
            assert_int_equal(sim_server_report(p.s)->void_rounds, 0);
            assert_true(stalls == 0 || p.stalls == stalls); /* however long the run is */
            stalls = p.stalls;
            sim_free(p.s);
        }
    }
}

static void test_who_is_late_as_often_as_it_may_is_late_within_bounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < MODES; i++) {
        struct plot p = plot_of(i, CAREFUL, 120);

        play(&p);
        expect_others_complete(&p);
        expect_bounded(&p);
        assert_false(late_one(&p)->barred);
        sim_free(p.s);
    }
}

static void test_many_rounds_of_an_epoch_pay_nothing_back_for_its_end(void **state)
{
    struct plot p = plot_of(ASYNC, EVERY_SECOND, 60);

    (void)state;
    p.also[0] = "training.batch=2";
    play(&p);
    expect_others_complete(&p);
    assert_true(late_one(&p)->barred && p.stalls <= A + 1);
    sim_free(p.s);
}

/* --- those who may be late --- */

static void test_a_line_that_is_late_once_in_four_is_not_shut_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < MODES; i++) {
        struct plot p = plot_of(i, POOR_LINE, 120);

        play(&p);
        expect_others_complete(&p);
        assert_true(p.stalls >= 20);
        assert_false(late_one(&p)->barred);
        assert_true(late_one(&p)->stalled <= 4);
        assert_int_equal(sim_party_end(p.s, LATE)->outcome, OUTCOME_COMPLETED);
        sim_free(p.s);
    }
}

/* What async is for: always the last, and always within patience. */
static void test_who_is_slow_and_within_patience_owes_nothing(void **state)
{
    struct plot p = plot_of(ASYNC, POOR_LINE, 40);

    (void)state;
    p.also[0] = "training.batch=3";
    p.s = begin(&p);
    sim_rule(p.s, (struct sim_rule){
                      .act = SIM_DELAY, .from = LATE, .kind = WIRE_UPLOAD, .us = 55 * SECOND_US});
    sim_run(p.s, DAY_US);
    expect_others_complete(&p);
    assert_int_equal(late_one(&p)->stalled, 0);
    assert_int_equal(sim_server_report(p.s)->presence.generation, 1);
    assert_int_equal(sim_party_end(p.s, LATE)->outcome, OUTCOME_COMPLETED);
    sim_free(p.s);
}

/* What Ignore is for: some are late in each round. */
static void test_who_is_late_with_others_owes_nothing(void **state)
{
    struct plot p = plot_of(DROP, POOR_LINE, 60);
    const struct server_report *r;

    (void)state;
    p.s = begin(&p);
    for (int i = 0; i < 2; i++)
        sim_rule(p.s, (struct sim_rule){
                          .act = SIM_DELAY, .from = i, .kind = WIRE_UPLOAD, .us = 31 * SECOND_US});
    sim_run(p.s, DAY_US);
    expect_others_complete(&p);
    r = sim_server_report(p.s);
    assert_int_equal(r->steps, 60);
    assert_int_equal(r->whose.missing[0], 60);
    assert_int_equal(r->whose.missing[LATE], 60);
    assert_int_equal(late_one(&p)->stalled, 0);
    assert_int_equal(sim_party_end(p.s, LATE)->outcome, OUTCOME_COMPLETED);
    sim_free(p.s);
}

/* The negative twin: the same without the other one. */
static void test_who_is_always_late_alone_is_shut_out(void **state)
{
    struct plot p = plot_of(DROP, POOR_LINE, 60);

    (void)state;
    p.s = begin(&p);
    sim_rule(p.s,
             (struct sim_rule){
                 .act = SIM_DELAY, .from = LATE, .kind = WIRE_UPLOAD, .us = 30 * SECOND_US + 1});
    sim_run(p.s, DAY_US);
    expect_others_complete(&p);
    assert_true(late_one(&p)->barred);
    assert_int_equal(sim_server_report(p.s)->steps, 60);
    assert_int_equal(sim_server_report(p.s)->whose.missing[LATE], 60);
    assert_true(sim_now_us(p.s) < (A + 2) * p.wait_us);
    /* Its last upload was on its way: that is no wrong message. */
    assert_non_null(strstr(sim_party_end(p.s, LATE)->error.text, "lost too often"));
    sim_free(p.s);
}

/* --- besides training --- */

static void expect_of_evaluations(size_t mode, enum manner manner, bool barred)
{
    struct plot p = plot_of(mode, manner, 120);

    p.also[1] = NULL;
    play(&p);
    expect_others_complete(&p);
    assert_int_equal(late_one(&p)->barred, barred);
    assert_true(late_one(&p)->owed <= 4 && late_one(&p)->losses < SERVER_LOSSES_MAX);
    sim_free(p.s);
}

static void test_who_is_silent_in_evaluations_is_shut_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < MODES; i++) {
        expect_of_evaluations(i, SILENT_IN_EVALUATIONS, true);
        expect_of_evaluations(i, SELDOM_SILENT_IN_EVALUATIONS, false);
    }
}

static void test_who_comes_back_and_says_nothing_for_keys_is_shut_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < MODES; i++) {
        struct plot p = plot_of(i, SILENT_IN_KEYS, 120);

        p.also[0] = "training.batch=6";
        play(&p);
        expect_others_complete(&p);
        assert_true(late_one(&p)->barred && late_one(&p)->losses < SERVER_LOSSES_MAX);
        assert_true(p.stalls <= A + 1 + p.epochs / 2);
        sim_free(p.s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_late_every_second_time_is_shut_out),
        cmocka_unit_test(test_who_is_late_as_often_as_it_may_is_late_within_bounds),
        cmocka_unit_test(test_many_rounds_of_an_epoch_pay_nothing_back_for_its_end),
        cmocka_unit_test(test_a_line_that_is_late_once_in_four_is_not_shut_out),
        cmocka_unit_test(test_who_is_slow_and_within_patience_owes_nothing),
        cmocka_unit_test(test_who_is_late_with_others_owes_nothing),
        cmocka_unit_test(test_who_is_always_late_alone_is_shut_out),
        cmocka_unit_test(test_who_is_silent_in_evaluations_is_shut_out),
        cmocka_unit_test(test_who_comes_back_and_says_nothing_for_keys_is_shut_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
