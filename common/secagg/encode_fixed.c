/* encode_fixed.c -- values rounded to a grid, without noise.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/encode_ops.h"

#include "common/base/bits.h"
#include "common/base/clones.h"
#include "common/base/finite.h"

#include <math.h>

enum { FIXED_BITS_MAX = 24 };

/* Under masks M 2^bits are counted, and a bit more. */
static enum status fixed_init(struct encode *e, const struct plan *p, uint32_t parties)
{
    const uint32_t bits = p->protocol.fixed.bits;

    if (bits < 1 || bits > FIXED_BITS_MAX)
        return STATUS_CONFIG;
    e->masked_bits = bits_width(e->span + parties) + 1;
    return STATUS_OK;
}

/* Clamped before the conversion. */
WIDE_CLONES void encode_round(uint32_t *restrict q, const float *restrict x, size_t n, double clip,
                              double top)
{
    const double scale = top / (2 * clip);

    for (size_t i = 0; i < n; i++) {
        double y = ((double)finite_or_zero(x[i]) + clip) * scale;

        y = 0.5 * (y + fabs(y)); /* max(y, 0), exactly; as a choice it may become a branch */
        y = y < top ? y : top;
        q[i] = (uint32_t)(int32_t)(y + 0.5);
    }
}

static void fixed_integers(const struct encode *e, uint32_t *q, const float *x, size_t n,
                           struct rng *r)
{
    (void)r;
    encode_round(q, x, n, (double)e->clip, e->value_max);
}

static void fixed_estimate(const struct encode *e, float *out, const uint32_t *q_sum, size_t n,
                           uint32_t parties)
{
    const double clip = (double)e->clip, unit = 2 * clip / e->value_max;

    for (size_t i = 0; i < n; i++)
        out[i] = (float)(unit * q_sum[i] - clip * parties);
}

const struct encode_ops encode_fixed = {
    .init = fixed_init, .integers = fixed_integers, .estimate = fixed_estimate};
