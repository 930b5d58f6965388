/* chacha.c -- ChaCha20, sixteen blocks side by side.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/chacha.h"

#include "common/base/clones.h"
#include "common/base/le.h"

#include <string.h>

enum { WORDS = 16, LANES = 16, DOUBLE_ROUNDS = 10 };

#define ROTATE(x, by) ((x) << (by) | (x) >> (32 - (by)))

/* The quarter round (RFC 8439, 2.1) of words a, b, c, d of all blocks. */
static inline __attribute__((always_inline)) void quarter(uint32_t a[restrict LANES],
                                                          uint32_t b[restrict LANES],
                                                          uint32_t c[restrict LANES],
                                                          uint32_t d[restrict LANES])
{
    for (int l = 0; l < LANES; l++) {
        uint32_t a0 = a[l], b0 = b[l], c0 = c[l], d0 = d[l];

        a0 += b0;
        d0 = ROTATE(d0 ^ a0, 16);
        c0 += d0;
        b0 = ROTATE(b0 ^ c0, 12);
        a0 += b0;
        d0 = ROTATE(d0 ^ a0, 8);
        c0 += d0;
        b0 = ROTATE(b0 ^ c0, 7);
        a[l] = a0;
        b[l] = b0;
        c[l] = c0;
        d[l] = d0;
    }
}

/* s: the states of the blocks; becomes their key stream (RFC 8439, 2.3). */
WIDE_CLONES static void blocks(uint32_t s[WORDS][LANES])
{
    uint32_t start[WORDS][LANES];

    memcpy(start, s, sizeof start);
    for (int k = 0; k < DOUBLE_ROUNDS; k++) {
        quarter(s[0], s[4], s[8], s[12]);
        quarter(s[1], s[5], s[9], s[13]);
        quarter(s[2], s[6], s[10], s[14]);
        quarter(s[3], s[7], s[11], s[15]);
        quarter(s[0], s[5], s[10], s[15]);
        quarter(s[1], s[6], s[11], s[12]);
        quarter(s[2], s[7], s[8], s[13]);
        quarter(s[3], s[4], s[9], s[14]);
    }
    for (int w = 0; w < WORDS; w++)
        for (int l = 0; l < LANES; l++)
            s[w][l] += start[w][l];
}

static void make_run(uint16_t t[CHACHA_RUN], const uint32_t key[8], uint32_t run)
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

void chacha_fill(uint16_t *t, size_t n, const uint8_t key[CHACHA_KEY_BYTES], uint32_t run)
{
    uint16_t last[CHACHA_RUN];
    uint32_t word[8];

    for (int w = 0; w < 8; w++)
        word[w] = (uint32_t)le_take(&key, sizeof *word);
    for (; n >= CHACHA_RUN; n -= CHACHA_RUN, t += CHACHA_RUN)
        make_run(t, word, run++);
    if (n > 0) {
        make_run(last, word, run);
        memcpy(t, last, n * sizeof *t);
    }
}
