/* test_async.c -- straggler async (VAFL): a step at each arrival, whatever the others are at.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/expect.h"
#include "tests/sim/mirror.h"
#include "tests/sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
#define SECOND_US 1000000ull

enum { PARTIES = 3, EPOCH = 4, STEPS = 2 * EPOCH, FUSION = 5, PATIENCE = 6 /* which set */ };

static struct sim_options three(void)
{
    return (struct sim_options){.parties = PARTIES,
                                .train_rows = 12,
                                .reconnect_us = 1000,
                                .sets = {"protocol.aggregation=clear", "protocol.straggler=async",
                                         "protocol.encoding=float32", "training.learning_rate=0.5",
                                         "training.epochs=2", "model.fusion=sum",
                                         "protocol.patience_ms=5000"},
                                .party_sets = {"model.layers=[]", "policy.max_learning_rate=1"}};
}

/* Every upload of a party takes so much longer. */
static void slow(struct sim *s, int party, uint64_t us)
{
    sim_rule(s, (struct sim_rule){.act = SIM_DELAY, .from = party, .kind = WIRE_UPLOAD, .us = us});
}

/* Runs to the end with the mirror beside it; everything must be as the mirror has it. */
static void run_beside(struct mirror *m)
{
    const struct server_report *r;
    uint64_t taken = 0;

    sim_run(m->sim, HOUR_US);
    expect_completed(m->sim);
    mirror_compare(m);
    assert_string_equal(m->wrong, "");
    r = sim_server_report(m->sim);
    assert_int_equal(r->steps, STEPS);
    assert_int_equal(r->rounds, m->arrivals);
    assert_int_equal(r->degraded.stale, m->stale);
    assert_int_equal(r->degraded.unseen, m->unseen);
    for (uint32_t i = 0; i < PARTIES; i++) {
        assert_int_equal(sim_party_report(m->sim, i)->progress.applied, m->taken[i]);
        assert_int_equal(sim_charged(m->sim, i), sim_uploaded(m->sim, i));
        taken += m->taken[i];
    }
    assert_int_equal(taken, m->arrivals);
}

/* --- the protocol --- */

/* Two parties, one of them slow; 2 steps of the agenda are 4 arrivals. */
static void test_a_small_run_is_this_transcript(void **state)
{
    struct sim_options o = three();
    const char *from;
    struct sim *s;

    (void)state;
    o.parties = 2;
    o.train_rows = 6;
    o.sets[4] = "training.epochs=1";
    s = sim_new(&o);
    slow(s, 1, 3500);
    sim_run(s, HOUR_US);
    expect_completed(s);
    from = strstr(sim_transcript(s), "server: broadcast open train 0");
    assert_non_null(from);
    assert_string_equal(from, "server: broadcast open train 0 -> p1\n"
                              "server: broadcast open train 0 -> p2\n"
                              "p1: upload\n"
                              "p2: upload\n"
                              "server: broadcast close 0 open train 1 -> p1\n"
                              "p1: upload\n"
                              "server: broadcast close 1 open train 2 -> p1\n"
                              "p1: upload\n"
                              "server: broadcast close 0 open train 1 -> p2\n"
                              "server: broadcast close 2 -> p1\n"
                              "p2: upload\n"
                              "server: broadcast close 1 -> p2\n"
                              "server: broadcast open evaluate test 0\n"
                              "p1: upload\n"
                              "p2: upload\n"
                              "server: broadcast last\n"
                              "p1: kept\n"
                              "p2: kept\n"
                              "server: finish completed\n");
    sim_free(s);
}

static void test_each_arrival_is_a_step_with_the_others_as_they_last_came(void **state)
{
    static const char *const fusions[] = {"model.fusion=sum", "model.fusion=mean",
                                          "model.fusion=concat", "model.fusion=max"};

    (void)state;
    for (size_t f = 0; f < sizeof fusions / sizeof *fusions; f++) {
        struct sim_options o = three();
        struct sim *s;
        struct mirror m;

        o.sets[FUSION] = fusions[f];
        s = sim_new(&o);
        mirror_init(&m, s);
        slow(s, 1, 700);
        slow(s, 2, 9000);
        run_beside(&m);
        assert_true(m.taken[0] > m.taken[1] && m.taken[1] > 2 * m.taken[2] && m.taken[2] > 1);
        assert_true(m.arrivals >= PARTIES * STEPS);
        assert_true(m.arrivals < PARTIES * (STEPS + 2)); /* a drain after each of two epochs */
        assert_int_equal(sim_server_report(s)->void_rounds, 0);
        assert_int_equal(sim_server_report(s)->presence.generation, 1);
        mirror_deinit(&m);
        sim_free(s);
    }
}

/* The negative twin: the mirror with one embedding forgotten sees a difference. */
static void test_the_mirror_sees_an_embedding_that_is_not_used(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);
    struct mirror m;

    (void)state;
    mirror_init(&m, s);
    slow(s, 2, 9000);
    sim_run(s, 13000);
    assert_string_equal(m.wrong, "");
    assert_true(m.taken[0] >= 2 && m.taken[2] == 0);
    memset(m.seen[0], 0, sizeof m.seen[0]);
    sim_run(s, HOUR_US);
    assert_non_null(strstr(m.wrong, "a gradient"));
    mirror_deinit(&m);
    sim_free(s);
}

/* One batch is all rows, so every order meets the same: of six rows, first the others' 2 x 6 are
 * missing, then 6, then none; whatever is not missing is stale. */
static void test_what_is_stale_and_what_was_never_seen_is_counted_exactly(void **state)
{
    struct sim_options o = three();
    struct sim *s;
    struct mirror m;

    (void)state;
    o.train_rows = 6;
    o.sets[4] = "training.epochs=8";
    o.sets[7] = "training.batch=6";
    s = sim_new(&o);
    mirror_init(&m, s);
    run_beside(&m);
    assert_int_equal(sim_server_report(s)->degraded.unseen, 2 * 6 + 6);
    assert_int_equal(sim_server_report(s)->degraded.stale, 2 * 6 * m.arrivals - (2 * 6 + 6));
    mirror_deinit(&m);
    sim_free(s);
}

static void watch_places(struct wire_msg *m, void *owner)
{
    uint64_t *next = owner;

    if (m->broadcast.opens && m->broadcast.purpose == PURPOSE_TRAIN)
        assert_int_equal(m->broadcast.place, (*next)++);
}

/* Nobody skips a step of its own, however unlike the speeds are. */
static void test_a_party_is_asked_its_own_steps_in_order(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);
    uint64_t next[PARTIES] = {0};

    (void)state;
    for (int i = 0; i < PARTIES; i++)
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = SIM_SERVER,
                                      .party = i,
                                      .kind = WIRE_BROADCAST,
                                      .alter = watch_places,
                                      .owner = &next[i]});
    slow(s, 0, 6000);
    sim_run(s, HOUR_US);
    expect_completed(s);
    for (uint32_t i = 0; i < PARTIES; i++) {
        assert_true(next[i] > 0);
        assert_int_equal(next[i], sim_party_report(s, i)->progress.applied);
    }
    assert_true(next[1] > 2 * next[0]);
    sim_free(s);
}

/* Each on a schedule of its own: the batches of one epoch hold every row once, and no two parties
 * walk them in the same order. */
static void test_parties_walk_the_rows_in_orders_of_their_own(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);
    struct mirror m;
    uint32_t order[PARTIES][12], n;

    (void)state;
    mirror_init(&m, s);
    for (uint32_t i = 0; i < PARTIES; i++) {
        for (uint64_t step = 0; step < EPOCH; step++) {
            const uint32_t *row = schedule_batch(&m.schedule[i], step, &n);
            assert_int_equal(n, 3);
            memcpy(order[i] + 3 * step, row, 3 * sizeof *row);
        }
        for (uint32_t k = 0; k < i; k++)
            assert_memory_not_equal(order[i], order[k], sizeof order[i]);
    }
    run_beside(&m);
    mirror_deinit(&m);
    sim_free(s);
}

/* All uploads under way come in, then the test rows are asked for, then the stream goes on. */
static void test_an_evaluation_drains_the_stream_which_then_goes_on(void **state)
{
    struct sim_options o = three();
    struct sim *s;
    struct mirror m;

    (void)state;
    o.sets[7] = "training.evaluate_every=0.5";
    s = sim_new(&o);
    mirror_init(&m, s);
    slow(s, 2, 9000);
    run_beside(&m);
    assert_int_equal(sim_server_report(s)->measured.sweeps, 4);
    assert_int_equal(expect_count(s, "open evaluate test 0\n"), 4);
    assert_int_equal(expect_count(s, "close 0 open evaluate"),
                     0); /* the stream has closed its steps */
    mirror_deinit(&m);
    sim_free(s);
}

/* --- parties that are lost --- */

/* Cut before its upload: nothing is void, the others go on with what it had sent, and from the next
 * epoch on it goes on where it was. */
static void test_a_lost_party_costs_nothing_and_is_back_at_an_epoch(void **state)
{
    struct sim_options o = three();
    const struct server_report *r;
    struct sim *s = sim_new(&o);
    struct mirror m;

    (void)state;
    mirror_init(&m, s);
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 1, .kind = WIRE_UPLOAD, .nth = 3});
    run_beside(&m);
    r = sim_server_report(s);
    assert_int_equal(r->void_rounds, 0);
    assert_int_equal(r->presence.generation, 2);
    assert_int_equal(r->presence.lost[1], 1);
    assert_int_equal(r->presence.joined[1], 2);
    assert_int_equal(expect_count(s, "server: offer 2\n"), 1);
    assert_true(m.taken[1] > 3 && m.taken[1] < m.taken[0]);
    mirror_deinit(&m);
    sim_free(s);
}

/* One that never comes back. */
static void test_the_others_end_the_run_without_a_lost_party(void **state)
{
    struct sim_options o = three();
    struct sim *s;

    (void)state;
    o.reconnect_us = 10 * HOUR_US;
    s = sim_new(&o);
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 1, .kind = WIRE_UPLOAD, .nth = 3});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_server_report(s)->steps, STEPS);
    assert_int_equal(sim_server_report(s)->void_rounds, 0);
    assert_int_equal(sim_party_report(s, 1)->progress.applied, 2);
    sim_free(s);
}

/* Everybody is lost at once: there is nobody to stream with until one is back. */
static void test_a_stream_without_anybody_gathers_anew(void **state)
{
    struct sim_options o = three();
    struct sim *s;

    (void)state;
    o.party_sets[2] = "policy.min_parties=1";
    s = sim_new(&o);
    for (int i = 0; i < PARTIES; i++)
        sim_rule(
            s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = i, .kind = WIRE_UPLOAD, .nth = 2});
    sim_run(s, HOUR_US);
    expect_completed(s);
    assert_int_equal(sim_server_report(s)->steps, STEPS);
    sim_free(s);
}

/* Its own ledger's refusal costs the party alone. */
static void test_a_party_that_will_not_go_on_costs_nothing(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);

    (void)state;
    sim_fail_charge(s, 1, 1, STATUS_BUDGET);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_server_report(s)->steps, STEPS);
    assert_int_equal(sim_party_end(s, 0)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(status_exit_code(sim_party_end(s, 1)->error.status), 5);
    assert_int_equal(sim_uploaded(s, 1), 0);
    sim_free(s);
}

/* A connection that is silent but there: the fast go on, at the first evaluation it is waited for
 * as long as patience lasts, and then no more. */
static void test_a_silent_party_is_left_when_patience_ends(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = 2, .kind = WIRE_UPLOAD, .nth = 2});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_server_report(s)->steps, STEPS);
    assert_int_equal(sim_party_end(s, 0)->outcome, OUTCOME_COMPLETED);
    sim_free(s);
}

/* --- a server that lies --- */

static void other_place(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->broadcast.place++;
}

static void same_place(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->broadcast.place--;
}

static void other_step(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->broadcast.close_step++;
}

/* The gradient is kept back, and the same rows are asked for once more. */
static void ask_again(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->broadcast.closes = false;
    m->broadcast.gradient.n = 0;
    m->broadcast.place--;
}

static void same_round(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->broadcast.round = 1;
}

static void leave_out(struct wire_msg *m, void *owner)
{
    static const uint8_t members[] = {1};

    (void)owner;
    m->broadcast.absent = (struct wire_bytes){members, sizeof members};
}

static void test_a_party_refuses_what_is_not_its_next_step(void **state)
{
    static const struct {
        void (*alter)(struct wire_msg *m, void *owner);
        const char *words;
    } lies[] = {
        {other_place, "a step out of order (3)"}, {same_place, "a step out of order (1)"},
        {other_step, "did not upload (2)"},       {ask_again, "the same step twice"},
        {same_round, "does not grow (1)"},        {leave_out, "without some members (1)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct sim_options o = three();
        struct sim *s = sim_new(&o);

        /* The third broadcast closes step 1 and opens step 2. */
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = SIM_SERVER,
                                      .party = 0,
                                      .kind = WIRE_BROADCAST,
                                      .nth = 3,
                                      .alter = lies[i].alter});
        sim_run(s, HOUR_US);
        assert_int_equal(sim_party_end(s, 0)->outcome, OUTCOME_FAILED);
        assert_int_equal(status_exit_code(sim_party_end(s, 0)->error.status), 3);
        if (strstr(sim_party_end(s, 0)->error.text, lies[i].words) == NULL)
            fail_msg("lie %zu: %s", i, sim_party_end(s, 0)->error.text);
        sim_free(s);
    }
}

/* Opens one step more for whoever has done all that the plan has for one party. */
static void one_more(struct wire_msg *m, void *owner)
{
    struct wire_broadcast *b = &m->broadcast;

    (void)owner;
    if (!b->closes || b->close_step + 1 != (uint64_t)PARTIES * STEPS)
        return;
    b->opens = true;
    b->purpose = PURPOSE_TRAIN;
    b->place = b->close_step + 1;
    b->round = 1000;
}

/* The plan was priced for as many steps as there are arrivals in the run, and for no more. */
static void test_a_party_takes_no_step_beyond_the_plan(void **state)
{
    struct sim_options o = three();
    struct sim *s;

    (void)state;
    o.sets[7] = "training.evaluate_every=0";
    s = sim_new(&o);
    for (int i = 1; i < PARTIES; i++)
        sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = i, .kind = WIRE_UPLOAD});
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = 0,
                                  .kind = WIRE_BROADCAST,
                                  .alter = one_more});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_party_report(s, 0)->progress.applied, (uint64_t)PARTIES * STEPS - 1);
    assert_int_equal(status_exit_code(sim_party_end(s, 0)->error.status), 3);
    assert_non_null(strstr(sim_party_end(s, 0)->error.text, "a step out of order (24)"));
    sim_free(s);
}

/* --- processes that die --- */

/* Both kinds of end: each moment, each process.  Who comes back goes on with the steps that it
 * knows itself to have done. */
static void test_whoever_dies_whenever_the_run_comes_to_its_end(void **state)
{
    struct sim_options o = three();

    (void)state;
    o.quiet = true;
    o.checkpoint_rounds = 2;
    for (int who = SIM_SERVER; who < PARTIES; who++) {
        for (uint64_t us = 500; us < 60000; us += 500) {
            struct sim *s = sim_new(&o);

            slow(s, 1, 1500);
            sim_kill_at(s, who, us);
            sim_run(s, HOUR_US);
            if (sim_server_end(s)->outcome != OUTCOME_COMPLETED)
                fail_msg("%d dies at %llu us: %s", who, (unsigned long long)us,
                         sim_server_end(s)->error.text);
            for (uint32_t i = 0; i < PARTIES; i++) {
                /* The run may have ended without the one that died. */
                if ((int)i != who && (!sim_party_end(s, i)->over ||
                                      sim_party_end(s, i)->outcome != OUTCOME_COMPLETED))
                    fail_msg("%d dies at %llu us: p%u: %s", who, (unsigned long long)us, i + 1,
                             sim_party_end(s, i)->error.text);
            }
            assert_int_equal(sim_server_report(s)->steps, STEPS);
            assert_int_equal(sim_server_report(s)->measured.sweeps, 2);
            for (uint32_t i = 0; i < PARTIES; i++)
                assert_true(sim_uploaded(s, i) <= sim_charged(s, i));
            sim_free(s);
        }
    }
}

/* A server that died has forgotten more steps than the fast party has left, and the others are away
 * from it for so long after it has come back. */
static struct sim *all_taken_but(uint64_t away_us)
{
    struct sim_options o = three();
    struct sim_break away = {
        .what = SIM_CUT, .at_us = 33000, .unheard_us = away_us, .party_unaware = true};
    struct sim *s;

    o.party_sets[2] = "policy.min_parties=1";
    o.checkpoint_rounds = 100; /* only the one before the first round */
    o.sets[7] = "training.evaluate_every=0";
    s = sim_new(&o);
    sim_kill_at(s, SIM_SERVER, 24500);
    for (away.who = 1; away.who < PARTIES; away.who++) {
        slow(s, away.who, 9000);
        sim_break_at(s, away);
    }
    return s;
}

/* They come back before that, and after; and with p2 lost once more while keys are agreed on, so
 * that the next stream opens with p1 alone. */
static void test_who_sits_out_is_let_in_when_the_others_have_no_steps_left(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct sim *s = all_taken_but(i % 2 == 0 ? 100 : 2 * SECOND_US);
        struct sim_rule again = {
            .act = SIM_CUT_BEFORE, .from = 1, .kind = WIRE_CONFIRM, .nth = i < 2 ? 1000 : 3};

        sim_rule(s, again);
        sim_run(s, HOUR_US);
        expect_completed(s);
        assert_int_equal(sim_server_report(s)->steps, STEPS);
        assert_int_equal(sim_party_report(s, 0)->progress.applied, PARTIES * STEPS);
        sim_free(s);
    }
}

static void test_with_nobody_to_let_in_the_run_fails(void **state)
{
    struct sim *s = all_taken_but(10 * HOUR_US);

    (void)state;
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 2);
    assert_non_null(strstr(sim_server_end(s)->error.text, "has taken all steps"));
    sim_free(s);
}

static void test_a_stopped_run_goes_on_where_everybody_was(void **state)
{
    struct sim_options o = three();

    (void)state;
    o.quiet = true;
    o.checkpoint_rounds = 2;
    for (uint64_t us = 6500; us < 40000; us += 700) {
        struct sim *first = sim_new(&o), *then;
        uint64_t applied[PARTIES], rounds;

        slow(first, 1, 1500);
        sim_stop_at(first, us % 3 == 0 ? SIM_SERVER : 1, us);
        sim_run(first, 2000 + us);
        for (uint32_t i = 0; i < PARTIES; i++)
            applied[i] = sim_party_report(first, i)->progress.applied;
        rounds = sim_server_report(first)->rounds;
        then = sim_resume(first);
        assert_int_equal(sim_server_report(then)->rounds, rounds);
        sim_run(then, HOUR_US);
        expect_completed(then);
        assert_int_equal(sim_server_report(then)->steps, STEPS);
        assert_in_range(sim_server_report(then)->rounds, PARTIES * STEPS, PARTIES * (STEPS + 2));
        for (uint32_t i = 0; i < PARTIES; i++)
            assert_true(sim_party_report(then, i)->progress.applied >= applied[i]);
        sim_free(then);
        sim_free(first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_small_run_is_this_transcript),
        cmocka_unit_test(test_each_arrival_is_a_step_with_the_others_as_they_last_came),
        cmocka_unit_test(test_the_mirror_sees_an_embedding_that_is_not_used),
        cmocka_unit_test(test_what_is_stale_and_what_was_never_seen_is_counted_exactly),
        cmocka_unit_test(test_a_party_is_asked_its_own_steps_in_order),
        cmocka_unit_test(test_parties_walk_the_rows_in_orders_of_their_own),
        cmocka_unit_test(test_an_evaluation_drains_the_stream_which_then_goes_on),
        cmocka_unit_test(test_a_lost_party_costs_nothing_and_is_back_at_an_epoch),
        cmocka_unit_test(test_the_others_end_the_run_without_a_lost_party),
        cmocka_unit_test(test_a_stream_without_anybody_gathers_anew),
        cmocka_unit_test(test_a_party_that_will_not_go_on_costs_nothing),
        cmocka_unit_test(test_a_silent_party_is_left_when_patience_ends),
        cmocka_unit_test(test_a_party_refuses_what_is_not_its_next_step),
        cmocka_unit_test(test_a_party_takes_no_step_beyond_the_plan),
        cmocka_unit_test(test_whoever_dies_whenever_the_run_comes_to_its_end),
        cmocka_unit_test(test_who_sits_out_is_let_in_when_the_others_have_no_steps_left),
        cmocka_unit_test(test_with_nobody_to_let_in_the_run_fails),
        cmocka_unit_test(test_a_stopped_run_goes_on_where_everybody_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
