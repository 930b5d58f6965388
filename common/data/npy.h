/* npy.h -- arrays as NumPy keeps them (.npy, versions 1 and 2), plain or packed, to a table.
 *
 * Two dimensions, rows x columns, in C order, of float32, float64 or whole numbers of 1 to 8 bytes,
 * little-endian; nothing may follow.  The header is a claim until that many bytes were counted:
 * only then is a table allocated.  Read as a stream and not mapped: a file that somebody cuts off
 * meanwhile would end a process that has it mapped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_NPY_H
#define COLONNADE_DATA_NPY_H

#include "common/data/stream.h"
#include "common/data/table.h"

#include <stdio.h>

enum { NPY_HEADER_MAX = 4096, NPY_TEXT_MAX = 192, NPY_ELEMENT_MAX = 8 };

struct npy {
    char kind;      /* 'f', 'i' or 'u' */
    size_t element; /* bytes of one */
    unsigned dims;  /* 1 or 2 */
    size_t dim[2];  /* dim[1] = 1 where there is one */
};

/* The dictionary of a header, n bytes with its padding.  False: *reason says why it is none that is
 * read here. */
bool npy_parse(struct npy *a, const char *text, size_t n, const char **reason);
/* A whole header for such an array, to `out`; returns its length. */
size_t npy_header(char out[NPY_TEXT_MAX], const struct npy *a);
/* Reads magic and header off the start of a stream. */
enum status npy_open(struct npy *a, struct stream *in, struct error *err) MUST_USE;
/* One element as it stands in the file. */
double npy_value(const struct npy *a, const uint8_t *element);

/* Is that such a file, by its name, or by its content when the name does not say? */
enum status npy_is(bool *npy, const char *path, struct error *err) MUST_USE;
/* Features: two dimensions, the values as they are, all finite.  Labels: one dimension.  Ids are 0,
 * 1, ...  t is zeroed before and after a failure; STATUS_DATA. */
enum status npy_read(struct table *t, const char *path, const struct table_want *want,
                     struct error *err) MUST_USE;

#endif
