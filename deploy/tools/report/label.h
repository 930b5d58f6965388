/* label.h -- short names for axes and settings.
 *
 * "protocol.pbm.trials" is "trials" as long as no other axis that varies ends so.  Axes without a
 * dot (a case, a label of the grid) are named by their value alone when that is a word.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_REPORT_LABEL_H
#define COLONNADE_TOOLS_REPORT_LABEL_H

#include "deploy/tools/report/runs.h"

#include <stdbool.h>

/* The axis called so (n bytes): its whole name, or an end of it behind a dot that no other has.
 * r->axes when there is none, or more than one. */
size_t label_axis(const struct runs *r, const char *name, size_t n);

/* "fedbcd, local_iterations=5": the values of a run's axes in `which`; "default" when it has none
 * of them.  When `which` is empty, the title of the first run. */
const char *label_of(struct runs *r, const struct run *run, const bool *which, const bool *among);

#endif
