/* report_calibration.h -- what summary.json says of the model that is kept: by which evaluation
 * ("best_epoch", "best"), and its temperature (calibrate.h), "calibration": {"temperature", "rows",
 * "ece_before", "ece"}; of what there is not, nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_METRICS_REPORT_CALIBRATION_H
#define COLONNADE_METRICS_REPORT_CALIBRATION_H

#include "common/metrics/calibrate.h"
#include "common/metrics/report.h"
#include "common/metrics/report_json.h"

void report_best(struct report_json *j, json_t *root, const struct report_best *r);
void report_calibration(struct report_json *j, json_t *root, const struct calibration *c);

#endif
