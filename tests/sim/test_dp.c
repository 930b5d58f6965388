/* test_dp.c -- a local step of model.train dp: how long a gradient may be, how much noise it gets.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/dp.h"
#include "party/policy.h"

#include "common/base/check.h"
#include "common/config/plan.h"
#include "common/privacy/account.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { BATCH = 20, INPUTS = 40, OUTPUTS = 50, PARAMS = (INPUTS + 1) * OUTPUTS };

static struct config_party config;
static struct party_dp dp;
static struct arena arena;
static struct nn_net net;
static float x[BATCH * INPUTS], dy[BATCH * OUTPUTS];

static void start(double clip, double noise)
{
    struct nn_spec spec = {.layers = 1, .out_scale = 1, .rows_max = BATCH};

    spec.width[0] = INPUTS;
    spec.width[1] = OUTPUTS;
    config_party_defaults(&config);
    config.train = TRAIN_DP;
    config.clip = clip;
    config.noise = noise;
    CHECK(party_dp_init(&dp, &config, &spec, BATCH) == STATUS_OK);
    CHECK(arena_init(&arena, nn_net_bytes(&spec)) == STATUS_OK);
    CHECK(nn_net_init(&net, &spec, &arena) == STATUS_OK);
    for (size_t i = 0; i < BATCH * INPUTS; i++)
        x[i] = (float)(i % 7) - 3;
    memset(dy, 0, sizeof dy);
}

static void end(void)
{
    party_dp_deinit(&dp);
    arena_deinit(&arena);
}

/* The gradients after one step's backward on so many rows: mean square, and norm. */
static double step(uint32_t rows, uint64_t place, double *norm)
{
    double sum = 0;

    nn_net_forward(&net, x, rows);
    party_dp_backward(&dp, &net, dy, place);
    for (size_t i = 0; i < PARAMS; i++)
        sum += (double)net.layer[0].dw[i] * (double)net.layer[0].dw[i];
    *norm = sqrt(sum);
    return sqrt(sum / PARAMS);
}

/* 2,050 draws: their standard deviation is within 8 of its own, 1 / sqrt(2 n), but once in 10^14.
 */
static void test_the_noise_is_sigma_times_the_clip_over_the_batch(void **state)
{
    static const double cases[][2] = {{1, 1}, {0.3, 10}, {2, 0.5}};
    static const uint32_t rows[] = {BATCH, 7, 1};
    const double slack = 8 / sqrt(2.0 * PARAMS);

    (void)state;
    for (size_t c = 0; c < 3; c++) {
        for (size_t r = 0; r < 3; r++) {
            const double want = cases[c][0] * cases[c][1] / rows[r];
            double norm, deviation;

            start(cases[c][0], cases[c][1]);
            deviation = step(rows[r], 0, &norm);
            assert_true(fabs(deviation / want - 1) < slack);
            end();
        }
    }
}

static void test_no_record_moves_the_mean_by_more_than_the_clip_over_the_batch(void **state)
{
    (void)state;
    for (uint32_t rows = 1; rows <= BATCH; rows += 6) {
        double norm;

        start(0.25, 1e-6);
        for (size_t i = 0; i < OUTPUTS; i++)
            dy[i] = 1e3F; /* one record's */
        (void)step(rows, 0, &norm);
        assert_true(norm <= 0.25 / rows * (1 + 1e-3));
        assert_true(norm >= 0.25 / rows * (1 - 1e-4));
        end();
    }
}

static void test_each_step_draws_anew_and_a_seed_says_what(void **state)
{
    static float one[PARAMS], other[PARAMS];
    double norm;

    (void)state;
    for (int seeded = 0; seeded < 2; seeded++) {
        start(1, 1);
        if (seeded)
            party_dp_seed(&dp, 7, 1);
        (void)step(BATCH, 3, &norm);
        memcpy(one, net.layer[0].dw, sizeof one);
        (void)step(BATCH, 3, &norm);
        memcpy(other, net.layer[0].dw, sizeof other);
        assert_true((memcmp(one, other, sizeof one) == 0) == (seeded == 1));
        (void)step(BATCH, 4, &norm);
        assert_memory_not_equal(other, net.layer[0].dw, sizeof other);
        end();
    }
}

/* Whatever the records: two batches that differ in all they have reach the same values, the whole
 * steps of one grid (Mironov 2012 tells sums apart by which floats they can be). */
static void test_the_support_does_not_depend_on_the_input(void **state)
{
    (void)state;
    for (int turn = 0; turn < 3; turn++) {
        double norm, width;

        start(1, 1);
        for (size_t i = 0; i < BATCH * OUTPUTS && turn > 0; i++)
            dy[i] = (float)(turn == 1 ? 1e-3 : -0.3) * (float)(i % 11) / 7.0F;
        (void)step(BATCH, 0, &norm);
        width = 1.0 / BATCH / dpsum_ratio(1, PARAMS);
        for (size_t i = 0; i < PARAMS; i++) {
            const float g = net.layer[0].dw[i];

            assert_true(g == (float)(width * rint(g / width)));
        }
        end();
    }
}

/* What dpsum.h states is what the accountant adds to two clips. */
static void test_rounding_is_within_what_a_step_is_charged(void **state)
{
    const double rows = PLAN_WIDTH_MAX, sum = 2 * (rows + 2) * 0x1p-53 * rows;

    (void)state;
    assert_true(1.0 / 1024 + 1.01 * sum + 1e-6 <= ACCOUNT_STEP_SLACK);
}

static void test_noise_without_a_grid_is_refused(void **state)
{
    static const double cases[][2] = {{1, 1e-7}, {1, 800}, {1e-29, 1e-3}, {1, 1e6}};
    const struct nn_spec spec = {
        .layers = 1, .width = {INPUTS, OUTPUTS}, .out_scale = 1, .rows_max = BATCH};

    (void)state;
    config_party_defaults(&config);
    config.train = TRAIN_DP;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        config.clip = cases[i][0];
        config.noise = cases[i][1];
        assert_false(party_dp_possible(&config, PARAMS));
        assert_int_equal(party_dp_init(&dp, &config, &spec, BATCH), STATUS_CONFIG);
        party_dp_deinit(&dp);
    }
    config.train = TRAIN_RAW;
    assert_true(party_dp_possible(&config, PARAMS));
}

/* --- what a claim may rest on --- */

static void test_a_bottom_counts_as_what_it_and_its_scale_were_made_of(void **state)
{
    static const struct {
        enum config_train train;
        const char *scale, *load;
        enum account_bottom spent, want;
    } cases[] = {
        {TRAIN_RAW, "none", "", ACCOUNT_FROZEN, ACCOUNT_RAW},
        {TRAIN_FROZEN, "none", "", ACCOUNT_RAW, ACCOUNT_FROZEN},
        {TRAIN_FROZEN, "fit", "", ACCOUNT_FROZEN, ACCOUNT_RAW},
        /* A file of which nobody says that it was made without these records. */
        {TRAIN_FROZEN, "/scale.csv", "", ACCOUNT_FROZEN, ACCOUNT_RAW},
        {TRAIN_DP, "/scale.csv", "", ACCOUNT_FROZEN, ACCOUNT_RAW},
        {TRAIN_FROZEN, "given /scale.csv", "", ACCOUNT_FROZEN, ACCOUNT_FROZEN},
        {TRAIN_DP, "given /scale.csv", "", ACCOUNT_FROZEN, ACCOUNT_DP},
        {TRAIN_RAW, "given /scale.csv", "", ACCOUNT_FROZEN, ACCOUNT_RAW},
        {TRAIN_FROZEN, "given fit", "", ACCOUNT_FROZEN, ACCOUNT_RAW},
        {TRAIN_FROZEN, "given none", "", ACCOUNT_FROZEN, ACCOUNT_FROZEN},
        {TRAIN_DP, "none", "", ACCOUNT_RAW, ACCOUNT_DP},
        {TRAIN_DP, "fit", "", ACCOUNT_DP, ACCOUNT_RAW},
        /* Weights from a file, of which nobody knows more than the ledger. */
        {TRAIN_FROZEN, "none", "/w", ACCOUNT_RAW, ACCOUNT_RAW},
        {TRAIN_FROZEN, "none", "/w", ACCOUNT_DP, ACCOUNT_FROZEN},
        {TRAIN_DP, "none", "/w", ACCOUNT_RAW, ACCOUNT_RAW},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct account_entry spent[2] = {{.bottom = ACCOUNT_DP}, {.bottom = cases[i].spent}};
        struct policy_bottom got;

        config_party_defaults(&config);
        config.train = cases[i].train;
        config.noise = 3;
        config.scale_given = strncmp(cases[i].scale, "given ", 6) == 0;
        strcpy(config.scale, cases[i].scale + (config.scale_given ? 6 : 0));
        strcpy(config.load, cases[i].load);
        got = policy_bottom_of(&config, spent, 2);
        assert_int_equal(got.kind, cases[i].want);
        assert_int_equal(policy_raw_because(&config, spent, 2) != NULL, got.kind == ACCOUNT_RAW);
        assert_true(got.noise == (got.kind == ACCOUNT_DP ? 3 : 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_noise_is_sigma_times_the_clip_over_the_batch),
        cmocka_unit_test(test_no_record_moves_the_mean_by_more_than_the_clip_over_the_batch),
        cmocka_unit_test(test_each_step_draws_anew_and_a_seed_says_what),
        cmocka_unit_test(test_the_support_does_not_depend_on_the_input),
        cmocka_unit_test(test_rounding_is_within_what_a_step_is_charged),
        cmocka_unit_test(test_noise_without_a_grid_is_refused),
        cmocka_unit_test(test_a_bottom_counts_as_what_it_and_its_scale_were_made_of),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
