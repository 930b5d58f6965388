/* sent.c -- what a party remembers of its last upload.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/sent.h"

#include "common/base/check.h"
#include "common/base/finite.h"
#include "common/base/mem.h"
#include "common/config/encoding.h"
#include "common/crypto/secret.h"

#include <float.h>
#include <math.h>
#include <string.h>

static size_t batch_values(const struct party_sent *s)
{
    return (size_t)s->rows * s->width;
}

enum status party_sent_init(struct party_sent *s, const struct plan *p, bool kept, size_t scratch)
{
    const size_t batch = p->training.batch, width = p->model.embedding;

    *s = (struct party_sent){
        .feeds_back = p->protocol.error_feedback,
        .clip = (float)p->protocol.clip,
        .width = p->model.embedding,
        .batch = batch,
        .rows_all = p->shape.train_rows,
    };
    s->kept = kept || s->feeds_back;
    if (encoding_of(p)->ranks) {
        s->importance = mem_alloc(width, sizeof *s->importance);
        if (s->importance == NULL)
            return STATUS_MEMORY;
    }
    if (!s->kept)
        return STATUS_OK;
    s->row = mem_alloc(batch, sizeof *s->row);
    s->x = mem_alloc(batch, width * sizeof *s->x);
    s->own = mem_alloc(batch, width * sizeof *s->own);
    s->scratch = mem_alloc(scratch > 0 ? scratch : 1, 1);
    if (s->feeds_back)
        s->residual = mem_alloc(s->rows_all, width * sizeof *s->residual);
    if (s->row != NULL && s->x != NULL && s->own != NULL && s->scratch != NULL &&
        (!s->feeds_back || s->residual != NULL))
        return STATUS_OK;
    party_sent_deinit(s);
    return STATUS_MEMORY;
}

static void wipe(float *x, size_t rows, size_t width)
{
    if (x != NULL)
        secret_wipe(x, rows * width * sizeof *x);
}

void party_sent_deinit(struct party_sent *s)
{
    wipe(s->x, s->batch, s->width);
    wipe(s->own, s->batch, s->width);
    wipe(s->residual, s->rows_all, s->width);
    mem_free(s->row);
    mem_free(s->x);
    mem_free(s->own);
    mem_free(s->residual);
    mem_free(s->importance);
    mem_free(s->scratch);
    *s = (struct party_sent){0};
}

const float *party_sent_begin(struct party_sent *s, const float *h, const uint32_t *row,
                              uint32_t rows, const uint8_t *lacks)
{
    if (!s->kept)
        return h;
    s->rows = rows;
    memcpy(s->row, row, rows * sizeof *row);
    memcpy(s->x, h, batch_values(s) * sizeof *h);
    for (uint32_t r = 0; r < rows && s->feeds_back; r++) {
        const float *left = s->residual + (size_t)row[r] * s->width;
        const float there = lacks == NULL ? 1 : (float)(1 - lacks[row[r]]);
        float *x = s->x + (size_t)r * s->width;

        for (uint32_t i = 0; i < s->width; i++)
            x[i] += there * left[i];
    }
    return s->x;
}

void party_sent_close(struct party_sent *s)
{
    for (uint32_t r = 0; r < s->rows && s->feeds_back; r++) {
        float *left = s->residual + (size_t)s->row[r] * s->width;
        const size_t at = (size_t)r * s->width;

        for (uint32_t i = 0; i < s->width; i++)
            left[i] = fminf(fmaxf(s->x[at + i], -s->clip), s->clip) - s->own[at + i];
    }
}

void party_sent_weigh(struct party_sent *s, const float *gradient, uint32_t rows)
{
    if (s->importance == NULL)
        return;
    memset(s->importance, 0, s->width * sizeof *s->importance);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < s->width; i++)
            s->importance[i] += fabsf(gradient[(size_t)r * s->width + i]);
    for (uint32_t i = 0; i < s->width; i++)
        s->importance[i] = finite_within(s->importance[i], FLT_MAX);
}

const float *party_sent_importance(const struct party_sent *s)
{
    for (uint32_t i = 0; s->importance != NULL && i < s->width; i++) {
        if (s->importance[i] > 0)
            return s->importance;
    }
    return NULL;
}

/* --- checkpoints --- */

static size_t residuals(const struct party_sent *s)
{
    return s->residual != NULL ? s->rows_all * s->width : 0;
}

static size_t weights(const struct party_sent *s)
{
    return s->importance != NULL ? s->width : 0;
}

size_t party_sent_bytes(const struct party_sent *s)
{
    return (residuals(s) + weights(s)) * sizeof(float);
}

enum status party_sent_print(const struct party_sent *s, struct buf *out)
{
    enum status st = STATUS_OK;

    if (s->residual != NULL)
        st = buf_append(out, s->residual, residuals(s) * sizeof(float));
    if (st == STATUS_OK && s->importance != NULL)
        st = buf_append(out, s->importance, weights(s) * sizeof(float));
    return st;
}

enum status party_sent_parse(struct party_sent *s, const uint8_t *bytes, size_t n)
{
    if (n != party_sent_bytes(s))
        return STATUS_DATA;
    for (size_t i = 0; i < n; i += sizeof(float)) {
        float x;

        memcpy(&x, bytes + i, sizeof x);
        if (!isfinite(x))
            return STATUS_DATA;
    }
    if (s->residual != NULL)
        memcpy(s->residual, bytes, residuals(s) * sizeof(float));
    if (s->importance != NULL)
        memcpy(s->importance, bytes + residuals(s) * sizeof(float), weights(s) * sizeof(float));
    return STATUS_OK;
}
