/* arena.c -- bump allocation out of one block.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/arena.h"

#include "common/base/mem.h"

#include <string.h>

enum status arena_init(struct arena *a, size_t size)
{
    a->used = 0;
    a->size = size;
    a->base = mem_alloc(1, size);
    return a->base == NULL ? STATUS_MEMORY : STATUS_OK;
}

void arena_deinit(struct arena *a)
{
    mem_free(a->base);
    a->base = NULL;
    a->size = a->used = 0;
}

void *arena_alloc(struct arena *a, size_t n, size_t size)
{
    size_t bytes, start = (a->used + MEM_ALIGNMENT - 1) & ~(size_t)(MEM_ALIGNMENT - 1);

    if (__builtin_mul_overflow(n, size, &bytes) || start > a->size || bytes > a->size - start)
        return NULL;
    a->used = start + bytes;
    return a->base + start;
}

const char *arena_text(struct arena *a, const char *text, size_t n)
{
    char *copy = arena_alloc(a, n + 1, 1);

    if (copy == NULL)
        return NULL;
    memcpy(copy, text, n);
    copy[n] = 0;
    return copy;
}
