/* checkpoint.c -- sealing and opening the server's checkpoint.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/checkpoint.h"

#include "common/base/log.h"
#include "common/crypto/digest.h"
#include "common/crypto/sealed.h"
#include "common/crypto/secret.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHECKPOINT_MAX = 1 << 30 };

static void path_of(char out[CONFIG_PATH_MAX], const struct config_server *c)
{
    snprintf(out, CONFIG_PATH_MAX, "%.*s/checkpoint.sealed", CONFIG_PATH_MAX - 32, c->state);
}

static void label_of(char out[SEALED_LABEL_MAX], const struct config_server *c,
                     const struct server_session *s)
{
    char hex[DIGEST_HEX_CHARS + 1];

    digest_hex(hex, server_session_plan_digest(s), WIRE_DIGEST_BYTES);
    snprintf(out, SEALED_LABEL_MAX, "vfl-server/1 seed %" PRIu64 " plan %s", c->plan.training.seed,
             hex);
}

static void wipe(struct buf *b)
{
    if (b->data != NULL)
        secret_wipe(b->data, b->cap);
    buf_deinit(b);
}

/* STATUS_OK with an empty buffer: there is no checkpoint. */
static enum status open_file(const struct config_server *c, char label[SEALED_LABEL_MAX],
                             struct buf *out, struct error *err)
{
    uint8_t key[SEALED_KEY_BYTES];
    char path[CONFIG_PATH_MAX];
    enum status s;

    path_of(path, c);
    if (access(path, F_OK) != 0)
        return STATUS_OK;
    if (c->state_key[0] == 0)
        return error_set(err, STATUS_CONFIG,
                         "%s: holds an unfinished run, but there is no state_key to open it", path);
    s = sealed_key_load(key, c->state_key, err);
    if (s == STATUS_OK)
        s = sealed_read(path, key, label, out, err);
    secret_wipe(key, sizeof key);
    return s;
}

enum status server_checkpoint_seed(const struct config_server *c, uint64_t *seed, bool *found,
                                   struct error *err)
{
    char label[SEALED_LABEL_MAX] = "";
    struct buf bytes;
    enum status s;

    buf_init(&bytes, CHECKPOINT_MAX);
    s = open_file(c, label, &bytes, err);
    *found = s == STATUS_OK && sscanf(label, "vfl-server/1 seed %" SCNu64, seed) == 1;
    wipe(&bytes);
    return s;
}

enum status server_checkpoint_load(const struct config_server *c, struct server_session *session,
                                   struct error *err)
{
    char label[SEALED_LABEL_MAX] = "", want[SEALED_LABEL_MAX];
    struct buf bytes;
    enum status s;

    buf_init(&bytes, CHECKPOINT_MAX);
    s = open_file(c, label, &bytes, err);
    label_of(want, c, session);
    if (s == STATUS_OK && bytes.len > 0) {
        if (strcmp(label, want) != 0)
            s = error_set(
                err, STATUS_CONFIG,
                "%s: holds an unfinished run of another plan; use another state directory",
                c->state);
        else if (server_session_restore(session, bytes.data, bytes.len) != STATUS_OK)
            s = error_set(err, STATUS_CONFIG, "%s: the checkpoint does not fit this plan",
                          c->state);
        else
            log_info("going on after %llu training steps",
                     (unsigned long long)server_session_report(session)->steps);
    }
    wipe(&bytes);
    return s;
}

enum status server_checkpoint_save(const struct config_server *c,
                                   const struct server_session *session, struct error *err)
{
    uint8_t key[SEALED_KEY_BYTES];
    char path[CONFIG_PATH_MAX], label[SEALED_LABEL_MAX];
    struct buf bytes;
    enum status s;

    if (c->state_key[0] == 0) {
        log_warn("no state_key: this unfinished run cannot be continued");
        return STATUS_OK;
    }
    buf_init(&bytes, CHECKPOINT_MAX);
    s = server_session_save(session, &bytes);
    if (s != STATUS_OK)
        error_set(err, s, "checkpoint: %s", status_words(s));
    else
        s = sealed_key_load(key, c->state_key, err);
    if (s == STATUS_OK) {
        path_of(path, c);
        label_of(label, c, session);
        s = sealed_write(path, key, label, bytes.data, bytes.len, err);
        secret_wipe(key, sizeof key);
    }
    wipe(&bytes);
    return s;
}

void server_checkpoint_remove(const struct config_server *c)
{
    char path[CONFIG_PATH_MAX];

    path_of(path, c);
    unlink(path);
}
