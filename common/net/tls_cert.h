/* tls_cert.h -- what a certificate must be.  Private to the tls files.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NET_TLS_CERT_H
#define COLONNADE_NET_TLS_CERT_H

#include "common/net/net.h"

#include <openssl/ssl.h>

/* A leaf against the CA and the CRL of ctx and the clock, for the role of a server or a client. */
enum status tls_cert_check(SSL_CTX *ctx, X509 *leaf, STACK_OF(X509) * chain, bool leaf_is_server,
                           struct error *err) MUST_USE;
/* The verify callback of both this and the handshake. */
int tls_cert_on_verify(int ok, X509_STORE_CTX *x);
/* STATUS_AUTH, or STATUS_IDENTITY when the fault is of this side's CRL. */
enum status tls_cert_explain(int error, struct error *err);
/* SHA-256 of the SubjectPublicKeyInfo; false when memory is short. */
bool tls_cert_spki(X509 *cert, uint8_t spki[NET_SPKI_BYTES]);

#endif
