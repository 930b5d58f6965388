/* ledger_key.c -- found, or made once.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_key.h"

#include "common/crypto/sealed.h"
#include "common/crypto/secret.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert((int)LEDGER_KEY_BYTES == (int)SEALED_KEY_BYTES, "one kind of key file");

/* Anything of that name, a link that leads nowhere too. */
static bool exists(const char *path)
{
    struct stat is;

    return lstat(path, &is) == 0 || errno != ENOENT;
}

/* A ledger that was begun before there was a state_key stays under its own. */
static enum status load_configured(uint8_t key[LEDGER_KEY_BYTES], const char *own,
                                   const char *state_key, struct error *err)
{
    uint8_t other[LEDGER_KEY_BYTES];
    enum status s = sealed_key_load(key, state_key, err);

    if (s != STATUS_OK || !exists(own))
        return s;
    s = sealed_key_load(other, own, err);
    if (s == STATUS_OK && !secret_equal(key, other, sizeof other))
        s = error_set(err, STATUS_CONFIG,
                      "state_key: the ledger was begun under %s: name that file as state_key, or "
                      "move it away if the ledger is under %s",
                      own, state_key);
    secret_wipe(other, sizeof other);
    return s;
}

enum status ledger_key_load(uint8_t key[LEDGER_KEY_BYTES], const char *path, const char *state_key,
                            struct error *err)
{
    const char *slash = strrchr(path, '/');
    char own[PATH_MAX];

    snprintf(own, sizeof own, "%.*sledger.key", slash == NULL ? 0 : (int)(slash + 1 - path), path);
    if (state_key[0] != 0)
        return load_configured(key, own, state_key, err);
    if (exists(own))
        return sealed_key_load(key, own, err);
    if (exists(path))
        return error_set(err, STATUS_CONFIG,
                         "ledger %s: its key is missing: no state_key is configured, and there is "
                         "no %s",
                         path, own);
    return sealed_key_make(key, own, err);
}
