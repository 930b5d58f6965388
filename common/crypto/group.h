/* group.h -- a group in which discrete logarithms are hard: ristretto255 (RFC 9496), of prime
 * order.
 *
 * A point is its canonical encoding, and never the identity: what is neither canonical nor another
 * point is refused wherever it comes in, so that nothing here has a small order.  A scalar is a
 * number below the order, 32 bytes little-endian.
 *
 *   hash    hash_to_ristretto255 of RFC 9380, appendix B, with expand_message_xmd and SHA-512, as
 *           RFC 9497 has it, under a label of the use
 *   raise   k P, in constant time for whoever holds k
 *
 * Over libsodium, which nothing else includes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_GROUP_H
#define COLONNADE_CRYPTO_GROUP_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GROUP_BYTES = 32, GROUP_LABEL_MAX = 64, GROUP_RANDOM_BYTES = 64 };

/* Before anything else here, and before there are threads that use it; again: changes nothing. */
enum status group_open(void) MUST_USE;

/* Of n bytes, which may be secret; nothing of them is kept.  STATUS_CRYPTO: the identity, which
 * nobody will ever see. */
enum status group_hash(uint8_t out[GROUP_BYTES], const char *label, const void *bytes,
                       size_t n) MUST_USE;
/* `random` modulo the order: uniform but for 2^-259. */
void group_scalar(uint8_t out[GROUP_BYTES], const uint8_t random[GROUP_RANDOM_BYTES]);
/* SHA-512 of what expand_message_xmd makes of n bytes, as a scalar: a challenge. */
void group_scalar_hash(uint8_t out[GROUP_BYTES], const char *label, const void *bytes, size_t n);
/* a + b c */
void group_scalar_add_product(uint8_t out[GROUP_BYTES], const uint8_t a[GROUP_BYTES],
                              const uint8_t b[GROUP_BYTES], const uint8_t c[GROUP_BYTES]);

bool group_is_point(const uint8_t p[GROUP_BYTES]);
/* All false where an argument is no point, or the result would be the identity; out says nothing
 * then, and may be an argument. */
bool group_raise(uint8_t out[GROUP_BYTES], const uint8_t scalar[GROUP_BYTES],
                 const uint8_t p[GROUP_BYTES]) MUST_USE;
bool group_raise_base(uint8_t out[GROUP_BYTES], const uint8_t scalar[GROUP_BYTES]) MUST_USE;
/* Of n points, [n, GROUP_BYTES], of which each may be the identity, and so may out: of sums on
 * their way.  False: one is no encoding.  A third of the time of n - 1 sums of two. */
bool group_sum(uint8_t out[GROUP_BYTES], const uint8_t *points, size_t n) MUST_USE;
bool group_subtract(uint8_t out[GROUP_BYTES], const uint8_t a[GROUP_BYTES],
                    const uint8_t b[GROUP_BYTES]) MUST_USE;

#endif
