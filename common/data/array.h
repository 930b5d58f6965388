/* array.h -- rows of elements of one type, without names or ids: what IDX and .npy files have in
 * common, and such a file to a table.
 *
 * The first dimension counts rows, the product of the others columns.  A header is a claim until
 * that many bytes were counted: only then is a table allocated.  Read as a stream and not mapped: a
 * file that somebody cuts off meanwhile would end a process that has it mapped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_ARRAY_H
#define COLONNADE_DATA_ARRAY_H

#include "common/data/stream.h"
#include "common/data/table.h"

enum { ARRAY_RANK_MAX = 8, ARRAY_ELEMENT_MAX = 8 };

struct array {
    char kind;                  /* 'f', 'i' or 'u', little-endian */
    size_t element;             /* bytes of one: 1, 2, 4 or 8; of 'f' 4 or 8 */
    size_t rank;                /* 1 (labels) to ARRAY_RANK_MAX */
    size_t dim[ARRAY_RANK_MAX]; /* each above 0 */
    size_t columns;             /* 1 of a rank of 1 */
};

struct array_format {
    const char *name; /* with its article: an IDX */
    float unit;       /* features are so many parts of 1 */
    /* Reads what stands before the elements off the start of a stream. */
    enum status (*open)(struct array *a, struct stream *in, struct error *err);
};

/* The columns of the dimensions.  False where one of them is 0 or too large for a table, or all of
 * them together are: *which is its number from 0, or the rank. */
bool array_measure(struct array *a, size_t *which);
/* One element as it stands in the file. */
double array_value(const struct array *a, const uint8_t *element);
/* STATUS_DATA: labels have one dimension and features more, and neither has names. */
enum status array_check(const struct array *a, const struct array_format *f,
                        const struct table_want *want, const char *path,
                        struct error *err) MUST_USE;
/* Features: values / unit, all finite.  Labels: the values as they are.  Ids are 0, 1, ...  t is
 * zeroed before and after a failure; STATUS_DATA. */
enum status array_read(struct table *t, const char *path, const struct array_format *f,
                       const struct table_want *want, struct error *err) MUST_USE;

#endif
