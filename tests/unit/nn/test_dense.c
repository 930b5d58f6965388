/* test_dense.c -- one layer against its definition in double.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/dense.h"

#include "tests/unit/nn/sample.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROWS = 11, IN = 7, OUT = 19 };

struct bench {
    struct nn_layer l;
    float w[IN * OUT], b[OUT], dw[IN * OUT], db[OUT], y[ROWS * OUT], dy[ROWS * OUT];
    float x[ROWS * IN], dx[ROWS * IN], wt[OUT * IN], g[ROWS * OUT];
};

static void start(struct bench *s)
{
    uint64_t seed = 9;

    memset(s, 0xff, sizeof *s);
    s->l = (struct nn_layer){.in = IN, .out = OUT, .act = NN_ACT_NONE, .scale = 1.0F};
    s->l.w = s->w, s->l.b = s->b, s->l.dw = s->dw, s->l.db = s->db;
    s->l.y = s->y, s->l.dy = s->dy, s->l.scratch = s->wt;
    sample_fill(s->w, (size_t)IN * OUT, 1.0F, &seed);
    sample_fill(s->b, OUT, 1.0F, &seed);
    sample_fill(s->x, (size_t)ROWS * IN, 1.0F, &seed);
    sample_fill(s->g, (size_t)ROWS * OUT, 1.0F, &seed);
    memcpy(s->dy, s->g, sizeof s->dy);
}

static void test_forward_is_x_w_plus_b(void **state)
{
    struct bench s;

    (void)state;
    start(&s);
    DENSE_LAYER.forward(&s.l, s.x, ROWS);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t j = 0; j < OUT; j++) {
            double z = (double)s.b[j];

            for (size_t i = 0; i < IN; i++)
                z += (double)s.x[r * IN + i] * (double)s.w[i * OUT + j];
            assert_true(sample_close((double)s.y[r * OUT + j], z, 1e-6, 1e-6));
        }
}

static void test_backward_is_x_dy_and_dy_w(void **state)
{
    struct bench s;

    (void)state;
    start(&s);
    DENSE_LAYER.forward(&s.l, s.x, ROWS);
    DENSE_LAYER.delta(&s.l, s.dx, ROWS);
    DENSE_LAYER.gradients(&s.l, ROWS);
    for (size_t i = 0; i < IN; i++)
        for (size_t j = 0; j < OUT; j++) {
            double dw = 0.0;

            for (size_t r = 0; r < ROWS; r++)
                dw += (double)s.x[r * IN + i] * (double)s.g[r * OUT + j];
            assert_true(sample_close((double)s.dw[i * OUT + j], dw, 1e-6, 1e-6));
        }
    for (size_t j = 0; j < OUT; j++) { /* what was there before does not count: NaNs */
        double db = 0.0;

        for (size_t r = 0; r < ROWS; r++)
            db += (double)s.g[r * OUT + j];
        assert_true(sample_close((double)s.db[j], db, 1e-6, 1e-6));
    }
    for (size_t r = 0; r < ROWS; r++)
        for (size_t i = 0; i < IN; i++) {
            double dx = 0.0;

            for (size_t j = 0; j < OUT; j++)
                dx += (double)s.g[r * OUT + j] * (double)s.w[i * OUT + j];
            assert_true(sample_close((double)s.dx[r * IN + i], dx, 1e-6, 1e-6));
        }
}

static void test_without_dx_the_other_gradients_are_the_same(void **state)
{
    struct bench s, t;

    (void)state;
    start(&s);
    start(&t);
    DENSE_LAYER.forward(&s.l, s.x, ROWS);
    DENSE_LAYER.delta(&s.l, s.dx, ROWS);
    DENSE_LAYER.gradients(&s.l, ROWS);
    DENSE_LAYER.forward(&t.l, t.x, ROWS);
    DENSE_LAYER.delta(&t.l, NULL, ROWS);
    DENSE_LAYER.gradients(&t.l, ROWS);
    assert_memory_equal(s.dw, t.dw, sizeof s.dw);
    assert_memory_equal(s.db, t.db, sizeof s.db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward_is_x_w_plus_b),
        cmocka_unit_test(test_backward_is_x_dy_and_dy_w),
        cmocka_unit_test(test_without_dx_the_other_gradients_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
