/* forget.c -- line by line out of every kind of file that has ids in it as they are.
 *
 * The kinds are one table: whatever comes to keep lists of ids under state gets a row there.  The
 * ledger has no ids but under its key, and models have none.  Alignments have, and stay: their
 * places are everybody's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/models/forget.h"

#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/daemon/answers.h"
#include "common/daemon/models.h"
#include "common/daemon/placed.h"
#include "common/data/csv.h"
#include "common/data/table.h"
#include "common/data/text.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_MAX = 1 << 30, ALIGNMENTS_MAX = 256 };

/* Who is forgotten: an id, as alignments spell it, too. */
struct whom {
    const char *id;
    char *cell;        /* as tables have it, in quotes where there is a comma, say */
    struct placed *of; /* n alignments that are here, those that cannot be read left out */
    size_t n;
    bool unread; /* some are left out: answers of unknown alignments may be theirs */
};

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

/* Does a line, which ends with the text or an end of line, begin with that cell? */
static bool begins(const char *line, const char *cell)
{
    const size_t len = strlen(cell);

    return strncmp(line, cell, len) == 0 && strcspn(line + len, ",\r\n") == 0;
}

/* Has it that id in that cell?  Lists of ids have it as it is. */
static bool is_of(const char *line, int cell, const struct whom *w)
{
    for (; cell > 0; cell--) {
        line += strcspn(line, ",\r\n");
        if (*line++ != ',')
            return false;
    }
    return begins(line, w->cell) || begins(line, w->id);
}

/* One file without such lines; *n counts those that are gone. */
static enum status forget_in_file(const char *path, int cell, const struct whom *w, size_t *n,
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
        if (is_of(line, cell, w))
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
                                    const struct whom *w, size_t *n, struct error *err)
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
            s = forget_in_folder(path, h, deep - 1, w, n, err);
        else if (ends_with(e->d_name, h->ending))
            s = forget_in_file(path, h->cell, w, n, err);
    }
    closedir(d);
    return s;
}

/* Does that place of an alignment spell the id? */
static bool spells(const struct placed *p, uint32_t place, const char *id)
{
    size_t n;
    const char *text = aligned_spelling(&p->file, place, &n);

    return n == strlen(id) && memcmp(text, id, n) == 0;
}

/* An answer of an alignment that is no longer here can be asked for by nobody, nor can anybody say
 * whose it is: it goes, too, unless it may be of one that is here and cannot be read. */
static bool goes(const void *owner, const char *alignment, const char *id, size_t n)
{
    const struct whom *w = owner;
    char hex[DIGEST_HEX_CHARS + 1];

    if (alignment[0] == 0)
        return n == strlen(w->id) && memcmp(id, w->id, n) == 0;
    for (size_t i = 0; i < w->n; i++) {
        const struct placed *p = &w->of[i];
        const unsigned long place = strtoul(id, NULL, 10); /* a comma stops it */

        digest_hex(hex, p->places.digest, sizeof p->places.digest);
        if (strcmp(hex, alignment) == 0)
            return place < p->file.n && spells(p, (uint32_t)place, w->id);
    }
    return !w->unread;
}

static enum status forget_answers(const char *state, const struct whom *w, struct error *err)
{
    const struct answers_goes whose = {w, goes};
    char(*runs)[PACKAGE_RUN_MAX + 1] = mem_alloc(MODELS_MAX, sizeof *runs);
    size_t n = 0, all = 0;
    enum status s = runs == NULL ? error_set(err, STATUS_MEMORY, "no memory")
                                 : models_list(state, runs, MODELS_MAX, &n, err);

    for (size_t i = 0; i < n && s == STATUS_OK; i++) {
        size_t gone = 0;

        s = answers_forget(state, runs[i], &whose, &gone, err);
        all += gone;
    }
    if (s == STATUS_OK)
        printf("%zu kept answers are forgotten\n", all);
    mem_free(runs);
    return s;
}

/* A daemon at work would write back what it has read. */
static enum status forget_lists(const char *state, const struct whom *w, struct error *err)
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
        s = forget_in_folder(path, &holders[i], holders[i].deep, w, &n, err);
        if (s == STATUS_OK && n > 0)
            printf("%zu %s are forgotten\n", n, holders[i].what);
    }
    file_unlock(lock);
    return s;
}

/* --- alignments --- */

static enum status open_alignments(struct whom *w, const char *state, struct error *err)
{
    aligned_name *names = mem_alloc(ALIGNMENTS_MAX, sizeof *names);
    size_t n = 0;

    w->of = mem_alloc(ALIGNMENTS_MAX, sizeof *w->of);
    if (names != NULL && w->of != NULL)
        n = aligned_names(names, ALIGNMENTS_MAX, state);
    w->unread = n == ALIGNMENTS_MAX; /* there may be more */
    for (size_t i = 0; i < n; i++) {
        struct error why = {0};

        if (placed_open(&w->of[w->n], state, names[i], &why) == STATUS_OK) {
            w->n++;
            continue;
        }
        printf("who is in it cannot be said, and answers of it stay: %s\n", why.text);
        w->unread = true;
        placed_close(&w->of[w->n]);
    }
    mem_free(names);
    return names != NULL && w->of != NULL ? STATUS_OK : error_set(err, STATUS_MEMORY, "no memory");
}

/* As often as it is there. */
static size_t places_of(const struct placed *p, const char *id, uint32_t *first)
{
    size_t n = 0;

    for (uint32_t place = p->file.n; place-- > 0;) {
        if (!spells(p, place, id))
            continue;
        *first = place;
        n++;
    }
    return n;
}

static bool is_aligned(const struct whom *w)
{
    uint32_t first;

    for (size_t i = 0; i < w->n; i++)
        if (places_of(&w->of[i], w->id, &first) > 0)
            return true;
    return false;
}

static void say_aligned(const struct whom *w)
{
    uint32_t first = 0;

    for (size_t i = 0; i < w->n; i++)
        if (places_of(&w->of[i], w->id, &first) > 0)
            printf(
                "alignment %s lists it still, at place %u: places are everybody's, so take the "
                "row out of align.table on every side, let all align again in its place (vfl job "
                "submit align, with replace: true), or delete alignments/%s on every side where "
                "nobody uses it any more\n",
                w->of[i].file.name, first, w->of[i].file.name);
}

static enum status forget(const struct whom *w, const char *state, struct error *err)
{
    enum status s = forget_answers(state, w, err);

    if (s == STATUS_OK)
        s = forget_lists(state, w, err);
    if (s == STATUS_OK)
        say_aligned(w);
    if (s == STATUS_OK)
        printf("what stays: models that were trained on the record, and in a party's ledger a "
               "keyed digest of the id, with what it has spent (docs/models.md)\n");
    return s;
}

static enum status spell_cell(struct whom *w, struct error *err)
{
    const size_t room = 2 * strlen(w->id) + 3;
    FILE *f = NULL;

    w->cell = mem_alloc(room, 1);
    if (w->cell != NULL)
        f = fmemopen(w->cell, room, "w");
    if (f == NULL)
        return error_set(err, STATUS_MEMORY, "no memory");
    csv_put(f, w->id, strlen(w->id));
    return fclose(f) == 0 ? STATUS_OK : error_set(err, STATUS_MEMORY, "no memory");
}

enum status forget_id(const char *state, const char *id, struct error *err)
{
    struct whom w = {.id = id};
    enum status s = STATUS_OK;

    if (access(state, W_OK) != 0)
        s = error_set(err, STATUS_IO, "%s: %s", state, strerror(errno));
    if (s == STATUS_OK)
        s = open_alignments(&w, state, err);
    if (s == STATUS_OK && !text_is_plain(id, strlen(id), TABLE_ID_MAX) && !is_aligned(&w))
        s = error_set(err, STATUS_CONFIG,
                      "--id: 1 to 64 bytes of printable ASCII without quotes, commas or outer "
                      "spaces, or an id as an alignment here spells it");
    if (s == STATUS_OK)
        s = spell_cell(&w, err);
    if (s == STATUS_OK)
        s = forget(&w, state, err);
    for (size_t i = 0; i < w.n; i++)
        placed_close(&w.of[i]);
    mem_free(w.of);
    mem_free(w.cell);
    return s;
}
