/* gradient.h -- the gradient of the sum of embeddings as it goes down: in which factors, and in
 * what numbers.
 *
 *   full        one matrix, rows x P
 *   factored    two: D (rows x k), then W (P x k), the gradient being D W' (k: the width of the
 *               head's first layer)
 *
 *   float32     4 bytes a value, little-endian
 *   bfloat16    2 bytes: the upper half of a float32, rounded to nearest, ties to even
 *   int8        of each row of a matrix first its scale s = max |x| / 127 (float32), then 1 byte a
 *               value, floor(x / s + u) with u uniform on [0, 1): the mean is x / s
 *
 * Matrices follow each other without gaps; zeros fill up to a whole number of 4-byte words, which
 * is what is broadcast, journalled, replayed and chained in the trail.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_COMPRESS_GRADIENT_H
#define COLONNADE_COMPRESS_GRADIENT_H

#include "common/base/status.h"
#include "common/config/plan.h"
#include "common/crypto/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gradient_form {
    enum plan_gradient_form form;
    enum plan_gradient_type type;
    size_t width;   /* P; of a head that goes down, all its parameters (down.h) */
    uint32_t inner; /* k */
};

struct gradient_form gradient_form_of(const struct plan *p);

/* Values of a gradient of so many rows, over all its matrices; of these, those that follow the rows
 * (all, or D); and the 4-byte words that they become. */
size_t gradient_values(const struct gradient_form *f, size_t rows);
size_t gradient_row_values(const struct gradient_form *f, size_t rows);
size_t gradient_words(const struct gradient_form *f, size_t rows);

/* words[gradient_words] from x[gradient_values], all finite; no overlap.  int8 draws from r. */
void gradient_pack(const struct gradient_form *f, void *words, const float *x, size_t rows,
                   struct rng *r);
/* The same back.  False, and x holds anything, when a value or scale is not finite, a scale is
 * negative, an int8 is -128, or the filling is not 0. */
bool gradient_unpack(const struct gradient_form *f, float *x, const void *words,
                     size_t rows) MUST_USE;

#endif
