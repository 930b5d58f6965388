/* ledger_file.h -- is the file at a path one that only this user can have written?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_FILE_H
#define COLONNADE_PRIVACY_LEDGER_FILE_H

#include "common/base/status.h"

#include <limits.h>

/* Makes `path` where there is none, and looks at it and at what SQLite keeps beside it: regular
 * files of this user alone, one name each, links not followed.  `real`: the path with its folder
 * resolved.  STATUS_IO, and nothing was changed. */
enum status ledger_file_claim(const char *path, char real[PATH_MAX], struct error *err) MUST_USE;

#endif
