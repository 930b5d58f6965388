/* npy.h -- arrays as NumPy keeps them (.npy, versions 1 and 2), plain or packed.
 *
 * Rows x columns, or rows x dimensions, in C order, of float32, float64 or whole numbers of 1 to 8
 * bytes, little-endian; nothing may follow.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_NPY_H
#define COLONNADE_DATA_NPY_H

#include "common/data/array.h"

#include <stdio.h>

enum { NPY_HEADER_MAX = 4096, NPY_TEXT_MAX = 256 };

/* Features stay as they are. */
extern const struct array_format NPY_FORMAT;

/* The dictionary of a header, n bytes with its padding.  False: *reason says why it is none that is
 * read here. */
bool npy_parse(struct array *a, const char *text, size_t n, const char **reason);
/* A whole header for such an array, to `out`; returns its length. */
size_t npy_header(char out[NPY_TEXT_MAX], const struct array *a);

/* Is that such a file, by its name, or by its content when the name does not say? */
enum status npy_is(bool *npy, const char *path, struct error *err) MUST_USE;

#endif
