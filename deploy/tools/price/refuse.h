/* refuse.h -- the line of a command that is none.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_PRICE_REFUSE_H
#define COLONNADE_TOOLS_PRICE_REFUSE_H

#include "common/base/status.h"

/* "tool: ..." on standard error; returns the exit code of such a command, 2. */
int refuse(const char *tool, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
