/* crl.c -- revocation lists.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/crl.h"

#include "common/crypto/pem.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

enum { VERSION_2 = 1 };

static bool add_entry(X509_CRL *crl, const struct crl_entry *e)
{
    X509_REVOKED *revoked = X509_REVOKED_new();
    ASN1_TIME *when = ASN1_TIME_set(NULL, (time_t)e->when);
    ASN1_INTEGER *serial = NULL;
    BIGNUM *number = NULL;
    bool ok = revoked != NULL && when != NULL && BN_hex2bn(&number, e->serial) > 0;

    serial = ok ? BN_to_ASN1_INTEGER(number, NULL) : NULL;
    ok = serial != NULL && X509_REVOKED_set_serialNumber(revoked, serial) == 1 &&
         X509_REVOKED_set_revocationDate(revoked, when) == 1 &&
         X509_CRL_add0_revoked(crl, revoked) == 1;
    if (!ok)
        X509_REVOKED_free(revoked);
    ASN1_INTEGER_free(serial);
    ASN1_TIME_free(when);
    BN_free(number);
    return ok;
}

static bool set_dates(X509_CRL *crl, const struct cert_terms *t)
{
    ASN1_TIME *from = ASN1_TIME_set(NULL, (time_t)t->from);
    ASN1_TIME *until = ASN1_TIME_set(NULL, (time_t)t->until);
    const bool ok = from != NULL && until != NULL && X509_CRL_set1_lastUpdate(crl, from) == 1 &&
                    X509_CRL_set1_nextUpdate(crl, until) == 1;

    ASN1_TIME_free(from);
    ASN1_TIME_free(until);
    return ok;
}

static bool add_extensions(X509_CRL *crl, const X509 *ca, uint64_t number)
{
    ASN1_INTEGER *count = ASN1_INTEGER_new();
    X509_EXTENSION *e;
    X509V3_CTX ctx;
    bool ok;

    X509V3_set_ctx(&ctx, (X509 *)ca, NULL, NULL, crl, 0);
    e = X509V3_EXT_conf_nid(NULL, &ctx, NID_authority_key_identifier, "keyid:always");
    ok = e != NULL && count != NULL && X509_CRL_add_ext(crl, e, -1) == 1 &&
         ASN1_INTEGER_set_uint64(count, number) == 1 &&
         X509_CRL_add1_ext_i2d(crl, NID_crl_number, count, 0, 0) == 1;
    X509_EXTENSION_free(e);
    ASN1_INTEGER_free(count);
    return ok;
}

static enum status print(struct buf *pem, X509_CRL *crl)
{
    BIO *bio = BIO_new(BIO_s_mem());

    return pem_take(pem, bio, bio != NULL && PEM_write_bio_X509_CRL(bio, crl) == 1);
}

enum status crl_make(struct buf *pem, const struct cert_signer *ca, uint64_t number,
                     const struct crl_entry *revoked, size_t n, const struct cert_terms *t)
{
    X509_CRL *crl = X509_CRL_new();
    enum status s = STATUS_CRYPTO;
    bool ok = crl != NULL && X509_CRL_set_version(crl, VERSION_2) == 1 &&
              X509_CRL_set_issuer_name(crl, X509_get_subject_name(ca->cert.x509)) == 1 &&
              set_dates(crl, t) && add_extensions(crl, ca->cert.x509, number);

    for (size_t i = 0; ok && i < n; i++)
        ok = add_entry(crl, &revoked[i]);
    if (ok && X509_CRL_sort(crl) == 1 && X509_CRL_sign(crl, ca->key.pkey, NULL) > 0)
        s = print(pem, crl);
    X509_CRL_free(crl);
    ERR_clear_error();
    return s;
}

enum status crl_read(struct crl_facts *f, struct buf *pem, const void *text, size_t n,
                     struct error *err)
{
    BIO *bio = n > 0 && n <= CERT_CRL_MAX ? BIO_new_mem_buf(text, (int)n) : NULL;
    X509_CRL *crl = bio != NULL ? PEM_read_bio_X509_CRL(bio, NULL, pem_no_password, NULL) : NULL;
    const ASN1_TIME *until = crl != NULL ? X509_CRL_get0_nextUpdate(crl) : NULL;
    enum status s = STATUS_OK;

    BIO_free(bio);
    if (until == NULL || !cert_seconds(&f->from, X509_CRL_get0_lastUpdate(crl)) ||
        !cert_seconds(&f->until, until)) {
        s = error_set(err, STATUS_CONFIG, "no revocation list");
    } else {
        STACK_OF(X509_REVOKED) *revoked = X509_CRL_get_REVOKED(crl);

        f->revoked = revoked != NULL ? (size_t)sk_X509_REVOKED_num(revoked) : 0;
        if (pem != NULL && (s = print(pem, crl)) != STATUS_OK)
            error_set(err, s, "%s", status_words(s));
    }
    X509_CRL_free(crl);
    ERR_clear_error();
    return s;
}
