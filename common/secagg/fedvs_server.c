/* fedvs_server.c -- results in, sums out.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/fedvs_server.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/secagg/fedvs.h"
#include "common/secagg/uploads.h"

#include <string.h>

struct fedvs_server {
    struct uploads_server server;
    struct product code;
    uint8_t *sums; /* K x FEDVS_CHUNK elements */
    int64_t wide[FEDVS_CHUNK];
};

/* --- the code of struct uploads --- */

static size_t packed(void *code, size_t len)
{
    return ((struct product *)code)->shape.field->packed(len);
}

static bool unpack(void *code, void *row, const uint8_t *payload, size_t len)
{
    const struct field *f = ((struct product *)code)->shape.field;

    f->unpack(row, payload, len);
    return f->valid(row, len) && bits_clean(payload, len, f->bits);
}

static enum lcc_verdict check(void *code, uint32_t *faulty, uint32_t *faulty_n,
                              const struct uploads_rows *rows)
{
    const struct product_results results = {rows->row, rows->member, rows->n, rows->len};

    return product_check(code, faulty, faulty_n, &results);
}

static enum status decode(struct uploads_server *server, float *out, struct error *err);

/* --- life --- */

void fedvs_server_free(struct secagg_server *base)
{
    struct fedvs_server *p = (struct fedvs_server *)base;

    uploads_deinit(&p->server.uploads);
    product_deinit(&p->code);
    mem_free(p->sums);
    mem_free(p);
}

enum status fedvs_server_new(struct secagg_server **out, const struct secagg_shape *s)
{
    struct fedvs_server *p = mem_alloc(1, sizeof *p);
    struct uploads_code code = {.parties = s->parties,
                                .prime = s->terms.field->p,
                                .bytes = s->terms.field->bytes,
                                .packed = packed,
                                .unpack = unpack,
                                .check = check};
    enum status st;

    if (p == NULL)
        return STATUS_MEMORY;
    code.code = &p->code;
    st = fedvs_product_init(&p->code, s);
    code.quorum = p->code.results;
    p->sums = mem_alloc((size_t)s->terms.segments * FEDVS_CHUNK, s->terms.field->bytes);
    if (st == STATUS_OK && p->sums == NULL)
        st = STATUS_MEMORY;
    if (st == STATUS_OK)
        st = uploads_init(&p->server.uploads, &code, fedvs_upload_values(s, s->values_max));
    if (st != STATUS_OK) {
        fedvs_server_free(&p->server.base);
        return st;
    }
    p->server.decode = decode;
    *out = &p->server.base;
    return STATUS_OK;
}

/* --- a round --- */

void fedvs_server_begin(struct secagg_server *base)
{
    CHECK(base->n % base->shape.terms.segments == 0);
    uploads_begin(&((struct uploads_server *)base)->uploads,
                  fedvs_upload_values(&base->shape, base->n));
}

/* The largest size among x[n]. */
static uint64_t largest(const int64_t *x, size_t n)
{
    uint64_t most = 0;

    for (size_t i = 0; i < n; i++) {
        const uint64_t size = (uint64_t)(x[i] < 0 ? -x[i] : x[i]);

        most = size > most ? size : most;
    }
    return most;
}

/* Sums of one segment from value `at` on; those beyond the real ones are of the padding. */
static enum status put_sums(struct fedvs_server *p, float *out, const uint8_t *sums, size_t at,
                            size_t some, struct error *err)
{
    const struct fedvs_terms *t = &p->server.base.shape.terms;
    const size_t n = p->server.base.real, values = at >= n ? 0 : n - at < some ? n - at : some;

    t->field->to_signed(p->wide, sums, some);
    if (largest(p->wide, values) > t->bound)
        return error_set(err, STATUS_INTEGRITY,
                         "a sum above %llu in size, the most that the terms allow: an upload or a "
                         "dealer's shares is wrong",
                         (unsigned long long)t->bound);
    if (largest(p->wide + values, some - values) != 0)
        return error_set(err, STATUS_INTEGRITY,
                         "padding that is not 0: an upload or a dealer's shares is wrong");
    if (values > 0)
        fedvs_real(t, out + at, p->wide, values);
    return STATUS_OK;
}

static enum status decode(struct uploads_server *server, float *out, struct error *err)
{
    struct fedvs_server *p = (struct fedvs_server *)server;
    const struct fedvs_terms *t = &p->server.base.shape.terms;
    const size_t len = fedvs_upload_values(&p->server.base.shape, p->server.base.n);
    enum status s = STATUS_OK;

    for (size_t at = 0, some; at < len && s == STATUS_OK; at += some) {
        struct uploads_rows rows;
        struct product_results basis;

        some = len - at < FEDVS_CHUNK ? len - at : FEDVS_CHUNK;
        rows = uploads_basis(&p->server.uploads, at, some);
        basis = (struct product_results){rows.row, rows.member, rows.n, rows.len};
        product_decode(&p->code, p->sums, &basis);
        for (uint32_t k = 0; k < t->segments && s == STATUS_OK; k++)
            s = put_sums(p, out, p->sums + k * some * t->field->bytes, k * len + at, some, err);
    }
    return s;
}
