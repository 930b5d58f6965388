/* locate.c -- syndromes, the recurrence, its roots.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/lcc/locate.h"

#include "common/base/check.h"
#include "common/field/mod.h"

#include <string.h>

/* A recurrence 1 + c[1] z + ... + c[length] z^length. */
struct recurrence {
    uint64_t c[POINTS_MAX + 1];
    uint32_t length;
};

static void syndromes(uint64_t *s, uint32_t e, const uint64_t *y, const struct locate_code *code)
{
    const uint64_t p = code->prime;

    memset(s, 0, e * sizeof *s);
    for (uint32_t i = 0; i < code->n; i++) {
        uint64_t term = mod_mul(code->w[i], y[i], p);

        for (uint32_t k = 0; k < e; k++) {
            s[k] = mod_add(s[k], term, p);
            term = mod_mul(term, code->x[i], p);
        }
    }
}

/* By how much the recurrence misses s[k]. */
static uint64_t discrepancy(const struct recurrence *r, const uint64_t *s, uint32_t k, uint64_t p)
{
    uint64_t d = 0;

    for (uint32_t i = 0; i <= r->length && i <= k; i++)
        d = mod_add(d, mod_mul(r->c[i], s[k - i], p), p);
    return d;
}

/* The shortest one that makes s[0..e).  Massey 1969, Algorithm: `last` is the recurrence before
 * the latest growth, `gap` the steps since then, `missed` its discrepancy. */
static void shortest(struct recurrence *r, const uint64_t *s, uint32_t e, uint64_t p)
{
    struct recurrence last = {.c = {1}}, before;
    uint64_t missed = 1;
    uint32_t gap = 1;

    *r = last;
    for (uint32_t k = 0; k < e; k++, gap++) {
        const uint64_t d = discrepancy(r, s, k, p);
        uint64_t factor;

        if (d == 0)
            continue;
        before = *r;
        factor = mod_mul(d, mod_inv(missed, p), p);
        for (uint32_t i = 0; i + gap <= POINTS_MAX && i <= last.length; i++)
            r->c[i + gap] = mod_sub(r->c[i + gap], mod_mul(factor, last.c[i], p), p);
        if (2 * before.length <= k) {
            r->length = k + 1 - before.length;
            last = before;
            missed = d;
            gap = 0;
        }
    }
}

/* Does z = 1 / x solve the recurrence?  Horner on its mirror, sum of c[i] x^(length - i). */
static bool is_root(const struct recurrence *r, uint64_t x, uint64_t p)
{
    uint64_t value = 0;

    for (uint32_t i = 0; i <= r->length; i++)
        value = mod_add(mod_mul(value, x, p), r->c[i], p);
    return value == 0;
}

bool locate_wrong(uint32_t *at, uint32_t *found, const uint64_t *y, const struct locate_code *code)
{
    uint64_t s[POINTS_MAX];
    struct recurrence r;
    uint32_t e;

    CHECK(code->threshold >= 1 && code->threshold <= code->n && code->n <= POINTS_MAX);
    e = code->n - code->threshold;
    syndromes(s, e, y, code);
    shortest(&r, s, e, code->prime);
    *found = 0;
    if (2 * r.length > e)
        return false;
    for (uint32_t i = 0; i < code->n; i++)
        if (is_root(&r, code->x[i], code->prime) && *found < r.length)
            at[(*found)++] = i;
    return *found == r.length;
}
