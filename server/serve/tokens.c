/* tokens.c -- files of tokens.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/serve/tokens.h"

#include "common/base/file.h"
#include "common/config/config.h"
#include "common/crypto/digest.h"
#include "common/crypto/rng.h"
#include "common/crypto/secret.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FIRST_CLIENT "predict"

static enum status make_token(const char *path, char out[HTTP_TOKEN_MAX], struct error *err)
{
    uint8_t bytes[TOKENS_BYTES];
    struct rng fresh = {0};
    enum status s = rng_init_system(&fresh);

    if (s != STATUS_OK)
        return error_set(err, s, "no randomness for a token");
    rng_fill(&fresh, bytes, sizeof bytes);
    rng_deinit(&fresh);
    digest_hex(out, bytes, sizeof bytes);
    secret_wipe(bytes, sizeof bytes);
    out[2 * TOKENS_BYTES] = '\n';
    s = file_write_atomic(path, out, 2 * TOKENS_BYTES + 1, 0600, err);
    out[2 * TOKENS_BYTES] = 0;
    return s;
}

/* As make_token writes it, and nobody else's. */
static enum status take_token(struct tokens *t, size_t at, const struct buf *text, const char *path,
                              struct error *err)
{
    char *out = t->token[at];

    snprintf(out, HTTP_TOKEN_MAX, "%.*s", (int)text->len,
             text->len > 0 ? (const char *)text->data : "");
    if (text->len != 2 * TOKENS_BYTES + 1 ||
        strspn(out, "0123456789abcdefABCDEF") != 2 * TOKENS_BYTES || out[2 * TOKENS_BYTES] != '\n')
        return error_set(err, STATUS_CONFIG, "%s: no token of %d hexadecimal digits and a line end",
                         path, 2 * TOKENS_BYTES);
    out[2 * TOKENS_BYTES] = 0;
    for (size_t i = 0; i < at; i++)
        if (secret_equal(t->token[i], out, 2 * TOKENS_BYTES) == 1)
            return error_set(err, STATUS_CONFIG, "%s: the token of %s, too", path, t->name[i]);
    return STATUS_OK;
}

/* name "": the operator's. */
static enum status add(struct tokens *t, const char *state, const char *name, bool make,
                       struct error *err)
{
    const size_t at = t->n;
    char path[CONFIG_PATH_MAX];
    struct stat is;
    struct buf text;
    enum status s;

    snprintf(path, sizeof path, "%.*s/token%s%s", CONFIG_PATH_MAX - 64, state,
             name[0] != 0 ? "." : "", name);
    snprintf(t->name[t->n++], TOKENS_NAME_MAX + 1, "%s", name[0] != 0 ? name : "operator");
    if (make && lstat(path, &is) != 0 && errno == ENOENT)
        return make_token(path, t->token[at], err);
    buf_init(&text, 2 * TOKENS_BYTES + 1);
    s = file_read_private(path, &text, err);
    if (s == STATUS_OK)
        s = take_token(t, at, &text, path, err);
    secret_buf_deinit(&text);
    return s;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Files token.NAME; others are none of a client's. */
static enum status find_clients(char (*name)[TOKENS_NAME_MAX + 1], size_t *n, const char *state,
                                struct error *err)
{
    DIR *d = opendir(state);
    const struct dirent *entry;

    *n = 0;
    if (d == NULL)
        return error_set(err, STATUS_IO, "%s: %s", state, strerror(errno));
    while ((entry = readdir(d)) != NULL && *n < HTTP_CLIENTS_MAX) {
        const char *client = strncmp(entry->d_name, "token.", 6) == 0 ? entry->d_name + 6 : "";
        const size_t len = strlen(client);

        if (len >= 1 && len <= TOKENS_NAME_MAX &&
            strspn(client, "abcdefghijklmnopqrstuvwxyz0123456789-") == len)
            snprintf(name[(*n)++], TOKENS_NAME_MAX + 1, "%s", client);
    }
    closedir(d);
    if (*n == HTTP_CLIENTS_MAX)
        return error_set(err, STATUS_CONFIG, "%s: token.NAME: %d clients are the most", state,
                         HTTP_CLIENTS_MAX - 1);
    qsort(name, *n, sizeof *name, by_name);
    return STATUS_OK;
}

static enum status load(struct tokens *t, const char *state, bool make, struct error *err)
{
    char name[HTTP_CLIENTS_MAX][TOKENS_NAME_MAX + 1];
    size_t n = 0;
    enum status s = find_clients(name, &n, state, err);

    t->n = 0;
    if (s == STATUS_OK)
        s = add(t, state, "", make, err);
    if (s == STATUS_OK && n == 0 && make)
        s = add(t, state, FIRST_CLIENT, make, err);
    for (size_t i = 0; i < n && s == STATUS_OK; i++)
        s = add(t, state, name[i], make, err);
    return s;
}

enum status tokens_load(struct tokens *t, const char *state, struct error *err)
{
    return load(t, state, true, err);
}

static size_t find(const struct tokens *t, const char *name)
{
    size_t i = 0;

    while (i < t->n && strcmp(t->name[i], name) != 0)
        i++;
    return i;
}

/* One that nobody has; there are as many as clients may be. */
static size_t place_for(struct tokens *t)
{
    size_t i = 0;

    if (t->n < HTTP_CLIENTS_MAX)
        return t->n++;
    while (t->token[i][0] != 0)
        i++;
    return i;
}

enum status tokens_again(struct tokens *t, const char *state, struct error *err)
{
    struct tokens now = {.n = 0};
    enum status s = load(&now, state, false, err);

    for (size_t i = 0; i < t->n && s == STATUS_OK; i++)
        secret_wipe(t->token[i], sizeof t->token[i]);
    for (size_t round = 0; round < 2 && s == STATUS_OK;
         round++) { /* who has a number; the others */
        for (size_t i = 0; i < now.n; i++) {
            size_t at = find(t, now.name[i]);

            if (round == 0 && at == t->n)
                continue;
            if (at == t->n)
                at = place_for(t);
            memcpy(t->name[at], now.name[i], sizeof t->name[at]);
            memcpy(t->token[at], now.token[i], sizeof t->token[at]);
        }
    }
    tokens_wipe(&now);
    return s;
}

void tokens_wipe(struct tokens *t)
{
    secret_wipe(t, sizeof *t);
}
