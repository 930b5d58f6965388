/* checkpoint.c -- the server's checkpoint: its label, and the session in it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/checkpoint.h"

#include "common/crypto/digest.h"
#include "common/crypto/secret.h"
#include "common/daemon/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct checkpoint_place place_of(const struct config_server *c)
{
    return (struct checkpoint_place){c->state, c->state_key};
}

static void label_of(char out[SEALED_LABEL_MAX], const struct config_server *c,
                     const uint8_t *plan_digest)
{
    char hex[DIGEST_HEX_CHARS + 1];

    digest_hex(hex, plan_digest, WIRE_DIGEST_BYTES);
    snprintf(out, SEALED_LABEL_MAX, "vfl-server/1 seed %" PRIu64 " plan %s", c->plan.training.seed,
             hex);
}

enum status server_checkpoint_seed(const struct config_server *c, uint64_t *seed, bool *found,
                                   struct error *err)
{
    struct checkpoint_place at = place_of(c);
    char label[SEALED_LABEL_MAX];
    struct buf bytes;
    enum status s = checkpoint_load(&at, label, &bytes, err);

    *found = s == STATUS_OK && sscanf(label, "vfl-server/1 seed %" SCNu64, seed) == 1;
    secret_buf_deinit(&bytes);
    return s;
}

enum status server_checkpoint_load(const struct config_server *c, struct server_session *session,
                                   bool *found, struct error *err)
{
    struct checkpoint_place at = place_of(c);
    char label[SEALED_LABEL_MAX], want[SEALED_LABEL_MAX];
    struct buf bytes;
    enum status s = checkpoint_load(&at, label, &bytes, err);

    label_of(want, c, server_session_plan_digest(session));
    *found = bytes.len > 0;
    if (s == STATUS_OK && bytes.len > 0) {
        if (strcmp(label, want) != 0)
            s = error_set(err, STATUS_CONFIG,
                          "%s: an unfinished run of another plan; use another state directory",
                          c->state);
        else if (server_session_restore(session, bytes.data, bytes.len) != STATUS_OK)
            s = error_set(err, STATUS_CONFIG, "%s: the checkpoint does not fit this plan",
                          c->state);
    }
    secret_buf_deinit(&bytes);
    return s;
}

enum status server_checkpoint_write(const struct config_server *c, const uint8_t *plan_digest,
                                    const struct wire_bytes *bytes, struct error *err)
{
    struct checkpoint_place at = place_of(c);
    char label[SEALED_LABEL_MAX];

    label_of(label, c, plan_digest);
    return checkpoint_save(&at, label, bytes->data, bytes->n, err);
}

enum status server_checkpoint_save(const struct config_server *c,
                                   const struct server_session *session, struct error *err)
{
    struct buf bytes;
    enum status s;

    buf_init(&bytes, SIZE_MAX);
    s = server_session_save(session, &bytes);
    if (s == STATUS_OK)
        s = server_checkpoint_write(c, server_session_plan_digest(session),
                                    &(struct wire_bytes){bytes.data, bytes.len}, err);
    else
        error_set(err, s, "checkpoint: %s", status_words(s));
    secret_buf_deinit(&bytes);
    return s;
}

enum status server_checkpoint_remove(const struct config_server *c, struct error *err)
{
    struct checkpoint_place at = place_of(c);

    return checkpoint_remove(&at, err);
}
