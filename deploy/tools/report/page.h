/* page.h -- the report as one HTML file that needs nothing else: no script, no link, no picture
 * outside of it, and no path of the machine that made it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_REPORT_PAGE_H
#define COLONNADE_TOOLS_REPORT_PAGE_H

#include "common/base/status.h"
#include "deploy/tools/report/tables.h"
#include "deploy/tools/report/want.h"

/* Takes the SVG files that are in want->plots; without them the page says that it has no plots. */
enum status page_write(const struct fold *f, const struct tables *t, const struct want *want,
                       struct pool *p, struct error *err) MUST_USE;

#endif
