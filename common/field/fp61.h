/* fp61.h -- F_p for p = 2^61 - 1.
 *
 * An element is a uint64_t in canonical form, 0 <= x < p; every function takes and gives that.  All
 * are branch-free on their operands.  Read as a signed number, an element x <= (p-1)/2 is x and any
 * other is x - p.  Long vectors are in fp61_vec.h, matrices in fp61_mat.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FP61_H
#define COLONNADE_FIELD_FP61_H

#include <stdint.h>

#define FP61_P UINT64_C(0x1fffffffffffffff)
#define FP61_HALF UINT64_C(0x0fffffffffffffff) /* (p - 1) / 2: the largest signed value */

enum { FP61_BITS = 61 };

uint64_t fp61_add(uint64_t a, uint64_t b);
uint64_t fp61_sub(uint64_t a, uint64_t b);
uint64_t fp61_mul(uint64_t a, uint64_t b);

/* x mod p, for any x.  fp61_signed(fp61_from_signed(x)) == x while |x| <= FP61_HALF. */
uint64_t fp61_from_signed(int64_t x);
int64_t fp61_signed(uint64_t a);

#endif
