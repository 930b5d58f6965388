/* dpsgd.c -- back through all layers, and norms on the way: by what each row is to be cut.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/dpsgd.h"

#include "common/base/check.h"
#include "common/nn/backward.h"
#include "common/nn/layer.h"

#include <math.h>

/* Far more than rounding in double adds to a norm; the cut leaves room for it. */
static const double ROUNDING = 1e-9;

/* |g_r|^2 of row r. */
static double norm2(const struct nn_net *n, size_t r)
{
    double sum = 0;

    for (size_t i = 0; i < n->spec.layers; i++)
        if (n->layer[i].params > 0)
            sum += n->layer[i].kind->norm2(&n->layer[i], r);
    return sum;
}

/* Of a row whose deltas are finite floats, so that no norm in double can be anything else. */
static double factor_of(double norm, double most)
{
    return norm <= most ? 1 : most / norm * (1 - ROUNDING);
}

uint32_t dpsgd_backward(struct dpsum *s, struct nn_net *n, const float *dy, double most,
                        double *factor)
{
    uint32_t clipped = 0;

    CHECK(n->x != NULL && n->spec.layers > 0 && most > 0);
    backward_deltas(n, NULL, dy);
    for (size_t r = 0; r < n->rows; r++) {
        const double there = n->sound_back[r] & 1U;

        factor[r] = there * factor_of(sqrt(norm2(n, r)), most);
        clipped += factor[r] < 1;
    }
    dpsum_add(s, n, factor);
    return clipped;
}
