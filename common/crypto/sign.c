/* sign.c -- Ed25519 by OpenSSL.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/sign.h"

#include "common/base/check.h"
#include "common/base/file.h"
#include "common/crypto/digest.h"
#include "common/crypto/secret.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

enum { KEY_FILE_MAX = 16384, SIGN_TEXT_MAX = SIGN_MESSAGE_MAX + 64 };

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
    buf_init(&pem, KEY_FILE_MAX);
    s = file_read_private(path, &pem, err);
    if (s == STATUS_OK) {
        bio = BIO_new_mem_buf(pem.data, (int)pem.len);
        k->pkey = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
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

/* The library says the same of a signature that is wrong and of memory that was short for a moment:
 * only what it says twice is held against a peer. */
enum status sign_check(const uint8_t sig[SIGN_BYTES], const uint8_t public_key[SIGN_PUBLIC_BYTES],
                       const char *label, const void *message, size_t n)
{
    uint8_t text[SIGN_TEXT_MAX];
    size_t text_n = signed_text(text, label, message, n);
    enum status s = check_once(sig, public_key, text, text_n);

    return s == STATUS_AUTH ? check_once(sig, public_key, text, text_n) : s;
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
