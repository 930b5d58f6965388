/* backward.c -- deltas, and what they give.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/backward.h"

#include "common/base/check.h"
#include "common/nn/dense.h"
#include "common/nn/polynomial.h"
#include "common/nn/sound.h"

#include <string.h>

const float *backward_input(const struct nn_net *n, size_t i)
{
    if (n->spec.degree > 0)
        return n->powers;
    return i > 0 ? n->layer[i - 1].y : n->x;
}

/* One row's overflow is that row's alone until rows are added up. */
static void clear_broken(struct nn_net *n, float *dx)
{
    memcpy(n->sound_back, n->sound, n->rows * sizeof *n->sound);
    for (size_t i = 0; i < n->spec.layers; i++)
        sound_look(n->sound_back, n->layer[i].dy, n->rows, n->layer[i].out);
    if (dx != NULL)
        sound_look(n->sound_back, dx, n->rows, n->spec.width[0]);
    for (size_t i = 0; i < n->spec.layers; i++)
        sound_keep(n->layer[i].dy, n->sound_back, n->rows, n->layer[i].out);
    if (dx != NULL)
        sound_keep(dx, n->sound_back, n->rows, n->spec.width[0]);
}

void backward_deltas(struct nn_net *n, float *dx, const float *dy)
{
    const size_t bytes = (size_t)n->rows * n->spec.width[n->spec.layers] * sizeof *dy;
    float *last = n->spec.layers > 0 ? n->layer[n->spec.layers - 1].dy : dx;

    CHECK(n->x != NULL && (n->spec.degree == 0 || dx == NULL));
    if (last != NULL)
        memcpy(last, dy, bytes);
    for (size_t i = n->spec.layers; i-- > 0 && n->spec.degree == 0;)
        dense_delta(&n->layer[i], n->masked, i > 0 ? n->layer[i - 1].dy : dx, n->wt, n->rows);
    clear_broken(n, dx);
}

void backward_gradients(struct nn_net *n)
{
    if (n->spec.degree > 0)
        polynomial_backward(&n->layer[0], n->powers, n->rows);
    for (size_t i = 0; i < n->spec.layers && n->spec.degree == 0; i++)
        dense_gradients(&n->layer[i], backward_input(n, i), n->rows);
}
