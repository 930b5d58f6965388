/* buf.h -- a growable run of bytes with a hard maximum.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_BUF_H
#define COLONNADE_BASE_BUF_H

#include "common/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct buf {
    uint8_t *data;
    size_t len, cap;
    size_t max; /* buf_reserve refuses to grow beyond this many bytes */
};

void buf_init(struct buf *b, size_t max);
void buf_deinit(struct buf *b); /* safe on a zeroed struct */

/* Makes room for `more` bytes after len.  STATUS_LIMIT over max, STATUS_MEMORY when memory is
 * short. */
enum status buf_reserve(struct buf *b, size_t more) MUST_USE;
enum status buf_append(struct buf *b, const void *bytes, size_t n) MUST_USE;
enum status buf_printf(struct buf *b, const char *fmt, ...) MUST_USE PRINTF_LIKE(2, 3);
/* Forgets the first n bytes; the rest moves to the front. */
void buf_consume(struct buf *b, size_t n);

#endif
