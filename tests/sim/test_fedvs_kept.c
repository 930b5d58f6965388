/* test_fedvs_kept.c -- what is found out once, as data is dealt, outlives the process: the secret
 * of the sharing at a party, and at the server how far embeddings reach.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/checkpoint.h"
#include "tests/sim/expect.h"
#include "tests/sim/sim.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
#define SECOND_US 1000000ull

enum { PARTIES = 3 };

static struct sim_options three(void)
{
    return (struct sim_options){.parties = PARTIES,
                                .train_rows = 9,
                                .test_rows = 3,
                                .checkpoint_rounds = 1,
                                .party_sets = {"model.layers=[]", "model.polynomial.degree=1"},
                                .sets = {"protocol.aggregation=fedvs", "protocol.fedvs.segments=1",
                                         "training.batch=4", "training.epochs=2",
                                         "protocol.patience_ms=4000"}};
}

/* Its part of the run ends without a word, as a lost connection ends that of one that stands. */
static bool leaves_something(struct sim *s)
{
    return party_checkpoint_needed(sim_party_report(s, 0), OUTCOME_FAILED);
}

static void test_what_is_dealt_is_kept_before_the_first_step(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_DELAY,
                                  .us = SECOND_US,
                                  .from = SIM_SERVER,
                                  .party = 0,
                                  .kind = WIRE_BROADCAST,
                                  .nth = 4}); /* keys, two chunks, the first step */
    expect_until(s, "server: broadcast open deal_data 1\n", 1);
    assert_false(leaves_something(s)); /* half of the shares are as none */
    expect_until(s, "p2: share\n", 4);
    assert_true(sim_party_report(s, 0)->shared);
    assert_int_equal(sim_party_report(s, 0)->progress.rounds, 0);
    assert_true(leaves_something(s));
    sim_run(s, HOUR_US);
    expect_completed(s);
    assert_false(party_checkpoint_needed(sim_party_report(s, 0), OUTCOME_COMPLETED));
    sim_free(s);
}

/* A package says so, also that of a server that died when all was done but the end. */
static void test_another_process_of_the_server_knows_how_far_embeddings_reach(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);
    double reach;

    (void)state;
    expect_until(s, "server: broadcast close 4 open train 5\n", 1);
    reach = server_session_reach(s->server);
    assert_true(reach > 0 && reach == fedvs_reach(server_session_terms(s->server)));
    sim_kill_at(s, SIM_SERVER, sim_now_us(s) + 1);
    expect_until(s, "server: offer 2\n", 1);
    assert_null(server_session_terms(s->server)->field); /* nobody's hello is in */
    assert_true(server_session_reach(s->server) == reach);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_dealt_is_kept_before_the_first_step),
        cmocka_unit_test(test_another_process_of_the_server_knows_how_far_embeddings_reach),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
