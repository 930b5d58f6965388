/* tls_cert.c -- what a certificate must be: chain, purpose, key type, revocation (threats D4, D5).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/tls_cert.h"

#include "common/net/tls_context.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* An absent extendedKeyUsage means "any" to OpenSSL; here it means none.  The chain's own
 * purpose check then decides between clientAuth and serverAuth; it would have a server's key not
 * sign, with which no TLS 1.3 is spoken (RFC 8446, 4.4.2.2).  An absent keyUsage allows all. */
static int leaf_error(X509 *leaf)
{
    if (X509_get_extended_key_usage(leaf) == UINT32_MAX ||
        (X509_get_key_usage(leaf) & X509v3_KU_DIGITAL_SIGNATURE) == 0)
        return X509_V_ERR_INVALID_PURPOSE;
    if (EVP_PKEY_get_base_id(X509_get0_pubkey(leaf)) != EVP_PKEY_ED25519)
        return X509_V_ERR_EE_KEY_TOO_SMALL;
    return X509_V_OK;
}

static bool is_own_crl_fault(int error)
{
    return error == X509_V_ERR_CRL_HAS_EXPIRED || error == X509_V_ERR_CRL_NOT_YET_VALID ||
           error == X509_V_ERR_UNABLE_TO_GET_CRL || error == X509_V_ERR_CRL_SIGNATURE_FAILURE ||
           error == X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER;
}

int tls_cert_on_verify(int ok, X509_STORE_CTX *x)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(x, SSL_get_ex_data_X509_STORE_CTX_idx());
    int error = X509_STORE_CTX_get_error(x);

    if (ok && X509_STORE_CTX_get_error_depth(x) == 0) {
        error = leaf_error(X509_STORE_CTX_get_current_cert(x));
        if (error != X509_V_OK) {
            X509_STORE_CTX_set_error(x, error);
            return 0;
        }
    }
    if (!ok && ssl != NULL && is_own_crl_fault(error)) {
        /* The peer is told "internal error", not that its certificate were bad. */
        struct tls *s = SSL_get_app_data(ssl);
        s->own_fault = error;
        X509_STORE_CTX_set_error(x, X509_V_ERR_UNSPECIFIED);
    }
    return ok;
}

static const char *verify_words(int error)
{
    switch (error) {
    case X509_V_ERR_EE_KEY_TOO_SMALL: return "its key is not Ed25519";
    case X509_V_ERR_INVALID_PURPOSE:
        return "its extendedKeyUsage or keyUsage does not allow this role";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: return "it was not issued by this side's CA";
    case X509_V_ERR_HOSTNAME_MISMATCH: return "it does not carry the expected name";
    default: return X509_verify_cert_error_string(error);
    }
}

enum status tls_cert_explain(int error, struct error *err)
{
    if (is_own_crl_fault(error))
        return error_set(err, STATUS_IDENTITY, "identity.crl of this side: %s",
                         X509_verify_cert_error_string(error));
    return error_set(err, STATUS_AUTH, "certificate not accepted: %s", verify_words(error));
}

enum status tls_cert_check(SSL_CTX *ctx, X509 *leaf, STACK_OF(X509) * chain, bool leaf_is_server,
                           struct error *err)
{
    X509_STORE_CTX *x = X509_STORE_CTX_new();
    enum status s = STATUS_OK;

    if (x == NULL || !X509_STORE_CTX_init(x, SSL_CTX_get_cert_store(ctx), leaf, chain)) {
        X509_STORE_CTX_free(x);
        return error_set(err, STATUS_MEMORY, "certificate check: out of memory");
    }
    X509_STORE_CTX_set_default(x, leaf_is_server ? "ssl_server" : "ssl_client");
    X509_VERIFY_PARAM_set_auth_level(X509_STORE_CTX_get0_param(x), TLS_SECURITY_LEVEL);
    X509_STORE_CTX_set_verify_cb(x, tls_cert_on_verify);
    if (X509_verify_cert(x) != 1)
        s = tls_cert_explain(X509_STORE_CTX_get_error(x), err);
    X509_STORE_CTX_free(x);
    ERR_clear_error();
    return s;
}

bool tls_cert_spki(X509 *cert, uint8_t spki[NET_SPKI_BYTES])
{
    unsigned char *der = NULL;
    int n = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(cert), &der);
    bool ok = n > 0 && EVP_Digest(der, (size_t)n, spki, NULL, EVP_sha256(), NULL) == 1;

    OPENSSL_free(der);
    return ok;
}
