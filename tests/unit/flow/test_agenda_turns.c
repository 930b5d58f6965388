/* test_agenda_turns.c -- under sequential a step is one party's turn: rates, evaluations and
 * releases against those of the same plan without turns, and against a count.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/agenda.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const uint32_t rows_of[] = {1, 2, 5, 7, 64, 100, 569};
static const double epochs_of[] = {1, 2, 10, 0.5, 0.3, 3.25, 0.001};
static const double every_of[] = {0, 1, 2, 0.5, 0.1, 1.75, 0.001, 100};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static struct plan plan_of(uint32_t rows, uint32_t batch, double epochs, double every)
{
    struct plan p;

    plan_defaults(&p);
    p.shape.parties = 3;
    p.shape.train_rows = rows;
    p.shape.test_rows = rows / 4 + 1;
    p.training.batch = batch;
    p.training.epochs = epochs;
    p.training.evaluate_every = every;
    return p;
}

static void test_under_sequential_all_turns_of_a_batch_have_its_rate(void **state)
{
    struct plan p = plan_of(100, 10, 3, 1);

    (void)state;
    p.shape.parties = 3;
    p.protocol.local_iterations = 2;
    p.training.step.epochs = 0.25;
    p.training.step.factor = 0.5;
    p.training.warmup = 0.5;
    for (int s = SCHEDULE_CONSTANT; s <= SCHEDULE_STEP; s++) {
        p.training.schedule = (enum plan_schedule)s;
        for (uint64_t turn = 0; turn < 30; turn++) {
            for (uint32_t q = 0; q < 2; q++) {
                float rate;

                p.protocol.local_order = ORDER_SEQUENTIAL;
                rate = agenda_rate(&p, turn, q);
                p.protocol.local_order = ORDER_PARALLEL;
                assert_true(rate == agenda_rate(&p, turn / 3, q));
            }
        }
    }
}

/* A plan of turns against the same plan without, whose steps are its batches. */
static void expect_turns(const struct plan *parallel, uint32_t parties)
{
    struct plan sequential = *parallel;
    struct agenda_releases one, all;
    struct agenda a, b;

    sequential.shape.parties = parties;
    sequential.protocol.local_order = ORDER_SEQUENTIAL;
    memset(&a, 0xa5, sizeof a);
    agenda_make(&a, &sequential);
    agenda_make(&b, parallel);
    assert_int_equal(b.turns, 1);
    assert_int_equal(a.turns, parties);
    assert_int_equal(a.steps, b.steps * parties);
    assert_int_equal(a.party_steps, a.steps);
    assert_int_equal(a.rounds_per_epoch, b.rounds_per_epoch);
    assert_int_equal(agenda_epoch_steps(&b), b.rounds_per_epoch);
    assert_int_equal(agenda_epoch_steps(&a), (uint64_t)b.rounds_per_epoch * parties);
    assert_int_equal(a.sweeps, b.sweeps);
    assert_false(agenda_due(&a, 0));
    for (uint64_t done = 0; done <= a.steps; done++) {
        bool whole = done % parties == 0;

        assert_int_equal(agenda_batch(&a, done), done / parties);
        assert_int_equal(agenda_due(&a, done), whole && agenda_due(&b, done / parties));
        assert_int_equal(agenda_sweeps_until(&a, done), agenda_sweeps_until(&b, done / parties));
        if (done < a.steps)
            assert_int_equal(agenda_batch_rows(&a, &sequential, done),
                             agenda_batch_rows(&b, parallel, done / parties));
    }
    agenda_price(&a, &sequential, &all);
    agenda_price(&b, parallel, &one);
    assert_int_equal(all.train, one.train * parties);
    assert_int_equal(all.evaluate, one.evaluate);
    assert_int_equal(all.train_record_max, one.train_record_max * parties);
    assert_int_equal(all.test_record_max, one.test_record_max);
}

static void test_every_turn_releases_its_batch_and_evaluations_wait_for_the_last(void **state)
{
    (void)state;
    for (size_t r = 0; r < COUNT(rows_of); r++) {
        for (size_t e = 0; e < COUNT(epochs_of); e++) {
            for (size_t v = 0; v < COUNT(every_of); v++) {
                struct plan p = plan_of(rows_of[r], 7, epochs_of[e], every_of[v]);

                for (uint32_t parties = 1; parties <= 5; parties += 2)
                    expect_turns(&p, parties);
            }
        }
    }
}

/* Releases of the turns from `done` on.  One record may be in a batch of each epoch that has all
 * its turns to come, or, when an epoch has fewer turns left than that, in the one with these. */
static void expect_rest_of_turns_as_counted(const struct agenda *a, const struct plan *p,
                                            uint64_t done)
{
    const uint64_t epoch = (uint64_t)a->rounds_per_epoch * a->turns;
    uint64_t released = 0, record = 0, sweeps = 0;
    struct agenda_releases rest;

    for (uint64_t step = done; step < a->steps; step++)
        released += agenda_batch_rows(a, p, step);
    for (uint64_t at = done; at < a->steps; at = (at / epoch + 1) * epoch) {
        uint64_t end = (at / epoch + 1) * epoch, left;

        left = (end < a->steps ? end : a->steps) - at;
        record += left < a->turns ? left : a->turns;
    }
    for (uint64_t after = done + 1; after <= a->steps; after++)
        sweeps += agenda_due(a, after);
    agenda_price_rest(a, p, done, &rest);
    assert_int_equal(rest.train, released);
    assert_int_equal(rest.train_record_max, record);
    assert_int_equal(rest.test_record_max, sweeps);
}

static void test_the_price_of_the_rest_counts_the_turns_to_come(void **state)
{
    static const uint32_t batches[] = {1, 5, 23};

    (void)state;
    for (size_t b = 0; b < COUNT(batches); b++) {
        for (size_t e = 0; e < COUNT(epochs_of); e++) {
            struct plan p = plan_of(23, batches[b], epochs_of[e], every_of[1]);
            struct agenda_releases whole, rest;
            struct agenda a;

            p.shape.parties = 4;
            p.protocol.local_order = ORDER_SEQUENTIAL;
            agenda_make(&a, &p);
            for (uint64_t done = 0; done <= a.steps; done++)
                expect_rest_of_turns_as_counted(&a, &p, done);
            agenda_price(&a, &p, &whole);
            agenda_price_rest(&a, &p, 0, &rest);
            assert_memory_equal(&whole, &rest, sizeof whole);
        }
    }
}

/* One batch an epoch: what a record has left is known to the turn. */
static void test_a_batch_under_way_has_its_last_turns_left(void **state)
{
    struct plan p = plan_of(20, 20, 2, 1);
    struct agenda_releases rest;
    struct agenda a;

    (void)state;
    p.shape.parties = 3;
    p.protocol.local_order = ORDER_SEQUENTIAL;
    agenda_make(&a, &p);
    assert_int_equal(a.steps, 6);
    for (uint64_t done = 0; done <= 6; done++) {
        agenda_price_rest(&a, &p, done, &rest);
        assert_int_equal(rest.train_record_max, 6 - done);
        assert_int_equal(rest.train, 20 * (6 - done));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_under_sequential_all_turns_of_a_batch_have_its_rate),
        cmocka_unit_test(test_every_turn_releases_its_batch_and_evaluations_wait_for_the_last),
        cmocka_unit_test(test_the_price_of_the_rest_counts_the_turns_to_come),
        cmocka_unit_test(test_a_batch_under_way_has_its_last_turns_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
