/* dealt.c -- dealing, computing and comparing.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/lcc/dealt.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

__extension__ typedef unsigned __int128 wide;

/* Steele, Lea, Flood 2014. */
uint64_t dealt_next(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t dealt_mul(uint64_t a, uint64_t b, uint64_t p)
{
    return (uint64_t)((wide)a * b % p);
}

void dealt_fill(const struct field *f, void *x, size_t n, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++)
        f->set(x, i, dealt_next(seed) % f->p);
}

void dealt_mat_mul(const struct field *f, void *c, const void *a, const void *b,
                   const struct dealt_sizes *s)
{
    const uint32_t k = s->inputs, m = s->width;

    for (uint32_t i = 0; i < s->rows; i++)
        for (uint32_t j = 0; j < m; j++) {
            uint64_t sum = 0;

            for (uint32_t u = 0; u < k; u++)
                sum = (sum + dealt_mul(f->get(a, i * k + u), f->get(b, u * m + j), f->p)) % f->p;
            f->set(c, i * m + j, sum);
        }
}

static void *at(const struct dealt *d, void *x, size_t row, size_t len)
{
    return (uint8_t *)x + row * len * d->code.shape.field->bytes;
}

void dealt_init(struct dealt *d, const struct product_shape *s, const struct dealt_sizes *z,
                uint64_t *seed)
{
    const size_t x_len = (size_t)z->rows * z->inputs, w_len = (size_t)z->inputs * z->width;
    const struct field *f = s->field;
    struct error err = {0};

    memset(d, 0, sizeof *d);
    if (product_init(&d->code, s, &err) != STATUS_OK)
        fail_msg("(%u, %u, %u): %s", s->parties, s->segments, s->privacy, err.text);
    d->sizes = *z;
    d->len = (size_t)z->rows * z->width;
    assert_true(s->parties <= DEALT_PARTIES && x_len <= DEALT_ELEMENTS && w_len <= DEALT_ELEMENTS &&
                d->len <= DEALT_ELEMENTS);
    dealt_fill(f, d->x, d->code.threshold * x_len, seed);
    dealt_fill(f, d->w, (1 + s->privacy) * w_len, seed);
    product_encode(&d->code, d->x_shares, d->x, x_len);
    product_encode_same(&d->code, d->w_shares, d->w, w_len);
    for (uint32_t j = 0; j < s->parties; j++)
        dealt_mat_mul(f, dealt_result(d, j), at(d, d->x_shares, j, x_len),
                      at(d, d->w_shares, j, w_len), z);
    for (uint32_t k = 0; k < s->segments; k++)
        dealt_mat_mul(f, at(d, d->want, k, d->len), at(d, d->x, k, x_len), d->w, z);
}

void dealt_deinit(struct dealt *d)
{
    product_deinit(&d->code);
}

void *dealt_result(struct dealt *d, uint32_t j)
{
    return at(d, d->results, j, d->len);
}

struct product_results dealt_of(struct dealt *d, const void **row, const uint32_t *who, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        row[i] = dealt_result(d, who[i]);
    return (struct product_results){row, who, n, d->len};
}

bool dealt_decodes(struct dealt *d, const uint32_t *who, uint32_t n)
{
    const size_t bytes = d->code.shape.segments * d->len * d->code.shape.field->bytes;
    const void *row[DEALT_PARTIES];
    const struct product_results s = dealt_of(d, row, who, n);

    memset(d->out, 0xa5, sizeof d->out);
    product_decode(&d->code, d->out, &s);
    assert_int_equal(((const uint8_t *)d->out)[bytes], 0xa5); /* no element too many */
    return memcmp(d->out, d->want, bytes) == 0;
}
