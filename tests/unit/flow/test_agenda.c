/* test_agenda.c -- steps, evaluations and releases against a count in whole numbers.
 *
 * Fractions of epochs are given as a / b with b small, so that the count needs no floating point.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/agenda.h"

#include "common/data/schedule.h"
#include "common/wire/limits.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

struct fraction {
    uint64_t a, b;
};

static const uint32_t rows_of[] = {1, 2, 5, 7, 64, 100, 569, 8844};
static const uint32_t batch_of[] = {1, 3, 5, 7, 100, 1000};
static const struct fraction epochs_of[] = {{1, 1},  {2, 1},   {10, 1}, {1, 2},   {1, 3},
                                            {7, 10}, {11, 10}, {13, 4}, {1, 1000}};
static const struct fraction every_of[] = {{0, 1},  {1, 1}, {2, 1}, {1, 2},    {1, 3},  {1, 10},
                                           {3, 10}, {7, 4}, {5, 1}, {1, 1000}, {100, 1}};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static uint64_t ceil_of(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static struct plan plan_of(uint32_t rows, uint32_t batch, struct fraction epochs,
                           struct fraction every)
{
    struct plan p;

    plan_defaults(&p);
    p.shape.train_rows = rows;
    p.shape.test_rows = rows / 4 + 1;
    p.training.batch = batch;
    p.training.epochs = (double)epochs.a / (double)epochs.b;
    p.training.evaluate_every = (double)every.a / (double)every.b;
    return p;
}

/* Is `done` one of ceil(k e R) for a whole k, or the end?  Counted, not computed. */
static bool due_by_count(uint64_t done, uint64_t steps, uint64_t rounds, struct fraction every)
{
    if (done == steps)
        return true;
    if (every.a == 0 || done == 0)
        return false;
    /* The first k with k e R > done - 1 lands on ceil(k e R); is that `done`? */
    for (uint64_t k = (done - 1) * every.b / (every.a * rounds);; k++) {
        uint64_t at = ceil_of(k * every.a * rounds, every.b);

        if (at >= done)
            return at == done;
    }
}

static void expect_as_counted(const struct plan *p, struct fraction epochs, struct fraction every)
{
    uint64_t rounds = ceil_of(p->shape.train_rows, p->training.batch);
    uint64_t steps = ceil_of(epochs.a * rounds, epochs.b);
    uint64_t sweeps = 0, last = 0, released = 0;
    struct agenda_releases price;
    struct agenda a;

    memset(&a, 0xa5, sizeof a);
    agenda_make(&a, p);
    assert_int_equal(a.rounds_per_epoch, rounds);
    assert_int_equal(a.steps, steps);
    assert_int_equal(a.turns, 1);
    assert_int_equal(a.party_steps, steps);
    assert_false(agenda_due(&a, 0));
    for (uint64_t done = 1; done <= steps; done++) {
        bool due = due_by_count(done, steps, rounds, every);

        if (agenda_due(&a, done) != due)
            fail_msg("rows %u batch %u epochs %llu/%llu every %llu/%llu: round %llu of %llu",
                     p->shape.train_rows, p->training.batch, (unsigned long long)epochs.a,
                     (unsigned long long)epochs.b, (unsigned long long)every.a,
                     (unsigned long long)every.b, (unsigned long long)done,
                     (unsigned long long)steps);
        sweeps += due;
        assert_int_equal(agenda_sweeps_until(&a, done), sweeps);
        last = due ? done : last;
        assert_int_equal(agenda_last_due(&a, done), last);
        released += agenda_batch_rows(&a, p, done - 1);
    }
    assert_int_equal(a.sweeps, sweeps);
    agenda_price(&a, p, &price);
    assert_int_equal(price.train, released);
    assert_int_equal(price.evaluate, sweeps * p->shape.test_rows);
    assert_int_equal(price.test_record_max, sweeps);
    assert_int_equal(price.train_record_max, ceil_of(steps, rounds));
}

static void test_steps_evaluations_and_releases_are_as_counted(void **state)
{
    (void)state;
    for (size_t r = 0; r < COUNT(rows_of); r++) {
        for (size_t b = 0; b < COUNT(batch_of); b++) {
            for (size_t e = 0; e < COUNT(epochs_of); e++) {
                for (size_t v = 0; v < COUNT(every_of); v++) {
                    struct plan p = plan_of(rows_of[r], batch_of[b], epochs_of[e], every_of[v]);

                    expect_as_counted(&p, epochs_of[e], every_of[v]);
                }
            }
        }
    }
}

/* A row's releases, by walking every step of its epochs: each epoch takes each row once. */
static void test_no_training_record_is_released_more_often_than_priced(void **state)
{
    (void)state;
    for (size_t e = 0; e < COUNT(epochs_of); e++) {
        struct plan p = plan_of(23, 5, epochs_of[e], every_of[1]);
        uint32_t times[23] = {0}, most = 0, at = 0;
        struct agenda_releases price;
        struct agenda a;

        agenda_make(&a, &p);
        agenda_price(&a, &p, &price);
        for (uint64_t step = 0; step < a.steps; step++) {
            if (step % a.rounds_per_epoch == 0)
                at = 0;
            for (uint32_t n = agenda_batch_rows(&a, &p, step); n > 0; n--) {
                assert_true(at < 23);
                most = ++times[at] > most ? times[at] : most;
                at++;
            }
        }
        assert_int_equal(price.train_record_max, most);
    }
    (void)state;
}

static void test_under_once_a_record_is_released_once_however_long_the_head_trains(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows_of); i++) {
        for (size_t j = 0; j < COUNT(batch_of); j++) {
            struct plan p = plan_of(rows_of[i], batch_of[j], epochs_of[2], every_of[3]);
            const uint64_t steps = ceil_of(rows_of[i], batch_of[j]);
            struct agenda_releases r;
            struct agenda a, head;

            p.training.releases = RELEASES_ONCE;
            agenda_make(&a, &p);
            agenda_price_rest(&a, &p, 0, &r);
            assert_true(a.steps == steps && a.sweeps == 1);
            assert_true(r.train == rows_of[i] && r.evaluate == p.shape.test_rows);
            assert_true(r.train_record_max == 1 && r.test_record_max == 1);
            agenda_make_head(&head, &p);
            assert_true(head.steps == 10 * steps && head.sweeps > 1);
        }
    }
}

static void test_every_epoch_takes_every_row_once(void **state)
{
    (void)state;
    for (size_t r = 0; r < COUNT(rows_of); r++) {
        for (size_t b = 0; b < COUNT(batch_of); b++) {
            struct plan p = plan_of(rows_of[r], batch_of[b], epochs_of[1], every_of[1]);
            struct agenda a;

            agenda_make(&a, &p);
            for (uint64_t epoch = 0; epoch < 2; epoch++) {
                uint64_t rows = 0;

                for (uint32_t i = 0; i < a.rounds_per_epoch; i++) {
                    uint32_t n = agenda_batch_rows(&a, &p, epoch * a.rounds_per_epoch + i);

                    assert_true(n >= 1 && n <= batch_of[b]);
                    assert_true(n == batch_of[b] || i + 1 == a.rounds_per_epoch);
                    rows += n;
                }
                assert_int_equal(rows, rows_of[r]);
            }
        }
    }
}

static void test_evaluation_needs_something_to_evaluate_on(void **state)
{
    struct plan p = plan_of(100, 10, (struct fraction){3, 1}, (struct fraction){1, 1});
    struct agenda_releases price;
    struct agenda a;

    (void)state;
    p.shape.test_rows = 0;
    agenda_make(&a, &p);
    agenda_price(&a, &p, &price);
    assert_int_equal(a.sweeps, 0);
    for (uint64_t done = 0; done <= a.steps; done++)
        assert_false(agenda_due(&a, done));
    assert_int_equal(price.evaluate, 0);
    assert_int_equal(price.test_record_max, 0);
    assert_int_equal(price.train_record_max, 3);
    p.training.evaluate_train = true;
    agenda_make(&a, &p);
    agenda_price(&a, &p, &price);
    assert_int_equal(a.sweeps, 3);
    assert_true(agenda_due(&a, 10));
    assert_int_equal(price.evaluate, 300);
    assert_int_equal(price.test_record_max, 0);
    assert_int_equal(price.train_record_max, 6);
    p.shape.test_rows = 7;
    agenda_make(&a, &p);
    agenda_price(&a, &p, &price);
    assert_int_equal(price.evaluate, 300 + 3 * 7);
    assert_int_equal(price.test_record_max, 3);
    assert_int_equal(price.train, 300);
}

static void expect_long_run(struct fraction epochs, struct fraction every, uint32_t rows)
{
    struct plan p = plan_of(rows, 1, epochs, every);
    uint64_t steps = ceil_of(epochs.a * rows, epochs.b);
    uint64_t periods = steps * every.b / (every.a * rows);
    bool on_period = ceil_of(periods * every.a * rows, every.b) == steps;
    struct agenda_releases price;
    struct agenda a;

    agenda_make(&a, &p);
    agenda_price(&a, &p, &price);
    if (a.steps != steps || a.sweeps != periods + !on_period)
        fail_msg("epochs %llu/%llu every %llu/%llu rows %u: %llu steps, %llu sweeps",
                 (unsigned long long)epochs.a, (unsigned long long)epochs.b,
                 (unsigned long long)every.a, (unsigned long long)every.b, rows,
                 (unsigned long long)a.steps, (unsigned long long)a.sweeps);
    assert_int_equal(price.train, steps); /* batches of one row */
    assert_true(agenda_due(&a, steps));
    if (periods > 0) {
        uint64_t at = ceil_of(every.a * rows, every.b);

        assert_true(agenda_due(&a, at));
        assert_true(at == 1 || at - 1 == steps || !agenda_due(&a, at - 1));
    }
}

/* 0.1 and its like are not exact; a step too many would be a release more than was meant. */
static void test_long_runs_count_without_a_step_too_many(void **state)
{
    static const struct fraction epochs[] = {{11, 10},  {28, 100},     {333, 1000}, {100000, 1},
                                             {67, 100}, {123457, 100}, {4, 3}};
    static const struct fraction every[] = {{1, 10}, {3, 10}, {1, 3}, {7, 1}};
    static const uint32_t rows[] = {10, 1000, 100000, 12345678, PLAN_ROWS_MAX};

    (void)state;
    for (size_t e = 0; e < COUNT(epochs); e++) {
        for (size_t r = 0; r < COUNT(rows); r++) {
            for (size_t v = 0; v < COUNT(every); v++)
                expect_long_run(epochs[e], every[v], rows[r]);
        }
    }
}

/* --- segments: coded rows are what is counted --- */

/* The schedule's own steps, walked, against what the agenda says of them. */
static void expect_as_scheduled(const struct plan *p)
{
    uint64_t rows = 0, padded = 0;
    struct agenda_releases price;
    struct schedule s;
    struct agenda a;

    assert_int_equal(
        schedule_init(&s, 5, p->shape.train_rows, p->training.batch, p->protocol.fedvs.segments),
        STATUS_OK);
    agenda_make(&a, p);
    assert_int_equal(a.rounds_per_epoch, s.rounds_per_epoch);
    assert_int_equal(a.coded_rows, s.segments.len);
    assert_int_equal(a.steps, 2 * (uint64_t)a.rounds_per_epoch);
    for (uint64_t step = 0; step < a.steps; step++) {
        uint32_t n, most = agenda_batch_rows(&a, p, step);

        schedule_batch(&s, step, &n);
        assert_int_equal(most, s.coded_n * p->protocol.fedvs.segments);
        assert_true(n <= most && most <= p->training.batch);
        rows += n;
        padded += most;
    }
    agenda_price(&a, p, &price);
    assert_int_equal(rows, 2 * (uint64_t)p->shape.train_rows);
    assert_int_equal(price.train, rows);
    assert_int_equal(price.train_record_max, 2);
    assert_int_equal(padded - rows,
                     2 * ((uint64_t)s.segments.len * s.segments.k - p->shape.train_rows));
    schedule_deinit(&s);
}

static void test_with_segments_steps_are_those_of_the_schedule(void **state)
{
    (void)state;
    for (size_t r = 0; r < COUNT(rows_of); r++) {
        for (uint32_t k = 1; k <= 11; k++) {
            for (uint32_t each = 1; each <= 10; each += 3) {
                struct plan p = plan_of(rows_of[r], each * k, epochs_of[1], every_of[1]);

                p.protocol.fedvs.segments = k;
                expect_as_scheduled(&p);
            }
        }
    }
}

/* What is left in the middle of an epoch is priced by its steps, padding and all: never less than
 * the rows to come, and nothing once all is done. */
static void test_with_segments_the_price_of_the_rest_is_never_too_little(void **state)
{
    struct plan p = plan_of(23, 12, epochs_of[7], every_of[1]); /* 13/4 epochs of 6 coded rows */
    struct agenda_releases price;
    struct schedule s;
    struct agenda a;
    uint64_t left = 0;

    (void)state;
    p.protocol.fedvs.segments = 4;
    agenda_make(&a, &p);
    assert_int_equal(a.rounds_per_epoch, 2);
    assert_int_equal(a.steps, 7);
    assert_int_equal(schedule_init(&s, 5, 23, 12, 4), STATUS_OK);
    for (uint64_t done = a.steps; done-- > 0;) {
        uint32_t n;

        schedule_batch(&s, done, &n);
        left += n;
        agenda_price_rest(&a, &p, done, &price);
        assert_true(price.train >= left && price.train <= left + 2);
        assert_int_equal(price.train_record_max, 4 - done / 2);
    }
    agenda_price_rest(&a, &p, a.steps, &price);
    assert_int_equal(price.train, 0);
    schedule_deinit(&s);
}

/* --- async: each party walks an order of its own, and may be asked for all of it --- */

static void test_under_async_one_party_may_be_asked_for_every_step_of_all(void **state)
{
    (void)state;
    for (size_t r = 0; r < COUNT(rows_of); r++) {
        for (size_t e = 0; e < COUNT(epochs_of); e++) {
            for (uint32_t parties = 1; parties <= 9; parties += 4) {
                struct plan p = plan_of(rows_of[r], 7, epochs_of[e], every_of[1]);
                uint64_t steps, released = 0;
                struct agenda_releases price;
                struct agenda a;

                p.shape.parties = parties;
                agenda_make(&a, &p);
                steps = a.steps;
                assert_int_equal(a.party_steps, steps); /* wait */
                p.protocol.straggler = STRAGGLER_ASYNC;
                agenda_make(&a, &p);
                agenda_price(&a, &p, &price);
                assert_int_equal(a.steps, steps); /* of the run: M arrivals each */
                assert_int_equal(a.party_steps, steps * parties);
                for (uint64_t step = 0; step < a.party_steps; step++)
                    released += agenda_batch_rows(&a, &p, step);
                assert_int_equal(price.train, released);
                assert_int_equal(price.train_record_max,
                                 ceil_of(steps * parties, a.rounds_per_epoch));
                assert_int_equal(price.evaluate, a.sweeps * p.shape.test_rows);
            }
        }
    }
}

static void test_parties_walk_one_order_but_under_async_each_its_own(void **state)
{
    struct plan p = plan_of(100, 10, (struct fraction){3, 1}, (struct fraction){1, 1});
    uint64_t seed[WIRE_MEMBERS_MAX];

    (void)state;
    p.training.seed = 0xfedcba9876543210u;
    for (uint32_t party = 0; party < WIRE_MEMBERS_MAX; party++) {
        p.protocol.straggler = STRAGGLER_WAIT;
        assert_int_equal(agenda_seed(&p, party), p.training.seed);
        p.protocol.straggler = STRAGGLER_DROP;
        assert_int_equal(agenda_seed(&p, party), p.training.seed);
        p.protocol.straggler = STRAGGLER_ASYNC;
        seed[party] = agenda_seed(&p, party);
        assert_true(seed[party] != p.training.seed);
        for (uint32_t other = 0; other < party; other++)
            assert_true(seed[party] != seed[other]);
    }
    /* The formula, in numbers: seed + (party + 1) 0x9e3779b97f4a7c15 mod 2^64. */
    assert_true(seed[0] == 0x9d143451f59eae25u);
    assert_true(seed[255] == 0x36567417c0d04710u);
}

/* --- what is left of a plan, for a party that goes on from a checkpoint --- */

/* Releases of the steps from `done` on, and of the sweeps that are due after it, counted.  One
 * record may come once in each epoch that has a step left. */
static void expect_rest_as_counted(const struct agenda *a, const struct plan *p, uint64_t done)
{
    uint64_t released = 0, sweeps = 0, epochs = 0, last = UINT64_MAX;
    struct agenda_releases rest;

    for (uint64_t step = done; step < a->party_steps; step++) {
        released += agenda_batch_rows(a, p, step);
        epochs += step / a->rounds_per_epoch != last;
        last = step / a->rounds_per_epoch;
    }
    for (uint64_t after = done + 1; after <= a->steps; after++)
        sweeps += agenda_due(a, after);
    agenda_price_rest(a, p, done, &rest);
    assert_int_equal(rest.train, released);
    assert_int_equal(rest.train_record_max, epochs);
    assert_int_equal(rest.evaluate, sweeps * p->shape.test_rows);
    assert_int_equal(rest.test_record_max, sweeps);
    agenda_price_again(a, p, done, &rest);
    sweeps += agenda_due(a, done);
    assert_int_equal(rest.train, released);
    assert_int_equal(rest.train_record_max, epochs);
    assert_int_equal(rest.evaluate, sweeps * p->shape.test_rows);
    assert_int_equal(rest.test_record_max, sweeps);
}

static void test_the_price_of_the_rest_is_that_of_the_steps_to_come(void **state)
{
    static const uint32_t batches[] = {1, 3, 5, 23, 40};

    (void)state;
    for (size_t b = 0; b < COUNT(batches); b++) {
        for (size_t e = 0; e < COUNT(epochs_of); e++) {
            for (size_t v = 0; v < COUNT(every_of); v++) {
                struct plan p = plan_of(23, batches[b], epochs_of[e], every_of[v]);
                struct agenda_releases whole, rest;
                struct agenda a;

                agenda_make(&a, &p);
                for (uint64_t done = 0; done <= a.steps; done++)
                    expect_rest_as_counted(&a, &p, done);
                agenda_price(&a, &p, &whole);
                agenda_price_rest(&a, &p, 0, &rest);
                assert_memory_equal(&whole, &rest, sizeof whole);
            }
        }
    }
}

/* A party's own steps do not tell how many the run has done, nor so which sweeps are over. */
static void test_under_async_the_rest_has_all_evaluations(void **state)
{
    struct plan p = plan_of(20, 5, (struct fraction){3, 1}, (struct fraction){1, 1});
    struct agenda_releases rest;
    struct agenda a;

    (void)state;
    p.shape.parties = 3;
    p.protocol.straggler = STRAGGLER_ASYNC;
    agenda_make(&a, &p);
    assert_int_equal(a.party_steps, 36);
    agenda_price_rest(&a, &p, 36, &rest);
    assert_int_equal(rest.train, 0);
    assert_int_equal(rest.train_record_max, 0);
    assert_int_equal(rest.test_record_max, 3);
    agenda_price_again(&a, &p, 36, &rest);
    assert_int_equal(rest.test_record_max, 3);
    agenda_price_rest(&a, &p, 30, &rest); /* in the middle of the 8th of its 9 epochs */
    assert_int_equal(rest.train, 30);
    assert_int_equal(rest.train_record_max, 2);
    assert_int_equal(rest.evaluate, 3 * p.shape.test_rows);
}

/* Three sweeps more than a row is trained on. */
static void test_a_record_with_rows_in_both_splits_takes_part_for_each(void **state)
{
    const struct agenda_releases r = {.train_record_max = 2, .test_record_max = 5};
    const struct validate_repeats none = {false, false}, shared = {.shared = true},
                                  all = {true, true};

    (void)state;
    assert_int_equal(agenda_record_max(&r, none), 5);
    assert_int_equal(agenda_record_max(&r, shared), 7);
    assert_int_equal(agenda_record_max(&r, all), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_evaluations_and_releases_are_as_counted),
        cmocka_unit_test(test_no_training_record_is_released_more_often_than_priced),
        cmocka_unit_test(test_under_once_a_record_is_released_once_however_long_the_head_trains),
        cmocka_unit_test(test_every_epoch_takes_every_row_once),
        cmocka_unit_test(test_evaluation_needs_something_to_evaluate_on),
        cmocka_unit_test(test_long_runs_count_without_a_step_too_many),
        cmocka_unit_test(test_under_async_one_party_may_be_asked_for_every_step_of_all),
        cmocka_unit_test(test_parties_walk_one_order_but_under_async_each_its_own),
        cmocka_unit_test(test_the_price_of_the_rest_is_that_of_the_steps_to_come),
        cmocka_unit_test(test_under_async_the_rest_has_all_evaluations),
        cmocka_unit_test(test_with_segments_steps_are_those_of_the_schedule),
        cmocka_unit_test(test_with_segments_the_price_of_the_rest_is_never_too_little),
        cmocka_unit_test(test_a_record_with_rows_in_both_splits_takes_part_for_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
