/* fp31.h -- F_p for p = 2^31 - 1.
 *
 * An element is a uint32_t in canonical form, 0 <= x < p; every function takes and gives that.  All
 * are branch-free on their operands.  Read as a signed number, an element x <= (p-1)/2 is x and any
 * other is x - p.  Long vectors are in fp31_vec.h, matrices in fp31_mat.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FP31_H
#define COLONNADE_FIELD_FP31_H

#include <stdint.h>

#define FP31_P UINT32_C(0x7fffffff)
#define FP31_HALF UINT32_C(0x3fffffff) /* (p - 1) / 2: the largest signed value */

enum { FP31_BITS = 31 };

uint32_t fp31_add(uint32_t a, uint32_t b);
uint32_t fp31_sub(uint32_t a, uint32_t b);
uint32_t fp31_mul(uint32_t a, uint32_t b);

/* x mod p, for any x.  fp31_signed(fp31_from_signed(x)) == x while |x| <= FP31_HALF. */
uint32_t fp31_from_signed(int64_t x);
int32_t fp31_signed(uint32_t a);

#endif
