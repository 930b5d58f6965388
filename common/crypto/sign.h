/* sign.h -- Ed25519 signatures by the certificate's key, under labels that cannot occur in TLS.
 *
 * The signed bytes are label || 0x00 || message.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_SIGN_H
#define COLONNADE_CRYPTO_SIGN_H

#include "common/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { SIGN_PUBLIC_BYTES = 32, SIGN_BYTES = 64, SIGN_SPKI_DIGEST_BYTES = 32 };
enum { SIGN_MESSAGE_MAX = 4096 };   /* longer messages are a programmer's mistake (CHECK) */
enum { SIGN_KEY_FILE_MAX = 65536 }; /* bytes of identity.key, whoever reads it */

struct sign_key {
    void *pkey; /* EVP_PKEY */
    uint8_t public_key[SIGN_PUBLIC_BYTES];
};

/* A PEM private key file; STATUS_CONFIG when others may read it (threats F7), it is larger than
 * SIGN_KEY_FILE_MAX, or it is not Ed25519. */
enum status sign_key_load(struct sign_key *k, const char *path, struct error *err) MUST_USE;
enum status sign_key_generate(struct sign_key *k) MUST_USE; /* tests */
void sign_key_deinit(struct sign_key *k);                   /* safe on a zeroed struct */

enum status sign_make(uint8_t sig[SIGN_BYTES], const struct sign_key *k, const char *label,
                      const void *message, size_t n) MUST_USE;
/* STATUS_AUTH when the signature is not of this key, label and message; STATUS_CRYPTO when the
 * library cannot tell, however long its memory stays short. */
enum status sign_check(const uint8_t sig[SIGN_BYTES], const uint8_t public_key[SIGN_PUBLIC_BYTES],
                       const char *label, const void *message, size_t n) MUST_USE;

/* SHA-256 of the SubjectPublicKeyInfo (DER) of an Ed25519 key: what rosters list. */
void sign_spki_digest(uint8_t out[SIGN_SPKI_DIGEST_BYTES],
                      const uint8_t public_key[SIGN_PUBLIC_BYTES]);

#endif
