/* buf.c -- growable bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/buf.h"

#include "common/base/check.h"
#include "common/base/mem.h"

#include <stdio.h>
#include <string.h>

enum { BUF_FIRST = 256 };

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_deinit(struct buf *b)
{
    mem_free(b->data);
    *b = (struct buf){0};
}

enum status buf_reserve(struct buf *b, size_t more)
{
    size_t first = b->max < BUF_FIRST ? b->max : BUF_FIRST, cap = b->cap == 0 ? first : b->cap;
    uint8_t *grown;

    if (more > b->max || b->len > b->max - more)
        return STATUS_LIMIT;
    if (b->cap - b->len >= more)
        return STATUS_OK;
    while (cap - b->len < more)
        cap = cap > b->max / 2 ? b->max : cap * 2;
    grown = mem_grow(b->data, b->len, cap);
    if (grown == NULL)
        return STATUS_MEMORY;
    b->data = grown;
    b->cap = cap;
    return STATUS_OK;
}

enum status buf_append(struct buf *b, const void *bytes, size_t n)
{
    enum status s = buf_reserve(b, n);

    if (s != STATUS_OK)
        return s;
    if (n > 0)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    return STATUS_OK;
}

enum status buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args, again;
    enum status s;
    int n;

    va_start(args, fmt);
    va_copy(again, args);
    n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    CHECK(n >= 0);
    s = buf_reserve(b, (size_t)n + 1);
    if (s == STATUS_OK) {
        vsnprintf((char *)b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
    return s;
}

void buf_consume(struct buf *b, size_t n)
{
    CHECK(n <= b->len);
    if (n == 0)
        return;
    memmove(b->data, b->data + n, b->len - n);
    b->len -= n;
}
