/* aead.h -- AES-256-GCM with detached tags, one context for each key and direction.
 *
 * A nonce serves once under its key; who keeps that law is the caller.  One key never lives in two
 * contexts of one direction, so that one caller has it in view.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_AEAD_H
#define COLONNADE_CRYPTO_AEAD_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AEAD_KEY_BYTES = 32, AEAD_NONCE_BYTES = 12, AEAD_TAG_BYTES = 16 };

struct aead {
    void *ctx; /* EVP_CIPHER_CTX */
    bool seals;
};

/* What is authenticated beside the text, and the nonce. */
struct aead_name {
    uint8_t nonce[AEAD_NONCE_BYTES];
    const uint8_t *aad;
    size_t aad_n;
};

/* A context that only seals, or only opens. */
enum status aead_init(struct aead *a, bool seals, const uint8_t key[AEAD_KEY_BYTES]) MUST_USE;
void aead_rekey(struct aead *a, const uint8_t key[AEAD_KEY_BYTES]); /* the old schedule is gone */
void aead_deinit(struct aead *a); /* safe on a zeroed struct; wipes the schedule */

/* In place: bytes[n] becomes the ciphertext, and its tag is written. */
void aead_seal(struct aead *a, uint8_t *bytes, size_t n, uint8_t tag[AEAD_TAG_BYTES],
               const struct aead_name *name);
/* out[n] from in[n]; they are the same or do not overlap.  False when the tag does not fit: out is
 * then wiped. */
bool aead_open(struct aead *a, uint8_t *out, const uint8_t *in, size_t n,
               const uint8_t tag[AEAD_TAG_BYTES], const struct aead_name *name) MUST_USE;

#endif
