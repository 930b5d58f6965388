/* backward.c -- deltas, and what they give.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/backward.h"

#include "common/base/check.h"
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

void backward_deltas(struct nn_net *n, float *dx, const float *dy)
{
    const size_t bytes = (size_t)n->rows * n->spec.width[n->spec.layers] * sizeof *dy;
    float *last = n->spec.layers > 0 ? n->layer[n->spec.layers - 1].dy : dx;

    CHECK(n->x != NULL);
    CHECK(dx == NULL || n->spec.layers == 0 || !n->layer[0].kind->no_dx);
    if (last != NULL)
        memcpy(last, dy, bytes);
    for (size_t i = n->spec.layers; i-- > 0;) {
        struct nn_layer *l = &n->layer[i];

        l->kind->delta(l, n->masked, i > 0 ? n->layer[i - 1].dy : dx, n->rows);
    }
    clear_broken(n, dx);
}

void backward_gradients(struct nn_net *n)
{
    for (size_t i = 0; i < n->spec.layers; i++)
        if (n->layer[i].params > 0)
            n->layer[i].kind->gradients(&n->layer[i], n->rows);
}
