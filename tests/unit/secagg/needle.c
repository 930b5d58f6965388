/* needle.c -- the search through a process's own memory.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/secagg/needle.h"

#include "common/base/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WINDOW = 1 << 20, MAPPING_MAX = 1 << 28 };

/* What is searched is copied here, and what is searched for stands here: the only place that is
 * not. */
static struct {
    uint8_t window[WINDOW + NEEDLE_BYTES], needle[NEEDLE_BYTES];
} own;

struct needle needle_of(const void *bytes)
{
    struct needle x;

    for (size_t i = 0; i < NEEDLE_BYTES; i++)
        x.inverted[i] = (uint8_t) ~((const uint8_t *)bytes)[i];
    return x;
}

/* In one mapping, read in windows that overlap. */
static size_t count_in(uintptr_t from, uintptr_t to)
{
    size_t found = 0;

    for (uintptr_t at = from; at < to; at += WINDOW) {
        const size_t all = to - at < sizeof own.window ? to - at : sizeof own.window;
        struct iovec here = {own.window, all}, there = {(void *)at, all};
        const ssize_t n = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
        const uint8_t *end = own.window + (n > 0 ? n : 0), *hit = own.window;

        for (; (hit = memmem(hit, (size_t)(end - hit), own.needle, NEEDLE_BYTES)) != NULL; hit++)
            found += hit < own.window + WINDOW;
    }
    return found;
}

size_t needle_count(const struct needle *x)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    uintptr_t from, to, mine = (uintptr_t)&own;
    char line[512], mode[5];
    size_t found = 0;

    CHECK(maps != NULL);
    for (size_t i = 0; i < NEEDLE_BYTES; i++)
        own.needle[i] = (uint8_t)~x->inverted[i];
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, mode) != 3)
            continue;
        if (mode[1] != 'w' || to - from > MAPPING_MAX) /* the shadows of sanitizers are larger */
            continue;
        if (mine < from || mine >= to) {
            found += count_in(from, to);
            continue;
        }
        found += count_in(from, mine);
        found += count_in(mine + sizeof own, to);
    }
    fclose(maps);
    return found;
}
