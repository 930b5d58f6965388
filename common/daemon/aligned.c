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

enum { COUNT_FILE_MAX = 128, HEADER_MAX = 8192, FILE_MAX = 1 << 30 };

static const char OLD[] = "alignment 2\n"; /* before there were sections */

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

enum status aligned_judge(const struct aligned_counts *c, bool tells, uint32_t passes,
                          uint32_t most, struct error *err)
{
    if (c->told >= most)
        return error_set(err, STATUS_POLICY,
                         "policy.align.max_alignments: there were %" PRIu64 ", and %u are the most",
                         c->told, most);
    if (passes > most - c->told)
        return error_set(err, STATUS_POLICY,
                         "policy.align.max_alignments: there were %" PRIu64
                         ", one by %u keys counts "
                         "as %u, and %u are the most",
                         c->told, passes, passes, most);
    if (!tells && c->begun >= (uint64_t)ALIGNED_BEGUN * most)
        return error_set(err, STATUS_POLICY,
                         "policy.align.max_alignments: %" PRIu64 " have begun, most of which were "
                         "broken off, and %d times %u may",
                         c->begun, ALIGNED_BEGUN, most);
    return STATUS_OK;
}

static enum status count(const char *state, bool tells, uint32_t passes, uint32_t most,
                         struct error *err)
{
    char path[CONFIG_PATH_MAX], text[COUNT_FILE_MAX];
    struct aligned_counts c;
    enum status s = make_folder(path, state, "asked", err);

    if (s == STATUS_OK)
        s = read_counts(path, &c, err);
    if (s == STATUS_OK)
        s = aligned_judge(&c, tells, passes, most, err);
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

enum status aligned_begin(const char *state, const char *name, bool replace, uint32_t passes,
                          uint32_t most, struct error *err)
{
    const enum status s = replace ? STATUS_OK : aligned_free(state, name, err);

    return s == STATUS_OK ? count(state, false, passes, most, err) : s;
}

enum status aligned_tell(const char *state, uint32_t most, struct error *err)
{
    return count(state, true, 1, most, err);
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

static enum status print_section(struct buf *out, const struct aligned_section *s)
{
    return buf_printf(
        out, "section %u columns=%u trim=%d fold=%d unicode=%u duplicates=%u key %s\n", s->n,
        s->columns, s->trim, s->fold, (unsigned)s->unicode, (unsigned)s->duplicates, s->key);
}

/* Of a file whose rows are these n bytes. */
static enum status print_header(struct buf *out, const struct aligned_result *r, const void *rows,
                                size_t n)
{
    char hex[DIGEST_HEX_CHARS + 1];
    uint8_t sum[DIGEST_BYTES];
    uint32_t all = 0;
    enum status s;

    for (uint32_t k = 0; k < r->sections_n; k++)
        all += r->section[k].n;
    digest_hex(hex, r->transcript, DIGEST_BYTES);
    s = buf_printf(out, "alignment 3\nname %s\ntranscript %s\n%s %u\n", r->name, hex,
                   r->labelled ? "labelled" : "common", all);
    for (uint32_t k = 0; k < r->sections_n && s == STATUS_OK; k++)
        s = print_section(out, &r->section[k]);
    if (s != STATUS_OK)
        return s;
    digest_all(sum, out, rows, n);
    digest_hex(hex, sum, DIGEST_BYTES);
    return buf_printf(out, "sum %s\n\n", hex);
}

/* The bytes of its line; 0: it is none. */
static size_t read_section(struct aligned *a, const char *text)
{
    struct aligned_section *s = &a->section[a->sections_n];
    unsigned trim, fold, unicode, duplicates;
    int end = 0;

    if (a->sections_n == ALIGNED_SECTIONS_MAX ||
        sscanf(text,
               "section %9u columns=%2u trim=%1u fold=%1u unicode=%1u duplicates=%1u key "
               "%127[^\n]%n",
               &s->n, &s->columns, &trim, &fold, &unicode, &duplicates, s->key, &end) != 7 ||
        end == 0 || text[end] != '\n' || s->n > ALIGN_IDS_MAX - a->n || s->columns < 1 ||
        s->columns > CONFIG_ALIGN_COLUMNS_MAX || unicode > CONFIG_UNICODE_NONE ||
        duplicates > CONFIG_DUPLICATES_ALL)
        return 0;
    s->trim = trim != 0;
    s->fold = fold != 0;
    s->unicode = (enum config_unicode)unicode;
    s->duplicates = (enum config_duplicates)duplicates;
    s->from = a->n;
    a->n += s->n;
    a->sections_n++;
    return (size_t)end + 1;
}

/* What sscanf lets pass and is not canonical shows when it is printed again. */
static bool read_header(struct aligned *a, const char *text)
{
    char hex[DIGEST_HEX_CHARS + 1], rows[9] = "";
    int head = 0, sum = 0;
    size_t at, n = 1;

    if (sscanf(text, "alignment 3\nname %40[a-z0-9-]\ntranscript %64[0-9a-f]\n%8[a-z] %*9[0-9]%n",
               a->name, hex, rows, &head) != 3 ||
        head == 0 || text[head] != '\n' || !digest_from_hex(a->transcript, DIGEST_BYTES, hex))
        return false;
    a->labelled = strcmp(rows, "labelled") == 0;
    for (at = (size_t)head + 1; strncmp(text + at, "section ", 8) == 0 && n > 0; at += n)
        n = read_section(a, text + at);
    (void)sscanf(text + at, "sum %*64[0-9a-f]%n", &sum);
    if (n == 0 || sum == 0 || text[at + (size_t)sum] != '\n' || text[at + (size_t)sum + 1] != '\n')
        return false;
    a->lines = at + (size_t)sum + 2;
    return true;
}

/* --- results --- */

enum status aligned_line(struct buf *out, enum config_duplicates duplicates, uint32_t occurrence,
                         const void *spelling, size_t n)
{
    enum status s = STATUS_OK;

    if (n > 0 && duplicates == CONFIG_DUPLICATES_ALL)
        s = buf_printf(out, "%u\t", occurrence);
    if (s == STATUS_OK)
        s = n > 0 ? buf_append(out, spelling, n) : buf_append(out, "\n", 1);
    return s;
}

enum status aligned_keep(const char *state, const struct aligned_result *r, struct error *err)
{
    char path[CONFIG_PATH_MAX];
    struct buf out;
    enum status s = make_folder(path, state, r->name, err);

    if (s != STATUS_OK)
        return s;
    buf_init(&out, r->lines->len + HEADER_MAX);
    s = print_header(&out, r, r->lines->data, r->lines->len);
    if (s == STATUS_OK)
        s = buf_append(&out, r->lines->data, r->lines->len);
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
static bool read_line(struct aligned *a, const struct aligned_section *of, uint32_t i, size_t from,
                      size_t n)
{
    const char *line = (const char *)a->text.data + from, *tab = memchr(line, '\t', n);
    const bool numbered = of->duplicates == CONFIG_DUPLICATES_ALL && n > 0;
    const size_t head = numbered && tab != NULL ? (size_t)(tab - line) + 1 : 0;

    a->at[i] = from + head;
    a->size[i] = (uint32_t)(n - head);
    return !numbered || (tab != NULL && read_number(&a->occurrence[i], line, head - 1));
}

static bool read_lines(struct aligned *a, size_t from, size_t end)
{
    const struct aligned_section *of = a->section;
    uint32_t i = 0;

    for (size_t at = from; at < end; i++) {
        const uint8_t *line = a->text.data + at, *over = memchr(line, '\n', end - at);

        if (over == NULL || i == a->n)
            return false;
        while (i == of->from + of->n)
            of++;
        if (!read_line(a, of, i, at, (size_t)(over - line)))
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
    bool fits;

    if (strlen(text) != all || !read_header(a, text) || strcmp(a->name, name) != 0)
        return STATUS_DATA;
    buf_init(&again, HEADER_MAX);
    fits = print_header(&again,
                        &(struct aligned_result){.name = a->name,
                                                 .transcript = a->transcript,
                                                 .labelled = a->labelled,
                                                 .section = a->section,
                                                 .sections_n = a->sections_n},
                        text + a->lines, all - a->lines) == STATUS_OK &&
           again.len == a->lines && memcmp(again.data, text, a->lines) == 0;
    buf_deinit(&again);
    if (!fits)
        return STATUS_DATA;
    a->at = mem_alloc(a->n, sizeof *a->at);
    a->size = mem_alloc(a->n, sizeof *a->size);
    a->occurrence = mem_alloc(a->n, sizeof *a->occurrence);
    if (a->at == NULL || a->size == NULL || a->occurrence == NULL)
        return STATUS_MEMORY;
    return read_lines(a, a->lines, all) ? STATUS_OK : STATUS_DATA;
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
    if (s == STATUS_OK && strncmp((const char *)a->text.data, OLD, sizeof OLD - 1) == 0)
        return error_set(err, STATUS_DATA, "%s: of an earlier version: let all sides align again",
                         a->path);
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
