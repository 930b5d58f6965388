/* idx.h -- IDX files (the format of MNIST), plain or gzip, to a table.
 *
 * Two bytes 0, a type byte (only 0x08, unsigned byte), the number of dimensions, each dimension as
 * 32 bits big-endian, then the bytes, the last dimension fastest; nothing may follow.  The first
 * dimension counts rows, the product of the others columns.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_IDX_H
#define COLONNADE_DATA_IDX_H

#include "common/base/status.h"
#include "common/data/table.h"

/* Is that an IDX file, by its name, or by its content when the name does not say? */
enum status idx_is(bool *idx, const char *path, struct error *err) MUST_USE;

/* Features: two dimensions or more, x/255.  Labels: one dimension, the values as they are.  Ids are
 * 0, 1, ... t is zeroed before and after a failure; STATUS_DATA. */
enum status idx_read(struct table *t, const char *path, const struct table_want *want,
                     struct error *err) MUST_USE;

#endif
