/* test_pki.c -- certificates made on the fly.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/lib/test_pki.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

enum { HOUR = 3600, DAY = 86400, RSA_BITS = 2048, X509_V1 = 0, X509_V3 = 2, CRL_V2 = 1 };

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "test_pki: %s failed\n", #condition);                                  \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

const char *test_pki_path(const struct test_pki *p, const char *name, const char *ending)
{
    static char turns[8][TEST_PKI_PATH_MAX];
    static unsigned turn;
    char *out = turns[turn++ % 8];

    MUST(snprintf(out, TEST_PKI_PATH_MAX, "%s/%s.%s", p->dir, name, ending) < TEST_PKI_PATH_MAX);
    return out;
}

static FILE *create(const char *path)
{
    int fd;
    FILE *f;

    unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    MUST(fd >= 0);
    f = fdopen(fd, "w");
    MUST(f != NULL);
    return f;
}

/* above NULL: the certificate alone. */
static void write_cert(const char *path, X509 *cert, X509 *above)
{
    FILE *f = create(path);

    MUST(PEM_write_X509(f, cert) == 1);
    MUST(above == NULL || PEM_write_X509(f, above) == 1);
    fclose(f);
}

static void write_key(const char *path, EVP_PKEY *key)
{
    FILE *f = create(path);

    MUST(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1);
    fclose(f);
}

static EVP_PKEY *read_key(const char *path)
{
    FILE *f = fopen(path, "r");
    EVP_PKEY *key;

    MUST(f != NULL);
    key = PEM_read_PrivateKey(f, NULL, NULL, NULL);
    MUST(key != NULL);
    fclose(f);
    return key;
}

static EVP_PKEY *make_key(enum test_key kind)
{
    EVP_PKEY *key = NULL;

    switch (kind) {
    case TEST_KEY_ED25519: key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"); break;
    case TEST_KEY_P256: key = EVP_EC_gen("P-256"); break;
    case TEST_KEY_RSA: key = EVP_RSA_gen(RSA_BITS); break;
    case TEST_KEY_RSA_1024: key = EVP_RSA_gen(RSA_BITS / 2); break;
    }
    MUST(key != NULL);
    return key;
}

static void add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509_EXTENSION *e;
    X509V3_CTX ctx;

    if (value == NULL || value[0] == 0)
        return;
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    MUST(e != NULL && X509_add_ext(cert, e, -1) == 1);
    X509_EXTENSION_free(e);
}

static X509 *begin_cert(const char *name, long serial, EVP_PKEY *key, long from_s, long until_s)
{
    X509 *cert = X509_new();

    MUST(cert != NULL && X509_set_version(cert, X509_V3) == 1);
    MUST(ASN1_INTEGER_set(X509_get_serialNumber(cert), serial) == 1);
    MUST(X509_gmtime_adj(X509_getm_notBefore(cert), from_s) != NULL);
    MUST(X509_gmtime_adj(X509_getm_notAfter(cert), until_s) != NULL);
    MUST(X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                                    (const unsigned char *)name, -1, -1, 0) == 1);
    MUST(X509_set_pubkey(cert, key) == 1);
    return cert;
}

void test_pki_init(struct test_pki *p, const char *dir, const char *name)
{
    test_pki_init_with(p, dir, name, TEST_KEY_ED25519);
}

/* EVP_MD of a signature by this key; Ed25519 has its own. */
static const EVP_MD *digest_of(const EVP_PKEY *key, const char *name)
{
    return EVP_PKEY_is_a(key, "ED25519") ? NULL
                                         : EVP_get_digestbyname(name != NULL ? name : "SHA256");
}

void test_pki_init_with(struct test_pki *p, const char *dir, const char *name, enum test_key kind)
{
    EVP_PKEY *key = make_key(kind);
    X509 *ca = begin_cert(name, 1, key, -HOUR, 10 * DAY);

    *p = (struct test_pki){.key = key, .cert = ca, .serial = 1};
    MUST(snprintf(p->dir, sizeof p->dir, "%s", dir) < (int)sizeof p->dir);
    memcpy(p->ca, test_pki_path(p, name, "pem"), sizeof p->ca);
    memcpy(p->crl, test_pki_path(p, name, "crl"), sizeof p->crl);
    MUST(X509_set_issuer_name(ca, X509_get_subject_name(ca)) == 1);
    add_extension(ca, ca, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(ca, ca, NID_key_usage, "critical,keyCertSign,cRLSign");
    add_extension(ca, ca, NID_subject_key_identifier, "hash");
    add_extension(ca, ca, NID_authority_key_identifier, "keyid:always");
    MUST(X509_sign(ca, key, digest_of(key, NULL)) > 0);
    write_cert(p->ca, ca, NULL);
}

void test_pki_init_below(struct test_pki *p, struct test_pki *above, const struct test_cert *how)
{
    struct test_cert ca = *how;
    FILE *f;

    ca.constraints = how->constraints != NULL ? how->constraints : "critical,CA:TRUE";
    ca.usage = how->usage != NULL ? how->usage : "critical,keyCertSign,cRLSign";
    ca.eku = TEST_EKU_NONE;
    ca.alt = "";
    (void)test_pki_issue(above, &ca);
    *p = (struct test_pki){.key = read_key(test_pki_path(above, how->name, "key")), .serial = 100};
    memcpy(p->dir, above->dir, sizeof p->dir);
    memcpy(p->ca, test_pki_path(p, how->name, "pem"), sizeof p->ca);
    memcpy(p->crl, test_pki_path(p, how->name, "crl"), sizeof p->crl);
    f = fopen(p->ca, "r");
    MUST(f != NULL);
    p->cert = PEM_read_X509(f, NULL, NULL, NULL);
    fclose(f);
    MUST(p->cert != NULL);
}

void test_pki_deinit(struct test_pki *p)
{
    EVP_PKEY_free(p->key);
    X509_free(p->cert);
    *p = (struct test_pki){0};
}

static void add_strange(X509 *cert)
{
    ASN1_OBJECT *name = OBJ_txt2obj("1.3.6.1.4.1.55555.1", 1);
    ASN1_OCTET_STRING *value = ASN1_OCTET_STRING_new();
    X509_EXTENSION *e;

    MUST(name != NULL && value != NULL && ASN1_OCTET_STRING_set(value, (uint8_t *)"?", 1) == 1);
    e = X509_EXTENSION_create_by_OBJ(NULL, name, 1, value);
    MUST(e != NULL && X509_add_ext(cert, e, -1) == 1);
    X509_EXTENSION_free(e);
    ASN1_OCTET_STRING_free(value);
    ASN1_OBJECT_free(name);
}

static void forge(X509 *cert)
{
    const ASN1_BIT_STRING *signature;

    X509_get0_signature(&signature, NULL, cert);
    ((ASN1_BIT_STRING *)(uintptr_t)signature)->data[7] ^= 1;
}

long test_pki_issue(struct test_pki *p, const struct test_cert *c)
{
    static const char *const purposes[] = {[TEST_EKU_CLIENT] = "clientAuth",
                                           [TEST_EKU_SERVER] = "serverAuth",
                                           [TEST_EKU_BOTH] = "clientAuth,serverAuth",
                                           [TEST_EKU_NONE] = NULL};
    EVP_PKEY *key = c->reuse_key_of != NULL ? read_key(test_pki_path(p, c->reuse_key_of, "key"))
                                            : make_key(c->key);
    X509 *cert = begin_cert(c->subject != NULL ? c->subject : c->name, ++p->serial, key,
                            c->from_s != 0 ? c->from_s : -HOUR, c->until_s != 0 ? c->until_s : DAY);
    X509 *issuer = c->self_signed ? cert : p->cert;
    EVP_PKEY *by = c->self_signed ? key : p->key;
    char san[300];

    MUST(X509_set_issuer_name(cert, X509_get_subject_name(issuer)) == 1);
    snprintf(san, sizeof san, "DNS:%s", c->san != NULL ? c->san : c->name);
    if (!c->old) {
        add_extension(cert, issuer, NID_basic_constraints,
                      c->constraints != NULL ? c->constraints : "critical,CA:FALSE");
        add_extension(cert, issuer, NID_key_usage,
                      c->usage != NULL ? c->usage : "critical,digitalSignature");
        add_extension(cert, issuer, NID_ext_key_usage, purposes[c->eku]);
        add_extension(cert, issuer, NID_subject_alt_name, c->alt != NULL ? c->alt : san);
        add_extension(cert, issuer, NID_subject_key_identifier, "hash");
        add_extension(cert, issuer, NID_authority_key_identifier,
                      c->no_issuer_id ? "" : "keyid:always");
    }
    if (c->strange)
        add_strange(cert);
    MUST(X509_set_version(cert, c->old ? X509_V1 : X509_V3) == 1);
    MUST(X509_sign(cert, by, digest_of(by, c->digest)) > 0);
    if (c->forged)
        forge(cert);
    write_cert(test_pki_path(p, c->name, "pem"), cert, c->chain ? p->cert : NULL);
    write_key(test_pki_path(p, c->name, "key"), key);
    X509_free(cert);
    EVP_PKEY_free(key);
    return p->serial;
}

static void add_revoked(X509_CRL *crl, long serial)
{
    X509_REVOKED *r = X509_REVOKED_new();
    ASN1_INTEGER *number = ASN1_INTEGER_new();
    ASN1_TIME *when = X509_gmtime_adj(NULL, -HOUR);

    MUST(r != NULL && number != NULL && when != NULL && ASN1_INTEGER_set(number, serial) == 1);
    MUST(X509_REVOKED_set_serialNumber(r, number) == 1);
    MUST(X509_REVOKED_set_revocationDate(r, when) == 1);
    MUST(X509_CRL_add0_revoked(crl, r) == 1);
    ASN1_INTEGER_free(number);
    ASN1_TIME_free(when);
}

void test_pki_crl(struct test_pki *p, const long *revoked, size_t n, long until_s)
{
    X509_CRL *crl = X509_CRL_new();
    ASN1_TIME *last = X509_gmtime_adj(NULL, -2 * HOUR);
    ASN1_TIME *next = X509_gmtime_adj(NULL, until_s);
    FILE *f;

    MUST(crl != NULL && last != NULL && next != NULL);
    MUST(X509_CRL_set_version(crl, CRL_V2) == 1);
    MUST(X509_CRL_set_issuer_name(crl, X509_get_subject_name(p->cert)) == 1);
    MUST(X509_CRL_set1_lastUpdate(crl, last) == 1 && X509_CRL_set1_nextUpdate(crl, next) == 1);
    for (size_t i = 0; i < n; i++)
        add_revoked(crl, revoked[i]);
    MUST(X509_CRL_sort(crl) == 1 && X509_CRL_sign(crl, p->key, NULL) > 0);
    f = create(p->crl);
    MUST(PEM_write_X509_CRL(f, crl) == 1);
    fclose(f);
    X509_CRL_free(crl);
    ASN1_TIME_free(last);
    ASN1_TIME_free(next);
}
