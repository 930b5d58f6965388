/* topk.c -- the columns that matter.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/topk.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/config/plan.h"

#include <math.h>
#include <string.h>

uint32_t topk_columns(uint32_t width, uint32_t bits)
{
    const uint32_t k = (width * bits + 16) / 32;

    return k > 0 ? k : 1;
}

static size_t index_bytes(uint32_t width, uint32_t bits)
{
    return width > 1 ? bits_bytes(topk_columns(width, bits), bits_width(width)) : 0;
}

size_t topk_bytes(uint32_t width, uint32_t bits, size_t rows)
{
    if (rows == 0)
        return 0;
    return index_bytes(width, bits) + rows * topk_columns(width, bits) * sizeof(float);
}

/* --- the choice --- */

enum {
    COLUMNS_MAX = PLAN_WIDTH_MAX / 4,
    TILE = 64
}; /* k at most, at 8 bits; columns summed at a time */

struct kept {
    double weight;
    uint32_t column;
};

/* The k that matter most of those seen so far; the least of them on top. */
struct heap {
    uint32_t n;
    struct kept kept[COLUMNS_MAX];
};

/* Does a matter less than b: less weight or, of equals, later? */
static bool less(const struct kept *a, const struct kept *b)
{
    return a->weight != b->weight ? a->weight < b->weight : a->column > b->column;
}

static void swap(struct kept *a, struct kept *b)
{
    const struct kept k = *a;

    *a = *b;
    *b = k;
}

static void rise(struct heap *h, uint32_t at)
{
    for (uint32_t up; at > 0 && less(&h->kept[at], &h->kept[up = (at - 1) / 2]); at = up)
        swap(&h->kept[at], &h->kept[up]);
}

static void sink(struct heap *h)
{
    for (uint32_t at = 0, child; (child = 2 * at + 1) < h->n; at = child) {
        if (child + 1 < h->n && less(&h->kept[child + 1], &h->kept[child]))
            child++;
        if (!less(&h->kept[child], &h->kept[at]))
            return;
        swap(&h->kept[child], &h->kept[at]);
    }
}

static void offer(struct heap *h, uint32_t k, struct kept one)
{
    if (h->n < k) {
        h->kept[h->n] = one;
        rise(h, h->n++);
    } else if (less(&h->kept[0], &one)) {
        h->kept[0] = one;
        sink(h);
    }
}

/* Sums of |x| of `some` columns; double, since float32 may overflow. */
static void weigh(double *sum, const float *x, size_t rows, uint32_t width, uint32_t some)
{
    for (uint32_t c = 0; c < some; c++)
        sum[c] = 0;
    for (size_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < some; c++)
            sum[c] += fabs((double)x[r * width + c]);
}

/* column[k], ascending. */
static void choose(uint32_t *column, uint32_t k, const float *x, size_t rows, uint32_t width,
                   const float *importance)
{
    uint64_t in[PLAN_WIDTH_MAX / 64] = {0};
    double sum[TILE];
    struct heap h;

    h.n = 0;
    for (uint32_t at = 0; at < width; at += TILE) {
        const uint32_t some = width - at < TILE ? width - at : TILE;

        if (importance == NULL)
            weigh(sum, x + at, rows, width, some);
        for (uint32_t c = 0; c < some; c++)
            offer(&h, k,
                  (struct kept){importance != NULL ? (double)importance[at + c] : sum[c], at + c});
    }
    for (uint32_t i = 0; i < k; i++)
        in[h.kept[i].column / 64] |= 1ULL << h.kept[i].column % 64;
    for (uint32_t c = 0; c < width; c++)
        if (in[c / 64] >> c % 64 & 1)
            *column++ = c;
}

/* --- payloads --- */

/* One column of one has no bits to be told by. */
static void pack_columns(uint8_t *out, const uint32_t *column, uint32_t k, uint32_t width)
{
    if (width > 1)
        bits_pack32(out, column, k, bits_width(width));
}

static bool unpack_columns(uint32_t *column, const uint8_t *in, uint32_t k, uint32_t width)
{
    const uint32_t w = bits_width(width), spare = (8 - k * w % 8) % 8;
    bool good = true;

    column[0] = 0;
    if (width == 1)
        return true;
    bits_unpack32(column, in, k, w);
    for (uint32_t i = 0; i < k; i++)
        good = good && column[i] < width && (i == 0 || column[i] > column[i - 1]);
    return good && in[bits_bytes(k, w) - 1] >> (8 - spare) == 0;
}

void topk_pack(uint8_t *out, const float *x, size_t rows, uint32_t width, uint32_t bits,
               const float *importance)
{
    const uint32_t k = topk_columns(width, bits);
    uint32_t column[COLUMNS_MAX];

    CHECK(width > 0 && width <= PLAN_WIDTH_MAX && k <= COLUMNS_MAX && k <= width);
    if (rows == 0)
        return;
    choose(column, k, x, rows, width, importance);
    pack_columns(out, column, k, width);
    out += index_bytes(width, bits);
    for (size_t r = 0; r < rows; r++, x += width)
        for (uint32_t i = 0; i < k; i++, out += sizeof *x)
            memcpy(out, &x[column[i]], sizeof *x);
}

bool topk_unpack(float *y, const uint8_t *in, size_t rows, uint32_t width, uint32_t bits)
{
    const uint32_t k = topk_columns(width, bits);
    uint32_t column[COLUMNS_MAX];
    unsigned bad = 0;

    CHECK(width > 0 && width <= PLAN_WIDTH_MAX && k <= COLUMNS_MAX && k <= width);
    if (rows == 0)
        return true;
    if (!unpack_columns(column, in, k, width))
        return false;
    in += index_bytes(width, bits);
    memset(y, 0, rows * width * sizeof *y);
    for (size_t r = 0; r < rows; r++, y += width)
        for (uint32_t i = 0; i < k; i++, in += sizeof *y) {
            memcpy(&y[column[i]], in, sizeof *y);
            bad |= isfinite(y[column[i]]) ? 0u : 1u;
        }
    return bad == 0;
}
