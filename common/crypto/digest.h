/* digest.h -- SHA-256, which neither allocates nor fails, and HMAC-SHA-256, which may.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_DIGEST_H
#define COLONNADE_CRYPTO_DIGEST_H

#include "common/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_BYTES = 32, DIGEST_HEX_CHARS = 64 };

struct digest {
    uint64_t state[14]; /* the library's */
};

/* Any number of begin, update..., final; wiped at the end. */
void digest_begin(struct digest *d);
void digest_update(struct digest *d, const void *bytes, size_t n);
void digest_final(struct digest *d, uint8_t out[DIGEST_BYTES]);
void digest_deinit(struct digest *d);

void digest_sha256(uint8_t out[DIGEST_BYTES], const void *bytes, size_t n);
/* STATUS_CRYPTO when the library has no memory; out then says nothing. */
enum status digest_hmac(uint8_t out[DIGEST_BYTES], const uint8_t *key, size_t key_len,
                        const void *bytes, size_t n) MUST_USE;

/* HMAC-SHA-256 of many texts under one key, which is hashed once.  Not for two threads at once. */
struct digest_mac {
    void *ctx; /* the library's, with the key; wiped when freed */
};

enum status digest_mac_init(struct digest_mac *m, const uint8_t *key, size_t key_len) MUST_USE;
enum status digest_mac_of(struct digest_mac *m, uint8_t out[DIGEST_BYTES], const void *bytes,
                          size_t n) MUST_USE;
void digest_mac_deinit(struct digest_mac *m); /* safe on a zeroed struct */

/* Lower-case hexadecimal with a final 0; and back (false when it is not exactly n bytes of hex). */
void digest_hex(char *out, const uint8_t *bytes, size_t n);
int digest_from_hex(uint8_t *out, size_t n, const char *hex);

#endif
