/* fast_group.h -- a group whose points are numbers modulo the prime 2^61 - 1, the base being 1: it
 * has all laws of the real one but that logarithms are hard, at a hundredth of the time.
 *
 * A test that is linked with --wrap for these (Makefile) gets them instead of common/crypto's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_FAST_GROUP_H
#define COLONNADE_TESTS_SIM_FAST_GROUP_H

#include "common/crypto/group.h"

enum status __wrap_group_hash(uint8_t out[GROUP_BYTES], const char *label, const void *bytes,
                              size_t n);
void __wrap_group_scalar(uint8_t out[GROUP_BYTES], const uint8_t random[GROUP_RANDOM_BYTES]);
void __wrap_group_scalar_hash(uint8_t out[GROUP_BYTES], const char *label, const void *bytes,
                              size_t n);
void __wrap_group_scalar_add_product(uint8_t out[GROUP_BYTES], const uint8_t a[GROUP_BYTES],
                                     const uint8_t b[GROUP_BYTES], const uint8_t c[GROUP_BYTES]);
bool __wrap_group_is_point(const uint8_t p[GROUP_BYTES]);
bool __wrap_group_raise(uint8_t out[GROUP_BYTES], const uint8_t scalar[GROUP_BYTES],
                        const uint8_t p[GROUP_BYTES]);
bool __wrap_group_raise_base(uint8_t out[GROUP_BYTES], const uint8_t scalar[GROUP_BYTES]);
bool __wrap_group_sum(uint8_t out[GROUP_BYTES], const uint8_t *points, size_t n);
bool __wrap_group_subtract(uint8_t out[GROUP_BYTES], const uint8_t a[GROUP_BYTES],
                           const uint8_t b[GROUP_BYTES]);

#endif
