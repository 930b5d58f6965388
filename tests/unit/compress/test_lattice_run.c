/* test_lattice_run.c -- blocks that fit stay where they are, those that overload come to the
 * border.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/lattice_run.h"

#include "tests/unit/compress/chance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { BLOCKS = LATTICE_RUN - 5 };

static struct lattice_run run, before;
static uint16_t t[LATTICE_RUN * LATTICE_DIMS];
static float x[LATTICE_RUN * LATTICE_DIMS];

static float at(const struct lattice_group *g, size_t block, uint32_t i)
{
    return g[block / LATTICE_LANES].v[i][block % LATTICE_LANES];
}

/* BLOCKS blocks of components in [-reach, reach] 2^b / 2. */
static void fill(const struct lattice_cell *c, double reach)
{
    memset(&run, 0, sizeof run);
    for (size_t i = 0; i < BLOCKS * (size_t)c->dims; i++)
        x[i] = (float)(reach * (double)c->size / 2 * (2 * rng_uniform(&chance) - 1));
    rng_fill(&chance, t, sizeof t);
    lattice_run_load(c, &run, x, BLOCKS * (size_t)c->dims, 1);
    lattice_run_dither(c, &run, t, BLOCKS);
}

static void each_cell(void (*law)(const struct lattice_cell *c))
{
    for (enum plan_encoding kind = ENCODING_SCALAR; kind <= ENCODING_E8; kind++)
        for (uint32_t bits = 1; bits <= 8; bits++)
            for (int square = 0; square < 2; square++) {
                struct lattice_cell c;

                lattice_cell_of(&c, kind, bits, square != 0);
                law(&c);
            }
}

static double distance(const struct lattice_group *a, const struct lattice_group *b, size_t block,
                       uint32_t dims)
{
    double sum = 0;

    for (uint32_t i = 0; i < dims; i++)
        sum += pow((double)at(a, block, i) - (double)at(b, block, i), 2);
    return sqrt(sum);
}

static void small_blocks_fit(const struct lattice_cell *c)
{
    const double room = c->square ? (double)fminf(c->half[0], c->half[1]) - (double)c->covering
                                  : (double)(c->size * c->packing - c->covering) / sqrt(c->dims);

    if (room <= 0)
        return;
    fill(c, 0.99 * room / ((double)c->size / 2));
    for (size_t k = BLOCKS; k < LATTICE_RUN; k++) /* whatever is behind them is nobody's */
        run.y[k / LATTICE_LANES].v[0][k % LATTICE_LANES] = 2 * c->size;
    assert_int_equal(lattice_run_quantise(c, &run, BLOCKS), 0);
    for (size_t k = 0; k < BLOCKS; k++)
        assert_true(distance(run.y, run.p, k, c->dims) <= 1.001 * (double)c->covering);
}

static void test_what_fits_comes_back_within_the_covering_radius(void **state)
{
    (void)state;
    each_cell(small_blocks_fit);
}

/* How far y must go at most: to the ball, or box, where nothing overloads. */
static double way(const struct lattice_cell *c, const struct lattice_group *y, size_t block)
{
    const double room = (double)LATTICE_ROOM, cover = (double)c->covering;
    const double ball = fmax(0, room * (double)(c->size * c->packing) - cover);
    double norm = 0, out = 0;

    for (uint32_t i = 0; i < c->dims; i++) {
        const double v = fabs((double)at(y, block, i));

        norm += v * v;
        out += pow(fmax(0, v - fmax(0, room * (double)c->half[i > 0] - cover)), 2);
    }
    return c->square ? sqrt(out) : fmax(0, sqrt(norm) - ball);
}

static void large_blocks_come_in(const struct lattice_cell *c)
{
    struct lattice_group once_m[LATTICE_RUN_GROUPS], once_p[LATTICE_RUN_GROUPS];
    float outside[LATTICE_LANES], now[LATTICE_LANES];
    size_t bad = 0;

    fill(c, 3);
    before = run;
    for (size_t g = 0; g < LATTICE_RUN_GROUPS; g++)
        lattice_cell_nearest(c, &once_m[g], &once_p[g], &run.y[g], &run.u[g]);
    const size_t counted = lattice_run_quantise(c, &run, BLOCKS);

    for (size_t k = 0; k < BLOCKS; k++) {
        if (k % LATTICE_LANES == 0) {
            lattice_cell_outside(c, outside, &once_p[k / LATTICE_LANES]);
            lattice_cell_outside(c, now, &run.p[k / LATTICE_LANES]);
        }
        bad += outside[k % LATTICE_LANES] > 0;
        assert_true(now[k % LATTICE_LANES] == 0);
        if (outside[k % LATTICE_LANES] == 0)
            assert_true(distance(once_p, run.p, k, c->dims) == 0);
        assert_true(distance(before.y, run.p, k, c->dims) <=
                    way(c, before.y, k) + 1.001 * (double)c->covering);
    }
    assert_int_equal(counted, bad);
    assert_true(bad > BLOCKS / 2);
}

static void test_what_overloads_comes_in_and_the_others_stay(void **state)
{
    (void)state;
    each_cell(large_blocks_come_in);
}

/* Z has an outermost code; a larger value has that one, or a neighbour within the search. */
static void test_a_large_number_becomes_the_outermost(void **state)
{
    (void)state;
    for (uint32_t bits = 1; bits <= 8; bits++) {
        struct lattice_cell c;

        lattice_cell_of(&c, ENCODING_SCALAR, bits, false);
        fill(&c, 0);
        for (size_t i = 0; i < BLOCKS; i++)
            x[i] = i % 2 == 0 ? 1e30F : -1e30F;
        lattice_run_load(&c, &run, x, BLOCKS, 1);
        assert_int_equal(lattice_run_quantise(&c, &run, BLOCKS), BLOCKS);
        for (size_t i = 0; i < BLOCKS; i++) {
            const float p = at(run.p, i, 0) * (i % 2 == 0 ? 1 : -1);

            assert_true(p <= c.half[0] && p >= c.half[0] - 1.2F);
        }
    }
}

static void test_loading_divides_pads_and_cuts_off(void **state)
{
    static const float some[] = {1, -2, 3e38F, -3e38F, 5};
    struct lattice_cell c;

    (void)state;
    lattice_cell_of(&c, ENCODING_LATTICE, 3, false);
    memset(&run, 0xff, sizeof run);
    lattice_run_load(&c, &run, some, 5, 0.5F);
    assert_true(at(run.y, 0, 0) == 2 && at(run.y, 0, 1) == -4);
    assert_true(at(run.y, 1, 0) == 16 && at(run.y, 1, 1) == -16);
    assert_true(at(run.y, 2, 0) == 10 && at(run.y, 2, 1) == 0);
    for (size_t k = 3; k < LATTICE_LANES; k++)
        assert_true(at(run.y, k, 0) == 0 && at(run.y, k, 1) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_fits_comes_back_within_the_covering_radius),
        cmocka_unit_test(test_what_overloads_comes_in_and_the_others_stay),
        cmocka_unit_test(test_a_large_number_becomes_the_outermost),
        cmocka_unit_test(test_loading_divides_pads_and_cuts_off),
    };

    return cmocka_run_group_tests(tests, chance_start, chance_end);
}
