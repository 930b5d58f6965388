/* arena.h -- one block, sized at session start, from which models, batches and shares are cut.
 *
 * Nothing is freed on its own.  A round allocates nothing because everything it touches was cut
 * before the first one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_ARENA_H
#define COLONNADE_BASE_ARENA_H

#include "common/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct arena {
    uint8_t *base;
    size_t size, used;
};

enum status arena_init(struct arena *a, size_t size) MUST_USE;
void arena_deinit(struct arena *a); /* safe on a zeroed struct */

/* n * size bytes, aligned to MEM_ALIGNMENT; zeroed; NULL when they do not
 * fit. */
void *arena_alloc(struct arena *a, size_t n, size_t size);
/* A copy of n bytes of text, 0-terminated; NULL when it does not fit. */
const char *arena_text(struct arena *a, const char *text, size_t n);

#endif
