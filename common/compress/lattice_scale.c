/* lattice_scale.c -- trials on a sample.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/lattice_scale.h"

#include "common/base/clones.h"
#include "common/compress/dither.h"
#include "common/compress/lattice_run.h"

#include <math.h>

enum { SAMPLE = 1024, TRIALS = 9 }; /* components; steps of the search for one region */

struct sample {
    struct lattice_cell cell;
    struct lattice_run run;
    struct lattice_group x[LATTICE_RUN_GROUPS]; /* in units of the message's rms */
    uint16_t t[LATTICE_RUN * LATTICE_DIMS];
    uint32_t dims;
    size_t blocks;
    double weight_last; /* of the last block, that of the largest value; of the others: 1 */
};

/* --- the message --- */

struct extent {
    double rms, max;
    size_t max_at;
};

static struct extent extent_of(const float *x, size_t n)
{
    struct extent e = {0, 0, 0};
    float max = -1;

    for (size_t i = 0; i < n; i++) {
        e.rms += (double)x[i] * (double)x[i];
        if (fabsf(x[i]) > max) {
            max = fabsf(x[i]);
            e.max_at = i;
        }
    }
    e.rms = sqrt(e.rms / (double)n);
    e.max = (double)max;
    return e;
}

static void take_block(struct sample *s, size_t k, const float *x, size_t n, size_t block,
                       double rms)
{
    for (size_t i = 0; i < s->dims; i++) {
        const size_t at = block * s->dims + i;

        s->x[k / LATTICE_LANES].v[i][k % LATTICE_LANES] = at < n ? (float)((double)x[at] / rms) : 0;
    }
}

/* Blocks at equal distances, and the one of the largest value; with what dithers. */
static void take(struct sample *s, const float *x, size_t n, const struct extent *e)
{
    static const uint8_t key[DITHER_KEY_BYTES];
    const size_t blocks = (n + s->dims - 1) / s->dims;
    const size_t most = SAMPLE / s->dims < LATTICE_RUN ? SAMPLE / s->dims : LATTICE_RUN;

    s->blocks = blocks < most ? blocks : most;
    s->weight_last = 1;
    for (size_t k = 0; k < s->blocks; k++)
        take_block(s, k, x, n, k * blocks / s->blocks, e->rms);
    if (s->blocks < blocks) {
        take_block(s, s->blocks - 1, x, n, e->max_at / s->dims, e->rms);
        s->weight_last = (double)(s->blocks - 1) / (double)(blocks - 1);
    }
    for (size_t k = s->blocks; k % LATTICE_LANES != 0; k++)
        take_block(s, k, x, 0, 0, 1);
    dither_fill(s->t, LATTICE_RUN * (size_t)s->dims, key, 0);
}

/* --- trials --- */

WIDE_CLONES static void divide(struct lattice_group *restrict y,
                               const struct lattice_group *restrict x, uint32_t dims, float scale,
                               float most)
{
    for (uint32_t i = 0; i < dims; i++)
        for (int l = 0; l < LATTICE_LANES; l++) {
            const float v = x->v[i][l] / scale, v0 = v < most ? v : most;

            y->v[i][l] = v0 > -most ? v0 : -most;
        }
}

WIDE_CLONES static void errors(float sum[restrict LATTICE_LANES],
                               const struct lattice_group *restrict x,
                               const struct lattice_group *restrict p, uint32_t dims, float scale)
{
    for (int l = 0; l < LATTICE_LANES; l++)
        sum[l] = 0;
    for (uint32_t i = 0; i < dims; i++)
        for (int l = 0; l < LATTICE_LANES; l++) {
            const float e = x->v[i][l] - scale * p->v[i][l];

            sum[l] += e * e;
        }
}

/* The squared error of the sample under this scale. */
static double trial(struct sample *s, double scale)
{
    const size_t groups = (s->blocks + LATTICE_LANES - 1) / LATTICE_LANES;
    float sum[LATTICE_LANES];
    double total = 0;

    for (size_t g = 0; g < groups; g++)
        divide(&s->run.y[g], &s->x[g], s->dims, (float)scale, 2 * s->cell.size);
    lattice_run_quantise(&s->cell, &s->run, s->blocks);
    for (size_t g = 0; g < groups; g++) {
        errors(sum, &s->x[g], &s->run.p[g], s->dims, (float)scale);
        for (size_t l = 0, k = g * LATTICE_LANES; l < LATTICE_LANES && k < s->blocks; l++, k++)
            total += (double)sum[l] * (k + 1 == s->blocks ? s->weight_last : 1);
    }
    return total;
}

/* Golden section on log scale between low and high; returns the best scale tried, and its error. */
static double search(struct sample *s, double low, double high, double *error)
{
    const double golden = (sqrt(5) - 1) / 2;
    double a = log(low), b = log(high), c = b - golden * (b - a), d = a + golden * (b - a);
    double at_c = trial(s, exp(c)), at_d = trial(s, exp(d));

    for (int k = 2; k < TRIALS; k++) {
        if (at_c <= at_d) {
            b = d;
            d = c;
            at_d = at_c;
            c = b - golden * (b - a);
            at_c = trial(s, exp(c));
        } else {
            a = c;
            c = d;
            at_c = at_d;
            d = a + golden * (b - a);
            at_d = trial(s, exp(d));
        }
    }
    *error = at_c <= at_d ? at_c : at_d;
    return exp(at_c <= at_d ? c : d);
}

struct lattice_fit lattice_scale_fit(enum plan_encoding kind, uint32_t bits, const float *x,
                                     size_t n)
{
    const struct extent e = extent_of(x, n);
    const double unit = ldexp(2, -(int)bits); /* a cell's side when R reaches from -1 to 1 */
    struct sample s;
    double best = INFINITY;
    struct lattice_fit fit = {0, false};

    if (e.max * unit < (double)LATTICE_SCALE_MIN * 4)
        return fit;
    s.dims = lattice_dims(kind);
    take(&s, x, n, &e);
    for (int square = 0; square < (s.dims > 1 ? 2 : 1); square++) {
        double error, scale;

        lattice_cell_of(&s.cell, kind, bits, square != 0);
        lattice_run_dither(&s.cell, &s.run, s.t, s.blocks);
        scale = search(&s, 0.7 * unit, 2 * unit * e.max / e.rms, &error);
        if (error < best) {
            best = error;
            fit = (struct lattice_fit){(float)(scale * e.rms), square != 0};
        }
    }
    fit.scale = fminf(fmaxf(fit.scale, LATTICE_SCALE_MIN), lattice_scale_max(bits));
    return fit;
}
