/* test_uniform.c -- a masked upload is uniform, whatever was uploaded; an unmasked one is not.
 *
 * For a fixed input, uploads of many generations are counted by coordinate and value; the statistic
 * of a coordinate is Pearson's chi-square against the uniform distribution on 2^w values, which has
 * mean 2^w - 1 and variance 2 (2^w - 1) when the law holds.  Keys are drawn from a keyed stream, so
 * the figures are the same in every run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/bits.h"
#include "tests/unit/secagg/generation.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum {
    PARTIES = 3,
    N = 6,
    GENERATIONS = 8000,
    WIDTH = 5,
    VALUES = 1 << WIDTH,
    ALL_MAX = 2 * N + 13
};

static const uint8_t SEED[32] = "uniform";

/* What stands in the way of the law. */
enum fault { NO_FAULT, SUM_OF_ALL, ONE_KEY_FOR_EVER, UPPER_HALF_LOST };

struct counts {
    size_t coordinates;
    uint32_t of[ALL_MAX][VALUES];
};

static void note(struct counts *c, struct generation *g, uint32_t m, enum fault fault)
{
    uint32_t sum[ALL_MAX] = {0}, v[ALL_MAX], checks = (64 + WIDTH - 1) / WIDTH;

    for (uint32_t j = 0; j < PARTIES; j++) {
        if (j != m && fault != SUM_OF_ALL)
            continue;
        bits_naive_unpack(v, g->payload[j], N, WIDTH);
        bits_naive_unpack(v + N, g->check[j], checks, WIDTH);
        for (size_t i = 0; i < N + checks; i++)
            sum[i] = (sum[i] + v[i]) % VALUES;
    }
    c->coordinates = N + checks;
    for (size_t i = 0; i < c->coordinates; i++)
        c->of[i][fault == UPPER_HALF_LOST ? sum[i] % (VALUES / 2) : sum[i]]++;
}

/* The largest distance of a coordinate's statistic from its mean, in standard deviations. */
static double worst(const struct counts *c)
{
    const double expected = (double)GENERATIONS / VALUES, freedom = VALUES - 1;
    double most = 0;

    for (size_t i = 0; i < c->coordinates; i++) {
        double chi = 0;

        for (size_t v = 0; v < VALUES; v++)
            chi += pow(c->of[i][v] - expected, 2) / expected;
        most = fmax(most, fabs(chi - freedom) / sqrt(2 * freedom));
    }
    return most;
}

/* Uploads of member m, all of whose values are x, in many generations (or with one key in all). */
static double statistic(uint32_t m, float x, enum fault fault)
{
    static struct counts counts;
    struct plan p = generation_plan(ENCODING_FIXED);
    struct secagg_shape shape;
    struct rng r;

    p.protocol.fixed.bits = 2; /* codes 0..3, w = ceil(log2(3 * 4)) + 1 */
    shape = generation_shape(&p, PARTIES, N);
    assert_int_equal(secagg_width(AGGREGATION_MASKED, &shape), WIDTH);
    memset(&counts, 0, sizeof counts);
    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    for (int k = 0; k < GENERATIONS; k++) {
        const float own[N] = {x, x, x, x, x, x}, others[N] = {0};
        struct generation g;
        struct secagg_round round;

        if (fault == ONE_KEY_FOR_EVER)
            rng_rekey(&r, SEED);
        generation_init(&g, AGGREGATION_MASKED, &shape, &r);
        round = generation_round(&g, 0);
        for (uint32_t j = 0; j < PARTIES; j++)
            assert_int_equal(generation_protect(&g, j, j == m ? own : others, N, &round, NULL),
                             STATUS_OK);
        note(&counts, &g, m, fault);
        generation_deinit(&g);
    }
    rng_deinit(&r);
    return worst(&counts);
}

static void test_masked_upload_is_uniform_in_every_coordinate_for_two_inputs(void **state)
{
    (void)state;
    for (uint32_t m = 0; m < PARTIES; m++) {
        assert_true(statistic(m, -1.0F, NO_FAULT) < 4.5);
        assert_true(statistic(m, 1.0F, NO_FAULT) < 4.5);
    }
}

static void test_the_statistic_sees_an_upload_without_its_mask(void **state)
{
    (void)state;
    /* The masks of all members cancel: what is left is the plain sum. */
    assert_true(statistic(1, -1.0F, SUM_OF_ALL) > 1000);
    assert_true(statistic(1, 1.0F, SUM_OF_ALL) > 1000);
}

static void test_the_statistic_sees_a_mask_used_again(void **state)
{
    (void)state;
    assert_true(statistic(1, -1.0F, ONE_KEY_FOR_EVER) > 1000);
}

static void test_the_statistic_sees_a_mask_that_lacks_a_bit(void **state)
{
    (void)state;
    assert_true(statistic(1, -1.0F, UPPER_HALF_LOST) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masked_upload_is_uniform_in_every_coordinate_for_two_inputs),
        cmocka_unit_test(test_the_statistic_sees_an_upload_without_its_mask),
        cmocka_unit_test(test_the_statistic_sees_a_mask_used_again),
        cmocka_unit_test(test_the_statistic_sees_a_mask_that_lacks_a_bit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
