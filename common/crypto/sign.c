/* sign.c -- Ed25519 by OpenSSL.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/sign.h"

#include "common/base/check.h"
#include "common/base/file.h"
#include "common/crypto/digest.h"
#include "common/crypto/pem.h"
#include "common/crypto/secret.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

enum { SIGN_TEXT_MAX = SIGN_MESSAGE_MAX + 64 };

static enum status take_public(struct sign_key *k)
{
    size_t n = SIGN_PUBLIC_BYTES;

    return EVP_PKEY_get_raw_public_key(k->pkey, k->public_key, &n) == 1 ? STATUS_OK : STATUS_CRYPTO;
}

enum status sign_key_load(struct sign_key *k, const char *path, struct error *err)
{
    struct buf pem;
    BIO *bio;
    enum status s;

    k->pkey = NULL;
    buf_init(&pem, SIGN_KEY_FILE_MAX);
    s = file_read_private(path, &pem, err);
    if (s == STATUS_OK) {
        bio = BIO_new_mem_buf(pem.data, (int)pem.len);
        k->pkey = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, pem_no_password, NULL);
        BIO_free(bio);
        if (k->pkey == NULL || !EVP_PKEY_is_a(k->pkey, "ED25519") || take_public(k) != STATUS_OK)
            s = error_set(err, STATUS_CONFIG, "%s: not an Ed25519 private key in PEM", path);
    }
    secret_buf_deinit(&pem);
    if (s != STATUS_OK)
        sign_key_deinit(k);
    return s;
}

enum status sign_key_generate(struct sign_key *k)
{
    k->pkey = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    return k->pkey == NULL ? STATUS_CRYPTO : take_public(k);
}

void sign_key_deinit(struct sign_key *k)
{
    EVP_PKEY_free(k->pkey);
    k->pkey = NULL;
}

/* label || 0 || message. */
static size_t signed_text(uint8_t out[SIGN_TEXT_MAX], const char *label, const void *message,
                          size_t n)
{
    size_t label_n = strlen(label) + 1;

    CHECK(n <= SIGN_MESSAGE_MAX && label_n <= SIGN_TEXT_MAX - n);
    memcpy(out, label, label_n);
    memcpy(out + label_n, message, n);
    return label_n + n;
}

enum status sign_make(uint8_t sig[SIGN_BYTES], const struct sign_key *k, const char *label,
                      const void *message, size_t n)
{
    uint8_t text[SIGN_TEXT_MAX];
    size_t text_n = signed_text(text, label, message, n), sig_n = SIGN_BYTES;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    enum status s = STATUS_CRYPTO;

    if (ctx != NULL && EVP_DigestSignInit_ex(ctx, NULL, NULL, NULL, NULL, k->pkey, NULL) == 1 &&
        EVP_DigestSign(ctx, sig, &sig_n, text, text_n) == 1 && sig_n == SIGN_BYTES)
        s = STATUS_OK;
    EVP_MD_CTX_free(ctx);
    return s;
}

static enum status check_once(const uint8_t sig[SIGN_BYTES],
                              const uint8_t public_key[SIGN_PUBLIC_BYTES], const uint8_t *text,
                              size_t text_n)
{
    EVP_PKEY *key =
        EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL, public_key, SIGN_PUBLIC_BYTES);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    enum status s = STATUS_CRYPTO;

    if (key != NULL && ctx != NULL &&
        EVP_DigestVerifyInit_ex(ctx, NULL, NULL, NULL, NULL, key, NULL) == 1)
        s = EVP_DigestVerify(ctx, sig, SIGN_BYTES, text, text_n) == 1 ? STATUS_OK : STATUS_AUTH;
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
    return s;
}

/* RFC 8032, 7.1, test 2: right whenever the library can tell. */
static enum status check_known(void)
{
    static const uint8_t public_key[SIGN_PUBLIC_BYTES] = {
        0x3d, 0x40, 0x17, 0xc3, 0xe8, 0x43, 0x89, 0x5a, 0x92, 0xb7, 0x0a,
        0xa7, 0x4d, 0x1b, 0x7e, 0xbc, 0x9c, 0x98, 0x2c, 0xcf, 0x2e, 0xc4,
        0x96, 0x8c, 0xc0, 0xcd, 0x55, 0xf1, 0x2a, 0xf4, 0x66, 0x0c,
    };
    static const uint8_t sig[SIGN_BYTES] = {
        0x92, 0xa0, 0x09, 0xa9, 0xf0, 0xd4, 0xca, 0xb8, 0x72, 0x0e, 0x82, 0x0b, 0x5f,
        0x64, 0x25, 0x40, 0xa2, 0xb2, 0x7b, 0x54, 0x16, 0x50, 0x3f, 0x8f, 0xb3, 0x76,
        0x22, 0x23, 0xeb, 0xdb, 0x69, 0xda, 0x08, 0x5a, 0xc1, 0xe4, 0x3e, 0x15, 0x99,
        0x6e, 0x45, 0x8f, 0x36, 0x13, 0xd0, 0xf1, 0x1d, 0x8c, 0x38, 0x7b, 0x2e, 0xae,
        0xb4, 0x30, 0x2a, 0xee, 0xb0, 0x0d, 0x29, 0x16, 0x12, 0xbb, 0x0c, 0x00,
    };
    static const uint8_t text[] = {0x72};

    return check_once(sig, public_key, text, sizeof text);
}

/* The library says the same of a signature that is wrong and of memory that is short.  So it is
 * held against a peer only if it is said twice, and not of one that is right in between: memory
 * that was short for a moment is there again the second time, memory that stays short fails that
 * one too. */
enum status sign_check(const uint8_t sig[SIGN_BYTES], const uint8_t public_key[SIGN_PUBLIC_BYTES],
                       const char *label, const void *message, size_t n)
{
    uint8_t text[SIGN_TEXT_MAX];
    size_t text_n = signed_text(text, label, message, n);
    enum status s = check_once(sig, public_key, text, text_n);

    if (s != STATUS_AUTH)
        return s;
    return check_known() == STATUS_OK ? check_once(sig, public_key, text, text_n) : STATUS_CRYPTO;
}

void sign_spki_digest(uint8_t out[SIGN_SPKI_DIGEST_BYTES],
                      const uint8_t public_key[SIGN_PUBLIC_BYTES])
{
    /* SubjectPublicKeyInfo of Ed25519 (RFC 8410): SEQUENCE { SEQUENCE { OID 1.3.101.112 }, BIT
     * STRING }. */
    uint8_t spki[12 + SIGN_PUBLIC_BYTES] = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                            0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

    memcpy(spki + 12, public_key, SIGN_PUBLIC_BYTES);
    digest_sha256(out, spki, sizeof spki);
}
