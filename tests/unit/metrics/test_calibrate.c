/* test_calibrate.c -- a temperature is found again, changes no ranks, and brings errors down.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>

#include "common/metrics/calibrate.h"

enum { N = 20000 };

static uint64_t state_of = 1;

static double uniform(void)
{
    state_of = state_of * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(state_of >> 40) + 0.5) / (1 << 24);
}

/* Rows whose logits say `sure` times too much of what is so; the target is as logits / sure have
 * it. */
static void draw_rows(struct score_board *b, uint32_t classes, enum score_kind kind, double sure)
{
    assert_int_equal(score_board_init(b, N, classes, kind), STATUS_OK);
    for (size_t i = 0; i < N; i++) {
        float prob[4], target[4] = {0};
        double z[4], sum = 0, truth = 0, u = uniform();
        uint32_t y = 0;

        for (uint32_t k = 0; k < classes; k++) {
            z[k] = 4 * uniform() - 2;
            sum += exp(sure * z[k]);
            truth += exp(z[k]);
        }
        for (uint32_t k = 0; k < classes; k++)
            prob[k] = (float)(kind == SCORE_OF_LABELS || classes == 1 ? 1 / (1 + exp(-sure * z[k]))
                                                                      : exp(sure * z[k]) / sum);
        if (kind == SCORE_OF_LABELS || classes == 1)
            for (uint32_t k = 0; k < classes; k++)
                target[k] = i % 7 == 0 && kind == SCORE_OF_LABELS
                                ? NAN
                                : (float)(uniform() < 1 / (1 + exp(-z[k])));
        else {
            for (double up = exp(z[0]) / truth; u > up && y + 1 < classes; up += exp(z[y]) / truth)
                y++;
            target[0] = (float)y;
        }
        score_board_add(b, prob, target, 1, 0);
    }
}

static void test_the_temperature_of_rows_is_found(void **state)
{
    static const struct {
        uint32_t classes;
        enum score_kind kind;
    } of[] = {
        {2, SCORE_OF_CLASSES}, {4, SCORE_OF_CLASSES}, {1, SCORE_OF_CLASSES}, {3, SCORE_OF_LABELS}};

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (double sure = 0.5; sure < 5; sure *= 3) {
            struct score_board fit, tell;
            struct calibration c;

            draw_rows(&fit, of[i].classes, of[i].kind, sure);
            draw_rows(&tell, of[i].classes, of[i].kind, sure);
            calibrate(&c, &fit, &tell);
            assert_int_equal(c.rows, N);
            assert_true(fabs(c.temperature / sure - 1) < 0.1);
            assert_true(c.after < 0.03 && c.after < c.before);
            score_board_deinit(&fit);
            score_board_deinit(&tell);
        }
}

static void test_a_row_keeps_its_order_and_its_sum(void **state)
{
    const float prob[] = {0.7F, 0.1F, 0.2F, 0}, one[] = {0.9F}, labels[] = {0.9F, 0, 1};
    float out[4];

    (void)state;
    calibrate_row(out, prob, 4, SCORE_OF_CLASSES, 2);
    assert_true(out[0] > out[2] && out[2] > out[1] && out[1] > out[3] && out[0] < prob[0]);
    assert_true(fabsf(out[0] + out[1] + out[2] + out[3] - 1) < 1e-6F);
    calibrate_row(out, prob, 4, SCORE_OF_CLASSES, 1);
    for (int k = 0; k < 4; k++)
        assert_true(fabsf(out[k] - prob[k]) < 1e-6F);
    calibrate_row(out, one, 1, SCORE_OF_CLASSES, 2);
    assert_true(fabsf(out[0] - 0.75F) < 1e-6F); /* a root of odds of nine */
    calibrate_row(out, labels, 3, SCORE_OF_LABELS, 2);
    assert_true(fabsf(out[0] - 0.75F) < 1e-6F && out[1] < 1e-3F && out[2] > 1 - 1e-3F);
}

static void test_of_values_and_of_nothing_there_is_none(void **state)
{
    const float prob[] = {0.5F, NAN}, target[] = {1};
    struct score_board values, none, broken;
    struct calibration c;

    (void)state;
    assert_int_equal(score_board_init(&values, 1, 1, SCORE_OF_VALUES), STATUS_OK);
    assert_int_equal(score_board_init(&none, 1, 2, SCORE_OF_CLASSES), STATUS_OK);
    assert_int_equal(score_board_init(&broken, 1, 2, SCORE_OF_CLASSES), STATUS_OK);
    score_board_add(&values, prob, target, 1, 0);
    score_board_add(&broken, prob, target, 1, 0);
    calibrate(&c, &values, &values);
    assert_true(c.rows == 0 && c.temperature == 1);
    calibrate(&c, &none, &none);
    assert_true(c.rows == 0 && c.temperature == 1);
    calibrate(&c, &broken, &none);
    assert_true(c.rows == 0 && c.temperature == 1);
    score_board_deinit(&values);
    score_board_deinit(&none);
    score_board_deinit(&broken);
}

/* Rows that are all told right have no temperature of their own: it stays within bounds. */
static void test_what_is_always_right_stays_within_bounds(void **state)
{
    const float prob[] = {0.4F, 0.6F}, target[] = {1};
    struct score_board b;
    struct calibration c;

    (void)state;
    assert_int_equal(score_board_init(&b, 1, 2, SCORE_OF_CLASSES), STATUS_OK);
    score_board_add(&b, prob, target, 1, 0);
    calibrate(&c, &b, &b);
    assert_true(c.temperature > 0.99 / CALIBRATE_MOST && c.temperature < 1);
    score_board_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_temperature_of_rows_is_found),
        cmocka_unit_test(test_a_row_keeps_its_order_and_its_sum),
        cmocka_unit_test(test_of_values_and_of_nothing_there_is_none),
        cmocka_unit_test(test_what_is_always_right_stays_within_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
