/* lcc.c -- the code over 16-bit primes: shape, shares, decoding, checking.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/lcc/lcc.h"

#include "common/base/check.h"
#include "common/base/mem.h"

#include <string.h>

/* --- the shape --- */

static enum status check_shape(const struct lcc_shape *s, struct error *err)
{
    const uint64_t threshold = (uint64_t)s->segments + s->privacy;
    struct fp16 f;

    if (s->segments < 1 || s->privacy < 1)
        return error_set(err, STATUS_CONFIG, "segments and privacy are at least 1 (%u, %u)",
                         s->segments, s->privacy);
    if (s->parties > LCC_PARTIES_MAX)
        return error_set(err, STATUS_CONFIG, "%u parties, more than %d", s->parties,
                         LCC_PARTIES_MAX);
    if (threshold > s->parties)
        return error_set(err, STATUS_CONFIG,
                         "segments + privacy = %llu, more than there are parties (%u)",
                         (unsigned long long)threshold, s->parties);
    if (s->prime > FP16_PRIME_MAX || !fp16_init(&f, (uint32_t)s->prime))
        return error_set(err, STATUS_CONFIG, "%llu is not an odd prime of at most %u",
                         (unsigned long long)s->prime, FP16_PRIME_MAX);
    if (s->prime <= s->parties + threshold)
        return error_set(err, STATUS_CONFIG,
                         "the prime %llu is not above parties + segments + privacy = %llu",
                         (unsigned long long)s->prime, (unsigned long long)s->parties + threshold);
    return STATUS_OK;
}

/* --- memory --- */

/* The next n elements of `size` bytes from *at on, each part aligned like the block. */
static void *cut(size_t *at, void *block, size_t n, size_t size)
{
    void *part = block == NULL ? NULL : (char *)block + *at;

    *at += (n * size + MEM_ALIGNMENT - 1) / MEM_ALIGNMENT * MEM_ALIGNMENT;
    return part;
}

struct parts {
    int32_t *encode, *decode;
};

/* Cuts c->block; returns how many bytes that takes.  All sizes are below 2^9 x 2^9 elements. */
static size_t cut_all(struct lcc *c, struct parts *ready)
{
    const uint32_t m = c->shape.parties, d = c->threshold;
    size_t at = 0;

    ready->encode = cut(&at, c->block, fp16_mat_space(m, d), sizeof(int32_t));
    ready->decode = cut(&at, c->block, fp16_mat_space(c->shape.segments, d), sizeof(int32_t));
    c->ready = cut(&at, c->block, fp16_mat_space(m, d), sizeof(int32_t));
    c->decodes = cut(&at, c->block, d, sizeof *c->decodes);
    c->wide = cut(&at, c->block, (size_t)m * d, sizeof *c->wide);
    c->narrow = cut(&at, c->block, (size_t)m * d, sizeof *c->narrow);
    c->expected = cut(&at, c->block, (size_t)(m - d) * LCC_CHUNK, sizeof *c->expected);
    return at;
}

/* --- coefficients --- */

/* The values at `to` from those at `from`, K+T of them, made ready in `space`. */
static void prepare(struct lcc *c, struct fp16_mat *m, int32_t *space, const uint64_t *to,
                    uint32_t to_n, const uint64_t *from)
{
    points_lagrange(c->wide, to, to_n, from, c->threshold, c->shape.prime);
    for (size_t i = 0; i < (size_t)to_n * c->threshold; i++)
        c->narrow[i] = (uint16_t)c->wide[i];
    fp16_mat_init(m, space, c->narrow, to_n, c->threshold, &c->field);
}

static void betas(uint64_t *x, uint32_t n)
{
    for (uint32_t u = 0; u < n; u++)
        x[u] = points_beta(u);
}

static void alphas(uint64_t *x, const struct lcc *c, const uint32_t *member, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        x[i] = points_alpha(c->threshold, member[i]);
}

enum status lcc_init(struct lcc *c, const struct lcc_shape *s, struct error *err)
{
    uint64_t from[POINTS_MAX], to[POINTS_MAX];
    struct parts ready;
    enum status status;

    memset(c, 0, sizeof *c);
    status = check_shape(s, err);
    if (status != STATUS_OK)
        return status;
    c->shape = *s;
    c->threshold = s->segments + s->privacy;
    CHECK(fp16_init(&c->field, (uint32_t)s->prime));
    c->block = mem_alloc(cut_all(c, &ready), 1);
    if (c->block == NULL) {
        memset(c, 0, sizeof *c);
        return error_set(err, STATUS_MEMORY, "no memory for the code");
    }
    cut_all(c, &ready);
    betas(from, c->threshold);
    for (uint32_t j = 0; j < s->parties; j++)
        to[j] = points_alpha(c->threshold, j);
    prepare(c, &c->encode, ready.encode, to, s->parties, from);
    c->decode.low = ready.decode;
    c->decodes[0] = s->parties;
    return STATUS_OK;
}

void lcc_deinit(struct lcc *c)
{
    mem_free(c->block);
    memset(c, 0, sizeof *c);
}

size_t lcc_segment_len(const struct lcc *c, size_t n)
{
    return n / c->shape.segments + (n % c->shape.segments != 0);
}

/* --- shares --- */

void lcc_encode(const struct lcc *c, uint16_t *shares, const uint16_t *rows, size_t len)
{
    const uint16_t *row[POINTS_MAX];

    for (uint32_t u = 0; u < c->threshold; u++)
        row[u] = rows + u * len;
    fp16_mat_mul(&c->encode, shares, len, row, len);
}

static void check_shares(const struct lcc *c, const struct lcc_shares *s)
{
    bool seen[LCC_PARTIES_MAX] = {false};

    CHECK(s->n >= c->threshold && s->n <= c->shape.parties);
    for (uint32_t i = 0; i < s->n; i++) {
        CHECK(s->member[i] < c->shape.parties && !seen[s->member[i]]);
        seen[s->member[i]] = true;
    }
}

void lcc_decode(struct lcc *c, uint16_t *out, const struct lcc_shares *s)
{
    const size_t bytes = c->threshold * sizeof *c->decodes;

    check_shares(c, s);
    if (memcmp(c->decodes, s->member, bytes) != 0) {
        uint64_t from[POINTS_MAX], to[POINTS_MAX];

        alphas(from, c, s->member, c->threshold);
        betas(to, c->shape.segments);
        prepare(c, &c->decode, c->decode.low, to, c->shape.segments, from);
        memcpy(c->decodes, s->member, bytes);
    }
    fp16_mat_mul(&c->decode, out, s->len, s->row, s->len);
}

/* --- checking --- */

/* The shares that nobody has been blamed for yet. */
struct rest {
    const uint16_t *row[LCC_PARTIES_MAX];
    uint32_t member[LCC_PARTIES_MAX];
    uint32_t n;
};

/* The first column from `start` on where the rows beyond K+T are not what the first K+T say; len:
 * none. */
static size_t first_wrong_column(struct lcc *c, const struct rest *r, size_t start, size_t len)
{
    const uint32_t d = c->threshold, surplus = r->n - d;
    const uint16_t *from[POINTS_MAX];
    struct fp16_mat m;
    uint64_t x[POINTS_MAX];
    size_t wrong = len;

    alphas(x, c, r->member, r->n);
    prepare(c, &m, c->ready, x + d, surplus, x);
    for (size_t at = start, some; at < len && wrong == len; at += some) {
        some = len - at < LCC_CHUNK ? len - at : LCC_CHUNK;
        for (uint32_t u = 0; u < d; u++)
            from[u] = r->row[u] + at;
        fp16_mat_mul(&m, c->expected, LCC_CHUNK, from, some);
        for (uint32_t i = 0; i < surplus; i++) {
            const uint16_t *expected = c->expected + (size_t)i * LCC_CHUNK;
            const uint16_t *got = r->row[d + i] + at;
            size_t j = 0;

            if (memcmp(expected, got, some * sizeof *got) == 0)
                continue;
            while (expected[j] == got[j])
                j++;
            wrong = at + j < wrong ? at + j : wrong;
        }
    }
    return wrong;
}

/* Takes the members whose values are wrong in one column out of the rest, into `faulty`. */
static bool blame(struct lcc *c, struct rest *r, uint32_t *faulty, uint32_t *faulty_n,
                  size_t column)
{
    struct locate_code *code = &c->code;
    uint64_t y[POINTS_MAX];
    uint32_t at[POINTS_MAX], found, kept = 0;

    code->prime = c->shape.prime;
    code->n = r->n;
    code->threshold = c->threshold;
    alphas(code->x, c, r->member, r->n);
    points_weights(code->w, code->x, r->n, code->prime);
    for (uint32_t i = 0; i < r->n; i++)
        y[i] = r->row[i][column];
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

enum lcc_verdict lcc_check(struct lcc *c, uint32_t *faulty, uint32_t *faulty_n,
                           const struct lcc_shares *s)
{
    uint32_t blamed[LCC_PARTIES_MAX], blamed_n = 0, most;
    struct rest r = {.n = s->n};

    check_shares(c, s);
    *faulty_n = 0;
    most = (s->n - c->threshold) / 2;
    if (s->n == c->threshold)
        return LCC_UNVERIFIED;
    memcpy(r.row, s->row, s->n * sizeof *r.row);
    memcpy(r.member, s->member, s->n * sizeof *r.member);
    /* Each turn takes at least one member out of the rest, in a column where it is wrong; columns
     * that agreed before agree without it. */
    for (size_t column = 0;;) {
        column = first_wrong_column(c, &r, column, s->len);
        if (column == s->len)
            break;
        if (!blame(c, &r, blamed, &blamed_n, column) || blamed_n > most)
            return LCC_INCONSISTENT;
    }
    if (blamed_n == 0)
        return LCC_CONSISTENT;
    sort(blamed, blamed_n);
    memcpy(faulty, blamed, blamed_n * sizeof *faulty);
    *faulty_n = blamed_n;
    return LCC_LOCATED;
}
