/* digest.c -- SHA-256 and HMAC by OpenSSL.
 *
 * The algorithm is fetched once; a failure inside the library after that would be a broken process
 * and aborts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/digest.h"

#include "common/base/check.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static EVP_MD *sha256;

static void fetch(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

static const EVP_MD *algorithm(void)
{
    pthread_once(&once, fetch);
    CHECK(sha256 != NULL);
    return sha256;
}

enum status digest_init(struct digest *d)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();

    d->ctx = ctx;
    if (ctx == NULL)
        return STATUS_MEMORY;
    if (EVP_DigestInit_ex2(ctx, algorithm(), NULL) != 1) {
        digest_deinit(d);
        return STATUS_CRYPTO;
    }
    return STATUS_OK;
}

void digest_deinit(struct digest *d)
{
    EVP_MD_CTX_free(d->ctx);
    d->ctx = NULL;
}

void digest_begin(struct digest *d)
{
    CHECK(EVP_DigestInit_ex2(d->ctx, NULL, NULL) == 1);
}

void digest_update(struct digest *d, const void *bytes, size_t n)
{
    CHECK(EVP_DigestUpdate(d->ctx, bytes, n) == 1);
}

void digest_final(struct digest *d, uint8_t out[DIGEST_BYTES])
{
    CHECK(EVP_DigestFinal_ex(d->ctx, out, NULL) == 1);
}

void digest_sha256(uint8_t out[DIGEST_BYTES], const void *bytes, size_t n)
{
    CHECK(EVP_Digest(bytes, n, out, NULL, algorithm(), NULL) == 1);
}

void digest_hmac(uint8_t out[DIGEST_BYTES], const uint8_t *key, size_t key_len, const void *bytes,
                 size_t n)
{
    unsigned len = 0;

    CHECK(key_len <= INT32_MAX);
    CHECK(HMAC(algorithm(), key, (int)key_len, bytes, n, out, &len) != NULL && len == DIGEST_BYTES);
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
