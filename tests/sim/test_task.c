/* test_task.c -- what rounds are of: every row of a sweep in one task and no other, as many values
 * as its rows have, and under fedvs those of the padding too.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/task.h"

#include "common/flow/agenda.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { TRAIN_ROWS = 100, TEST_ROWS = 2503, BATCH = 30, WIDTH = 4, SEGMENTS = 3, ROOM = 4096 };

static struct plan plan_of(enum plan_aggregation aggregation)
{
    struct plan p;

    plan_defaults(&p);
    p.protocol.aggregation = aggregation;
    p.shape.parties = 11;
    p.shape.train_rows = TRAIN_ROWS;
    p.shape.test_rows = TEST_ROWS;
    p.model.embedding = WIDTH;
    p.training.batch = BATCH;
    if (aggregation == AGGREGATION_FEDVS)
        p.protocol.fedvs.segments = SEGMENTS;
    return p;
}

/* Rows of a sweep, told as its tasks say them: each once. */
static void expect_each_row_once(const struct plan *p, bool test, uint32_t rows, uint32_t *room)
{
    uint8_t seen[TEST_ROWS] = {0};
    uint32_t place = 0, all = 0;

    while (place < agenda_places(p, test)) {
        const struct server_task t = server_task_part(p, test, 7, place, room);

        assert_int_equal(t.purpose, test ? PURPOSE_EVALUATE_TEST : PURPOSE_EVALUATE_TRAIN);
        assert_int_equal(t.sweep, 7);
        assert_int_equal(t.place, place);
        assert_int_equal(t.real, (uint64_t)t.rows * WIDTH);
        assert_true(t.places > 0 && t.places <= agenda_round_places(p) && t.values >= t.real);
        for (uint32_t r = 0; r < t.rows; r++) {
            assert_true(server_task_row(&t, r) < rows);
            assert_int_equal(seen[server_task_row(&t, r)]++, 0);
        }
        place += t.places;
        all += t.rows;
    }
    assert_int_equal(place, agenda_places(p, test));
    assert_int_equal(all, rows);
}

static void test_a_sweep_has_every_row_in_one_task(void **state)
{
    const struct plan p = plan_of(AGGREGATION_MASKED);

    (void)state;
    expect_each_row_once(&p, true, TEST_ROWS, NULL);
    expect_each_row_once(&p, false, TRAIN_ROWS, NULL);
    assert_int_equal(server_task_part(&p, true, 1, 0, NULL).values,
                     server_task_part(&p, true, 1, 0, NULL).real);
}

static void test_so_has_one_over_coded_rows_and_its_padding_counts_as_values_alone(void **state)
{
    const struct plan p = plan_of(AGGREGATION_FEDVS);
    const uint32_t coded = (TRAIN_ROWS + SEGMENTS - 1) / SEGMENTS;
    static uint32_t room[ROOM];
    struct server_task t;

    (void)state;
    expect_each_row_once(&p, true, TEST_ROWS, room);
    expect_each_row_once(&p, false, TRAIN_ROWS, room);
    t = server_task_part(&p, false, 1, 0, room);
    assert_int_equal(t.places, coded);
    assert_int_equal(t.rows, TRAIN_ROWS);
    assert_int_equal(t.values, (uint64_t)coded * SEGMENTS * WIDTH);
}

/* Over an epoch: as many rows as there are, each once, and as many values as its places make. */
static void expect_an_epoch(const struct plan *p, uint32_t segments)
{
    uint8_t seen[TRAIN_ROWS] = {0};
    struct schedule s;
    uint32_t all = 0;

    assert_int_equal(schedule_init(&s, 3, TRAIN_ROWS, BATCH, p->protocol.fedvs.segments),
                     STATUS_OK);
    for (uint64_t step = 0; step < s.rounds_per_epoch; step++) {
        const struct server_task t = server_task_step(p, &s, 40 + step, step);

        assert_int_equal(t.purpose, PURPOSE_TRAIN);
        assert_int_equal(t.place, 40 + step);
        assert_true(t.number == 0 && t.sweep == 0 && t.rows <= BATCH);
        assert_int_equal(t.values, (uint64_t)t.places * segments * WIDTH);
        assert_int_equal(t.real, (uint64_t)t.rows * WIDTH);
        assert_true(t.values >= t.real);
        for (uint32_t r = 0; r < t.rows; r++)
            assert_int_equal(seen[server_task_row(&t, r)]++, 0);
        all += t.rows;
    }
    assert_int_equal(all, TRAIN_ROWS);
    schedule_deinit(&s);
}

static void test_an_epoch_of_steps_has_every_row_once(void **state)
{
    struct plan p = plan_of(AGGREGATION_MASKED);

    (void)state;
    expect_an_epoch(&p, 1);
    p = plan_of(AGGREGATION_FEDVS);
    expect_an_epoch(&p, SEGMENTS);
    p = plan_of(AGGREGATION_CLEAR);
    p.protocol.fedvs.segments = SEGMENTS; /* whose batches are fedvs's, and whose sums are not */
    expect_an_epoch(&p, 1);
}

static void test_what_is_dealt_has_no_rows(void **state)
{
    const struct server_task keys = server_task_keys(), data = server_task_data(5, 17);

    (void)state;
    assert_int_equal(keys.purpose, PURPOSE_DEAL_KEYS);
    assert_true(keys.place == 0 && keys.rows == 0 && keys.values == 0);
    assert_int_equal(data.purpose, PURPOSE_DEAL_DATA);
    assert_true(data.place == 5 && data.rows == 0 && data.real == 0);
    assert_true(data.places == 17 && data.values == 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sweep_has_every_row_in_one_task),
        cmocka_unit_test(test_so_has_one_over_coded_rows_and_its_padding_counts_as_values_alone),
        cmocka_unit_test(test_an_epoch_of_steps_has_every_row_once),
        cmocka_unit_test(test_what_is_dealt_has_no_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
