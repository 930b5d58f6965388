/* bits.c -- packing by a 64-bit accumulator, unpacking by unaligned 64-bit loads.
 *
 * A value of at most 32 bits that starts anywhere in a byte lies within eight bytes; only near the
 * end of the input would such a load read too far, and there the bytes are copied first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/bits.h"

#include "common/base/check.h"

#include <endian.h>
#include <string.h>

static uint32_t low_bits(uint32_t w)
{
    CHECK(w >= 1 && w <= BITS_WIDTH_MAX);
    return UINT32_MAX >> (BITS_WIDTH_MAX - w);
}

size_t bits_bytes(size_t n, uint32_t w)
{
    size_t bits;

    CHECK(w >= 1 && w <= BITS_WIDTH_MAX && !__builtin_mul_overflow(n, (size_t)w, &bits));
    return bits / 8 + (bits % 8 != 0);
}

void bits_pack(uint8_t *out, const uint32_t *v, size_t n, uint32_t w)
{
    const uint32_t mask = low_bits(w);
    uint64_t pending = 0;
    uint32_t fill = 0; /* bits of `pending`, below 32 between values */

    for (size_t i = 0; i < n; i++) {
        pending |= (uint64_t)(v[i] & mask) << fill;
        fill += w;
        if (fill >= 32) {
            uint32_t word = htole32((uint32_t)pending);

            memcpy(out, &word, sizeof word);
            out += sizeof word;
            pending >>= 32;
            fill -= 32;
        }
    }
    for (; fill > 0; fill = fill > 8 ? fill - 8 : 0) {
        *out++ = (uint8_t)pending;
        pending >>= 8;
    }
}

/* The values that can be read by a whole 64-bit load from a packed form of `bytes` bytes. */
static size_t whole_loads(size_t n, uint32_t w, size_t bytes)
{
    size_t whole = bytes < 8 ? 0 : ((bytes - 8) * 8) / w;

    return whole < n ? whole : n;
}

static inline uint32_t value_at(const uint8_t *in, size_t bit, uint32_t mask)
{
    uint64_t word;

    memcpy(&word, in + bit / 8, sizeof word);
    return (uint32_t)(le64toh(word) >> (bit % 8)) & mask;
}

/* As value_at, for a form that ends less than eight bytes further on. */
static uint32_t value_near_end(const uint8_t *in, size_t bytes, size_t bit, uint32_t mask)
{
    uint8_t rest[8] = {0};
    size_t left = bytes - bit / 8;

    memcpy(rest, in + bit / 8, left < sizeof rest ? left : sizeof rest);
    return value_at(rest, bit % 8, mask);
}

void bits_unpack(uint32_t *v, const uint8_t *in, size_t n, uint32_t w)
{
    const uint32_t mask = low_bits(w);
    const size_t bytes = bits_bytes(n, w), whole = whole_loads(n, w, bytes);
    size_t i = 0;

    for (; i < whole; i++)
        v[i] = value_at(in, i * w, mask);
    for (; i < n; i++)
        v[i] = value_near_end(in, bytes, i * w, mask);
}

void bits_add(uint32_t *sum, const uint8_t *in, size_t n, uint32_t w)
{
    const uint32_t mask = low_bits(w);
    const size_t bytes = bits_bytes(n, w), whole = whole_loads(n, w, bytes);
    size_t i = 0;

    for (; i < whole; i++)
        sum[i] = (sum[i] + value_at(in, i * w, mask)) & mask;
    for (; i < n; i++)
        sum[i] = (sum[i] + value_near_end(in, bytes, i * w, mask)) & mask;
}
