/* cert_make.h -- keys, requests and certificates as they are made: by a host for itself, and by the
 * CA for a host.
 *
 * Ed25519 everywhere.  All that a request can bring into a certificate is its public key: names,
 * role, dates and usages are the CA's to say.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_CERT_MAKE_H
#define COLONNADE_CRYPTO_CERT_MAKE_H

#include "common/base/buf.h"
#include "common/crypto/cert.h"
#include "common/crypto/sign.h"

enum { CERT_CA_NAME_MAX = 64 }; /* X.520, ub-common-name */

/* Seconds since 1970, both ends included. */
struct cert_terms {
    int64_t from, until;
};

/* Who signs: a CA's certificate and its key. */
struct cert_signer {
    struct cert cert;
    struct sign_key key;
};
void cert_signer_deinit(struct cert_signer *ca); /* safe on a zeroed struct */

/* A new private key, and its PKCS #8 PEM behind what is in `pem`, which must be wiped
 * (secret_buf_deinit). */
enum status cert_make_key(struct sign_key *k, struct buf *pem) MUST_USE;
/* A request for `name` (cert_name.h), signed by its key; PEM. */
enum status cert_make_request(struct buf *pem, const struct sign_key *k, const char *name) MUST_USE;
/* The key that a PEM request asks for; *pem is the request alone, without what stood around it.
 * STATUS_CONFIG when it is none, not signed by its own key, or not Ed25519. */
enum status cert_request_read(uint8_t public_key[SIGN_PUBLIC_BYTES], struct buf *pem,
                              const void *text, size_t n, struct error *err) MUST_USE;
/* The key of a PEM "PUBLIC KEY"; STATUS_CONFIG when it is not Ed25519. */
enum status cert_public_read(uint8_t public_key[SIGN_PUBLIC_BYTES], const void *text, size_t n,
                             struct error *err) MUST_USE;

/* A CA that signs certificates and revocation lists and no other CA.  `name` is its common name,
 * UTF-8. */
enum status cert_make_ca(struct cert *out, const struct sign_key *k, const char *name,
                         const struct cert_terms *t) MUST_USE;
/* A certificate of this name (cert_name.h) and role for public_key, with a random serial number. */
enum status cert_issue(struct cert *out, const struct cert_signer *ca,
                       const uint8_t public_key[SIGN_PUBLIC_BYTES], const char *name,
                       enum cert_role role, const struct cert_terms *t) MUST_USE;

#endif
