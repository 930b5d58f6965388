/* experiment.h -- the folder of an experiment: runs.csv and results.csv (docs/experiments).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_REPORT_EXPERIMENT_H
#define COLONNADE_TOOLS_REPORT_EXPERIMENT_H

#include "common/base/status.h"
#include "deploy/tools/report/runs.h"

/* Adds its runs, with those that failed or are missing.  STATUS_DATA: "path:line: reason". */
enum status experiment_read(struct runs *r, const char *folder, struct error *err) MUST_USE;

#endif
