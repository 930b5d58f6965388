/* test_coded.c -- coded rounds as transcripts: a member that has shared is not needed any more.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/expect.h"
#include "tests/sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
#define SECOND_US 1000000ull

/* 5 parties, K = 2, T = 1: three uploads decode. */
static struct sim_options five(void)
{
    return (struct sim_options){
        .parties = 5,
        .train_rows = 9,
        .sets = {"protocol.aggregation=coded", "protocol.coded.segments=2", "training.epochs=2"}};
}

static void model_of(struct sim *s, char out[6][65])
{
    for (int who = SIM_SERVER; who < 5; who++)
        sim_model(s, who, out[who + 1]);
}

static void test_a_coded_round_is_this_transcript(void **state)
{
    struct sim_options o = {.parties = 3,
                            .train_rows = 3,
                            .sets = {"protocol.aggregation=coded", "training.evaluate_every=0"}};
    struct sim *s = sim_new(&o);
    const char *from;

    (void)state;
    sim_run(s, HOUR_US);
    from = strstr(sim_transcript(s), "server: broadcast open train 0");
    assert_non_null(from);
    assert_string_equal(from, "server: broadcast open train 0\n"
                              "p1: share\n"
                              "p2: share\n"
                              "p3: share\n"
                              "server: relay -> p1\n"
                              "server: relay -> p2\n"
                              "server: relay -> p3\n"
                              "p1: upload\n"
                              "p2: upload\n"
                              "p3: upload\n"
                              "server: broadcast close 0 open evaluate test 0\n"
                              "p1: share\n"
                              "p2: share\n"
                              "p3: share\n"
                              "server: relay -> p1\n"
                              "server: relay -> p2\n"
                              "server: relay -> p3\n"
                              "p1: upload\n"
                              "p2: upload\n"
                              "p3: upload\n"
                              "server: broadcast last\n"
                              "p1: kept\n"
                              "p2: kept\n"
                              "p3: kept\n"
                              "server: finish completed\n");
    sim_free(s);
}

/* A whole run under these rules, and its models. */
static struct sim *run_under(const struct sim_rule *rules, size_t n, char models[6][65])
{
    struct sim_options o = five();
    struct sim *s = sim_new(&o);

    for (size_t i = 0; i < n; i++)
        sim_rule(s, rules[i]);
    sim_run(s, HOUR_US);
    expect_completed(s);
    model_of(s, models);
    return s;
}

/* The same, which come to the models of a run without any; *undisturbed_us: how long that took. */
static struct sim *run_to_the_same(const struct sim_rule *rules, size_t n, uint64_t *undisturbed_us)
{
    char calm[6][65], got[6][65];
    struct sim *s = run_under(NULL, 0, calm);

    *undisturbed_us = sim_now_us(s);
    sim_free(s);
    s = run_under(rules, n, got);
    assert_memory_equal(calm, got, sizeof calm);
    return s;
}

static void test_coded_gives_the_model_of_masked(void **state)
{
    struct sim_options coded = five(), masked = five();
    char a[6][65], b[6][65];
    struct sim *s;

    (void)state;
    masked.sets[0] = "protocol.aggregation=masked";
    s = sim_new(&coded);
    sim_run(s, HOUR_US);
    expect_completed(s);
    model_of(s, a);
    sim_free(s);
    s = sim_new(&masked);
    sim_run(s, HOUR_US);
    expect_completed(s);
    model_of(s, b);
    sim_free(s);
    assert_memory_equal(a, b, sizeof a);
}

/* Two uploads of five never come, in no round. */
static void test_missing_uploads_change_nothing_and_cost_no_time(void **state)
{
    static const struct sim_rule missing[] = {
        {.act = SIM_SWALLOW, .from = 1, .kind = WIRE_UPLOAD},
        {.act = SIM_SWALLOW, .from = 4, .kind = WIRE_UPLOAD},
    };
    uint64_t undisturbed_us;
    struct sim *s = run_to_the_same(missing, 2, &undisturbed_us);

    (void)state;
    assert_true(sim_now_us(s) < undisturbed_us + SECOND_US / 100);
    assert_int_equal(sim_server_report(s)->void_rounds, 0);
    assert_int_equal(sim_server_report(s)->degraded.missing, 2 * 6);
    assert_int_equal(sim_server_report(s)->degraded.unverified, 8);
    sim_free(s);
}

/* The negative twin: with a third one missing there is nothing to decode. */
static void test_one_upload_too_few_is_waited_for_and_named(void **state)
{
    struct sim_options o = five();
    struct sim *s = sim_new(&o);
    const struct sim_end *end;

    (void)state;
    for (int i = 2; i < 5; i++)
        sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = i, .kind = WIRE_UPLOAD});
    sim_run(s, HOUR_US);
    end = sim_server_end(s);
    assert_int_equal(end->outcome, OUTCOME_FAILED);
    assert_int_equal(end->error.status, STATUS_PATIENCE);
    assert_non_null(strstr(end->error.text, "phase sum"));
    assert_non_null(strstr(end->error.text, "p3, p4, p5"));
    sim_free(s);
}

/* A connection that breaks after its share was sent: the round decodes without it. */
static void test_a_party_lost_after_sharing_costs_no_round(void **state)
{
    static const struct sim_rule cut = {
        .act = SIM_CUT_BEFORE, .from = 1, .kind = WIRE_UPLOAD, .nth = 2};
    uint64_t us;
    struct sim *s = run_to_the_same(&cut, 1, &us);

    (void)state;
    assert_int_equal(sim_server_report(s)->void_rounds, 0);
    assert_int_equal(sim_server_report(s)->presence.generation, 2);
    assert_int_equal(sim_server_report(s)->degraded.replayed, 1);
    sim_free(s);
}

/* The negative twin: lost before its share, the round is void and repeated. */
static void test_a_party_lost_before_sharing_voids_the_round(void **state)
{
    static const struct sim_rule cut = {
        .act = SIM_CUT_BEFORE, .from = 1, .kind = WIRE_SHARE, .nth = 2};
    uint64_t us;
    struct sim *s = run_to_the_same(&cut, 1, &us);

    (void)state;
    assert_int_equal(sim_server_report(s)->void_rounds, 1);
    sim_free(s);
}

static void flip_share(struct wire_msg *m, void *owner)
{
    (void)owner;
    ((uint8_t *)(uintptr_t)m->share.sealed.data)[0] ^= 1;
}

static void test_a_damaged_share_is_refused_and_its_dealer_named(void **state)
{
    struct sim_options o = five();
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s,
             (struct sim_rule){
                 .act = SIM_ALTER, .from = 2, .kind = WIRE_SHARE, .nth = 1, .alter = flip_share});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    assert_non_null(strstr(sim_server_end(s)->error.text, "share of p3"));
    sim_free(s);
}

/* Late, so that the sum was decoded without it: noticed all the same, and nothing is lost. */
static void test_a_wrong_late_upload_is_noticed(void **state)
{
    struct sim_options o = five();
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = 4,
                                  .kind = WIRE_UPLOAD,
                                  .nth = 2,
                                  .alter = expect_other_upload});
    sim_run(s, HOUR_US);
    expect_completed(s);
    assert_int_equal(sim_server_report(s)->degraded.faulty, 1);
    assert_int_equal(sim_server_report(s)->integrity_failures, 1);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_coded_round_is_this_transcript),
        cmocka_unit_test(test_coded_gives_the_model_of_masked),
        cmocka_unit_test(test_missing_uploads_change_nothing_and_cost_no_time),
        cmocka_unit_test(test_one_upload_too_few_is_waited_for_and_named),
        cmocka_unit_test(test_a_party_lost_after_sharing_costs_no_round),
        cmocka_unit_test(test_a_party_lost_before_sharing_voids_the_round),
        cmocka_unit_test(test_a_damaged_share_is_refused_and_its_dealer_named),
        cmocka_unit_test(test_a_wrong_late_upload_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
