/* le.c -- byte by byte, whatever the machine.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/le.h"

uint8_t *le_put(uint8_t *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> (8 * i));
    return to + bytes;
}

uint64_t le_take(const uint8_t **from, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)(*from)[i] << (8 * i);
    *from += bytes;
    return value;
}
