/* cluster.h -- the folder of one `vfl cluster`: summary.json, server/metrics.jsonl, plan.txt.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_REPORT_CLUSTER_H
#define COLONNADE_TOOLS_REPORT_CLUSTER_H

#include "common/base/status.h"
#include "deploy/tools/report/runs.h"

#include <stdbool.h>

/* Adds one run; STATUS_DATA: "path:line: reason".  The epsilons of its evaluations stay unknown:
 * metrics.jsonl has none. */
enum status cluster_read(struct runs *r, const char *folder, struct error *err) MUST_USE;

#endif
