/* stream.c -- AES-256-CTR by OpenSSL: the encryption of zeros.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/stream.h"

#include "common/base/check.h"

#include <openssl/evp.h>
#include <pthread.h>

/* Zeros are encrypted in runs of this length, so that source and target stay in the first cache
 * level. */
enum { STREAM_RUN = 8192 };

static const uint8_t zeros[STREAM_RUN];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static EVP_CIPHER *aes;

static void fetch(void)
{
    aes = EVP_CIPHER_fetch(NULL, "AES-256-CTR", NULL);
}

enum status stream_new(void **ctx, const uint8_t key[STREAM_KEY_BYTES])
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();

    *ctx = NULL;
    pthread_once(&once, fetch);
    if (c == NULL)
        return STATUS_MEMORY;
    if (aes == NULL || EVP_EncryptInit_ex2(c, aes, key, zeros, NULL) != 1) {
        EVP_CIPHER_CTX_free(c);
        return STATUS_CRYPTO;
    }
    *ctx = c;
    return STATUS_OK;
}

void stream_free(void *ctx)
{
    EVP_CIPHER_CTX_free(ctx); /* wipes the key schedule */
}

void stream_start(void *ctx, const uint8_t *key, const uint8_t iv[STREAM_IV_BYTES])
{
    CHECK(EVP_EncryptInit_ex2(ctx, NULL, key, iv, NULL) == 1);
}

void stream_fill(void *ctx, uint8_t *out, size_t n)
{
    while (n > 0) {
        int take = n < STREAM_RUN ? (int)n : STREAM_RUN, done = 0;
        CHECK(EVP_EncryptUpdate(ctx, out, &done, zeros, take) == 1 && done == take);
        out += take;
        n -= (size_t)take;
    }
}
