/* fedvs.c -- each member shares its data once and its weights each round, and multiplies what it
 * got (Li, Yao, Liu 2023, Algorithm 1).
 *
 *   data     X_m: K segments of the quantised powers, T uniform rows; member j gets F_m(alpha_j)
 *   weights  W_m: the same at all K segments, T uniform rows; member j gets G_m(alpha_j)
 *   upload   of j: sum over m of F_m(alpha_j) G_m(alpha_j), for the coded rows of the round, plus
 *            its share of a polynomial that vanishes at beta_1 .. beta_K (zero.h)
 *
 * A row of shared data has inputs_n columns, member by member, and the shared weights as many rows,
 * so that the sum is one product.
 *
 * The uniform rows of weights and all keys come from the system's generator whatever the noise
 * comes from; after each round its stream starts again from a key of its own, and everything secret
 * that a round left in memory is wiped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/fedvs.h"

#include "common/base/check.h"
#include "common/crypto/secret.h"
#include "common/secagg/draw.h"
#include "common/secagg/fedvs_deal.h"
#include "common/secagg/fedvs_party.h"
#include "common/secagg/fedvs_server.h"
#include "common/secagg/uploads.h"

#include <string.h>

/* --- the shape --- */

static uint32_t fedvs_width(const struct secagg_shape *s)
{
    return s->terms.field == NULL || s->terms.parties != s->parties || s->concat
               ? 0
               : s->terms.field->bits;
}

size_t fedvs_upload_values(const struct secagg_shape *s, size_t n)
{
    return n / s->terms.segments + (n % s->terms.segments != 0);
}

static size_t fedvs_payload_bytes(const struct secagg_shape *s, size_t n)
{
    return s->terms.field->packed(fedvs_upload_values(s, n));
}

static uint32_t fedvs_quorum(const struct secagg_shape *s)
{
    return 2 * (s->terms.segments + s->terms.privacy - 1) + 1;
}

size_t fedvs_part_bytes(const struct secagg_shape *s, enum secagg_part part, uint32_t from,
                        size_t n)
{
    const struct fedvs_terms *t = &s->terms;

    switch (part) {
    case SECAGG_PART_ROUND: return t->field->packed((size_t)t->inputs[from] * t->width);
    case SECAGG_PART_KEYS: return zero_part_bytes(s->parties, t->privacy, from);
    case SECAGG_PART_DATA: return t->field->packed(n * t->inputs[from]);
    }
    return 0;
}

enum status fedvs_product_init(struct product *c, const struct secagg_shape *s)
{
    const struct product_shape shape = {s->terms.field, s->parties, s->terms.segments,
                                        s->terms.privacy};

    return product_init(c, &shape, NULL);
}

/* --- protect --- */

static void share_weights(struct fedvs_party *p, uint8_t *sealed, const float *w, size_t n,
                          struct rng *noise)
{
    const struct fedvs_terms *t = &p->base.shape.terms;
    const struct field *f = p->field;
    uint8_t *own = p->weights + (size_t)p->before * t->width * f->bytes;

    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < FEDVS_CHUNK ? n - at : FEDVS_CHUNK;
        fedvs_quantise_w(t, p->wide, w + at, some, noise, &p->base.clipped);
        f->from_signed(p->coded, p->wide, some);
        draw_from_rng(f, p->coded + some * f->bytes, t->privacy * some, &p->uniform, p->random);
        product_encode_same(&p->code, p->shares, p->coded, some);
        fedvs_put_shares(p, sealed, own, f->packed(n), at, some);
    }
}

static enum status fedvs_protect(struct secagg_party *base, uint8_t *sealed, uint8_t *tags,
                                 const float *w, size_t n, const struct secagg_round *r,
                                 struct rng *noise)
{
    struct fedvs_party *p = (struct fedvs_party *)base;
    const struct fedvs_terms *t = &base->shape.terms;
    enum status s = p->keyed ? fedvs_begin(p, r) : STATUS_PROTOCOL;

    CHECK(n == (size_t)t->inputs[base->shape.self] * t->width);
    if (s == STATUS_OK)
        s = zero_begin(&p->zero, r);
    if (s != STATUS_OK)
        return s;
    share_weights(p, sealed, w, n, noise);
    share_seal_all(&p->keys, sealed, tags, p->field->packed(n));
    p->due = FEDVS_DUE_ROUND;
    fedvs_wipe_dealt(p, n, 1 + t->privacy);
    draw_forget(&p->uniform);
    return STATUS_OK;
}

/* --- relay --- */

static bool use_weights(struct fedvs_party *p, uint32_t from, const struct fedvs_taking *t)
{
    const struct fedvs_terms *terms = &p->base.shape.terms;
    const size_t n = (size_t)terms->inputs[from] * terms->width;
    uint8_t *weights =
        p->weights + (size_t)fedvs_inputs_before(terms, from) * terms->width * p->field->bytes;

    (void)t;
    p->field->unpack(weights, p->opened, n);
    return p->field->valid(weights, n);
}

/* The rows of the round at..at+some: where they lie, or a copy of them in one place. */
static const uint8_t *rows_at(struct fedvs_party *p, const struct secagg_round *r, uint32_t at,
                              uint32_t some)
{
    const size_t row = (size_t)p->base.shape.terms.inputs_n * p->field->bytes;
    const uint8_t *data = r->data;
    uint32_t run = 1; /* with one segment a step's rows are in the order drawn */

    while (run < some && r->coded[at + run] == r->coded[at] + run)
        run++;
    if (run == some)
        return data + r->coded[at] * row;
    for (uint32_t i = 0; i < some; i++)
        memcpy(p->gather + i * row, data + r->coded[at + i] * row, row);
    return p->gather;
}

/* result = rows of the round times everybody's weights */
static void multiply(struct fedvs_party *p, const struct secagg_round *r)
{
    const size_t row = (size_t)p->base.shape.terms.width * p->field->bytes;

    for (uint32_t at = 0, some; at < r->coded_n; at += some) {
        struct mat_shape shape;

        some = r->coded_n - at < p->gather_rows ? r->coded_n - at : p->gather_rows;
        shape = fedvs_mat_shape(&p->base.shape, some);
        p->field->mat_mul(p->result + at * row, rows_at(p, r, at, some), p->weights, &shape,
                          p->mat);
    }
}

static void wipe_round(struct fedvs_party *p, size_t result)
{
    const struct fedvs_terms *t = &p->base.shape.terms;

    secret_wipe(p->weights, (size_t)t->inputs_n * t->width * p->field->bytes);
    secret_wipe(p->result, result * p->field->bytes);
    secret_wipe(p->gather, p->gather_bytes);
    secret_wipe(p->mat, p->mat_bytes);
}

static enum status fedvs_relay(struct secagg_party *base, uint8_t *payload, const uint8_t *sealed,
                               const uint8_t *tags, size_t n, const struct secagg_round *r,
                               uint32_t *faulty, struct error *err)
{
    struct fedvs_party *p = (struct fedvs_party *)base;
    const struct fedvs_terms *t = &base->shape.terms;
    const struct fedvs_taking taking = {SECAGG_PART_ROUND, 0, sealed, tags, use_weights, NULL};
    const size_t result = (size_t)r->coded_n * t->width;
    enum status s;

    CHECK(r->data != NULL && r->coded_n >= 1 && n == result * t->segments);
    s = fedvs_take_due(p, FEDVS_DUE_ROUND, r, err);
    if (s != STATUS_OK)
        return s;
    s = fedvs_open_all(p, &taking, faulty, err);
    if (s == STATUS_OK) {
        multiply(p, r);
        zero_add(&p->zero, p->result, result);
        p->field->pack(payload, p->result, result);
    }
    wipe_round(p, result);
    return s;
}

const struct secagg_ops fedvs_ops = {
    .width = fedvs_width,
    .payload_bytes = fedvs_payload_bytes,
    .quorum = fedvs_quorum,
    .part_bytes = fedvs_part_bytes,
    .party_new = fedvs_party_new,
    .party_free = fedvs_party_free,
    .protect = fedvs_protect,
    .relay = fedvs_relay,
    .deal_keys = fedvs_deal_keys,
    .take_keys = fedvs_take_keys,
    .deal = fedvs_deal,
    .take = fedvs_take,
    .server_new = fedvs_server_new,
    .server_free = fedvs_server_free,
    .begin = fedvs_server_begin,
    .add = uploads_server_add,
    .combine = uploads_server_combine,
    .late = uploads_server_late,
};
