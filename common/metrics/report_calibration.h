/* report_calibration.h -- the temperature of a model (calibrate.h) as summary.json has it:
 * "calibration": {"temperature", "rows", "ece_before", "ece"}, of a model without one nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_METRICS_REPORT_CALIBRATION_H
#define COLONNADE_METRICS_REPORT_CALIBRATION_H

#include "common/metrics/calibrate.h"
#include "common/metrics/report_json.h"

void report_calibration(struct report_json *j, json_t *root, const struct calibration *c);

#endif
