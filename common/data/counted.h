/* counted.h -- tables of files that name no rows: each row's number is its id.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_COUNTED_H
#define COLONNADE_DATA_COUNTED_H

#include "common/data/table.h"

/* Room for the values, and the ids 0, 1, ..., which are in their order already. */
enum status counted_allocate(struct table *t, size_t rows, size_t cols, const char *path,
                             struct error *err) MUST_USE;

#endif
