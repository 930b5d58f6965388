/* aligned.c -- files of alignments.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/aligned.h"

#include "common/align/course.h"
#include "common/base/file.h"
#include "common/base/folder.h"
#include "common/base/mem.h"
#include "common/config/key_text.h"
#include "common/crypto/digest.h"
#include "common/crypto/secret.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT_FILE_MAX = 128, HEADER_MAX = 1024, OCCURRENCE_MAX = 12, FILE_MAX = 1 << 30 };

static void path_of(char path[CONFIG_PATH_MAX], const char *state, const char *name)
{
    snprintf(path, CONFIG_PATH_MAX, "%.*s/alignments/%.41s", CONFIG_PATH_MAX - 64, state, name);
}

static enum status make_folder(char path[CONFIG_PATH_MAX], const char *state, const char *name,
                               struct error *err)
{
    enum status s;

    snprintf(path, CONFIG_PATH_MAX, "%.*s/alignments", CONFIG_PATH_MAX - 64, state);
    s = folder_make(path, err);
    path_of(path, state, name);
    return s;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

size_t aligned_names(aligned_name *names, size_t most, const char *state)
{
    char path[CONFIG_PATH_MAX];
    const struct dirent *e;
    size_t n = 0;
    DIR *d;

    snprintf(path, sizeof path, "%.*s/alignments", CONFIG_PATH_MAX - 16, state);
    d = opendir(path);
    while (d != NULL && n < most && (e = readdir(d)) != NULL)
        if (key_text_is_alignment(e->d_name))
            snprintf(names[n++], sizeof *names, "%.*s", CONFIG_ALIGN_NAME_MAX, e->d_name);
    if (d != NULL)
        closedir(d);
    qsort(names, n, sizeof *names, by_name);
    return n;
}

/* --- how many there were --- */

static void print_counts(char text[COUNT_FILE_MAX], const struct aligned_counts *c)
{
    snprintf(text, COUNT_FILE_MAX, "begun %" PRIu64 "\ntold %" PRIu64 "\n", c->begun, c->told);
}

/* A number alone: before the two were told apart, each has counted for good. */
static bool read_text(struct aligned_counts *c, const char *text)
{
    char again[COUNT_FILE_MAX];

    if (sscanf(text, "begun %18" SCNu64 "\ntold %18" SCNu64 "\n", &c->begun, &c->told) == 2) {
        print_counts(again, c);
        return strcmp(again, text) == 0 && c->told <= c->begun;
    }
    if (sscanf(text, "%9" SCNu64 "\n", &c->told) != 1)
        return false;
    c->begun = c->told;
    snprintf(again, sizeof again, "%" PRIu64 "\n", c->told);
    return strcmp(again, text) == 0;
}

static enum status read_counts(const char *path, struct aligned_counts *c, struct error *err)
{
    struct buf text;
    enum status s = STATUS_OK;

    *c = (struct aligned_counts){.begun = 0};
    if (access(path, F_OK) != 0)
        return STATUS_OK;
    buf_init(&text, COUNT_FILE_MAX);
    s = file_read_own(path, &text, err);
    if (s == STATUS_OK)
        s = buf_append(&text, "", 1);
    if (s == STATUS_OK)
        s = read_text(c, (const char *)text.data) ? STATUS_OK : STATUS_DATA;
    if (s == STATUS_DATA)
        s = error_set(err, STATUS_DATA, "%s: no count of alignments", path);
    buf_deinit(&text);
    return s;
}

enum status aligned_counts_read(const char *state, struct aligned_counts *c, struct error *err)
{
    char path[CONFIG_PATH_MAX];

    path_of(path, state, "asked");
    return read_counts(path, c, err);
}

enum status aligned_judge(const struct aligned_counts *c, bool tells, uint32_t most,
                          struct error *err)
{
    if (c->told >= most)
        return error_set(err, STATUS_POLICY,
                         "policy.align.max_alignments: there were %" PRIu64 ", and %u are the most",
                         c->told, most);
    if (!tells && c->begun >= (uint64_t)ALIGNED_BEGUN * most)
        return error_set(err, STATUS_POLICY,
                         "policy.align.max_alignments: %" PRIu64 " have begun, most of which were "
                         "broken off, and %d times %u may",
                         c->begun, ALIGNED_BEGUN, most);
    return STATUS_OK;
}

static enum status count(const char *state, bool tells, uint32_t most, struct error *err)
{
    char path[CONFIG_PATH_MAX], text[COUNT_FILE_MAX];
    struct aligned_counts c;
    enum status s = make_folder(path, state, "asked", err);

    if (s == STATUS_OK)
        s = read_counts(path, &c, err);
    if (s == STATUS_OK)
        s = aligned_judge(&c, tells, most, err);
    if (s != STATUS_OK)
        return s;
    c.begun += !tells || c.told == c.begun;
    c.told += tells;
    print_counts(text, &c);
    return file_write_atomic(path, text, strlen(text), 0600, err);
}

enum status aligned_free(const char *state, const char *name, struct error *err)
{
    char path[CONFIG_PATH_MAX];

    path_of(path, state, name);
    return access(path, F_OK) != 0
               ? STATUS_OK
               : error_set(err, STATUS_CONFIG,
                           "alignment %s is there already: replace: true replaces it", name);
}

enum status aligned_begin(const char *state, const char *name, bool replace, uint32_t most,
                          struct error *err)
{
    const enum status s = replace ? STATUS_OK : aligned_free(state, name, err);

    return s == STATUS_OK ? count(state, false, most, err) : s;
}

enum status aligned_tell(const char *state, uint32_t most, struct error *err)
{
    return count(state, true, most, err);
}

/* --- the header --- */

static void digest_all(uint8_t out[DIGEST_BYTES], const struct buf *head, const void *rows,
                       size_t n)
{
    struct digest d;

    digest_begin(&d);
    digest_update(&d, head->data, head->len);
    digest_update(&d, rows, n);
    digest_final(&d, out);
    digest_deinit(&d);
}

/* Of a file whose rows are these n bytes. */
static enum status print_header(struct buf *out, const struct aligned *a, const void *rows,
                                size_t n)
{
    const struct config_align *as = &a->as;
    char hex[DIGEST_HEX_CHARS + 1];
    uint8_t sum[DIGEST_BYTES];
    enum status s;

    digest_hex(hex, a->transcript, DIGEST_BYTES);
    s = buf_printf(out,
                   "alignment 2\nname %s\ntranscript %s\n%s %u\nkey %s\nform columns=%u trim=%d "
                   "fold=%d unicode=%u duplicates=%u\n",
                   a->name, hex, a->labelled ? "labelled" : "common", a->n,
                   as->key[0] == 0 ? "id" : as->key, a->columns, as->trim, as->fold,
                   (unsigned)as->unicode, (unsigned)as->duplicates);
    if (s != STATUS_OK)
        return s;
    digest_all(sum, out, rows, n);
    digest_hex(hex, sum, DIGEST_BYTES);
    return buf_printf(out, "sum %s\n\n", hex);
}

/* What sscanf lets pass and is not canonical shows when it is printed again. */
static bool read_header(struct aligned *a, const char *text, size_t *bytes)
{
    char hex[DIGEST_HEX_CHARS + 1], rows[9] = "";
    unsigned trim, fold, unicode, duplicates;
    int end = 0;
    const int n = sscanf(text,
                         "alignment 2\nname %40[a-z0-9-]\ntranscript %64[0-9a-f]\n%8[a-z] %9u\nkey "
                         "%127[^\n]\nform columns=%2u trim=%1u fold=%1u unicode=%1u "
                         "duplicates=%1u\nsum %*64[0-9a-f]%n",
                         a->name, hex, rows, &a->n, a->as.key, &a->columns, &trim, &fold, &unicode,
                         &duplicates, &end);

    a->labelled = strcmp(rows, "labelled") == 0;
    a->as.trim = n == 10 && trim != 0;
    a->as.fold = n == 10 && fold != 0;
    a->as.unicode = (enum config_unicode)(n == 10 ? unicode : 0);
    a->as.duplicates = (enum config_duplicates)(n == 10 ? duplicates : 0);
    *bytes = (size_t)end + 2;
    return n == 10 && end > 0 && text[end] == '\n' && text[end + 1] == '\n' &&
           digest_from_hex(a->transcript, DIGEST_BYTES, hex) && a->columns >= 1 &&
           a->columns <= CONFIG_ALIGN_COLUMNS_MAX && unicode <= CONFIG_UNICODE_NONE &&
           duplicates <= CONFIG_DUPLICATES_ALL && a->n <= ALIGN_IDS_MAX;
}

/* --- results --- */

static enum status print_rows(struct buf *out, const struct idlist *l, const uint32_t *row,
                              uint32_t n)
{
    enum status s = STATUS_OK;

    for (uint32_t p = 0; p < n && s == STATUS_OK; p++) {
        const bool there = row[p] != ALIGN_NOWHERE;
        const size_t from = there ? l->at[row[p]] : 0;

        if (there && l->as.duplicates == CONFIG_DUPLICATES_ALL)
            s = buf_printf(out, "%u\t", l->occurrence[row[p]]);
        if (s == STATUS_OK)
            s = there ? buf_append(out, l->text.data + from, l->at[row[p] + 1] - from)
                      : buf_append(out, "\n", 1);
    }
    return s;
}

static enum status print_result(struct buf *out, const struct idlist *l,
                                const struct aligned_result *r)
{
    const uint32_t most = r->labelled > l->n ? r->labelled : l->n;
    uint32_t *row = mem_alloc(most, sizeof *row);
    struct aligned a = {
        .as = l->as, .columns = l->columns, .labelled = r->labelled > 0, .n = r->labelled};
    struct buf rows;
    enum status s;

    if (row == NULL)
        return STATUS_MEMORY;
    for (uint32_t p = 0; p < most; p++)
        row[p] = ALIGN_NOWHERE;
    snprintf(a.name, sizeof a.name, "%s", r->name);
    memcpy(a.transcript, r->transcript, sizeof a.transcript);
    for (uint32_t i = 0; i < l->n; i++) {
        if (r->places[i] == ALIGN_NOWHERE)
            continue;
        row[r->places[i]] = i;
        a.n += r->labelled == 0;
    }
    buf_init(&rows, out->max);
    s = print_rows(&rows, l, row, a.n);
    if (s == STATUS_OK)
        s = print_header(out, &a, rows.data, rows.len);
    if (s == STATUS_OK)
        s = buf_append(out, rows.data, rows.len);
    secret_buf_deinit(&rows);
    mem_free(row);
    return s;
}

enum status aligned_keep(const char *state, const struct idlist *l, const struct aligned_result *r,
                         struct error *err)
{
    char path[CONFIG_PATH_MAX];
    struct buf out;
    enum status s = make_folder(path, state, r->name, err);

    if (s != STATUS_OK)
        return s;
    buf_init(&out, l->text.len + r->labelled + HEADER_MAX + (size_t)l->n * OCCURRENCE_MAX);
    s = print_result(&out, l, r);
    if (s == STATUS_OK)
        s = file_write_atomic(path, out.data, out.len, 0600, err);
    else
        error_set(err, s, "%s: %s", path, status_words(s));
    secret_buf_deinit(&out);
    return s;
}

/* --- read again --- */

/* n digits, as few as there can be. */
static bool read_number(uint32_t *out, const char *text, size_t n)
{
    if (n < 1 || n > 8 || (n > 1 && text[0] == '0'))
        return false;
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *out = 10 * *out + (uint32_t)(text[i] - '0');
    }
    return true;
}

/* One line: a spelling, and perhaps a number and a tab before it; or nothing. */
static bool read_line(struct aligned *a, uint32_t i, size_t from, size_t n)
{
    const char *line = (const char *)a->text.data + from, *tab = memchr(line, '\t', n);
    const bool numbered = a->as.duplicates == CONFIG_DUPLICATES_ALL && (n > 0 || !a->labelled);
    const size_t head = numbered && tab != NULL ? (size_t)(tab - line) + 1 : 0;

    a->at[i] = from + head;
    a->size[i] = (uint32_t)(n - head);
    return !numbered || (tab != NULL && read_number(&a->occurrence[i], line, head - 1));
}

static bool read_lines(struct aligned *a, size_t from, size_t end)
{
    uint32_t i = 0;

    for (size_t at = from; at < end; i++) {
        const uint8_t *line = a->text.data + at, *over = memchr(line, '\n', end - at);

        if (over == NULL || i == a->n || !read_line(a, i, at, (size_t)(over - line)))
            return false;
        at += (size_t)(over - line) + 1;
    }
    return i == a->n;
}

static enum status parse(struct aligned *a, const char *name)
{
    const size_t all = a->text.len - 1; /* without the final 0 */
    const char *text = (const char *)a->text.data;
    struct buf again;
    size_t head;
    bool fits;

    if (strlen(text) != all || !read_header(a, text, &head) || strcmp(a->name, name) != 0)
        return STATUS_DATA;
    buf_init(&again, HEADER_MAX);
    fits = print_header(&again, a, text + head, all - head) == STATUS_OK && again.len == head &&
           memcmp(again.data, text, head) == 0;
    buf_deinit(&again);
    if (!fits)
        return STATUS_DATA;
    a->at = mem_alloc(a->n, sizeof *a->at);
    a->size = mem_alloc(a->n, sizeof *a->size);
    a->occurrence = mem_alloc(a->n, sizeof *a->occurrence);
    if (a->at == NULL || a->size == NULL || a->occurrence == NULL)
        return STATUS_MEMORY;
    return read_lines(a, head, all) ? STATUS_OK : STATUS_DATA;
}

enum status aligned_load(struct aligned *a, const char *state, const char *name, struct error *err)
{
    enum status s;

    *a = (struct aligned){.n = 0};
    buf_init(&a->text, FILE_MAX);
    path_of(a->path, state, name);
    if (!key_text_is_alignment(name) || access(a->path, F_OK) != 0)
        return error_set(err, STATUS_CONFIG,
                         "no alignment \"%.41s\": %s is not there (vfl job submit align)", name,
                         a->path);
    s = file_read_own(a->path, &a->text, err);
    if (s != STATUS_OK)
        return s;
    s = buf_append(&a->text, "", 1);
    if (s == STATUS_OK)
        s = parse(a, name);
    if (s == STATUS_DATA)
        return error_set(err, s,
                         "%s: cut, changed, or no alignment of that name: let it be made again",
                         a->path);
    if (s != STATUS_OK)
        return error_set(err, s, "%s: %s", a->path, status_words(s));
    return a->n > 0 ? s : error_set(err, STATUS_DATA, "%s: it has no rows", a->path);
}

void aligned_deinit(struct aligned *a)
{
    secret_buf_deinit(&a->text);
    mem_free(a->at);
    mem_free(a->size);
    mem_free(a->occurrence);
    *a = (struct aligned){.n = 0};
}
