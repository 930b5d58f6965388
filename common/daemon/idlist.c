/* idlist.c -- from cells to ids, and which of them count.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/idlist.h"

#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/crypto/secret.h"
#include "common/data/normal.h"
#include "common/data/source.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 30 };

struct reading {
    struct idlist *l;
    struct source source;
    struct idlist_form form;
    size_t at_max;
};

/* --- one row --- */

/* As CSV has it, where there are several. */
static enum status spell(struct buf *out, const char *text, size_t n, bool several)
{
    enum status s = STATUS_OK;

    if (!several || (memchr(text, ',', n) == NULL && memchr(text, '"', n) == NULL))
        return buf_append(out, text, n);
    s = buf_append(out, "\"", 1);
    for (size_t i = 0; i < n && s == STATUS_OK; i++) {
        s = buf_append(out, text + i, 1);
        if (s == STATUS_OK && text[i] == '"')
            s = buf_append(out, "\"", 1);
    }
    return s == STATUS_OK ? buf_append(out, "\"", 1) : s;
}

/* 0: no id. */
static size_t add_form(struct digest *d, const char *text, size_t n, const struct normal_rule *rule)
{
    uint8_t form[NORMAL_OUT_MAX], word[4];
    const size_t got = normal_text(form, text, n, rule);

    if (got != SIZE_MAX) {
        le_put(word, got, sizeof word);
        digest_update(d, word, sizeof word);
        digest_update(d, form, got);
    }
    secret_wipe(form, sizeof form);
    return got;
}

/* A result has one id a line: what any reader may take for a line's end is in none. */
static bool breaks_line(const char *text, size_t n)
{
    static const char *const breaks[] = {"\n",       "\r",           "\v",          "\f",
                                         "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};

    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        if (memmem(text, n, breaks[i], strlen(breaks[i])) != NULL)
            return true;
    }
    return false;
}

static enum status add_cell(const struct idlist_form *f, const struct source *source,
                            struct digest *d, struct buf *out, uint32_t k, struct error *err)
{
    const size_t column = f->column[k];
    char number[SOURCE_NUMBER_MAX];
    size_t n;
    const char *text = source_text(&source->cell[column], number, &n);
    const size_t got = add_form(d, text, n, &f->rule);
    enum status s = STATUS_OK;

    if (n <= NORMAL_TEXT_MAX && breaks_line(text, n))
        return source_fault(source, column, "no id: a line break in it", err);
    if (got == SIZE_MAX)
        return source_fault(source, column,
                            "no id: longer than 256 bytes, no UTF-8, or a control character", err);
    if (got == 0)
        return source_fault(source, column, "an empty id", err);
    if (k > 0)
        s = buf_append(out, ",", 1);
    return s == STATUS_OK ? spell(out, text, n, f->columns > 1) : s;
}

static void begin_id(struct digest *d, const struct idlist_form *f)
{
    uint8_t word[4];

    digest_begin(d);
    digest_update(d, "vfl/align/id/1", 14);
    le_put(word, f->columns, sizeof word);
    digest_update(d, word, sizeof word);
}

enum status idlist_form_row(const struct idlist_form *f, const struct source *source,
                            uint8_t id[ALIGN_ROW_BYTES], struct buf *text, struct error *err)
{
    struct digest d;
    enum status s = STATUS_OK;

    begin_id(&d, f);
    for (uint32_t k = 0; k < f->columns && s == STATUS_OK; k++)
        s = add_cell(f, source, &d, text, k, err);
    digest_final(&d, id);
    digest_deinit(&d);
    return s;
}

/* Digests of ids do not stay behind where they have stood before. */
static bool make_room(struct reading *r)
{
    struct idlist *l = r->l;
    const size_t max = l->rows_max == 0 ? 64 : 2 * l->rows_max;
    uint8_t *rows;

    if (l->n < l->rows_max)
        return true;
    rows = mem_alloc(max, ALIGN_ROW_BYTES);
    if (rows == NULL)
        return false;
    if (l->rows != NULL) {
        memcpy(rows, l->rows, (size_t)l->n * ALIGN_ROW_BYTES);
        secret_wipe(l->rows, l->rows_max * ALIGN_ROW_BYTES);
    }
    mem_free(l->rows);
    l->rows = rows;
    l->rows_max = max;
    return true;
}

static enum status add_row(struct reading *r, struct error *err)
{
    struct idlist *l = r->l;
    size_t *at;
    enum status s;

    if (!make_room(r))
        return STATUS_MEMORY;
    at = mem_room(l->at, &r->at_max, l->n + 2, sizeof *at);
    if (at == NULL)
        return STATUS_MEMORY;
    l->at = at;
    if (l->n == ALIGN_IDS_MAX)
        return source_fail(&r->source, err, "more ids than one alignment has: %d are the most",
                           ALIGN_IDS_MAX);
    s = idlist_form_row(&r->form, &r->source, l->rows + (size_t)l->n * ALIGN_ROW_BYTES, &l->text,
                        err);
    if (s == STATUS_OK)
        s = buf_append(&l->text, "\n", 1);
    l->n++;
    l->at[l->n] = l->text.len;
    return s;
}

/* --- a spelling, as it was written --- */

/* A cell of CSV from *at on, without its quotes, into `cell`, which has room for all of it; *at is
 * behind it then. */
static size_t read_cell(char *cell, const char *text, size_t n, size_t *at)
{
    const bool quoted = *at < n && text[*at] == '"';
    size_t used = 0;

    for (*at += quoted; *at < n; ++*at) {
        if (!quoted && text[*at] == ',')
            break;
        if (quoted && text[*at] == '"') {
            if (*at + 1 == n || text[*at + 1] != '"') {
                ++*at;
                break;
            }
            ++*at;
        }
        cell[used++] = text[*at];
    }
    return used;
}

bool idlist_form_spelling(const struct idlist_form *f, const char *text, size_t n,
                          uint8_t id[ALIGN_ROW_BYTES])
{
    char cell[IDLIST_SPELLING_MAX];
    struct digest d;
    size_t at = 0;
    bool fits = n <= sizeof cell;

    begin_id(&d, f);
    for (uint32_t k = 0; k < f->columns && fits; k++) {
        size_t used = n, got;

        if (f->columns > 1)
            used = read_cell(cell, text, n, &at);
        got = add_form(&d, f->columns > 1 ? cell : text, used, &f->rule);
        fits = got > 0 && got != SIZE_MAX;
        if (f->columns > 1 && k + 1 < f->columns)
            fits = fits && at < n && text[at++] == ',';
    }
    digest_final(&d, id);
    digest_deinit(&d);
    secret_wipe(cell, sizeof cell);
    return fits && (f->columns == 1 || at == n);
}

/* --- duplicates --- */

static int by_id(const void *a, const void *b, void *rows)
{
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const uint8_t *all = rows;
    const int order = memcmp(all + (size_t)i * ALIGN_ROW_BYTES, all + (size_t)j * ALIGN_ROW_BYTES,
                             ALIGN_ROW_BYTES);

    return order != 0 ? order : i < j ? -1 : i > j;
}

/* The how manieth of its id each row is, from 0. */
static bool count_occurrences(const struct idlist *l, uint32_t *order, uint32_t *occurrence)
{
    bool any = false;

    for (uint32_t i = 0; i < l->n; i++)
        order[i] = i;
    qsort_r(order, l->n, sizeof *order, by_id, l->rows);
    for (uint32_t i = 1; i < l->n; i++) {
        if (memcmp(l->rows + (size_t)order[i] * ALIGN_ROW_BYTES,
                   l->rows + (size_t)order[i - 1] * ALIGN_ROW_BYTES, ALIGN_ROW_BYTES) == 0) {
            occurrence[order[i]] = occurrence[order[i - 1]] + 1;
            any = true;
        }
    }
    return any;
}

void idlist_number(uint8_t row[ALIGN_ROW_BYTES], uint32_t occurrence)
{
    struct digest d;
    uint8_t word[4];

    le_put(word, occurrence, sizeof word);
    digest_begin(&d);
    digest_update(&d, "vfl/align/row/1", 15);
    digest_update(&d, row, ALIGN_ROW_BYTES);
    digest_update(&d, word, sizeof word);
    digest_final(&d, row);
    digest_deinit(&d);
}

/* Keeps the first of each id, in the table's order. */
static void leave_out(struct idlist *l, const uint32_t *occurrence)
{
    uint32_t n = 0;
    size_t end = 0;

    for (uint32_t i = 0; i < l->n; i++) {
        const size_t from = l->at[i], size = l->at[i + 1] - from;

        if (occurrence[i] > 0)
            continue;
        memmove(l->rows + (size_t)n * ALIGN_ROW_BYTES, l->rows + (size_t)i * ALIGN_ROW_BYTES,
                ALIGN_ROW_BYTES);
        memmove(l->text.data + end, l->text.data + from, size);
        l->at[n++] = end;
        end += size;
    }
    l->at[n] = end;
    l->text.len = end;
    l->left = l->n - n;
    l->n = n;
}

static enum status judge_duplicates(struct idlist *l, const struct config_align *c,
                                    struct error *err)
{
    uint32_t *order = mem_alloc(l->n, sizeof *order), *occurrence = mem_alloc(l->n, sizeof *order);
    enum status s = STATUS_OK;

    if (order == NULL || occurrence == NULL) {
        s = STATUS_MEMORY;
    } else if (count_occurrences(l, order, occurrence)) {
        if (c->duplicates == CONFIG_DUPLICATES_REFUSE)
            s = error_set(err, STATUS_DATA,
                          "%s: an id is there twice (align.duplicates says what then)", c->table);
        if (c->duplicates == CONFIG_DUPLICATES_FIRST)
            leave_out(l, occurrence);
    }
    for (uint32_t i = 0; s == STATUS_OK && i < l->n; i++)
        idlist_number(l->rows + (size_t)i * ALIGN_ROW_BYTES,
                      c->duplicates == CONFIG_DUPLICATES_ALL ? occurrence[i] : 0);
    mem_free(order);
    if (c->duplicates == CONFIG_DUPLICATES_ALL)
        l->occurrence = occurrence;
    else
        mem_free(occurrence);
    return s;
}

/* --- the table --- */

static enum status find_column(struct idlist_form *f, const struct source *source, const char *name,
                               struct error *err)
{
    if (f->columns == CONFIG_ALIGN_COLUMNS_MAX)
        return error_set(err, STATUS_CONFIG, "align.key: %d columns are the most",
                         CONFIG_ALIGN_COLUMNS_MAX);
    f->column[f->columns] = source_column(source, name);
    if (f->column[f->columns] == source->cols)
        return error_set(err, STATUS_DATA, "%s: no column \"%s\" (align.key)", source->path, name);
    f->columns++;
    return STATUS_OK;
}

void idlist_form_of(struct idlist_form *f, const struct config_align *c)
{
    *f = (struct idlist_form){.rule = {c->trim, c->fold,
                                       c->unicode == CONFIG_UNICODE_NFC    ? NORMAL_NFC
                                       : c->unicode == CONFIG_UNICODE_NFKC ? NORMAL_NFKC
                                                                           : NORMAL_BYTES}};
}

/* A column whose name is all of the key comes first, commas in it or not. */
enum status idlist_form_find(struct idlist_form *f, const struct config_align *c,
                             const struct source *source, struct error *err)
{
    const char *key = c->key[0] == 0 ? "id" : c->key;
    enum status s = STATUS_OK;

    idlist_form_of(f, c);
    if (source_column(source, key) < source->cols)
        return find_column(f, source, key, err);
    for (const char *at = key; at != NULL && s == STATUS_OK;) {
        const size_t n = strcspn(at, ",");
        char name[CONFIG_COLUMN_MAX];

        memcpy(name, at, n);
        name[n] = 0;
        s = find_column(f, source, name, err);
        at = at[n] == ',' ? at + n + 1 : NULL;
    }
    return s;
}

static enum status read_rows(struct reading *r, struct error *err)
{
    bool more = true;
    enum status s = STATUS_OK;

    while (s == STATUS_OK && more) {
        s = source_next(&r->source, &more, err);
        if (s == STATUS_OK && more)
            s = add_row(r, err);
    }
    if (s == STATUS_OK && r->l->n == 0)
        s = source_fail(&r->source, err, "no ids");
    return s;
}

enum status idlist_read(struct idlist *l, const struct config_align *c, struct error *err)
{
    const struct source_options options = {.table = NULL};
    struct reading r = {.l = l};
    struct error none = {0};
    enum status s;

    *l = (struct idlist){.as = *c};
    buf_init(&l->text, TEXT_MAX);
    s = source_open(&r.source, c->table, &options, &none);
    if (s == STATUS_OK)
        s = idlist_form_find(&r.form, c, &r.source, &none);
    l->columns = r.form.columns;
    if (s == STATUS_OK)
        s = read_rows(&r, &none);
    if (s == STATUS_OK)
        s = judge_duplicates(l, c, &none);
    source_close(&r.source);
    if (s != STATUS_OK && none.status == STATUS_OK)
        error_set(&none, s, "%s: %s", c->table, status_words(s));
    if (s != STATUS_OK)
        *err = none;
    return s;
}

void idlist_deinit(struct idlist *l)
{
    if (l->rows != NULL)
        secret_wipe(l->rows, l->rows_max * ALIGN_ROW_BYTES);
    mem_free(l->rows);
    mem_free(l->at);
    mem_free(l->occurrence);
    secret_buf_deinit(&l->text);
    *l = (struct idlist){.n = 0};
}
