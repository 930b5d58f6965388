/* idkey.c -- the secret of a folder of runs: found, or made once.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/grid/idkey.h"

#include "common/crypto/sealed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert((int)GRID_KEY_BYTES == (int)SEALED_KEY_BYTES, "one kind of key file");

enum status idkey_load(struct grid *g, const char *dir, bool begin, struct error *err)
{
    char path[PATH_MAX];
    struct stat is;
    enum status s = STATUS_OK;

    if ((size_t)snprintf(path, sizeof path, "%s/id.key", dir) >= sizeof path)
        return error_set(err, STATUS_CONFIG, "%.100s...: too long", dir);
    g->keyed = true;
    if (lstat(path, &is) == 0 || errno != ENOENT) /* a link that leads nowhere, too */
        s = sealed_key_load(g->key, path, err);
    else if (begin)
        s = sealed_key_make(g->key, path, err);
    else
        g->keyed = false;
    return s;
}

enum status idkey_digest(uint8_t out[DIGEST_BYTES], const struct grid *g,
                         const uint8_t content[DIGEST_BYTES])
{
    memset(out, 0, DIGEST_BYTES);
    return g->keyed ? digest_hmac(out, g->key, sizeof g->key, content, DIGEST_BYTES) : STATUS_OK;
}
