/* bits_portable.c -- 16-bit lanes, four to a 64-bit word, in loops that the compiler widens.
 *
 * Merging neighbours twice closes four values up to 4w bits; two such words are eight values, w
 * whole bytes.  Spreading is the same backwards.  Stores and loads of eight bytes reach past what
 * they mean, so the last values go through a block with room behind it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/bits_portable.h"

#include "common/base/clones.h"

#include <string.h>

enum { LANES = 64, WORDS = LANES / 4, ROOM = 16 };

struct masks {
    uint64_t even, odd;           /* of the two values of 32 bits */
    uint64_t even_pair, odd_pair; /* of the two pairs of 64 bits */
    uint32_t w;
};

/* Masks of the packed layout: w bits, then w bits; 2w bits, then 2w bits. */
static struct masks masks_of(uint32_t w)
{
    const uint64_t one = (UINT64_C(1) << w) - 1, pair = (UINT64_C(1) << 2 * w) - 1;

    return (struct masks){one * 0x0000000100000001U, (one << w) * 0x0000000100000001U, pair,
                          pair << 2 * w, w};
}

/* v: LANES lanes; word k of out: values 4k..4k+3, closed up. */
WIDE_CLONES static void close_up(uint64_t out[restrict WORDS], const uint64_t v[restrict WORDS],
                                 const struct masks *m)
{
    const uint64_t even = m->even, odd = m->odd, even_pair = m->even_pair, odd_pair = m->odd_pair;
    const uint32_t by16 = 16 - m->w, by32 = 32 - 2 * m->w;

    for (size_t k = 0; k < WORDS; k++) {
        uint64_t pairs = (v[k] & even) | (v[k] >> by16 & odd);

        out[k] = (pairs & even_pair) | (pairs >> by32 & odd_pair);
    }
}

/* Eight values, w bytes; writes up to ROOM bytes from out. */
static void put8(uint8_t *out, uint64_t first, uint64_t second, uint32_t w)
{
    const uint64_t low = first | second << 4 * w % 64;

    memcpy(out, &low, sizeof low);
    if (w > 8) {
        const uint64_t high = second >> (64 - 4 * w);

        memcpy(out + sizeof low, &high, sizeof high);
    }
}

static void pack_block(uint8_t *out, const uint16_t *in, const struct masks *m)
{
    uint64_t v[WORDS], closed[WORDS];

    memcpy(v, in, sizeof v);
    close_up(closed, v, m);
    for (size_t k = 0; k < WORDS; k += 2)
        put8(out + k / 2 * m->w, closed[k], closed[k + 1], m->w);
}

void bits_portable_pack16(uint8_t *out, const uint16_t *in, size_t n, uint32_t w)
{
    const struct masks m = masks_of(w);
    uint8_t end[LANES * 2 + ROOM];
    size_t left = (n * w + 7) / 8;

    if (w == 16) {
        memcpy(out, in, 2 * n);
        return;
    }
    for (; left >= LANES / 8 * (size_t)w + ROOM; left -= LANES / 8 * (size_t)w) {
        pack_block(out, in, &m);
        out += LANES / 8 * (size_t)w;
        in += LANES;
        n -= LANES;
    }
    while (n > 0) {
        uint16_t lanes[LANES] = {0};
        size_t take = n < LANES ? n : LANES, bytes = (take * w + 7) / 8;

        memcpy(lanes, in, take * sizeof *in);
        pack_block(end, lanes, &m);
        memcpy(out, end, bytes);
        out += bytes;
        in += take;
        n -= take;
    }
}

/* sum += the values of `closed`, each word four of them, mod 2^w. */
WIDE_CLONES static void spread_add(uint16_t sum[restrict LANES],
                                   const uint64_t closed[restrict WORDS], const struct masks *m)
{
    const uint64_t even = m->even, odd = m->odd, even_pair = m->even_pair, odd_pair = m->odd_pair;
    const uint32_t by16 = 16 - m->w, by32 = 32 - 2 * m->w;
    const uint16_t low = (uint16_t)((1U << m->w) - 1);
    uint64_t v[WORDS];
    uint16_t lanes[LANES];

    for (size_t k = 0; k < WORDS; k++) {
        uint64_t pairs = (closed[k] & even_pair) | (closed[k] & odd_pair) << by32;

        v[k] = (pairs & even) | (pairs & odd) << by16;
    }
    memcpy(lanes, v, sizeof lanes);
    for (size_t i = 0; i < LANES; i++)
        sum[i] = (uint16_t)((sum[i] + lanes[i]) & low);
}

/* Reads up to ROOM bytes past the block. */
static void add_block(uint16_t *sum, const uint8_t *in, const struct masks *m)
{
    uint64_t closed[WORDS];
    const uint32_t half = m->w / 2, shift = m->w % 2 * 4; /* the second four begin at bit 4w */

    for (size_t k = 0; k < WORDS; k += 2, in += m->w) {
        memcpy(&closed[k], in, sizeof closed[k]);
        memcpy(&closed[k + 1], in + half, sizeof closed[k]);
        closed[k + 1] >>= shift;
    }
    spread_add(sum, closed, m);
}

void bits_portable_add16(uint16_t *sum, const uint8_t *in, size_t n, uint32_t w)
{
    const struct masks m = masks_of(w);
    size_t left = (n * w + 7) / 8;

    for (; left >= LANES / 8 * (size_t)w + ROOM; left -= LANES / 8 * (size_t)w) {
        add_block(sum, in, &m);
        in += LANES / 8 * (size_t)w;
        sum += LANES;
        n -= LANES;
    }
    while (n > 0) {
        uint8_t end[LANES * 2 + ROOM] = {0};
        uint16_t lanes[LANES] = {0};
        size_t take = n < LANES ? n : LANES, bytes = (take * w + 7) / 8;

        memcpy(end, in, bytes);
        memcpy(lanes, sum, take * sizeof *sum);
        add_block(lanes, end, &m);
        memcpy(sum, lanes, take * sizeof *sum);
        in += bytes;
        sum += take;
        n -= take;
    }
}
