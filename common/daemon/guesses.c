/* guesses.c -- rows of counts to a signed file and back.
 *
 *   "colonnade guesses 2" and zeros to 64 bytes, signature (64), seed (32), then for each row peer
 *   (32), list (32), element (32), count (8, little-endian).  Signed is the SHA-256 of all but the
 *   signature.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/guesses.h"

#include "common/base/check.h"
#include "common/base/file.h"
#include "common/base/folder.h"
#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/crypto/rng.h"
#include "common/crypto/secret.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    TITLE_BYTES = 64,
    SIGNED_AT = TITLE_BYTES + SIGN_BYTES,
    HEAD_BYTES = SIGNED_AT + GUESSES_KEY_BYTES,
    ROW_BYTES = 3 * GUESSES_KEY_BYTES + 8,
    FILE_MAX = HEAD_BYTES + ROW_BYTES * GUESSES_ROWS_MAX
};

static const char title[TITLE_BYTES] = "colonnade guesses 2";

static void digest_of(uint8_t out[DIGEST_BYTES], const struct buf *file)
{
    struct digest d;

    digest_begin(&d);
    digest_update(&d, file->data, TITLE_BYTES);
    digest_update(&d, file->data + SIGNED_AT, file->len - SIGNED_AT);
    digest_final(&d, out);
    digest_deinit(&d);
}

static enum status parse(struct guesses *g, const struct buf *file, struct error *err)
{
    uint8_t digest[DIGEST_BYTES];
    const uint8_t *at = file->data + HEAD_BYTES;

    if (file->len < HEAD_BYTES || (file->len - HEAD_BYTES) % ROW_BYTES != 0 ||
        memcmp(file->data, title, TITLE_BYTES) != 0)
        return error_set(err, STATUS_POLICY, "%s: not a file of counted comparisons", g->path);
    digest_of(digest, file);
    if (sign_check(file->data + TITLE_BYTES, g->key->public_key, "vfl/guesses/1", digest,
                   sizeof digest) != STATUS_OK)
        return error_set(err, STATUS_POLICY,
                         "%s: changed, or written under another identity.key; remove it to count "
                         "from nothing",
                         g->path);
    memcpy(g->seed, file->data + SIGNED_AT, sizeof g->seed);
    for (g->n = 0; g->n < (file->len - HEAD_BYTES) / ROW_BYTES; g->n++) {
        struct guesses_row *r = &g->row[g->n];

        memcpy(r->peer, at, sizeof r->peer);
        memcpy(r->list, at + sizeof r->peer, sizeof r->list);
        memcpy(r->element, at + sizeof r->peer + sizeof r->list, sizeof r->element);
        at += 3 * GUESSES_KEY_BYTES;
        r->count = le_take(&at, 8);
    }
    return STATUS_OK;
}

uint64_t guesses_count(const struct guesses *g, const uint8_t peer[GUESSES_KEY_BYTES])
{
    uint64_t count = 0;

    for (size_t i = 0; i < g->n; i++) {
        if (memcmp(g->row[i].peer, peer, GUESSES_KEY_BYTES) == 0)
            count += g->row[i].count;
    }
    return count;
}

static enum status write_rows(struct guesses *g, const struct guesses_row *row, size_t n,
                              struct error *err)
{
    uint8_t digest[DIGEST_BYTES], signature[SIGN_BYTES] = {0}, count[8];
    struct buf file;
    enum status s;

    buf_init(&file, FILE_MAX);
    s = buf_append(&file, title, TITLE_BYTES);
    if (s == STATUS_OK)
        s = buf_append(&file, signature, sizeof signature);
    if (s == STATUS_OK)
        s = buf_append(&file, g->seed, sizeof g->seed);
    for (size_t i = 0; i < n && s == STATUS_OK; i++) {
        le_put(count, row[i].count, sizeof count);
        s = buf_append(&file, row[i].peer, GUESSES_KEY_BYTES);
        if (s == STATUS_OK)
            s = buf_append(&file, row[i].list, GUESSES_KEY_BYTES);
        if (s == STATUS_OK)
            s = buf_append(&file, row[i].element, GUESSES_KEY_BYTES);
        if (s == STATUS_OK)
            s = buf_append(&file, count, sizeof count);
    }
    if (s == STATUS_OK) {
        digest_of(digest, &file);
        s = sign_make(file.data + TITLE_BYTES, g->key, "vfl/guesses/1", digest, sizeof digest);
    }
    if (s == STATUS_OK)
        s = file_write_atomic(g->path, file.data, file.len, 0600, err);
    else
        error_set(err, s, "%s: %s", g->path, status_words(s));
    secret_buf_deinit(&file);
    return s;
}

/* --- open --- */

static enum status read_file(struct guesses *g, struct error *err)
{
    struct buf file;
    enum status s;

    buf_init(&file, FILE_MAX);
    s = file_read_own(g->path, &file, err);
    if (s == STATUS_OK)
        s = parse(g, &file, err);
    secret_buf_deinit(&file);
    return s;
}

static enum status first_file(struct guesses *g, bool make, struct error *err)
{
    struct rng fresh = {0};
    enum status s = rng_init_system(&fresh);

    if (s == STATUS_OK)
        rng_fill(&fresh, g->seed, sizeof g->seed);
    rng_deinit(&fresh);
    if (s != STATUS_OK)
        return error_set(err, s, "%s: no fresh seed", g->path);
    return make ? write_rows(g, g->row, 0, err) : STATUS_OK;
}

/* Of seed and key, so that neither alone tells it.  Ed25519 signs the same bytes alike every time.
 */
static enum status make_secret(struct guesses *g, struct error *err)
{
    uint8_t signature[SIGN_BYTES];
    enum status s = sign_make(signature, g->key, "vfl/guesses/secret/1", g->seed, sizeof g->seed);

    if (s == STATUS_OK)
        digest_sha256(g->secret, signature, sizeof signature);
    else
        error_set(err, s, "%s: %s", g->path, status_words(s));
    secret_wipe(signature, sizeof signature);
    return s;
}

enum status guesses_open(struct guesses *g, const char *state, const struct sign_key *key,
                         bool make, struct error *err)
{
    struct stat is = {0};
    enum status s = STATUS_OK;

    *g = (struct guesses){.key = key};
    snprintf(g->path, sizeof g->path, "%.*s/guesses", GUESSES_PATH_MAX - 16, state);
    g->row = mem_alloc(GUESSES_ROWS_MAX, sizeof *g->row);
    g->secret = secret_alloc(GUESSES_KEY_BYTES, 1);
    if (g->row == NULL || g->secret == NULL)
        return error_set(err, STATUS_MEMORY, "%s: no memory", g->path);
    if (lstat(g->path, &is) != 0 && errno == ENOENT)
        s = first_file(g, make, err);
    /* The daemon's own: no link, and nobody else may know with whom it compared. */
    else if (!S_ISREG(is.st_mode) || (is.st_mode & 077) != 0)
        s = error_set(err, STATUS_CONFIG,
                      "%s: is to be a file of its owner alone, and no link: mode 0600", g->path);
    else
        s = read_file(g, err);
    return s == STATUS_OK ? make_secret(g, err) : s;
}

void guesses_close(struct guesses *g)
{
    mem_free(g->row);
    secret_free(g->secret, GUESSES_KEY_BYTES, 1);
    secret_wipe(g, sizeof *g);
}

/* --- counting --- */

/* What the file names a list by.  Ed25519 signs the same bytes alike every time. */
static enum status name_list(uint8_t out[GUESSES_KEY_BYTES], const struct guesses *g,
                             const uint8_t list[GUESSES_KEY_BYTES])
{
    uint8_t signature[SIGN_BYTES];
    enum status s = sign_make(signature, g->key, "vfl/guesses/list/1", list, GUESSES_KEY_BYTES);

    digest_sha256(out, signature, sizeof signature);
    secret_wipe(signature, sizeof signature);
    return s;
}

/* NULL: there is none. */
static struct guesses_row *find(struct guesses_row *row, size_t n, const uint8_t *peer,
                                const uint8_t *list)
{
    for (size_t i = 0; i < n; i++) {
        if (memcmp(row[i].peer, peer, GUESSES_KEY_BYTES) == 0 &&
            memcmp(row[i].list, list, GUESSES_KEY_BYTES) == 0)
            return &row[i];
    }
    return NULL;
}

bool guesses_known(const struct guesses *g, const uint8_t peer[GUESSES_KEY_BYTES],
                   const uint8_t list[GUESSES_KEY_BYTES], const uint8_t element[GUESSES_KEY_BYTES])
{
    uint8_t name[GUESSES_KEY_BYTES];
    const struct guesses_row *r =
        name_list(name, g, list) == STATUS_OK ? find(g->row, g->n, peer, name) : NULL;

    return r != NULL && memcmp(r->element, element, GUESSES_KEY_BYTES) == 0;
}

/* About to be answered. */
static enum status count_one(struct guesses_row *row, size_t *n, const uint8_t *peer,
                             const uint8_t *list, const uint8_t *element)
{
    struct guesses_row *r = find(row, *n, peer, list);

    if (r != NULL && memcmp(r->element, element, GUESSES_KEY_BYTES) == 0)
        return STATUS_OK;
    if (r == NULL) {
        if (*n == GUESSES_ROWS_MAX)
            return STATUS_LIMIT;
        r = &row[(*n)++];
        memcpy(r->peer, peer, GUESSES_KEY_BYTES);
        memcpy(r->list, list, GUESSES_KEY_BYTES);
        r->count = 0;
    }
    memcpy(r->element, element, GUESSES_KEY_BYTES);
    r->count++;
    return STATUS_OK;
}

/* Has shown the right proof.  Of rows that count nothing one is kept for each peer: what this
 * element is answered with tells nothing new, so the next time nothing need be written. */
static void forgive_one(struct guesses_row *row, size_t *n, const uint8_t *peer,
                        const uint8_t *list)
{
    struct guesses_row *r = find(row, *n, peer, list);

    if (r == NULL || r->count == 0)
        return;
    r->count = 0;
    for (size_t i = 0; i < *n;) {
        if (row[i].count == 0 && memcmp(row[i].peer, peer, GUESSES_KEY_BYTES) == 0 &&
            memcmp(row[i].list, list, GUESSES_KEY_BYTES) != 0)
            row[i] = row[--*n];
        else
            i++;
    }
}

/* The rows that `next` makes of the present ones: to the disk, then here. */
static enum status replace(struct guesses *g, struct guesses_row *next, size_t n, struct error *err)
{
    enum status s = write_rows(g, next, n, err);

    if (s == STATUS_OK) {
        mem_free(g->row);
        g->row = next;
        g->n = n;
    } else {
        mem_free(next);
    }
    return s;
}

static struct guesses_row *copy(const struct guesses *g)
{
    struct guesses_row *next = mem_alloc(GUESSES_ROWS_MAX, sizeof *next);

    if (next != NULL)
        memcpy(next, g->row, g->n * sizeof *next);
    return next;
}

/* To the disk, if anything has changed. */
static enum status settle(struct guesses *g, struct guesses_row *next, size_t n, enum status s,
                          struct error *err)
{
    if (s == STATUS_OK && (n != g->n || memcmp(next, g->row, n * sizeof *next) != 0))
        return replace(g, next, n, err);
    mem_free(next);
    if (s == STATUS_OK)
        return s;
    return error_set(err, s == STATUS_LIMIT ? STATUS_POLICY : s, "%s: %s", g->path,
                     status_words(s));
}

enum status guesses_note(struct guesses *g, const uint8_t *const *peers,
                         const uint8_t *const *elements, size_t n,
                         const uint8_t list[GUESSES_KEY_BYTES], struct error *err)
{
    struct guesses_row *next = copy(g);
    uint8_t name[GUESSES_KEY_BYTES];
    enum status s = next == NULL ? STATUS_MEMORY : name_list(name, g, list);
    size_t rows = g->n;

    for (size_t i = 0; i < n && s == STATUS_OK; i++)
        s = count_one(next, &rows, peers[i], name, elements[i]);
    return settle(g, next, rows, s, err);
}

enum status guesses_equal(struct guesses *g, const uint8_t *const *peers, size_t n,
                          const uint8_t list[GUESSES_KEY_BYTES], struct error *err)
{
    struct guesses_row *next = copy(g);
    uint8_t name[GUESSES_KEY_BYTES];
    enum status s = next == NULL ? STATUS_MEMORY : name_list(name, g, list);
    size_t rows = g->n;

    for (size_t i = 0; i < n && s == STATUS_OK; i++)
        forgive_one(next, &rows, peers[i], name);
    return settle(g, next, rows, s, err);
}

/* None of this one (NULL: of nobody) any more.  *was: how many there were. */
static enum status forget(struct guesses *g, const uint8_t *peer, uint64_t *was, struct error *err)
{
    struct guesses_row *next = copy(g);
    size_t rows = 0;

    *was = 0;
    if (next == NULL)
        return error_set(err, STATUS_MEMORY, "%s: no memory", g->path);
    for (size_t i = 0; i < g->n; i++) {
        if (peer == NULL || memcmp(g->row[i].peer, peer, GUESSES_KEY_BYTES) == 0)
            *was += g->row[i].count;
        else
            next[rows++] = g->row[i];
    }
    return replace(g, next, rows, err);
}

static enum status forget_by_order(struct guesses *g, const uint8_t *peer, const char *name,
                                   struct buf *out, struct error *err)
{
    uint64_t was;
    enum status s = forget(g, peer, &was, err);

    if (s != STATUS_OK)
        return s;
    if (was == 0)
        s = buf_printf(out, "no other lists of ids from %s\n", name);
    else
        s = buf_printf(out, "forgotten: %llu other lists of ids from %s\n", (unsigned long long)was,
                       name);
    return s == STATUS_OK ? s : error_set(err, s, "%s", status_words(s));
}

enum status guesses_order(const char *state, const struct sign_key *key, const uint8_t *peer,
                          const char *name, struct buf *out, struct error *err)
{
    char path[GUESSES_PATH_MAX];
    struct guesses g = {0};
    int lock = -1;
    enum status s;

    if (peer == NULL && strcmp(name, GUESSES_ALL) != 0)
        return error_set(err, STATUS_CONFIG, "--ids-forget: the roster has nobody else named %s",
                         name);
    snprintf(path, sizeof path, "%.*s/lock", GUESSES_PATH_MAX - 16, state);
    s = folder_make(state, err);
    if (s == STATUS_OK)
        s = file_lock(&lock, path, err);
    if (s == STATUS_OK)
        s = guesses_open(&g, state, key, true, err);
    if (s == STATUS_OK)
        s = forget_by_order(&g, peer, name, out, err);
    guesses_close(&g);
    file_unlock(lock);
    return s;
}
