/* sheet.h -- a CSV file as in RFC 4180, read whole: one header line, then rows of as many cells.
 *
 * Cells in quotes may hold commas, doubled quotes and line ends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_REPORT_SHEET_H
#define COLONNADE_TOOLS_REPORT_SHEET_H

#include "common/base/status.h"
#include "deploy/tools/report/pool.h"

#include <stdbool.h>
#include <stddef.h>

struct sheet {
    const char *path;
    size_t cols, rows;
    char **name;  /* of the columns */
    char **cell;  /* rows x cols */
    size_t *line; /* where row i begins in the file, from 1 */
};

/* The text of cells lives as long as the pool.  STATUS_DATA: "path:line: what is wrong". */
enum status sheet_read(struct sheet *s, struct pool *p, const char *path,
                       struct error *err) MUST_USE;

/* The column of that name; s->cols when there is none. */
size_t sheet_column(const struct sheet *s, const char *name);
enum status sheet_need(const struct sheet *s, size_t *column, const char *name,
                       struct error *err) MUST_USE;

/* The cell as text; "" when there is no such column. */
const char *sheet_text(const struct sheet *s, size_t row, size_t column);
/* As a number: NAN when it is empty or there is no such column, "inf" is INFINITY; STATUS_DATA when
 * it is none, or negative. */
enum status sheet_number(const struct sheet *s, size_t row, size_t column, double *number,
                         struct error *err) MUST_USE;

#endif
