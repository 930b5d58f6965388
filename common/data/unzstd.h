/* unzstd.h -- a file packed by zstd (RFC 8878), read forward and once more from its start.
 *
 * What a frame says of its own length is not looked at: bytes come out as they are asked for, and
 * memory is the window, which has a maximum.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_UNZSTD_H
#define COLONNADE_DATA_UNZSTD_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* What the zstd program itself unpacks without being told to; a frame that wants more is refused.
 */
enum { UNZSTD_WINDOW_LOG = 27 };

struct unzstd;

/* Does the file begin like one?  Its place is the start, before and after. */
enum status unzstd_is(bool *is, int fd, const char *path, struct error *err) MUST_USE;
/* Takes fd, after a failure too; `path` is kept by reference. */
enum status unzstd_open(struct unzstd **u, int fd, const char *path, struct error *err) MUST_USE;
void unzstd_close(struct unzstd *u); /* NULL is fine */

/* *n <= max bytes; fewer only at the end.  Damaged or cut data is STATUS_DATA, a failing disk
 * STATUS_IO. */
enum status unzstd_read(struct unzstd *u, void *out, size_t max, size_t *n,
                        struct error *err) MUST_USE;
enum status unzstd_rewind(struct unzstd *u, struct error *err) MUST_USE;

#endif
