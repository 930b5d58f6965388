/* sealed.c -- AES-256-GCM by OpenSSL around atomic files.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/sealed.h"

#include "common/base/check.h"
#include "common/base/file.h"
#include "common/crypto/digest.h"
#include "common/crypto/secret.h"

#include <limits.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdbool.h>
#include <string.h>

enum { MAGIC_BYTES = 8, LENGTH_BYTES = 4, NONCE_BYTES = 12, TAG_BYTES = 16 };
enum { FIXED_BYTES = MAGIC_BYTES + LENGTH_BYTES + NONCE_BYTES + TAG_BYTES, KEY_FILE_MAX = 128 };

static const char magic[MAGIC_BYTES + 1] = "VFLSEAL1";

enum status sealed_key_load(uint8_t key[SEALED_KEY_BYTES], const char *path, struct error *err)
{
    char text[KEY_FILE_MAX + 1];
    struct buf file;
    enum status s = file_check_private(path, err);

    if (s != STATUS_OK)
        return s;
    buf_init(&file, KEY_FILE_MAX);
    s = file_read(path, &file, err);
    if (s == STATUS_OK) {
        if (file.len > 0)
            memcpy(text, file.data, file.len);
        text[file.len] = 0;
        text[strcspn(text, "\r\n")] = 0;
        if (!digest_from_hex(key, SEALED_KEY_BYTES, text))
            s = error_set(err, STATUS_CONFIG, "%s: 64 hexadecimal digits expected", path);
        secret_wipe(text, sizeof text);
    }
    if (file.data != NULL)
        secret_wipe(file.data, file.cap);
    buf_deinit(&file);
    return s;
}

/* One GCM pass; `tag` is made when sealing and checked when opening. */
static bool gcm(bool seal, const uint8_t *key, const uint8_t *nonce, const char *label,
                uint8_t *out, const uint8_t *in, size_t n, uint8_t *tag)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int done = 0, control = seal ? EVP_CTRL_AEAD_GET_TAG : EVP_CTRL_AEAD_SET_TAG;
    bool ok = c != NULL && n <= INT_MAX &&
              EVP_CipherInit_ex(c, EVP_aes_256_gcm(), NULL, key, nonce, seal) == 1;

    ok = ok && EVP_CipherUpdate(c, NULL, &done, (const uint8_t *)label, (int)strlen(label)) == 1;
    ok = ok && EVP_CipherUpdate(c, out, &done, in, (int)n) == 1;
    if (!seal)
        ok = ok && EVP_CIPHER_CTX_ctrl(c, control, TAG_BYTES, tag) == 1;
    ok = ok && EVP_CipherFinal_ex(c, out + n, &done) == 1;
    if (seal)
        ok = ok && EVP_CIPHER_CTX_ctrl(c, control, TAG_BYTES, tag) == 1;
    EVP_CIPHER_CTX_free(c);
    return ok;
}

enum status sealed_write(const char *path, const uint8_t key[SEALED_KEY_BYTES], const char *label,
                         const void *bytes, size_t n, struct error *err)
{
    size_t label_n = strlen(label);
    uint8_t *p;
    struct buf out;
    enum status s;

    CHECK(label_n < SEALED_LABEL_MAX);
    buf_init(&out, n + label_n + FIXED_BYTES);
    s = buf_reserve(&out, out.max);
    if (s != STATUS_OK)
        return error_set(err, s, "%s: %s", path, status_words(s));
    p = out.data;
    memcpy(p, magic, MAGIC_BYTES);
    for (int i = 0; i < LENGTH_BYTES; i++)
        p[MAGIC_BYTES + i] = (uint8_t)(label_n >> (8 * i));
    memcpy(p + MAGIC_BYTES + LENGTH_BYTES, label, label_n);
    p += MAGIC_BYTES + LENGTH_BYTES + label_n;
    CHECK(RAND_bytes(p, NONCE_BYTES) == 1);
    if (gcm(true, key, p, label, p + NONCE_BYTES, bytes, n, p + NONCE_BYTES + n))
        s = file_write_atomic(path, out.data, out.max, 0600, err);
    else
        s = error_set(err, STATUS_CRYPTO, "%s: cannot be sealed", path);
    buf_deinit(&out);
    return s;
}

static bool open_sealed(const struct buf *file, const uint8_t *key, char label[SEALED_LABEL_MAX],
                        struct buf *out)
{
    const uint8_t *p = file->data;
    size_t label_n = 0, n;

    if (file->len < FIXED_BYTES || memcmp(p, magic, MAGIC_BYTES) != 0)
        return false;
    for (int i = 0; i < LENGTH_BYTES; i++)
        label_n |= (size_t)p[MAGIC_BYTES + i] << (8 * i);
    if (label_n >= SEALED_LABEL_MAX || label_n > file->len - FIXED_BYTES)
        return false;
    memcpy(label, p + MAGIC_BYTES + LENGTH_BYTES, label_n);
    label[label_n] = 0;
    p += MAGIC_BYTES + LENGTH_BYTES + label_n;
    n = file->len - FIXED_BYTES - label_n;
    out->len = 0;
    if (strlen(label) != label_n || buf_reserve(out, n + 1) != STATUS_OK)
        return false;
    /* The tag lies behind the ciphertext in the file, which is this function's own copy. */
    if (!gcm(false, key, p, label, out->data, p + NONCE_BYTES, n,
             (uint8_t *)(uintptr_t)(p + NONCE_BYTES + n)))
        return false;
    out->len = n;
    return true;
}

enum status sealed_read(const char *path, const uint8_t key[SEALED_KEY_BYTES],
                        char label[SEALED_LABEL_MAX], struct buf *out, struct error *err)
{
    struct buf file;
    enum status s;

    buf_init(&file, out->max < SIZE_MAX / 2 ? out->max + FIXED_BYTES + SEALED_LABEL_MAX : out->max);
    s = file_read(path, &file, err);
    if (s == STATUS_OK && !open_sealed(&file, key, label, out))
        s = error_set(err, STATUS_CONFIG, "%s: damaged, or not sealed with this state_key", path);
    buf_deinit(&file);
    return s;
}
