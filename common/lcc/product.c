/* product.c -- the code over 2^31 - 1 and 2^61 - 1: shape, shares, decoding, checking.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/lcc/product.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "common/field/mod.h"
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

static void cut_matrix(struct product_matrix *m, size_t *at, const struct product *p, uint32_t rows,
                       uint32_t terms)
{
    m->c = block_cut(at, p->block, (size_t)rows * terms, p->shape.field->bytes);
    m->rows = rows;
    m->terms = terms;
}

/* Cuts p->block; returns how many bytes that takes.  R <= M <= LCC_PARTIES_MAX. */
static size_t cut_all(struct product *p)
{
    const uint32_t m = p->shape.parties, r = p->results, bytes = p->shape.field->bytes;
    size_t at = 0;

    cut_matrix(&p->encode, &at, p, m, p->threshold);
    cut_matrix(&p->same, &at, p, m, 1 + p->shape.privacy);
    cut_matrix(&p->decode, &at, p, p->shape.segments, r);
    cut_matrix(&p->expect, &at, p, m - r, r);
    p->decodes = block_cut(&at, p->block, r, sizeof *p->decodes);
    p->wide = block_cut(&at, p->block, (size_t)m * r, sizeof *p->wide);
    p->columns = block_cut(&at, p->block, (size_t)r * LCC_CHUNK, bytes);
    p->search.expected = block_cut(&at, p->block, (size_t)(m - r) * LCC_CHUNK, bytes);
    p->scratch = block_cut(&at, p->block, p->scratch_bytes, 1);
    return at;
}

/* --- coefficients --- */

static void narrow(const struct product *p, struct product_matrix *m, const uint64_t *wide)
{
    for (size_t i = 0; i < (size_t)m->rows * m->terms; i++)
        p->shape.field->set(m->c, i, wide[i]);
}

/* p->same out of p->encode: member by member, the coefficients of equal segments are added up. */
static void add_segments(struct product *p)
{
    const struct field *f = p->shape.field;
    const uint32_t k = p->shape.segments;

    for (uint32_t j = 0; j < p->shape.parties; j++) {
        const size_t from = (size_t)j * p->threshold, to = (size_t)j * p->same.terms;
        uint64_t sum = 0;

        for (uint32_t u = 0; u < k; u++)
            sum = mod_add(sum, f->get(p->encode.c, from + u), f->p);
        f->set(p->same.c, to, sum);
        for (uint32_t u = 0; u < p->shape.privacy; u++)
            f->set(p->same.c, to + 1 + u, f->get(p->encode.c, from + k + u));
    }
}

static void prepare_encode(struct product *p)
{
    uint64_t from[POINTS_MAX], to[POINTS_MAX];
    const uint32_t m = p->shape.parties;

    points_betas(from, p->threshold);
    points_alphas(to, p->threshold, NULL, m);
    points_lagrange(p->wide, to, m, from, p->threshold, p->shape.field->p);
    narrow(p, &p->encode, p->wide);
    add_segments(p);
}

static void prepare_decode(struct product *p, const uint32_t *member)
{
    uint64_t from[POINTS_MAX], to[POINTS_MAX];
    const uint32_t k = p->shape.segments, r = p->results;

    points_alphas(from, p->threshold, member, r);
    points_betas(to, k);
    points_lagrange(p->wide, to, k, from, r, p->shape.field->p);
    narrow(p, &p->decode, p->wide);
    memcpy(p->decodes, member, r * sizeof *member);
}

/* --- products of coefficients and rows --- */

/* out: a row for each of m's, from one to the next ldc elements, of which the first `columns` <=
 * LCC_CHUNK are m times the first `columns` of R rows. */
static void combine(struct product *p, void *out, size_t ldc, const struct product_matrix *m,
                    const void *const *row, size_t columns)
{
    const struct mat_shape shape = {m->rows, m->terms, columns, m->terms, LCC_CHUNK, ldc};
    const struct field *f = p->shape.field;

    for (uint32_t i = 0; i < m->terms; i++)
        memcpy((uint8_t *)p->columns + (size_t)i * LCC_CHUNK * f->bytes, row[i],
               columns * f->bytes);
    f->mat_mul(out, m->c, p->columns, &shape, p->scratch);
}

/* --- what checking needs of this code --- */

static void prepare_expect(void *owner, const uint64_t *coefficients, uint32_t n)
{
    struct product *p = owner;

    p->expect.rows = n;
    narrow(p, &p->expect, coefficients);
}

static void expect(void *owner, void *out, const void *const *row, size_t columns)
{
    struct product *p = owner;

    combine(p, out, LCC_CHUNK, &p->expect, row, columns);
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

static void encode(struct product *p, void *shares, const struct product_matrix *m,
                   const void *rows, size_t len)
{
    const struct mat_shape shape = {m->rows, m->terms, len, m->terms, len, len};

    p->shape.field->mat_mul(shares, m->c, rows, &shape, p->scratch);
    secret_wipe(p->scratch, p->scratch_bytes);
}

void product_encode(struct product *p, void *shares, const void *rows, size_t len)
{
    encode(p, shares, &p->encode, rows, len);
}

void product_encode_same(struct product *p, void *shares, const void *rows, size_t len)
{
    encode(p, shares, &p->same, rows, len);
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
        combine(p, (uint8_t *)out + at * bytes, s->len, &p->decode, row, some);
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
