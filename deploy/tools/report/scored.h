/* scored.h -- what a table of scores with labels (--scores of a run) says of a model: ROC,
 * precision and recall, calibration and confusion.
 *
 *   id,label,score_0,...,score_k-1    classes: probabilities; k >= 2
 *   id,label,score                    a value
 *
 * Of two classes curves are of class 1, of more each class against the rest.  Rows without scores
 * are left out and counted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_REPORT_SCORED_H
#define COLONNADE_TOOLS_REPORT_SCORED_H

#include "common/base/status.h"

#include <stdbool.h>

/* Tables on standard output, unless quiet; with a folder roc.csv, pr.csv, calibration.csv,
 * confusion.csv and plots.gp, which draws them, in it: for their owner alone, since thresholds are
 * scores of persons. */
enum status scored_report(const char *path, const char *folder, bool quiet,
                          struct error *err) MUST_USE;

#endif
