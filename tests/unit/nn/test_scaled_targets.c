/* test_scaled_targets.c -- training.scale_targets: the same model in other units.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/head.h"

#include <math.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROWS = 4, WIDTH = 2 };

struct fixture {
    struct arena arena;
    struct nn_head h;
};

static void fixture_init(struct fixture *f, bool scaled)
{
    struct plan p;

    plan_defaults(&p);
    p.model.embedding = WIDTH;
    p.model.task = TASK_REGRESSION;
    p.training.scale_targets = scaled;
    p.shape.parties = 2;
    p.shape.outputs = 1;
    *f = (struct fixture){0};
    assert_int_equal(arena_init(&f->arena, nn_head_bytes(&p, ROWS)), STATUS_OK);
    assert_int_equal(nn_head_init(&f->h, &p, ROWS, &f->arena, NULL), STATUS_OK);
    nn_head_set(&f->h, (float[]){0.5F, -1, 0.25F});
}

static const float fused[ROWS * WIDTH] = {1, 2, -1, 0.5F, 3, -2, 0, 1};
static const float target[ROWS] = {1000, 1400, 600, 1000}; /* mean 1000, deviation 200 sqrt(2) */

static void test_targets_have_mean_0_and_deviation_1_inside(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, true);
    nn_head_scale(&f.h, target, ROWS);
    assert_true(fabsf(f.h.center - 1000) < 1e-3F && fabsf(f.h.spread - 282.8427F) < 1e-3F);
    (void)nn_head_forward(&f.h, fused, target, ROWS, true);
    assert_true(fabsf(f.h.scaled[0]) < 1e-6F && fabsf(f.h.scaled[1] - 1.4142136F) < 1e-6F);
    arena_deinit(&f.arena);
}

/* Loss and predictions are in the label's own unit; the slope is that of the scaled one. */
static void test_scores_are_in_the_labels_own_unit(void **state)
{
    struct fixture f;
    float value[ROWS], z[ROWS];
    double loss, want = 0, alone = 0;

    (void)state;
    fixture_init(&f, true);
    nn_head_scale(&f.h, target, ROWS);
    loss = nn_head_forward(&f.h, fused, target, ROWS, true);
    nn_head_predict(&f.h, value, ROWS);
    memcpy(z, f.h.logits, sizeof z);
    for (uint32_t r = 0; r < ROWS; r++) {
        const double off = (double)value[r] - (double)target[r];

        assert_true(fabsf(value[r] - (z[r] * f.h.spread + f.h.center)) < 1e-3F);
        assert_true(fabsf(f.h.dlogits[r] - (z[r] - f.h.scaled[r]) / ROWS) < 1e-6F);
        want += 0.5 * off * off / ROWS;
        alone += nn_head_row_loss(&f.h, r, &target[r]) / ROWS;
    }
    assert_true(fabs(loss - want) < 1e-5 * want);
    assert_true(fabs(alone - want) < 1e-5 * want);
    arena_deinit(&f.arena);
}

/* The negative twin: without the key nothing is scaled, whatever the labels are. */
static void test_without_the_key_targets_stay_as_they_are(void **state)
{
    struct fixture f;
    float value[ROWS];

    (void)state;
    fixture_init(&f, false);
    nn_head_scale(&f.h, target, ROWS);
    assert_true(f.h.center == 0 && f.h.spread == 1 && f.h.scaled == NULL);
    (void)nn_head_forward(&f.h, fused, target, ROWS, true);
    nn_head_predict(&f.h, value, ROWS);
    assert_memory_equal(value, f.h.logits, sizeof value);
    arena_deinit(&f.arena);
}

static void test_labels_that_are_all_the_same_have_no_deviation(void **state)
{
    static const float same[ROWS] = {7, 7, 7, 7};
    struct fixture f;

    (void)state;
    fixture_init(&f, true);
    nn_head_scale(&f.h, same, ROWS);
    assert_true(f.h.center == 7 && f.h.spread == 1);
    arena_deinit(&f.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets_have_mean_0_and_deviation_1_inside),
        cmocka_unit_test(test_scores_are_in_the_labels_own_unit),
        cmocka_unit_test(test_without_the_key_targets_stay_as_they_are),
        cmocka_unit_test(test_labels_that_are_all_the_same_have_no_deviation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
