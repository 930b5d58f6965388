/* test_fedvs.c -- data dealt once, models shared each round, sums decoded whoever is slow.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
#define SECOND_US 1000000ull

/* 5 parties, K = 2, T = 1: five results decode, of 5; with K = 1: three. */
enum { PARTIES = 5 };

static struct sim_options five(void)
{
    return (struct sim_options){
        .parties = PARTIES,
        .train_rows = 9,
        .test_rows = 3,
        .motley = true,
        .watch = true,
        .party_sets = {"model.layers=[]", "model.polynomial.degree=1"},
        .sets = {"protocol.aggregation=fedvs", "protocol.fedvs.segments=2", "training.batch=4",
                 "training.epochs=2"}};
}

/* The same with one segment: two results may be missing. */
static struct sim_options spare(void)
{
    struct sim_options o = five();

    o.sets[1] = "protocol.fedvs.segments=1";
    return o;
}

static void test_a_run_is_this_transcript(void **state)
{
    struct sim_options o = {.parties = 3,
                            .train_rows = 3,
                            .test_rows = 2,
                            .motley = true,
                            .watch = true,
                            .party_sets = {"model.layers=[]", "model.polynomial.degree=1"},
                            .sets = {"protocol.aggregation=fedvs", "training.evaluate_every=0"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_run(s, HOUR_US);
    fprintf(stderr, "%s%s\n", sim_transcript(s), sim_server_end(s)->error.text);
    sim_free(s);
    o = five();
    s = sim_new(&o);
    sim_run(s, HOUR_US);
    fprintf(stderr, "%s%s\n", sim_transcript(s), sim_server_end(s)->error.text);
    sim_free(s);
    o = spare();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_is_this_transcript),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
