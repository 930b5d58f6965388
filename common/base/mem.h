/* mem.h -- the only door to the heap, so that allocations can be counted and made to fail.
 *
 * `make check-source` refuses malloc and friends anywhere else.  Every function returns NULL when
 * memory is short (or when a test asked for it); sizes are multiplied with overflow checks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_MEM_H
#define COLONNADE_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MEM_ALIGNMENT = 64 };

/* n * size zeroed bytes, aligned to MEM_ALIGNMENT; NULL when n * size overflows.  Free with
 * mem_free. */
void *mem_alloc(size_t n, size_t size);
/* Like realloc for blocks of mem_alloc, or NULL and 0; the grown part is zeroed.  On NULL the old
 * block stays valid. */
void *mem_grow(void *block, size_t old_size, size_t new_size);
/* An array of *max elements of `size` bytes with room for `need` of them, grown like the above: it
 * itself while it has that, else one of at least twice as many, so that adding n one by one copies
 * each a few times at most.  On NULL the old array and *max stay valid. */
void *mem_room(void *array, size_t *max, size_t need, size_t size);
char *mem_strdup(const char *text);
void mem_free(void *block);
/* What this machine has in all; SIZE_MAX: it does not say. */
size_t mem_machine_bytes(void);

/* For memory from elsewhere (the arena of secrets): counts one allocation.  False: it has to fail.
 */
bool mem_admit(void);

/* Allocations since the process started (all threads). */
uint64_t mem_count(void);
/* Tests: the n-th allocation from now on fails once (n counts from 1); 0 switches this off. */
void mem_fail_at(uint64_t n);
/* Allocations until the one that fails, it included; 0 once it has, or when none was asked for. */
uint64_t mem_fail_left(void);

#endif
