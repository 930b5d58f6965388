/* le.h -- whole numbers as little-endian bytes, in files and in what is hashed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_LE_H
#define COLONNADE_BASE_LE_H

#include <stddef.h>
#include <stdint.h>

/* The low `bytes` (at most 8) bytes of value, the lowest first; returns where the next number goes.
 */
uint8_t *le_put(uint8_t *to, uint64_t value, size_t bytes);
/* The number in `bytes` (at most 8) bytes; *from moves behind them. */
uint64_t le_take(const uint8_t **from, size_t bytes);

#endif
