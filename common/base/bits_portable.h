/* bits_portable.h -- packing and adding 16-bit lanes, for any CPU.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_BITS_PORTABLE_H
#define COLONNADE_BASE_BITS_PORTABLE_H

#include <stddef.h>
#include <stdint.h>

void bits_portable_pack16(uint8_t *out, const uint16_t *in, size_t n, uint32_t w);
void bits_portable_add16(uint16_t *sum, const uint8_t *in, size_t n, uint32_t w);

#endif
