/* aligned.c -- files of alignments.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/aligned.h"

#include "common/align/course.h"
#include "common/base/file.h"
#include "common/base/folder.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/crypto/secret.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COUNT_FILE_MAX = 128, HEADER_MAX = 256 };

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
                           "%s is there already: replace: true would replace it", path);
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

/* --- results --- */

static enum status print_result(struct buf *out, const struct idlist *l,
                                const struct aligned_result *r)
{
    uint32_t *row = mem_alloc(l->n, sizeof *row), common = 0;
    char hex[DIGEST_HEX_CHARS + 1];
    enum status s;

    if (row == NULL)
        return STATUS_MEMORY;
    for (uint32_t i = 0; i < l->n; i++) {
        if (r->places[i] == ALIGN_NOWHERE)
            continue;
        row[r->places[i]] = i;
        common++;
    }
    digest_hex(hex, r->transcript, DIGEST_BYTES);
    s = buf_printf(out, "alignment 1\nname %s\ntranscript %s\ncommon %u\n\n", r->name, hex, common);
    for (uint32_t p = 0; p < common && s == STATUS_OK; p++) {
        const size_t from = l->at[row[p]];

        s = buf_append(out, l->text.data + from, l->at[row[p] + 1] - from);
    }
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
    buf_init(&out, l->text.len + HEADER_MAX);
    s = print_result(&out, l, r);
    if (s == STATUS_OK)
        s = file_write_atomic(path, out.data, out.len, 0600, err);
    else
        error_set(err, s, "%s: %s", path, status_words(s));
    buf_deinit(&out);
    return s;
}
