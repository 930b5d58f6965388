/* test_ledger_law.c -- the rows of a stretch of the schedule: what was charged by version 1 of a
 * law stays what it was.
 *
 * tests/golden/schedule.h was written by another program; places of a sweep stand below.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_law.h"

#include "common/base/mem.h"
#include "tests/golden/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct ledger_law steps(const struct golden_schedule *g, uint32_t turns)
{
    return (struct ledger_law){.kind = LEDGER_STEPS,
                               .seed = g->seed,
                               .rows = g->rows,
                               .batch = g->batch,
                               .segments = g->segments,
                               .turns = turns};
}

static uint32_t steps_per_epoch(const struct golden_schedule *g)
{
    const uint32_t len = (g->rows + g->segments - 1) / g->segments, batch = g->batch / g->segments;

    return (len + batch - 1) / batch;
}

/* --- rows --- */

static void test_an_epoch_of_steps_1_is_that_of_another_program(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof GOLDEN_SCHEDULE / sizeof *GOLDEN_SCHEDULE; i++) {
        const struct golden_schedule *g = &GOLDEN_SCHEDULE[i];
        const uint32_t n = steps_per_epoch(g);
        struct ledger_stretch s = {.law = steps(g, 1), .place = g->epoch * n, .count = n};
        struct ledger_walk walk = {.ready = false};
        uint32_t rows[256];

        assert_int_equal(ledger_walk_rows(&walk, &s, rows, g->rows), STATUS_OK);
        assert_memory_equal(rows, g->order, g->rows * sizeof *rows);
        ledger_walk_deinit(&walk);
    }
}

static void test_each_turn_takes_its_batch_again(void **state)
{
    const struct golden_schedule *g = &GOLDEN_SCHEDULE[1]; /* 23 rows in batches of 7 */
    struct ledger_stretch s = {.law = steps(g, 3), .place = 2, .count = 3};
    struct ledger_walk walk = {.ready = false};
    uint32_t rows[21];

    (void)state;
    assert_int_equal(ledger_walk_rows(&walk, &s, rows, 21), STATUS_OK);
    assert_memory_equal(rows, g->order, 7 * sizeof *rows);         /* the third turn of step 0 */
    assert_memory_equal(rows + 7, g->order + 7, 7 * sizeof *rows); /* two of step 1 */
    assert_memory_equal(rows + 14, g->order + 7, 7 * sizeof *rows);
    ledger_walk_deinit(&walk);
}

static void test_places_1_are_the_rows_of_each_segment(void **state)
{
    static const uint32_t whole[] = {3, 4, 5}, cut[] = {1, 2, 5, 6, 9};
    struct ledger_stretch s = {
        .law = {.kind = LEDGER_PLACES, .rows = 10, .segments = 1}, .place = 3, .count = 3};
    struct ledger_walk walk = {.ready = false};
    uint32_t rows[10];

    (void)state;
    assert_int_equal(ledger_walk_rows(&walk, &s, rows, 3), STATUS_OK);
    assert_memory_equal(rows, whole, sizeof whole);
    s.law.segments = 3; /* of 4 rows: 0-3, 4-7, 8-9 */
    s.place = 1;
    s.count = 2;
    assert_int_equal(ledger_walk_rows(&walk, &s, rows, 5), STATUS_OK);
    assert_memory_equal(rows, cut, sizeof cut);
    ledger_walk_deinit(&walk);
}

static void test_a_stretch_has_exactly_the_rows_it_says(void **state)
{
    struct ledger_stretch s = {.law = steps(&GOLDEN_SCHEDULE[1], 1), .place = 0, .count = 4};
    struct ledger_walk walk = {.ready = false};
    uint32_t rows[32];

    (void)state;
    assert_int_equal(ledger_walk_rows(&walk, &s, rows, 22), STATUS_LIMIT);
    assert_int_equal(ledger_walk_rows(&walk, &s, rows, 24), STATUS_LIMIT);
    s.count = UINT64_MAX; /* which would take for ever */
    assert_int_equal(ledger_walk_rows(&walk, &s, rows, 23), STATUS_LIMIT);
    s.place = UINT64_MAX;
    s.count = 1;
    assert_int_equal(ledger_walk_rows(&walk, &s, rows, 23), STATUS_LIMIT);
    s = (struct ledger_stretch){
        .law = {.kind = LEDGER_PLACES, .rows = 10, .segments = 2}, .place = 4, .count = 2};
    assert_int_equal(ledger_walk_rows(&walk, &s, rows, 4), STATUS_LIMIT); /* there are five */
    s.place = 6;
    s.count = 0;
    assert_int_equal(ledger_walk_rows(&walk, &s, rows, 0), STATUS_LIMIT);
    ledger_walk_deinit(&walk);
}

static void test_no_memory_for_a_schedule_is_said_and_tried_again(void **state)
{
    struct ledger_stretch s = {.law = steps(&GOLDEN_SCHEDULE[1], 1), .place = 0, .count = 4};
    struct ledger_walk walk = {.ready = false};
    uint32_t rows[23];

    (void)state;
    mem_fail_at(1);
    assert_int_equal(ledger_walk_rows(&walk, &s, rows, 23), STATUS_MEMORY);
    mem_fail_at(0);
    assert_int_equal(ledger_walk_rows(&walk, &s, rows, 23), STATUS_OK);
    assert_memory_equal(rows, GOLDEN_SCHEDULE[1].order, sizeof rows);
    ledger_walk_deinit(&walk);
}

/* --- texts --- */

static void test_a_law_reads_back_from_its_text(void **state)
{
    static const char text[] = "steps/1 seed=18446744073709551615 rows=453 batch=100 segments=2 "
                               "turns=3";
    const struct ledger_law law = {.kind = LEDGER_STEPS,
                                   .seed = UINT64_MAX,
                                   .rows = 453,
                                   .batch = 100,
                                   .segments = 2,
                                   .turns = 3},
                            sweep = {.kind = LEDGER_PLACES, .rows = 7, .segments = 1};
    struct ledger_law back;
    char out[LEDGER_LAW_MAX];

    (void)state;
    ledger_law_print(out, &law);
    assert_string_equal(out, text);
    assert_true(ledger_law_read(&back, out) && ledger_law_same(&back, &law));
    ledger_law_print(out, &sweep);
    assert_string_equal(out, "places/1 rows=7 segments=1");
    assert_true(ledger_law_read(&back, out) && ledger_law_same(&back, &sweep));
    assert_false(ledger_law_same(&law, &sweep));
}

static void test_what_is_no_law_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "steps/1",
        "steps/2 seed=1 rows=4 batch=2 segments=1 turns=1",
        "steps/1 seed=1 rows=0 batch=2 segments=1 turns=1",
        "steps/1 seed=1 rows=4 batch=0 segments=1 turns=1",
        "steps/1 seed=1 rows=4 batch=3 segments=2 turns=1",
        "steps/1 seed=1 rows=4 batch=2 segments=0 turns=1",
        "steps/1 seed=1 rows=4 batch=2 segments=1 turns=0",
        "steps/1 seed=1 rows=4294967296 batch=2 segments=1 turns=1",
        "steps/1 seed=1 rows=4294967295 batch=2 segments=1 turns=1",
        "steps/1 seed=01 rows=4 batch=2 segments=1 turns=1",
        "steps/1 seed=-1 rows=4 batch=2 segments=1 turns=1",
        "steps/1 seed=1  rows=4 batch=2 segments=1 turns=1",
        "steps/1 rows=4 seed=1 batch=2 segments=1 turns=1",
        "steps/1 seed=1 rows=4 batch=2 segments=1 turns=1 ",
        "steps/1 seed=1 rows=4 batch=2 segments=1 turns=1 more",
        "places/1 rows=4",
        "places/1 rows=4 segments=",
        "places/1 rows=4 segments=0",
        "places/1 rows=4 segments=1 turns=1",
    };
    struct ledger_law law;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (ledger_law_read(&law, texts[i]))
            fail_msg("'%s' is read", texts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_epoch_of_steps_1_is_that_of_another_program),
        cmocka_unit_test(test_each_turn_takes_its_batch_again),
        cmocka_unit_test(test_places_1_are_the_rows_of_each_segment),
        cmocka_unit_test(test_a_stretch_has_exactly_the_rows_it_says),
        cmocka_unit_test(test_no_memory_for_a_schedule_is_said_and_tried_again),
        cmocka_unit_test(test_a_law_reads_back_from_its_text),
        cmocka_unit_test(test_what_is_no_law_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
