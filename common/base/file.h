/* file.h -- the only door to files: opened without waiting and never through a trap, read whole
 * with a limit, written so that a crash leaves the old or the new one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_FILE_H
#define COLONNADE_BASE_FILE_H

#include "common/base/buf.h"
#include "common/base/status.h"

#include <stddef.h>
#include <stdio.h>

/* Opens to read what somebody else has named: a link is followed, but what it leads to is a regular
 * file, and nothing is waited for.  STATUS_IO, *fd -1 and errno say why not. */
enum status file_open(int *fd, const char *path, struct error *err) MUST_USE;

/* Opens what this program keeps or writes itself, `flags` and `mode` as in open(2): a regular file
 * under this one name, of this user or of root, never a link.  A new one gets `mode`.  With O_TRUNC
 * nothing is cut before that is known, and an old one is left with no more than `mode`. */
enum status file_open_own(int *fd, const char *path, int flags, unsigned mode,
                          struct error *err) MUST_USE;
/* The same, or a character device (/dev/full): only for a path of the command line. */
enum status file_open_output(int *fd, const char *path, int flags, unsigned mode,
                             struct error *err) MUST_USE;
/* file_open_own to write a new file or over an old one, through stdio; NULL after a failure. */
enum status file_create(FILE **to, const char *path, unsigned mode, struct error *err) MUST_USE;

/* Appends the whole of `path` to out; STATUS_LIMIT when it does not fit out->max, of which it then
 * has what came first. */
enum status file_read(const char *path, struct buf *out, struct error *err) MUST_USE;

/* The same of a file that this program keeps (file_open_own). */
enum status file_read_own(const char *path, struct buf *out, struct error *err) MUST_USE;

/* Writes path.tmp, fsyncs it, renames it to path, fsyncs the directory.  `mode` as in open(2). */
enum status file_write_atomic(const char *path, const void *bytes, size_t n, unsigned mode,
                              struct error *err) MUST_USE;

/* The same through stdio: what is written to *to is path.tmp until file_end has it take path's
 * place; file_give_up leaves path as it was. */
enum status file_begin(FILE **to, const char *path, unsigned mode, struct error *err) MUST_USE;
enum status file_end(FILE *f, const char *path, struct error *err) MUST_USE;
void file_give_up(FILE *f, const char *path);

/* The same of a secret, never waiting: STATUS_CONFIG when it is no regular file, others than the
 * owner may use it, it is neither this user's nor root's (threats F7), or does not fit.  What is
 * asked is what is read, however often another file takes the name meanwhile. */
enum status file_read_private(const char *path, struct buf *out, struct error *err) MUST_USE;

/* Removes a file, durably; one that there is not is no error. */
enum status file_remove(const char *path, struct error *err) MUST_USE;

/* Takes `path` (made if need be) for this process alone, until file_unlock or its end, however
 * sudden.  STATUS_CONFIG when another process has it; *lock is -1 after a failure. */
enum status file_lock(int *lock, const char *path, struct error *err) MUST_USE;
void file_unlock(int lock); /* -1 is fine */

/* mkdir -p. */
enum status file_make_dir(const char *path, unsigned mode, struct error *err) MUST_USE;

#endif
