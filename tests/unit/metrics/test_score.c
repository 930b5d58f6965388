/* test_score.c -- scores against scikit-learn's, and predictions that no model should make.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/metrics/score.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/golden/score.h"

enum { GOLDEN_N = sizeof GOLDEN_SCORE / sizeof *GOLDEN_SCORE };

/* Scores of n predictions, added in chunks of `chunk` rows. */
static struct score score_of(const float *prob, const float *target, size_t n, uint32_t classes,
                             size_t chunk)
{
    struct score_board b;
    struct score out;

    assert_int_equal(score_board_init(&b, n, classes, SCORE_OF_CLASSES), STATUS_OK);
    for (size_t i = 0; i < n; i += chunk)
        score_board_add(&b, prob + i * classes, target + i, n - i < chunk ? n - i : chunk, 0.5);
    score_board_read(&b, &out);
    score_board_deinit(&b);
    assert_true(out.has[SCORE_ACCURACY] && out.has[SCORE_LOSS]);
    return out;
}

static void expect_near(const char *name, const char *what, double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-12))
        fail_msg("%s: %s is %.17g instead of %.17g", name, what, got, expected);
}

static void test_scores_are_those_of_scikit_learn(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < GOLDEN_N; i++) {
        const struct golden_score *g = &GOLDEN_SCORE[i];

        for (size_t chunk = 1; chunk <= 64; chunk *= 4) {
            struct score s = score_of(g->prob, g->target, g->rows, g->classes, chunk);

            expect_near(g->name, "accuracy", s.value[SCORE_ACCURACY], g->accuracy);
            expect_near(g->name, "auc", s.value[SCORE_AUC], g->auc);
            expect_near(g->name, "auprc", s.value[SCORE_AUPRC], g->auprc);
            expect_near(g->name, "f1", s.value[SCORE_F1], g->f1);
            expect_near(g->name, "loss", s.value[SCORE_LOSS], 0.5);
            assert_true(s.has[SCORE_AUC]);
        }
    }
}

/* The definitions, pair by pair and threshold by threshold, in quadratic time. */
static void naive_ranks(const float *prob, const float *target, size_t n, double *auc,
                        double *auprc)
{
    double pairs = 0, won = 0, positives = 0;

    *auprc = 0;
    for (size_t i = 0; i < n; i++) {
        double above = 0, right = 0;

        if (target[i] != 1)
            continue;
        positives++;
        for (size_t j = 0; j < n; j++) {
            above += prob[j] >= prob[i];
            right += prob[j] >= prob[i] && target[j] == 1;
            pairs += target[j] == 0;
            won += target[j] != 0 ? 0 : prob[i] > prob[j] ? 1 : prob[i] == prob[j] ? 0.5 : 0;
        }
        *auprc += right / above;
    }
    *auc = won / pairs;
    *auprc /= positives;
}

static void test_ranks_equal_their_definitions(void **unused)
{
    float prob[300], target[300];
    uint32_t state = 1;

    (void)unused;
    for (int trial = 0; trial < 40; trial++) {
        size_t n = 20 + (size_t)trial * 7;
        double auc, auprc;
        struct score s;

        for (size_t i = 0; i < n; i++) {
            state = state * 1664525 + 1013904223;
            target[i] = (float)(state >> 31);
            prob[i] = ((float)(state >> 8 & 0xffff) - 30000) * (trial % 2 == 0 ? 1e-5f : 1e30f);
            if (trial % 3 == 0)
                prob[i] = truncf(prob[i] * 10) * (i % 2 == 0 ? -0.0f : 1);
        }
        naive_ranks(prob, target, n, &auc, &auprc);
        s = score_of(prob, target, n, 1, n);
        expect_near("naive", "auc", s.value[SCORE_AUC], auc);
        expect_near("naive", "auprc", s.value[SCORE_AUPRC], auprc);
    }
}

static void test_the_loss_is_the_mean_over_rows(void **unused)
{
    const float prob[6] = {0}, target[6] = {0};

    (void)unused;
    for (int values = 0; values < 2; values++) {
        struct score_board b;
        struct score s;

        assert_int_equal(score_board_init(&b, 6, 1, values ? SCORE_OF_VALUES : SCORE_OF_CLASSES),
                         STATUS_OK);
        score_board_read(&b, &s);
        assert_true(!s.has[SCORE_LOSS] && !s.has[SCORE_ACCURACY]);
        score_board_add(&b, prob, target, 4, 1.5);
        score_board_add(&b, prob, target, 2, 3);
        score_board_read(&b, &s);
        assert_true(s.has[SCORE_LOSS] && s.value[SCORE_LOSS] == 2 && !s.has[SCORE_AUC] &&
                    s.has[SCORE_ACCURACY] == !values);
        score_board_reset(&b);
        score_board_read(&b, &s);
        assert_true(!s.has[SCORE_LOSS]);
        score_board_add(&b, prob, target, 6, 0.25);
        score_board_read(&b, &s);
        assert_true(s.value[SCORE_LOSS] == 0.25);
        score_board_deinit(&b);
    }
}

/* By hand: errors 0.5, -0.5, 1, 0 of targets whose mean is 2.5 and whose spread is 5. */
static void test_values_have_scores_of_their_own(void **unused)
{
    const float prob[] = {1.5F, 1.5F, 4, 4}, target[] = {1, 2, 3, 4}, same[] = {2, 2, 2, 2};
    struct score_board b;
    struct score s;

    (void)unused;
    assert_int_equal(score_board_init(&b, 4, 1, SCORE_OF_VALUES), STATUS_OK);
    score_board_add(&b, prob, target, 1, 0.125);
    score_board_add(&b, prob + 1, target + 1, 3, 0.125);
    score_board_read(&b, &s);
    expect_near("values", "r2", s.value[SCORE_R2], 1 - 1.5 / 5);
    expect_near("values", "mae", s.value[SCORE_MAE], 0.5);
    expect_near("values", "rmse", s.value[SCORE_RMSE], sqrt(1.5 / 4));
    assert_true(s.has[SCORE_LOSS] && !s.has[SCORE_ACCURACY] && !s.has[SCORE_F1]);
    score_board_reset(&b);
    score_board_add(&b, prob, same, 4, 0.5);
    score_board_read(&b, &s);
    assert_true(!s.has[SCORE_R2] && s.has[SCORE_MAE]);
    score_board_deinit(&b);
}

static void test_one_class_alone_has_no_auc(void **unused)
{
    const float prob[] = {0.1f, 0.9f, 0.6f}, zeros[] = {0, 0, 0}, ones[] = {1, 1, 1};
    struct score s = score_of(prob, zeros, 3, 1, 3);

    (void)unused;
    assert_true(!s.has[SCORE_AUC] && s.value[SCORE_AUC] == 0 && s.value[SCORE_AUPRC] == 0 &&
                s.value[SCORE_F1] == 0);
    expect_near("zeros", "accuracy", s.value[SCORE_ACCURACY], 1.0 / 3);
    s = score_of(prob, ones, 3, 1, 3);
    assert_true(!s.has[SCORE_AUC] && s.value[SCORE_AUC] == 0 && s.value[SCORE_AUPRC] == 1);
    expect_near("ones", "f1", s.value[SCORE_F1], 0.8);
}

/* Class 2 has no rows; class 1 is predicted once.  Averages by hand. */
static void test_a_class_without_rows_is_left_out(void **unused)
{
    const float prob[] = {.7f, .2f, .1f, .6f, .3f, .1f, .2f, .7f, .1f, .5f, .4f, .1f};
    const float target[] = {0, 0, 1, 1};
    struct score s = score_of(prob, target, 4, 3, 4);

    (void)unused;
    expect_near("absent", "accuracy", s.value[SCORE_ACCURACY], 0.75);
    expect_near("absent", "auc", s.value[SCORE_AUC], 1);
    expect_near("absent", "auprc", s.value[SCORE_AUPRC], 1);
    expect_near("absent", "f1", s.value[SCORE_F1], (0.8 + 2.0 / 3) / 2);
}

static void test_a_probability_that_is_no_number_is_wrong(void **unused)
{
    const float inf = INFINITY;
    const float prob[] = {NAN, -NAN, inf, -inf, 0.75f, 0.25f};
    const float target[] = {1, 0, 1, 0, 1, 0};
    struct score s = score_of(prob, target, 6, 1, 6), clean;

    (void)unused;
    expect_near("nan", "accuracy", s.value[SCORE_ACCURACY], 4.0 / 6);
    expect_near("nan", "f1", s.value[SCORE_F1], 0.8);
    expect_near("nan", "auc", s.value[SCORE_AUC], (3 + 3 + 0.5) / 9);
    expect_near("nan", "auprc", s.value[SCORE_AUPRC], (1 + 1 + 0.5) / 3);
    clean = score_of(prob + 2, target + 2, 4, 1, 4);
    assert_true(clean.value[SCORE_AUC] == 1 && clean.value[SCORE_ACCURACY] == 1);
}

static void test_many_classes_survive_nonsense(void **unused)
{
    const float nonsense[] = {NAN, INFINITY, -INFINITY, FLT_MAX, -0.0f, 0, 1e-45f};
    const float targets[] = {0, 1, 2, -1, 3, NAN, 0.5f, 1e30f};
    float prob[90], target[30];
    struct score s;

    (void)unused;
    for (size_t i = 0; i < 90; i++)
        prob[i] = nonsense[i * 5 % 7];
    for (size_t i = 0; i < 30; i++)
        target[i] = targets[i % 8];
    s = score_of(prob, target, 30, 3, 7);
    assert_true(s.value[SCORE_ACCURACY] >= 0 && s.value[SCORE_ACCURACY] <= 1 &&
                s.value[SCORE_F1] >= 0 && s.value[SCORE_F1] <= 1);
    assert_true(s.value[SCORE_AUC] >= 0 && s.value[SCORE_AUC] <= 1 && s.value[SCORE_AUPRC] >= 0 &&
                s.value[SCORE_AUPRC] <= 1);
    for (size_t i = 0; i < 90; i++)
        prob[i] = NAN;
    s = score_of(prob, target, 30, 3, 7);
    assert_true(s.value[SCORE_ACCURACY] == 0 && s.value[SCORE_F1] == 0 &&
                s.value[SCORE_AUC] == 0.5);
}

/* --- several labels --- */

enum { LABELS = 3, MARKED = 40 };

static struct score labels_score(const float *prob, const float *target, size_t n, uint32_t k,
                                 size_t chunk)
{
    struct score_board b;
    struct score out;

    assert_int_equal(score_board_init(&b, n, k, SCORE_OF_LABELS), STATUS_OK);
    for (size_t i = 0; i < n; i += chunk)
        score_board_add(&b, prob + i * k, target + i * k, n - i < chunk ? n - i : chunk, 0.5);
    score_board_read(&b, &out);
    score_board_deinit(&b);
    return out;
}

/* Each label by itself, without the rows where it is not known, is a task of two classes. */
static void test_scores_of_labels_are_means_of_each_ones(void **unused)
{
    float prob[MARKED * LABELS], target[MARKED * LABELS], p[MARKED * LABELS], y[MARKED * LABELS];
    double auc = 0, auprc = 0, f1 = 0, right = 0;
    uint32_t state = 3;
    size_t all = 0;
    struct score s;

    (void)unused;
    for (size_t i = 0; i < MARKED * LABELS; i++) {
        state = state * 1664525 + 1013904223;
        target[i] = state >> 28 == 0 ? NAN : (float)(state >> 31);
        prob[i] = (float)(state >> 8 & 0x3f) / 64;
    }
    for (size_t j = 0; j < LABELS; j++) {
        size_t n = 0;

        for (size_t i = 0; i < MARKED; i++)
            if (!isnan(target[i * LABELS + j])) {
                p[n] = prob[i * LABELS + j];
                y[n++] = target[i * LABELS + j];
            }
        assert_true(n > 10 && n < MARKED);
        s = score_of(p, y, n, 1, n);
        auc += s.value[SCORE_AUC] / LABELS;
        auprc += s.value[SCORE_AUPRC] / LABELS;
        f1 += s.value[SCORE_F1] / LABELS;
        right += s.value[SCORE_ACCURACY] * (double)n;
        all += n;
    }
    for (size_t chunk = 1; chunk <= MARKED; chunk *= 3) {
        s = labels_score(prob, target, MARKED, LABELS, chunk);
        expect_near("macro", "auc", s.value[SCORE_AUC], auc);
        expect_near("macro", "auprc", s.value[SCORE_AUPRC], auprc);
        expect_near("macro", "f1", s.value[SCORE_F1], f1);
        expect_near("labels", "accuracy", s.value[SCORE_ACCURACY], right / (double)all);
    }
}

/* The micro scores are those of one task of two classes whose rows are all pairs that are known. */
static void test_micro_scores_pool_all_pairs(void **unused)
{
    const float prob[] = {.9f, .1f, .8f, .7f, .2f, .6f, .4f, .5f};
    const float target[] = {1, 0, NAN, 1, 0, 0, 1, NAN}, p[] = {.9f, .1f, .7f, .2f, .6f, .4f},
                y[] = {1, 0, 1, 0, 0, 1};
    const struct score s = labels_score(prob, target, 4, 2, 4), one = score_of(p, y, 6, 1, 6);

    (void)unused;
    assert_true(s.has[SCORE_AUC_MICRO] && s.has[SCORE_AUPRC_MICRO] && s.has[SCORE_F1_MICRO]);
    expect_near("micro", "auc", s.value[SCORE_AUC_MICRO], one.value[SCORE_AUC]);
    expect_near("micro", "auprc", s.value[SCORE_AUPRC_MICRO], one.value[SCORE_AUPRC]);
    expect_near("micro", "f1", s.value[SCORE_F1_MICRO], one.value[SCORE_F1]);
    assert_false(one.has[SCORE_AUC_MICRO] || one.has[SCORE_F1_MICRO]);
}

static void test_a_label_of_which_nothing_is_known_is_left_out(void **unused)
{
    const float prob[] = {.9f, .3f, .2f, .4f}, target[] = {1, NAN, 0, NAN};
    const float none[] = {NAN, NAN, NAN, NAN}, nan[] = {NAN, NAN, .2f, .4f};
    struct score s = labels_score(prob, target, 2, 2, 1);

    (void)unused;
    assert_true(s.value[SCORE_AUC] == 1 && s.value[SCORE_AUPRC] == 1 && s.value[SCORE_F1] == 1 &&
                s.value[SCORE_ACCURACY] == 1);
    s = labels_score(prob, none, 2, 2, 2);
    assert_true(s.has[SCORE_LOSS] && !s.has[SCORE_AUC] && !s.has[SCORE_ACCURACY] &&
                !s.has[SCORE_AUC_MICRO] && s.value[SCORE_F1_MICRO] == 0);
    s = labels_score(nan, target, 2, 2, 2); /* no number is wrong, and ranks last */
    assert_true(s.value[SCORE_ACCURACY] == 0.5 && s.value[SCORE_AUC] == 0);
}

static void test_a_board_of_labels_is_kept_whole(void **unused)
{
    const float prob[] = {.9f, .3f, .2f, .4f}, target[] = {1, 0, NAN, 1};
    struct score_board a, b;
    struct score x, y;
    struct buf out;
    size_t used;

    (void)unused;
    buf_init(&out, 1 << 12);
    assert_int_equal(score_board_init(&a, 3, 2, SCORE_OF_LABELS), STATUS_OK);
    assert_int_equal(score_board_init(&b, 3, 2, SCORE_OF_LABELS), STATUS_OK);
    score_board_add(&a, prob, target, 2, 0.25);
    assert_int_equal(score_board_print(&a, &out), STATUS_OK);
    assert_int_equal(score_board_parse(&b, out.data, out.len, &used), STATUS_OK);
    assert_int_equal(used, out.len);
    assert_int_equal(score_board_parse(&b, out.data, out.len - 1, &used), STATUS_DATA);
    score_board_read(&a, &x);
    score_board_read(&b, &y);
    assert_memory_equal(x.value, y.value, sizeof x.value);
    score_board_reset(&b);
    score_board_copy(&b, &a);
    score_board_read(&b, &y);
    assert_memory_equal(x.value, y.value, sizeof x.value);
    buf_deinit(&out);
    score_board_deinit(&a);
    score_board_deinit(&b);
}

static void test_each_failing_allocation_is_reported(void **unused)
{
    struct score_board b;

    (void)unused;
    for (uint64_t n = 1; n <= 3; n++) {
        mem_fail_at(n);
        assert_int_equal(score_board_init(&b, 4, 2, SCORE_OF_CLASSES), STATUS_MEMORY);
        assert_true(b.prob == NULL && b.target == NULL && b.order == NULL);
    }
    mem_fail_at(4);
    assert_int_equal(score_board_init(&b, 4, 2, SCORE_OF_CLASSES), STATUS_OK);
    mem_fail_at(0);
    score_board_deinit(&b);
}

static void test_scoring_allocates_nothing_after_init(void **unused)
{
    const struct golden_score *g = &GOLDEN_SCORE[GOLDEN_N - 1];
    struct score_board b;
    struct score s;
    uint64_t before;

    (void)unused;
    assert_int_equal(score_board_init(&b, g->rows, g->classes, SCORE_OF_CLASSES), STATUS_OK);
    before = mem_count();
    score_board_add(&b, g->prob, g->target, g->rows, 1);
    score_board_read(&b, &s);
    score_board_reset(&b);
    assert_int_equal(mem_count(), before);
    score_board_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores_are_those_of_scikit_learn),
        cmocka_unit_test(test_ranks_equal_their_definitions),
        cmocka_unit_test(test_the_loss_is_the_mean_over_rows),
        cmocka_unit_test(test_values_have_scores_of_their_own),
        cmocka_unit_test(test_one_class_alone_has_no_auc),
        cmocka_unit_test(test_a_class_without_rows_is_left_out),
        cmocka_unit_test(test_a_probability_that_is_no_number_is_wrong),
        cmocka_unit_test(test_many_classes_survive_nonsense),
        cmocka_unit_test(test_scores_of_labels_are_means_of_each_ones),
        cmocka_unit_test(test_micro_scores_pool_all_pairs),
        cmocka_unit_test(test_a_label_of_which_nothing_is_known_is_left_out),
        cmocka_unit_test(test_a_board_of_labels_is_kept_whole),
        cmocka_unit_test(test_each_failing_allocation_is_reported),
        cmocka_unit_test(test_scoring_allocates_nothing_after_init),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
