/* test_ignore.c -- straggler drop in clear, the papers' Ignore (FedVS, section 6): a round ends
 * with those that came in time, scaled to stand for all; beside it what drop means under masks.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/expect.h"
#include "tests/sim/mirror.h"
#include "tests/sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
#define SECOND_US 1000000ull

enum { PARTIES = 4, EPOCH = 4 /* rounds */, FUSION = 6 /* which set says it */ };

/* Two epochs of four rounds; a round that closes at its deadline is 100 ms long. */
static struct sim_options four(void)
{
    return (struct sim_options){.parties = PARTIES,
                                .train_rows = 12,
                                .reconnect_us = 1000,
                                .sets = {"protocol.aggregation=clear", "protocol.straggler=drop",
                                         "protocol.deadline_ms=100", "protocol.encoding=float32",
                                         "training.learning_rate=0.5", "training.epochs=2",
                                         "model.fusion=sum"},
                                .party_sets = {"model.layers=[]", "policy.max_learning_rate=1"}};
}

static void late(struct sim *s, int party, uint32_t nth)
{
    sim_rule(s,
             (struct sim_rule){
                 .act = SIM_DELAY, .from = party, .kind = WIRE_UPLOAD, .nth = nth, .us = 150000});
}

/* Runs to the end with the mirror beside it; everything must be as the mirror has it. */
static void run_beside(struct mirror *m)
{
    sim_run(m->sim, HOUR_US);
    expect_completed(m->sim);
    mirror_compare(m);
    assert_string_equal(m->wrong, "");
    assert_int_equal(m->arrivals, 2 * EPOCH);
}

/* Each with what stands for who is left out.  Under concat that has to be zeros: the plan refuses
 * drop without a word about it. */
static const char *const fusions[][2] = {
    {"model.fusion=sum", "protocol.absent=ignore"},
    {"model.fusion=mean", "protocol.absent=ignore"},
    {"model.fusion=max", "protocol.absent=ignore"},
    {"model.fusion=sum", "protocol.absent=zero"},
    {"model.fusion=mean", "protocol.absent=zero"},
    {"model.fusion=max", "protocol.absent=zero"},
    {"model.fusion=concat", "protocol.absent=zero"},
};

enum { FUSIONS = sizeof fusions / sizeof *fusions };

static void fuse_as(struct sim_options *o, size_t f)
{
    o->sets[FUSION] = fusions[f][0];
    o->sets[FUSION + 1] = fusions[f][1];
}

/* The mirror itself must agree with a run in which nothing happens. */
static void test_an_undisturbed_run_is_the_mirrors(void **state)
{
    (void)state;
    for (size_t f = 0; f < FUSIONS; f++) {
        struct sim_options o = four();
        struct sim *s;
        struct mirror m;

        fuse_as(&o, f);
        s = sim_new(&o);
        mirror_init(&m, s);
        run_beside(&m);
        assert_int_equal(sim_server_report(s)->degraded.missing, 0);
        mirror_deinit(&m);
        sim_free(s);
    }
}

/* The negative twin: a mirror that leaves another one out sees a difference. */
static void test_the_mirror_sees_another_set(void **state)
{
    struct sim_options o = four();
    struct sim *s = sim_new(&o);
    struct mirror m;

    (void)state;
    mirror_init(&m, s);
    m.absent[1] = 1u << 2;
    sim_run(s, HOUR_US);
    assert_non_null(strstr(m.wrong, "step 1: "));
    mirror_deinit(&m);
    sim_free(s);
}

static void test_a_late_party_is_left_out_of_that_round_alone(void **state)
{
    (void)state;
    for (size_t f = 0; f < FUSIONS; f++) {
        struct sim_options o = four();
        const struct server_report *r;
        struct sim *s;
        struct mirror m;

        fuse_as(&o, f);
        s = sim_new(&o);
        mirror_init(&m, s);
        late(s, 1, 2);
        m.absent[1] = 1u << 1;
        run_beside(&m);
        r = sim_server_report(s);
        assert_int_equal(r->void_rounds, 0);
        assert_int_equal(r->presence.generation, 1);
        assert_int_equal(r->rounds, 2 * EPOCH);
        assert_int_equal(r->degraded.missing, 1);
        assert_int_equal(r->whose.missing[1], 1);
        assert_int_equal(r->degraded.late, 1);
        assert_int_equal(r->whose.late[1], 1);
        assert_int_equal(r->degraded.absent, 0);
        assert_int_equal(r->presence.stale_messages, 0);
        assert_int_equal(r->presence.lost[1], 0);
        mirror_deinit(&m);
        sim_free(s);
    }
}

static void one_of_four(size_t f)
{
    struct sim_options o = four();
    struct mirror m;
    struct sim *s;

    fuse_as(&o, f);
    s = sim_new(&o);
    mirror_init(&m, s);
    for (int i = 1; i < PARTIES; i++)
        late(s, i, 3);
    m.absent[2] = 0xe;
    run_beside(&m);
    assert_int_equal(sim_server_report(s)->degraded.missing, 3);
    assert_int_equal(sim_server_report(s)->degraded.late, 3);
    assert_int_equal(sim_server_report(s)->void_rounds, 0);
    mirror_deinit(&m);
    sim_free(s);
}

static void test_one_of_four_stands_for_all(void **state)
{
    (void)state;
    for (size_t f = 0; f < FUSIONS; f++)
        one_of_four(f);
}

/* Different parties in different rounds; an upload that is not there at all is missing, not late.
 */
static void test_each_round_has_a_set_of_its_own(void **state)
{
    struct sim_options o = four();
    struct sim *s = sim_new(&o);
    struct mirror m;

    (void)state;
    mirror_init(&m, s);
    late(s, 0, 1);
    late(s, 3, 3);
    sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = 2, .kind = WIRE_UPLOAD, .nth = 3});
    m.absent[0] = 1u << 0;
    m.absent[2] = 1u << 2 | 1u << 3;
    run_beside(&m);
    assert_int_equal(sim_server_report(s)->degraded.missing, 3);
    assert_int_equal(sim_server_report(s)->whose.missing[2], 1);
    assert_int_equal(sim_server_report(s)->degraded.late, 2);
    assert_int_equal(sim_server_report(s)->whose.late[2], 0);
    mirror_deinit(&m);
    sim_free(s);
}

/* No deadline passes: they go on as soon as everybody still there has answered. */
static void without_the_lost(size_t f)
{
    struct sim_options o = four();
    const struct server_report *r;
    struct sim *s;
    struct mirror m;

    fuse_as(&o, f);
    o.sets[2] = "protocol.deadline_ms=10000";
    s = sim_new(&o);
    mirror_init(&m, s);
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_UPLOAD, .nth = 2});
    for (uint32_t step = 1; step < EPOCH; step++)
        m.absent[step] = 1u << 2;
    run_beside(&m);
    r = sim_server_report(s);
    assert_true(sim_now_us(s) < SECOND_US);
    assert_int_equal(r->void_rounds, 0);
    assert_int_equal(r->presence.generation, 2);
    assert_int_equal(r->degraded.missing, EPOCH - 1);
    assert_int_equal(r->degraded.late, 0);
    assert_int_equal(r->presence.lost[2], 1);
    assert_int_equal(r->presence.joined[2], 2);
    assert_int_equal(expect_count(s, "server: offer 2\n"), 1); /* to all */
    assert_int_equal(sim_party_report(s, 2)->progress.applied,
                     2 * EPOCH); /* what it missed is behind it */
    mirror_deinit(&m);
    sim_free(s);
}

static void test_a_lost_party_is_not_waited_for_and_is_back_at_the_next_epoch(void **state)
{
    (void)state;
    for (size_t f = 0; f < FUSIONS; f++)
        without_the_lost(f);
}

/* A generation of fewer: each party's columns, and its gradient, are its own whoever is there.
 * Where nothing stands for the absent, sum and mean are of those there, which is another mirror. */
static void test_a_set_of_fewer_has_everybodys_columns_in_their_place(void **state)
{
    (void)state;
    for (size_t f = 2; f < FUSIONS; f++) {
        struct sim_options o = four();
        struct sim *s;
        struct mirror m;

        fuse_as(&o, f);
        o.sets[8] = "training.evaluate_every=1";
        o.sets[9] = "protocol.patience_ms=3000";
        s = sim_new(&o);
        mirror_init(&m, s);
        sim_rule(s, (struct sim_rule){
                        .act = SIM_SWALLOW, .from = 1, .kind = WIRE_UPLOAD, .nth = EPOCH + 1});
        for (uint32_t step = EPOCH; step < 2 * EPOCH; step++)
            m.away[step] = 1u << 1;
        sim_run(s, HOUR_US);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        assert_int_equal(expect_count(s, "server: offer 2 -> p1 p3 p4\n"), 1);
        assert_string_equal(m.wrong, "");
        assert_int_equal(m.arrivals, 2 * EPOCH);
        mirror_deinit(&m);
        sim_free(s);
    }
}

/* What it had sent before it was lost is in the sum, and the gradient was never heard. */
static void test_a_party_lost_after_its_upload_is_in_the_sum(void **state)
{
    struct sim_options o = four();
    struct sim *s = sim_new(&o);
    struct mirror m;

    (void)state;
    mirror_init(&m, s);
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_AFTER, .from = 0, .kind = WIRE_UPLOAD, .nth = 2});
    m.deaf[1] = 1u << 0;
    for (uint32_t step = 2; step < EPOCH; step++)
        m.absent[step] = 1u << 0;
    run_beside(&m);
    assert_int_equal(sim_server_report(s)->degraded.missing, EPOCH - 2);
    assert_int_equal(sim_server_report(s)->void_rounds, 0);
    mirror_deinit(&m);
    sim_free(s);
}

/* Scores are of the model, not of whoever is fast. */
static void test_an_evaluation_waits_beyond_the_deadline(void **state)
{
    struct sim_options o = four();
    struct sim *s = sim_new(&o);
    struct mirror m;

    (void)state;
    mirror_init(&m, s);
    late(s, 1, EPOCH + 1);
    late(s, 3, 2 * EPOCH + 2);
    run_beside(&m);
    assert_int_equal(sim_server_report(s)->degraded.missing, 0);
    assert_int_equal(sim_server_report(s)->degraded.late, 0);
    assert_int_equal(sim_server_report(s)->void_rounds, 0);
    assert_int_equal(sim_server_report(s)->presence.generation, 1);
    mirror_deinit(&m);
    sim_free(s);
}

/* The negative twin: at its patience it goes on in a smaller generation. */
static void test_an_evaluation_goes_on_at_its_patience_without_the_silent(void **state)
{
    struct sim_options o = four();
    struct sim *s;

    (void)state;
    o.sets[7] = "protocol.patience_ms=3000";
    s = sim_new(&o);
    sim_rule(s, (struct sim_rule){
                    .act = SIM_SWALLOW, .from = 1, .kind = WIRE_UPLOAD, .nth = 2 * EPOCH + 2});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_server_report(s)->void_rounds, 1);
    assert_int_equal(expect_count(s, "server: offer 2 -> p1 p3 p4\n"), 1);
    assert_in_range(sim_now_us(s), 3 * SECOND_US, 4 * SECOND_US);
    sim_free(s);
}

static void test_nobody_in_time_makes_the_round_void(void **state)
{
    struct sim_options o = four();
    struct sim *s = sim_new(&o);
    struct mirror m;

    (void)state;
    mirror_init(&m, s);
    for (int i = 0; i < PARTIES; i++)
        late(s, i, 2);
    run_beside(&m);
    assert_int_equal(sim_server_report(s)->void_rounds, 1);
    assert_int_equal(sim_server_report(s)->presence.generation, 2);
    assert_int_equal(sim_server_report(s)->degraded.missing, 0);
    assert_int_equal(sim_server_report(s)->degraded.late, PARTIES);
    mirror_deinit(&m);
    sim_free(s);
}

/* The negative twin of everything above: under masks nobody can be left out of a sum. */
static void test_under_masks_the_same_lateness_makes_the_round_void(void **state)
{
    struct sim_options o = four();
    const struct server_report *r;
    struct sim *s;

    (void)state;
    o.sets[0] = "protocol.aggregation=masked";
    o.sets[3] = "protocol.encoding=pbm";
    s = sim_new(&o);
    late(s, 1, 2);
    sim_run(s, HOUR_US);
    expect_completed(s);
    r = sim_server_report(s);
    assert_int_equal(r->void_rounds, 1);
    assert_int_equal(r->presence.generation, 3);
    assert_int_equal(r->degraded.missing, 0);
    assert_int_equal(r->degraded.absent, EPOCH - 1);
    assert_int_equal(expect_count(s, "server: offer 2 -> p1 p3 p4\n"), 1);
    sim_free(s);
}

static uint8_t second_member = 1;

static void leave_out(struct wire_msg *m, void *owner)
{
    (void)owner;
    if (m->broadcast.closes)
        m->broadcast.absent = (struct wire_bytes){&second_member, 1};
}

/* A server that names somebody absent where nobody may be. */
static void test_a_party_refuses_an_absence_where_the_plan_has_none(void **state)
{
    static const char *const sets[][2] = {
        {"protocol.straggler=wait", "protocol.aggregation=clear"},
        {"protocol.straggler=wait", "protocol.aggregation=masked"},
        {"protocol.straggler=drop", "protocol.aggregation=masked"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct sim_options o = {
            .parties = 3, .train_rows = 12, .quiet = true, .sets = {sets[i][0], sets[i][1]}};
        struct sim *s = sim_new(&o);

        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = SIM_SERVER,
                                      .party = 1,
                                      .kind = WIRE_BROADCAST,
                                      .alter = leave_out});
        sim_run(s, HOUR_US);
        assert_int_equal(sim_party_end(s, 1)->outcome, OUTCOME_FAILED);
        assert_int_equal(status_exit_code(sim_party_end(s, 1)->error.status), 3);
        assert_non_null(strstr(sim_party_end(s, 1)->error.text, "without some members"));
        sim_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_undisturbed_run_is_the_mirrors),
        cmocka_unit_test(test_the_mirror_sees_another_set),
        cmocka_unit_test(test_a_late_party_is_left_out_of_that_round_alone),
        cmocka_unit_test(test_one_of_four_stands_for_all),
        cmocka_unit_test(test_each_round_has_a_set_of_its_own),
        cmocka_unit_test(test_a_lost_party_is_not_waited_for_and_is_back_at_the_next_epoch),
        cmocka_unit_test(test_a_set_of_fewer_has_everybodys_columns_in_their_place),
        cmocka_unit_test(test_a_party_lost_after_its_upload_is_in_the_sum),
        cmocka_unit_test(test_an_evaluation_waits_beyond_the_deadline),
        cmocka_unit_test(test_an_evaluation_goes_on_at_its_patience_without_the_silent),
        cmocka_unit_test(test_nobody_in_time_makes_the_round_void),
        cmocka_unit_test(test_under_masks_the_same_lateness_makes_the_round_void),
        cmocka_unit_test(test_a_party_refuses_an_absence_where_the_plan_has_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
