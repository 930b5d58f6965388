/* source.h -- a data file on disk, plain or gzip, read forward and once more from its start.
 *
 * Readers go through a file twice: the first pass counts, so that the table is allocated once, at
 * its exact size, and only after the limits hold.  That needs a regular file: pipes are refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_SOURCE_H
#define COLONNADE_DATA_SOURCE_H

#include "common/base/status.h"

#include <stddef.h>

struct source {
    const char *path; /* kept by reference */
    void *gz;         /* gzFile */
};

/* STATUS_DATA when there is no such regular file. */
enum status source_open(struct source *s, const char *path, struct error *err) MUST_USE;
void source_close(struct source *s); /* safe on a zeroed struct */

/* *n <= max bytes; fewer only at the end.  Damaged or cut gzip is STATUS_DATA, a failing disk
 * STATUS_IO. */
enum status source_read(struct source *s, void *out, size_t max, size_t *n,
                        struct error *err) MUST_USE;
enum status source_rewind(struct source *s, struct error *err) MUST_USE;

#endif
