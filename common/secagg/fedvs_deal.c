/* fedvs_deal.c -- subset keys, once in a generation, and shares of data, once in their life.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/fedvs_deal.h"

#include "common/crypto/secret.h"
#include "common/secagg/draw.h"
#include "common/secagg/fedvs_party.h"

#include <string.h>

enum status fedvs_deal_keys(struct secagg_party *base, uint8_t *sealed, uint8_t *tags,
                            const struct secagg_round *r)
{
    struct fedvs_party *p = (struct fedvs_party *)base;
    const size_t part = fedvs_part_bytes(&base->shape, SECAGG_PART_KEYS, base->shape.self, 0);
    enum status s = p->keyed ? STATUS_PROTOCOL : fedvs_begin(p, r);

    if (s != STATUS_OK)
        return s;
    zero_draw(&p->zero, &p->uniform);
    draw_forget(&p->uniform);
    for (uint32_t j = 0; j < base->shape.parties; j++)
        if (j != base->shape.self)
            zero_part(&p->zero, sealed + share_part(&p->keys, j, part), j);
    share_seal_all(&p->keys, sealed, tags, part);
    p->due = FEDVS_DUE_KEYS;
    return STATUS_OK;
}

/* Quantised powers at..at+some of a segment, whose rows begin at x. */
static void quantise(struct fedvs_party *p, const float *x, size_t at, size_t some)
{
    const struct secagg_shape *s = &p->base.shape;
    const uint32_t inputs = s->terms.inputs[s->self], d = inputs / s->terms.degree[s->self];

    for (size_t k = 0, run; k < some; k += run) {
        const size_t row = (at + k) / inputs, column = (at + k) % inputs, feature = column % d;

        run = d - feature < some - k ? d - feature : some - k;
        fedvs_quantise_x(&s->terms, p->wide + k, x + row * d + feature, run,
                         (uint32_t)(column / d) + 1);
    }
}

static void deal_rows(struct fedvs_party *p, uint8_t *sealed, const float *x, uint32_t rows,
                      struct rng *masks)
{
    const struct secagg_shape *s = &p->base.shape;
    const struct fedvs_terms *t = &s->terms;
    const struct field *f = p->field;
    const size_t all = (size_t)rows * t->inputs[s->self], part = f->packed(all);
    const size_t segment = (size_t)rows * (t->inputs[s->self] / t->degree[s->self]);

    for (size_t at = 0, some; at < all; at += some) {
        some = all - at < FEDVS_CHUNK ? all - at : FEDVS_CHUNK;
        for (uint32_t k = 0; k < t->segments; k++) {
            quantise(p, x + k * segment, at, some);
            f->from_signed(p->coded + k * some * f->bytes, p->wide, some);
        }
        draw_from_rng(f, p->coded + t->segments * some * f->bytes, t->privacy * some, masks,
                      p->random);
        product_encode(&p->code, p->shares, p->coded, some);
        fedvs_put_shares(p, sealed, p->own, part, at, some);
    }
}

enum status fedvs_deal(struct secagg_party *base, uint8_t *sealed, uint8_t *tags, const float *x,
                       uint32_t rows, const struct secagg_round *r, struct rng *masks)
{
    struct fedvs_party *p = (struct fedvs_party *)base;
    const struct fedvs_terms *t = &base->shape.terms;
    const size_t all = (size_t)rows * t->inputs[base->shape.self];
    enum status s = fedvs_begin(p, r);

    if (s != STATUS_OK)
        return s;
    deal_rows(p, sealed, x, rows, masks);
    share_seal_all(&p->keys, sealed, tags, p->field->packed(all));
    p->due = FEDVS_DUE_DATA;
    p->rows = rows;
    fedvs_wipe_dealt(p, all, t->segments + t->privacy);
    return STATUS_OK;
}

static bool use_keys(struct fedvs_party *p, uint32_t from, const struct fedvs_taking *t)
{
    (void)t;
    return zero_take(&p->zero, from, p->opened);
}

enum status fedvs_take_keys(struct secagg_party *base, const uint8_t *sealed, const uint8_t *tags,
                            const struct secagg_round *r, uint32_t *faulty, struct error *err)
{
    struct fedvs_party *p = (struct fedvs_party *)base;
    const struct fedvs_taking t = {SECAGG_PART_KEYS, 0, sealed, tags, use_keys, NULL};
    enum status s = fedvs_take_due(p, FEDVS_DUE_KEYS, r, err);

    if (s == STATUS_OK)
        s = fedvs_open_all(p, &t, faulty, err);
    p->keyed = p->keyed || s == STATUS_OK;
    return s;
}

/* Elements at..at+some of a member's share of the chunk, to their places in the rows of all. */
static void spread(const struct fedvs_party *p, uint8_t *shares, uint32_t member, size_t at,
                   const uint8_t *share, size_t some)
{
    const struct fedvs_terms *t = &p->base.shape.terms;
    const size_t inputs = t->inputs[member], bytes = p->field->bytes;

    shares += fedvs_inputs_before(t, member) * bytes;
    for (size_t k = 0, run; k < some; k += run) {
        const size_t row = (at + k) / inputs, column = (at + k) % inputs;

        run = inputs - column < some - k ? inputs - column : some - k;
        memcpy(shares + (row * t->inputs_n + column) * bytes, share + k * bytes, run * bytes);
    }
}

static bool use_data(struct fedvs_party *p, uint32_t from, const struct fedvs_taking *t)
{
    const struct field *f = p->field;
    const size_t all = t->n * p->base.shape.terms.inputs[from];

    for (size_t at = 0, some; at < all; at += some) {
        some = all - at < FEDVS_CHUNK ? all - at : FEDVS_CHUNK;
        f->unpack(p->shares, p->opened + f->packed(at), some);
        if (!f->valid(p->shares, some))
            return false;
        spread(p, t->shares, from, at, p->shares, some);
    }
    return true;
}

enum status fedvs_take(struct secagg_party *base, void *shares, const uint8_t *sealed,
                       const uint8_t *tags, uint32_t rows, const struct secagg_round *r,
                       uint32_t *faulty, struct error *err)
{
    struct fedvs_party *p = (struct fedvs_party *)base;
    const uint32_t self = base->shape.self;
    const size_t all = (size_t)rows * base->shape.terms.inputs[self];
    const struct fedvs_taking t = {SECAGG_PART_DATA, rows, sealed, tags, use_data, shares};
    enum status s;

    if (rows != p->rows)
        return error_set(err, STATUS_PROTOCOL, "shares of %u rows, and %u were dealt", rows,
                         p->rows);
    s = fedvs_take_due(p, FEDVS_DUE_DATA, r, err);
    if (s != STATUS_OK)
        return s;
    s = fedvs_open_all(p, &t, faulty, err);
    if (s == STATUS_OK)
        spread(p, shares, self, 0, p->own, all);
    secret_wipe(p->own, all * p->field->bytes);
    secret_wipe(p->shares, (size_t)FEDVS_CHUNK * p->field->bytes);
    return s;
}
