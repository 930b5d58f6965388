/* gradient.c -- matrices to words and back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/gradient.h"

#include "common/config/plan_head.h"

#include <math.h>
#include <string.h>

enum { WORD = 4, INT8_MOST = 127 };

struct gradient_form gradient_form_of(const struct plan *p)
{
    return (struct gradient_form){
        .form = p->protocol.gradient.form,
        .type = p->protocol.gradient.type,
        .width = p->model.embedding,
        .inner = plan_head_width(p),
    };
}

/* --- sizes --- */

/* One matrix of a gradient. */
struct matrix {
    size_t rows, cols;
};

static size_t matrices(const struct gradient_form *f, size_t rows, struct matrix out[2])
{
    if (f->form == GRADIENT_FULL) {
        out[0] = (struct matrix){rows, f->width};
        return 1;
    }
    out[0] = (struct matrix){rows, f->inner};
    out[1] = (struct matrix){f->width, f->inner};
    return 2;
}

static size_t matrix_bytes(const struct gradient_form *f, const struct matrix *m)
{
    switch (f->type) {
    case GRADIENT_FLOAT32: return m->rows * m->cols * sizeof(float);
    case GRADIENT_BFLOAT16: return m->rows * m->cols * sizeof(uint16_t);
    case GRADIENT_INT8: return m->rows * (sizeof(float) + m->cols);
    }
    return 0;
}

static size_t gradient_bytes(const struct gradient_form *f, size_t rows)
{
    struct matrix m[2];
    size_t bytes = 0;

    for (size_t i = 0, n = matrices(f, rows, m); i < n; i++)
        bytes += matrix_bytes(f, &m[i]);
    return bytes;
}

size_t gradient_values(const struct gradient_form *f, size_t rows)
{
    struct matrix m[2];
    size_t values = 0;

    for (size_t i = 0, n = matrices(f, rows, m); i < n; i++)
        values += m[i].rows * m[i].cols;
    return values;
}

size_t gradient_row_values(const struct gradient_form *f, size_t rows)
{
    return rows * (f->form == GRADIENT_FULL ? f->width : f->inner);
}

size_t gradient_words(const struct gradient_form *f, size_t rows)
{
    return (gradient_bytes(f, rows) + WORD - 1) / WORD;
}

/* --- bfloat16 --- */

/* A finite value beyond the largest bfloat16 becomes that one, not infinite. */
static uint16_t to_bfloat16(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffffu) >= 0x7f7f8000u)
        return (uint16_t)((bits >> 31 << 15) | 0x7f7fu);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static float from_bfloat16(uint16_t h)
{
    const uint32_t bits = (uint32_t)h << 16;
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint8_t *pack_bfloat16(uint8_t *to, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++, to += sizeof(uint16_t)) {
        const uint16_t h = to_bfloat16(x[i]);
        memcpy(to, &h, sizeof h);
    }
    return to;
}

static const uint8_t *unpack_bfloat16(float *x, const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++, from += sizeof(uint16_t)) {
        uint16_t h;
        memcpy(&h, from, sizeof h);
        x[i] = from_bfloat16(h);
    }
    return from;
}

/* --- int8 --- */

static float scale_of(const float *x, size_t n)
{
    float most = 0;

    for (size_t i = 0; i < n; i++)
        most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    return most / INT8_MOST;
}

static int8_t round_at_random(float x, struct rng *r)
{
    const double q = floor((double)x + rng_uniform(r));

    return (int8_t)(q > INT8_MOST ? INT8_MOST : q < -INT8_MOST ? -INT8_MOST : q);
}

static uint8_t *pack_int8(uint8_t *to, const float *x, const struct matrix *m, struct rng *r)
{
    for (size_t row = 0; row < m->rows; row++, x += m->cols) {
        const float scale = scale_of(x, m->cols);

        memcpy(to, &scale, sizeof scale);
        to += sizeof scale;
        for (size_t i = 0; i < m->cols; i++)
            *to++ = (uint8_t)(scale > 0 ? round_at_random(x[i] / scale, r) : 0);
    }
    return to;
}

static const uint8_t *unpack_int8(float *x, const uint8_t *from, const struct matrix *m, bool *good)
{
    for (size_t row = 0; row < m->rows; row++) {
        float scale;

        memcpy(&scale, from, sizeof scale);
        from += sizeof scale;
        *good = *good && scale >= 0; /* false for what is no number, too */
        for (size_t i = 0; i < m->cols; i++) {
            const int8_t q = (int8_t)*from++;

            *good = *good && q >= -INT8_MOST;
            *x++ = scale * (float)q;
        }
    }
    return from;
}

/* --- a gradient --- */

void gradient_pack(const struct gradient_form *f, void *words, const float *x, size_t rows,
                   struct rng *r)
{
    uint8_t *to = words, *end = to + gradient_words(f, rows) * WORD;
    struct matrix m[2];

    for (size_t i = 0, n = matrices(f, rows, m); i < n; i++) {
        const size_t values = m[i].rows * m[i].cols;

        switch (f->type) {
        case GRADIENT_FLOAT32:
            memcpy(to, x, values * sizeof *x);
            to += values * sizeof *x;
            break;
        case GRADIENT_BFLOAT16: to = pack_bfloat16(to, x, values); break;
        case GRADIENT_INT8: to = pack_int8(to, x, &m[i], r); break;
        }
        x += values;
    }
    memset(to, 0, (size_t)(end - to));
}

static bool all_finite(const float *x, size_t n)
{
    unsigned bad = 0;

    for (size_t i = 0; i < n; i++)
        bad |= isfinite(x[i]) ? 0u : 1u;
    return bad == 0;
}

bool gradient_unpack(const struct gradient_form *f, float *x, const void *words, size_t rows)
{
    const uint8_t *from = words, *end = from + gradient_words(f, rows) * WORD;
    const float *first = x;
    struct matrix m[2];
    bool good = true;

    for (size_t i = 0, n = matrices(f, rows, m); i < n; i++) {
        const size_t values = m[i].rows * m[i].cols;

        switch (f->type) {
        case GRADIENT_FLOAT32:
            memcpy(x, from, values * sizeof *x);
            from += values * sizeof *x;
            break;
        case GRADIENT_BFLOAT16: from = unpack_bfloat16(x, from, values); break;
        case GRADIENT_INT8: from = unpack_int8(x, from, &m[i], &good); break;
        }
        x += values;
    }
    for (; from < end; from++)
        good = good && *from == 0;
    return good && all_finite(first, gradient_values(f, rows));
}
