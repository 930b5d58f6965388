/* test_lattice_cell.c -- points that are the nearest, codes that say which, regions that tile.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/lattice_cell.h"

#include "tests/lib/aborts.h"
#include "tests/unit/compress/chance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { LANES = LATTICE_LANES, GROUPS = 300 };

static void draw(struct lattice_group *y, double reach)
{
    for (int i = 0; i < LATTICE_DIMS; i++)
        for (int l = 0; l < LANES; l++)
            y->v[i][l] = (float)(reach * (2 * rng_uniform(&chance) - 1));
}

static void draw_dither(const struct lattice_cell *c, struct lattice_group *u)
{
    uint16_t t[LATTICE_DIMS * LANES];

    memset(u, 0, sizeof *u);
    rng_fill(&chance, t, sizeof t);
    lattice_cell_dither(c, u, t);
}

/* The squared distance between two blocks. */
static double distance(const struct lattice_cell *c, const struct lattice_group *a,
                       const struct lattice_group *b, int l)
{
    double sum = 0;

    for (uint32_t i = 0; i < c->dims; i++)
        sum += pow((double)a->v[i][l] - (double)b->v[i][l], 2);
    return sum;
}

/* All kinds, regions and bits. */
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

/* m is of the lattice: of one parity, and in E8 of a sum that 4 divides. */
static void of_the_lattice(const struct lattice_cell *c, const struct lattice_group *m, int l)
{
    int sum = 0;

    for (uint32_t i = 0; i < c->dims; i++) {
        const int v = (int)m->v[i][l];

        assert_true((float)v == m->v[i][l]);
        if (c->dims > 1)
            assert_int_equal(v & 1, (int)m->v[0][l] & 1);
        sum += v;
    }
    if (c->dims == LATTICE_DIMS)
        assert_int_equal(sum % 4, 0);
}

/* No neighbour that differs by a shortest vector is nearer; these decide (Voronoi-relevant vectors
 * of Z and A2 are its shortest; those of E8 its 240 shortest and 2160 next: Conway & Sloane 1999,
 * chapter 21).  p = l - u, and y - p is the error. */
static bool nearer(const struct lattice_cell *c, const struct lattice_group *y,
                   const struct lattice_group *p, int l, const float *step)
{
    double here = 0, there = 0;

    for (uint32_t i = 0; i < c->dims; i++) {
        const double e = (double)y->v[i][l] - (double)p->v[i][l];

        here += e * e;
        there += (e - (double)step[i]) * (e - (double)step[i]);
    }
    return there < here - 1e-4;
}

static void no_nearer_in_e8(const struct lattice_cell *c, const struct lattice_group *y,
                            const struct lattice_group *p, int l)
{
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < a; b++)
            for (int s = 0; s < 4; s++) {
                float step[8] = {0};

                step[a] = s & 1 ? 1 : -1;
                step[b] = s & 2 ? 1 : -1;
                assert_false(nearer(c, y, p, l, step));
            }
    for (int a = 0; a < 8; a++)
        for (int s = -2; s <= 2; s += 4) {
            float step[8] = {0};

            step[a] = (float)s;
            assert_false(nearer(c, y, p, l, step));
        }
    for (unsigned s = 0; s < 256; s++) {
        float step[8];

        for (int i = 0; i < 8; i++)
            step[i] = s >> i & 1 ? 0.5F : -0.5F;
        if (__builtin_popcount(s) % 2 == 0)
            assert_false(nearer(c, y, p, l, step));
    }
}

static void no_nearer_in_a2(const struct lattice_cell *c, const struct lattice_group *y,
                            const struct lattice_group *p, int l)
{
    const double turn = atan2((double)c->turn_sin, (double)c->turn_cos);

    for (int k = 0; k < 6; k++) {
        const double angle = k * acos(-1) / 3 - turn;

        assert_false(nearer(c, y, p, l, (const float[]){(float)cos(angle), (float)sin(angle)}));
    }
}

static void nearest_is_nearest(const struct lattice_cell *c)
{
    struct lattice_group y, u, m, p;

    for (int g = 0; g < 10; g++) {
        draw(&y, (double)c->size);
        draw_dither(c, &u);
        lattice_cell_nearest(c, &m, &p, &y, &u);
        for (int l = 0; l < LANES; l++) {
            of_the_lattice(c, &m, l);
            assert_true(distance(c, &y, &p, l) <=
                        (double)c->covering * (double)c->covering * 1.001);
            if (c->dims == 1)
                assert_true(fabsf(p.v[0][l] - y.v[0][l]) <= 0.5001F);
            else if (c->dims == 2)
                no_nearer_in_a2(c, &y, &p, l);
            else
                no_nearer_in_e8(c, &y, &p, l);
        }
    }
}

static void test_the_point_is_the_nearest_of_the_lattice(void **state)
{
    (void)state;
    each_cell(nearest_is_nearest);
}

/* What is inside comes back; the class of a point and of what unpacking makes of it are the same
 * even where it is outside. */
static void codes_come_back(const struct lattice_cell *c)
{
    struct lattice_group y, u, m, p, back, again, m_again;
    struct lattice_codes code, code_again;
    float outside[LANES];
    int came_back = 0;

    for (int g = 0; g < GROUPS / 10; g++) {
        draw(&y, 0.6 * (double)c->size);
        draw_dither(c, &u);
        lattice_cell_nearest(c, &m, &p, &y, &u);
        lattice_cell_outside(c, outside, &p);
        lattice_cell_encode(c, &code, &m);
        lattice_cell_decode(c, &back, &code, &u);
        lattice_cell_nearest(c, &m_again, &again, &back, &u);
        lattice_cell_encode(c, &code_again, &m_again);
        for (int l = 0; l < LANES; l++) {
            assert_true(distance(c, &back, &again, l) < 1e-6);
            for (uint32_t i = 0; i < c->dims; i++) {
                assert_true(code.v[i][l] < 1U << c->bits);
                assert_int_equal(code.v[i][l], code_again.v[i][l]);
            }
            if (outside[l] == 0)
                assert_true(distance(c, &back, &p, l) < 1e-6);
            came_back += outside[l] == 0;
        }
    }
    assert_true(came_back > 0);
}

static void test_codes_come_back_as_the_point_that_was_meant(void **state)
{
    (void)state;
    each_cell(codes_come_back);
}

static void same_dither_everywhere(const struct lattice_cell *c, struct lattice_group *u)
{
    draw_dither(c, u);
    for (int i = 0; i < LATTICE_DIMS; i++)
        for (int l = 1; l < LANES; l++)
            u->v[i][l] = u->v[i][0];
}

/* Codes k .. k + LANES - 1 to points; the codes of these are k .. again. */
static void points_of(const struct lattice_cell *c, struct lattice_group *m, unsigned k,
                      const struct lattice_group *u)
{
    struct lattice_codes code = {{{0}}}, again = {{{0}}};
    struct lattice_group p, q;

    for (unsigned i = 0; i < c->dims; i++)
        for (unsigned l = 0; l < LANES; l++)
            code.v[i][l] = (uint16_t)((k + l) >> i * c->bits & ((1U << c->bits) - 1));
    lattice_cell_decode(c, &p, &code, u);
    lattice_cell_nearest(c, m, &q, &p, u);
    lattice_cell_encode(c, &again, m);
    assert_memory_equal(&again, &code, sizeof code);
}

/* All 256 blocks of E8 at 1 bit, A2 at 4, Z at 8: as many points as codes, none twice. */
static void test_every_code_means_one_point_of_its_own(void **state)
{
    static const uint32_t bits[] = {8, 4, 1};
    static struct lattice_group m[256 / LANES];

    (void)state;
    for (int k = 0; k < 6; k++) {
        struct lattice_cell c;
        struct lattice_group u;

        lattice_cell_of(&c, ENCODING_SCALAR + (enum plan_encoding)(k / 2), bits[k / 2], k % 2 == 1);
        same_dither_everywhere(&c, &u);
        for (unsigned g = 0; g < 256 / LANES; g++)
            points_of(&c, &m[g], g * LANES, &u);
        for (int a = 0; a < 256; a++)
            for (int b = 0; b < a; b++) {
                bool differ = false;

                for (uint32_t i = 0; i < c.dims; i++)
                    differ |= m[a / LANES].v[i][a % LANES] != m[b / LANES].v[i][b % LANES];
                assert_true(differ);
            }
    }
}

/* Dithers fill a cell: brought to the Voronoi cell their mean square is its second moment. */
static void moment_of(const struct lattice_cell *c)
{
    static const struct lattice_group origin;
    const double want = c->dims == 1 ? 1.0 / 12 : c->dims == 2 ? 5.0 / 72 : 929.0 / 12960;
    struct lattice_group u, m, p;
    double sum = 0, mean[LATTICE_DIMS] = {0};
    const double n = GROUPS * LANES;

    for (int g = 0; g < GROUPS; g++) {
        draw_dither(c, &u);
        lattice_cell_nearest(c, &m, &p, &origin, &u);
        for (uint32_t i = 0; i < c->dims; i++)
            for (int l = 0; l < LANES; l++) {
                sum += (double)p.v[i][l] * (double)p.v[i][l];
                mean[i] += (double)p.v[i][l];
            }
    }
    assert_true(fabs(sum / (n * c->dims) - want) < 0.05 * want);
    for (uint32_t i = 0; i < c->dims; i++)
        assert_true(fabs(mean[i] / n) < 5 * sqrt(want / n));
}

static void test_dithers_fill_a_cell_evenly(void **state)
{
    (void)state;
    each_cell(moment_of);
}

/* Equally far from two integers, or equally far in all components: still one point of the lattice.
 */
static void ties_are_decided(const struct lattice_cell *c)
{
    static const float parts[] = {0, 0.25F, 0.3F, 0.5F, 0.75F, 1};
    struct lattice_group y, u = {{{0}}}, m, p;

    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
        for (int i = 0; i < LATTICE_DIMS; i++)
            for (int l = 0; l < LANES; l++)
                y.v[i][l] = parts[k] + (float)((l >> i % 4 & 1) + (i == l % 8));
        lattice_cell_nearest(c, &m, &p, &y, &u);
        for (int l = 0; l < LANES; l++) {
            of_the_lattice(c, &m, l);
            assert_true(distance(c, &y, &p, l) <=
                        (double)c->covering * (double)c->covering * 1.001);
        }
    }
}

static void test_ties_end_at_one_point(void **state)
{
    (void)state;
    each_cell(ties_are_decided);
}

/* The middle of a 2^16th: 2^-17 of each generator for numbers 0, which sum up to what is given. */
static void test_dithers_are_in_the_middle_of_their_steps(void **state)
{
    static const uint16_t t[LATTICE_DIMS * LANES];
    const float half = 0x1p-17F;
    struct lattice_group u;
    struct lattice_cell c;

    (void)state;
    lattice_cell_of(&c, ENCODING_SCALAR, 2, false);
    lattice_cell_dither(&c, &u, t);
    assert_true(u.v[0][3] == half);
    lattice_cell_of(&c, ENCODING_LATTICE, 2, false);
    lattice_cell_dither(&c, &u, t);
    assert_true(u.v[0][3] == 1.5F * half && fabsf(u.v[1][3] - 0.8660254F * half) < 1e-12F);
    lattice_cell_of(&c, ENCODING_E8, 2, false);
    lattice_cell_dither(&c, &u, t);
    assert_true(u.v[0][3] == 1.5F * half && u.v[6][3] == 1.5F * half);
    for (int i = 1; i < 8; i += i == 5 ? 2 : 1)
        assert_true(u.v[i][3] == 0.5F * half);
}

static void nine_bits(void *unused)
{
    struct lattice_cell c;

    (void)unused;
    lattice_cell_of(&c, ENCODING_E8, 9, false);
}

static void test_only_the_bits_there_are(void **state)
{
    (void)state;
    assert_true(aborts(nine_bits, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_point_is_the_nearest_of_the_lattice),
        cmocka_unit_test(test_codes_come_back_as_the_point_that_was_meant),
        cmocka_unit_test(test_every_code_means_one_point_of_its_own),
        cmocka_unit_test(test_dithers_fill_a_cell_evenly),
        cmocka_unit_test(test_ties_end_at_one_point),
        cmocka_unit_test(test_dithers_are_in_the_middle_of_their_steps),
        cmocka_unit_test(test_only_the_bits_there_are),
    };

    return cmocka_run_group_tests(tests, chance_start, chance_end);
}
