/* test_verdict.c -- which score stands for a model, and which models are called a guess.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/verdict.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { ROWS = 100 };

/* The first `ones` rows are of class 1, the next `twos` of class 2, the others of class 0. */
static struct verdict_labels rows_of(float target[ROWS], size_t ones, size_t twos)
{
    for (size_t i = 0; i < ROWS; i++)
        target[i] = i < ones ? 1.0F : i < ones + twos ? 2.0F : 0.0F;
    return verdict_count(target, ROWS);
}

static struct score classes_score(double accuracy, double auc)
{
    return (struct score){
        .value = {[SCORE_LOSS] = 0.5, [SCORE_ACCURACY] = accuracy, [SCORE_AUC] = auc},
        .has = {[SCORE_LOSS] = true, [SCORE_ACCURACY] = true, [SCORE_AUC] = true}};
}

static enum score_metric chosen(const struct score *s, const struct verdict_labels *rows)
{
    enum score_metric m;

    assert_true(verdict_metric(&m, s, rows));
    return m;
}

static void test_uneven_classes_are_told_by_auc(void **state)
{
    float target[ROWS];
    struct score s = classes_score(0.7, 0.8);
    struct verdict_labels rows = rows_of(target, 35, 0);
    enum score_metric m;

    (void)state;
    assert_int_equal(chosen(&s, &rows), SCORE_ACCURACY);
    rows = rows_of(target, 33, 0);
    assert_int_equal(chosen(&s, &rows), SCORE_AUC);
    s.has[SCORE_AUC] = false;
    assert_int_equal(chosen(&s, &rows), SCORE_ACCURACY);
    s = (struct score){.has = {[SCORE_LOSS] = true, [SCORE_R2] = true}};
    assert_int_equal(chosen(&s, &rows), SCORE_R2);
    s.has[SCORE_R2] = false;
    assert_int_equal(chosen(&s, &rows), SCORE_LOSS);
    s.has[SCORE_LOSS] = false;
    assert_false(verdict_metric(&m, &s, &rows));
}

static void expect_guess(bool guess, const struct score *s, const struct verdict_labels *rows)
{
    const char *why = verdict_learned_nothing(s, rows);

    if ((why != NULL) != guess)
        fail_msg("%s", why == NULL ? "no guess" : why);
}

/* 50 and 50 rows: a standard deviation of sqrt(101 / 30000) = 0.058. */
static void test_a_guess_is_called_one(void **state)
{
    float target[ROWS];
    struct verdict_labels rows = rows_of(target, 50, 0);
    struct score s = classes_score(0.6, 0.5 + 3 * 0.057);

    (void)state;
    expect_guess(true, &s, &rows);
    s = classes_score(0.6, 0.5 + 3 * 0.059);
    expect_guess(false, &s, &rows);
    s = classes_score(0.4, 0.1);
    expect_guess(true, &s, &rows);
    s = classes_score(0.99, 0.99);
    s.value[SCORE_LOSS] = NAN;
    expect_guess(true, &s, &rows);
    s.value[SCORE_LOSS] = 3.1 * log(2);
    expect_guess(true, &s, &rows);
    s.value[SCORE_LOSS] = 2.9 * log(2);
    expect_guess(false, &s, &rows);
    rows = rows_of(target, 30, 30);
    s = classes_score(0.40, 0.9);
    expect_guess(true, &s, &rows);
    s = classes_score(0.41, 0.4);
    expect_guess(false, &s, &rows);
    rows = rows_of(target, 14, 57);
    s = classes_score(57.0 / ROWS, 0.5);
    expect_guess(true, &s, &rows);
    s = (struct score){.has = {[SCORE_R2] = true}};
    expect_guess(true, &s, &rows);
    s.value[SCORE_R2] = 0.01;
    expect_guess(false, &s, &rows);
}

/* Two labels of 100 rows, one in half of them, one not known in most. */
static void test_several_labels_are_told_by_auprc(void **state)
{
    float target[2 * ROWS];
    struct verdict_labels rows;
    struct score s = classes_score(0.9, 0.6);

    (void)state;
    s.value[SCORE_AUPRC] = 0.7;
    s.has[SCORE_AUPRC] = true;
    for (size_t i = 0; i < ROWS; i++) {
        target[2 * i] = (float)(i % 2);
        target[2 * i + 1] = i < 90 ? NAN : i == 95 ? 1.0F : 0.0F;
    }
    rows = verdict_count_labels(target, ROWS, 2);
    assert_int_equal(chosen(&s, &rows), SCORE_AUPRC);
    /* sqrt(101 / 30000) = 0.058 and sqrt(11 / 108) = 0.319, on average 0.189. */
    assert_true(fabs(rows.chance - (sqrt(101.0 / 30000) + sqrt(11.0 / 108)) / 2) < 1e-12);
    s.value[SCORE_AUC] = 0.5 + 3 * 0.188;
    expect_guess(true, &s, &rows);
    s.value[SCORE_AUC] = 0.5 + 3 * 0.190;
    expect_guess(false, &s, &rows);
    rows = verdict_count_labels(target, 0, 2);
    assert_true(rows.chance == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uneven_classes_are_told_by_auc),
        cmocka_unit_test(test_a_guess_is_called_one),
        cmocka_unit_test(test_several_labels_are_told_by_auprc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
