/* lines.h -- the lines of a text file, one at a time in one buffer that holds little more than a
 * line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_LINES_H
#define COLONNADE_DATA_LINES_H

#include "common/base/status.h"
#include "common/data/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lines {
    struct source source;
    size_t line_max; /* bytes, without the line end */
    uint64_t number; /* of the line given last, from 1 */
    char *data;      /* unread bytes are data[at..end) */
    size_t cap, at, end;
    bool ended; /* the source has no more */
};

enum status lines_open(struct lines *l, const char *path, size_t line_max,
                       struct error *err) MUST_USE;
void lines_close(struct lines *l); /* safe on a zeroed struct */
enum status lines_rewind(struct lines *l, struct error *err) MUST_USE;

/* The next line without its \n or \r\n, ended by 0, valid and writable until the next call; NULL at
 * the end of the file.  STATUS_DATA over line_max or with a byte 0 inside. */
enum status lines_next(struct lines *l, char **line, size_t *len, struct error *err) MUST_USE;

#endif
