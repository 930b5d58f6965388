/* points.c -- points and Lagrange coefficients.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/lcc/points.h"

#include "common/base/check.h"
#include "common/field/mod.h"

uint64_t points_beta(uint32_t u)
{
    return (uint64_t)u + 1;
}

uint64_t points_alpha(uint32_t threshold, uint32_t member)
{
    return (uint64_t)threshold + 1 + member;
}

void points_betas(uint64_t *x, uint32_t n)
{
    for (uint32_t u = 0; u < n; u++)
        x[u] = points_beta(u);
}

void points_alphas(uint64_t *x, uint32_t threshold, const uint32_t *member, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        x[i] = points_alpha(threshold, member == NULL ? i : member[i]);
}

void points_weights(uint64_t *w, const uint64_t *x, uint32_t n, uint64_t p)
{
    uint64_t scratch[POINTS_MAX];

    CHECK(n >= 1 && n <= POINTS_MAX);
    for (uint32_t u = 0; u < n; u++) {
        w[u] = 1;
        for (uint32_t k = 0; k < n; k++)
            if (k != u)
                w[u] = mod_mul(w[u], mod_sub(x[u], x[k], p), p);
    }
    mod_inv_all(w, scratch, n, p); /* two equal points: a product of 0 */
}

/* The products of to - from[k] over all k but u are those before u times those after it. */
static void coefficients(uint64_t *c, uint64_t to, const uint64_t *from, const uint64_t *w,
                         uint32_t n, uint64_t p)
{
    uint64_t product = 1;

    for (uint32_t u = 0; u < n; u++) {
        c[u] = mod_mul(product, w[u], p);
        product = mod_mul(product, mod_sub(to, from[u], p), p);
    }
    product = 1;
    for (uint32_t u = n; u-- > 0;) {
        c[u] = mod_mul(product, c[u], p);
        product = mod_mul(product, mod_sub(to, from[u], p), p);
    }
}

void points_lagrange(uint64_t *c, const uint64_t *to, uint32_t to_n, const uint64_t *from,
                     uint32_t from_n, uint64_t p)
{
    uint64_t w[POINTS_MAX];

    points_weights(w, from, from_n, p);
    for (uint32_t i = 0; i < to_n; i++)
        coefficients(c + (size_t)i * from_n, to[i], from, w, from_n, p);
}
