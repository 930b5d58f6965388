/* csv_header.h -- the first line of a CSV file: which columns there are.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_CSV_HEADER_H
#define COLONNADE_DATA_CSV_HEADER_H

#include "common/base/status.h"
#include "common/data/lines.h"
#include "common/data/table.h"

#include <stdint.h>

#define CSV_HEADER_NONE SIZE_MAX

/* Reads the header line into t->cols and t->names (allocated; also left to the caller on failure).
 * *left_out: the place, counted behind the id, of the column want->group, which is in neither;
 * CSV_HEADER_NONE: there is none. */
enum status csv_header_read(struct table *t, size_t *left_out, struct lines *lines,
                            const struct table_want *want, struct error *err) MUST_USE;

#endif
