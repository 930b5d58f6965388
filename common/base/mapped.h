/* mapped.h -- a file as memory: what may be larger than the machine's, or has to outlive a process.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_MAPPED_H
#define COLONNADE_BASE_MAPPED_H

#include "common/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct mapped {
    uint8_t *data; /* NULL: none */
    size_t n;
    int fd; /* of it, while there is data */
};

/* All of `path` as it is.  STATUS_OK and no data when there is no such file or nothing in it. */
enum status mapped_open(struct mapped *m, const char *path, struct error *err) MUST_USE;
/* `path` with n bytes (n > 0), made if need be, readable by its owner only; what is in it already
 * stays as far as it fits, and the rest is 0.  STATUS_IO when its disk has not the room, and a
 * twentieth of it or 64 MiB to spare: then the file is gone. */
enum status mapped_make(struct mapped *m, const char *path, size_t n, struct error *err) MUST_USE;
/* The same without a name: it ends with the process.  dir: a folder on the disk to use. */
enum status mapped_make_unnamed(struct mapped *m, const char *dir, size_t n,
                                struct error *err) MUST_USE;
/* One that is mapped gets n bytes (n > 0): what fits stays, the rest is 0, and data may lie
 * elsewhere then.  STATUS_IO as above, about `called`: it is as it was.  Fewer bytes never fail. */
enum status mapped_resize(struct mapped *m, size_t n, const char *called,
                          struct error *err) MUST_USE;
/* What was written is on the disk. */
enum status mapped_sync(const struct mapped *m, struct error *err) MUST_USE;
void mapped_close(struct mapped *m); /* the file stays; safe on a zeroed struct */

#endif
