/* test_head_program.c -- a head that a program computes: its gradients, and what is wrong with its
 * answers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/program/program.h"

#include "common/base/arena.h"
#include "common/base/check.h"
#include "common/nn/head.h"
#include "tests/unit/program/speaker.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { ROWS = 3, WIDTH = 2, CLASSES = 3, TIMEOUT_MS = 5000, HANGS_MS = 200 };

static const float fused[ROWS * WIDTH] = {1, -1, 0.5F, 2, 0, 1};
static const float target[ROWS] = {0, 2, 1};

static struct plan plan;
static struct speaker speaker;
static struct program *program;
static struct arena arena;
static struct nn_head head;
static struct error err;

static int set_up(void **state)
{
    (void)state;
    plan_defaults(&plan);
    plan.model.embedding = WIDTH;
    plan.model.task = TASK_MULTICLASS;
    plan.shape.outputs = CLASSES;
    plan.shape.parties = 2;
    plan.training.batch = ROWS;
    plan.training.weight_decay = 0;
    err = (struct error){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_deinit(&arena);
    program_free(program);
    program = NULL;
    return 0;
}

static enum status make(enum speaker_deed deed, enum speech_kind at, uint32_t nth)
{
    const struct program_starter starter = speaker_starter(&speaker);
    const struct program_shape shape = {
        .inputs = WIDTH, .outputs = CLASSES, .rows_max = ROWS, .plan = &plan};
    struct nn_head_outside outside;
    enum status s;

    speaker = (struct speaker){.deed = deed, .at = at, .nth = nth};
    CHECK(program_new_with(&program, PROGRAM_HEAD, &starter,
                           deed == SPEAKER_HANGS ? HANGS_MS : TIMEOUT_MS, &err) == STATUS_OK);
    s = program_begin(program, &shape, &err);
    if (s != STATUS_OK)
        return s;
    outside = (struct nn_head_outside){program_outside(program), program_floats(program)};
    CHECK(arena_init(&arena, nn_head_bytes_outside(&plan, ROWS, &outside)) == STATUS_OK);
    CHECK(nn_head_init_outside(&head, &plan, ROWS, &arena, &outside, NULL) == STATUS_OK);
    return STATUS_OK;
}

static double loss_at(const float *x)
{
    return nn_head_forward(&head, x, target, ROWS, false);
}

static void test_parties_get_the_slopes_of_the_loss(void **state)
{
    static const float STEP = 1e-2F;
    float dx[ROWS * WIDTH], moved[ROWS * WIDTH];
    double before;

    (void)state;
    assert_int_equal(make(SPEAKER_WELL, SPEECH_HELLO, 0), STATUS_OK);
    before = nn_head_forward(&head, fused, target, ROWS, true);
    nn_head_backward(&head, dx);
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        double up, down;

        memcpy(moved, fused, sizeof moved);
        moved[i] = fused[i] + STEP;
        up = loss_at(moved);
        moved[i] = fused[i] - STEP;
        down = loss_at(moved);
        assert_true(fabs((up - down) / (2 * (double)STEP) - (double)dx[i]) < 1e-4);
    }
    (void)nn_head_forward(&head, fused, target, ROWS, true);
    nn_head_backward(&head, dx);
    nn_head_step(&head, 0.5F);
    assert_true(loss_at(fused) < before);
    assert_null(program_failed(program));
}

/* The first question of a kind is the trial's, with zeros. */
static void test_what_is_wrong_with_its_gradient_is_seen_before_a_job_begins(void **state)
{
    (void)state;
    for (int deed = SPEAKER_CRASHES; deed < SPEAKER_DEEDS; deed++) {
        if (!speaker_can((enum speaker_deed)deed, SPEECH_BACK))
            continue;
        assert_int_equal(make((enum speaker_deed)deed, SPEECH_BACK, 1), STATUS_IO);
        assert_non_null(strstr(err.text, "model.head_program: it "));
        tear_down(NULL);
    }
}

static void test_a_gradient_that_fails_later_is_zeros_and_so_are_outputs(void **state)
{
    (void)state;
    for (int deed = SPEAKER_CRASHES; deed < SPEAKER_DEEDS; deed++) {
        float dx[ROWS * WIDTH] = {1};
        struct error told = {0};

        if (!speaker_can((enum speaker_deed)deed, SPEECH_BACK))
            continue;
        assert_int_equal(make((enum speaker_deed)deed, SPEECH_BACK, 2), STATUS_OK);
        (void)nn_head_forward(&head, fused, target, ROWS, true);
        nn_head_backward(&head, dx);
        nn_head_step(&head, 0.5F);
        for (size_t i = 0; i < ROWS * WIDTH; i++)
            assert_true(!(fabsf(dx[i]) > 0));
        assert_true(fabs(loss_at(fused) - log(CLASSES)) < 1e-6);
        assert_int_equal(program_tell(program, &told), STATUS_IO);
        assert_non_null(strstr(told.text, "the head's outputs were zeros from then on"));
        tear_down(NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_parties_get_the_slopes_of_the_loss, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_what_is_wrong_with_its_gradient_is_seen_before_a_job_begins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_gradient_that_fails_later_is_zeros_and_so_are_outputs, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
