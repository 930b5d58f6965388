/* backward.c -- deltas, and what they give.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/backward.h"

#include "common/base/check.h"
#include "common/nn/clones.h"
#include "common/nn/layer.h"
#include "common/nn/sound.h"

#include <string.h>

/* One row's overflow is that row's alone until rows are added up. */
static void clear_broken(struct nn_net *n, float *dx)
{
    memcpy(n->sound_back, n->sound, n->rows * sizeof *n->sound);
    for (size_t i = 0; i < n->spec.layers; i++)
        sound_look(n->sound_back, n->layer[i].dy, n->rows, n->layer[i].width);
    for (size_t i = 0; i < n->spec.layers; i++)
        if (n->layer[i].kind->back_in_made)
            sound_look(n->sound_back, n->layer[i].made, n->rows, n->layer[i].keeps);
    if (dx != NULL)
        sound_look(n->sound_back, dx, n->rows, n->spec.width[0]);
    for (size_t i = 0; i < n->spec.layers; i++)
        sound_keep(n->layer[i].dy, n->sound_back, n->rows, n->spec.width[i + 1]);
    for (size_t i = 0; i < n->spec.layers; i++)
        if (n->layer[i].kind->back_in_made)
            sound_keep(n->layer[i].made, n->sound_back, n->rows, n->layer[i].keeps);
    if (dx != NULL)
        sound_keep(dx, n->sound_back, n->rows, n->spec.width[0]);
}

CLONES static void add(float *restrict sum, const float *restrict more, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += more[i];
}

/* Values that something has come back to already. */
struct taken {
    bool value[NN_LAYERS_MAX + 1];
};

/* Where the gradient of a value is: the net's input has none where nobody asks for it. */
static float *gradient_of(struct nn_net *n, float *dx, size_t value)
{
    return value > 0 ? n->layer[value - 1].dy : dx;
}

/* Back through layer i.  What goes more than one way gets the sum of what comes back by each. */
static void go_back(struct nn_net *n, float *dx, struct taken *t, size_t i)
{
    struct nn_layer *l = &n->layer[i];
    const size_t in = layer_takes(&n->spec, i), beside = i - l->spec.beside;
    float *to = gradient_of(n, dx, in), *also = gradient_of(n, dx, beside);

    l->kind->delta(l, to != NULL && t->value[in] ? n->aside : to, n->rows);
    if (to != NULL && t->value[in])
        add(to, n->aside, (size_t)n->rows * n->spec.width[in]);
    t->value[in] = true;
    if (!l->kind->joins || also == NULL)
        return;
    if (t->value[beside])
        add(also, l->dy, (size_t)n->rows * l->width);
    else
        memcpy(also, l->dy, n->rows * l->width * sizeof *also);
    t->value[beside] = true;
}

void backward_deltas(struct nn_net *n, float *dx, const float *dy)
{
    const size_t bytes = (size_t)n->rows * n->spec.width[n->spec.layers] * sizeof *dy;
    struct taken taken = {{false}};
    float *last = n->spec.layers > 0 ? n->layer[n->spec.layers - 1].dy : dx;

    CHECK(n->x != NULL);
    CHECK(dx == NULL || n->spec.layers == 0 || !n->layer[0].kind->no_dx);
    if (last != NULL)
        memcpy(last, dy, bytes);
    for (size_t i = n->spec.layers; i-- > 0;)
        go_back(n, dx, &taken, i);
    clear_broken(n, dx);
}

void backward_gradients(struct nn_net *n)
{
    for (size_t i = 0; i < n->spec.layers; i++)
        if (n->layer[i].params > 0)
            n->layer[i].kind->gradients(&n->layer[i], n->rows);
}
