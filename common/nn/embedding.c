/* embedding.c -- rows of tables, looked up, and what comes back to them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/embedding.h"

#include "common/crypto/secret.h"
#include "common/nn/dpsum.h"

#include <stdio.h>
#include <string.h>

/* Entries are drawn from U(+-this), small beside standardised columns: a level that hardly any row
 * has stays near the zeros of one that none has. */
static const double ENTRY_MAX = 0.05;

size_t embedding_params(const struct nn_embedded *e)
{
    size_t sum = 0;

    for (size_t k = 0; k < e->n; k++)
        sum += (size_t)e->of[k].levels * e->of[k].width;
    return sum;
}

size_t embedding_width(const struct nn_embedded *e, size_t columns)
{
    size_t width = columns - e->n;

    for (size_t k = 0; k < e->n; k++)
        width += e->of[k].width;
    return width;
}

static bool fits(const struct nn_spec *s, size_t i)
{
    const struct nn_embedded *e = &s->embedded;

    if (i != 0 || e->n < 1 || e->n > NN_EMBEDDED_MAX || s->act[0] != NN_ACT_NONE ||
        (s->layers == 1 && s->out_scale != 1.0F))
        return false;
    for (size_t k = 0; k < e->n; k++)
        if (e->of[k].column >= s->width[0] || e->of[k].levels < 1 ||
            e->of[k].levels > NN_EMBEDDED_LEVELS_MAX || e->of[k].width < 1 ||
            e->of[k].width > NN_EMBEDDED_WIDTH_MAX ||
            (k > 0 && e->of[k].column <= e->of[k - 1].column))
            return false;
    return embedding_params(e) <= NN_EMBEDDED_PARAMS_MAX &&
           embedding_width(e, s->width[0]) == s->width[1];
}

static struct layer_sizes sizes(const struct nn_spec *s, size_t i)
{
    (void)i;
    return (struct layer_sizes){.biases = embedding_params(&s->embedded)};
}

static void draw(struct nn_layer *l, enum nn_init init, struct rng *r)
{
    (void)init;
    for (size_t i = 0; i < l->params; i++)
        l->w[i] = (float)((2.0 * rng_uniform(r) - 1.0) * ENTRY_MAX);
}

/* Columns that come in. */
static size_t columns_of(const struct nn_layer *l)
{
    return l->width - embedding_width(l->embedded, l->embedded->n) + l->embedded->n;
}

/* 0 for whatever is none. */
static size_t level_of(float x, uint32_t levels)
{
    return x >= 1.0F && x < (float)levels + 1.0F ? (size_t)x : 0;
}

static void pass(float *y, const float *x, size_t columns, const struct nn_embedded *e)
{
    size_t k = 0;

    for (size_t c = 0; c < columns; c++) {
        if (k < e->n && e->of[k].column == c)
            k++;
        else
            *y++ = x[c];
    }
}

/* v, or 0 where `here` is none of its bits. */
static float masked(float v, uint32_t here)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof bits);
    bits &= here;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Where a level stands in its table: one that is none at the first, with no bit of it here.  So a
 * row without levels, as one is that a party does not have, takes the same steps as any other. */
static size_t entry_of(size_t level, uint32_t *here)
{
    *here = -(uint32_t)(level > 0);
    return level - (level > 0);
}

static void forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    const struct nn_embedded *e = l->embedded;
    const size_t columns = columns_of(l);

    l->x = x;
    for (size_t r = 0; r < rows; r++, x += columns) {
        const float *table = l->w;
        float *y = l->y + r * l->width;

        pass(y, x, columns, e);
        y += columns - e->n;
        for (size_t k = 0; k < e->n; k++) {
            const size_t width = e->of[k].width;
            uint32_t here;
            const size_t entry = entry_of(level_of(x[e->of[k].column], e->of[k].levels), &here);

            for (size_t i = 0; i < width; i++)
                y[i] = masked(table[entry * width + i], here);
            table += e->of[k].levels * width;
            y += width;
        }
    }
}

/* There is no activation to go back through, and nobody asks what the inputs get. */
static void delta(struct nn_layer *l, float *dx, uint32_t rows)
{
    (void)l;
    (void)dx;
    (void)rows;
}

/* Where row r's own gradient may be other than zero: each table's part, one after the other. */
struct part {
    size_t k;         /* the table; at first 0 */
    size_t table;     /* where it begins in w */
    const float *dy;  /* `width` values, to be masked by `here`, ... */
    size_t at, width; /* ... of the parameters from `at` on */
    uint32_t here;
};

static struct part first_part(const struct nn_layer *l, size_t r)
{
    return (struct part){.dy = l->dy + r * l->width + columns_of(l) - l->embedded->n};
}

/* False when there is no further one. */
static bool next_part(struct part *p, const struct nn_layer *l, size_t r)
{
    const struct nn_embedded *e = l->embedded;
    const float *x = l->x + r * columns_of(l);

    p->dy += p->width;
    if (p->k == e->n)
        return false;
    p->width = e->of[p->k].width;
    p->at = p->table +
            p->width * entry_of(level_of(x[e->of[p->k].column], e->of[p->k].levels), &p->here);
    p->table += e->of[p->k].levels * p->width;
    p->k++;
    return true;
}

static void gradients(struct nn_layer *l, uint32_t rows)
{
    memset(l->dw, 0, l->params * sizeof *l->dw);
    for (size_t r = 0; r < rows; r++)
        for (struct part p = first_part(l, r); next_part(&p, l, r);)
            for (size_t i = 0; i < p.width; i++)
                l->dw[p.at + i] += masked(p.dy[i], p.here);
}

static double norm2(const struct nn_layer *l, size_t r)
{
    double sum = 0;

    for (struct part p = first_part(l, r); next_part(&p, l, r);)
        for (size_t i = 0; i < p.width; i++) {
            const double d = masked(p.dy[i], p.here);

            sum += d * d;
        }
    return sum;
}

static void add(double *sum, const struct nn_layer *l, const double *factor, uint32_t rows)
{
    double d[NN_EMBEDDED_WIDTH_MAX];

    for (size_t r = 0; r < rows; r++)
        for (struct part p = first_part(l, r); next_part(&p, l, r);) {
            dpsum_widen(d, p.dy, p.width, factor[r] * (p.here & 1));
            for (size_t i = 0; i < p.width; i++)
                sum[p.at + i] += d[i];
        }
    secret_wipe(d, sizeof d);
}

static size_t tensors(const struct nn_layer *l)
{
    return l->embedded->n;
}

static struct layer_tensor tensor(const struct nn_layer *l, size_t i, size_t index)
{
    const struct nn_embedded *e = l->embedded;
    struct layer_tensor t = {.values = l->w, .rank = 2};

    for (size_t k = 0; k < index; k++)
        t.values += (size_t)e->of[k].levels * e->of[k].width;
    t.shape[0] = e->of[index].levels;
    t.shape[1] = e->of[index].width;
    t.count = (size_t)e->of[index].levels * e->of[index].width;
    snprintf(t.name, sizeof t.name, "layer.%zu.table.%zu", i, index);
    return t;
}

const struct layer_kind EMBEDDING_LAYER = {
    .name = "embedding",
    .fits = fits,
    .sizes = sizes,
    .draw = draw,
    .forward = forward,
    .delta = delta,
    .no_dx = true,
    .gradients = gradients,
    .norm2 = norm2,
    .add = add,
    .tensors = tensors,
    .tensor = tensor,
};
