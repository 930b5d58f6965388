/* cert_make.c -- keys, requests, certificates.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/cert_make.h"

#include "common/base/check.h"
#include "common/crypto/pem.h"

#include <string.h>

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

enum { VERSION_3 = 2, REQUEST_VERSION = 0, SERIAL_BITS = 159 };

enum status cert_make_key(struct sign_key *k, struct buf *pem)
{
    BIO *bio;
    enum status s = sign_key_generate(k);

    if (s != STATUS_OK)
        return s;
    bio = BIO_new(BIO_s_secmem());
    s = pem_take(pem, bio,
                 bio != NULL &&
                     PEM_write_bio_PKCS8PrivateKey(bio, k->pkey, NULL, NULL, 0, NULL, NULL) == 1);
    if (s != STATUS_OK)
        sign_key_deinit(k);
    return s;
}

/* --- requests --- */

static bool set_name(X509_NAME *name, const char *text)
{
    return name != NULL && X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8,
                                                      (const unsigned char *)text, -1, -1, 0) == 1;
}

enum status cert_make_request(struct buf *pem, const struct sign_key *k, const char *name)
{
    X509_REQ *req = X509_REQ_new();
    BIO *bio = BIO_new(BIO_s_mem());
    bool ok;

    CHECK(cert_name_is(name, strlen(name)));
    ok = req != NULL && bio != NULL && X509_REQ_set_version(req, REQUEST_VERSION) == 1 &&
         set_name(X509_REQ_get_subject_name(req), name) && X509_REQ_set_pubkey(req, k->pkey) == 1 &&
         X509_REQ_sign(req, k->pkey, NULL) > 0 && PEM_write_bio_X509_REQ(bio, req) == 1;
    X509_REQ_free(req);
    return pem_take(pem, bio, ok);
}

static bool raw_key(uint8_t out[SIGN_PUBLIC_BYTES], const EVP_PKEY *key)
{
    size_t n = SIGN_PUBLIC_BYTES;

    return EVP_PKEY_is_a(key, "ED25519") && EVP_PKEY_get_raw_public_key(key, out, &n) == 1 &&
           n == SIGN_PUBLIC_BYTES;
}

enum status cert_request_read(uint8_t public_key[SIGN_PUBLIC_BYTES], struct buf *pem,
                              const void *text, size_t n, struct error *err)
{
    BIO *bio = n > 0 && n <= CERT_FILE_MAX ? BIO_new_mem_buf(text, (int)n) : NULL;
    X509_REQ *req = bio != NULL ? PEM_read_bio_X509_REQ(bio, NULL, pem_no_password, NULL) : NULL;
    EVP_PKEY *key = req != NULL ? X509_REQ_get0_pubkey(req) : NULL;
    enum status s;

    BIO_free(bio);
    if (key == NULL || X509_REQ_verify(req, key) != 1) {
        s = error_set(err, STATUS_CONFIG, "no request signed by its own key");
    } else if (!raw_key(public_key, key)) {
        s = error_set(err, STATUS_CONFIG, "the key is not Ed25519");
    } else {
        bio = BIO_new(BIO_s_mem());
        s = pem_take(pem, bio, bio != NULL && PEM_write_bio_X509_REQ(bio, req) == 1);
        if (s != STATUS_OK)
            error_set(err, s, "%s", status_words(s));
    }
    X509_REQ_free(req);
    ERR_clear_error();
    return s;
}

enum status cert_public_read(uint8_t public_key[SIGN_PUBLIC_BYTES], const void *text, size_t n,
                             struct error *err)
{
    BIO *bio = n > 0 && n <= CERT_FILE_MAX ? BIO_new_mem_buf(text, (int)n) : NULL;
    EVP_PKEY *key = bio != NULL ? PEM_read_bio_PUBKEY(bio, NULL, pem_no_password, NULL) : NULL;
    const bool ok = key != NULL && raw_key(public_key, key);

    EVP_PKEY_free(key);
    BIO_free(bio);
    ERR_clear_error();
    return ok ? STATUS_OK : error_set(err, STATUS_CONFIG, "no Ed25519 public key");
}

/* --- certificates --- */

/* The words are this file's own. */
static bool add_extension(X509 *cert, const X509 *issuer, int nid, const char *words)
{
    X509_EXTENSION *e;
    X509V3_CTX ctx;
    bool ok;

    X509V3_set_ctx(&ctx, (X509 *)issuer, cert, NULL, NULL, 0);
    e = X509V3_EXT_conf_nid(NULL, &ctx, nid, words);
    ok = e != NULL && X509_add_ext(cert, e, -1) == 1;
    X509_EXTENSION_free(e);
    return ok;
}

/* Not through OpenSSL's language of extensions, in which a name could say more than a name. */
static bool add_dns_name(X509 *cert, const char *name)
{
    GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
    GENERAL_NAME *entry = GENERAL_NAME_new();
    ASN1_IA5STRING *text = ASN1_IA5STRING_new();
    bool ok = names != NULL && entry != NULL && text != NULL &&
              ASN1_STRING_set(text, name, (int)strlen(name)) == 1;

    if (ok) {
        GENERAL_NAME_set0_value(entry, GEN_DNS, text);
        text = NULL;
        ok = sk_GENERAL_NAME_push(names, entry) > 0;
        if (ok)
            entry = NULL;
        ok = ok && X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT) == 1;
    }
    ASN1_IA5STRING_free(text);
    GENERAL_NAME_free(entry);
    GENERAL_NAMES_free(names);
    return ok;
}

static bool set_serial(X509 *cert)
{
    BIGNUM *number = BN_new();
    const bool ok = number != NULL &&
                    BN_rand(number, SERIAL_BITS, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
                    BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;

    BN_free(number);
    return ok;
}

static X509 *begin(EVP_PKEY *key, const char *name, const struct cert_terms *t)
{
    X509 *cert = X509_new();

    if (cert != NULL && X509_set_version(cert, VERSION_3) == 1 && set_serial(cert) &&
        ASN1_TIME_set(X509_getm_notBefore(cert), (time_t)t->from) != NULL &&
        ASN1_TIME_set(X509_getm_notAfter(cert), (time_t)t->until) != NULL &&
        set_name(X509_get_subject_name(cert), name) && X509_set_pubkey(cert, key) == 1)
        return cert;
    X509_free(cert);
    return NULL;
}

static enum status finish(struct cert *out, X509 *cert, bool ok)
{
    ERR_clear_error();
    if (!ok) {
        X509_free(cert);
        cert = NULL;
    }
    out->x509 = cert;
    return ok ? STATUS_OK : STATUS_CRYPTO;
}

enum status cert_make_ca(struct cert *out, const struct sign_key *k, const char *name,
                         const struct cert_terms *t)
{
    X509 *cert = begin(k->pkey, name, t);

    return finish(
        out, cert,
        cert != NULL && X509_set_issuer_name(cert, X509_get_subject_name(cert)) == 1 &&
            add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
            add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
            add_extension(cert, cert, NID_subject_key_identifier, "hash") &&
            X509_sign(cert, k->pkey, NULL) > 0);
}

void cert_signer_deinit(struct cert_signer *ca)
{
    cert_deinit(&ca->cert);
    sign_key_deinit(&ca->key);
}

enum status cert_issue(struct cert *out, const struct cert_signer *ca,
                       const uint8_t public_key[SIGN_PUBLIC_BYTES], const char *name,
                       enum cert_role role, const struct cert_terms *t)
{
    EVP_PKEY *key =
        EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL, public_key, SIGN_PUBLIC_BYTES);
    X509 *cert, *issuer = ca->cert.x509;
    bool ok;

    CHECK(cert_name_is(name, strlen(name)));
    cert = key != NULL ? begin(key, name, t) : NULL;
    ok = cert != NULL && X509_set_issuer_name(cert, X509_get_subject_name(issuer)) == 1 &&
         add_extension(cert, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
         add_extension(cert, issuer, NID_key_usage, "critical,digitalSignature") &&
         add_extension(cert, issuer, NID_ext_key_usage,
                       role == CERT_SERVER ? "serverAuth" : "clientAuth") &&
         add_extension(cert, issuer, NID_subject_key_identifier, "hash") &&
         add_extension(cert, issuer, NID_authority_key_identifier, "keyid:always") &&
         add_dns_name(cert, name) && X509_sign(cert, ca->key.pkey, NULL) > 0;
    EVP_PKEY_free(key);
    return finish(out, cert, ok);
}
