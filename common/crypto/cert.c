/* cert.c -- reading and judging certificates.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/cert.h"

#include "common/base/file.h"
#include "common/crypto/pem.h"
#include "common/crypto/secret.h"

#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

enum { SECURITY_LEVEL = 2 };

/* --- reading --- */

/* A file that holds a private key beside its certificate is somebody's mistake, and no tool should
 * carry it on. */
static bool holds_private_key(const void *text, size_t n)
{
    static const char words[] = "PRIVATE KEY-----";

    return n > 0 && memmem(text, n, words, sizeof words - 1) != NULL;
}

enum status cert_parse(struct cert *c, const void *text, size_t n, struct error *err)
{
    BIO *bio;

    c->x509 = NULL;
    if (n > CERT_FILE_MAX)
        return error_set(err, STATUS_CONFIG, "larger than %d bytes", CERT_FILE_MAX);
    if (holds_private_key(text, n))
        return error_set(err, STATUS_CONFIG, "holds a private key: it does not leave its host");
    bio = n > 0 ? BIO_new_mem_buf(text, (int)n) : NULL;
    c->x509 = bio != NULL ? PEM_read_bio_X509(bio, NULL, pem_no_password, NULL) : NULL;
    BIO_free(bio);
    ERR_clear_error();
    return c->x509 != NULL ? STATUS_OK : error_set(err, STATUS_CONFIG, "no certificate");
}

enum status cert_load(struct cert *c, const char *path, struct error *err)
{
    struct buf text;
    enum status s;

    c->x509 = NULL;
    buf_init(&text, CERT_FILE_MAX);
    s = file_read(path, &text, err);
    if (s == STATUS_OK) {
        s = cert_parse(c, text.data, text.len, err);
        if (s != STATUS_OK)
            error_wrap(err, "%s", path);
    } else if (s != STATUS_MEMORY) {
        s = STATUS_CONFIG;
        if (err != NULL)
            err->status = s;
    }
    secret_buf_deinit(&text); /* somebody may have given a key */
    return s;
}

void cert_deinit(struct cert *c)
{
    X509_free(c->x509);
    c->x509 = NULL;
}

/* --- what it says --- */

enum status cert_name(char out[CERT_NAME_MAX + 1], const struct cert *c, struct error *err)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(c->x509, NID_subject_alt_name, NULL, NULL);
    enum status s = STATUS_OK;

    ERR_clear_error();
    if (names == NULL || sk_GENERAL_NAME_num(names) != 1) {
        s = error_set(err, STATUS_CONFIG, "not exactly one name in its subjectAltName");
    } else {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, 0);
        const ASN1_IA5STRING *dns = name->type == GEN_DNS ? name->d.dNSName : NULL;
        const char *text = dns != NULL ? (const char *)ASN1_STRING_get0_data(dns) : "";
        const size_t n = dns != NULL ? (size_t)ASN1_STRING_length(dns) : 0;

        if (dns == NULL) {
            s = error_set(err, STATUS_CONFIG, "the name in its subjectAltName is no DNS name");
        } else if (!cert_name_is(text, n)) {
            s = error_set(err, STATUS_CONFIG, "its name is none: " CERT_NAME_RULE);
        } else {
            memcpy(out, text, n);
            out[n] = 0;
        }
    }
    GENERAL_NAMES_free(names);
    return s;
}

bool cert_has_role(const struct cert *c, enum cert_role role)
{
    const uint32_t usage = X509_get_extended_key_usage(c->x509);

    /* OpenSSL takes an absent extension for "any"; here it is none. */
    return usage != UINT32_MAX && (usage & (role == CERT_SERVER ? XKU_SSL_SERVER : XKU_SSL_CLIENT));
}

enum status cert_key(uint8_t out[CERT_KEY_BYTES], const struct cert *c)
{
    unsigned char *der = NULL;
    const int n = i2d_X509_PUBKEY(X509_get_X509_PUBKEY((X509 *)c->x509), &der);
    const bool ok = n > 0 && EVP_Digest(der, (size_t)n, out, NULL, EVP_sha256(), NULL) == 1;

    OPENSSL_free(der);
    return ok ? STATUS_OK : STATUS_CRYPTO;
}

bool cert_seconds(int64_t *out, const void *asn1_time)
{
    ASN1_TIME *begin = ASN1_TIME_set(NULL, 0);
    int days, seconds;
    const bool ok = begin != NULL && ASN1_TIME_diff(&days, &seconds, begin, asn1_time) == 1;

    ASN1_TIME_free(begin);
    if (ok)
        *out = (int64_t)days * 86400 + seconds;
    return ok;
}

bool cert_dates(int64_t *from, int64_t *until, const struct cert *c)
{
    return cert_seconds(from, X509_get0_notBefore(c->x509)) &&
           cert_seconds(until, X509_get0_notAfter(c->x509));
}

bool cert_serial(char out[CERT_SERIAL_HEX_MAX + 1], const struct cert *c)
{
    const ASN1_INTEGER *serial = X509_get0_serialNumber(c->x509);
    const unsigned char *bytes = ASN1_STRING_get0_data(serial);
    const int n = ASN1_STRING_length(serial);

    if (n < 1 || 2 * n > CERT_SERIAL_HEX_MAX)
        return false;
    for (int i = 0; i < n; i++) {
        out[2 * i] = "0123456789ABCDEF"[bytes[i] >> 4];
        out[2 * i + 1] = "0123456789ABCDEF"[bytes[i] & 15];
    }
    out[2 * n] = 0;
    return true;
}

bool cert_is_ca(const struct cert *c)
{
    return X509_check_ca(c->x509) == 1;
}

long cert_path_len(const struct cert *c)
{
    return X509_get_pathlen(c->x509);
}

enum status cert_print(struct buf *out, const struct cert *c)
{
    BIO *bio = BIO_new(BIO_s_mem());

    return pem_take(out, bio, bio != NULL && PEM_write_bio_X509(bio, c->x509) == 1);
}

static enum status print_name(struct buf *out, const X509_NAME *name)
{
    BIO *bio = BIO_new(BIO_s_mem());

    return pem_take(out, bio,
                    bio != NULL && X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253) >= 0);
}

enum status cert_print_subject(struct buf *out, const struct cert *c)
{
    return print_name(out, X509_get_subject_name(c->x509));
}

enum status cert_print_issuer(struct buf *out, const struct cert *c)
{
    return print_name(out, X509_get_issuer_name(c->x509));
}

/* --- the CA --- */

static enum status add_crl(X509_STORE *store, const char *path, struct error *err)
{
    X509_CRL *crl = NULL;
    struct buf text;
    enum status s;
    BIO *bio;

    buf_init(&text, CERT_CRL_MAX); /* it grows with what was revoked */
    s = file_read(path, &text, err);
    if (s == STATUS_OK && text.len > 0) {
        bio = BIO_new_mem_buf(text.data, (int)text.len);
        crl = bio != NULL ? PEM_read_bio_X509_CRL(bio, NULL, pem_no_password, NULL) : NULL;
        BIO_free(bio);
    }
    if (s == STATUS_OK && crl == NULL)
        s = error_set(err, STATUS_CONFIG, "%s: no revocation list", path);
    else if (s == STATUS_OK && X509_STORE_add_crl(store, crl) != 1)
        s = error_set(err, STATUS_CRYPTO, "%s: %s", path, status_words(STATUS_CRYPTO));
    X509_CRL_free(crl);
    buf_deinit(&text);
    if (s != STATUS_IO && s != STATUS_LIMIT)
        return s;
    if (err != NULL) /* a file that is not there is this side's mistake */
        err->status = STATUS_CONFIG;
    return STATUS_CONFIG;
}

enum status cert_authority_load(struct cert_authority *a, const char *ca, const char *crl,
                                struct error *err)
{
    enum status s;

    *a = (struct cert_authority){0};
    s = cert_load(&a->self, ca, err);
    if (s == STATUS_OK && !cert_is_ca(&a->self))
        s = error_set(err, STATUS_CONFIG, "%s: not the certificate of a CA", ca);
    if (s == STATUS_OK) {
        a->store = X509_STORE_new();
        if (a->store == NULL || X509_STORE_add_cert(a->store, a->self.x509) != 1 ||
            X509_STORE_set_flags(a->store, X509_V_FLAG_X509_STRICT) != 1)
            s = error_set(err, STATUS_CRYPTO, "%s: %s", ca, status_words(STATUS_CRYPTO));
    }
    if (s == STATUS_OK && crl != NULL)
        s = add_crl(a->store, crl, err);
    a->has_crl = crl != NULL;
    ERR_clear_error();
    if (s != STATUS_OK)
        cert_authority_deinit(a);
    return s;
}

void cert_authority_deinit(struct cert_authority *a)
{
    X509_STORE_free(a->store);
    a->store = NULL;
    cert_deinit(&a->self);
}

/* X509_V_OK or OpenSSL's first complaint. */
static int verify_once(const struct cert_authority *a, const struct cert *c, const char *purpose,
                       unsigned long flags)
{
    X509_STORE_CTX *x = X509_STORE_CTX_new();
    int error = X509_V_ERR_OUT_OF_MEM;

    if (x != NULL && X509_STORE_CTX_init(x, a->store, c->x509, NULL) == 1) {
        if (purpose != NULL)
            X509_STORE_CTX_set_default(x, purpose);
        X509_VERIFY_PARAM_set_auth_level(X509_STORE_CTX_get0_param(x), SECURITY_LEVEL);
        X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(x), flags);
        error = X509_verify_cert(x) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(x);
        if (error == X509_V_OK && X509_STORE_CTX_get_error(x) != X509_V_OK)
            error = X509_STORE_CTX_get_error(x);
    }
    X509_STORE_CTX_free(x);
    ERR_clear_error();
    return error;
}

/* In the order in which a person would want to hear of it: of another CA before dates, of those
 * before revocation.  OpenSSL looks serial numbers up before it verifies signatures, so whoever
 * copies a revoked one would be told of that; hence it is asked of revocation last and apart. */
static int verify(const struct cert_authority *a, const struct cert *c, const char *purpose,
                  unsigned long flags)
{
    const int error = verify_once(a, c, purpose, flags);

    return error == X509_V_OK && a->has_crl
               ? verify_once(a, c, purpose, flags | X509_V_FLAG_CRL_CHECK)
               : error;
}

static const char *words_of(int error)
{
    switch (error) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE: return "not signed by this CA";
    case X509_V_ERR_CERT_NOT_YET_VALID: return "not yet valid";
    case X509_V_ERR_CERT_HAS_EXPIRED: return "expired";
    case X509_V_ERR_CERT_REVOKED: return "revoked";
    case X509_V_ERR_CRL_HAS_EXPIRED:
        return "cannot be judged: the CA's revocation list has expired (vfl pki crl)";
    case X509_V_ERR_CRL_NOT_YET_VALID:
        return "cannot be judged: the CA's revocation list is not yet valid";
    case X509_V_ERR_CRL_SIGNATURE_FAILURE:
    case X509_V_ERR_UNABLE_TO_GET_CRL:
    case X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER:
        return "cannot be judged: the revocation list is not this CA's";
    case X509_V_ERR_OUT_OF_MEM: return "cannot be judged: out of memory";
    default: return X509_verify_cert_error_string(error);
    }
}

enum status cert_check(const struct cert_authority *a, const struct cert *c, enum cert_role role,
                       struct error *err)
{
    const bool server = role == CERT_SERVER;
    int error = verify(a, c, NULL, 0);

    if (error != X509_V_OK)
        return error_set(err, STATUS_CONFIG, "%s", words_of(error));
    if (cert_is_ca(c))
        return error_set(err, STATUS_CONFIG, "is the certificate of a CA");
    if (EVP_PKEY_get_base_id(X509_get0_pubkey(c->x509)) != EVP_PKEY_ED25519)
        return error_set(err, STATUS_CONFIG, "its key is not Ed25519");
    /* Without a keyUsage all is allowed. */
    if (!cert_has_role(c, role) ||
        (X509_get_key_usage(c->x509) & X509v3_KU_DIGITAL_SIGNATURE) == 0 ||
        verify(a, c, server ? "ssl_server" : "ssl_client", 0) != X509_V_OK)
        return error_set(err, STATUS_CONFIG, "not a certificate for a %s",
                         server ? "server" : "party");
    return STATUS_OK;
}

bool cert_signed_by(const struct cert_authority *a, const struct cert *c)
{
    return verify_once(a, c, NULL, X509_V_FLAG_NO_CHECK_TIME) == X509_V_OK;
}

bool cert_revoked(const struct cert_authority *a, const struct cert *c)
{
    return verify(a, c, NULL, X509_V_FLAG_NO_CHECK_TIME) == X509_V_ERR_CERT_REVOKED;
}
