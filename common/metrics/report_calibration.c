/* report_calibration.c -- the best evaluation and a temperature in summary.json.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/report_calibration.h"

void report_calibration(struct report_json *j, json_t *root, const struct calibration *c)
{
    json_t *o;

    if (c->rows == 0)
        return;
    o = report_json_object(j, root, "calibration");
    report_json_real(j, o, "temperature", c->temperature);
    report_json_count(j, o, "rows", c->rows);
    report_json_real(j, o, "ece_before", c->before);
    report_json_real(j, o, "ece", c->after);
}

void report_best(struct report_json *j, json_t *root, const struct report_best *r)
{
    json_t *o;

    if (!r->yes)
        return;
    report_json_real(j, root, "best_epoch", r->epoch);
    if (r->metric == NULL)
        return;
    o = report_json_object(j, root, "best");
    report_json_text(j, o, "metric", r->metric);
    report_json_text(j, o, "split", "validate");
    report_json_real(j, o, "value", r->value);
    report_json_real(j, o, "epoch", r->epoch);
    report_json_count(j, o, "round", r->round);
}
