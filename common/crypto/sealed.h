/* sealed.h -- files that only the holder of the state key can read or make: AES-256-GCM, written
 * atomically.
 *
 *   "VFLSEAL1" || length of the label (4 bytes LE) || label || nonce (12) || ciphertext || tag (16)
 *
 * The label is authenticated and readable: it says what the file is (program, name, plan digest).
 * Nonces are random; a key seals far fewer than 2^32 files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_SEALED_H
#define COLONNADE_CRYPTO_SEALED_H

#include "common/base/buf.h"
#include "common/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { SEALED_KEY_BYTES = 32, SEALED_LABEL_MAX = 512 };

/* A file of 64 hexadecimal digits (a final line end is fine), readable by its owner alone. */
enum status sealed_key_load(uint8_t key[SEALED_KEY_BYTES], const char *path,
                            struct error *err) MUST_USE;

/* A new one from the system's generator, and its file, of mode 0600. */
enum status sealed_key_make(uint8_t key[SEALED_KEY_BYTES], const char *path,
                            struct error *err) MUST_USE;

enum status sealed_write(const char *path, const uint8_t key[SEALED_KEY_BYTES], const char *label,
                         const void *bytes, size_t n, struct error *err) MUST_USE;

/* Replaces the content of out (up to out->max bytes; its owner wipes it) and copies the label.
 * STATUS_CONFIG when the file was not sealed with this key or is damaged; STATUS_IO, _MEMORY,
 * _CRYPTO. */
enum status sealed_read(const char *path, const uint8_t key[SEALED_KEY_BYTES],
                        char label[SEALED_LABEL_MAX], struct buf *out, struct error *err) MUST_USE;

#endif
