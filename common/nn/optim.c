/* optim.c -- the three update rules as vector loops (Adam's only under -fno-math-errno: a square
 * root that may set errno is a call).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/optim.h"

#include "common/base/check.h"
#include "common/base/finite.h"
#include "common/nn/clones.h"

#include <math.h>

static const float MOMENTUM = 0.9F;
static const double BETA1 = 0.9, BETA2 = 0.999;
static const float EPSILON = 1e-8F;

static inline float gradient(float g)
{
    return finite_within(g, OPTIM_GRADIENT_MAX);
}

CLONES void optim_sgd(float *restrict w, const float *restrict g, size_t n, float lr)
{
    for (size_t i = 0; i < n; i++)
        w[i] = finite_within(w[i] - lr * gradient(g[i]), OPTIM_WEIGHT_MAX);
}

CLONES void optim_momentum(float *restrict w, float *restrict v, const float *restrict g, size_t n,
                           float lr)
{
    for (size_t i = 0; i < n; i++) {
        v[i] = MOMENTUM * v[i] + gradient(g[i]);
        w[i] = finite_within(w[i] - lr * v[i], OPTIM_WEIGHT_MAX);
    }
}

/* step = lr / (1 - b1^t), root = 1 / sqrt(1 - b2^t): the bias
 * corrections, taken out of the loop. */
CLONES static void adam(float *restrict w, float *restrict m, float *restrict v,
                        const float *restrict g, size_t n, float step, float root)
{
    const float b1 = (float)BETA1, c1 = (float)(1.0 - BETA1);
    const float b2 = (float)BETA2, c2 = (float)(1.0 - BETA2);

    for (size_t i = 0; i < n; i++) {
        const float slope = gradient(g[i]);

        m[i] = b1 * m[i] + c1 * slope;
        v[i] = b2 * v[i] + c2 * slope * slope;
        w[i] = finite_within(w[i] - step * m[i] / (sqrtf(v[i]) * root + EPSILON), OPTIM_WEIGHT_MAX);
    }
}

void optim_adam(float *w, float *m, float *v, const float *g, size_t n, float lr, uint64_t t)
{
    CHECK(t > 0);
    adam(w, m, v, g, n, (float)((double)lr / (1.0 - pow(BETA1, (double)t))),
         (float)(1.0 / sqrt(1.0 - pow(BETA2, (double)t))));
}

CLONES void optim_pull(float *restrict g, const float *restrict w, const float *restrict anchor,
                       size_t n, float mu)
{
    for (size_t i = 0; i < n; i++)
        g[i] += mu * (w[i] - anchor[i]);
}

CLONES void optim_ridge(float *restrict g, const float *restrict w, size_t n, float lambda)
{
    for (size_t i = 0; i < n; i++)
        g[i] += lambda * w[i];
}

CLONES void optim_decay(float *w, size_t n, float lr, float lambda)
{
    const float keep = 1.0F - lr * lambda;

    for (size_t i = 0; i < n; i++)
        w[i] *= keep;
}

CLONES void optim_limit(float *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        w[i] = finite_within(w[i], OPTIM_WEIGHT_MAX);
}
