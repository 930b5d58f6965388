/* journal_files.h -- the names of the journal's segments and which of them are there.  Private to
 * the journal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_JOURNAL_FILES_H
#define COLONNADE_DAEMON_JOURNAL_FILES_H

#include "common/base/status.h"

#include <limits.h>
#include <stdint.h>

/* state/journal-<number>.sealed, with at least eight digits. */
void journal_files_path(char out[PATH_MAX], const char *state, uint64_t number);

/* The segments that are there: *first ... *first + *count - 1.  STATUS_IO when one between them is
 * missing, when there are more than JOURNAL_SEGMENTS_MAX, or when the folder cannot be read. */
enum status journal_files_list(const char *state, uint64_t *first, uint64_t *count,
                               struct error *err) MUST_USE;

/* All of them, the oldest first, with what an interrupted write has left.  STATUS_IO names one that
 * stays. */
enum status journal_files_remove(const char *state, struct error *err) MUST_USE;

#endif
