/* test_segments.c -- runs in clear that walk the batches of fedvs: coded rows, several rows each.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/mirror.h"
#include "tests/sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

enum {
    PARTIES = 3,
    ROUNDS = 2 /* of an epoch, for every K below */,
    SEGMENTS = 5,
    STRAGGLER = 6 /* which set says it */
};

/* Two epochs of 11 rows: 3 segments of 4 are 4 coded rows, the last with one row of padding; a
 * batch of 6 takes 2 of them. */
static struct sim_options three(void)
{
    return (struct sim_options){.parties = PARTIES,
                                .train_rows = 11,
                                .reconnect_us = 1000,
                                .sets = {"protocol.aggregation=clear", "protocol.encoding=float32",
                                         "training.batch=6", "training.learning_rate=0.5",
                                         "training.epochs=2", "protocol.fedvs.segments=3",
                                         "protocol.straggler=wait"},
                                .party_sets = {"model.layers=[]", "policy.max_learning_rate=1"}};
}

static void run(struct sim *s)
{
    sim_run(s, HOUR_US);
    assert_string_equal(sim_server_end(s)->error.text, "");
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
}

static void test_a_run_of_coded_rows_is_the_mirrors(void **state)
{
    static const char *const segments[] = {"protocol.fedvs.segments=1", "protocol.fedvs.segments=2",
                                           "protocol.fedvs.segments=3",
                                           "protocol.fedvs.segments=6"};
    static const char *const stragglers[] = {"protocol.straggler=wait", "protocol.straggler=async"};

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        struct sim_options o = three();
        struct sim *s;
        struct mirror m;

        o.sets[SEGMENTS] = segments[i / 2];
        o.sets[STRAGGLER] = stragglers[i % 2];
        s = sim_new(&o);
        mirror_init(&m, s);
        run(s);
        mirror_compare(&m);
        assert_string_equal(m.wrong, "");
        if (i % 2 == 0) /* under async each arrival is a step, and a drain may let in a few more */
            assert_int_equal(m.arrivals, 2 * ROUNDS);
        else
            assert_true(m.arrivals >= 2 * ROUNDS * PARTIES);
        mirror_deinit(&m);
        sim_free(s);
    }
}

/* The negative twin: a mirror that cuts the rows otherwise sees other gradients. */
static void test_the_mirror_sees_another_cut(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);
    struct mirror m;

    (void)state;
    mirror_init(&m, s);
    for (uint32_t i = 0; i < PARTIES; i++) {
        uint64_t seed = m.schedule[i].seed;

        schedule_deinit(&m.schedule[i]);
        assert_int_equal(schedule_init(&m.schedule[i], seed, 11, 6, 2), STATUS_OK);
    }
    run(s);
    assert_non_null(strstr(m.wrong, "step 0: "));
    mirror_deinit(&m);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_of_coded_rows_is_the_mirrors),
        cmocka_unit_test(test_the_mirror_sees_another_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
