/* down.c -- where the parts of a blob lie, and those that belong to nobody else.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/down.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/config/encoding.h"
#include "common/config/plan_head.h"

enum { WORD = 4 };

static size_t words_of(size_t bytes)
{
    return (bytes + WORD - 1) / WORD;
}

/* --- the layout --- */

void down_of(struct down *d, const struct plan *p)
{
    const bool refreshed = p->protocol.local_view == VIEW_REFRESHED;
    const uint32_t holders = p->protocol.label_holders;
    const bool labels_missing = !refreshed || (holders > 0 && holders < p->shape.parties);

    *d = (struct down){
        .gradient = gradient_form_of(p),
        .with_gradient = labels_missing && p->training.releases != RELEASES_ONCE,
        .compressed = plan_compresses(p),
        .members = p->shape.parties > 0 ? p->shape.parties : 1, /* 0: not yet known */
        .width = p->model.embedding,
    };
    d->code_bits = encoding_code_bits(p, d->members);
    d->sum_bits = encoding_sum_bits(p, d->members);
    if (d->compressed) {
        compress_of(&d->embedding, p);
        compress_head_of(&d->head, p);
    }
    if (!refreshed)
        return;
    d->head_params = plan_head_params(p);
    d->with_head = d->head_params > 0;
    if (d->compressed || plan_keeps_apart(p))
        d->shown = DOWN_SHOWN_PAYLOADS;
    else
        d->shown = d->sum_bits > 0 ? DOWN_SHOWN_SUMS : DOWN_SHOWN_FLOATS;
}

/* One row of as many values as the head has. */
static struct gradient_form head_form(const struct down *d)
{
    return (struct gradient_form){GRADIENT_FULL, d->gradient.type, d->head_params, 1};
}

/* --- sizes --- */

size_t down_gradient_words(const struct down *d, size_t rows)
{
    return d->with_gradient ? gradient_words(&d->gradient, rows) : 0;
}

size_t down_payload_bytes(const struct down *d, size_t rows)
{
    const size_t n = rows * d->width;

    if (d->compressed)
        return compress_bytes(&d->embedding, n);
    return d->code_bits > 0 ? bits_bytes(n, d->code_bits) : n * sizeof(float);
}

size_t down_shown_bytes(const struct down *d, size_t rows)
{
    const size_t n = rows * d->width;

    switch (d->shown) {
    case DOWN_SHOWN_NONE: return 0;
    case DOWN_SHOWN_PAYLOADS: return d->members * down_payload_bytes(d, rows);
    case DOWN_SHOWN_SUMS: return bits_bytes(n, d->sum_bits);
    case DOWN_SHOWN_FLOATS: return n * sizeof(float);
    }
    return 0;
}

size_t down_head_bytes(const struct down *d)
{
    const struct gradient_form f = head_form(d);

    if (!d->with_head)
        return 0;
    return d->compressed ? compress_bytes(&d->head, d->head_params) : gradient_words(&f, 1) * WORD;
}

size_t down_shown_at(const struct down *d, size_t rows)
{
    return down_gradient_words(d, rows);
}

size_t down_head_at(const struct down *d, size_t rows)
{
    return down_shown_at(d, rows) + words_of(down_shown_bytes(d, rows));
}

size_t down_words(const struct down *d, size_t rows)
{
    return down_head_at(d, rows) + words_of(down_head_bytes(d));
}

/* --- parts --- */

void down_gradient_pack(const struct down *d, uint32_t *blob, const float *x, size_t rows,
                        struct rng *r)
{
    CHECK(d->with_gradient);
    gradient_pack(&d->gradient, blob, x, rows, r);
}

bool down_gradient_unpack(const struct down *d, float *x, const uint32_t *blob, size_t rows)
{
    CHECK(d->with_gradient);
    return gradient_unpack(&d->gradient, x, blob, rows);
}

uint8_t *down_shown_begin(const struct down *d, uint32_t *blob, size_t rows)
{
    const size_t words = words_of(down_shown_bytes(d, rows));
    uint32_t *part = blob + down_shown_at(d, rows);

    CHECK(d->shown != DOWN_SHOWN_NONE);
    if (words > 0)
        part[words - 1] = 0;
    return (uint8_t *)part;
}

static bool filled(const uint8_t *part, size_t bytes)
{
    bool good = true;

    for (size_t i = bytes; i < words_of(bytes) * WORD; i++)
        good = good && part[i] == 0;
    return good;
}

const uint8_t *down_shown_read(const struct down *d, const uint32_t *blob, size_t rows)
{
    const uint8_t *part = (const uint8_t *)(blob + down_shown_at(d, rows));

    CHECK(d->shown != DOWN_SHOWN_NONE);
    return filled(part, down_shown_bytes(d, rows)) ? part : NULL;
}

void down_head_pack(const struct down *d, uint32_t *blob, const float *params, size_t rows,
                    const uint8_t *dither, struct rng *r)
{
    const size_t bytes = down_head_bytes(d), words = words_of(bytes);
    const struct gradient_form f = head_form(d);
    uint32_t *part = blob + down_head_at(d, rows);
    uint8_t key[COMPRESS_KEY_BYTES];

    CHECK(d->with_head);
    if (!d->compressed) {
        gradient_pack(&f, part, params, 1, r);
        return;
    }
    compress_key(key, dither, COMPRESS_HEAD);
    part[words - 1] = 0;
    compress_pack(&d->head, (uint8_t *)part, params, d->head_params,
                  &(struct compress_round){.dither = key});
}

bool down_head_unpack(const struct down *d, float *params, const uint32_t *blob, size_t rows,
                      const uint8_t *dither)
{
    const struct gradient_form f = head_form(d);
    const uint32_t *part = blob + down_head_at(d, rows);
    uint8_t key[COMPRESS_KEY_BYTES];

    CHECK(d->with_head);
    if (!d->compressed)
        return gradient_unpack(&f, params, part, 1);
    compress_key(key, dither, COMPRESS_HEAD);
    return filled((const uint8_t *)part, down_head_bytes(d)) &&
           compress_unpack(&d->head, params, (const uint8_t *)part, d->head_params,
                           &(struct compress_round){.dither = key});
}
