/* dealt.h -- for tests: data and a model that were dealt among members, and what each makes of its
 * shares.  Reference arithmetic is by % on 128 bits, element by element.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_DEALT_H
#define COLONNADE_TESTS_DEALT_H

#include "common/lcc/product.h"

enum { DEALT_PARTIES = 40, DEALT_ELEMENTS = 64 };

uint64_t dealt_next(uint64_t *seed); /* 64 bits */
uint64_t dealt_mul(uint64_t a, uint64_t b, uint64_t p);
void dealt_fill(const struct field *f, void *x, size_t n, uint64_t *seed);
/* Of data, rows x inputs, and a model, inputs x width. */
struct dealt_sizes {
    uint32_t rows, inputs, width;
};

/* c = a b; the matrices have no gaps. */
void dealt_mat_mul(const struct field *f, void *c, const void *a, const void *b,
                   const struct dealt_sizes *s);

/* X has K segments of rows x inputs elements, W inputs x width. */
struct dealt {
    struct product code;
    struct dealt_sizes sizes;
    size_t len;                                        /* of a result: rows * width */
    uint64_t x[DEALT_PARTIES * DEALT_ELEMENTS];        /* K + T rows of rows * inputs */
    uint64_t w[DEALT_PARTIES * DEALT_ELEMENTS];        /* 1 + T rows of inputs * width */
    uint64_t x_shares[DEALT_PARTIES * DEALT_ELEMENTS]; /* M rows, as the next two */
    uint64_t w_shares[DEALT_PARTIES * DEALT_ELEMENTS];
    uint64_t results[DEALT_PARTIES * DEALT_ELEMENTS];
    uint64_t want[DEALT_PARTIES * DEALT_ELEMENTS]; /* K rows: the segments times W */
    uint64_t out[DEALT_PARTIES * DEALT_ELEMENTS];
};

/* The code (asserted), random X, W and masks, their shares, all results and what they decode to.
 * No row has more than DEALT_ELEMENTS elements. */
void dealt_init(struct dealt *d, const struct product_shape *s, const struct dealt_sizes *z,
                uint64_t *seed);
void dealt_deinit(struct dealt *d);

/* Where member j's result is. */
void *dealt_result(struct dealt *d, uint32_t j);
/* row: room for n pointers. */
struct product_results dealt_of(struct dealt *d, const void **row, const uint32_t *who, uint32_t n);
/* Decodes into d->out; does it equal d->want? */
bool dealt_decodes(struct dealt *d, const uint32_t *who, uint32_t n);

#endif
