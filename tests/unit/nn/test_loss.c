/* test_loss.c -- losses, gradients and predictions against golden golden_vectors and finite
 * differences.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/loss.h"

#include "tests/unit/nn/golden.h"
#include "tests/unit/nn/sample.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { MOST = 64 };

struct golden {
    uint32_t rows, k;
    float logits[MOST], target[MOST];
    double dz[MOST], prob[MOST], loss;
};

static const struct {
    const char *name;
    enum nn_loss kind;
} KINDS[] = {
    {"softmax", NN_LOSS_SOFTMAX}, {"sigmoid", NN_LOSS_SIGMOID}, {"squared", NN_LOSS_SQUARED}};

static struct golden golden_of(size_t kind)
{
    const json_t *v = json_object_get(json_object_get(golden_vectors, "loss"), KINDS[kind].name);
    struct golden g;
    size_t n = sample_floats(g.logits, MOST, json_object_get(v, "logits"));

    g.rows = (uint32_t)sample_floats(g.target, MOST, json_object_get(v, "target"));
    assert_true(g.rows > 0);
    g.k = (uint32_t)n / g.rows;
    assert_int_equal(sample_doubles(g.dz, MOST, json_object_get(v, "dz")), n);
    assert_int_equal(sample_doubles(g.prob, MOST, json_object_get(v, "prob")), n);
    g.loss = json_number_value(json_object_get(v, "loss"));
    return g;
}

static void test_loss_and_gradient_are_the_golden_ones(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const struct golden g = golden_of(i);
        float dz[MOST];
        const double loss = nn_loss(KINDS[i].kind, dz, g.logits, g.target, g.rows, g.k);

        assert_true(sample_close(loss, g.loss, 1e-6, 0.0));
        assert_int_equal(sample_misses(dz, g.dz, (size_t)g.rows * g.k, 1e-6, 1e-8), 0);
    }
}

static void test_prediction_is_the_golden_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct golden g = golden_of(i);
        float prob[MOST];

        nn_predict(KINDS[i].kind, prob, g.logits, g.rows, g.k);
        assert_int_equal(sample_misses(prob, g.prob, (size_t)g.rows * g.k, 1e-6, 1e-12), 0);
        nn_predict(KINDS[i].kind, g.logits, g.logits, g.rows, g.k);
        assert_memory_equal(g.logits, prob, (size_t)g.rows * g.k * sizeof *prob);
    }
}

static void test_gradient_may_alias_logits_or_be_left_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct golden g = golden_of(i);
        float dz[MOST];
        const double loss = nn_loss(KINDS[i].kind, dz, g.logits, g.target, g.rows, g.k);

        assert_true(nn_loss(KINDS[i].kind, NULL, g.logits, g.target, g.rows, g.k) == loss);
        assert_true(nn_loss(KINDS[i].kind, g.logits, g.logits, g.target, g.rows, g.k) == loss);
        assert_memory_equal(g.logits, dz, (size_t)g.rows * g.k * sizeof *dz);
    }
}

/* The loss is computed in double from float logits, so a step of 2^-8 leaves enough digits. */
static void test_gradient_is_the_derivative_of_the_loss(void **state)
{
    enum { ROWS = 5 };
    const float h = 0.00390625F;
    uint64_t seed = 7;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const uint32_t k = KINDS[i].kind == NN_LOSS_SOFTMAX ? 3 : 1;
        const float target[ROWS] = {1.0F, 0.0F, 1.0F, 1.0F, 0.0F};
        float z[ROWS * 3], dz[ROWS * 3];

        sample_fill(z, (size_t)ROWS * k, 2.0F, &seed);
        nn_loss(KINDS[i].kind, dz, z, target, ROWS, k);
        for (size_t j = 0; j < (size_t)ROWS * k; j++) {
            const float kept = z[j];
            float step;
            double up, down;

            z[j] = kept + h;
            step = z[j];
            up = nn_loss(KINDS[i].kind, NULL, z, target, ROWS, k);
            z[j] = kept - h;
            step -= z[j];
            down = nn_loss(KINDS[i].kind, NULL, z, target, ROWS, k);
            z[j] = kept;
            assert_true(sample_close((double)dz[j], (up - down) / (double)step, 1e-4, 1e-5));
        }
    }
}

/* A class that counts twice is one whose rows stand there twice, but for the divisor. */
static void test_a_weight_is_so_many_rows(void **state)
{
    enum { ROWS = 4, K = 3 };
    const float weight[K] = {1.0F, 2.0F, 0.0F};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const uint32_t k = KINDS[i].kind == NN_LOSS_SOFTMAX ? K : 1;
        /* Class 1 twice; of softmax a row of class 2, which does not count, behind the others. */
        const float target[ROWS] = {1.0F, 0.0F, 1.0F, k == 1 ? 0.0F : 2.0F};
        const float twice[ROWS + 2] = {1.0F, 1.0F, 0.0F, 1.0F, 1.0F, 0.0F};
        const uint32_t rows = k == 1 ? ROWS : ROWS - 1;
        float z[ROWS * K], more[(ROWS + 2) * K], dz[ROWS * K], of_more[(ROWS + 2) * K];
        static const size_t from[ROWS + 2] = {0, 0, 1, 2, 2, 3};
        double loss, expected;
        uint64_t seed = 9;

        sample_fill(z, (size_t)ROWS * k, 2.0F, &seed);
        for (size_t r = 0; r < ROWS + 2; r++)
            memcpy(more + r * k, z + from[r] * k, k * sizeof *z);
        loss = ROWS * nn_loss_weighted(KINDS[i].kind, dz, z, target, ROWS, k, weight);
        expected = (rows + 2) * nn_loss(KINDS[i].kind, of_more, more, twice, rows + 2, k);
        assert_true(sample_close(loss, expected, 1e-12, 1e-12));
        for (size_t r = 0; r < rows + 2; r++)
            for (size_t j = 0; j < k; j++) {
                const double counted = target[from[r]] == 1.0F ? 2.0 : 1.0;

                assert_true(sample_close((double)dz[from[r] * k + j] * ROWS,
                                         counted * (double)of_more[r * k + j] * (double)(rows + 2),
                                         1e-5, 1e-6));
            }
        for (size_t j = 0; rows < ROWS && j < k; j++)
            assert_true(dz[(ROWS - 1) * k + j] == 0.0F);
        assert_true(nn_loss_weighted(KINDS[i].kind, dz, z, target, ROWS, k, NULL) ==
                    nn_loss(KINDS[i].kind, NULL, z, target, ROWS, k));
    }
}

/* Each label by itself is a sigmoid, and one that is not known adds nothing. */
static void test_several_labels_are_so_many_sigmoids(void **state)
{
    enum { ROWS = 4, K = 3 };
    const float target[ROWS * K] = {1.0F, 0.0F, NAN, 0.0F, 1.0F, 1.0F,
                                    NAN,  NAN,  NAN, 1.0F, 1.0F, 0.0F};
    const float weight[2 * K] = {1.0F, 2.0F, 0.5F, 1.5F, 3.0F, 0.0F};
    float z[ROWS * K], dz[ROWS * K], prob[ROWS * K];
    uint64_t seed = 10;

    (void)state;
    sample_fill(z, ROWS * K, 3.0F, &seed);
    nn_predict(NN_LOSS_SIGMOIDS, prob, z, ROWS, K);
    for (int weighted = 0; weighted < 2; weighted++) {
        const double loss =
            nn_loss_weighted(NN_LOSS_SIGMOIDS, dz, z, target, ROWS, K, weighted ? weight : NULL);
        double sum = 0.0;

        for (size_t i = 0; i < ROWS * K; i++) {
            const float *of = weighted ? weight + 2 * (i % K) : NULL;
            float one = 0.0F, p;

            if (!isnan(target[i]))
                sum += nn_loss_weighted(NN_LOSS_SIGMOID, &one, &z[i], &target[i], 1, 1, of);
            assert_true(sample_close((double)dz[i], (double)one / (ROWS * K), 1e-6, 1e-9));
            nn_predict(NN_LOSS_SIGMOID, &p, &z[i], 1, 1);
            assert_true(prob[i] == p);
        }
        assert_true(sample_close(loss, sum / (ROWS * K), 1e-12, 0.0));
        assert_true(nn_loss_weighted(NN_LOSS_SIGMOIDS, NULL, z, target, ROWS, K,
                                     weighted ? weight : NULL) == loss);
    }
}

static void test_probabilities_sum_to_one_and_keep_the_order(void **state)
{
    enum { ROWS = 9, K = 7 };
    float z[ROWS * K], p[ROWS * K];
    uint64_t seed = 8;

    (void)state;
    sample_fill(z, (size_t)ROWS * K, 50.0F, &seed);
    nn_predict(NN_LOSS_SOFTMAX, p, z, ROWS, K);
    for (size_t r = 0; r < ROWS; r++) {
        double sum = 0.0;

        for (size_t j = 0; j < K; j++) {
            sum += (double)p[r * K + j];
            for (size_t i = 0; i < K; i++)
                assert_true(z[r * K + i] <= z[r * K + j] || p[r * K + i] >= p[r * K + j]);
        }
        assert_true(sample_close(sum, 1.0, 0.0, 1e-6));
    }
}

static void test_logits_of_any_size_give_a_finite_loss(void **state)
{
    const float z[4] = {2000.0F, -2000.0F, -2000.0F, 2000.0F};
    const float target[4] = {0.0F, 1.0F, 0.0F, 1.0F}, other[2] = {1.0F, 1.0F};
    float dz[4];

    (void)state;
    assert_true(nn_loss(NN_LOSS_SIGMOID, dz, z, target, 4, 1) == 1000.0);
    assert_true(dz[0] == 0.25F && dz[1] == -0.25F && dz[2] == 0.0F && dz[3] == 0.0F);
    assert_true(nn_loss(NN_LOSS_SOFTMAX, dz, z, other, 2, 2) == 2000.0);
    assert_true(dz[0] == 0.5F && dz[1] == -0.5F && dz[2] == 0.0F && dz[3] == 0.0F);
}

static void test_a_nan_logit_gives_a_nan_loss(void **state)
{
    const float z[2] = {0.5F, NAN}, target[1] = {0.0F};

    (void)state;
    assert_true(isnan(nn_loss(NN_LOSS_SOFTMAX, NULL, z, target, 1, 2)));
    assert_true(isnan(nn_loss(NN_LOSS_SIGMOID, NULL, z + 1, target, 1, 1)));
    assert_true(isnan(nn_loss(NN_LOSS_SQUARED, NULL, z + 1, target, 1, 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loss_and_gradient_are_the_golden_ones),
        cmocka_unit_test(test_prediction_is_the_golden_one),
        cmocka_unit_test(test_gradient_may_alias_logits_or_be_left_out),
        cmocka_unit_test(test_gradient_is_the_derivative_of_the_loss),
        cmocka_unit_test(test_a_weight_is_so_many_rows),
        cmocka_unit_test(test_several_labels_are_so_many_sigmoids),
        cmocka_unit_test(test_probabilities_sum_to_one_and_keep_the_order),
        cmocka_unit_test(test_logits_of_any_size_give_a_finite_loss),
        cmocka_unit_test(test_a_nan_logit_gives_a_nan_loss),
    };
    return cmocka_run_group_tests(tests, golden_load, golden_unload);
}
