/* fp16_vec.h -- long vectors of elements of F_p, p of at most 16 bits.
 *
 * Branch-free on the values, which may be secret; only fp16_vec_uniform takes a time that depends
 * on them, and only on those that it rejects.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FP16_VEC_H
#define COLONNADE_FIELD_FP16_VEC_H

#include "common/field/fp16.h"

#include <stddef.h>

/* sum[i] = sum[i] + x[i] mod p.  No overlap. */
void fp16_vec_add(uint16_t *restrict sum, const uint16_t *restrict x, size_t n,
                  const struct fp16 *f);

/* True when all n values are below p.  What a peer sent goes through here before anything else. */
bool fp16_vec_valid(const uint16_t *x, size_t n, const struct fp16 *f);

/* Uniform elements out of uniform bytes.  Takes 16-bit little-endian words from `random`, keeps
 * their low f->bits bits, rejects what is not below p, and stops at n elements or when no whole
 * word is left.  Returns how many elements it made, *used how many bytes it took.  The caller
 * brings fresh bytes and calls again until n are made, at most two words an element on average;
 * it wipes `random`. */
size_t fp16_vec_uniform(uint16_t *out, size_t n, const uint8_t *random, size_t bytes, size_t *used,
                        const struct fp16 *f);

#endif
