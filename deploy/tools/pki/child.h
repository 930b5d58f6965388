/* child.h -- another program, run without a shell: its words are arguments, what it says is bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DEPLOY_PKI_CHILD_H
#define COLONNADE_DEPLOY_PKI_CHILD_H

#include "common/base/buf.h"

#include <stdbool.h>

enum { CHILD_TEXT_MAX = 1 << 20, CHILD_LATE = -1, CHILD_NONE = -2 };

/* Runs argv[0] (found by PATH) without input, for at most `seconds`; *out, initialised here, is
 * what it wrote to standard output and standard error, as far as CHILD_TEXT_MAX bytes go.  Its exit
 * code (128 + n for signal n), CHILD_LATE when it took too long, CHILD_NONE when it did not run. */
int child_run(struct buf *out, char *const argv[], int seconds);

/* Whether the output has this word. */
bool child_said(const struct buf *out, const char *word);

#endif
