/* lcc.c -- the code over 16-bit primes: shape, shares, decoding, checking.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/lcc/lcc.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/lcc/block.h"

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

/* Cuts c->block; returns how many bytes that takes.  All sizes are below 2^9 x 2^9 elements. */
static size_t cut_all(struct lcc *c)
{
    const uint32_t m = c->shape.parties, d = c->threshold;
    size_t at = 0;

    c->encode.low = block_cut(&at, c->block, fp16_mat_space(m, d), sizeof(int32_t));
    c->decode.low = block_cut(&at, c->block, fp16_mat_space(c->shape.segments, d), sizeof(int32_t));
    c->expect.low = block_cut(&at, c->block, fp16_mat_space(m, d), sizeof(int32_t));
    c->decodes = block_cut(&at, c->block, d, sizeof *c->decodes);
    c->wide = block_cut(&at, c->block, (size_t)m * d, sizeof *c->wide);
    c->narrow = block_cut(&at, c->block, (size_t)m * d, sizeof *c->narrow);
    c->search.expected = block_cut(&at, c->block, (size_t)(m - d) * LCC_CHUNK, sizeof(uint16_t));
    return at;
}

/* --- coefficients --- */

/* n x (K+T) of them, made ready in the space that m has. */
static void prepare(struct lcc *c, struct fp16_mat *m, const uint64_t *wide, uint32_t n)
{
    for (size_t i = 0; i < (size_t)n * c->threshold; i++)
        c->narrow[i] = (uint16_t)wide[i];
    fp16_mat_init(m, m->low, c->narrow, n, c->threshold, &c->field);
}

/* --- what checking needs of this code --- */

static uint64_t get(const void *row, size_t i)
{
    return ((const uint16_t *)row)[i];
}

static void prepare_expect(void *owner, const uint64_t *coefficients, uint32_t n)
{
    struct lcc *c = owner;

    prepare(c, &c->expect, coefficients, n);
}

static void expect(void *owner, void *out, const void *const *row, size_t columns)
{
    struct lcc *c = owner;
    const uint16_t *from[POINTS_MAX];

    for (uint32_t u = 0; u < c->threshold; u++)
        from[u] = row[u];
    fp16_mat_mul(&c->expect, out, LCC_CHUNK, from, columns);
}

/* --- init --- */

enum status lcc_init(struct lcc *c, const struct lcc_shape *s, struct error *err)
{
    uint64_t from[POINTS_MAX], to[POINTS_MAX];
    enum status status;

    memset(c, 0, sizeof *c);
    status = check_shape(s, err);
    if (status != STATUS_OK)
        return status;
    c->shape = *s;
    c->threshold = s->segments + s->privacy;
    CHECK(fp16_init(&c->field, (uint32_t)s->prime));
    c->block = mem_alloc(cut_all(c), 1);
    if (c->block == NULL) {
        memset(c, 0, sizeof *c);
        return error_set(err, STATUS_MEMORY, "no memory for the code");
    }
    cut_all(c);
    points_betas(from, c->threshold);
    points_alphas(to, c->threshold, NULL, s->parties);
    points_lagrange(c->wide, to, s->parties, from, c->threshold, s->prime);
    prepare(c, &c->encode, c->wide, s->parties);
    c->decodes[0] = s->parties;
    c->search.kind = (struct search_kind){sizeof(uint16_t), get, prepare_expect, expect};
    c->search.prime = s->prime;
    c->search.threshold = c->search.needed = c->threshold;
    c->search.wide = c->wide;
    return STATUS_OK;
}

void lcc_deinit(struct lcc *c)
{
    mem_free(c->block);
    memset(c, 0, sizeof *c);
}

/* --- shares --- */

void lcc_encode(const struct lcc *c, uint16_t *shares, const uint16_t *rows, size_t len)
{
    const uint16_t *row[POINTS_MAX];

    for (uint32_t u = 0; u < c->threshold; u++)
        row[u] = rows + u * len;
    fp16_mat_mul(&c->encode, shares, len, row, len);
}

void lcc_decode(struct lcc *c, uint16_t *out, const struct lcc_shares *s)
{
    const size_t bytes = c->threshold * sizeof *c->decodes;

    search_check_members(s->member, s->n, c->threshold, c->shape.parties);
    if (memcmp(c->decodes, s->member, bytes) != 0) {
        uint64_t from[POINTS_MAX], to[POINTS_MAX];

        points_alphas(from, c->threshold, s->member, c->threshold);
        points_betas(to, c->shape.segments);
        points_lagrange(c->wide, to, c->shape.segments, from, c->threshold, c->shape.prime);
        prepare(c, &c->decode, c->wide, c->shape.segments);
        memcpy(c->decodes, s->member, bytes);
    }
    fp16_mat_mul(&c->decode, out, s->len, s->row, s->len);
}

enum lcc_verdict lcc_check(struct lcc *c, uint32_t *faulty, uint32_t *faulty_n,
                           const struct lcc_shares *s)
{
    struct search_rows r = {.n = s->n, .len = s->len};

    search_check_members(s->member, s->n, c->threshold, c->shape.parties);
    for (uint32_t i = 0; i < s->n; i++) {
        r.row[i] = s->row[i];
        r.member[i] = s->member[i];
    }
    return search_wrong(&c->search, c, faulty, faulty_n, &r);
}
