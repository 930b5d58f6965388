/* test_taps.c -- products by taps give what a convolution is defined as, and are taken where they
 * are less work.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/taps.h"
#include "common/nn/window.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROWS = 3, VALUES = 4096 };

struct trial {
    struct taps t;
    float x[VALUES], w[VALUES], dy[VALUES], got[VALUES], scratch[VALUES], turned[VALUES];
    double want[VALUES];
};

/* Small whole numbers: sums of them are exact in any order. */
static void fill(float *x, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((int)((i * 2654435761U + seed * 40503U) >> 7 & 15) - 7);
}

/* sum is called with every product's places in y, x and w. */
static void define(struct trial *a, void (*sum)(struct trial *, size_t, size_t, size_t))
{
    const struct taps *t = &a->t;

    memset(a->want, 0, sizeof a->want);
    for (size_t r = 0; r < ROWS; r++)
        for (int i = 0; i < (int)t->out.height; i++)
            for (int j = 0; j < (int)t->out.width; j++)
                for (int p = 0; p < (int)t->window.size[0]; p++)
                    for (int q = 0; q < (int)t->window.size[1]; q++) {
                        const int h = i * (int)t->window.stride[0] - (int)t->window.padding[0] + p;
                        const int v = j * (int)t->window.stride[1] - (int)t->window.padding[1] + q;

                        if (h < 0 || v < 0 || h >= (int)t->in.height || v >= (int)t->in.width)
                            continue;
                        for (size_t c = 0; c < t->in.channels; c++)
                            for (size_t o = 0; o < t->out.channels; o++)
                                sum(a,
                                    ((r * t->out.height + (size_t)i) * t->out.width + (size_t)j) *
                                            t->out.channels +
                                        o,
                                    ((r * t->in.height + (size_t)h) * t->in.width + (size_t)v) *
                                            t->in.channels +
                                        c,
                                    (((size_t)p * t->window.size[1] + (size_t)q) * t->in.channels +
                                     c) * t->out.channels +
                                        o);
                    }
}

static void sum_y(struct trial *a, size_t y, size_t x, size_t w)
{
    a->want[y] += a->x[x] * a->w[w];
}

static void sum_dx(struct trial *a, size_t y, size_t x, size_t w)
{
    a->want[x] += a->dy[y] * a->w[w];
}

static void sum_dw(struct trial *a, size_t y, size_t x, size_t w)
{
    a->want[w] += a->x[x] * a->dy[y];
}

static void assert_wanted(const struct trial *a, size_t n, double more)
{
    for (size_t i = 0; i < n; i++)
        assert_float_equal(a->got[i], (float)(a->want[i] + more), 0);
}

/* Everywhere what there was before is 1, where it is kept. */
static void ones(struct trial *a)
{
    for (size_t i = 0; i < VALUES; i++)
        a->got[i] = 1;
}

static void check(struct nn_shape in, uint32_t out, struct nn_window window)
{
    static struct trial a;
    size_t x, y, w;

    a.t = (struct taps){.in = in, .window = window};
    assert_true(window_out(&a.t.out, &in, &window));
    a.t.out.channels = out;
    x = ROWS * shape_values(&in);
    y = ROWS * shape_values(&a.t.out);
    w = (size_t)window.size[0] * window.size[1] * in.channels * out;
    assert_true(x <= VALUES && y <= VALUES && w <= VALUES && taps_scratch(&a.t, ROWS) <= VALUES);
    fill(a.x, x, 1);
    fill(a.w, w, 2);
    fill(a.dy, y, 3);

    ones(&a);
    taps_forward(&a.t, a.got, a.x, a.w, a.scratch, ROWS);
    define(&a, sum_y);
    assert_wanted(&a, y, 0);
    ones(&a);
    taps_turn(&a.t, a.turned, a.w);
    taps_delta(&a.t, a.got, a.dy, a.turned, a.scratch, ROWS);
    define(&a, sum_dx);
    assert_wanted(&a, x, 1);
    ones(&a);
    taps_gradients(&a.t, a.got, a.x, a.dy, a.scratch, ROWS, false);
    define(&a, sum_dw);
    assert_wanted(&a, w, 0);
    ones(&a);
    taps_gradients(&a.t, a.got, a.x, a.dy, a.scratch, ROWS, true);
    assert_wanted(&a, w, 1);
}

static void test_they_are_the_convolution(void **state)
{
    (void)state;
    check((struct nn_shape){2, 4, 4}, 3, (struct nn_window){{3, 3}, {1, 1}, {1, 1}});
    check((struct nn_shape){3, 5, 4}, 2, (struct nn_window){{3, 2}, {2, 1}, {1, 0}});
    check((struct nn_shape){1, 1, 9}, 4, (struct nn_window){{1, 5}, {1, 3}, {0, 4}});
    check((struct nn_shape){2, 7, 6}, 2, (struct nn_window){{1, 1}, {2, 2}, {0, 0}});
    check((struct nn_shape){2, 3, 5}, 2, (struct nn_window){{3, 3}, {2, 3}, {2, 2}});
}

/* There the middle row of taps alone sees anything. */
static void test_a_tap_that_sees_nothing_gives_nothing(void **state)
{
    (void)state;
    check((struct nn_shape){2, 1, 1}, 3, (struct nn_window){{5, 5}, {1, 1}, {2, 2}});
    check((struct nn_shape){2, 2, 1}, 3, (struct nn_window){{5, 4}, {3, 1}, {4, 3}});
}

static void test_they_are_taken_where_much_is_padding(void **state)
{
    const struct nn_window three = {{3, 3}, {1, 1}, {1, 1}};

    (void)state;
    assert_true(taps_gain(&(struct taps){{512, 4, 4}, {512, 4, 4}, three}));
    assert_false(taps_gain(&(struct taps){{64, 32, 32}, {64, 32, 32}, three}));
    assert_false(taps_gain(&(struct taps){{3, 4, 4}, {64, 4, 4}, three}));
    assert_false(taps_gain(&(struct taps){{512, 4, 4}, {512, 4, 4}, {{1, 1}, {1, 1}, {0, 0}}}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_they_are_the_convolution),
        cmocka_unit_test(test_a_tap_that_sees_nothing_gives_nothing),
        cmocka_unit_test(test_they_are_taken_where_much_is_padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
