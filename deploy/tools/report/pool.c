/* pool.c -- blocks in a list, the newest first.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/report/pool.h"

#include "common/base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pool_block {
    struct pool_block *older;
    void *bytes;
};

static void *taken(void *bytes)
{
    if (bytes == NULL) {
        fprintf(stderr, "vfl report: %s\n", status_words(STATUS_MEMORY));
        exit(status_exit_code(STATUS_MEMORY));
    }
    return bytes;
}

void pool_deinit(struct pool *p)
{
    while (p->newest != NULL) {
        struct pool_block *b = p->newest;

        p->newest = b->older;
        mem_free(b->bytes);
        mem_free(b);
    }
}

void *pool_alloc(struct pool *p, size_t n, size_t size)
{
    struct pool_block *b = taken(mem_alloc(1, sizeof *b));

    b->older = p->newest;
    p->newest = b;
    b->bytes = taken(mem_alloc(n == 0 ? 1 : n, size));
    return b->bytes;
}

void *pool_more(struct pool *p, void *items, size_t n, size_t size)
{
    void *larger;

    if ((n & (n - 1)) != 0) /* it grows at powers of two, and has room in between */
        return items;
    larger = pool_alloc(p, n == 0 ? 1 : 2 * n, size);
    if (n > 0)
        memcpy(larger, items, n * size);
    return larger;
}

const char *pool_text(struct pool *p, const char *fmt, ...)
{
    va_list list;
    char *text;
    int n;

    va_start(list, fmt);
    n = vsnprintf(NULL, 0, fmt, list);
    va_end(list);
    text = pool_alloc(p, n < 0 ? 1 : (size_t)n + 1, 1);
    va_start(list, fmt);
    vsnprintf(text, n < 0 ? 1 : (size_t)n + 1, fmt, list);
    va_end(list);
    return text;
}
