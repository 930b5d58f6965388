/* distinguish.h -- canary records against the claims of a run.
 *
 * Every training record is a canary: a fair coin put the target party's (the roster's first)
 * embedding of it to one end of the box, and all other parties' are at the far end, which is the
 * worst case of docs/privacy.md (1).  The sums of different records are independent releases, so a
 * run is as many trials as it has records.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_AUDIT_DISTINGUISH_H
#define COLONNADE_TOOLS_AUDIT_DISTINGUISH_H

#include "common/data/table.h"
#include "deploy/tools/audit/seen.h"

#include <jansson.h>

/* canaries: the target's columns; its first is above 0 where the coin said "as everybody".  Prints
 * the bound beside every claim of the summary; *broken: a bound is above its claim.  STATUS_DATA:
 * they do not fit together. */
enum status distinguish(const struct seen *s, const struct table *canaries, const json_t *summary,
                        bool *broken, struct error *err) MUST_USE;

#endif
