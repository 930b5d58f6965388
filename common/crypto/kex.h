/* kex.h -- X25519 key agreement and HKDF-SHA-256.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_KEX_H
#define COLONNADE_CRYPTO_KEX_H

#include "common/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { KEX_BYTES = 32 };

/* A fresh pair from the system's generator, always. */
enum status kex_generate(uint8_t secret[KEX_BYTES], uint8_t public_key[KEX_BYTES]) MUST_USE;
/* STATUS_AUTH when the result would be all zero (a low-order public key). */
enum status kex_derive(uint8_t shared[KEX_BYTES], const uint8_t secret[KEX_BYTES],
                       const uint8_t peer[KEX_BYTES]) MUST_USE;

/* HKDF-SHA-256 (RFC 5869): extract with salt, expand with info to out_len <= 255 * 32 bytes. */
enum status kex_hkdf(uint8_t *out, size_t out_len, const uint8_t *key, size_t key_len,
                     const uint8_t *salt, size_t salt_len, const void *info,
                     size_t info_len) MUST_USE;

/* key <- HKDF-Expand(key, label, 32), in place: a step of a ratchet.  The old key is gone, but
 * where the step fails nothing has changed. */
enum status kex_ratchet(uint8_t key[KEX_BYTES], const char *label) MUST_USE;

#endif
