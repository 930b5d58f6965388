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

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COUNT_FILE_MAX = 64, HEADER_MAX = 256 };

static enum status make_folder(char path[CONFIG_PATH_MAX], const char *state, const char *name,
                               struct error *err)
{
    enum status s;

    snprintf(path, CONFIG_PATH_MAX, "%.*s/alignments", CONFIG_PATH_MAX - 64, state);
    s = folder_make(path, err);
    snprintf(path, CONFIG_PATH_MAX, "%.*s/alignments/%.41s", CONFIG_PATH_MAX - 64, state, name);
    return s;
}

static enum status read_count(const char *path, uint32_t *n, struct error *err)
{
    char again[COUNT_FILE_MAX];
    struct buf text;
    enum status s = STATUS_OK;

    *n = 0;
    if (access(path, F_OK) != 0)
        return STATUS_OK;
    buf_init(&text, COUNT_FILE_MAX);
    s = file_read_own(path, &text, err);
    if (s == STATUS_OK)
        s = buf_append(&text, "", 1);
    if (s == STATUS_OK) {
        (void)sscanf((const char *)text.data, "%9u", n);
        snprintf(again, sizeof again, "%u\n", *n);
        s = strcmp(again, (const char *)text.data) == 0 ? STATUS_OK : STATUS_DATA;
    }
    if (s == STATUS_DATA)
        s = error_set(err, STATUS_DATA, "%s: no count of alignments", path);
    buf_deinit(&text);
    return s;
}

enum status aligned_count(const char *state, uint32_t most, struct error *err)
{
    char path[CONFIG_PATH_MAX], text[COUNT_FILE_MAX];
    uint32_t n;
    enum status s = make_folder(path, state, "asked", err);

    if (s == STATUS_OK)
        s = read_count(path, &n, err);
    if (s != STATUS_OK)
        return s;
    if (n >= most)
        return error_set(err, STATUS_POLICY,
                         "policy.align.max_alignments: there were %u, and %u are the most", n,
                         most);
    snprintf(text, sizeof text, "%u\n", n + 1);
    return file_write_atomic(path, text, strlen(text), 0600, err);
}

/* --- results --- */

static enum status print_result(struct buf *out, const struct idlist *l,
                                const struct aligned_result *r)
{
    const uint32_t most = r->labelled > l->n ? r->labelled : l->n;
    uint32_t *row = mem_alloc(most, sizeof *row), n = r->labelled;
    char hex[DIGEST_HEX_CHARS + 1];
    enum status s;

    if (row == NULL)
        return STATUS_MEMORY;
    for (uint32_t p = 0; p < most; p++)
        row[p] = ALIGN_NOWHERE;
    for (uint32_t i = 0; i < l->n; i++) {
        if (r->places[i] == ALIGN_NOWHERE)
            continue;
        row[r->places[i]] = i;
        n += r->labelled == 0;
    }
    digest_hex(hex, r->transcript, DIGEST_BYTES);
    s = buf_printf(out, "alignment 1\nname %s\ntranscript %s\n%s %u\n\n", r->name, hex,
                   r->labelled > 0 ? "labelled" : "common", n);
    for (uint32_t p = 0; p < n && s == STATUS_OK; p++) {
        const size_t from = row[p] == ALIGN_NOWHERE ? 0 : l->at[row[p]];

        s = row[p] == ALIGN_NOWHERE
                ? buf_append(out, "\n", 1)
                : buf_append(out, l->text.data + from, l->at[row[p] + 1] - from);
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
    buf_init(&out, l->text.len + r->labelled + HEADER_MAX);
    s = print_result(&out, l, r);
    if (s == STATUS_OK)
        s = file_write_atomic(path, out.data, out.len, 0600, err);
    else
        error_set(err, s, "%s: %s", path, status_words(s));
    buf_deinit(&out);
    return s;
}
