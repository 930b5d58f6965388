/* csv.h -- strict CSV to a table, in bounded memory.
 *
 * Accepted, and nothing else: a header line, then at least one row; first column `id`; lines of the
 * same number of cells, ended by \n or \r\n (the last one may lack it); cells split by commas,
 * without quotes or spaces around them; names and ids of printable ASCII, unique; every other cell
 * a finite decimal number. A feature file has no column `label`; a label file has exactly the
 * columns id,label.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_CSV_H
#define COLONNADE_DATA_CSV_H

#include "common/base/status.h"
#include "common/data/table.h"

#include <stddef.h>

/* Checked before anything of that size is allocated. */
struct csv_limits {
    size_t line_max; /* bytes in a line */
    size_t rows_max;
    size_t values_max; /* rows * columns */
};

extern const struct csv_limits CSV_LIMITS;

/* t is zeroed before and after a failure.  Errors begin `path:line: ` or `path: `; STATUS_DATA. */
enum status csv_read(struct table *t, const char *path, const struct table_want *want,
                     const struct csv_limits *limits, struct error *err) MUST_USE;

#endif
