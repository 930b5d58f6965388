/* test_taken_back.c -- under drop a server may send parties back to earlier steps, as one that lost
 * its last records does: so many times and no more, and what that costs is judged before.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/inside.h"
#include "tests/sim/expect.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
enum { PARTIES = 3 };

static struct sim_options three(void)
{
    return (struct sim_options){.parties = PARTIES,
                                .train_rows = 12,
                                .checkpoint_rounds = 100,
                                .quiet = true,
                                .sets = {"training.epochs=40", "protocol.straggler=drop",
                                         "protocol.deadline_ms=200", "protocol.patience_ms=2000"}};
}

static bool over(struct sim *s)
{
    return sim_server_end(s)->over || sim_party_end(s, 0)->over;
}

static void run_to_step(struct sim *s, uint64_t step)
{
    uint64_t us = 100;

    while (sim_server_report(s)->steps < step && !over(s)) {
        uint64_t before = sim_now_us(s);
        sim_run(s, us);
        us = sim_now_us(s) == before ? us + 100 : 100;
    }
}

/* The server dies again and again, each time with its last records, a step forward in between. */
static void take_back(struct sim *s, uint32_t times)
{
    for (uint32_t i = 0; i < times && !over(s); i++) {
        run_to_step(s, sim_party_report(s, 0)->progress.applied + 4);
        if (over(s))
            return;
        sim_break_at(
            s, (struct sim_break){
                   .what = SIM_DEATH, .who = SIM_SERVER, .at_us = sim_now_us(s) + 1, .lose = 2});
        sim_run(s, 1000);
    }
}

static void test_a_server_that_lost_its_last_records_goes_on(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);

    (void)state;
    take_back(s, 4);
    assert_false(over(s));
    sim_run(s, HOUR_US);
    expect_completed(s);
    assert_true(inside(s->party[0].session)->learner.behind.gone_back > 0);
    assert_true(sim_charged(s, 0) > 40 * 12); /* what was released again was charged again */
    sim_free(s);
}

static void test_parties_are_taken_back_so_often_and_no_more(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);

    (void)state;
    take_back(s, 3 * PARTY_GO_BACK_MAX);
    sim_run(s, HOUR_US);
    for (uint32_t i = 0; i < PARTIES; i++) {
        const struct sim_end *end = sim_party_end(s, i);

        assert_true(end->over);
        assert_int_equal(end->outcome, OUTCOME_FAILED);
        if (inside(s->party[i].session)->learner.behind.gone_back > PARTY_GO_BACK_MAX)
            assert_non_null(strstr(end->error.text, "its state was lost or put back"));
    }
    assert_int_equal(inside(s->party[0].session)->learner.behind.gone_back, PARTY_GO_BACK_MAX + 1);
    sim_free(s);
}

/* The limit leaves room for what is left after this step, and not for the run all over again. */
static void back_to_the_start(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->offer.step = 0;
}

static void price_after(struct sim *s, void (*alter)(struct wire_msg *m, void *owner))
{
    run_to_step(s, 100);
    for (uint32_t i = 0; i < PARTIES; i++)
        s->party[i].config.policy.releases_record = 36;
    if (alter != NULL)
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = SIM_SERVER,
                                      .party = SIM_ANY,
                                      .kind = WIRE_OFFER,
                                      .alter = alter});
    sim_break_at(
        s, (struct sim_break){.what = SIM_DEATH, .who = SIM_SERVER, .at_us = sim_now_us(s) + 1});
}

static void test_the_way_back_is_priced_before_it_is_taken(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);
    uint64_t charged;

    (void)state;
    price_after(s, back_to_the_start);
    sim_run(s, 2); /* it is dead */
    charged = sim_charged(s, 0);
    sim_run(s, HOUR_US);
    for (uint32_t i = 0; i < PARTIES; i++) {
        const struct sim_end *end = sim_party_end(s, i);

        assert_true(end->over);
        if (strstr(end->error.text, "policy.max_releases.record") == NULL)
            fail_msg("p%u: %s", i + 1, end->error.text);
        assert_int_equal(status_exit_code(end->error.status), 5);
    }
    assert_true(sim_charged(s, 0) <= charged); /* a rest may have been given back */
    sim_free(s);
}

static void test_the_same_limit_lets_the_rest_of_the_run_pass(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);

    (void)state;
    price_after(s, NULL);
    sim_run(s, HOUR_US);
    expect_completed(s);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_server_that_lost_its_last_records_goes_on),
        cmocka_unit_test(test_parties_are_taken_back_so_often_and_no_more),
        cmocka_unit_test(test_the_way_back_is_priced_before_it_is_taken),
        cmocka_unit_test(test_the_same_limit_lets_the_rest_of_the_run_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
