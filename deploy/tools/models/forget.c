/* forget.c -- line by line out of every kind of file that has ids in it as they are.
 *
 * The kinds are one table: whatever comes to keep lists of ids under state gets a row there.  The
 * ledger has no ids but under its key, and models have none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/models/forget.h"

#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/daemon/answers.h"
#include "common/daemon/models.h"
#include "common/data/table.h"
#include "common/data/text.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LIST_MAX = 1 << 30 };

/* Lines of cells between commas, of which one is an id. */
static const struct holder {
    const char *folder; /* under state */
    int deep;           /* 1: in each folder there */
    const char *ending; /* of their names */
    int cell;           /* from 0 */
    const char *what;
} holders[] = {
    {"jobs", 0, ".ids", 0, "lines of lists of jobs"},
    {"runs", 1, "scores.csv", 0, "scores of jobs"},
    {"runs", 1, "scores.csv.without", 0, "lines that say who was away"},
    {"runs", 1, "answers.csv", 1, "answers of contributions"},
};

/* Has a line, which ends with the text or an end of line, that id in that cell? */
static bool is_of(const char *line, int cell, const char *id)
{
    const size_t len = strlen(id);

    for (; cell > 0; cell--) {
        line += strcspn(line, ",\r\n");
        if (*line++ != ',')
            return false;
    }
    return strcspn(line, ",\r\n") == len && memcmp(line, id, len) == 0;
}

/* One file without such lines; *n counts those that are gone. */
static enum status forget_in_file(const char *path, int cell, const char *id, size_t *n,
                                  struct error *err)
{
    struct buf was, left;
    size_t gone = 0, bytes;
    enum status s;

    buf_init(&was, LIST_MAX + 1);
    buf_init(&left, LIST_MAX);
    s = file_read_own(path, &was, err);
    bytes = was.len;
    if (s == STATUS_OK && buf_append(&was, "", 1) != STATUS_OK)
        s = error_set(err, STATUS_MEMORY, "%s: no memory", path);
    for (size_t at = 0, next; s == STATUS_OK && at < bytes; at = next) {
        const char *line = (const char *)was.data + at;
        const char *end = memchr(line, '\n', bytes - at);
        const size_t all = end == NULL ? bytes - at : (size_t)(end - line) + 1;

        next = at + all;
        if (is_of(line, cell, id))
            gone++;
        else if (buf_append(&left, line, all) != STATUS_OK)
            s = error_set(err, STATUS_MEMORY, "%s: no memory", path);
    }
    if (s == STATUS_OK && gone > 0)
        s = file_write_atomic(path, left.data, left.len, 0600, err);
    *n += s == STATUS_OK ? gone : 0;
    buf_deinit(&was);
    buf_deinit(&left);
    return s;
}

static bool ends_with(const char *name, const char *ending)
{
    const size_t n = strlen(name), m = strlen(ending);

    return n >= m && strcmp(name + n - m, ending) == 0;
}

static enum status forget_in_folder(const char *folder, const struct holder *h, int deep,
                                    const char *id, size_t *n, struct error *err)
{
    DIR *d = opendir(folder);
    char path[PATH_MAX];
    enum status s = STATUS_OK;

    if (d == NULL && (errno == ENOENT || errno == ENOTDIR))
        return STATUS_OK;
    if (d == NULL)
        return error_set(err, STATUS_IO, "%s: %s", folder, strerror(errno));
    for (const struct dirent *e; s == STATUS_OK && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.' ||
            (size_t)snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= sizeof path)
            continue;
        if (deep > 0)
            s = forget_in_folder(path, h, deep - 1, id, n, err);
        else if (ends_with(e->d_name, h->ending))
            s = forget_in_file(path, h->cell, id, n, err);
    }
    closedir(d);
    return s;
}

static enum status forget_answers(const char *state, const char *id, struct error *err)
{
    char(*runs)[PACKAGE_RUN_MAX + 1] = mem_alloc(MODELS_MAX, sizeof *runs);
    size_t n = 0, all = 0;
    enum status s = runs == NULL ? error_set(err, STATUS_MEMORY, "no memory")
                                 : models_list(state, runs, MODELS_MAX, &n, err);

    for (size_t i = 0; i < n && s == STATUS_OK; i++) {
        size_t gone = 0;

        s = answers_forget(state, runs[i], id, &gone, err);
        all += gone;
    }
    if (s == STATUS_OK)
        printf("%zu kept answers are forgotten\n", all);
    mem_free(runs);
    return s;
}

/* A daemon at work would write back what it has read. */
static enum status forget_lists(const char *state, const char *id, struct error *err)
{
    char path[PATH_MAX];
    int lock;
    enum status s;

    snprintf(path, sizeof path, "%s/lock", state);
    s = file_lock(&lock, path, err);
    if (s != STATUS_OK)
        return s;
    for (size_t i = 0; i < sizeof holders / sizeof *holders && s == STATUS_OK; i++) {
        size_t n = 0;

        snprintf(path, sizeof path, "%s/%s", state, holders[i].folder);
        s = forget_in_folder(path, &holders[i], holders[i].deep, id, &n, err);
        if (s == STATUS_OK && n > 0)
            printf("%zu %s are forgotten\n", n, holders[i].what);
    }
    file_unlock(lock);
    return s;
}

enum status forget_id(const char *state, const char *id, struct error *err)
{
    enum status s = STATUS_OK;

    if (!text_is_plain(id, strlen(id), TABLE_ID_MAX))
        return error_set(err, STATUS_CONFIG,
                         "--id: 1 to 64 bytes of printable ASCII without quotes, commas or outer "
                         "spaces");
    if (access(state, W_OK) != 0)
        return error_set(err, STATUS_IO, "%s: %s", state, strerror(errno));
    s = forget_answers(state, id, err);
    if (s == STATUS_OK)
        s = forget_lists(state, id, err);
    if (s == STATUS_OK)
        printf("what stays: models that were trained on the record, and in a party's ledger a "
               "keyed digest of the id, with what it has spent (docs/models.md)\n");
    return s;
}
