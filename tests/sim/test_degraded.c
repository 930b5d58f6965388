/* test_degraded.c -- what goes less well than it might is counted, and whose doing it was.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
#define SECOND_US 1000000ull

/* 5 parties, K = 2, T = 1: three uploads decode.  Three rounds an epoch. */
static struct sim_options coded(void)
{
    return (struct sim_options){
        .parties = 5,
        .train_rows = 9,
        .quiet = true,
        .sets = {"protocol.aggregation=coded", "protocol.coded.segments=2", "training.epochs=2"}};
}

static const struct server_report *completed(struct sim *s)
{
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    return sim_server_report(s);
}

static void swallow_two(struct sim *s)
{
    sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = 1, .kind = WIRE_UPLOAD});
    sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = 4, .kind = WIRE_UPLOAD});
}

static void test_missing_uploads_are_counted_for_whom_they_were_missing(void **state)
{
    struct sim_options o = coded();
    struct sim *s = sim_new(&o);
    const struct server_report *r;

    (void)state;
    swallow_two(s);
    r = completed(s);
    for (uint32_t i = 0; i < 5; i++) {
        bool silent = i == 1 || i == 4;
        assert_int_equal(r->whose.missing[i], silent ? r->rounds : 0);
        assert_int_equal(r->whose.late[i] + r->whose.absent[i], 0);
        assert_true(!silent || (r->uploads.us[i] == 0 && r->uploads.times[i] == 0));
    }
    assert_int_equal(r->missing_now, 2);
    assert_int_equal(r->degraded.absent, 0);
    sim_free(s);
}

static void test_nothing_is_counted_when_nothing_is_amiss(void **state)
{
    static const struct server_degraded none;
    struct sim_options o = {.parties = 3, .quiet = true, .sets = {"training.epochs=2"}};
    struct sim *s = sim_new(&o);
    const struct server_report *r = completed(s);

    (void)state;
    assert_memory_equal(&r->degraded, &none, sizeof none);
    assert_int_equal(r->missing_now, 0);
    sim_free(s);
}

static void test_a_late_upload_is_counted_once_and_for_its_sender(void **state)
{
    struct sim_options o = coded();
    struct sim *s = sim_new(&o);
    const struct server_report *r;

    (void)state;
    sim_rule(s, (struct sim_rule){
                    .act = SIM_DELAY, .from = 2, .kind = WIRE_UPLOAD, .nth = 2, .us = SECOND_US});
    r = completed(s);
    assert_int_equal(r->whose.late[2], 1);
    assert_int_equal(r->whose.missing[2], 1);
    for (uint32_t i = 0; i < 5; i++)
        assert_true(r->shares.us[i] >= (i == 2 ? SECOND_US / 2 : 0)); /* its next share */
    sim_free(s);
}

static void test_a_late_upload_of_an_evaluation_is_not_counted(void **state)
{
    struct sim_options o = coded();
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){
                    .act = SIM_DELAY, .from = 2, .kind = WIRE_UPLOAD, .nth = 4, .us = SECOND_US});
    assert_int_equal(completed(s)->whose.late[2], 0);
    sim_free(s);
}

/* Shares are waited for: who is slow before them is seen apart from who is slow after. */
static void test_a_slow_share_is_put_down_to_its_sender(void **state)
{
    struct sim_options o = coded();
    struct sim *s = sim_new(&o);
    const struct server_report *r;
    uint64_t others = 0;

    (void)state;
    sim_rule(s,
             (struct sim_rule){.act = SIM_DELAY, .from = 3, .kind = WIRE_SHARE, .us = SECOND_US});
    r = completed(s);
    assert_int_equal(r->shares.times[3], 8); /* six of training, two of evaluation */
    assert_true(r->shares.us[3] >= 8 * SECOND_US - 8000);
    for (uint32_t i = 0; i < 5; i++)
        others += i == 3 ? 0 : r->shares.times[i] + r->shares.us[i];
    assert_int_equal(others, 0);
    sim_free(s);
}

/* Under masks a late party costs its round, and then some rounds go on without it. */
static void test_drop_counts_rounds_without_a_party_and_its_late_upload(void **state)
{
    struct sim_options o = {
        .parties = 4,
        .train_rows = 12,
        .quiet = true,
        .sets = {"protocol.straggler=drop", "protocol.deadline_ms=100", "training.epochs=2"}};
    struct sim *s = sim_new(&o);
    const struct server_report *r;

    (void)state;
    sim_rule(s, (struct sim_rule){
                    .act = SIM_DELAY, .from = 1, .kind = WIRE_UPLOAD, .nth = 2, .us = 150000});
    r = completed(s);
    assert_int_equal(r->void_rounds, 1);
    assert_int_equal(r->whose.late[1], 1);
    assert_int_equal(r->degraded.late, 1);
    assert_int_equal(r->whose.absent[1], 3); /* of the first epoch's four all but the first */
    assert_int_equal(r->degraded.absent, 3);
    assert_int_equal(r->degraded.missing, 0);
    assert_int_equal(r->missing_now, 0);
    sim_free(s);
}

/* In clear the round itself goes on without it. */
static void test_drop_in_clear_counts_what_the_sum_is_without(void **state)
{
    struct sim_options o = {.parties = 4,
                            .train_rows = 12,
                            .quiet = true,
                            .sets = {"protocol.straggler=drop", "protocol.deadline_ms=100",
                                     "protocol.aggregation=clear"},
                            .party_sets = {"policy.aggregations=[clear]"}};
    struct sim *s = sim_new(&o);
    const struct server_report *r;

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = 2, .kind = WIRE_UPLOAD, .nth = 2});
    r = completed(s);
    assert_int_equal(r->void_rounds, 0);
    assert_int_equal(r->whose.missing[2], 1);
    assert_int_equal(r->degraded.missing, 1);
    sim_free(s);
}

/* Of each row of a step M - 1 embeddings are older than the arrival, or not there at all. */
static void test_async_counts_every_embedding_that_is_not_the_arrival(void **state)
{
    struct sim_options o = {
        .parties = 3,
        .train_rows = 6,
        .quiet = true,
        .sets = {"protocol.straggler=async", "protocol.aggregation=clear", "training.epochs=2"},
        .party_sets = {"policy.aggregations=[clear]"}};
    struct sim *s = sim_new(&o);
    const struct server_report *r = completed(s);

    (void)state;
    assert_int_equal(r->degraded.unseen, 6 * (2 + 1)); /* the first, the second and the third */
    assert_int_equal(r->degraded.stale + r->degraded.unseen, 2 * 3 * r->rounds); /* 3: a batch */
    sim_free(s);
}

static void test_a_restarted_server_goes_on_counting(void **state)
{
    struct sim_options o = coded();
    struct sim *first, *s;
    const struct server_report *r;
    uint64_t before;

    (void)state;
    o.checkpoint_rounds = 1;
    first = sim_new(&o);
    swallow_two(first);
    sim_stop_at(first, SIM_SERVER, 16000);
    sim_run(first, HOUR_US);
    r = sim_server_report(first);
    before = r->degraded.missing;
    assert_int_equal(sim_server_end(first)->outcome, OUTCOME_STOPPED);
    assert_in_range(before, 1, 11);
    assert_int_equal(before, 2 * r->rounds);
    s = sim_resume(first);
    sim_free(first);
    swallow_two(s);
    r = completed(s);
    assert_int_equal(r->rounds, 6);
    assert_int_equal(r->degraded.missing, 2 * 6);
    assert_int_equal(r->whose.missing[1] + r->whose.missing[4],
                     2 * 6 - before); /* this process's part */
    assert_int_equal(r->degraded.unverified, 8);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_uploads_are_counted_for_whom_they_were_missing),
        cmocka_unit_test(test_nothing_is_counted_when_nothing_is_amiss),
        cmocka_unit_test(test_a_late_upload_is_counted_once_and_for_its_sender),
        cmocka_unit_test(test_a_late_upload_of_an_evaluation_is_not_counted),
        cmocka_unit_test(test_a_slow_share_is_put_down_to_its_sender),
        cmocka_unit_test(test_drop_counts_rounds_without_a_party_and_its_late_upload),
        cmocka_unit_test(test_drop_in_clear_counts_what_the_sum_is_without),
        cmocka_unit_test(test_async_counts_every_embedding_that_is_not_the_arrival),
        cmocka_unit_test(test_a_restarted_server_goes_on_counting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
