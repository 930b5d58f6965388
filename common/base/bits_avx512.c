/* bits_avx512.c -- 32 values of w <= 16 bits are 4w bytes: one register in, one masked store out.
 *
 * Packing merges neighbours three times: 16-bit lanes to 32, to 64, to 128 bits; then one byte
 * permutation closes the gaps between the four.  Unpacking fetches the bytes of four values into
 * each 64-bit lane and lets the multi-shift pick two bytes for each value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/bits_avx512.h"

#include "common/base/check.h"

#ifdef __x86_64__

#include <immintrin.h>

#define KERNEL __attribute__((target("avx512bw,avx512vl,avx512vbmi")))

enum { LANES = 32 };

bool bits_avx512_runs_here(void)
{
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vbmi");
}

/* The lowest n of 64 (32) mask bits. */
static inline uint64_t lowest(size_t n)
{
    return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

struct merge {
    __m512i low16, high16; /* within 32 bits: the even value; where the odd one goes */
    __m512i low32, high32; /* within 64 bits: the even pair; where the odd one goes */
    __m512i turn, spill;   /* within 128 bits: rotation of the upper half; which of its bits stay */
    __m512i gather;        /* byte permutation that closes the gaps */
    __m512i shift16, shift32; /* in every lane: a shift by one common count costs twice as much */
};

KERNEL static struct merge merge_of(uint32_t w)
{
    const uint32_t m = (1U << w) - 1;
    const uint64_t pair = (UINT64_C(1) << 2 * w) - 1, four = lowest(4 * (size_t)w);
    uint8_t gather[64] = {0};

    for (uint32_t part = 0; part < 4; part++)
        for (uint32_t i = 0; i < w; i++)
            gather[part * w + i] = (uint8_t)(part * 16 + i);
    return (struct merge){
        .low16 = _mm512_set1_epi32((int)m),
        .high16 = _mm512_set1_epi32((int)(m << w)),
        .low32 = _mm512_set1_epi64((long long)pair),
        .high32 = _mm512_set1_epi64((long long)(pair << 2 * w)),
        .turn = _mm512_set1_epi64(4 * (long long)w),
        /* The rotated upper half: in the lower lane the bits above 4w, in the upper those below. */
        .spill =
            _mm512_set_epi64((long long)four, (long long)~four, (long long)four, (long long)~four,
                             (long long)four, (long long)~four, (long long)four, (long long)~four),
        .gather = _mm512_loadu_si512(gather),
        .shift16 = _mm512_set1_epi32(16 - (int)w),
        .shift32 = _mm512_set1_epi64(32 - 2 * (long long)w),
    };
}

/* Truth table of a | (b & c). */
enum { OR_AND = 0xf8 };

KERNEL static inline __m512i pack_block(__m512i v, const struct merge *m)
{
    __m512i odd, upper;

    odd = _mm512_and_si512(_mm512_srlv_epi32(v, m->shift16), m->high16);
    v = _mm512_ternarylogic_epi64(odd, v, m->low16, OR_AND);
    odd = _mm512_and_si512(_mm512_srlv_epi64(v, m->shift32), m->high32);
    v = _mm512_ternarylogic_epi64(odd, v, m->low32, OR_AND);
    upper = _mm512_rolv_epi64(_mm512_unpackhi_epi64(v, v), m->turn);
    upper = _mm512_and_si512(upper, m->spill);
    v = _mm512_mask_or_epi64(upper, 0x55, upper, v);
    return _mm512_permutexvar_epi8(m->gather, v);
}

KERNEL void bits_avx512_pack16(uint8_t *out, const uint16_t *in, size_t n, uint32_t w)
{
    const struct merge m = merge_of(w);
    const __mmask64 all = lowest(4 * (size_t)w);

    for (; n >= LANES; n -= LANES, in += LANES, out += 4 * (size_t)w)
        _mm512_mask_storeu_epi8(out, all, pack_block(_mm512_loadu_si512(in), &m));
    if (n > 0) {
        __m512i v = _mm512_maskz_loadu_epi16((__mmask32)lowest(n), in);

        _mm512_mask_storeu_epi8(out, lowest((n * w + 7) / 8), pack_block(v, &m));
    }
}

struct spread {
    __m512i gather; /* lane j of 64 bits: the eight bytes from the first bit of value 4j */
    __m512i pick;   /* bit offset, within its 64-bit lane, of each byte of a value */
    __m512i low;    /* the w bits that count */
};

KERNEL static struct spread spread_of(uint32_t w)
{
    uint8_t gather[64], pick[64];

    for (uint32_t i = 0; i < 64; i++) {
        uint32_t first = i / 8 * 4 * w, from = first / 8 + i % 8, bit = first % 8 + i % 8 / 2 * w;

        gather[i] = (uint8_t)(from < 63 ? from : 63);
        pick[i] = (uint8_t)(bit + i % 2 * 8); /* past bit 63 it wraps, into bits that `low` drops */
    }
    return (struct spread){_mm512_loadu_si512(gather), _mm512_loadu_si512(pick),
                           _mm512_set1_epi16((short)lowest(w))};
}

KERNEL static inline __m512i add_block(__m512i sum, __m512i bytes, const struct spread *s)
{
    const __m512i lanes = _mm512_permutexvar_epi8(s->gather, bytes);
    const __m512i v = _mm512_multishift_epi64_epi8(s->pick, lanes);

    return _mm512_and_si512(_mm512_add_epi16(sum, v), s->low);
}

KERNEL void bits_avx512_add16(uint16_t *sum, const uint8_t *in, size_t n, uint32_t w)
{
    const struct spread s = spread_of(w);
    const __mmask64 all = lowest(4 * (size_t)w);

    for (; n >= LANES; n -= LANES, in += 4 * (size_t)w, sum += LANES) {
        __m512i bytes = _mm512_maskz_loadu_epi8(all, in);

        _mm512_storeu_si512(sum, add_block(_mm512_loadu_si512(sum), bytes, &s));
    }
    if (n > 0) {
        __mmask32 some = (__mmask32)lowest(n);
        __m512i bytes = _mm512_maskz_loadu_epi8(lowest((n * w + 7) / 8), in);
        __m512i before = _mm512_maskz_loadu_epi16(some, sum);

        _mm512_mask_storeu_epi16(sum, some, add_block(before, bytes, &s));
    }
}

#else

bool bits_avx512_runs_here(void)
{
    return false;
}

void bits_avx512_pack16(uint8_t *out, const uint16_t *in, size_t n, uint32_t w)
{
    (void)out, (void)in, (void)n, (void)w;
    CHECK(!"an x86 kernel was chosen on another machine");
}

void bits_avx512_add16(uint16_t *sum, const uint8_t *in, size_t n, uint32_t w)
{
    (void)sum, (void)in, (void)n, (void)w;
    CHECK(!"an x86 kernel was chosen on another machine");
}

#endif
