/* checkpoint.c -- sealing and opening.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/checkpoint.h"

#include "common/base/log.h"
#include "common/crypto/secret.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LAST, BEFORE };

static void path_of(char out[PATH_MAX], const struct checkpoint_place *at, int which)
{
    snprintf(out, PATH_MAX, "%s/checkpoint%s.sealed", at->state, which == LAST ? "" : ".before");
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0 || errno != ENOENT;
}

static enum status load(const char *path, const struct checkpoint_place *at,
                        char label[SEALED_LABEL_MAX], struct buf *out, struct error *err)
{
    uint8_t key[SEALED_KEY_BYTES];
    enum status s = STATUS_OK;

    buf_init(out, SIZE_MAX); /* an own file, as large as its session made it */
    label[0] = 0;
    if (at->state_key[0] == 0 && exists(path))
        return error_set(err, STATUS_CONFIG,
                         "%s: an unfinished run, but there is no state_key to open it", path);
    if (at->state_key[0] != 0) /* a key that is no good is better known now than at the end */
        s = sealed_key_load(key, at->state_key, err);
    if (s == STATUS_OK && exists(path))
        s = sealed_read(path, key, label, out, err);
    secret_wipe(key, sizeof key);
    return s;
}

enum status checkpoint_load(const struct checkpoint_place *at, char label[SEALED_LABEL_MAX],
                            struct buf *out, struct error *err)
{
    char path[PATH_MAX];

    path_of(path, at, LAST);
    if (!exists(path)) /* its process ended between the two moves of checkpoint_save */
        path_of(path, at, BEFORE);
    return load(path, at, label, out, err);
}

enum status checkpoint_load_before(const struct checkpoint_place *at, char label[SEALED_LABEL_MAX],
                                   struct buf *out, struct error *err)
{
    char path[PATH_MAX];

    path_of(path, at, BEFORE);
    return load(path, at, label, out, err);
}

enum status checkpoint_save(const struct checkpoint_place *at, const char *label, const void *bytes,
                            size_t n, struct error *err)
{
    uint8_t key[SEALED_KEY_BYTES];
    char path[PATH_MAX], before[PATH_MAX];
    enum status s;

    if (at->state_key[0] == 0) {
        log_warn("no state_key: this unfinished run cannot be continued");
        return STATUS_OK;
    }
    path_of(path, at, LAST);
    path_of(before, at, BEFORE);
    s = sealed_key_load(key, at->state_key, err);
    if (s == STATUS_OK && rename(path, before) != 0 && errno != ENOENT)
        s = error_set(err, STATUS_IO, "%s: %s", before, strerror(errno));
    if (s == STATUS_OK)
        s = sealed_write(path, key, label, bytes, n, err);
    secret_wipe(key, sizeof key);
    return s;
}

enum status checkpoint_remove(const struct checkpoint_place *at, struct error *err)
{
    static const int order[] = {BEFORE, LAST};
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        path_of(path, at, order[i]);
        if (unlink(path) != 0 && errno != ENOENT)
            return error_set(err, STATUS_IO, "%s: not removed: %s", path, strerror(errno));
    }
    return STATUS_OK;
}
