/* sealed.c -- one AEAD text in an atomic file.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/sealed.h"

#include "common/base/check.h"
#include "common/base/file.h"
#include "common/base/le.h"
#include "common/crypto/aead.h"
#include "common/crypto/digest.h"
#include "common/crypto/rng.h"
#include "common/crypto/secret.h"

#include <openssl/rand.h>
#include <string.h>

enum { MAGIC_BYTES = 8, LENGTH_BYTES = 4, KEY_FILE_MAX = 128 };
enum { FIXED_BYTES = MAGIC_BYTES + LENGTH_BYTES + AEAD_NONCE_BYTES + AEAD_TAG_BYTES };

static const char magic[MAGIC_BYTES + 1] = "VFLSEAL1";

enum status sealed_key_load(uint8_t key[SEALED_KEY_BYTES], const char *path, struct error *err)
{
    char text[KEY_FILE_MAX + 1];
    struct buf file;
    enum status s;

    buf_init(&file, KEY_FILE_MAX);
    s = file_read_private(path, &file, err);
    if (s == STATUS_OK) {
        if (file.len > 0)
            memcpy(text, file.data, file.len);
        text[file.len] = 0;
        text[strcspn(text, "\r\n")] = 0;
        if (!digest_from_hex(key, SEALED_KEY_BYTES, text))
            s = error_set(err, STATUS_CONFIG, "%s: 64 hexadecimal digits expected", path);
        secret_wipe(text, sizeof text);
    }
    secret_buf_deinit(&file);
    return s;
}

enum status sealed_key_make(uint8_t key[SEALED_KEY_BYTES], const char *path, struct error *err)
{
    char text[2 * SEALED_KEY_BYTES + 2];
    struct rng rng;
    enum status s = rng_init_system(&rng);

    if (s != STATUS_OK)
        return error_set(err, s, "%s: %s", path, status_words(s));
    rng_fill(&rng, key, SEALED_KEY_BYTES);
    rng_deinit(&rng);
    digest_hex(text, key, SEALED_KEY_BYTES);
    strcat(text, "\n");
    s = file_write_atomic(path, text, strlen(text), 0600, err);
    secret_wipe(text, sizeof text);
    return s;
}

static uint8_t *put_bytes(uint8_t *p, const void *from, size_t n)
{
    if (n > 0)
        memcpy(p, from, n);
    return p + n;
}

enum status sealed_write(const char *path, const uint8_t key[SEALED_KEY_BYTES], const char *label,
                         const void *bytes, size_t n, struct error *err)
{
    size_t label_n = strlen(label);
    struct aead_name name = {.aad = (const uint8_t *)label, .aad_n = label_n};
    struct aead seals;
    struct buf out;
    uint8_t *p;
    enum status s;

    CHECK(label_n < SEALED_LABEL_MAX);
    buf_init(&out, n + label_n + FIXED_BYTES);
    s = buf_reserve(&out, out.max);
    if (s == STATUS_OK && RAND_bytes(name.nonce, sizeof name.nonce) != 1)
        s = STATUS_CRYPTO;
    if (s == STATUS_OK)
        s = aead_init(&seals, true, key);
    if (s != STATUS_OK) {
        buf_deinit(&out);
        return error_set(err, s, "%s: %s", path, status_words(s));
    }
    p = put_bytes(out.data, magic, MAGIC_BYTES);
    p = le_put(p, label_n, LENGTH_BYTES);
    p = put_bytes(p, label, label_n);
    p = put_bytes(p, name.nonce, sizeof name.nonce);
    put_bytes(p, bytes, n);
    aead_seal(&seals, p, n, p + n, &name);
    aead_deinit(&seals);
    s = file_write_atomic(path, out.data, out.max, 0600, err);
    buf_deinit(&out);
    return s;
}

/* STATUS_INTEGRITY when it was not sealed with this key, or is not whole. */
static enum status open_sealed(const struct buf *file, const uint8_t *key,
                               char label[SEALED_LABEL_MAX], struct buf *out)
{
    const uint8_t *p;
    struct aead_name name = {.aad = (const uint8_t *)label};
    struct aead opens;
    size_t n;
    enum status s;

    if (file->len < FIXED_BYTES || memcmp(file->data, magic, MAGIC_BYTES) != 0)
        return STATUS_INTEGRITY;
    p = file->data + MAGIC_BYTES;
    name.aad_n = (size_t)le_take(&p, LENGTH_BYTES);
    if (name.aad_n >= SEALED_LABEL_MAX || name.aad_n > file->len - FIXED_BYTES)
        return STATUS_INTEGRITY;
    n = file->len - FIXED_BYTES - name.aad_n;
    memcpy(label, p, name.aad_n);
    label[name.aad_n] = 0;
    memcpy(name.nonce, p + name.aad_n, sizeof name.nonce);
    p += name.aad_n + sizeof name.nonce;
    if (strlen(label) != name.aad_n)
        return STATUS_INTEGRITY;
    out->len = 0;
    s = buf_reserve(out, n + 1);
    if (s == STATUS_OK)
        s = aead_init(&opens, false, key);
    if (s != STATUS_OK)
        return s;
    if (aead_open(&opens, out->data, p, n, p + n, &name))
        out->len = n;
    else
        s = STATUS_INTEGRITY;
    aead_deinit(&opens);
    return s;
}

enum status sealed_read(const char *path, const uint8_t key[SEALED_KEY_BYTES],
                        char label[SEALED_LABEL_MAX], struct buf *out, struct error *err)
{
    struct buf file;
    enum status s;

    buf_init(&file, out->max < SIZE_MAX / 2 ? out->max + FIXED_BYTES + SEALED_LABEL_MAX : out->max);
    s = file_read_own(path, &file, err);
    if (s == STATUS_OK) {
        s = open_sealed(&file, key, label, out);
        if (s == STATUS_INTEGRITY)
            s = error_set(err, STATUS_CONFIG, "%s: damaged, or not sealed with this state_key",
                          path);
        else if (s != STATUS_OK)
            error_set(err, s, "%s: %s", path, status_words(s));
    }
    buf_deinit(&file);
    return s;
}
