/* fp31_vec.c -- loops that the compiler widens.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp31_vec.h"

#include "common/base/clones.h"
#include "common/base/public.h"

#include <endian.h>
#include <string.h>

/* Words of one step of the rejection: they stay in the first cache level. */
enum { STEP = 256 };

/* The smaller of x and x - p: that of a sum is canonical, since a negative one wraps. */
static inline uint32_t less_p(uint32_t x)
{
    const uint32_t less = x - FP31_P;

    return less < x ? less : x;
}

WIDE_CLONES void fp31_vec_add(uint32_t *restrict x, const uint32_t *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = less_p(x[i] + y[i]);
}

WIDE_CLONES void fp31_vec_sub(uint32_t *restrict x, const uint32_t *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = less_p(x[i] + (FP31_P - y[i]));
}

WIDE_CLONES void fp31_vec_axpy(uint32_t *restrict x, uint32_t s, const uint32_t *restrict y,
                               size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t sum = (uint64_t)s * y[i] + x[i]; /* at most p (p - 1) */

        x[i] = less_p((uint32_t)(sum & FP31_P) + (uint32_t)(sum >> 31));
    }
}

WIDE_CLONES bool fp31_vec_valid(const uint32_t *x, size_t n)
{
    uint32_t most = 0;

    for (size_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return public_bit(most < FP31_P);
}

/* The low bits of n words; true when one of them is p. */
WIDE_CLONES static bool take(uint32_t *restrict out, const uint8_t *restrict random, size_t n)
{
    uint32_t most = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t word;

        memcpy(&word, random + sizeof word * i, sizeof word);
        out[i] = le32toh(word) & FP31_P;
        most = out[i] > most ? out[i] : most;
    }
    return public_bit(most == FP31_P);
}

/* Closes the gaps; returns how many stay. */
static size_t reject(uint32_t *x, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        x[kept] = x[i];
        kept += public_bit(x[i] != FP31_P);
    }
    return kept;
}

size_t fp31_vec_uniform(uint32_t *out, size_t n, const uint8_t *random, size_t bytes, size_t *used)
{
    size_t made = 0, at = 0;

    for (;;) {
        const size_t words = (bytes - at) / sizeof *out, room = n - made;
        size_t some = words < room ? words : room;

        some = some < STEP ? some : STEP;
        if (some == 0)
            break;
        made += take(out + made, random + at, some) ? reject(out + made, some) : some;
        at += some * sizeof *out;
    }
    *used = at;
    return made;
}
