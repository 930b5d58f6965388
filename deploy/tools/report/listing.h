/* listing.h -- the figures of a report as plain numbers, for other programs.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_REPORT_LISTING_H
#define COLONNADE_TOOLS_REPORT_LISTING_H

#include "deploy/tools/report/fold.h"

#include <stdio.h>

/* CSV: one header line, then one line for each setting.  Ratios are to the base, by the means. */
void listing_write(const struct fold *f, FILE *to);

#endif
