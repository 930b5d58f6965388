/* product.c -- the code over 2^31 - 1 and 2^61 - 1: shape, shares, decoding, checking.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/lcc/product.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "common/lcc/block.h"

#include <string.h>

/* --- the shape --- */

static uint64_t results_of(const struct product_shape *s)
{
    return 2 * ((uint64_t)s->segments + s->privacy - 1) + 1;
}

static enum status check_shape(const struct product_shape *s, struct error *err)
{
    if (s->segments < 1 || s->privacy < 1)
        return error_set(err, STATUS_CONFIG, "segments and privacy are at least 1 (%u, %u)",
                         s->segments, s->privacy);
    if (s->parties > LCC_PARTIES_MAX)
        return error_set(err, STATUS_CONFIG, "%u parties, more than %d", s->parties,
                         LCC_PARTIES_MAX);
    if (results_of(s) > s->parties)
        return error_set(err, STATUS_CONFIG,
                         "2 (segments + privacy - 1) + 1 = %llu, more than there are parties (%u)",
                         (unsigned long long)results_of(s), s->parties);
    return STATUS_OK;
}

/* --- memory --- */

/* Bytes that a product of the largest matrix of coefficients needs. */
static size_t scratch_bytes(const struct product *p)
{
    const uint32_t m = p->shape.parties, r = p->results;
    const struct mat_shape most = {.n = m, .k = r, .m = LCC_CHUNK, .lda = r};

    return p->shape.field->mat_space(&most);
}

/* Cuts p->block; returns how many bytes that takes.  R <= M <= LCC_PARTIES_MAX. */
static size_t cut_all(struct product *p)
{
    const size_t m = p->shape.parties, k = p->shape.segments, t = p->shape.privacy;
    const size_t r = p->results, bytes = p->shape.field->bytes;
    size_t at = 0;

    p->encode = block_cut(&at, p->block, m * (k + t), bytes);
    p->same = block_cut(&at, p->block, m * (1 + t), bytes);
    p->decode = block_cut(&at, p->block, k * r, bytes);
    p->expect = block_cut(&at, p->block, (m - r) * r, bytes);
    p->decodes = block_cut(&at, p->block, r, sizeof *p->decodes);
    p->wide = block_cut(&at, p->block, m * r, sizeof *p->wide);
    p->columns = block_cut(&at, p->block, r * LCC_CHUNK, bytes);
    p->search.expected = block_cut(&at, p->block, (m - r) * LCC_CHUNK, bytes);
    p->scratch = block_cut(&at, p->block, p->scratch_bytes, 1);
    return at;
}

/* --- coefficients --- */

static void narrow(const struct product *p, void *c, const uint64_t *wide, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p->shape.field->set(c, i, wide[i]);
}

/* Member by member, the coefficients of the equal segments are added up. */
static void add_segments(struct product *p)
{
    const struct field *f = p->shape.field;
    const uint32_t k = p->shape.segments, t = p->shape.privacy;

    for (uint32_t j = 0; j < p->shape.parties; j++) {
        const uint64_t *c = p->wide + (size_t)j * p->threshold;
        const size_t at = (size_t)j * (1 + t);
        uint64_t sum = 0;

        for (uint32_t u = 0; u < k; u++)
            sum = (sum + c[u]) % f->p;
        f->set(p->same, at, sum);
        for (uint32_t u = 0; u < t; u++)
            f->set(p->same, at + 1 + u, c[k + u]);
    }
}

static void prepare_encode(struct product *p)
{
    uint64_t from[POINTS_MAX], to[POINTS_MAX];
    const uint32_t m = p->shape.parties;

    points_betas(from, p->threshold);
    points_alphas(to, p->threshold, NULL, m);
    points_lagrange(p->wide, to, m, from, p->threshold, p->shape.field->p);
    narrow(p, p->encode, p->wide, (size_t)m * p->threshold);
    add_segments(p);
}

static void prepare_decode(struct product *p, const uint32_t *member)
{
    uint64_t from[POINTS_MAX], to[POINTS_MAX];
    const uint32_t k = p->shape.segments, r = p->results;

    points_alphas(from, p->threshold, member, r);
    points_betas(to, k);
    points_lagrange(p->wide, to, k, from, r, p->shape.field->p);
    narrow(p, p->decode, p->wide, (size_t)k * r);
    memcpy(p->decodes, member, r * sizeof *member);
}

/* --- products of coefficients and rows --- */

/* out: n x ldc, its first `columns` <= LCC_CHUNK of each row: n x R coefficients times R rows. */
static void combine(struct product *p, void *out, size_t ldc, const void *coefficients, uint32_t n,
                    const void *const *row, size_t columns)
{
    const struct field *f = p->shape.field;
    const struct mat_shape shape = {n, p->results, columns, p->results, LCC_CHUNK, ldc};

    for (uint32_t i = 0; i < p->results; i++)
        memcpy((uint8_t *)p->columns + (size_t)i * LCC_CHUNK * f->bytes, row[i],
               columns * f->bytes);
    f->mat_mul(out, coefficients, p->columns, &shape, p->scratch);
}

/* --- what checking needs of this code --- */

static void prepare_expect(void *owner, const uint64_t *coefficients, uint32_t n)
{
    struct product *p = owner;

    narrow(p, p->expect, coefficients, (size_t)n * p->results);
    p->expect_n = n;
}

static void expect(void *owner, void *out, const void *const *row, size_t columns)
{
    struct product *p = owner;

    combine(p, out, LCC_CHUNK, p->expect, p->expect_n, row, columns);
}

static void prepare_check(struct product *p)
{
    const struct field *f = p->shape.field;

    p->search.kind = (struct search_kind){f->bytes, f->get, prepare_expect, expect};
    p->search.prime = f->p;
    p->search.threshold = p->threshold;
    p->search.needed = p->results;
    p->search.wide = p->wide;
}

/* --- init --- */

enum status product_init(struct product *p, const struct product_shape *s, struct error *err)
{
    enum status status;

    memset(p, 0, sizeof *p);
    status = check_shape(s, err);
    if (status != STATUS_OK)
        return status;
    p->shape = *s;
    p->threshold = s->segments + s->privacy;
    p->results = (uint32_t)results_of(s);
    p->scratch_bytes = scratch_bytes(p);
    p->block = mem_alloc(cut_all(p), 1);
    if (p->block == NULL) {
        memset(p, 0, sizeof *p);
        return error_set(err, STATUS_MEMORY, "no memory for the code");
    }
    cut_all(p);
    prepare_encode(p);
    prepare_check(p);
    p->decodes[0] = s->parties;
    return STATUS_OK;
}

void product_deinit(struct product *p)
{
    mem_free(p->block);
    memset(p, 0, sizeof *p);
}

/* --- shares and results --- */

static void encode(struct product *p, void *shares, const void *coefficients, uint32_t n,
                   const void *rows, size_t len)
{
    const struct mat_shape shape = {p->shape.parties, n, len, n, len, len};

    p->shape.field->mat_mul(shares, coefficients, rows, &shape, p->scratch);
    secret_wipe(p->scratch, p->scratch_bytes);
}

void product_encode(struct product *p, void *shares, const void *rows, size_t len)
{
    encode(p, shares, p->encode, p->threshold, rows, len);
}

void product_encode_same(struct product *p, void *shares, const void *rows, size_t len)
{
    encode(p, shares, p->same, 1 + p->shape.privacy, rows, len);
}

void product_decode(struct product *p, void *out, const struct product_results *s)
{
    const uint32_t bytes = p->shape.field->bytes;
    const void *row[POINTS_MAX];

    search_check_members(s->member, s->n, p->results, p->shape.parties);
    if (memcmp(p->decodes, s->member, p->results * sizeof *p->decodes) != 0)
        prepare_decode(p, s->member);
    for (size_t at = 0, some; at < s->len; at += some) {
        some = s->len - at < LCC_CHUNK ? s->len - at : LCC_CHUNK;
        for (uint32_t i = 0; i < p->results; i++)
            row[i] = (const uint8_t *)s->row[i] + at * bytes;
        combine(p, (uint8_t *)out + at * bytes, s->len, p->decode, p->shape.segments, row, some);
    }
}

enum lcc_verdict product_check(struct product *p, uint32_t *faulty, uint32_t *faulty_n,
                               const struct product_results *s)
{
    struct search_rows r = {.n = s->n, .len = s->len};

    search_check_members(s->member, s->n, p->results, p->shape.parties);
    memcpy(r.row, s->row, s->n * sizeof *r.row);
    memcpy(r.member, s->member, s->n * sizeof *r.member);
    return search_wrong(&p->search, p, faulty, faulty_n, &r);
}
