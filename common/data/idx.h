/* idx.h -- IDX files (the format of MNIST), plain or packed: arrays of unsigned bytes.
 *
 * Two bytes 0, a type byte (only 0x08, unsigned byte), the number of dimensions, each dimension as
 * 32 bits big-endian, then the bytes, the last dimension fastest; nothing may follow.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_IDX_H
#define COLONNADE_DATA_IDX_H

#include "common/data/array.h"

enum { IDX_HEADER_MAX = 4 + 4 * ARRAY_RANK_MAX };

/* Features become x/255. */
extern const struct array_format IDX_FORMAT;

/* Is that an IDX file, by its name, or by its content when the name does not say? */
enum status idx_is(bool *idx, const char *path, struct error *err) MUST_USE;
/* The header of an array of unsigned bytes, to `out`; returns its length. */
size_t idx_header(uint8_t out[IDX_HEADER_MAX], const struct array *a);

#endif
