/* topk.h -- the k columns of a matrix that matter most, as they are (Castiglia et al. 2022, section
 * 4; Lin et al. 2018).
 *
 * k = max(1, round(P b / 32)).  Payload: k column numbers in ascending order, bits_width(P) bits
 * each (common/base/bits.h), in bytes of their own; then rows x k values, float32 little-endian,
 * row by row.  What was left out comes back as 0.
 *
 * One set of columns serves the whole message, since batches change: those of the largest
 * importance, of equals the first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_COMPRESS_TOPK_H
#define COLONNADE_COMPRESS_TOPK_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint32_t topk_columns(uint32_t width, uint32_t bits); /* k */
size_t topk_bytes(uint32_t width, uint32_t bits, size_t rows);

/* importance[width], finite, not negative; NULL: the sum of |x| over the rows. */
void topk_pack(uint8_t *out, const float *x, size_t rows, uint32_t width, uint32_t bits,
               const float *importance);
/* False: columns out of range or order, spare bits that are not 0, a value that is not finite. */
bool topk_unpack(float *y, const uint8_t *in, size_t rows, uint32_t width, uint32_t bits) MUST_USE;

#endif
