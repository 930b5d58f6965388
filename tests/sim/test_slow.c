/* test_slow.c -- a member that answers just before each deadline costs the others time, and nothing
 * else: what they have to say after it has a deadline of its own (G10).
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "server/parts.h"
#include "tests/sim/sim.h"
#include "tests/sim/world.h"

static const uint64_t HOUR_US = 3600000000ull;
enum { PARTIES = 5, SLOW = 4, DEADLINE_US = 500000, EPOCHS = 5, STEPS = 20 };

/* p5 says this kind so much later than it might.  The others are not as near to the server as it
 * is: 3 ms more for each answer of theirs. */
static struct sim *with_a_slow_one(const char *aggregation, enum wire_kind kind, uint32_t but,
                                   uint64_t us)
{
    struct sim_options o = {.parties = PARTIES,
                            .train_rows = 12,
                            .quiet = true,
                            .sets = {"protocol.straggler=drop", "protocol.deadline_ms=500",
                                     "protocol.patience_ms=2000", "training.epochs=5",
                                     aggregation}};
    struct sim *s = sim_new(&o);

    if (kind == WIRE_HELLO) /* so that there is another generation than the first */
        sim_rule(s, (struct sim_rule){
                        .act = SIM_CUT_BEFORE, .from = SLOW, .kind = WIRE_UPLOAD, .nth = 3});
    sim_rule(s,
             (struct sim_rule){.act = SIM_DELAY, .from = SLOW, .kind = kind, .but = but, .us = us});
    for (int i = 0; i < SLOW; i++) {
        sim_rule(s,
                 (struct sim_rule){.act = SIM_DELAY, .from = i, .kind = WIRE_CONFIRM, .us = 3000});
        sim_rule(s,
                 (struct sim_rule){.act = SIM_DELAY, .from = i, .kind = WIRE_UPLOAD, .us = 3000});
    }
    sim_run(s, HOUR_US);
    return s;
}

/* Nobody else is in as much as one set less; and who is late voids one round of an epoch at most,
 * for it sits out until the next. */
static void expect_others_unhurt(struct sim *s)
{
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_server_report(s)->steps, STEPS);
    assert_true(sim_server_report(s)->void_rounds <= EPOCHS);
    for (uint32_t i = 0; i < SLOW; i++) {
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
        assert_int_equal(sim_server_report(s)->whose.absent[i], 0);
        assert_int_equal(sim_server_report(s)->whose.missing[i], 0);
        assert_false(s->server->fed.peer[i].barred);
    }
}

/* The last milliseconds before the deadline, half a one at a time.  A message is on its way for 1
 * ms, so that it is in time at first and late in the end: then it is the one that sits out. */
static void expect_it_costs_itself_alone(const char *aggregation, enum wire_kind kind, uint32_t but)
{
    bool in_time = false, late = false;

    for (uint64_t us = DEADLINE_US - 10000; us <= DEADLINE_US; us += 500) {
        struct sim *s = with_a_slow_one(aggregation, kind, but, us);

        expect_others_unhurt(s);
        if (s->server->fed.peer[SLOW].barred || sim_server_report(s)->void_rounds > 1) {
            late = true;
        } else {
            assert_int_equal(sim_party_end(s, SLOW)->outcome, OUTCOME_COMPLETED);
            assert_true(sim_server_report(s)->void_rounds <= (kind == WIRE_HELLO));
            in_time = true;
        }
        sim_free(s);
    }
    assert_true(in_time && late);
}

static void test_a_hello_at_the_deadline_leaves_the_others_time_to_confirm(void **state)
{
    (void)state;
    expect_it_costs_itself_alone("protocol.aggregation=masked", WIRE_HELLO, 0);
    expect_it_costs_itself_alone("protocol.aggregation=clear", WIRE_HELLO, 0);
    expect_it_costs_itself_alone("protocol.aggregation=coded", WIRE_HELLO, 0);
}

static void test_a_share_at_the_deadline_leaves_the_others_time_to_upload(void **state)
{
    (void)state;
    expect_it_costs_itself_alone("protocol.aggregation=coded", WIRE_SHARE, 0);
}

/* Nor does it void a round for each whole one, which would forgive the others and blame nobody. */
static void test_every_second_share_at_the_deadline_voids_nothing(void **state)
{
    (void)state;
    expect_it_costs_itself_alone("protocol.aggregation=coded", WIRE_SHARE, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_hello_at_the_deadline_leaves_the_others_time_to_confirm),
        cmocka_unit_test(test_a_share_at_the_deadline_leaves_the_others_time_to_upload),
        cmocka_unit_test(test_every_second_share_at_the_deadline_voids_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
