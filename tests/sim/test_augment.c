/* test_augment.c -- images that are moved and mirrored in training: as they are drawn, of all
 * places alike, once for a step, and never where rows are evaluated.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/augment.h"

#include "common/base/check.h"
#include "party/train/bottom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { H = 6, W = 5, COLS = H * W, ROWS = 3, WIDTH = 2, CROP = 2, PLACES = 2 * CROP + 1 };

static struct config_party config;
static struct plan plan;
static uint32_t row_numbers[ROWS] = {0, 1, 2};

static int set_up(void **state)
{
    (void)state;
    config_party_defaults(&config);
    config.shape = (struct plan_widths){3, {1, H, W}};
    config.layers = (struct config_layers){0};
    config.augment_crop = CROP;
    config.augment_flip = true;
    plan_defaults(&plan);
    plan.model.embedding = WIDTH;
    plan.training.batch = ROWS;
    plan.protocol.aggregation = AGGREGATION_CLEAR;
    return 0;
}

/* One pixel, off the middle line. */
static void point(float x[COLS])
{
    memset(x, 0, COLS * sizeof *x);
    x[3 * W + 1] = 1;
}

/* Where it is now, as a place of all that it may come to, mirrored ones first. */
static size_t place_of(const float x[COLS])
{
    size_t at = 0, n = 0;

    for (size_t i = 0; i < COLS; i++) {
        n += x[i] != 0;
        at = x[i] != 0 ? i : at;
    }
    assert_true(n <= 1);
    return n == 1 ? at : COLS; /* out of sight */
}

/* How often it comes where, by the law: 3 down by -2 to 2 rows; from 1, or mirrored 3, by -2 to 2.
 */
static void test_all_moves_are_as_likely(void **state)
{
    enum { TIMES = 100000 };
    static uint32_t count[COLS + 1], want[COLS + 1];
    struct party_augment a = {0};
    float x[COLS];

    (void)state;
    for (int down = -CROP; down <= CROP; down++)
        for (int k = 0; k < 2 * PLACES; k++) {
            const int right = k / 2 - CROP, y = 3 + down, at = (k % 2 == 0 ? 1 : 3) + right;

            want[at < 0 || at >= W || y < 0 || y >= H ? COLS : y * W + at] +=
                TIMES / (2 * PLACES * PLACES);
        }
    assert_int_equal(party_augment_init(&a, &config), STATUS_OK);
    for (int i = 0; i < TIMES; i++) {
        point(x);
        party_augment_batch(&a, x, 1, (uint64_t)i);
        count[place_of(x)]++;
    }
    for (size_t i = 0; i <= COLS; i++) {
        const double off = (double)count[i] - want[i];

        assert_true(want[i] > 0 ? off * off < 36.0 * want[i] : count[i] == 0); /* six deviations */
    }
    party_augment_deinit(&a);
}

static void test_draws_go_by_seed_party_and_step_and_rows_are_drawn_apart(void **state)
{
    struct party_augment a = {0}, b = {0};
    float x[2][16 * COLS];
    size_t differ = 0;

    (void)state;
    assert_int_equal(party_augment_init(&a, &config), STATUS_OK);
    assert_int_equal(party_augment_init(&b, &config), STATUS_OK);
    for (uint32_t k = 0; k < 5; k++) { /* the same; another step, party, seed; the same again */
        party_draws_seed(&a.draws, 7, 1);
        party_draws_seed(&b.draws, k == 3 ? 8 : 7, k == 2 ? 2 : 1);
        for (int r = 0; r < 16; r++) {
            point(x[0] + r * COLS);
            point(x[1] + r * COLS);
        }
        party_augment_batch(&a, x[0], 16, 5);
        party_augment_batch(&b, x[1], 16, k == 1 ? 6 : 5);
        if (k % 4 == 0)
            assert_memory_equal(x[0], x[1], sizeof x[0]);
        else
            assert_memory_not_equal(x[0], x[1], sizeof x[0]);
    }
    for (int r = 1; r < 16; r++)
        differ += place_of(x[0]) != place_of(x[0] + r * COLS);
    assert_true(differ > 5);
    party_augment_deinit(&a);
    party_augment_deinit(&b);
}

/* Its local steps see what the step has drawn, and evaluations what the table has. */
static void test_a_step_sees_moved_images_and_an_evaluation_none(void **state)
{
    static const uint8_t key[RNG_KEY_BYTES] = {7};
    float x[ROWS * COLS], seen[3][ROWS * WIDTH], evaluated[2][ROWS * WIDTH];
    const struct table t = {.rows = ROWS, .cols = COLS, .x = x};

    (void)state;
    for (int augments = 0; augments < 2; augments++) {
        struct party_bottom bottom = {0};
        struct rng init = {0};

        for (size_t i = 0; i < ROWS * COLS; i++)
            x[i] = (float)(i * i % 17) - 8;
        config.augment_crop = augments ? CROP : 0;
        config.augment_flip = augments;
        CHECK(rng_init_key(&init, key) == STATUS_OK);
        assert_int_equal(party_bottom_init(&bottom, &config, &plan, COLS, NULL, &init), STATUS_OK);
        party_bottom_seed(&bottom, 3, 1);
        memcpy(seen[augments], party_bottom_train(&bottom, &t, row_numbers, ROWS, 4), sizeof *seen);
        memcpy(seen[2], party_bottom_again(&bottom), sizeof *seen);
        assert_memory_equal(seen[2], seen[augments], sizeof *seen);
        memcpy(evaluated[augments], party_bottom_evaluate(&bottom, &t, 0, ROWS), sizeof *evaluated);
        for (size_t i = 0; i < ROWS * COLS; i++) /* the table is what it was */
            assert_true(x[i] == (float)(i * i % 17) - 8);
        party_bottom_deinit(&bottom);
        rng_deinit(&init);
    }
    assert_memory_equal(evaluated[0], evaluated[1], sizeof *evaluated);
    assert_memory_equal(seen[0], evaluated[0], sizeof *seen);
    assert_memory_not_equal(seen[1], seen[0], sizeof *seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_all_moves_are_as_likely, set_up),
        cmocka_unit_test_setup(test_draws_go_by_seed_party_and_step_and_rows_are_drawn_apart,
                               set_up),
        cmocka_unit_test_setup(test_a_step_sees_moved_images_and_an_evaluation_none, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
