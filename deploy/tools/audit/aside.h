/* aside.h -- what passes beside the values: sizes, times, ends.
 *
 * Within one run the rounds are trials: those with more canaries of D' than the median against the
 * others.  Between runs a run is one: all of one neighbour against all of the other.  Each test
 * says with CHANCE_ERROR (chance.h) whether there is a difference.  Times are told, never claimed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_AUDIT_ASIDE_H
#define COLONNADE_TOOLS_AUDIT_ASIDE_H

#include "deploy/tools/audit/view.h"

/* Sizes and times of the target's messages in one run, and that of one run the end is not looked
 * at.  *broken is set when sizes differ. */
enum status aside_rounds(const struct view_of *of, bool *broken, struct error *err) MUST_USE;

/* Ends, sizes and times of many runs.  `list` is a file of lines `0 TRANSCRIPT` and `1 TRANSCRIPT`:
 * of one neighbour, and of the other.  *broken is set when ends or sizes differ. */
enum status aside_runs(const char *list, bool *broken, struct error *err) MUST_USE;

#endif
