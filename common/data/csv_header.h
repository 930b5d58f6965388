/* csv_header.h -- the first line of a CSV file: which columns there are.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_CSV_HEADER_H
#define COLONNADE_DATA_CSV_HEADER_H

#include "common/base/status.h"
#include "common/data/lines.h"
#include "common/data/table.h"

/* Reads the header line into t->cols and t->names (allocated; also left
 * to the caller on failure). */
enum status csv_header_read(struct table *t, struct lines *lines, const struct table_want *want,
                            struct error *err) MUST_USE;

#endif
