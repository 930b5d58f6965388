/* dpsum.c -- rows to doubles, some at a time, their products added up, and the grid.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/dpsum.h"

#include "common/base/check.h"
#include "common/nn/backward.h"
#include "common/nn/gemm.h"
#include "common/nn/layer.h"
#include "common/nn/sound.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* So many rows are turned into doubles at a time. */
enum { ROWS = 32 };

/* Its gradients are made row by row. */
static bool is_single(const struct layer_kind *kind)
{
    return kind->gradients != NULL && kind->norm2 == NULL;
}

static size_t singles(const struct nn_spec *spec)
{
    size_t n = 0;

    for (size_t i = 0; i < spec->layers; i++)
        if (is_single(layer_kind_of(spec, i)))
            n += nn_spec_layer_params(spec, i);
    return n;
}

static size_t widest(const struct nn_spec *spec, bool inputs)
{
    size_t most = 0;

    for (size_t i = 0; i < spec->layers; i++) {
        const struct layer_sizes sizes = layer_kind_of(spec, i)->sizes(spec, i);
        const size_t width = inputs ? sizes.in : sizes.out;

        if (!is_single(layer_kind_of(spec, i)) && width > most)
            most = width;
    }
    return most;
}

size_t dpsum_doubles(const struct nn_spec *spec)
{
    const size_t params = nn_spec_params(spec);

    if (params > DPSUM_PARAMS_MAX)
        return 0;
    _Static_assert(sizeof(double) == 2 * sizeof(float), "two for one");
    return params + ROWS * (widest(spec, true) + widest(spec, false)) + (singles(spec) + 1) / 2;
}

void dpsum_init(struct dpsum *s, const struct nn_spec *spec, double *memory)
{
    s->params = nn_spec_params(spec);
    s->sum = memory;
    s->input = memory + s->params;
    s->output = s->input + ROWS * widest(spec, true);
    s->row = (float *)(void *)(s->output + ROWS * widest(spec, false));
}

/* x factor; of a row that counts as nothing, which may hold anything (an infinity times 0 is none),
 * no bit. */
static inline double widened(float x, double factor, uint64_t counts)
{
    double value = (double)x * factor;
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    bits &= counts;
    memcpy(&value, &bits, sizeof bits);
    return value;
}

void dpsum_widen(double *out, const float *x, size_t cols, double factor)
{
    const uint64_t counts = -(uint64_t)(factor != 0);

    for (size_t i = 0; i < cols; i++)
        out[i] = widened(x[i], factor, counts);
}

static void add_widened(double *sum, const float *x, size_t n, double factor)
{
    const uint64_t counts = -(uint64_t)(factor != 0);

    for (size_t i = 0; i < n; i++)
        sum[i] += widened(x[i], factor, counts);
}

static void add_layer(struct dpsum *s, double *sum, const struct nn_layer *l, const double *factor,
                      size_t rows)
{
    for (size_t r = 0; r < rows; r++) {
        dpsum_widen(s->input + r * l->in, l->x + r * l->in, l->in, (double)(factor[r] != 0));
        dpsum_widen(s->output + r * l->out, l->dy + r * l->out, l->out, factor[r]);
    }
    gemm_tn_add(sum, s->input, s->output, l->in, l->out, (uint32_t)rows);
    for (size_t r = 0; r < rows && l->b != NULL; r++) {
        for (size_t i = 0; i < l->out; i++)
            sum[(size_t)l->in * l->out + i] += s->output[r * l->out + i];
    }
}

/* Some rows at a time. */
static void add_products(struct dpsum *s, double *sum, struct nn_layer l, const double *factor,
                         uint32_t rows)
{
    for (size_t r = 0; r < rows; r += ROWS) {
        const size_t some = rows - r < ROWS ? rows - r : ROWS;

        add_layer(s, sum, &l, factor + r, some);
        l.x += some * l.in;
        l.dy += some * l.out;
    }
}

void dpsum_begin(struct dpsum *s)
{
    memset(s->sum, 0, s->params * sizeof *s->sum);
}

double dpsum_norm2(struct dpsum *s, const struct nn_net *n, size_t r)
{
    float *row = s->row;
    uint32_t sound = UINT32_MAX;
    double sum = 0;

    for (size_t i = 0; i < n->spec.layers; i++) {
        const struct nn_layer *l = &n->layer[i];

        if (is_single(l->kind)) {
            layer_row_gradients(l, row, r);
            sound_look(&sound, row, 1, l->params);
            sum += layer_square(row, l->params);
            row += l->params;
        } else if (l->params > 0) {
            sum += l->kind->norm2(l, r);
        }
    }
    return sound != 0 ? sum : (double)INFINITY;
}

void dpsum_add_row(struct dpsum *s, const struct nn_net *n, double factor)
{
    double *sum = s->sum;
    const float *row = s->row;

    for (size_t i = 0; i < n->spec.layers; i++) {
        const struct nn_layer *l = &n->layer[i];

        if (is_single(l->kind)) {
            add_widened(sum, row, l->params, factor);
            row += l->params;
        }
        sum += l->params;
    }
}

void dpsum_add(struct dpsum *s, const struct nn_net *n, const double *factor)
{
    double *sum = s->sum;

    for (size_t i = 0; i < n->spec.layers; i++) {
        const struct nn_layer *l = &n->layer[i];

        if (l->kind->add != NULL)
            l->kind->add(sum, l, factor, n->rows);
        else if (l->params > 0 && !is_single(l->kind))
            add_products(s, sum, *l, factor, n->rows);
        sum += nn_layer_params(l);
    }
}

double dpsum_ratio(double noise, size_t params)
{
    double ratio = DPSUM_RATIO_MIN;

    if (!(noise >= DPSUM_NOISE_MIN) || params > DPSUM_PARAMS_MAX)
        return 0;
    while (ratio <= DPSUM_RATIO_MAX && ratio < 1024 * noise * sqrt((double)params))
        ratio *= 2;
    return ratio <= DPSUM_RATIO_MAX ? ratio : 0;
}

/* The nearest integer, for |x| < 2^51: from there on a double has no other bits.  rint would look
 * at how large x is, and branch. */
static double nearest(double x)
{
    return (x + 0x1.8p52) - 0x1.8p52;
}

/* All integers here are below 2^51, where a double is exact: a sum is no more than 2^16 clips, and
 * a clip is ratio / noise steps, no more than 2^11 sqrt(params) or 2^22. */
void dpsum_release(const struct dpsum *s, struct nn_net *n, const int32_t *noise, double step)
{
    const double *sum = s->sum;

    for (size_t i = 0; i < n->spec.layers; i++) {
        float *g = n->layer[i].dw;
        const size_t count = nn_layer_params(&n->layer[i]);

        for (size_t k = 0; k < count; k++)
            g[k] = (float)(step * (nearest(sum[k] / step) + noise[k]));
        sum += count;
        noise += count;
    }
}
