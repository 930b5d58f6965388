/* kex.c -- X25519 and HKDF by OpenSSL.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/kex.h"

#include "common/base/check.h"
#include "common/crypto/digest.h"
#include "common/crypto/secret.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <string.h>

enum status kex_generate(uint8_t secret[KEX_BYTES], uint8_t public_key[KEX_BYTES])
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "X25519");
    size_t secret_n = KEX_BYTES, public_n = KEX_BYTES;
    enum status s = STATUS_CRYPTO;

    if (key != NULL && EVP_PKEY_get_raw_private_key(key, secret, &secret_n) == 1 &&
        EVP_PKEY_get_raw_public_key(key, public_key, &public_n) == 1)
        s = STATUS_OK;
    EVP_PKEY_free(key);
    return s;
}

enum status kex_derive(uint8_t shared[KEX_BYTES], const uint8_t secret[KEX_BYTES],
                       const uint8_t peer[KEX_BYTES])
{
    static const uint8_t zero[KEX_BYTES];
    EVP_PKEY *own = EVP_PKEY_new_raw_private_key_ex(NULL, "X25519", NULL, secret, KEX_BYTES);
    EVP_PKEY *other = EVP_PKEY_new_raw_public_key_ex(NULL, "X25519", NULL, peer, KEX_BYTES);
    EVP_PKEY_CTX *ctx = own == NULL ? NULL : EVP_PKEY_CTX_new_from_pkey(NULL, own, NULL);
    size_t n = KEX_BYTES;
    enum status s = STATUS_CRYPTO;

    if (ctx != NULL && other != NULL && EVP_PKEY_derive_init(ctx) == 1 &&
        EVP_PKEY_derive_set_peer(ctx, other) == 1) {
        /* The library refuses low-order points by itself; the comparison does not rely on it.
         * What it does from here on takes no memory, so nothing else is taken for one. */
        s = EVP_PKEY_derive(ctx, shared, &n) == 1 && n == KEX_BYTES &&
                    !secret_equal(shared, zero, KEX_BYTES)
                ? STATUS_OK
                : STATUS_AUTH;
    }
    if (s != STATUS_OK)
        secret_wipe(shared, KEX_BYTES);
    EVP_PKEY_CTX_free(ctx);
    EVP_PKEY_free(own);
    EVP_PKEY_free(other);
    return s;
}

enum status kex_hkdf(uint8_t *out, size_t out_len, const uint8_t *key, size_t key_len,
                     const uint8_t *salt, size_t salt_len, const void *info, size_t info_len)
{
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *ctx = kdf == NULL ? NULL : EVP_KDF_CTX_new(kdf);
    enum status s = STATUS_CRYPTO;
    OSSL_PARAM p[5], *at = p;

    /* The library takes an empty salt or info, but not from nowhere. */
    salt = salt_len > 0 ? salt : (const uint8_t *)"";
    info = info_len > 0 ? info : "";
    /* OSSL_PARAM wants pointers to non-const, and only reads through these. */
    *at++ =
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)(uintptr_t) "SHA256", 0);
    *at++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)key, key_len);
    *at++ =
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)(uintptr_t)salt, salt_len);
    *at++ =
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)(uintptr_t)info, info_len);
    *at = OSSL_PARAM_construct_end();
    if (ctx != NULL && EVP_KDF_derive(ctx, out, out_len, p) == 1)
        s = STATUS_OK;
    EVP_KDF_CTX_free(ctx);
    EVP_KDF_free(kdf);
    return s;
}

/* One block of output: HKDF-Expand is then a single HMAC of info || 0x01 (RFC 5869, 2.3). */
enum status kex_ratchet(uint8_t key[KEX_BYTES], const char *label)
{
    uint8_t info[64], next[DIGEST_BYTES];
    size_t n = strlen(label);
    enum status s;

    CHECK(n < sizeof info);
    memcpy(info, label, n);
    info[n] = 1;
    s = digest_hmac(next, key, KEX_BYTES, info, n + 1);
    if (s == STATUS_OK)
        memcpy(key, next, KEX_BYTES);
    secret_wipe(next, sizeof next);
    return s;
}
