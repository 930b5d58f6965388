/* told.c -- prefixes of points in order.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/align/told.h"

#include <stdlib.h>
#include <string.h>

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, ALIGN_PREFIX_BYTES);
}

void told_of(uint8_t *told, const uint8_t *points, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        memcpy(told + (size_t)i * ALIGN_PREFIX_BYTES, points + (size_t)i * ALIGN_POINT_BYTES,
               ALIGN_PREFIX_BYTES);
    qsort(told, n, ALIGN_PREFIX_BYTES, by_bytes);
}

bool told_in_order(const uint8_t *told, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        const uint8_t *p = told + (size_t)i * ALIGN_PREFIX_BYTES;

        if (by_bytes(p - ALIGN_PREFIX_BYTES, p) >= 0)
            return false;
    }
    return true;
}

/* Halves what is left until one is, whichever it is: how long that takes says nothing. */
uint32_t told_place(const uint8_t *told, uint32_t n, const uint8_t *point)
{
    uint32_t first = 0;

    for (uint32_t left = n; left > 1; left -= left / 2)
        first += by_bytes(told + (size_t)(first + left / 2) * ALIGN_PREFIX_BYTES, point) <= 0
                     ? left / 2
                     : 0;
    return n > 0 && by_bytes(told + (size_t)first * ALIGN_PREFIX_BYTES, point) == 0 ? first
                                                                                    : ALIGN_NOWHERE;
}
