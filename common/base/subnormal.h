/* subnormal.h -- numbers too small to be normal count as 0 on this thread (FTZ and DAZ of x86, FZ
 * of aarch64).
 *
 * A CPU takes many times longer over them, so how long a round takes would tell of a party's
 * records.  Set where work begins and put back where it ends: claims are computed with all numbers
 * there are.  Threads have modes of their own, so whoever computes on another thread says it there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_SUBNORMAL_H
#define COLONNADE_BASE_SUBNORMAL_H

#include <stdint.h>

/* Returns what the mode was, for subnormal_restore. */
uint64_t subnormal_flush(void);
void subnormal_restore(uint64_t mode);

#endif
