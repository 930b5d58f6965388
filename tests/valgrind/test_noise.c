/* test_noise.c -- embeddings, weights and the noise on them: how they are encoded tells nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/valgrind/secrets.h"

#include "common/config/plan.h"
#include "common/gauss/gauss_kernel.h"
#include "common/nn/dpsum.h"
#include "common/nn/sound.h"
#include "common/pbm/pbm_kernel.h"
#include "common/secagg/encode.h"
#include "common/secagg/fedvs_terms.h"

#include <string.h>

enum { N = 333, TRIALS = 70 };

static float x[N];
static uint32_t q[N];
static struct rng noise;

static int hide_all(void **state)
{
    uint8_t key[RNG_KEY_BYTES];

    memset(key, 5, sizeof key);
    hide(key, sizeof key);
    for (size_t i = 0; i < N; i++)
        x[i] = 0.01F * (float)i - 1.5F; /* some beyond the clip */
    hide(x, sizeof x);
    show(q, sizeof q);
    if (rng_init_key(&noise, key) != STATUS_OK)
        return -1;
    return watched(state);
}

static int forget(void **state)
{
    (void)state;
    rng_deinit(&noise);
    return 0;
}

static void test_every_kernel_of_the_sampler_is_branch_free(void **state)
{
    unsigned ran = 0;
    struct pbm p;

    (void)state;
    assert_int_equal(pbm_init(&p, TRIALS, 0.2, 1.0), STATUS_OK);
    for (size_t k = 0; k < pbm_kernels_n; k++) {
        const struct pbm_kernel *kernel = &pbm_kernels[k];

        if (!kernel->runs_here() || strcmp(kernel->name, "naive") == 0)
            continue;
        show(q, sizeof q);
        BRANCH_FREE(pbm_sample_by(kernel, &p, q, x, N, &noise));
        assert_true(is_secret(q, sizeof q));
        print_message("%s\n", kernel->name);
        ran++;
    }
    assert_true(ran >= 1);
}

/* The sampler as one would write it first: a draw at a time, and a branch on each. */
__attribute__((noinline)) static uint32_t draw_and_branch(uint32_t t, uint32_t trials,
                                                          struct rng *r)
{
    volatile uint32_t count = 0;

    for (uint32_t k = 0; k < trials; k++)
        if ((rng_u64(r) & 0xffff) < t)
            count++;
    return count;
}

static void test_a_branching_sampler_is_seen(void **state)
{
    (void)state;
    BRANCHES((void)draw_and_branch(30000, TRIALS, &noise));
}

static void test_every_kernel_of_the_discrete_gaussian_is_branch_free(void **state)
{
    static const double sigmas[] = {4, 16, 1000, GAUSS_SIGMA_MAX};
    int32_t z[N];
    unsigned ran = 0;

    (void)state;
    for (size_t s = 0; s < sizeof sigmas / sizeof *sigmas; s++) {
        struct gauss g;

        assert_int_equal(gauss_init(&g, sigmas[s]), STATUS_OK);
        for (size_t k = 0; k < gauss_kernels_n; k++) {
            const struct gauss_kernel *kernel = &gauss_kernels[k];

            if (!kernel->runs_here() || strcmp(kernel->name, "naive") == 0)
                continue;
            show(z, sizeof z);
            BRANCH_FREE(gauss_sample_by(kernel, &g, z, N, &noise));
            assert_true(is_secret(z, sizeof z));
            print_message("%s, sigma %g\n", kernel->name, sigmas[s]);
            ran++;
        }
        gauss_deinit(&g);
    }
    assert_true(ran >= 4);
}

/* The twin looks for a word's place entry by entry. */
static void test_a_search_of_the_table_is_seen(void **state)
{
    int32_t z[GAUSS_BLOCK];
    struct gauss g;

    (void)state;
    assert_int_equal(gauss_init(&g, 16), STATUS_OK);
    BRANCHES(gauss_sample_by(&gauss_kernels[gauss_kernels_n - 1], &g, z, GAUSS_BLOCK, &noise));
    gauss_deinit(&g);
}

/* A layer of one input and N - 1 weights behind it, and a bias: what is released of its sums. */
static void test_a_sum_is_rounded_to_its_grid_branch_free(void **state)
{
    static double sum[N];
    static float gradients[N];
    static int32_t draws[N];
    struct nn_net net = {.spec = {.layers = 1, .width = {1, N / 2}, .out_scale = 1}};
    struct dpsum s = {.params = N / 2 * 2, .sum = sum};

    (void)state;
    net.layer[0] =
        (struct nn_layer){.in = 1, .out = N / 2, .params = s.params, .b = x, .dw = gradients};
    for (size_t i = 0; i < N; i++)
        sum[i] = 0.01 * (double)i;
    hide(sum, sizeof sum);
    hide(draws, sizeof draws);
    BRANCH_FREE(dpsum_release(&s, &net, draws, 0.125));
    assert_true(is_secret(gradients, sizeof gradients));
}

/* Which rows of a batch are not finite. */
static void test_rows_that_are_not_finite_are_taken_out_branch_free(void **state)
{
    enum { COLS = 9, ROWS = N / COLS };
    float rows[ROWS * COLS];
    uint32_t sound[ROWS], lost;

    (void)state;
    memcpy(rows, x, sizeof rows);
    sound_begin(sound, ROWS);
    BRANCH_FREE(sound_look(sound, rows, ROWS, COLS));
    assert_true(is_secret(sound, sizeof sound));
    BRANCH_FREE(sound_keep(rows, sound, ROWS, COLS));
    BRANCH_FREE(lost = sound_lost(sound, ROWS));
    assert_true(is_secret(&lost, sizeof lost));
}

static void test_fixed_point_codes_are_branch_free(void **state)
{
    struct encode e;
    struct plan p;
    float y[N];

    (void)state;
    plan_defaults(&p);
    p.protocol.encoding = ENCODING_FIXED;
    p.protocol.fixed.bits = 12;
    assert_int_equal(encode_init(&e, &p, 3), STATUS_OK);
    BRANCH_FREE(encode_integers(&e, q, x, N, NULL));
    assert_true(is_secret(q, sizeof q));
    BRANCH_FREE(encode_clip(&e, y, x, N));
    assert_true(is_secret(y, sizeof y));
}

/* Of one draw from a table, and of two. */
static void test_gaussian_codes_and_their_residues_are_branch_free(void **state)
{
    static const double sigmas[] = {0.5, 100};
    static struct encode e;
    uint16_t mod[N];
    struct plan p;

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        plan_defaults(&p);
        p.protocol.encoding = ENCODING_GAUSSIAN;
        p.protocol.gaussian.match = GAUSSIAN_SIGMA;
        p.protocol.gaussian.sigma = sigmas[k];
        assert_int_equal(encode_init(&e, &p, 3), STATUS_OK);
        show(q, sizeof q);
        BRANCH_FREE(encode_integers(&e, q, x, N, &noise));
        assert_true(is_secret(q, sizeof q));
        show(mod, sizeof mod);
        BRANCH_FREE(encode_mod(mod, q, N, 65521));
        assert_true(is_secret(mod, sizeof mod));
    }
}

/* The residue as one would write it first. */
__attribute__((noinline)) static int32_t residue_and_branch(float v)
{
    volatile int32_t rest = (int32_t)v;

    if (rest < 0)
        rest = rest + 65521;
    return rest;
}

static void test_a_branching_residue_is_seen(void **state)
{
    (void)state;
    BRANCHES((void)residue_and_branch(x[0]));
}

__attribute__((noinline)) static float clip_and_branch(float v, float most)
{
    volatile float y = v;

    if (v > most)
        y = most;
    return y;
}

static void test_a_branching_clip_is_seen(void **state)
{
    (void)state;
    BRANCHES((void)clip_and_branch(x[N - 1], 1));
}

static void test_data_and_weights_of_fedvs_become_integers_branch_free(void **state)
{
    struct fedvs_terms t = {.x_bits = 8, .w_bits = 10, .x_max = 1, .w_max = 1};
    uint64_t clipped = 0;
    int64_t out[N];

    (void)state;
    for (uint32_t power = 1; power <= 3; power++) {
        show(out, sizeof out);
        BRANCH_FREE(fedvs_quantise_x(&t, out, x, N, power));
        assert_true(is_secret(out, sizeof out));
    }
    show(out, sizeof out);
    BRANCH_FREE(fedvs_quantise_w(&t, out, x, N, &noise, &clipped));
    assert_true(is_secret(out, sizeof out));
    show(&clipped, sizeof clipped);
    assert_true(clipped > 0);
}

int main(void)
{
#define TEST(law) cmocka_unit_test_setup_teardown(law, hide_all, forget)
    static const struct CMUnitTest tests[] = {
        TEST(test_every_kernel_of_the_sampler_is_branch_free),
        TEST(test_a_branching_sampler_is_seen),
        TEST(test_every_kernel_of_the_discrete_gaussian_is_branch_free),
        TEST(test_a_search_of_the_table_is_seen),
        TEST(test_a_sum_is_rounded_to_its_grid_branch_free),
        TEST(test_rows_that_are_not_finite_are_taken_out_branch_free),
        TEST(test_fixed_point_codes_are_branch_free),
        TEST(test_gaussian_codes_and_their_residues_are_branch_free),
        TEST(test_a_branching_residue_is_seen),
        TEST(test_a_branching_clip_is_seen),
        TEST(test_data_and_weights_of_fedvs_become_integers_branch_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
