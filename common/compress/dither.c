/* dither.c -- ChaCha20, eight blocks side by side.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/dither.h"

#include "common/base/clones.h"
#include "common/base/le.h"

#include <string.h>

enum { WORDS = 16, LANES = 8, DOUBLE_ROUNDS = 10 };

#define ROTATE(x, by) ((x) << (by) | (x) >> (32 - (by)))

/* b = (b ^ (a += add)) <<< by, of words a, b and add. */
#define STEP(a, add, b, by)                                                                        \
    for (int l = 0; l < LANES; l++) {                                                              \
        a[l] += add[l];                                                                            \
        b[l] ^= a[l];                                                                              \
        b[l] = ROTATE(b[l], by);                                                                   \
    }

#define QUARTER(a, b, c, d)                                                                        \
    do {                                                                                           \
        STEP(s[a], s[b], s[d], 16)                                                                 \
        STEP(s[c], s[d], s[b], 12)                                                                 \
        STEP(s[a], s[b], s[d], 8)                                                                  \
        STEP(s[c], s[d], s[b], 7)                                                                  \
    } while (0)

/* s: the states of the blocks; becomes their key stream (RFC 8439, 2.3). */
WIDE_CLONES static void blocks(uint32_t s[WORDS][LANES])
{
    uint32_t start[WORDS][LANES];

    memcpy(start, s, sizeof start);
    for (int k = 0; k < DOUBLE_ROUNDS; k++) {
        QUARTER(0, 4, 8, 12);
        QUARTER(1, 5, 9, 13);
        QUARTER(2, 6, 10, 14);
        QUARTER(3, 7, 11, 15);
        QUARTER(0, 5, 10, 15);
        QUARTER(1, 6, 11, 12);
        QUARTER(2, 7, 8, 13);
        QUARTER(3, 4, 9, 14);
    }
    for (int w = 0; w < WORDS; w++)
        for (int l = 0; l < LANES; l++)
            s[w][l] += start[w][l];
}

static void one_run(uint16_t t[DITHER_RUN], const uint32_t key[8], uint32_t run)
{
    static const uint32_t constant[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    uint32_t s[WORDS][LANES];

    for (uint32_t l = 0; l < LANES; l++) {
        for (int w = 0; w < 4; w++)
            s[w][l] = constant[w];
        for (int w = 0; w < 8; w++)
            s[4 + w][l] = key[w];
        s[12][l] = run * LANES + l;
        s[13][l] = s[14][l] = s[15][l] = 0;
    }
    blocks(s);
    for (int l = 0; l < LANES; l++)
        for (int w = 0; w < WORDS; w++) {
            *t++ = (uint16_t)s[w][l];
            *t++ = (uint16_t)(s[w][l] >> 16);
        }
}

void dither_fill(uint16_t *t, size_t n, const uint8_t key[DITHER_KEY_BYTES], uint32_t run)
{
    uint16_t last[DITHER_RUN];
    uint32_t word[8];

    for (int w = 0; w < 8; w++)
        word[w] = (uint32_t)le_take(&key, sizeof *word);
    for (; n >= DITHER_RUN; n -= DITHER_RUN, t += DITHER_RUN)
        one_run(t, word, run++);
    if (n > 0) {
        one_run(last, word, run);
        memcpy(t, last, n * sizeof *t);
    }
}
