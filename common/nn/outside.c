/* outside.c -- a layer that asks its owner, and states as floats.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/outside.h"

#include "common/base/check.h"
#include "common/nn/act.h"

#include <string.h>

/* Values of a batch that is handed over in evaluations: 64 MiB. */
enum { ROWS_VALUES = 1 << 24 };
/* Before the bytes: whether it is lost, and the length, three bytes in each. */
enum { HEAD = 4, EACH = 3 };
static const float WHOLE_MAX = 16777216.0F; /* 2^24 */

/* --- the layer --- */

static bool fits(const struct nn_spec *s, size_t i)
{
    const uint32_t floats = s->layer[i].units;

    return s->layers <= 1 && i == 0 && floats >= HEAD && floats <= OUTSIDE_FLOATS_MAX;
}

static struct layer_sizes sizes(const struct nn_spec *s, size_t i)
{
    /* How long it takes nobody knows, but that it is no work for the thread of the sockets. */
    return (struct layer_sizes){.running = s->layer[i].units, .work = 1e12};
}

/* What it begins with is its owner's. */
static void draw(struct nn_layer *l, enum nn_init init, struct rng *r)
{
    (void)l;
    (void)init;
    (void)r;
}

static void forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    CHECK(l->outside != NULL);
    l->x = x;
    l->outside->forward(l->outside->owner, l->y, x, rows, l->training);
    act_forward(l->y, NULL, l->act, l->scale, rows, l->width);
}

static void delta(struct nn_layer *l, float *dx, uint32_t rows)
{
    act_backward(l->dy, l->y, l->act, l->scale, rows, l->width);
    if (dx == NULL)
        return;
    CHECK(l->outside->back != NULL);
    l->outside->back(l->outside->owner, dx, l->dy, rows);
}

/* The gradient is handed over with the step. */
static void gradients(struct nn_layer *l, uint32_t rows)
{
    (void)l;
    (void)rows;
}

static void settle(struct nn_layer *l, uint32_t rows, float learning_rate)
{
    l->outside->step(l->outside->owner, l->dy, rows, learning_rate);
}

static void fetch(const struct nn_layer *l)
{
    if (l->outside != NULL)
        l->outside->fetch(l->outside->owner, l->w, l->params);
}

static void give(const struct nn_layer *l)
{
    if (l->outside != NULL)
        l->outside->give(l->outside->owner, l->w, l->params);
}

static size_t tensors(const struct nn_layer *l)
{
    (void)l;
    return 1;
}

static struct layer_tensor tensor(const struct nn_layer *l, size_t i, size_t index)
{
    const struct layer_tensor t = {
        .values = l->w, .count = l->params, .rank = 1, .shape = {l->params}};

    (void)index;
    return layer_named(t, l, i, "state");
}

const struct layer_kind OUTSIDE_LAYER = {
    .name = "program",
    .fits = fits,
    .sizes = sizes,
    .draw = draw,
    .forward = forward,
    .delta = delta,
    .activates = true,
    .gradients = gradients,
    .settle = settle,
    .fetch = fetch,
    .give = give,
    .tensors = tensors,
    .tensor = tensor,
};

/* --- states --- */

size_t outside_floats(size_t bytes_max)
{
    return HEAD + (bytes_max + EACH - 1) / EACH;
}

uint32_t outside_rows(uint32_t inputs, uint32_t most)
{
    const uint32_t some = ROWS_VALUES / (inputs > 0 ? inputs : 1);

    return some >= most ? most : some > 0 ? some : 1;
}

static float whole(const uint8_t *b, size_t n)
{
    uint32_t v = 0;

    for (size_t k = 0; k < n; k++)
        v |= (uint32_t)b[k] << 8 * k;
    return (float)v;
}

/* What was no whole number below 2^24 is no byte of a state. */
static bool part(uint32_t *v, float w)
{
    if (!(w >= 0) || !(w < WHOLE_MAX))
        return false;
    *v = (uint32_t)w;
    return !((float)*v < w);
}

void outside_pack(float *w, size_t floats, const uint8_t *bytes, size_t n)
{
    CHECK(floats >= outside_floats(n) && n <= OUTSIDE_BYTES_MAX);
    memset(w, 0, floats * sizeof *w);
    for (size_t k = 1; k < HEAD; k++)
        w[k] = (float)(n >> 24 * (k - 1) & 0xffffff);
    for (size_t i = 0; i < n; i += EACH)
        w[HEAD + i / EACH] = whole(bytes + i, n - i < EACH ? n - i : EACH);
}

void outside_pack_lost(float *w, size_t floats)
{
    CHECK(floats >= HEAD);
    memset(w, 0, floats * sizeof *w);
    w[0] = 1;
}

bool outside_unpack(uint8_t *bytes, size_t max, size_t *n, bool *lost, const float *w,
                    size_t floats)
{
    uint32_t v, head[HEAD];

    for (size_t k = 0; k < HEAD; k++)
        if (floats < HEAD || !part(&head[k], w[k]))
            return false;
    *n = head[1] | (size_t)head[2] << 24;
    *lost = head[0] == 1;
    if (head[0] > 1 || head[3] != 0 || *n > (floats - HEAD) * EACH)
        return false;
    for (size_t i = 0; i < *n; i++) {
        if (!part(&v, w[HEAD + i / EACH]))
            return false;
        if (i < max)
            bytes[i] = (uint8_t)(v >> 8 * (i % EACH));
    }
    return true;
}
