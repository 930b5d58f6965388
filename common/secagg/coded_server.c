/* coded_server.c -- uploads in, sums out.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/coded_server.h"

#include "common/base/bits.h"
#include "common/base/mem.h"
#include "common/field/fp16_vec.h"
#include "common/secagg/coded.h"
#include "common/secagg/lane.h"
#include "common/secagg/others.h"
#include "common/secagg/uploads.h"

#include <string.h>

struct coded_server {
    struct uploads_server server;
    struct lcc lcc;
    uint16_t *sums; /* K x CODED_CHUNK */
    uint16_t *kept; /* all sums of the last round, where they will be shown: values_max */
    uint32_t wide[CODED_CHUNK];
};

/* --- the code of struct uploads --- */

/* The rows as lcc.h has them. */
static struct lcc_shares shares_of(const uint16_t **row, const struct uploads_rows *rows)
{
    for (uint32_t i = 0; i < rows->n; i++)
        row[i] = rows->row[i];
    return (struct lcc_shares){row, rows->member, rows->n, rows->len};
}

static size_t packed(void *code, size_t len)
{
    return bits_bytes(len, ((struct lcc *)code)->field.bits);
}

static bool unpack(void *code, void *row, const uint8_t *payload, size_t len)
{
    const struct fp16 *field = &((struct lcc *)code)->field;

    bits_unpack16(row, payload, len, field->bits);
    return fp16_vec_valid(row, len, field) && bits_clean(payload, len, field->bits);
}

static enum lcc_verdict check(void *code, uint32_t *faulty, uint32_t *faulty_n,
                              const struct uploads_rows *rows)
{
    const uint16_t *row[LCC_PARTIES_MAX];
    const struct lcc_shares shares = shares_of(row, rows);

    return lcc_check(code, faulty, faulty_n, &shares);
}

static enum status decode(struct uploads_server *server, float *out, struct error *err);

/* --- life --- */

void coded_server_free(struct secagg_server *base)
{
    struct coded_server *p = (struct coded_server *)base;

    uploads_deinit(&p->server.uploads);
    lcc_deinit(&p->lcc);
    mem_free(p->sums);
    mem_free(p->kept);
    mem_free(p);
}

enum status coded_server_new(struct secagg_server **out, const struct secagg_shape *s)
{
    struct uploads_code code = {.parties = s->parties,
                                .bytes = sizeof(uint16_t),
                                .packed = packed,
                                .unpack = unpack,
                                .check = check};
    struct coded_server *p = mem_alloc(1, sizeof *p);
    enum status st;

    if (p == NULL)
        return STATUS_MEMORY;
    st = coded_lcc_init(&p->lcc, s);
    code.code = &p->lcc;
    code.prime = p->lcc.field.p;
    code.quorum = p->lcc.threshold;
    p->sums = mem_alloc((size_t)s->segments * CODED_CHUNK, sizeof *p->sums);
    if (s->shown)
        p->kept = mem_alloc(s->values_max, sizeof *p->kept);
    if (st == STATUS_OK && (p->sums == NULL || (s->shown && p->kept == NULL)))
        st = STATUS_MEMORY;
    if (st == STATUS_OK)
        st = uploads_init(&p->server.uploads, &code, coded_upload_values(s, s->values_max));
    if (st != STATUS_OK) {
        coded_server_free(&p->server.base);
        return st;
    }
    p->server.decode = decode;
    *out = &p->server.base;
    return STATUS_OK;
}

/* --- a round --- */

void coded_server_begin(struct secagg_server *base)
{
    uploads_begin(&((struct uploads_server *)base)->uploads,
                  coded_upload_values(&base->shape, base->n));
}

/* Sums of one segment from value `at` on; those beyond n are of the padding. */
static enum status put_sums(struct coded_server *p, float *out, const uint16_t *sums, size_t at,
                            size_t some, struct error *err)
{
    const struct secagg_shape *s = &p->server.base.shape;
    const size_t n = p->server.base.n, values = at >= n ? 0 : n - at < some ? n - at : some;

    if (s->encode.residues)
        encode_centre(p->wide, sums, some, p->lcc.field.p);
    else
        lane_widen(p->wide, sums, some);
    if (!encode_is_sum(&s->encode, p->wide, values))
        return error_set(err, STATUS_INTEGRITY,
                         "a sum above %llu, the most that %u members can reach: an upload or a "
                         "dealer's shares is wrong",
                         (unsigned long long)s->encode.span, s->parties);
    if (lane_max32(p->wide + values, some - values) != 0)
        return error_set(err, STATUS_INTEGRITY,
                         "padding that is not 0: an upload or a dealer's shares is wrong");
    if (values == 0)
        return STATUS_OK;
    encode_estimate(&s->encode, out + at, p->wide, values, s->parties);
    if (p->kept != NULL)
        lane_narrow(p->kept + at, p->wide, values);
    return STATUS_OK;
}

static enum status decode(struct uploads_server *server, float *out, struct error *err)
{
    struct coded_server *p = (struct coded_server *)server;
    const size_t len = coded_upload_values(&p->server.base.shape, p->server.base.n);
    const uint16_t *row[LCC_PARTIES_MAX];
    enum status s = STATUS_OK;

    for (size_t at = 0, some; at < len && s == STATUS_OK; at += some) {
        struct uploads_rows rows;
        struct lcc_shares basis;

        some = len - at < CODED_CHUNK ? len - at : CODED_CHUNK;
        rows = uploads_basis(&p->server.uploads, at, some);
        basis = shares_of(row, &rows);
        lcc_decode(&p->lcc, p->sums, &basis);
        for (uint32_t k = 0; k < p->server.base.shape.segments && s == STATUS_OK; k++)
            s = put_sums(p, out, p->sums + k * some, k * len + at, some, err);
    }
    return s;
}

void coded_server_show(const struct secagg_server *base, uint8_t *out)
{
    const struct coded_server *p = (const struct coded_server *)base;

    bits_pack16(out, p->kept, base->n, others_sum_width(&base->shape));
}
