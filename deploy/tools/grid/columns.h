/* columns.h -- the columns of the tables that are not the grid's (docs/experiments/README.md).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_GRID_COLUMNS_H
#define COLONNADE_TOOLS_GRID_COLUMNS_H

#include <stdbool.h>

/* Behind `seed`; NULL-terminated. */
extern const char *const columns_results[];
extern const char *const columns_runs[];

/* Whether a table has a column of this name already. */
bool columns_has(const char *name);

#endif
