/* aead.c -- AES-256-GCM by OpenSSL.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/aead.h"

#include "common/base/check.h"
#include "common/crypto/secret.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>

enum { RUN_MAX = 1 << 30 }; /* of one call of the library, whose lengths are int */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static EVP_CIPHER *gcm;

static void fetch(void)
{
    gcm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
}

enum status aead_init(struct aead *a, bool seals, const uint8_t key[AEAD_KEY_BYTES])
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();

    *a = (struct aead){0};
    pthread_once(&once, fetch);
    if (c == NULL)
        return STATUS_MEMORY;
    if (gcm == NULL || EVP_CipherInit_ex2(c, gcm, key, NULL, seals, NULL) != 1) {
        EVP_CIPHER_CTX_free(c);
        return STATUS_CRYPTO;
    }
    *a = (struct aead){c, seals};
    return STATUS_OK;
}

void aead_rekey(struct aead *a, const uint8_t key[AEAD_KEY_BYTES])
{
    CHECK(EVP_CipherInit_ex2(a->ctx, NULL, key, NULL, -1, NULL) == 1);
}

void aead_deinit(struct aead *a)
{
    EVP_CIPHER_CTX_free(a->ctx); /* wipes the key schedule */
    a->ctx = NULL;
}

/* All but the tag. */
static void run(struct aead *a, uint8_t *out, const uint8_t *in, size_t n,
                const struct aead_name *name)
{
    int done = 0;

    CHECK(name->aad_n <= RUN_MAX);
    CHECK(EVP_CipherInit_ex2(a->ctx, NULL, NULL, name->nonce, -1, NULL) == 1);
    if (name->aad_n > 0)
        CHECK(EVP_CipherUpdate(a->ctx, NULL, &done, name->aad, (int)name->aad_n) == 1);
    for (size_t at = 0; at < n; at += (size_t)done) {
        const int some = n - at < RUN_MAX ? (int)(n - at) : RUN_MAX;

        CHECK(EVP_CipherUpdate(a->ctx, out + at, &done, in + at, some) == 1 && done == some);
    }
}

void aead_seal(struct aead *a, uint8_t *bytes, size_t n, uint8_t tag[AEAD_TAG_BYTES],
               const struct aead_name *name)
{
    uint8_t none[AEAD_TAG_BYTES];
    int done = 0;

    CHECK(a->seals);
    run(a, bytes, bytes, n, name);
    CHECK(EVP_CipherFinal_ex(a->ctx, none, &done) == 1 && done == 0);
    CHECK(EVP_CIPHER_CTX_ctrl(a->ctx, EVP_CTRL_AEAD_GET_TAG, AEAD_TAG_BYTES, tag) == 1);
}

bool aead_open(struct aead *a, uint8_t *out, const uint8_t *in, size_t n,
               const uint8_t tag[AEAD_TAG_BYTES], const struct aead_name *name)
{
    uint8_t none[AEAD_TAG_BYTES], own[AEAD_TAG_BYTES]; /* the library wants a tag it may write to */
    int done = 0;
    bool fits;

    CHECK(!a->seals);
    memcpy(own, tag, sizeof own);
    run(a, out, in, n, name);
    CHECK(EVP_CIPHER_CTX_ctrl(a->ctx, EVP_CTRL_AEAD_SET_TAG, AEAD_TAG_BYTES, own) == 1);
    fits = EVP_CipherFinal_ex(a->ctx, none, &done) == 1;
    if (!fits)
        secret_wipe(out, n);
    return fits;
}
