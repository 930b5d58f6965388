/* digest.c -- SHA-256 and HMAC by OpenSSL.
 *
 * SHA-256 goes by the library's older functions, whose state the caller holds: they neither
 * allocate nor fail, where its newer ones allocate whenever a digest begins.  So what names a round
 * is no place where a session can end (docs/adr/0015).  HMAC has no such form, and can fail.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "common/crypto/digest.h"

#include "common/base/check.h"
#include "common/crypto/secret.h"

#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <openssl/sha.h>

_Static_assert(sizeof(SHA256_CTX) <= sizeof((struct digest *)0)->state, "the state has its room");
_Static_assert(_Alignof(SHA256_CTX) <= _Alignof(struct digest), "and its place");

static SHA256_CTX *state_of(struct digest *d)
{
    return (SHA256_CTX *)d->state;
}

void digest_deinit(struct digest *d)
{
    secret_wipe(d, sizeof *d);
}

void digest_begin(struct digest *d)
{
    CHECK(SHA256_Init(state_of(d)) == 1);
}

void digest_update(struct digest *d, const void *bytes, size_t n)
{
    CHECK(SHA256_Update(state_of(d), bytes, n) == 1);
}

void digest_final(struct digest *d, uint8_t out[DIGEST_BYTES])
{
    CHECK(SHA256_Final(out, state_of(d)) == 1);
}

void digest_sha256(uint8_t out[DIGEST_BYTES], const void *bytes, size_t n)
{
    struct digest d;

    digest_begin(&d);
    digest_update(&d, bytes, n);
    digest_final(&d, out);
    digest_deinit(&d);
}

enum status digest_hmac(uint8_t out[DIGEST_BYTES], const uint8_t *key, size_t key_len,
                        const void *bytes, size_t n)
{
    unsigned len = 0;

    CHECK(key_len <= INT_MAX);
    if (HMAC(EVP_sha256(), key, (int)key_len, bytes, n, out, &len) == NULL || len != DIGEST_BYTES)
        return STATUS_CRYPTO;
    return STATUS_OK;
}

enum status digest_mac_init(struct digest_mac *m, const uint8_t *key, size_t key_len)
{
    char name[] = "SHA256";
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string("digest", name, 0),
                                 OSSL_PARAM_construct_end()};
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);

    m->ctx = hmac == NULL ? NULL : EVP_MAC_CTX_new(hmac);
    EVP_MAC_free(hmac); /* the context holds it */
    if (m->ctx == NULL || EVP_MAC_init(m->ctx, key, key_len, params) != 1) {
        digest_mac_deinit(m);
        return STATUS_CRYPTO;
    }
    return STATUS_OK;
}

enum status digest_mac_of(struct digest_mac *m, uint8_t out[DIGEST_BYTES], const void *bytes,
                          size_t n)
{
    size_t len = 0;

    if (EVP_MAC_init(m->ctx, NULL, 0, NULL) != 1 || EVP_MAC_update(m->ctx, bytes, n) != 1 ||
        EVP_MAC_final(m->ctx, out, &len, DIGEST_BYTES) != 1 || len != DIGEST_BYTES)
        return STATUS_CRYPTO;
    return STATUS_OK;
}

void digest_mac_deinit(struct digest_mac *m)
{
    EVP_MAC_CTX_free(m->ctx);
    m->ctx = NULL;
}

void digest_hex(char *out, const uint8_t *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * n] = 0;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int digest_from_hex(uint8_t *out, size_t n, const char *hex)
{
    for (size_t i = 0; i < n; i++) {
        int high = digit_of(hex[2 * i]), low = high < 0 ? -1 : digit_of(hex[2 * i + 1]);
        if (low < 0)
            return 0;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return hex[2 * n] == 0;
}
