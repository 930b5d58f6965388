/* mem.c -- counted, zeroed, aligned allocation.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM_MIN = 8 };

static atomic_uint_fast64_t allocations;
static atomic_uint_fast64_t fail_countdown;

static bool must_fail(void)
{
    uint_fast64_t left = atomic_load(&fail_countdown);

    while (left > 0) {
        if (atomic_compare_exchange_weak(&fail_countdown, &left, left - 1))
            return left == 1;
    }
    return false;
}

bool mem_admit(void)
{
    if (must_fail())
        return false;
    atomic_fetch_add(&allocations, 1);
    return true;
}

void *mem_alloc(size_t n, size_t size)
{
    size_t bytes;
    void *block = NULL;

    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX - MEM_ALIGNMENT)
        return NULL;
    if (!mem_admit())
        return NULL;
    if (posix_memalign(&block, MEM_ALIGNMENT, bytes == 0 ? 1 : bytes) != 0)
        return NULL;
    memset(block, 0, bytes);
    return block;
}

void *mem_grow(void *block, size_t old_size, size_t new_size)
{
    void *grown = mem_alloc(1, new_size);

    if (grown == NULL)
        return NULL;
    if (block != NULL)
        memcpy(grown, block, old_size < new_size ? old_size : new_size);
    mem_free(block);
    return grown;
}

void *mem_room(void *array, size_t *max, size_t need, size_t size)
{
    size_t more = *max < ROOM_MIN / 2 ? ROOM_MIN : 2 * *max, bytes;
    void *grown;

    if (need <= *max)
        return array;
    more = more < need ? need : more;
    if (__builtin_mul_overflow(more, size, &bytes))
        return NULL;
    grown = mem_grow(array, *max * size, bytes);
    *max = grown != NULL ? more : *max;
    return grown;
}

char *mem_strdup(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = mem_alloc(n, 1);

    if (copy != NULL)
        memcpy(copy, text, n);
    return copy;
}

void mem_free(void *block)
{
    free(block);
}

uint64_t mem_count(void)
{
    return atomic_load(&allocations);
}

void mem_fail_at(uint64_t n)
{
    atomic_store(&fail_countdown, n);
}

uint64_t mem_fail_left(void)
{
    return atomic_load(&fail_countdown);
}

size_t mem_machine_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t bytes;

    return pages <= 0 || page <= 0 || __builtin_mul_overflow(pages, page, &bytes) ? SIZE_MAX
                                                                                  : bytes;
}
