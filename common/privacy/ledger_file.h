/* ledger_file.h -- is the file at a path one that only this user can have written?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_FILE_H
#define COLONNADE_PRIVACY_LEDGER_FILE_H

#include "common/base/status.h"

#include <limits.h>
#include <stdbool.h>

/* Makes `path` where there is none, and looks at it and at what SQLite keeps beside it: regular
 * files of this user alone, one name each, links not followed.  `real`: the path with its folder
 * resolved.  STATUS_IO, and at most an empty file at `path` is new. */
enum status ledger_file_claim(const char *path, char real[PATH_MAX], struct error *err) MUST_USE;

/* A mark beside a ledger, `ledger.begun` beside ledger.db, says that there was one: made after its
 * first commit, or when one is opened that has none yet.  A ledger that holds nothing beside such a
 * mark was lost or emptied, and is not begun again: STATUS_IO.  `fresh`: it holds nothing. */
enum status ledger_file_unbegun(const char *path, bool fresh, struct error *err) MUST_USE;
enum status ledger_file_mark(const char *path, struct error *err) MUST_USE;

#endif
