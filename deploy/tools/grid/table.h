/* table.h -- results.csv, runs.csv and the list of failures (docs/experiments/README.md).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_GRID_TABLE_H
#define COLONNADE_TOOLS_GRID_TABLE_H

#include "deploy/tools/grid/grid.h"

/* Writes DIR/results.csv, runs.csv and failed (`ID`, exit code and words, with tabs between). */
enum status table_write(struct grid *g, const char *dir, struct error *err) MUST_USE;

#endif
