/* fp16.h -- F_p for a prime p of at most 16 bits that is chosen at run time.
 *
 * An element is a uint16_t in canonical form, 0 <= x < p; every function takes and gives that.
 * add, sub and mul are branch-free on their operands.  What is done to long vectors is in
 * fp16_vec.h and fp16_mat.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FP16_H
#define COLONNADE_FIELD_FP16_H

#include <stdbool.h>
#include <stdint.h>

#define FP16_PRIME_MAX 65521 /* the largest prime below 2^16 */

struct fp16 {
    uint32_t p;
    uint32_t bits;    /* ceil(log2 p): what an element takes when packed */
    uint32_t half;    /* (p - 1) / 2: the largest absolute value of a balanced representative */
    uint32_t inverse; /* floor(2^32 / p), for Barrett's reduction */
};

/* The smallest prime above n; 0 when that is above FP16_PRIME_MAX. */
uint32_t fp16_prime_above(uint32_t n);
/* False, and f is untouched, when p is no prime, 2, or above FP16_PRIME_MAX. */
bool fp16_init(struct fp16 *f, uint32_t p);

uint16_t fp16_add(uint16_t a, uint16_t b, const struct fp16 *f);
uint16_t fp16_sub(uint16_t a, uint16_t b, const struct fp16 *f);
uint16_t fp16_mul(uint16_t a, uint16_t b, const struct fp16 *f);

#endif
