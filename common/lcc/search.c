/* search.c -- the first column that is wrong, who is wrong in it, and again without them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/lcc/search.h"

#include "common/base/check.h"

#include <string.h>

/* The first of n elements that differs; n: none. */
static size_t first_difference(const uint8_t *a, const uint8_t *b, size_t n, uint32_t bytes)
{
    size_t i = 0;

    if (memcmp(a, b, n * bytes) == 0)
        return n;
    while (memcmp(a + i * bytes, b + i * bytes, bytes) == 0)
        i++;
    return i;
}

/* The first column from `start` on where the rows beyond `needed` are not what the first `needed`
 * say; len: none. */
static size_t first_wrong_column(struct search *s, void *owner, const struct search_rows *r,
                                 size_t start)
{
    const uint32_t d = s->needed, surplus = r->n - d, bytes = s->kind.bytes;
    const void *from[POINTS_MAX];
    uint64_t x[POINTS_MAX];

    points_alphas(x, s->threshold, r->member, r->n);
    points_lagrange(s->wide, x + d, surplus, x, d, s->prime);
    s->kind.prepare(owner, s->wide, surplus);
    for (size_t at = start, some; at < r->len; at += some) {
        size_t first;

        some = r->len - at < LCC_CHUNK ? r->len - at : LCC_CHUNK;
        first = some;
        for (uint32_t u = 0; u < d; u++)
            from[u] = (const uint8_t *)r->row[u] + at * bytes;
        s->kind.expect(owner, s->expected, from, some);
        for (uint32_t i = 0; i < surplus; i++)
            first = first_difference((const uint8_t *)s->expected + (size_t)i * LCC_CHUNK * bytes,
                                     (const uint8_t *)r->row[d + i] + at * bytes, first, bytes);
        if (first < some)
            return at + first;
    }
    return r->len;
}

/* Takes the members whose values are wrong in one column out of the rest, into `faulty`. */
static bool blame(struct search *s, struct search_rows *r, uint32_t *faulty, uint32_t *faulty_n,
                  size_t column)
{
    struct locate_code *code = &s->code;
    uint64_t y[POINTS_MAX];
    uint32_t at[POINTS_MAX], found, kept = 0;

    code->prime = s->prime;
    code->n = r->n;
    code->threshold = s->needed;
    points_alphas(code->x, s->threshold, r->member, r->n);
    points_weights(code->w, code->x, r->n, code->prime);
    for (uint32_t i = 0; i < r->n; i++)
        y[i] = s->kind.get(r->row[i], column);
    if (!locate_wrong(at, &found, y, code))
        return false;
    for (uint32_t i = 0, k = 0; i < r->n; i++) {
        if (k < found && at[k] == i) {
            faulty[(*faulty_n)++] = r->member[i];
            k++;
        } else {
            r->row[kept] = r->row[i];
            r->member[kept++] = r->member[i];
        }
    }
    r->n = kept;
    return true;
}

static void sort(uint32_t *v, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k > 0 && v[k] < v[k - 1]; k--) {
            const uint32_t larger = v[k - 1];

            v[k - 1] = v[k];
            v[k] = larger;
        }
}

enum lcc_verdict search_wrong(struct search *s, void *owner, uint32_t *faulty, uint32_t *faulty_n,
                              struct search_rows *r)
{
    const uint32_t most = (r->n - s->needed) / 2;
    uint32_t blamed[LCC_PARTIES_MAX], blamed_n = 0;

    CHECK(r->n >= s->needed && r->n <= LCC_PARTIES_MAX);
    *faulty_n = 0;
    if (r->n == s->needed)
        return LCC_UNVERIFIED;
    /* Each turn takes at least one member out of the rest, in a column where it is wrong; columns
     * that agreed before agree without it. */
    for (size_t column = 0;;) {
        column = first_wrong_column(s, owner, r, column);
        if (column == r->len)
            break;
        if (!blame(s, r, blamed, &blamed_n, column) || blamed_n > most)
            return LCC_INCONSISTENT;
    }
    if (blamed_n == 0)
        return LCC_CONSISTENT;
    sort(blamed, blamed_n);
    memcpy(faulty, blamed, blamed_n * sizeof *faulty);
    *faulty_n = blamed_n;
    return LCC_LOCATED;
}

void search_check_members(const uint32_t *member, uint32_t n, uint32_t needed, uint32_t parties)
{
    bool seen[LCC_PARTIES_MAX] = {false};

    CHECK(n >= needed && n <= parties && parties <= LCC_PARTIES_MAX);
    for (uint32_t i = 0; i < n; i++) {
        CHECK(member[i] < parties && !seen[member[i]]);
        seen[member[i]] = true;
    }
}
