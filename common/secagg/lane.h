/* lane.h -- what is done to runs of 16- and 32-bit lanes, in whole registers.  Sums wrap.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_LANE_H
#define COLONNADE_SECAGG_LANE_H

#include <stddef.h>
#include <stdint.h>

void lane_narrow(uint16_t *restrict out, const uint32_t *restrict in, size_t n);
void lane_widen(uint32_t *restrict out, const uint16_t *restrict in, size_t n);

void lane_add16(uint16_t *restrict sum, const uint16_t *restrict in, size_t n);
void lane_sub16(uint16_t *restrict sum, const uint16_t *restrict in, size_t n);
void lane_add32(uint32_t *restrict sum, const uint32_t *restrict in, size_t n);
void lane_sub32(uint32_t *restrict sum, const uint32_t *restrict in, size_t n);

int lane_within(const float *x, size_t n, float most); /* 1 when all are in [-most, most] */
int lane_finite(const float *x, size_t n);             /* 1 when all are finite */
uint32_t lane_max32(const uint32_t *in, size_t n);     /* 0 when n is 0 */

#endif
