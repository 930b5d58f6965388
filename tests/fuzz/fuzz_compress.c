/* fuzz_compress.c -- any bytes as a compressor's payload, or as a blob that goes down: refused, or
 * finite values that pack and come back.
 *
 * The first bytes choose what is tried: compressor, bits, columns, rows, view, encoding, holders of
 * labels, numbers of the gradient.  The rest is the payload, cut or filled up with zeros to the
 * size it must have, since lengths are checked before.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/compress/down.h"

#include <math.h>
#include <string.h>

enum { CHOICES = 8, WIDTH_MAX = 24, ROWS_MAX = 8, BYTES_MAX = 1 << 16, VALUES_MAX = 1 << 14 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Alignas(8) uint8_t bytes[BYTES_MAX];
static float values[VALUES_MAX], again[VALUES_MAX];
static const uint8_t dither[32] = {5};

static void fill(const uint8_t *data, size_t size, size_t want)
{
    CHECK(want <= BYTES_MAX);
    memset(bytes, 0, want);
    memcpy(bytes, data, size < want ? size : want);
}

static void all_finite(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        CHECK(isfinite(x[i]));
}

/* What was accepted can be sent on. */
static void payload(const struct compress *c, const uint8_t *data, size_t size, size_t n)
{
    static uint8_t packed[BYTES_MAX];
    const struct compress_round r = {.dither = dither};
    const size_t want = compress_bytes(c, n);

    fill(data, size, want);
    if (!compress_unpack(c, values, bytes, n, &r))
        return;
    all_finite(values, n);
    CHECK(want <= sizeof packed);
    compress_pack(c, packed, values, n, &r);
    CHECK(compress_unpack(c, again, packed, n, &r));
    all_finite(again, n);
    for (size_t i = 0; c->kind == ENCODING_TOPK && i < n; i++)
        CHECK(values[i] == again[i]); /* no column that was left out matters more */
}

static void blob(const struct plan *p, const uint8_t *data, size_t size, size_t rows)
{
    struct down d;
    const uint8_t *shown;
    const uint32_t *words = (const uint32_t *)(const void *)bytes;

    down_of(&d, p);
    fill(data, size, 4 * down_words(&d, rows));
    if (d.with_gradient && down_gradient_unpack(&d, values, words, rows))
        all_finite(values, rows * d.width);
    if (d.shown != DOWN_SHOWN_NONE) {
        shown = down_shown_read(&d, words, rows);
        CHECK(shown == NULL || shown == bytes + 4 * down_shown_at(&d, rows));
    }
    if (d.with_head && down_head_unpack(&d, values, words, rows, dither))
        all_finite(values, d.head_params);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plan p;
    size_t rows;

    if (size < CHOICES)
        return 0;
    plan_defaults(&p);
    p.shape.parties = 3;
    p.shape.outputs = 4;
    p.model.embedding = 1 + data[2] % WIDTH_MAX;
    p.protocol.bits = 1 + data[1] % COMPRESS_BITS_MAX;
    p.protocol.encoding = (enum plan_encoding)(data[0] % PLAN_ENCODINGS);
    p.protocol.local_view = data[4] % 2 == 0 ? VIEW_REFRESHED : VIEW_STALE;
    p.model.fusion = data[4] % 4 < 2 ? FUSION_SUM : data[4] < 192 ? FUSION_CONCAT : FUSION_MAX;
    p.protocol.label_holders = data[5] % 4;
    p.protocol.gradient.type = (enum plan_gradient_type)(data[6] % 3);
    p.protocol.head_bits = data[7] % (COMPRESS_BITS_MAX + 1);
    rows = data[3] % (ROWS_MAX + 1);
    if (plan_compresses(&p) && data[4] % 8 < 4) {
        struct compress c;

        compress_of(&c, &p);
        payload(&c, data + CHOICES, size - CHOICES, rows * p.model.embedding);
    } else {
        blob(&p, data + CHOICES, size - CHOICES, rows);
    }
    return 0;
}
