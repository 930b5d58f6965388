/* generation.c -- one number to a file and back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/generation.h"

#include "common/base/file.h"
#include "common/base/le.h"
#include "common/crypto/digest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    TITLE_BYTES = 32,
    NUMBER_BYTES = 8,
    SUMMED_BYTES = TITLE_BYTES + NUMBER_BYTES,
    FILE_BYTES = SUMMED_BYTES + DIGEST_BYTES
};

static const char title[TITLE_BYTES] = "colonnade generation 1";

static void print(uint8_t out[FILE_BYTES], uint64_t value)
{
    memcpy(out, title, TITLE_BYTES);
    le_put(out + TITLE_BYTES, value, NUMBER_BYTES);
    digest_sha256(out + SUMMED_BYTES, out, SUMMED_BYTES);
}

static enum status parse(struct generation_file *g, const struct buf *file, struct error *err)
{
    const uint8_t *at = file->data + TITLE_BYTES;
    uint8_t same[FILE_BYTES];

    if (file->len == FILE_BYTES) {
        g->value = le_take(&at, NUMBER_BYTES);
        print(same, g->value);
        if (memcmp(file->data, same, sizeof same) == 0)
            return STATUS_OK;
    }
    return error_set(err, STATUS_CONFIG,
                     "%s: damaged, or no file of this server's; without it parties that stand may "
                     "have to be started again",
                     g->path);
}

enum status generation_open(struct generation_file *g, const char *state, struct error *err)
{
    struct stat is;
    struct buf file;
    enum status s;

    *g = (struct generation_file){.value = 0};
    snprintf(g->path, sizeof g->path, "%.*s/generation", GENERATION_PATH_MAX - 16, state);
    if (lstat(g->path, &is) != 0 && errno == ENOENT)
        return STATUS_OK;
    buf_init(&file, FILE_BYTES + 1);
    s = file_read_own(g->path, &file, err);
    if (s == STATUS_OK || s == STATUS_LIMIT)
        s = parse(g, &file, err);
    buf_deinit(&file);
    return s;
}

enum status generation_raise(struct generation_file *g, uint64_t to, struct error *err)
{
    uint8_t file[FILE_BYTES];
    enum status s;

    print(file, to);
    s = file_write_atomic(g->path, file, sizeof file, 0600, err);
    if (s == STATUS_OK)
        g->value = to;
    return s;
}
