/* test_schedule.c -- the rows of each round: whole epochs, the same everywhere, different ones each
 * time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/data/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/golden/schedule.h"

enum { GOLDEN_N = sizeof GOLDEN_SCHEDULE / sizeof *GOLDEN_SCHEDULE, ROWS_MAX = 256 };

static struct schedule new_schedule(uint64_t seed, uint32_t rows, uint32_t batch)
{
    struct schedule s;

    assert_int_equal(schedule_init(&s, seed, rows, batch, 1), STATUS_OK);
    return s;
}

static struct schedule new_segmented(uint64_t seed, uint32_t rows, uint32_t batch,
                                     uint32_t segments)
{
    struct schedule s;

    assert_int_equal(schedule_init(&s, seed, rows, batch, segments), STATUS_OK);
    return s;
}

/* The rows of an epoch, batch after batch. */
static void epoch_rows(struct schedule *s, uint64_t epoch, uint32_t *out)
{
    uint32_t n, filled = 0;

    for (uint64_t i = 0; i < s->rounds_per_epoch; i++) {
        const uint32_t *rows = schedule_batch(s, epoch * s->rounds_per_epoch + i, &n);

        assert_true(n > 0 && filled + n <= s->segments.rows);
        memcpy(out + filled, rows, n * sizeof *out);
        filled += n;
    }
    assert_int_equal(filled, s->segments.rows);
}

/* The coded rows of an epoch, batch after batch. */
static void epoch_coded(struct schedule *s, uint64_t epoch, uint32_t *out)
{
    uint32_t n, filled = 0;

    for (uint64_t i = 0; i < s->rounds_per_epoch; i++) {
        schedule_batch(s, epoch * s->rounds_per_epoch + i, &n);
        assert_true(s->coded_n > 0 && filled + s->coded_n <= s->segments.len);
        memcpy(out + filled, s->coded, s->coded_n * sizeof *out);
        filled += s->coded_n;
    }
    assert_int_equal(filled, s->segments.len);
}

/* A step's rows are those of its coded rows, which ascend: row g len + r for the g-th segment, the
 * padding at the end left out. */
static void expect_step(struct schedule *s, uint64_t step)
{
    const struct segments *g = &s->segments;
    uint32_t n, at = 0;
    const uint32_t *rows = schedule_batch(s, step, &n);

    for (uint32_t k = 0; k < g->k; k++) {
        for (uint32_t i = 0; i < s->coded_n; i++) {
            uint32_t row = k * g->len + s->coded[i];

            assert_true(i == 0 || s->coded[i - 1] < s->coded[i]);
            if (row < g->rows)
                assert_int_equal(rows[at++], row);
        }
    }
    assert_int_equal(at, n);
    assert_true(n > 0 && n <= s->coded_batch * g->k);
}

static void test_an_independent_program_draws_the_same_rows(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < GOLDEN_N; i++) {
        const struct golden_schedule *g = &GOLDEN_SCHEDULE[i];
        struct schedule s = new_segmented(g->seed, g->rows, g->batch, g->segments);
        uint32_t rows[ROWS_MAX], coded[ROWS_MAX];

        epoch_rows(&s, g->epoch, rows);
        assert_memory_equal(rows, g->order, g->rows * sizeof *rows);
        epoch_coded(&s, g->epoch, coded);
        assert_memory_equal(coded, g->coded, s.segments.len * sizeof *coded);
        schedule_deinit(&s);
    }
}

static void test_one_segment_is_the_plain_schedule_and_its_coded_rows_are_its_rows(void **unused)
{
    struct schedule s = new_segmented(7, 23, 7, 1);
    uint32_t n;

    (void)unused;
    for (uint64_t step = 0; step < 9; step++) {
        const uint32_t *rows = schedule_batch(&s, step, &n);

        assert_ptr_equal(s.coded, rows);
        assert_int_equal(s.coded_n, n);
    }
    schedule_deinit(&s);
}

static void test_a_step_is_whole_coded_rows_and_every_epoch_has_every_row_once(void **unused)
{
    static const struct {
        uint32_t rows, batch, k;
    } cases[] = {{100, 10, 5}, {101, 10, 5}, {104, 10, 5}, {7, 6, 3}, {5, 4, 4},
                 {1, 2, 2},    {256, 64, 2}, {255, 8, 8},  {9, 9, 9}, {10, 300, 3}};

    (void)unused;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const uint32_t k = cases[c].k, len = (cases[c].rows + k - 1) / k;
        struct schedule s = new_segmented(3, cases[c].rows, cases[c].batch, k);

        assert_int_equal(s.rounds_per_epoch, (len + cases[c].batch / k - 1) / (cases[c].batch / k));
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            uint32_t order[ROWS_MAX], seen[ROWS_MAX] = {0};

            epoch_rows(&s, epoch, order);
            for (uint32_t i = 0; i < cases[c].rows; i++)
                seen[order[i]]++;
            for (uint32_t i = 0; i < cases[c].rows; i++)
                assert_int_equal(seen[i], 1);
            for (uint64_t i = 0; i < s.rounds_per_epoch; i++)
                expect_step(&s, epoch * s.rounds_per_epoch + i);
        }
        schedule_deinit(&s);
    }
}

static void test_segments_do_not_change_which_coded_rows_meet(void **unused)
{
    /* 40 rows in 4 segments are 10 coded rows: the permutation of 10 plain rows, sorted by step. */
    struct schedule plain = new_schedule(21, 10, 3), s = new_segmented(21, 40, 12, 4);
    uint32_t n, m;

    (void)unused;
    for (uint64_t step = 0; step < 12; step++) {
        const uint32_t *rows = schedule_batch(&plain, step, &n);

        schedule_batch(&s, step, &m);
        assert_int_equal(s.coded_n, n);
        assert_int_equal(m, 4 * n);
        for (uint32_t i = 0; i < n; i++) {
            bool found = false;

            for (uint32_t j = 0; j < n; j++)
                found = found || s.coded[j] == rows[i];
            assert_true(found);
        }
    }
    schedule_deinit(&plain);
    schedule_deinit(&s);
}

/* A party looks ahead (to charge the rounds to come) while it holds the rows of the one it is at.
 */
static void test_the_rows_of_a_step_stay_while_others_of_its_epoch_are_asked_for(void **unused)
{
    (void)unused;
    for (uint32_t k = 1; k <= 4; k++) {
        struct schedule s = new_segmented(5, 50, 12, k);
        const uint32_t *rows[64], *coded[64];
        uint32_t copy[64][12], coded_copy[64][12], n[64], coded_n[64];

        assert_true(s.rounds_per_epoch <= 64);
        for (uint32_t i = 0; i < s.rounds_per_epoch; i++) {
            rows[i] = schedule_batch(&s, i, &n[i]);
            coded[i] = s.coded;
            coded_n[i] = s.coded_n;
            memcpy(copy[i], rows[i], n[i] * sizeof **rows);
            memcpy(coded_copy[i], coded[i], coded_n[i] * sizeof **coded);
        }
        for (uint32_t i = 0; i < s.rounds_per_epoch; i++) {
            assert_memory_equal(copy[i], rows[i], n[i] * sizeof **rows);
            assert_memory_equal(coded_copy[i], coded[i], coded_n[i] * sizeof **coded);
        }
        schedule_deinit(&s);
    }
}

static void test_every_epoch_has_every_row_once(void **unused)
{
    static const uint32_t rows[] = {1, 2, 7, 100, 101, 256}, batches[] = {1, 2, 7, 100, 300};

    (void)unused;
    for (size_t r = 0; r < 6; r++) {
        for (size_t b = 0; b < 5; b++) {
            struct schedule s = new_schedule(3, rows[r], batches[b]);

            for (uint64_t epoch = 0; epoch < 3; epoch++) {
                uint32_t order[ROWS_MAX], seen[ROWS_MAX] = {0};

                epoch_rows(&s, epoch, order);
                for (uint32_t i = 0; i < rows[r]; i++)
                    seen[order[i]]++;
                for (uint32_t i = 0; i < rows[r]; i++)
                    assert_int_equal(seen[i], 1);
            }
            schedule_deinit(&s);
        }
    }
}

static void test_only_the_last_batch_is_shorter(void **unused)
{
    struct schedule s = new_schedule(1, 10, 4);
    uint32_t n;

    (void)unused;
    assert_int_equal(s.rounds_per_epoch, 3);
    for (uint64_t step = 0; step < 9; step++) {
        schedule_batch(&s, step, &n);
        assert_int_equal(n, step % 3 == 2 ? 2 : 4);
    }
    schedule_deinit(&s);
    s = new_schedule(1, 12, 4);
    assert_int_equal(s.rounds_per_epoch, 3);
    schedule_batch(&s, 2, &n);
    assert_int_equal(n, 4);
    schedule_deinit(&s);
    s = new_schedule(1, 3, 4);
    assert_int_equal(s.rounds_per_epoch, 1);
    schedule_batch(&s, 5, &n);
    assert_int_equal(n, 3);
    schedule_deinit(&s);
}

static void test_the_same_seed_gives_the_same_rows_in_any_order_of_asking(void **unused)
{
    struct schedule a = new_schedule(9, 100, 8), b = new_schedule(9, 100, 8);
    static const uint64_t steps[] = {40, 0, 12, 13, 27, 1, 40, UINT64_C(1) << 40};
    uint32_t early[4][8], n;

    (void)unused;
    for (uint64_t i = 0; i < 4; i++)
        memcpy(early[i], schedule_batch(&a, 13 * i, &n), sizeof early[i]);
    for (uint64_t i = 4; i > 0; i--)
        assert_memory_equal(early[i - 1], schedule_batch(&a, 13 * (i - 1), &n), sizeof *early);
    for (size_t i = 0; i < 8; i++) {
        uint32_t m;
        const uint32_t *x = schedule_batch(&a, steps[i], &n), *y = schedule_batch(&b, steps[i], &m);

        assert_int_equal(n, m);
        assert_memory_equal(x, y, n * sizeof *x);
    }
    schedule_deinit(&a);
    schedule_deinit(&b);
}

static void test_another_seed_or_epoch_gives_other_rows(void **unused)
{
    static const uint64_t seeds[] = {1, 2, UINT64_C(1) << 32, UINT64_MAX};
    static const uint64_t epochs[] = {0, 1, 2, UINT64_C(1) << 32};
    static uint32_t order[16][ROWS_MAX];

    (void)unused;
    for (size_t i = 0; i < 16; i++) {
        struct schedule s = new_schedule(seeds[i / 4], ROWS_MAX, 10);

        epoch_rows(&s, epochs[i % 4], order[i]);
        schedule_deinit(&s);
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(order[i], order[j], sizeof order[i]);
    }
}

/* Where row 0 stands in 4096 epochs of 16 rows: chi-square with 15 degrees of freedom, fixed seed.
 */
static void test_every_place_is_equally_likely(void **unused)
{
    enum { ROWS = 16, EPOCHS = 4096 };
    struct schedule s = new_schedule(5, ROWS, ROWS);
    double expected = EPOCHS / ROWS;

    (void)unused;
    for (uint32_t row = 0; row < ROWS; row++) {
        double chi = 0, count[ROWS] = {0};

        for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
            uint32_t n;
            const uint32_t *rows = schedule_batch(&s, epoch, &n);

            for (uint32_t i = 0; i < n; i++)
                count[i] += rows[i] == row;
        }
        for (size_t i = 0; i < ROWS; i++)
            chi += (count[i] - expected) * (count[i] - expected) / expected;
        assert_true(chi < 44.3); /* once in 10^4 */
    }
    schedule_deinit(&s);
}

static void test_nothing_is_allocated_after_init(void **unused)
{
    struct schedule s = new_schedule(9, 100, 8);
    uint64_t before = mem_count();
    uint32_t n;

    (void)unused;
    for (uint64_t step = 0; step < 100; step++)
        schedule_batch(&s, step, &n);
    assert_int_equal(mem_count(), before);
    schedule_deinit(&s);
    assert_null(s.order);
    schedule_deinit(&s);
    s = new_segmented(9, 100, 8, 4);
    before = mem_count();
    for (uint64_t step = 0; step < 100; step++)
        schedule_batch(&s, step, &n);
    assert_int_equal(mem_count(), before);
    schedule_deinit(&s);
    assert_true(s.row == NULL && s.start == NULL && s.sort == NULL);
}

static void test_each_failing_allocation_is_reported(void **unused)
{
    struct schedule s;

    (void)unused;
    for (uint64_t n = 1; n <= 2; n++) {
        mem_fail_at(n);
        assert_int_equal(schedule_init(&s, 1, 10, 2, 1), STATUS_MEMORY);
        assert_true(s.order == NULL && s.rng == NULL);
    }
    for (uint64_t n = 1; n <= 5; n++) {
        mem_fail_at(n);
        assert_int_equal(schedule_init(&s, 1, 10, 2, 2), STATUS_MEMORY);
        assert_true(s.order == NULL && s.rng == NULL);
        assert_true(s.row == NULL && s.start == NULL && s.sort == NULL);
    }
    mem_fail_at(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_independent_program_draws_the_same_rows),
        cmocka_unit_test(test_one_segment_is_the_plain_schedule_and_its_coded_rows_are_its_rows),
        cmocka_unit_test(test_a_step_is_whole_coded_rows_and_every_epoch_has_every_row_once),
        cmocka_unit_test(test_segments_do_not_change_which_coded_rows_meet),
        cmocka_unit_test(test_the_rows_of_a_step_stay_while_others_of_its_epoch_are_asked_for),
        cmocka_unit_test(test_every_epoch_has_every_row_once),
        cmocka_unit_test(test_only_the_last_batch_is_shorter),
        cmocka_unit_test(test_the_same_seed_gives_the_same_rows_in_any_order_of_asking),
        cmocka_unit_test(test_another_seed_or_epoch_gives_other_rows),
        cmocka_unit_test(test_every_place_is_equally_likely),
        cmocka_unit_test(test_nothing_is_allocated_after_init),
        cmocka_unit_test(test_each_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
