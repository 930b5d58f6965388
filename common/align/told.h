/* told.h -- points that everybody is told: their first bytes, least first, so that a point's place
 * is its rank among them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_ALIGN_TOLD_H
#define COLONNADE_ALIGN_TOLD_H

#include "common/align/course.h"

#include <stdbool.h>

/* The prefixes of n points, in their order. */
void told_of(uint8_t *told, const uint8_t *points, uint32_t n);
/* Is each greater than the one before it? */
bool told_in_order(const uint8_t *told, uint32_t n);
/* Where among n that are in order a point is, or ALIGN_NOWHERE; as many comparisons either way. */
uint32_t told_place(const uint8_t *told, uint32_t n, const uint8_t *point);

#endif
