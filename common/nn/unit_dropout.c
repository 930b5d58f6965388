/* unit_dropout.c -- draws, and a product.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/unit_dropout.h"

#include "common/nn/clones.h"

#include <stdint.h>

enum { WORDS = 256 }; /* drawn at a time */

void unit_dropout_draw(float *mask, size_t n, float p, struct rng *r)
{
    const double below = (double)p * 0x1p32;
    const float factor = 1.0F / (1.0F - p);
    uint32_t word[WORDS];

    while (n > 0) {
        const size_t some = n < WORDS ? n : WORDS;

        rng_fill(r, word, some * sizeof *word);
        for (size_t i = 0; i < some; i++)
            mask[i] = (double)word[i] < below ? 0.0F : factor;
        mask += some;
        n -= some;
    }
}

CLONES void unit_dropout_apply(float *restrict x, const float *restrict mask, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= mask[i];
}
