/* test_program.c -- a bottom that a program computes: it is a layer of a net; what it answers is
 * checked before anything is taken; and when it fails, zeros.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/program/program.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/daemon/package.h"
#include "common/flow/agenda.h"
#include "common/nn/state.h"
#include "common/nn/safetensors.h"
#include "party/train/bottom.h"
#include "tests/unit/program/speaker.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* A machine may be busy: who answers has time, who hangs is not waited for long. */
enum { ROWS = 4, COLS = 3, WIDTH = 2, TIMEOUT_MS = 20000, HANGS_MS = 200, WORK_MS = 1000 };

static const float rows[ROWS * COLS] = {1, -1, 0.5F, 2, 0, 1, -0.5F, 1, 1, 0, 0.25F, -2};
static const uint32_t batch[ROWS] = {0, 1, 2, 3};

static struct config_party config;
static struct plan plan;
static struct speaker speaker;
static struct program *program;
static struct party_bottom bottom;
static struct error err;

static int set_up(void **state)
{
    (void)state;
    config_party_defaults(&config);
    config.layers = (struct config_layers){0};
    config.program.command.n = 1;
    plan_defaults(&plan);
    plan.model.embedding = WIDTH;
    plan.training.batch = ROWS;
    plan.protocol.aggregation = AGGREGATION_CLEAR;
    plan.protocol.clip = 2;
    plan.shape.parties = 1;
    plan.shape.train_rows = ROWS;
    speaker = (struct speaker){.deed = SPEAKER_WELL};
    err = (struct error){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    party_bottom_deinit(&bottom);
    program_free(program);
    program = NULL;
    return 0;
}

static void make(enum speaker_deed deed, enum speech_kind at, uint32_t nth)
{
    const struct program_starter starter = speaker_starter(&speaker);

    speaker = (struct speaker){.deed = deed, .at = at, .nth = nth};
    assert_int_equal(program_new_with(&program, PROGRAM_BOTTOM, &starter,
                                      deed == SPEAKER_HANGS ? HANGS_MS : TIMEOUT_MS, &err),
                     STATUS_OK);
}

static enum status begin(void)
{
    const struct program_shape shape = {
        .inputs = COLS, .outputs = WIDTH, .rows_max = ROWS, .seed = 1, .plan = &plan};

    return program_begin(program, &shape, &err);
}

static void start(void)
{
    static const uint8_t key[RNG_KEY_BYTES] = {7};
    struct rng init = {0};

    assert_int_equal(begin(), STATUS_OK);
    CHECK(rng_init_key(&init, key) == STATUS_OK);
    bottom.outside.program = program;
    assert_int_equal(party_bottom_init(&bottom, &config, &plan, COLS, NULL, &init), STATUS_OK);
    rng_deinit(&init);
}

static const float *embed(void)
{
    static float x[ROWS * COLS];
    const struct table t = {.rows = ROWS, .cols = COLS, .x = x};

    memcpy(x, rows, sizeof x);
    return party_bottom_train(&bottom, &t, batch, ROWS, 0);
}

static void take_step(void)
{
    for (size_t i = 0; i < (size_t)ROWS * WIDTH; i++)
        bottom.back.gradient[i] = 0.01F * (float)(i + 1);
    (void)party_bottom_apply(&bottom, &plan, 0, 0);
}

static bool all_zeros(const float *h)
{
    for (size_t i = 0; i < (size_t)ROWS * WIDTH; i++)
        if (h[i] != 0)
            return false;
    return true;
}

/* --- a layer --- */

/* Its embeddings are C tanh of what it gives, with the gradient for that; nothing of the trial is
 * left in it. */
static void test_a_program_is_the_layer_before_tanh(void **state)
{
    float w[COLS * WIDTH];
    const float *h;

    (void)state;
    make(SPEAKER_WELL, SPEECH_HELLO, 0);
    start();
    for (size_t i = 0; i < COLS * WIDTH; i++)
        w[i] = 0.25F * (float)((i * 7 + 1) % 5) - 0.5F;
    for (int s = 0; s < 2; s++) {
        h = embed();
        for (size_t r = 0; r < ROWS; r++)
            for (size_t o = 0; o < WIDTH; o++) {
                double sum = 0;

                for (size_t i = 0; i < COLS; i++)
                    sum += (double)(rows[r * COLS + i] * w[i * WIDTH + o]);
                assert_true(fabs((double)h[r * WIDTH + o] - 2 * tanh(sum)) < 1e-5);
            }
        for (size_t r = 0; r < ROWS; r++)
            for (size_t o = 0; o < WIDTH; o++) {
                const double y = (double)h[r * WIDTH + o] / 2,
                             d = 0.01 * (double)(r * WIDTH + o + 1) * 2 * (1 - y * y);

                for (size_t i = 0; i < COLS; i++)
                    w[i * WIDTH + o] -=
                        (float)((double)agenda_rate(&plan, 0, 0) * d * (double)rows[r * COLS + i]);
            }
        take_step();
    }
    assert_null(program_failed(program));
    assert_int_equal(speaker.started, 1);
}

/* State to bytes, some steps, and back; into another process, too. */
static void test_what_it_saves_brings_it_back(void **state)
{
    struct buf saved;
    float before[ROWS * WIDTH];

    (void)state;
    buf_init(&saved, SIZE_MAX);
    make(SPEAKER_WELL, SPEECH_HELLO, 0);
    start();
    embed();
    take_step();
    assert_int_equal(nn_state_print(&bottom.net, &saved), STATUS_OK);
    memcpy(before, embed(), sizeof before);
    take_step();
    assert_memory_not_equal(embed(), before, sizeof before);
    assert_int_equal(nn_state_parse(&bottom.net, saved.data, saved.len), STATUS_OK);
    assert_memory_equal(embed(), before, sizeof before);
    party_bottom_deinit(&bottom);
    start();
    assert_int_equal(speaker.started, 2);
    assert_memory_not_equal(embed(), before, sizeof before);
    assert_int_equal(nn_state_parse(&bottom.net, saved.data, saved.len), STATUS_OK);
    assert_memory_equal(embed(), before, sizeof before);
    assert_null(program_failed(program));
    buf_deinit(&saved);
}

/* model.load: a file that only the program understands; not one that is larger than its states. */
static void test_a_file_of_first_weights_is_the_programs(void **state)
{
    static uint8_t file[4 * COLS * WIDTH + 4];

    (void)state;
    make(SPEAKER_WELL, SPEECH_HELLO, 0);
    start();
    assert_int_equal(party_bottom_load(&bottom, file, 4 * COLS * WIDTH, &err), STATUS_OK);
    assert_true(all_zeros(embed()));
    assert_null(program_failed(program));
    assert_int_equal(party_bottom_load(&bottom, file, sizeof file, &err), STATUS_IO);
    assert_string_equal(err.text, "model.load: not the weights of this bottom");
}

static void of_an_earlier_run(struct package *p)
{
    package_init(p);
    p->role = PACKAGE_BOTTOM;
    p->plan = plan;
    p->plan.training.seed_given = p->plan.training.weight_decay_given = true;
    p->plan.privacy.delta_given = true;
    p->plan.shape.parties = 2;
    p->plan.shape.outputs = 2;
    p->cols = COLS;
    snprintf(p->run, sizeof p->run, "abc-1");
}

/* With what is no record it may fail so that others see it; with what records have made, a package
 * of an earlier run, it must not: then there are zeros. */
static void test_a_file_that_a_program_cannot_load_ends_the_job_and_a_package_does_not(void **state)
{
    struct package p;
    struct buf kept;

    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        /* The first load is the trial's. */
        make(SPEAKER_CANNOT, lost ? SPEECH_STEP : SPEECH_LOAD, 2);
        start();
        buf_init(&kept, SIZE_MAX);
        of_an_earlier_run(&p);
        if (lost) {
            embed();
            take_step();
            assert_non_null(program_failed(program));
        }
        assert_int_equal(package_print(&p, &bottom.net, &kept, &err), STATUS_OK);
        package_deinit(&p);
        if (lost) {
            party_bottom_deinit(&bottom);
            speaker.deed = SPEAKER_WELL;
            start();
        }
        assert_int_equal(party_bottom_load(&bottom, kept.data, kept.len, &err), STATUS_OK);
        assert_non_null(program_failed(program));
        assert_true(all_zeros(embed()));
        buf_deinit(&kept);
        tear_down(NULL);
    }
    make(SPEAKER_CANNOT, SPEECH_LOAD, 2);
    start();
    assert_int_equal(
        party_bottom_load(&bottom, (const uint8_t[4 * COLS * WIDTH]){0}, 4 * COLS * WIDTH, &err),
        STATUS_IO);
}

/* --- before anything is said --- */

/* Which is why nothing that it does with zeros may be left for later: each deed at each question of
 * the trial is refused there, and names the question. */
static void test_what_is_wrong_with_its_answers_is_seen_before_a_job_begins(void **state)
{
    (void)state;
    for (int deed = SPEAKER_CRASHES; deed < SPEAKER_DEEDS; deed++)
        for (int at = SPEECH_HELLO; at < SPEECH_END; at++) {
            if (deed == SPEAKER_HANGS && at == SPEECH_HELLO) /* minutes, for it may take its time */
                continue;
            if (!speaker_can((enum speaker_deed)deed, (enum speech_kind)at))
                continue;
            make((enum speaker_deed)deed, (enum speech_kind)at, 1);
            assert_int_equal(begin(), STATUS_IO);
            assert_non_null(strstr(err.text, "model.program: it "));
            assert_int_equal(speaker.pid, 0);
            assert_non_null(program_failed(program));
            program_free(program);
            program = NULL;
        }
}

/* --- later --- */

static void expect_zeros(void)
{
    struct buf saved;

    assert_true(all_zeros(embed()));
    take_step();
    assert_true(all_zeros(embed()));
    assert_non_null(program_failed(program));
    assert_int_equal(speaker.pid, 0);
    /* And whoever goes on from what is kept of it. */
    buf_init(&saved, SIZE_MAX);
    assert_int_equal(nn_state_print(&bottom.net, &saved), STATUS_OK);
    party_bottom_deinit(&bottom);
    speaker.deed = SPEAKER_WELL;
    start();
    assert_null(program_failed(program));
    assert_false(all_zeros(embed()));
    assert_int_equal(nn_state_parse(&bottom.net, saved.data, saved.len), STATUS_OK);
    assert_true(all_zeros(embed()));
    assert_non_null(program_failed(program));
    buf_deinit(&saved);
}

static void test_a_program_that_fails_later_gives_zeros_to_the_end(void **state)
{
    /* Which of its questions the first one after the trial is. */
    static const struct {
        enum speech_kind at;
        uint32_t nth;
    } later[] = {{SPEECH_FORWARD, 2}, {SPEECH_STEP, 2}, {SPEECH_SAVE, 3}};

    (void)state;
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        for (int deed = SPEAKER_CRASHES; deed < SPEAKER_DEEDS; deed++) {
            struct buf saved;

            if (!speaker_can((enum speaker_deed)deed, later[i].at))
                continue;
            make((enum speaker_deed)deed, later[i].at, later[i].nth);
            start();
            assert_null(program_failed(program));
            assert_int_equal(all_zeros(embed()), later[i].at == SPEECH_FORWARD);
            take_step();
            buf_init(&saved, SIZE_MAX);
            assert_int_equal(nn_state_print(&bottom.net, &saved), STATUS_OK);
            buf_deinit(&saved);
            expect_zeros();
            tear_down(NULL);
        }
}

/* --- time --- */

/* A round with Q local steps, after the trial's questions, whose time is not counted. */
static void play(uint64_t each_ms, uint32_t local_iterations)
{
    plan.protocol.local_iterations = local_iterations;
    speaker.slow_us = each_ms * 1000;
    for (int round = 0; round < 3; round++) {
        program_round(program);
        take_step();
        embed();
    }
}

static void test_a_piece_of_work_has_one_limit_of_time_however_many_questions_it_takes(void **state)
{
    static const struct {
        uint32_t patience_ms, deadline_ms;
        enum plan_straggler straggler;
    } limits[] = {{2 * WORK_MS, 100, STRAGGLER_WAIT},
                  {60000, 2 * WORK_MS, STRAGGLER_DROP},
                  {2 * WORK_MS, 60000, STRAGGLER_DROP},
                  {60000, 2 * WORK_MS, STRAGGLER_ASYNC}};

    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (int slow = 0; slow < 2; slow++) {
            plan.protocol.patience_ms = limits[i].patience_ms;
            plan.protocol.deadline_ms = limits[i].deadline_ms;
            plan.protocol.straggler = limits[i].straggler;
            make(SPEAKER_WELL, SPEECH_HELLO, 0);
            start();
            embed();
            /* Of five local steps there are nine questions, and one more. */
            play(WORK_MS / 10 + (slow ? 1 : 0), 5);
            assert_int_equal(program_failed(program) != NULL, slow);
            program_round(program);
            assert_int_equal(all_zeros(embed()), slow);
            if (slow)
                assert_non_null(strstr(program_failed(program), "1000 ms in one piece of work"));
            assert_int_equal(speaker.pid == 0, slow);
            tear_down(NULL);
        }
}

/* Its first process is slow, and what is caught up, shown and kept is one piece of work, too. */
static void test_steps_caught_up_evaluation_and_states_share_that_limit(void **state)
{
    static float x[ROWS * COLS];
    const struct table t = {.rows = ROWS, .cols = COLS, .x = x};

    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        struct buf saved;

        plan.protocol.patience_ms = 2 * WORK_MS;
        make(SPEAKER_WELL, SPEECH_HELLO, 0);
        speaker.slow_us = 1000 * WORK_MS; /* with zeros it may be */
        start();
        speaker.slow_us = 1000 * (WORK_MS / 6 + (slow ? 1 : 0));
        program_round(program);
        embed();
        take_step();
        embed();
        take_step();
        (void)party_bottom_evaluate(&bottom, &t, 0, ROWS);
        buf_init(&saved, SIZE_MAX);
        assert_int_equal(nn_state_print(&bottom.net, &saved), STATUS_OK);
        buf_deinit(&saved);
        assert_int_equal(program_failed(program) != NULL, slow);
        tear_down(NULL);
    }
}

/* A process that has waited for a job and died is another one's place. */
static void test_a_process_that_died_while_it_waited_is_started_once_more(void **state)
{
    (void)state;
    make(SPEAKER_WELL, SPEECH_HELLO, 0);
    assert_int_equal(program_start(program, &err), STATUS_OK);
    assert_int_equal(speaker.started, 1);
    assert_int_equal(kill(speaker.pid, SIGKILL), 0);
    start();
    assert_int_equal(speaker.started, 2);
    assert_null(program_failed(program));
    assert_false(all_zeros(embed()));
}

/* --- plans --- */

/* By one who is gone: that a bottom is a program is told to nobody. */
static void test_a_plan_that_pulls_weights_back_is_refused(void **state)
{
    (void)state;
    assert_int_equal(party_bottom_check(&config, &plan, COLS, NULL, &err), STATUS_OK);
    plan.protocol.proximal = 0.5;
    assert_int_equal(party_bottom_check(&config, &plan, COLS, NULL, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "protocol.proximal"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_program_is_the_layer_before_tanh),
        TEST(test_what_it_saves_brings_it_back),
        TEST(test_a_file_of_first_weights_is_the_programs),
        TEST(test_a_file_that_a_program_cannot_load_ends_the_job_and_a_package_does_not),
        TEST(test_what_is_wrong_with_its_answers_is_seen_before_a_job_begins),
        TEST(test_a_program_that_fails_later_gives_zeros_to_the_end),
        TEST(test_a_piece_of_work_has_one_limit_of_time_however_many_questions_it_takes),
        TEST(test_steps_caught_up_evaluation_and_states_share_that_limit),
        TEST(test_a_process_that_died_while_it_waited_is_started_once_more),
        TEST(test_a_plan_that_pulls_weights_back_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
