/* lattice_run.c -- blocks that overload are gathered, so that few of them cost little.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/lattice_run.h"

#include "common/base/check.h"
#include "common/base/clones.h"

#include <math.h>
#include <string.h>

enum { HALVINGS = 4 };

static size_t groups_of(size_t blocks)
{
    return (blocks + LATTICE_LANES - 1) / LATTICE_LANES;
}

/* --- filling a run --- */

#define LOAD(dims)                                                                                 \
    for (int i = 0; i < (dims); i++)                                                               \
        for (int l = 0; l < LATTICE_LANES; l++) {                                                  \
            float v = x[l * (dims) + i] / scale;                                                   \
            v = v < most ? v : most;                                                               \
            y->v[i][l] = v > -most ? v : -most;                                                    \
        }

WIDE_CLONES static void load_group(struct lattice_group *restrict y, const float *restrict x,
                                   uint32_t dims, float scale, float most)
{
    switch (dims) {
    case 1: LOAD(1); break;
    case 2: LOAD(2); break;
    default: LOAD(LATTICE_DIMS);
    }
}

void lattice_run_load_group(struct lattice_group *y, uint32_t dims, const float *x, size_t n,
                            float scale, float most)
{
    float padded[LATTICE_DIMS * LATTICE_LANES] = {0};

    CHECK(n <= (size_t)dims * LATTICE_LANES);
    if (n < (size_t)dims * LATTICE_LANES) {
        memcpy(padded, x, n * sizeof *x);
        x = padded;
    }
    load_group(y, x, dims, scale, most);
}

void lattice_run_load(const struct lattice_cell *c, struct lattice_run *r, const float *x, size_t n,
                      float scale)
{
    const size_t whole = (size_t)c->dims * LATTICE_LANES;

    CHECK(n <= LATTICE_RUN * (size_t)c->dims);
    for (size_t at = 0; at < n; at += whole)
        lattice_run_load_group(&r->y[at / whole], c->dims, x + at, n - at < whole ? n - at : whole,
                               scale, 2 * c->size);
}

void lattice_run_dither(const struct lattice_cell *c, struct lattice_run *r, const uint16_t *t,
                        size_t blocks)
{
    for (size_t g = 0; g < groups_of(blocks); g++)
        lattice_cell_dither(c, &r->u[g], t + g * c->dims * LATTICE_LANES);
}

/* --- blocks that overload --- */

static void copy_block(struct lattice_group *to, size_t k, const struct lattice_group *from,
                       size_t at, uint32_t dims)
{
    for (uint32_t i = 0; i < dims; i++)
        to[k / LATTICE_LANES].v[i][k % LATTICE_LANES] =
            from[at / LATTICE_LANES].v[i][at % LATTICE_LANES];
}

/* y moved towards 0: all the way to where nothing overloads at part = 0, as far as the border of
 * the region at 1.  round: along the line to 0, on which the norm goes from a ball that is inside
 * to one that holds everything. */
WIDE_CLONES static void pull_round(const struct lattice_cell *restrict c,
                                   struct lattice_group *restrict to,
                                   const struct lattice_group *restrict y,
                                   const float part[restrict LATTICE_LANES])
{
    const float inner = c->size * c->packing * LATTICE_ROOM - c->covering,
                outer = c->size * c->covering;
    const float low = inner > 0 ? inner : 0;
    float factor[LATTICE_LANES] = {0};

    for (uint32_t i = 0; i < c->dims; i++)
        for (int l = 0; l < LATTICE_LANES; l++)
            factor[l] += y->v[i][l] * y->v[i][l];
    for (int l = 0; l < LATTICE_LANES; l++) {
        const float norm = sqrtf(factor[l]), end = norm < outer ? norm : outer;
        const float want = low + part[l] * (end - low);

        factor[l] = want < norm ? want / norm : 1;
    }
    for (uint32_t i = 0; i < c->dims; i++)
        for (int l = 0; l < LATTICE_LANES; l++)
            to->v[i][l] = y->v[i][l] * factor[l];
}

/* square: into a smaller box. */
WIDE_CLONES static void pull_square(const struct lattice_cell *restrict c,
                                    struct lattice_group *restrict to,
                                    const struct lattice_group *restrict y,
                                    const float part[restrict LATTICE_LANES])
{
    for (uint32_t i = 0; i < c->dims; i++) {
        const float half = c->half[i > 0], inner = half * LATTICE_ROOM - c->covering;
        const float low = inner > 0 ? inner : 0;

        for (int l = 0; l < LATTICE_LANES; l++) {
            const float most = low + part[l] * (half - low);
            const float v = y->v[i][l] < most ? y->v[i][l] : most;

            to->v[i][l] = v > -most ? v : -most;
        }
    }
}

static void pull(const struct lattice_cell *c, struct lattice_group *to,
                 const struct lattice_group *y, const float part[LATTICE_LANES])
{
    if (c->square)
        pull_square(c, to, y, part);
    else
        pull_round(c, to, y, part);
}

/* A group all of whose blocks overload: m and p of the farthest part of the way, among those tried,
 * at which they do not. */
static void pull_in(const struct lattice_cell *c, struct lattice_group *m, struct lattice_group *p,
                    const struct lattice_group *y, const struct lattice_group *u)
{
    float part[LATTICE_LANES] = {0}, good[LATTICE_LANES] = {0}, outside[LATTICE_LANES];
    struct lattice_group nearer, m_try, p_try;

    pull(c, &nearer, y, part);
    lattice_cell_nearest(c, m, p, &nearer, u);
    for (float step = 0.5F; step >= 1.0F / (1 << HALVINGS); step /= 2) {
        for (int l = 0; l < LATTICE_LANES; l++)
            part[l] = good[l] + step;
        pull(c, &nearer, y, part);
        lattice_cell_nearest(c, &m_try, &p_try, &nearer, u);
        lattice_cell_outside(c, outside, &p_try);
        for (int l = 0; l < LATTICE_LANES; l++)
            good[l] = outside[l] > 0 ? good[l] : part[l];
        for (uint32_t i = 0; i < c->dims; i++)
            for (int l = 0; l < LATTICE_LANES; l++) {
                m->v[i][l] = outside[l] > 0 ? m->v[i][l] : m_try.v[i][l];
                p->v[i][l] = outside[l] > 0 ? p->v[i][l] : p_try.v[i][l];
            }
    }
}

/* Blocks at[n], n at most a group's. */
static void amend(const struct lattice_cell *c, struct lattice_run *r, const uint16_t *at, size_t n)
{
    struct lattice_group y = {{{0}}}, u = {{{0}}}, m, p;

    for (size_t k = 0; k < n; k++) {
        copy_block(&y, k, r->y, at[k], c->dims);
        copy_block(&u, k, r->u, at[k], c->dims);
    }
    pull_in(c, &m, &p, &y, &u);
    for (size_t k = 0; k < n; k++) {
        copy_block(r->m, at[k], &m, k, c->dims);
        copy_block(r->p, at[k], &p, k, c->dims);
    }
}

static bool any(const float outside[LATTICE_LANES])
{
    float sum = 0;

    for (int l = 0; l < LATTICE_LANES; l++)
        sum += outside[l];
    return sum > 0;
}

size_t lattice_run_quantise(const struct lattice_cell *c, struct lattice_run *r, size_t blocks)
{
    uint16_t at[LATTICE_RUN + 1];
    float outside[LATTICE_LANES];
    size_t bad = 0;

    CHECK(blocks <= LATTICE_RUN);
    for (size_t g = 0; g < groups_of(blocks); g++) {
        lattice_cell_nearest(c, &r->m[g], &r->p[g], &r->y[g], &r->u[g]);
        lattice_cell_outside(c, outside, &r->p[g]);
        for (size_t l = 0; l < LATTICE_LANES && any(outside); l++) {
            at[bad] = (uint16_t)(g * LATTICE_LANES + l);
            bad += outside[l] > 0 && g * LATTICE_LANES + l < blocks;
        }
    }
    for (size_t k = 0; k < bad; k += LATTICE_LANES)
        amend(c, r, at + k, bad - k < LATTICE_LANES ? bad - k : LATTICE_LANES);
    return bad;
}
