/* fp31_vec.h -- long vectors of elements of F_p, p = 2^31 - 1.
 *
 * Branch-free on the values, which may be secret; only fp31_vec_uniform takes a time that depends
 * on them, and only on those that it rejects.  For 31 bits an element see bits_pack32() in
 * common/base/bits.h; what was unpacked goes through fp31_vec_valid().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FP31_VEC_H
#define COLONNADE_FIELD_FP31_VEC_H

#include "common/field/fp31.h"

#include <stdbool.h>
#include <stddef.h>

/* x[i] = x[i] + y[i], x[i] - y[i], x[i] + s y[i].  No overlap. */
void fp31_vec_add(uint32_t *restrict x, const uint32_t *restrict y, size_t n);
void fp31_vec_sub(uint32_t *restrict x, const uint32_t *restrict y, size_t n);
void fp31_vec_axpy(uint32_t *restrict x, uint32_t s, const uint32_t *restrict y, size_t n);

/* True when all n values are below p.  What a peer sent goes through here before anything else. */
bool fp31_vec_valid(const uint32_t *x, size_t n);

/* Uniform elements out of uniform bytes.  Takes 32-bit little-endian words from `random`, keeps
 * their low 31 bits, rejects p, and stops at n elements or when no whole word is left.  Returns how
 * many elements it made, *used how many bytes it took.  The caller brings fresh bytes and calls
 * again until n are made (one word in 2^31 is rejected); it wipes `random`. */
size_t fp31_vec_uniform(uint32_t *out, size_t n, const uint8_t *random, size_t bytes, size_t *used);

#endif
