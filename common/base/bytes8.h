/* bytes8.h -- eight bytes of text looked at in one word, the first in its lowest byte.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_BYTES8_H
#define COLONNADE_BASE_BYTES8_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words are read as little-endian"
#endif

enum { BYTES8 = 8 };

static inline uint64_t bytes8_of(uint8_t c)
{
    return UINT64_C(0x0101010101010101) * c;
}

static inline uint64_t bytes8_load(const char *text)
{
    uint64_t w;

    memcpy(&w, text, sizeof w);
    return w;
}

/* 0x80 where a byte is c, 0 elsewhere. */
static inline uint64_t bytes8_equal(uint64_t w, uint8_t c)
{
    const uint64_t x = w ^ bytes8_of(c), low = bytes8_of(0x7f);

    return ~(((x & low) + low) | x | low);
}

/* Which byte the lowest mark of such a word, not 0, is in. */
static inline unsigned bytes8_first(uint64_t marks)
{
    return (unsigned)__builtin_ctzll(marks) / BYTES8;
}

/* Are all of them digits? */
static inline int bytes8_digits(uint64_t w)
{
    const uint64_t high = bytes8_of(0xf0);

    return ((w & high) | (((w + bytes8_of(0x06)) & high) >> 4)) == bytes8_of(0x33);
}

/* The number that eight digits say: pairs, fours, all of them. */
static inline uint64_t bytes8_number(uint64_t w)
{
    w = ((w & bytes8_of(0x0f)) * 2561) >> 8;
    w = ((w & UINT64_C(0x00ff00ff00ff00ff)) * 6553601) >> 16;
    return ((w & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001)) >> 32;
}

#endif
