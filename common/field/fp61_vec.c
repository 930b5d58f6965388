/* fp61_vec.c -- loops that the compiler widens, and elements of 61 bits without gaps.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp61_vec.h"

#include "common/base/check.h"
#include "common/base/clones.h"
#include "common/base/public.h"

#include <endian.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

/* Words of one step of the rejection: they stay in the first cache level. */
enum { STEP = 256 };

/* Eight elements are 61 bytes: seven words and five bytes. */
enum { EIGHT = 8, EIGHT_BYTES = 61 };

/* The smaller of x and x - p: that of a sum is canonical, since a negative one wraps. */
static inline uint64_t less_p(uint64_t x)
{
    const uint64_t less = x - FP61_P;

    return less < x ? less : x;
}

WIDE_CLONES void fp61_vec_add(uint64_t *restrict x, const uint64_t *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = less_p(x[i] + y[i]);
}

WIDE_CLONES void fp61_vec_sub(uint64_t *restrict x, const uint64_t *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = less_p(x[i] + (FP61_P - y[i]));
}

void fp61_vec_axpy(uint64_t *restrict x, uint64_t s, const uint64_t *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const wide sum = (wide)s * y[i] + x[i]; /* at most p (p - 1) */

        x[i] = less_p(((uint64_t)sum & FP61_P) + (uint64_t)(sum >> 61));
    }
}

WIDE_CLONES bool fp61_vec_valid(const uint64_t *x, size_t n)
{
    uint64_t most = 0;

    for (size_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return public_bit(most < FP61_P);
}

/* The low bits of n words; true when one of them is p. */
WIDE_CLONES static bool take(uint64_t *restrict out, const uint8_t *restrict random, size_t n)
{
    uint64_t most = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t word;

        memcpy(&word, random + sizeof word * i, sizeof word);
        out[i] = le64toh(word) & FP61_P;
        most = out[i] > most ? out[i] : most;
    }
    return public_bit(most == FP61_P);
}

/* Closes the gaps; returns how many stay. */
static size_t reject(uint64_t *x, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        x[kept] = x[i];
        kept += public_bit(x[i] != FP61_P);
    }
    return kept;
}

size_t fp61_vec_uniform(uint64_t *out, size_t n, const uint8_t *random, size_t bytes, size_t *used)
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

/* --- packed --- */

/* Element k begins in the upper 3 k bits of word k - 1, and word k has the rest of it. */
static inline void pack_eight(uint8_t *restrict out, const uint64_t *restrict x)
{
    for (uint32_t k = 0; k < EIGHT; k++) {
        const uint64_t next = k + 1 < EIGHT ? x[k + 1] << (61 - 3 * k) : 0;
        const uint64_t word = htole64(x[k] >> 3 * k | next);

        memcpy(out + k * sizeof word, &word, k + 1 < EIGHT ? sizeof word : 5);
    }
}

static inline void unpack_eight(uint64_t *restrict x, const uint8_t *restrict in)
{
    uint64_t before = 0;

#pragma GCC unroll 8
    for (uint32_t k = 0; k < EIGHT; k++) {
        const bool last = k + 1 == EIGHT; /* five bytes: read with the three before them */
        uint64_t word;

        memcpy(&word, in + k * sizeof word - (last ? 3 : 0), sizeof word);
        word = le64toh(word) >> (last ? 24 : 0);
        x[k] = ((k > 0 ? before >> (64 - 3 * k) : 0) | word << 3 * k) & FP61_P;
        before = word;
    }
}

size_t fp61_vec_bytes(size_t n)
{
    CHECK(n <= (SIZE_MAX - 7) / FP61_BITS);
    return (n * FP61_BITS + 7) / 8;
}

void fp61_vec_pack(uint8_t *restrict out, const uint64_t *restrict x, size_t n)
{
    for (; n >= EIGHT; n -= EIGHT, x += EIGHT, out += EIGHT_BYTES)
        pack_eight(out, x);
    if (n > 0) {
        uint64_t last[EIGHT] = {0};
        uint8_t run[EIGHT_BYTES];

        memcpy(last, x, n * sizeof *x);
        pack_eight(run, last);
        memcpy(out, run, fp61_vec_bytes(n));
        explicit_bzero(last, sizeof last);
        explicit_bzero(run, sizeof run);
    }
}

void fp61_vec_unpack(uint64_t *restrict x, const uint8_t *restrict in, size_t n)
{
    for (; n >= EIGHT; n -= EIGHT, x += EIGHT, in += EIGHT_BYTES)
        unpack_eight(x, in);
    if (n > 0) {
        uint64_t last[EIGHT];
        uint8_t run[EIGHT_BYTES] = {0};

        memcpy(run, in, fp61_vec_bytes(n));
        unpack_eight(last, run);
        memcpy(x, last, n * sizeof *x);
        explicit_bzero(last, sizeof last);
        explicit_bzero(run, sizeof run);
    }
}
