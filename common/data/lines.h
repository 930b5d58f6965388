/* lines.h -- the lines of a text file, one at a time in one buffer that holds little more than a
 * line.  A byte order mark before the first one is skipped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_LINES_H
#define COLONNADE_DATA_LINES_H

#include "common/base/status.h"
#include "common/data/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINES_READABLE = 32 }; /* bytes behind a line that may be read, whatever they are */

struct lines {
    struct stream stream;
    size_t line_max; /* bytes, without the line end */
    uint64_t number; /* of the line given last, from 1: of its first one when some were joined */
    char *data;      /* unread bytes are data[at..end) */
    size_t cap, at, end;
    bool ended;      /* the stream has no more */
    size_t taken;    /* bytes of the line given last, its end included */
    char under;      /* what stood where its final 0 is */
    uint64_t joined; /* lines that were joined to it */
};

enum status lines_open(struct lines *l, const char *path, size_t line_max,
                       struct error *err) MUST_USE;
void lines_close(struct lines *l); /* safe on a zeroed struct */
enum status lines_rewind(struct lines *l, struct error *err) MUST_USE;

/* The next line without its \n or \r\n, ended by 0, valid and writable until the next call; NULL at
 * the end of the file.  STATUS_DATA over line_max or with a byte 0 inside. */
enum status lines_next(struct lines *l, char **line, size_t *len, struct error *err) MUST_USE;

/* The line given last, unchanged since, together with the one behind it and the line end between
 * them: where a quoted cell goes on.  NULL when there is none. */
enum status lines_join(struct lines *l, char **line, size_t *len, struct error *err) MUST_USE;

#endif
