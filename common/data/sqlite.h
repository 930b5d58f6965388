/* sqlite.h -- a table or view of a SQLite file as a source.
 *
 * Read in one statement, so as it was at one moment; nothing is written, but for the memory that
 * SQLite shares with who is writing to a file in WAL mode (its -shm).  Whole numbers are text of
 * their digits, so that long ids stay exact; NULL is a missing cell; a blob is refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_SQLITE_H
#define COLONNADE_DATA_SQLITE_H

#include "common/data/source.h"

/* Does the file say of itself that it is one? */
enum status sqlite_is(bool *sqlite, const char *path, struct error *err) MUST_USE;
/* Fills s, whose path is set; on failure what it has made is left to source_close.  o->table NULL
 * or
 * "": the only one that there is. */
enum status sqlite_open(struct source *s, const struct source_options *o,
                        struct error *err) MUST_USE;

#endif
