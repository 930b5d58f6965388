/* counted.c -- rows by their numbers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/counted.h"

#include "common/base/mem.h"

#include <stdio.h>

/* TABLE_ROWS_MAX ids of at most 8 digits and a 0. */
enum { ID_BYTES = 10 };

enum status counted_allocate(struct table *t, size_t rows, size_t cols, const char *path,
                             struct error *err)
{
    size_t at = 0;
    enum status s;

    t->rows = rows;
    t->cols = cols;
    s = values_grow(&t->values, &t->x, 0, rows * cols, err);
    if (s == STATUS_IO)
        return s;
    t->id_text = mem_alloc(rows, ID_BYTES);
    t->id_at = mem_alloc(rows, sizeof *t->id_at);
    if (s != STATUS_OK || t->id_text == NULL || t->id_at == NULL)
        return error_set(err, STATUS_MEMORY, "%s: no memory for %zu rows of %zu columns", path,
                         rows, cols);
    t->counted = true;
    for (size_t i = 0; i < rows; i++) {
        t->id_at[i] = (uint32_t)at;
        at += (size_t)snprintf(t->id_text + at, ID_BYTES, "%u", (unsigned)i) + 1;
    }
    return STATUS_OK;
}
