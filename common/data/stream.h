/* stream.h -- a data file on disk, plain or packed (gzip, zstd), read forward and once more from
 * its start.
 *
 * Readers go through a file twice: the first pass counts, so that the table is allocated once, at
 * its exact size, and only after the limits hold.  That needs a regular file: pipes are refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_STREAM_H
#define COLONNADE_DATA_STREAM_H

#include "common/base/status.h"
#include "common/crypto/digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct unzstd;

struct stream {
    const char *path; /* kept by reference */
    void *gz;         /* gzFile, or */
    struct unzstd *zstd;
    int fd;     /* theirs */
    off_t size; /* of the file, and when it was last written to, as it was opened */
    struct timespec written;
};

/* STATUS_DATA when there is no such regular file. */
enum status stream_open(struct stream *s, const char *path, struct error *err) MUST_USE;
void stream_close(struct stream *s); /* safe on a zeroed struct */

/* *n <= max bytes; fewer only at the end.  Damaged or cut packed data is STATUS_DATA, and so is at
 * the end a file that somebody has written to since it was opened, so that none is taken for whole
 * that was cut off meanwhile; a failing disk STATUS_IO. */
enum status stream_read(struct stream *s, void *out, size_t max, size_t *n,
                        struct error *err) MUST_USE;
enum status stream_rewind(struct stream *s, struct error *err) MUST_USE;
/* SHA-256 of all that can be read from it, so of what a packed file holds; it is at its end then.
 */
enum status stream_digest(uint8_t out[DIGEST_BYTES], struct stream *s, struct error *err) MUST_USE;

/* Is the file's name such a one, or the same with .gz or .zst behind it? */
bool stream_ends(const char *path, const char *ending);
static inline bool stream_is_csv(const char *path)
{
    return stream_ends(path, ".csv");
}

#endif
