/* fp16_vec.c -- loops that the compiler widens, and the rejection that it cannot.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp16_vec.h"

#include "common/base/clones.h"
#include "common/base/public.h"
#include "common/field/fp16_vec_avx512.h"

WIDE_CLONES void fp16_vec_add(uint16_t *restrict sum, const uint16_t *restrict x, size_t n,
                              const struct fp16 *f)
{
    const uint16_t p = (uint16_t)f->p;

    /* sum - (p - x), and p again where that borrowed: no step needs a 17th bit. */
    for (size_t i = 0; i < n; i++) {
        const uint16_t less = (uint16_t)(p - x[i]);
        const uint32_t borrow = sum[i] < less;

        sum[i] = (uint16_t)(sum[i] - less + (p & (0U - borrow)));
    }
}

WIDE_CLONES bool fp16_vec_valid(const uint16_t *x, size_t n, const struct fp16 *f)
{
    uint16_t most = 0;

    for (size_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return public_bit(most < f->p);
}

size_t fp16_vec_uniform(uint16_t *out, size_t n, const uint8_t *random, size_t bytes, size_t *used,
                        const struct fp16 *f)
{
    const uint32_t low = (1U << f->bits) - 1, p = f->p;
    size_t made = 0, at = 0;

    if (fp16_vec_avx512_runs_here())
        made = fp16_vec_avx512_uniform(out, n, random, bytes, &at, f);
    /* A rejected word is overwritten by the next one. */
    for (; made < n && bytes - at >= 2; at += 2) {
        const uint32_t word = ((uint32_t)random[at] | (uint32_t)random[at + 1] << 8) & low;

        out[made] = (uint16_t)word;
        made += public_bit(word < p); /* of words that nobody keeps */
    }
    *used = at;
    return made;
}
