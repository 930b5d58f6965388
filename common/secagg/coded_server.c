/* coded_server.c -- uploads in, sums out, and how sure one can be of them.
 *
 * With e uploads more than K + T, any inconsistency of up to e of them is noticed, and up to e / 2
 * are found (common/lcc/lcc.h).  A wrong row may be the fault of its member or of a dealer who gave
 * that member a share off the polynomial; the uploads cannot tell these two apart.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/coded_server.h"

#include "common/base/bits.h"
#include "common/base/mem.h"
#include "common/field/fp16_vec.h"
#include "common/secagg/coded.h"
#include "common/secagg/lane.h"

#include <string.h>

/* The uploads of a round. */
struct coded_round {
    uint16_t *rows; /* M x len of values_max */
    size_t len;
    bool in[PLAN_PARTIES_MAX];
    bool combined;
    uint32_t basis[PLAN_PARTIES_MAX]; /* combined: the K + T members it was decoded from */
};

struct coded_server {
    struct secagg_server base;
    uint32_t w;
    struct lcc lcc;
    struct coded_round round[2], *open, *other;
    uint16_t *sums; /* K x CODED_CHUNK */
    uint32_t wide[CODED_CHUNK];
    /* Uploads to look at together. */
    const uint16_t *row[PLAN_PARTIES_MAX];
    uint32_t member[PLAN_PARTIES_MAX];
    uint32_t faulty[LCC_PARTIES_MAX];
};

void coded_server_free(struct secagg_server *base)
{
    struct coded_server *p = (struct coded_server *)base;

    lcc_deinit(&p->lcc);
    mem_free(p->round[0].rows);
    mem_free(p->round[1].rows);
    mem_free(p->sums);
    mem_free(p);
}

enum status coded_server_new(struct secagg_server **out, const struct secagg_shape *s)
{
    const size_t len = coded_upload_values(s, s->values_max);
    struct coded_server *p = mem_alloc(1, sizeof *p);
    enum status st;

    if (p == NULL)
        return STATUS_MEMORY;
    st = coded_lcc_init(&p->lcc, s);
    p->w = p->lcc.field.bits;
    p->open = &p->round[0];
    p->other = &p->round[1];
    p->round[0].rows = mem_alloc(s->parties * len, sizeof(uint16_t));
    p->round[1].rows = mem_alloc(s->parties * len, sizeof(uint16_t));
    p->sums = mem_alloc((size_t)s->segments * CODED_CHUNK, sizeof *p->sums);
    if (st == STATUS_OK &&
        (p->round[0].rows == NULL || p->round[1].rows == NULL || p->sums == NULL))
        st = STATUS_MEMORY;
    if (st != STATUS_OK) {
        coded_server_free(&p->base);
        return st;
    }
    *out = &p->base;
    return STATUS_OK;
}

/* --- uploads --- */

/* A round that was combined stays until the next one is. */
void coded_server_begin(struct secagg_server *base)
{
    struct coded_server *p = (struct coded_server *)base;

    if (p->open->combined) {
        struct coded_round *last = p->open;

        p->open = p->other;
        p->other = last;
    }
    p->open->combined = false;
    p->open->len = coded_upload_values(&base->shape, base->n);
    memset(p->open->in, 0, sizeof p->open->in);
}

static uint16_t *row_of(const struct coded_round *r, uint32_t member)
{
    return r->rows + member * r->len;
}

/* Takes a member's row in.  STATUS_PROTOCOL, and it may still come, when it is not of the field. */
static enum status take(struct coded_server *p, struct coded_round *r, uint32_t member,
                        const uint8_t *payload, struct error *err)
{
    if (r->in[member])
        return error_set(err, STATUS_PROTOCOL, "a second upload in one round");
    bits_unpack16(row_of(r, member), payload, r->len, p->w);
    if (!fp16_vec_valid(row_of(r, member), r->len, &p->lcc.field))
        return error_set(err, STATUS_PROTOCOL, "an element that is not of the field of %u elements",
                         p->lcc.field.p);
    r->in[member] = true;
    return STATUS_OK;
}

enum status coded_server_add(struct secagg_server *base, uint32_t member, const uint8_t *payload,
                             const uint8_t *check, struct error *err)
{
    struct coded_server *p = (struct coded_server *)base;

    (void)check;
    return take(p, p->open, member, payload, err);
}

/* --- combine --- */

/* Checks all that are in, and lists those that may be decoded from, in the order they came. */
static enum status choose(struct coded_server *p, uint32_t *chosen, struct error *err)
{
    struct secagg_server *base = &p->base;
    struct lcc_shares all = {p->row, p->member, base->members_in, p->open->len};
    enum lcc_verdict verdict = LCC_UNVERIFIED;
    uint32_t faulty_n = 0;

    for (uint32_t i = 0; i < all.n; i++) {
        p->member[i] = base->order[i];
        p->row[i] = row_of(p->open, base->order[i]);
    }
    if (all.n > p->lcc.threshold)
        verdict = lcc_check(&p->lcc, p->faulty, &faulty_n, &all);
    if (verdict == LCC_INCONSISTENT)
        return error_set(err, STATUS_INTEGRITY,
                         "a contradiction between %u of %u uploads: one of them or a dealer's "
                         "shares is wrong",
                         all.n, base->shape.parties);
    base->verdict = verdict == LCC_UNVERIFIED   ? SECAGG_UNVERIFIED
                    : verdict == LCC_CONSISTENT ? SECAGG_CONSISTENT
                                                : SECAGG_LOCATED;
    base->faulty_n = faulty_n;
    for (uint32_t k = 0; k < faulty_n; k++)
        base->faulty[k] = (uint8_t)p->faulty[k];
    for (uint32_t i = 0, k = 0; k < p->lcc.threshold; i++) {
        if (memchr(base->faulty, (int)p->member[i], base->faulty_n) == NULL)
            chosen[k++] = p->member[i];
    }
    return STATUS_OK;
}

/* Sums of one segment from value `at` on; those beyond n are of the padding. */
static enum status put_sums(struct coded_server *p, float *out, const uint16_t *sums, size_t at,
                            size_t some, struct error *err)
{
    const struct secagg_shape *s = &p->base.shape;
    const size_t n = p->base.n, values = at >= n ? 0 : n - at < some ? n - at : some;
    const uint32_t max = s->encode.value_max * s->parties;

    lane_widen(p->wide, sums, some);
    if (lane_max32(p->wide, values) > max)
        return error_set(err, STATUS_INTEGRITY,
                         "a sum above %u, the most that %u members can reach: an upload or a "
                         "dealer's shares is wrong",
                         max, s->parties);
    if (lane_max32(p->wide + values, some - values) != 0)
        return error_set(err, STATUS_INTEGRITY,
                         "padding that is not 0: an upload or a dealer's shares is wrong");
    if (values > 0)
        encode_estimate(&s->encode, out + at, p->wide, values, s->parties);
    return STATUS_OK;
}

static enum status decode(struct coded_server *p, float *out, struct error *err)
{
    const struct coded_round *r = p->open;
    enum status s = STATUS_OK;

    for (size_t at = 0, some; at < r->len && s == STATUS_OK; at += some) {
        struct lcc_shares basis = {p->row, r->basis, p->lcc.threshold, 0};

        some = r->len - at < CODED_CHUNK ? r->len - at : CODED_CHUNK;
        basis.len = some;
        for (uint32_t i = 0; i < basis.n; i++)
            p->row[i] = row_of(r, r->basis[i]) + at;
        lcc_decode(&p->lcc, p->sums, &basis);
        for (uint32_t k = 0; k < p->base.shape.segments && s == STATUS_OK; k++)
            s = put_sums(p, out, p->sums + k * some, k * r->len + at, some, err);
    }
    return s;
}

enum status coded_server_combine(struct secagg_server *base, float *out, uint32_t width,
                                 struct error *err)
{
    struct coded_server *p = (struct coded_server *)base;
    enum status s = choose(p, p->open->basis, err);

    (void)width;
    if (s == STATUS_OK)
        s = decode(p, out, err);
    p->open->combined = s == STATUS_OK;
    return s;
}

/* --- after it --- */

enum status coded_server_late(struct secagg_server *base, uint32_t member, const uint8_t *payload,
                              size_t bytes, struct error *err)
{
    struct coded_server *p = (struct coded_server *)base;
    struct coded_round *r = p->open->combined ? p->open : p->other;
    const uint32_t n = p->lcc.threshold + 1;
    const struct lcc_shares with_it = {p->row, p->member, n, r->len};
    uint32_t faulty_n;
    enum status s;

    if (!r->combined)
        return error_set(err, STATUS_PROTOCOL, "an upload that no round waits for");
    if (bytes != bits_bytes(r->len, p->w))
        return error_set(err, STATUS_PROTOCOL, "an upload of %zu bytes instead of %zu", bytes,
                         bits_bytes(r->len, p->w));
    s = take(p, r, member, payload, err);
    if (s != STATUS_OK)
        return s;
    for (uint32_t i = 0; i < n; i++) {
        p->member[i] = i + 1 < n ? r->basis[i] : member;
        p->row[i] = row_of(r, p->member[i]);
    }
    if (lcc_check(&p->lcc, p->faulty, &faulty_n, &with_it) != LCC_CONSISTENT)
        return error_set(err, STATUS_INTEGRITY,
                         "a late upload that the decoded sum contradicts: it or a dealer's shares "
                         "is wrong");
    return STATUS_OK;
}
