/* lattice_scale.c -- trials on a sample: blocks at equal distances, and the sixteen of the largest
 * norms, since it is those that a scale cuts off.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/lattice_scale.h"

#include "common/base/clones.h"
#include "common/base/golden.h"
#include "common/compress/lattice_run.h"
#include "common/compress/lattice_stream.h"

#include <math.h>
#include <string.h>

enum {
    SAMPLE = 1024,     /* components, and ... */
    GROUPS_MAX = 16,   /* ... groups of blocks at most */
    TRIALS_ROUND = 8,  /* scales tried for a round region, ... */
    TRIALS_SQUARE = 6, /* ... and for a square one, nearby */
};

struct sample {
    struct lattice_cell cell;
    struct lattice_run run;
    struct lattice_group x[GROUPS_MAX]; /* in units of the message's rms */
    uint16_t t[GROUPS_MAX * LATTICE_LANES * LATTICE_DIMS];
    uint32_t dims;
    size_t blocks;
    double weight; /* of all blocks but those of the first group: how many each stands for */
};

/* --- the message --- */

/* Of the blocks seen so far those of the largest norms, in no order. */
struct top {
    size_t n, least; /* how many; the place of the least */
    float norm[LATTICE_LANES];
    size_t block[LATTICE_LANES];
};

struct extent {
    float max;  /* largest |x| */
    double rms; /* in units of max */
    struct top top;
};

WIDE_CLONES static float largest(const float *x, size_t n)
{
    float most[LATTICE_LANES] = {0}, max = 0;
    size_t i = 0;

    for (; i + LATTICE_LANES <= n; i += LATTICE_LANES)
        for (size_t l = 0; l < LATTICE_LANES; l++) {
            const float v = fabsf(x[i + l]);

            most[l] = v > most[l] ? v : most[l];
        }
    for (; i < n; i++)
        max = fabsf(x[i]) > max ? fabsf(x[i]) : max;
    for (size_t l = 0; l < LATTICE_LANES; l++)
        max = most[l] > max ? most[l] : max;
    return max;
}

WIDE_CLONES static void norms(float sum[restrict LATTICE_LANES],
                              const struct lattice_group *restrict x, uint32_t dims)
{
    for (int l = 0; l < LATTICE_LANES; l++)
        sum[l] = 0;
    for (uint32_t i = 0; i < dims; i++)
        for (int l = 0; l < LATTICE_LANES; l++)
            sum[l] += x->v[i][l] * x->v[i][l];
}

static void offer(struct top *t, float norm, size_t block)
{
    if (t->n < LATTICE_LANES) {
        t->norm[t->n] = norm;
        t->block[t->n++] = block;
    } else if (norm > t->norm[t->least]) {
        t->norm[t->least] = norm;
        t->block[t->least] = block;
    } else {
        return;
    }
    t->least = 0;
    for (size_t k = 1; k < t->n; k++)
        t->least = t->norm[k] < t->norm[t->least] ? k : t->least;
}

static void measure(struct extent *e, const float *x, size_t n, uint32_t dims)
{
    const size_t whole = (size_t)dims * LATTICE_LANES;
    struct lattice_group group;
    float norm[LATTICE_LANES];
    double sum = 0;

    memset(e, 0, sizeof *e);
    e->max = largest(x, n);
    for (size_t at = 0; at < n && e->max > 0; at += whole) {
        const size_t some = n - at < whole ? n - at : whole;

        lattice_run_load_group(&group, dims, x + at, some, e->max, 1);
        norms(norm, &group, dims);
        for (size_t l = 0; l * dims < some; l++) {
            sum += (double)norm[l];
            offer(&e->top, norm[l], at / dims + l);
        }
    }
    e->rms = sqrt(sum / (double)n);
}

/* --- the sample --- */

static void take_block(struct sample *s, size_t k, const float *x, size_t n, size_t block,
                       double unit)
{
    for (size_t i = 0; i < s->dims; i++) {
        const size_t at = block * s->dims + i;

        s->x[k / LATTICE_LANES].v[i][k % LATTICE_LANES] =
            at < n ? (float)((double)x[at] / unit) : 0;
    }
}

/* The block, or the next that is none of the top ones. */
static size_t not_top(const struct top *t, size_t block, size_t blocks)
{
    for (size_t k = 0; k < t->n; k++)
        if (t->block[k] == block) {
            block = (block + 1) % blocks;
            k = (size_t)-1; /* from the start */
        }
    return block;
}

/* Everything, or the top blocks and then others; with what dithers. */
static void take(struct sample *s, const float *x, size_t n, const struct extent *e)
{
    static const uint8_t key[PRG_KEY_BYTES];
    struct prg stream;
    const double unit = e->rms * (double)e->max;
    const size_t blocks = (n + s->dims - 1) / s->dims;
    size_t most = SAMPLE / s->dims, first = 0, block;

    most = most < GROUPS_MAX * LATTICE_LANES ? most : GROUPS_MAX * LATTICE_LANES;
    s->blocks = blocks < most ? blocks : most;
    s->weight = 1;
    if (s->blocks < blocks) {
        for (; first < LATTICE_LANES; first++)
            take_block(s, first, x, n, e->top.block[first], unit);
        s->weight = (double)(blocks - first) / (double)(s->blocks - first);
    }
    for (size_t k = first; k < s->blocks; k++) {
        block = (k - first) * blocks / (s->blocks - first);
        take_block(s, k, x, n, first > 0 ? not_top(&e->top, block, blocks) : block, unit);
    }
    for (size_t k = s->blocks; k % LATTICE_LANES != 0; k++)
        take_block(s, k, x, 0, 0, 1);
    lattice_stream_begin(&stream, key);
    lattice_stream_fill(&stream, s->t, sizeof s->t / sizeof *s->t);
    lattice_stream_end(&stream);
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

/* The squared error of the message, as the sample has it, under the scale of this logarithm. */
static double trial(void *sample, double log_scale)
{
    struct sample *s = sample;
    const double scale = exp(log_scale);
    const size_t groups = (s->blocks + LATTICE_LANES - 1) / LATTICE_LANES;
    float sum[LATTICE_LANES];
    double total = 0;

    for (size_t g = 0; g < groups; g++)
        divide(&s->run.y[g], &s->x[g], s->dims, (float)scale, 2 * s->cell.size);
    lattice_run_quantise(&s->cell, &s->run, s->blocks);
    for (size_t g = 0; g < groups; g++) {
        errors(sum, &s->x[g], &s->run.p[g], s->dims, (float)scale);
        for (size_t l = 0, k = g * LATTICE_LANES; l < LATTICE_LANES && k < s->blocks; l++, k++)
            total += (double)sum[l] * (g > 0 ? s->weight : 1);
    }
    return total;
}

struct found {
    double scale, error;
};

/* The best scale tried between low and high. */
static struct found search_region(struct sample *s, enum plan_encoding kind, uint32_t bits,
                                  bool square, double low, double high)
{
    struct golden best;

    lattice_cell_of(&s->cell, kind, bits, square);
    lattice_run_dither(&s->cell, &s->run, s->t, s->blocks);
    best = golden_search(trial, s, log(low), log(high), square ? TRIALS_SQUARE : TRIALS_ROUND);
    return (struct found){exp(best.at), best.value};
}

void lattice_scale_fit(struct lattice_fit *fit, enum plan_encoding kind, uint32_t bits,
                       const float *x, size_t n)
{
    const double unit = ldexp(2, -(int)bits); /* a cell's side when R reaches from -1 to 1 */
    struct found round, square = {0, INFINITY};
    struct extent e;
    struct sample s;
    double scale;

    *fit = (struct lattice_fit){.kind = kind, .bits = bits};
    s.dims = lattice_dims(kind);
    measure(&e, x, n, s.dims);
    if ((double)e.max * unit < 4 * (double)LATTICE_SCALE_MIN)
        return;
    take(&s, x, n, &e);
    round = search_region(&s, kind, bits, false, 0.7 * unit, 2 * unit / e.rms);
    if (s.dims > 1)
        square = search_region(&s, kind, bits, true, 0.5 * round.scale, 1.4 * round.scale);
    fit->square = square.error < round.error;
    scale = (fit->square ? square.scale : round.scale) * e.rms * (double)e.max;
    fit->scale =
        (float)fmin(fmax(scale, (double)LATTICE_SCALE_MIN), (double)lattice_scale_max(bits));
}

float lattice_scale_spanning(uint32_t bits, float range)
{
    return 2 * range / (LATTICE_ROOM * (float)(1U << bits) - 1);
}
