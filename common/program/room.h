/* room.h -- memory that a party and the program of its bottom both see, and neither can make
 * smaller.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_COMMON_PROGRAM_ROOM_H
#define COLONNADE_COMMON_PROGRAM_ROOM_H

#include "common/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct room {
    int fd;      /* -1: there is none, and `at` is NULL */
    uint8_t *at; /* zeros at first */
    size_t bytes;
};

/* r has none; after a failure it may have a descriptor, which room_free closes. */
enum status room_make(struct room *r, size_t bytes) MUST_USE;
void room_free(struct room *r);

#endif
