/* checkpoint.c -- sealing and opening a party's checkpoint.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/checkpoint.h"

#include "common/base/log.h"
#include "common/crypto/sealed.h"
#include "common/crypto/secret.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHECKPOINT_MAX = 1 << 30 };

static void path_of(char out[CONFIG_PATH_MAX], const struct party_inputs *in)
{
    snprintf(out, CONFIG_PATH_MAX, "%.*s/checkpoint.sealed", CONFIG_PATH_MAX - 32,
             in->config.state);
}

static void label_of(char out[SEALED_LABEL_MAX], const struct party_inputs *in)
{
    snprintf(out, SEALED_LABEL_MAX, "vfl-party/1 %s", in->roster.party[in->self].name);
}

void party_checkpoint_wipe(struct buf *b)
{
    if (b->data != NULL)
        secret_wipe(b->data, b->cap);
    buf_deinit(b);
}

enum status party_checkpoint_load(const struct party_inputs *in, struct buf *out, struct error *err)
{
    char path[CONFIG_PATH_MAX], label[SEALED_LABEL_MAX] = "", want[SEALED_LABEL_MAX];
    uint8_t key[SEALED_KEY_BYTES];
    enum status s;

    buf_init(out, CHECKPOINT_MAX);
    path_of(path, in);
    label_of(want, in);
    if (access(path, F_OK) != 0)
        return STATUS_OK;
    if (in->config.state_key[0] == 0)
        return error_set(err, STATUS_CONFIG,
                         "%s: holds an unfinished run, but there is no state_key to open it", path);
    s = sealed_key_load(key, in->config.state_key, err);
    if (s == STATUS_OK)
        s = sealed_read(path, key, label, out, err);
    secret_wipe(key, sizeof key);
    if (s == STATUS_OK && strcmp(label, want) != 0)
        s = error_set(err, STATUS_CONFIG, "%s: belongs to \"%s\"", path, label);
    return s;
}

enum status party_checkpoint_save(const struct party_inputs *in, const struct party_session *p,
                                  struct error *err)
{
    char path[CONFIG_PATH_MAX], label[SEALED_LABEL_MAX];
    uint8_t key[SEALED_KEY_BYTES];
    struct buf bytes;
    enum status s;

    if (in->config.state_key[0] == 0) {
        log_warn("no state_key: this unfinished run cannot be continued");
        return STATUS_OK;
    }
    buf_init(&bytes, CHECKPOINT_MAX);
    s = party_session_save(p, &bytes);
    if (s != STATUS_OK)
        error_set(err, s, "checkpoint: %s", status_words(s));
    else if (bytes.len > 0)
        s = sealed_key_load(key, in->config.state_key, err);
    if (s == STATUS_OK && bytes.len > 0) {
        path_of(path, in);
        label_of(label, in);
        s = sealed_write(path, key, label, bytes.data, bytes.len, err);
        secret_wipe(key, sizeof key);
    }
    party_checkpoint_wipe(&bytes);
    return s;
}

void party_checkpoint_remove(const struct party_inputs *in)
{
    char path[CONFIG_PATH_MAX];

    path_of(path, in);
    unlink(path);
}
