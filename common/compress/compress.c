/* compress.c -- one interface over the kinds of compressors.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/compress.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/compress/lattice.h"
#include "common/compress/lattice_scale.h"
#include "common/compress/lattice_stream.h"
#include "common/compress/topk.h"
#include "common/config/encoding.h"
#include "common/crypto/digest.h"

#include <string.h>

void compress_of(struct compress *c, const struct plan *p)
{
    CHECK(plan_compresses(p));
    *c = (struct compress){
        .kind = p->protocol.encoding,
        .bits = p->protocol.bits,
        .width = encoding_of(p)->ranks ? p->model.embedding : 0,
        .range = p->protocol.code_range == CODE_RANGE_CLIP ? (float)p->protocol.clip : 0,
    };
}

void compress_head_of(struct compress *c, const struct plan *p)
{
    CHECK(plan_compresses(p));
    *c = (struct compress){
        .kind = encoding_of(p)->head,
        .bits = p->protocol.head_bits > 0 ? p->protocol.head_bits : p->protocol.bits,
    };
}

void compress_key(uint8_t key[COMPRESS_KEY_BYTES], const uint8_t dither[COMPRESS_KEY_BYTES],
                  uint16_t member)
{
    static const char label[] = "vfl/dither/1";
    uint8_t text[sizeof label - 1 + COMPRESS_KEY_BYTES + sizeof member], *to = text;

    memcpy(to, label, sizeof label - 1);
    to += sizeof label - 1;
    memcpy(to, dither, COMPRESS_KEY_BYTES);
    to += COMPRESS_KEY_BYTES;
    le_put(to, member, sizeof member);
    digest_sha256(key, text, sizeof text);
}

static size_t rows_of(const struct compress *c, size_t n)
{
    CHECK(c->width > 0 && n % c->width == 0);
    return n / c->width;
}

enum status compress_ready(void)
{
    return lattice_stream_ready();
}

size_t compress_bytes(const struct compress *c, size_t n)
{
    if (encoding_row(c->kind)->ranks)
        return topk_bytes(c->width, c->bits, rows_of(c, n));
    return lattice_bytes(c->kind, c->bits, n);
}

void compress_pack(const struct compress *c, uint8_t *out, const float *x, size_t n,
                   const struct compress_round *r)
{
    if (encoding_row(c->kind)->ranks) {
        topk_pack(out, x, rows_of(c, n), c->width, c->bits, r->importance);
        return;
    }
    CHECK(r->dither != NULL);
    if (c->range > 0) {
        const struct lattice_fit fixed = {
            .kind = c->kind, .bits = c->bits, .scale = lattice_scale_spanning(c->bits, c->range)};

        lattice_pack_as(&fixed, out, x, n, r->dither);
        return;
    }
    lattice_pack(c->kind, c->bits, out, x, n, r->dither);
}

bool compress_unpack(const struct compress *c, float *y, const uint8_t *in, size_t n,
                     const struct compress_round *r)
{
    if (encoding_row(c->kind)->ranks)
        return topk_unpack(y, in, rows_of(c, n), c->width, c->bits);
    CHECK(r->dither != NULL);
    return lattice_unpack(c->kind, c->bits, y, in, n, r->dither);
}
