/* test_spoilers.c -- a member that lets rounds come to nothing, but never many in a row: everybody
 * pays for their repetition, so there is an end to it, at the server and at each party.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/limits.h"
#include "party/session.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t HOUR_US = 3600000000ull;

enum { EPOCH_STEPS = 3, EPOCHS = 60, STEPS = EPOCH_STEPS * EPOCHS };

static struct sim *long_run(const char *aggregation)
{
    struct sim_options o = {.parties = 3,
                            .quiet = true,
                            .sets = {"training.batch=2", "training.epochs=60",
                                     "training.evaluate_every=0", aggregation}};

    return sim_new(&o);
}

static void spoil(struct wire_msg *m, void *owner)
{
    static uint8_t other[1024];

    (void)owner;
    assert_true(m->upload.check.n > 0 && m->upload.check.n <= sizeof other);
    memcpy(other, m->upload.check.data, m->upload.check.n);
    other[0] ^= 1;
    m->upload.check.data = other;
}

/* p3 spoils each sum but every third. */
static void test_sums_are_not_spoiled_without_end(void **state)
{
    struct sim *s = long_run(NULL);
    const struct server_report *r = sim_server_report(s);

    (void)state;
    sim_rule(s, (struct sim_rule){
                    .act = SIM_ALTER, .from = 2, .kind = WIRE_UPLOAD, .but = 3, .alter = spoil});
    sim_run(s, HOUR_US);
    r = sim_server_report(s);
    assert_int_equal(sim_server_end(s)->error.status, STATUS_INTEGRITY);
    assert_non_null(strstr(sim_server_end(s)->error.text, "one of p1, p2, p3 or more"));
    assert_int_equal(r->integrity_failures, WIRE_SPOILED_MAX + 1);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(sim_uploaded(s, i), (r->steps + r->integrity_failures) * 2); /* rows */
    sim_free(s);
}

/* One in WIRE_SPOILED_ONE_IN may be, for as long as the run takes. */
static void test_a_sum_that_fails_now_and_then_ends_nothing(void **state)
{
    struct sim *s = long_run(NULL);

    (void)state;
    for (uint32_t i = 0; i < WIRE_SPOILED_MAX; i++)
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = 2,
                                      .kind = WIRE_UPLOAD,
                                      .nth = 1 + 20 * i,
                                      .alter = spoil});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_server_report(s)->integrity_failures, WIRE_SPOILED_MAX);
    assert_int_equal(sim_server_report(s)->steps, STEPS);
    sim_free(s);
}

/* p3 is gone as soon as the others have uploaded, all but every third time. */
static void test_rounds_are_not_paid_for_again_without_end(void **state)
{
    struct sim *s = long_run("protocol.straggler=wait");
    uint64_t again;

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_UPLOAD, .but = 3});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    assert_non_null(strstr(sim_server_end(s)->error.text, "rounds were opened again"));
    again = sim_server_report(s)->void_rounds;
    assert_true(again >= WIRE_AGAIN_MAX && sim_server_report(s)->steps < STEPS);
    assert_true(again <= WIRE_AGAIN_MAX + sim_server_report(s)->steps + 3);
    for (uint32_t i = 0; i < 2; i++)
        assert_true(sim_uploaded(s, i) <=
                    (WIRE_AGAIN_MAX + 2 * sim_server_report(s)->steps + 3) * 2);
    sim_free(s);
}

/* Every other one is lost: that is a bad link. */
static void test_a_link_that_loses_half_of_all_rounds_ends_nothing(void **state)
{
    struct sim *s = long_run("protocol.straggler=wait");

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_UPLOAD, .but = 2});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_server_report(s)->steps, STEPS);
    assert_true(sim_server_report(s)->void_rounds >= STEPS);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_are_not_spoiled_without_end),
        cmocka_unit_test(test_a_sum_that_fails_now_and_then_ends_nothing),
        cmocka_unit_test(test_rounds_are_not_paid_for_again_without_end),
        cmocka_unit_test(test_a_link_that_loses_half_of_all_rounds_ends_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
