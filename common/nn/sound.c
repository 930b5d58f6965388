/* sound.c -- one loop to look, one to clear.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/sound.h"

#include "common/base/finite.h"
#include "common/nn/clones.h"

#include <string.h>

void sound_begin(uint32_t *sound, size_t rows)
{
    memset(sound, 0xff, rows * sizeof *sound);
}

CLONES void sound_look(uint32_t *sound, const float *x, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++, x += cols) {
        uint32_t good = sound[r];

        for (size_t c = 0; c < cols; c++)
            good &= finite_mask(x[c]);
        sound[r] = good;
    }
}

CLONES void sound_keep(float *x, const uint32_t *sound, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++, x += cols) {
        const uint32_t mask = sound[r];

        for (size_t c = 0; c < cols; c++)
            x[c] = finite_keep(x[c], mask);
    }
}

CLONES uint32_t sound_lost(const uint32_t *sound, size_t rows)
{
    uint32_t lost = 0;

    for (size_t r = 0; r < rows; r++)
        lost += ~sound[r] & 1U;
    return lost;
}
