/* dpsgd.c -- back through all layers, and norms on the way: by what each row is to be cut.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/dpsgd.h"

#include "common/base/check.h"
#include "common/nn/backward.h"

#include <math.h>

/* Far more than rounding in double adds to a norm; the cut leaves room for it. */
static const double ROUNDING = 1e-9;

/* Of a row whose deltas are finite floats; one whose gradient as floats is not has an infinite
 * norm, and counts as 0. */
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
    dpsum_begin(s);
    for (size_t r = 0; r < n->rows; r++) {
        const double there = n->sound_back[r] & 1U;

        factor[r] = there * factor_of(sqrt(dpsum_norm2(s, n, r)), most);
        dpsum_add_row(s, n, factor[r]);
        clipped += factor[r] < 1;
    }
    dpsum_add(s, n, factor);
    return clipped;
}
