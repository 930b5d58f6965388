/* holdings.c -- the file behind data shares.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/holdings.h"

#include "common/base/folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void path_of(char out[CONFIG_PATH_MAX], const struct holdings *h)
{
    snprintf(out, CONFIG_PATH_MAX, "%.*s/shares", CONFIG_PATH_MAX - 16, h->folder);
}

static bool outlives(const struct holdings *h)
{
    return h->config->state_key[0] != 0;
}

static enum status map(void *owner, uint8_t **memory, size_t *bytes, struct error *err)
{
    struct holdings *h = owner;
    char path[CONFIG_PATH_MAX];
    enum status s = STATUS_OK;

    path_of(path, h);
    mapped_close(&h->file);
    if (*bytes > 0)
        s = folder_make(h->folder, err);
    if (s != STATUS_OK)
        return error_wrap(err, "data shares");
    if (*bytes == 0 && outlives(h))
        s = mapped_open(&h->file, path, err);
    else if (*bytes > 0 && outlives(h))
        s = mapped_make(&h->file, path, *bytes, err);
    else if (*bytes > 0)
        s = mapped_make_unnamed(&h->file, h->folder, *bytes, err);
    *memory = h->file.data;
    *bytes = h->file.n;
    return s == STATUS_OK ? s : error_wrap(err, "data shares");
}

static enum status sync_all(void *owner, struct error *err)
{
    struct holdings *h = owner;

    return outlives(h) ? mapped_sync(&h->file, err) : STATUS_OK;
}

void holdings_init(struct holdings *h, const struct config_party *config, const char *folder)
{
    mapped_close(&h->file);
    *h = (struct holdings){.config = config, .folder = folder};
}

void holdings_deinit(struct holdings *h)
{
    mapped_close(&h->file);
}

struct party_holdings holdings_for_session(struct holdings *h)
{
    return (struct party_holdings){.owner = h, .map = map, .sync = sync_all};
}

enum status holdings_remove(struct holdings *h, struct error *err)
{
    char path[CONFIG_PATH_MAX];

    path_of(path, h);
    mapped_close(&h->file);
    if (unlink(path) == 0 || errno == ENOENT)
        return STATUS_OK;
    return error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
}
