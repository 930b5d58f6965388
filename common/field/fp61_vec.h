/* fp61_vec.h -- long vectors of elements of F_p, p = 2^61 - 1.
 *
 * Branch-free on the values, which may be secret; only fp61_vec_uniform takes a time that depends
 * on them, and only on those that it rejects.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FP61_VEC_H
#define COLONNADE_FIELD_FP61_VEC_H

#include "common/field/fp61.h"

#include <stdbool.h>
#include <stddef.h>

/* x[i] = x[i] + y[i], x[i] - y[i], x[i] + s y[i].  No overlap. */
void fp61_vec_add(uint64_t *restrict x, const uint64_t *restrict y, size_t n);
void fp61_vec_sub(uint64_t *restrict x, const uint64_t *restrict y, size_t n);
void fp61_vec_axpy(uint64_t *restrict x, uint64_t s, const uint64_t *restrict y, size_t n);

/* True when all n values are below p.  What a peer sent goes through here before anything else. */
bool fp61_vec_valid(const uint64_t *x, size_t n);

/* Uniform elements out of uniform bytes.  Takes 64-bit little-endian words from `random`, keeps
 * their low 61 bits, rejects p, and stops at n elements or when no whole word is left.  Returns how
 * many elements it made, *used how many bytes it took.  The caller brings fresh bytes and calls
 * again until n are made (one word in 2^61 is rejected); it wipes `random`. */
size_t fp61_vec_uniform(uint64_t *out, size_t n, const uint8_t *random, size_t bytes, size_t *used);

/* n elements without gaps: element i occupies bits 61 i .. 61 i + 60 of the run, bit k of which is
 * bit k mod 8, from the least significant, of byte k / 8 (the order of common/base/bits.h).  A run
 * has fp61_vec_bytes(n) bytes; spare bits of the last are 0, and are not looked at.  What was
 * unpacked has 61 bits and may be p: it goes through fp61_vec_valid(). */
size_t fp61_vec_bytes(size_t n);
void fp61_vec_pack(uint8_t *restrict out, const uint64_t *restrict x, size_t n);
void fp61_vec_unpack(uint64_t *restrict x, const uint8_t *restrict in, size_t n);

#endif
