/* bits.c -- bit packing in plain C, and the choice of the kernel.
 *
 * 16-bit lanes go four at a time: a 64-bit word with four values in it is closed up by merging
 * neighbours twice, which the compiler does in whole registers; eight values are then w whole
 * bytes.  32-bit lanes go through one accumulator.  Loads and stores of eight bytes run over the
 * end of what they mean, so the last block goes through a copy with room.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/bits.h"

#include "common/base/bits_avx512.h"
#include "common/base/bits_portable.h"
#include "common/base/check.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are stored as they are");

size_t bits_bytes(size_t n, uint32_t w)
{
    CHECK(w >= 1 && w <= 64 && n <= (SIZE_MAX - 7) / 64);
    return (n * w + 7) / 8;
}

bool bits_clean(const uint8_t *run, size_t n, uint32_t w)
{
    const size_t used = n * w % 8;

    return used == 0 || run[bits_bytes(n, w) - 1] >> used == 0;
}

uint32_t bits_width(uint64_t values)
{
    CHECK(values >= 1);
    return values == 1 ? 0 : 64 - (uint32_t)__builtin_clzll(values - 1);
}

/* --- 16-bit lanes --- */

void bits_pack16(uint8_t *out, const uint16_t *in, size_t n, uint32_t w)
{
    CHECK(w >= 1 && w <= 16);
    if (w == 16)
        memcpy(out, in, 2 * n);
    else if (bits_avx512_runs_here())
        bits_avx512_pack16(out, in, n, w);
    else
        bits_portable_pack16(out, in, n, w);
}

void bits_add16(uint16_t *sum, const uint8_t *in, size_t n, uint32_t w)
{
    CHECK(w >= 1 && w <= 16);
    if (bits_avx512_runs_here())
        bits_avx512_add16(sum, in, n, w);
    else
        bits_portable_add16(sum, in, n, w);
}

void bits_unpack16(uint16_t *out, const uint8_t *in, size_t n, uint32_t w)
{
    memset(out, 0, n * sizeof *out);
    bits_add16(out, in, n, w);
}

/* --- 32-bit lanes --- */

static uint64_t load64(const uint8_t *at)
{
    uint64_t v;

    memcpy(&v, at, sizeof v);
    return v;
}

void bits_pack32(uint8_t *out, const uint32_t *in, size_t n, uint32_t w)
{
    uint8_t *end = out + bits_bytes(n, w);
    const uint64_t low = (UINT64_C(1) << w) - 1;
    uint64_t pending = 0; /* bits not yet in a whole byte, then the next value */
    uint32_t filled = 0;
    size_t i = 0;

    for (; i < n && (size_t)(end - out) >= sizeof pending; i++) {
        pending |= (in[i] & low) << filled;
        filled += w;
        memcpy(out, &pending, sizeof pending);
        out += filled / 8;
        pending >>= filled & ~7U;
        filled %= 8;
    }
    for (; out < end; filled -= 8, pending >>= 8) {
        for (; filled < 8 && i < n; filled += w)
            pending |= (in[i++] & low) << filled;
        *out++ = (uint8_t)pending;
        if (filled < 8)
            break;
    }
}

void bits_add32(uint32_t *sum, const uint8_t *in, size_t n, uint32_t w)
{
    const size_t bytes = bits_bytes(n, w);
    const uint64_t low = (UINT64_C(1) << w) - 1;
    uint8_t end[2 * sizeof(uint64_t)] = {0};
    size_t i = 0, bit = 0, from;

    for (; i < n && bit / 8 + sizeof(uint64_t) <= bytes; i++, bit += w)
        sum[i] = (uint32_t)((sum[i] + (load64(in + bit / 8) >> bit % 8)) & low);
    /* Fewer than eight bytes are left from here. */
    from = bit / 8;
    if (i < n)
        memcpy(end, in + from, bytes - from);
    for (; i < n; i++, bit += w)
        sum[i] = (uint32_t)((sum[i] + (load64(end + (bit / 8 - from)) >> bit % 8)) & low);
}

void bits_unpack32(uint32_t *out, const uint8_t *in, size_t n, uint32_t w)
{
    memset(out, 0, n * sizeof *out);
    bits_add32(out, in, n, w);
}

/* --- the twins --- */

void bits_naive_pack(uint8_t *out, const uint32_t *in, size_t n, uint32_t w)
{
    memset(out, 0, bits_bytes(n, w));
    for (size_t k = 0; k < n * w; k++)
        out[k / 8] |= (uint8_t)((in[k / w] >> k % w & 1U) << k % 8);
}

void bits_naive_unpack(uint32_t *out, const uint8_t *in, size_t n, uint32_t w)
{
    memset(out, 0, n * sizeof *out);
    for (size_t k = 0; k < n * w; k++)
        out[k / w] |= (in[k / 8] >> k % 8 & 1U) << k % w;
}
