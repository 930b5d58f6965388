/* test_pki.h -- certificates made on the fly, good ones and each kind of bad one.
 *
 * Written with OpenSSL directly and on purpose without common/: what the daemons refuse must be
 * makeable here.  Any failure ends the test program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_TEST_PKI_H
#define COLONNADE_TESTS_TEST_PKI_H

#include <stdbool.h>
#include <stddef.h>

enum { TEST_PKI_PATH_MAX = 512, TEST_PKI_REVOKED_MAX = 8 };

enum test_key { TEST_KEY_ED25519, TEST_KEY_P256, TEST_KEY_RSA, TEST_KEY_RSA_1024 };
enum test_eku { TEST_EKU_CLIENT, TEST_EKU_SERVER, TEST_EKU_BOTH, TEST_EKU_NONE };

struct test_pki {
    void *key, *cert; /* of the CA */
    long serial;
    char dir[TEST_PKI_PATH_MAX];
    char ca[TEST_PKI_PATH_MAX];  /* path of its certificate */
    char crl[TEST_PKI_PATH_MAX]; /* path, once test_pki_crl has been called */
};

/* Zeroes mean: SAN DNS:name, valid from an hour ago for a day, clientAuth, Ed25519. */
struct test_cert {
    const char *name;     /* dir/name.pem, dir/name.key */
    const char *subject;  /* CN; NULL: name */
    const char *san;      /* one DNS name; NULL: name */
    bool self_signed;     /* by nobody but itself */
    long from_s, until_s; /* relative to now */
    enum test_eku eku;
    enum test_key key;
    const char *reuse_key_of; /* a name issued earlier: renewal with the same key */
    /* How it may be spoilt. */
    const char *alt;         /* the subjectAltName, in OpenSSL's words; "": none; NULL: by san */
    const char *usage;       /* keyUsage; "": none; NULL: critical,digitalSignature */
    const char *constraints; /* basicConstraints; "": none; NULL: critical,CA:FALSE */
    const char *digest;      /* of the signature, by a CA that is not Ed25519; NULL: SHA-256 */
    bool no_issuer_id;       /* without authorityKeyIdentifier */
    bool strange;            /* a critical extension that nobody knows */
    bool old;                /* X.509 version 1, which has no extensions */
    bool forged;             /* its signature is another's */
    bool chain;              /* the issuer's certificate is in the file, too */
};

/* A CA of its own; `name` distinguishes CAs that share a folder. */
void test_pki_init(struct test_pki *p, const char *dir, const char *name);
void test_pki_init_with(struct test_pki *p, const char *dir, const char *name, enum test_key key);
/* A CA below another one; `how` says what its certificate is like (its constraints and usage by
 * default those of a CA). */
void test_pki_init_below(struct test_pki *p, struct test_pki *above, const struct test_cert *how);
void test_pki_deinit(struct test_pki *p);
/* Returns the serial number.  The key file has mode 0600. */
long test_pki_issue(struct test_pki *p, const struct test_cert *c);
/* dir/ca-name.crl, replacing an earlier one; until_s as above. */
void test_pki_crl(struct test_pki *p, const long *revoked, size_t n, long until_s);
/* dir/name.pem or .key, in one of a few static buffers that take turns. */
const char *test_pki_path(const struct test_pki *p, const char *name, const char *ending);

#endif
