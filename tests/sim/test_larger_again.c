/* test_larger_again.c -- parties that refuse sets for a larger one over and over, or for long: they
 * cost nobody the run, and neither themselves.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/federation.h"
#include "tests/sim/expect.h"
#include "tests/sim/larger.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* --- who says so over and over --- */

struct wishes {
    struct sim *s;
    uint32_t most, n; /* 0: no end of them */
};

static void wish_of_now(struct wire_msg *m, void *owner)
{
    struct wishes *w = owner;
    const struct server_federation *f = world_federation(w->s);
    struct larger_wish now = {f->set.generation};

    if (now.generation == 1 || f->set.n == f->terms.roster->n || (w->most > 0 && w->n == w->most))
        return;
    larger_wish(m, &now);
    w->n++;
}

/* p1 asks for a larger set, connects anew and asks again, while p4 is away for some seconds. */
static void test_who_asks_for_a_larger_set_and_connects_anew_ends_nobody(void **state)
{
    static const char *const stragglers[][2] = {
        {"protocol.straggler=drop", "protocol.deadline_ms=100"},
        {"protocol.straggler=async", "protocol.aggregation=clear"},
    };

    (void)state;
    for (size_t how = 0; how < 2; how++) {
        struct sim_options o = larger_options(4);
        struct wishes w = {0};
        struct sim *s;

        o.sets[0] = stragglers[how][0];
        o.sets[1] = stragglers[how][1];
        s = w.s = sim_new(&o);
        sim_rule(s, (struct sim_rule){.act = SIM_KILL,
                                      .from = 3,
                                      .kind = WIRE_UPLOAD,
                                      .nth = 3,
                                      .how = {.down_us = 5000000}});
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = 0,
                                      .kind = WIRE_HELLO,
                                      .alter = wish_of_now,
                                      .owner = &w,
                                      .then_cut = true});
        sim_run(s, HOUR_US);
        assert_int_equal(expect_count(s, "-- lost p1\n"), SERVER_REFUSED_MAX);
        assert_true(sim_server_report(s)->presence.generation < 20);
        larger_completed_but(s, 0);
        sim_free(s);
    }
}

/* p5 is gone for good; the first so many times (0: whenever) that p1 is let in then it asks for a
 * larger set, so long after the offer.  An epoch is one step. */
static struct sim *with_wishes(uint64_t late_us, uint32_t most)
{
    struct sim_options o = larger_options(5);
    struct wishes w = {.most = most};
    struct sim *s;

    o.sets[3] = "training.epochs=30";
    o.sets[4] = "training.batch=12";
    s = w.s = sim_new(&o);
    sim_rule(s, (struct sim_rule){.act = SIM_KILL,
                                  .from = 4,
                                  .kind = WIRE_UPLOAD,
                                  .nth = 3,
                                  .how = {.down_us = 2 * HOUR_US}});
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = 0,
                                  .kind = WIRE_HELLO,
                                  .alter = wish_of_now,
                                  .owner = &w,
                                  .us = late_us});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 1; i < 4; i++)
        assert_int_equal(world_federation(s)->peer[i].stalled, 0);
    return s;
}

/* It is no loss, but all the others have waited for it: four times, and then once for as many steps
 * as pay that back. */
static void test_who_asks_for_a_larger_set_just_in_time_over_and_over_is_asked_less(void **state)
{
    struct sim *s = with_wishes(90000, 0);
    const size_t asked = expect_count(s, "p1: hello\n"); /* they are altered on their way */

    (void)state;
    assert_int_equal(expect_count(s, "p1: refuse\n"), 0);
    assert_true(world_federation(s)->peer[0].refused.late > 0);
    assert_false(world_federation(s)->peer[0].barred); /* it may be slow, and honest */
    assert_int_equal(world_federation(s)->peer[0].stalled, 0);
    assert_int_equal(asked, 1 + SERVER_REFUSED_MAX + 30 / 2); /* the first was none */
    sim_free(s);
}

/* Rounds without it pay back, too: whoever takes a smaller set in the end is in it. */
static void test_who_was_late_with_its_wishes_is_in_a_smaller_set_when_it_takes_one(void **state)
{
    struct sim *s = with_wishes(90000, SERVER_REFUSED_MAX);

    (void)state;
    assert_int_equal(world_federation(s)->peer[0].refused.late, 0);
    assert_true(sim_party_report(s, 0)->progress.rounds > 30);
    sim_free(s);
}

/* The negative twin: who asks for one at once may do so whenever it is let in. */
static void test_who_asks_for_one_at_once_is_asked_again(void **state)
{
    struct sim *s = with_wishes(0, 0);

    (void)state;
    assert_false(world_federation(s)->peer[0].barred);
    assert_int_equal(world_federation(s)->peer[0].refused.late, 0);
    assert_true(expect_count(s, "p1: hello\n") > 25);
    sim_free(s);
}

/* --- who sits out for long --- */

/* p4 hides among four others alone, and p5 is gone for good: it is asked in each of 100 epochs, and
 * the others come a step forward between. */
static void test_who_sits_out_for_long_is_no_failure_of_the_others(void **state)
{
    struct sim_options o = larger_options(5);
    struct sim *s;

    (void)state;
    o.sets[3] = "training.epochs=100";
    o.sets[4] = "training.batch=12";
    s = sim_new(&o);
    s->party[3].config.policy.min_m_eff = 4;
    sim_rule(s, (struct sim_rule){.act = SIM_KILL,
                                  .from = 4,
                                  .kind = WIRE_UPLOAD,
                                  .nth = 3,
                                  .how = {.down_us = 2 * HOUR_US}});
    sim_run(s, HOUR_US);
    assert_true(expect_count(s, "p4: refuse\n") > 64);
    larger_completed_but(s, 4);
    assert_int_equal(sim_server_report(s)->presence.lost[3], 0);
    sim_free(s);
}

/* async without evaluations: nothing halts the stream but who may come in.  p1 wants a larger set
 * once, and p5 is gone for good. */
static void test_who_refused_one_set_comes_in_though_nothing_else_halts_the_stream(void **state)
{
    struct sim_options o = larger_options(5);
    struct wishes w = {.most = 1};
    struct sim *s;

    (void)state;
    o.sets[0] = "protocol.straggler=async";
    o.sets[1] = "protocol.aggregation=clear";
    o.sets[3] = "training.epochs=30";
    o.sets[4] = "training.evaluate_every=0";
    s = w.s = sim_new(&o);
    sim_rule(s, (struct sim_rule){.act = SIM_KILL,
                                  .from = 4,
                                  .kind = WIRE_UPLOAD,
                                  .nth = 3,
                                  .how = {.down_us = 2 * HOUR_US}});
    sim_rule(
        s, (struct sim_rule){
               .act = SIM_ALTER, .from = 0, .kind = WIRE_HELLO, .alter = wish_of_now, .owner = &w});
    sim_run(s, HOUR_US);
    assert_int_equal(w.n, 1);
    larger_completed_but(s, 4);
    assert_true(sim_party_report(s, 0)->progress.rounds > 60);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_asks_for_a_larger_set_and_connects_anew_ends_nobody),
        cmocka_unit_test(test_who_asks_for_a_larger_set_just_in_time_over_and_over_is_asked_less),
        cmocka_unit_test(test_who_was_late_with_its_wishes_is_in_a_smaller_set_when_it_takes_one),
        cmocka_unit_test(test_who_asks_for_one_at_once_is_asked_again),
        cmocka_unit_test(test_who_sits_out_for_long_is_no_failure_of_the_others),
        cmocka_unit_test(test_who_refused_one_set_comes_in_though_nothing_else_halts_the_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
