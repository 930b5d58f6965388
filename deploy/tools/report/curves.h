/* curves.h -- score by epoch, bytes, seconds and epsilon: data and script for gnuplot.
 *
 * Each line is the mean over a setting's runs at each epoch of evaluation, at the mean of their
 * bytes (seconds, epsilon) there; the band is the standard deviation of the score on either side.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_REPORT_CURVES_H
#define COLONNADE_TOOLS_REPORT_CURVES_H

#include "common/base/status.h"
#include "deploy/tools/report/fold.h"

#include <stdbool.h>
#include <stddef.h>

enum { CURVES_LINES_MAX = 12, CURVES_PLOTS = 4 };

/* Writes DIR/curves.dat and DIR/plots.gp, which makes DIR/epoch.svg, .png and so on: `cd DIR &&
 * gnuplot plots.gp`. */
enum status curves_write(const struct fold *f, struct pool *p, const char *dir,
                         struct error *err) MUST_USE;

const char *curves_name(size_t plot); /* "epoch": of its files */
const char *curves_title(size_t plot);
bool curves_has(const struct fold *f, size_t plot); /* there is something to draw */

#endif
