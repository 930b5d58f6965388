/* put.h -- files this tool leaves behind, and the lines it says.
 *
 * A file is written beside its place and renamed into it.  What stands there already is replaced
 * only if it is a plain file without a private key: a link is not followed, and not replaced
 * either.  Modes are set on what was written, and on nothing else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DEPLOY_PKI_PUT_H
#define COLONNADE_DEPLOY_PKI_PUT_H

#include "common/base/buf.h"
#include "common/base/status.h"

#include <stdbool.h>

enum { PUT_OPEN_TO_ALL = 0644, PUT_OWN = 0600, PUT_TEXT_MAX = 1 << 20 };

/* `vfl WHO: words` on standard error; returns the exit code of err->status. */
int put_failure(const char *who, const struct error *err);
/* A line on standard output, unless quiet. */
void put_line(bool quiet, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* From now on files need not survive a power cut: those of a trial, which are soon made again. */
void put_lightly(void);

/* A folder that files go to. */
struct put_folder {
    int fd; /* -1: none */
    char path[512];
};

/* parent/name, made (0700) when it is not there; STATUS_CONFIG when it is a link or no folder.
 * name NULL: parent itself, which may be a link, since its user named it. */
enum status put_folder_open(struct put_folder *f, const char *parent, const char *name,
                            struct error *err) MUST_USE;
void put_folder_close(struct put_folder *f);
/* folder/name with exactly this mode. */
enum status put_in_folder(const struct put_folder *f, const char *name, const struct buf *text,
                          unsigned mode, struct error *err) MUST_USE;
/* The same of a path. */
enum status put_file(const char *path, const struct buf *text, unsigned mode,
                     struct error *err) MUST_USE;
/* Whether put_file would find a folder there that it may write to, and nothing in its way: to be
 * asked before what cannot be undone. */
enum status put_check(const char *path, struct error *err) MUST_USE;
/* A new file of mode 0600; STATUS_CONFIG when there is one of that name, whatever it is. */
enum status put_secret(const char *path, const struct buf *text, struct error *err) MUST_USE;

/* The whole of a file of at most `max` bytes; out is initialised here, and wiped and freed by
 * secret_buf_deinit.  STATUS_CONFIG when it cannot be read. */
enum status put_read(struct buf *out, const char *path, size_t max, struct error *err) MUST_USE;

#endif
