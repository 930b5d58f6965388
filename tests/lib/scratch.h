/* scratch.h -- files for one test program, in a folder of its own that goes away with it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SCRATCH_H
#define COLONNADE_TESTS_SCRATCH_H

#include <stddef.h>

/* The folder, made at the first call. */
const char *scratch_dir(void);
/* dir/name, in one of a few static buffers that take turns. */
const char *scratch_path(const char *name);
/* Write dir/name and return its path; the test program ends when that fails. */
const char *scratch_write(const char *name, const void *bytes, size_t n);
const char *scratch_write_text(const char *name, const char *text);
const char *scratch_write_gzip(const char *name, const void *bytes, size_t n);
/* A new SQLite file, of what the statements make. */
const char *scratch_write_sqlite(const char *name, const char *statements);
/* The one number that a query of such a file gives. */
long long scratch_ask_sqlite(const char *name, const char *query);

#endif
