/* test_stretch.c -- in whatever way a run goes over its rows, what a ledger works out from the
 * stretch of the schedule that it keeps is exactly what was charged.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/sim.h"

#include "common/privacy/ledger_law.h"
#include "tests/sim/expect.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS_MAX = 256 };

/* What the charges of a run were of. */
struct seen {
    size_t steps, places, back, batches; /* batches: charges of more than one step */
};

static void check(struct sim *s, uint32_t party, const struct action_charge *c, void *owner)
{
    struct ledger_walk walk = {.ready = false};
    struct seen *seen = owner;
    uint32_t rows[ROWS_MAX];

    (void)s;
    (void)party;
    if (c->rounds == 0) /* keeps what was seen, and no more */
        return;
    assert_true(c->n > 0 && c->n <= ROWS_MAX);
    assert_int_equal(ledger_walk_rows(&walk, &c->stretch, rows, c->n), STATUS_OK);
    assert_memory_equal(rows, c->rows, c->n * sizeof *rows);
    assert_int_equal(c->stretch.place, c->place);
    ledger_walk_deinit(&walk);
    seen->steps += c->stretch.law.kind == LEDGER_STEPS;
    seen->places += c->stretch.law.kind == LEDGER_PLACES;
    seen->back += c->give_back;
    seen->batches += c->stretch.law.kind == LEDGER_STEPS && c->stretch.count > 1;
}

static void said(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    (void)s, (void)who, (void)to, (void)m, (void)owner;
}

static void ended(struct sim *s, int who, void *owner)
{
    (void)s, (void)who, (void)owner;
}

static struct seen run(const struct sim_options *o, uint64_t stop_us)
{
    struct sim *s = sim_new(o);
    struct seen seen = {0};

    s->ear = (struct sim_ear){said, check, ended, &seen};
    if (stop_us > 0)
        sim_stop_at(s, 0, stop_us);
    sim_run(s, 3600000000ull);
    if (stop_us == 0)
        expect_completed(s);
    sim_free(s);
    assert_true(seen.steps > 0);
    return seen;
}

static void test_epochs_that_end_in_a_shorter_batch_and_evaluations_of_both_splits(void **state)
{
    const struct seen seen = run(
        &(struct sim_options){.parties = 3,
                              .train_rows = 11,
                              .sets = {"training.epochs=3", "training.batch=3",
                                       "training.evaluate_every=1", "training.evaluate_train=true"},
                              .party_sets = {"model.layers=[]"}},
        0);

    (void)state;
    assert_int_equal(seen.places, 3 * 3 * 2);
    assert_true(seen.batches >= 9);
}

static void test_what_is_given_back_too(void **state)
{
    struct seen seen = {0};

    (void)state;
    for (uint64_t us = 20000; us < 400000 && seen.back == 0; us += 1000)
        seen = run(&(struct sim_options){.parties = 3,
                                         .train_rows = 12,
                                         .sets = {"training.epochs=4", "training.batch=1"},
                                         .party_sets = {"model.layers=[]"}},
                   us);
    assert_true(seen.back > 0);
}

static void test_parties_that_take_turns(void **state)
{
    (void)state;
    run(&(struct sim_options){.parties = 3,
                              .train_rows = 12,
                              .sets = {"protocol.aggregation=clear", "protocol.encoding=float32",
                                       "protocol.local_order=sequential", "training.epochs=2",
                                       "training.batch=5", "model.fusion=sum"},
                              .party_sets = {"model.layers=[]"}},
        0);
}

static void test_parties_that_walk_schedules_of_their_own(void **state)
{
    (void)state;
    run(&(struct sim_options){.parties = 3,
                              .train_rows = 12,
                              .reconnect_us = 1000,
                              .sets = {"protocol.aggregation=clear", "protocol.straggler=async",
                                       "protocol.encoding=float32", "training.learning_rate=0.5",
                                       "training.epochs=2", "model.fusion=sum",
                                       "protocol.patience_ms=5000"},
                              .party_sets = {"model.layers=[]", "policy.max_learning_rate=1"}},
        0);
}

static void test_coded_rows_with_padding_do_not_count_it(void **state)
{
    struct sim_options o = {.parties = 5,
                            .train_rows = 9,
                            .test_rows = 3,
                            .motley = true,
                            .party_sets = {"model.layers=[]", "model.polynomial.degree=1"},
                            .sets = {"protocol.aggregation=fedvs", "protocol.fedvs.segments=2",
                                     "training.batch=4", "training.epochs=2",
                                     "protocol.patience_ms=4000"}};

    (void)state;
    assert_true(run(&o, 0).places > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epochs_that_end_in_a_shorter_batch_and_evaluations_of_both_splits),
        cmocka_unit_test(test_what_is_given_back_too),
        cmocka_unit_test(test_parties_that_take_turns),
        cmocka_unit_test(test_parties_that_walk_schedules_of_their_own),
        cmocka_unit_test(test_coded_rows_with_padding_do_not_count_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
