/* stream.h -- AES-256-CTR key streams, the engine of rng and prg.  Private to common/crypto.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_STREAM_H
#define COLONNADE_CRYPTO_STREAM_H

#include "common/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { STREAM_KEY_BYTES = 32, STREAM_IV_BYTES = 16 };

enum status stream_new(void **ctx, const uint8_t key[STREAM_KEY_BYTES]) MUST_USE;
void stream_free(void *ctx);
/* NULL leaves the key as it is.  The counter is the whole IV, big-endian. */
void stream_start(void *ctx, const uint8_t *key, const uint8_t iv[STREAM_IV_BYTES]);
void stream_fill(void *ctx, uint8_t *out, size_t n);

#endif
