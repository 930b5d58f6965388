/* levels.h -- the different texts of one column, each with a number and how often it came.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_LEVELS_H
#define COLONNADE_DATA_LEVELS_H

#include "common/base/buf.h"
#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LEVELS_MAX = 65536, /* in one column */
    LEVELS_TEXT_MAX = 240
};
#define LEVELS_NONE UINT32_MAX

struct level {
    uint32_t at;    /* of its text */
    uint32_t count; /* how often it was added; stays at the largest number */
};

struct levels {
    struct level *level; /* n of them, in the order of their coming */
    uint32_t n;
    size_t room;
    struct buf text;  /* each ended by 0 */
    uint32_t *bucket; /* a level's number + 1, or 0; a power of two of them */
    uint32_t buckets;
};

/* Counts the text and tells its number, a new one when it is new.  STATUS_LIMIT: it would be one
 * too many; STATUS_DATA: over LEVELS_TEXT_MAX bytes, or not printable UTF-8. */
enum status levels_add(struct levels *l, const char *text, size_t n, uint32_t *number) MUST_USE;
/* LEVELS_NONE when there is none of that text. */
uint32_t levels_find(const struct levels *l, const char *text, size_t n);
const char *levels_text(const struct levels *l, uint32_t number);
void levels_deinit(struct levels *l); /* safe on a zeroed struct */

#endif
