/* findings.h -- what `vfl doctor` says, a line or three at a time.
 *
 * Whatever comes from certificates, rosters, other programs or peers passes here, and gets to the
 * terminal with all but printable characters replaced.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DEPLOY_PKI_FINDINGS_H
#define COLONNADE_DEPLOY_PKI_FINDINGS_H

#include "common/base/status.h"

/* Exit codes, and whose turn it is. */
enum finding { FINDING_HERE = 2, FINDING_THERE = 3, FINDING_NET = 4 };

void finding_good(const char *fmt, ...) PRINTF_LIKE(1, 2);
void finding_hint(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* What is wrong; `side` must act, by `fix`. */
void finding_bad(enum finding code, const char *side, const char *fix, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* 0, or the code of the first fault, this side's before others: they may cause the rest. */
int finding_code(void);

#endif
