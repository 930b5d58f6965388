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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 30 };

struct reading {
    struct idlist *l;
    struct source source;
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

/* Of a row, and where their spelling goes. */
struct cells {
    const struct idlist_form *form;
    const struct source *source;
    struct buf *text;
};

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

/* *none: it is empty. */
static enum status add_cell(struct cells *c, uint32_t k, struct digest *d, bool *none,
                            struct error *err)
{
    const struct idlist_form *f = c->form;
    const struct source *source = c->source;
    struct buf *out = c->text;
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
    *none = *none || got == 0;
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
                            uint8_t id[ALIGN_ROW_BYTES], bool *none, struct buf *text,
                            struct error *err)
{
    struct cells c = {f, source, text};
    const size_t before = text->len;
    struct digest d;
    enum status s = STATUS_OK;

    *none = false;
    begin_id(&d, f);
    for (uint32_t k = 0; k < f->columns && s == STATUS_OK; k++)
        s = add_cell(&c, k, &d, none, err);
    digest_final(&d, id);
    digest_deinit(&d);
    if (*none) {
        memset(id, 0, ALIGN_ROW_BYTES);
        secret_wipe(text->data + before, text->len - before);
        text->len = before;
    }
    return s;
}

/* Digests of ids do not stay behind where they have stood before. */
static bool make_room(struct idlist_key *k, uint32_t n)
{
    const size_t max = k->ids_max == 0 ? 64 : 2 * k->ids_max;
    size_t *at = mem_room(k->at, &k->at_max, n + 2, sizeof *at);
    uint8_t *ids;

    if (at == NULL)
        return false;
    k->at = at;
    if (n < k->ids_max)
        return true;
    ids = mem_alloc(max, ALIGN_ROW_BYTES);
    if (ids == NULL)
        return false;
    if (k->ids != NULL) {
        memcpy(ids, k->ids, (size_t)n * ALIGN_ROW_BYTES);
        secret_wipe(k->ids, k->ids_max * ALIGN_ROW_BYTES);
    }
    mem_free(k->ids);
    k->ids = ids;
    k->ids_max = max;
    return true;
}

static enum status add_row(struct reading *r, struct error *err)
{
    struct idlist *l = r->l;
    bool any = false;

    if (l->n == ALIGN_IDS_MAX)
        return source_fail(&r->source, err, "more ids than one alignment has: %d are the most",
                           ALIGN_IDS_MAX);
    for (uint32_t i = 0; i < l->keys_n; i++) {
        struct idlist_key *k = &l->key[i];
        bool none;
        enum status s = make_room(k, l->n) ? STATUS_OK : STATUS_MEMORY;

        if (s == STATUS_OK)
            s = idlist_form_row(&k->form, &r->source, k->ids + (size_t)l->n * ALIGN_ROW_BYTES,
                                &none, &k->text, err);
        if (s == STATUS_OK)
            s = buf_append(&k->text, "\n", 1);
        if (s != STATUS_OK)
            return s;
        any = any || !none;
        k->at[l->n + 1] = k->text.len;
    }
    if (!any)
        return source_fault(&r->source, l->key[0].form.column[0], "an empty id", err);
    l->n++;
    return STATUS_OK;
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

struct by_id {
    const struct idlist_key *key;
    const uint32_t *row;
};

static int by_id(const void *a, const void *b, void *of)
{
    const struct by_id *o = of;
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const int order = memcmp(o->key->ids + (size_t)o->row[i] * ALIGN_ROW_BYTES,
                             o->key->ids + (size_t)o->row[j] * ALIGN_ROW_BYTES, ALIGN_ROW_BYTES);

    return order != 0 ? order : i < j ? -1 : i > j;
}

bool idlist_occurrences(const struct idlist *l, uint32_t key, const uint32_t *row, uint32_t n,
                        uint32_t *order, uint32_t *occurrence)
{
    struct by_id of = {&l->key[key], row};
    bool any = false;

    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
        occurrence[i] = 0;
    }
    qsort_r(order, n, sizeof *order, by_id, &of);
    for (uint32_t i = 1; i < n; i++) {
        const uint32_t now = order[i], before = order[i - 1];

        if (idlist_has(l, key, row[now]) &&
            memcmp(of.key->ids + (size_t)row[now] * ALIGN_ROW_BYTES,
                   of.key->ids + (size_t)row[before] * ALIGN_ROW_BYTES, ALIGN_ROW_BYTES) == 0) {
            occurrence[now] = occurrence[before] + 1;
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

/* By whatever key: an alignment may go by any of them, and who refuses in its middle tells that
 * rows were left. */
static enum status refuse_doubles(const struct idlist *l, struct error *err)
{
    uint32_t *row = mem_alloc(l->n, sizeof *row), *order = mem_alloc(l->n, sizeof *row),
             *occurrence = mem_alloc(l->n, sizeof *row);
    enum status s = row == NULL || order == NULL || occurrence == NULL ? STATUS_MEMORY : STATUS_OK;

    for (uint32_t i = 0; s == STATUS_OK && i < l->n; i++)
        row[i] = i;
    for (uint32_t k = 0; s == STATUS_OK && k < l->keys_n; k++) {
        if (idlist_occurrences(l, k, row, l->n, order, occurrence))
            s = error_set(
                err, STATUS_DATA, "%s: an id is there twice%s%s (align.duplicates says what then)",
                l->as.table, l->keys_n > 1 ? " by key " : "", l->keys_n > 1 ? l->key[k].name : "");
    }
    mem_free(row);
    mem_free(order);
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

void idlist_form_of(struct idlist_form *f, bool trim, bool fold, enum config_unicode unicode)
{
    *f = (struct idlist_form){.rule = {trim, fold,
                                       unicode == CONFIG_UNICODE_NFC    ? NORMAL_NFC
                                       : unicode == CONFIG_UNICODE_NFKC ? NORMAL_NFKC
                                                                        : NORMAL_BYTES}};
}

/* A column whose name is all of the key comes first, commas in it or not. */
enum status idlist_form_find(struct idlist_form *f, const char *key, const struct source *source,
                             struct error *err)
{
    enum status s = STATUS_OK;

    f->columns = 0;
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

static bool has_key(const struct idlist *l, const char *name)
{
    uint32_t k = 0;

    while (k < l->keys_n && strcmp(l->key[k].name, name) != 0)
        k++;
    return k < l->keys_n;
}

static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

bool idlist_is_named(const char *text)
{
    const size_t name = strspn(text, LETTERS);

    return name > 0 && text[name] == ':';
}

/* From ` NAME: COLUMNS` of n bytes. */
static bool add_key(struct idlist *l, const char *text, size_t n)
{
    const size_t space = strspn(text, " "), name = strspn(text + space, LETTERS);
    size_t from = space + name + 1;
    struct idlist_key *k = &l->key[l->keys_n];

    if (l->keys_n == IDLIST_KEYS_MAX || name < 1 || name > IDLIST_KEY_NAME_MAX || from >= n ||
        text[from - 1] != ':')
        return false;
    from += strspn(text + from, " ");
    if (from >= n)
        return false;
    snprintf(k->columns, sizeof k->columns, "%.*s", (int)(n - from), text + from);
    snprintf(k->name, sizeof k->name, "%.*s", (int)name, text + space);
    return !has_key(l, k->name) && ++l->keys_n > 0;
}

/* `NAME: COLUMNS; NAME: COLUMNS`, or the columns of one key, whose name is id. */
static enum status name_keys(struct reading *r, struct error *err)
{
    struct idlist *l = r->l;
    const char *all = l->as.key[0] == 0 ? "id" : l->as.key;
    bool good = true;

    l->named = source_column(&r->source, all) == r->source.cols && idlist_is_named(all);
    for (const char *at = all; l->named && *at != 0 && good;) {
        const size_t n = strcspn(at, ";");

        good = add_key(l, at, n);
        at += n + (at[n] == ';');
    }
    if (!l->named) {
        snprintf(l->key[0].name, sizeof l->key[0].name, "id");
        snprintf(l->key[0].columns, sizeof l->key[0].columns, "%s", all);
        l->keys_n = 1;
    }
    for (uint32_t k = 0; k < l->keys_n; k++)
        buf_init(&l->key[k].text, TEXT_MAX);
    return good ? STATUS_OK
                : error_set(err, STATUS_CONFIG,
                            "%s: align.key: \"NAME: COLUMN,...; NAME: COLUMN,...\" expected, %d "
                            "names at most of 1 to %d of a-z, 0-9 and '-', each once",
                            l->as.table, IDLIST_KEYS_MAX, IDLIST_KEY_NAME_MAX);
}

static enum status find_keys(struct reading *r, struct error *err)
{
    struct idlist *l = r->l;
    enum status s = STATUS_OK;

    for (uint32_t k = 0; k < l->keys_n && s == STATUS_OK; k++) {
        idlist_form_of(&l->key[k].form, l->as.trim, l->as.fold, l->as.unicode);
        s = idlist_form_find(&l->key[k].form, l->key[k].columns, &r->source, err);
    }
    return s;
}

enum status idlist_read(struct idlist *l, const struct config_align *c, struct error *err)
{
    const struct source_options options = {.table = NULL};
    struct reading r = {.l = l};
    struct error none = {0};
    enum status s;

    *l = (struct idlist){.as = *c};
    s = source_open(&r.source, c->table, &options, &none);
    if (s == STATUS_OK)
        s = name_keys(&r, &none);
    if (s == STATUS_OK)
        s = find_keys(&r, &none);
    if (s == STATUS_OK)
        s = read_rows(&r, &none);
    if (s == STATUS_OK && c->duplicates == CONFIG_DUPLICATES_REFUSE)
        s = refuse_doubles(l, &none);
    source_close(&r.source);
    if (s != STATUS_OK && none.status == STATUS_OK)
        error_set(&none, s, "%s: %s", c->table, status_words(s));
    if (s != STATUS_OK)
        *err = none;
    return s;
}

void idlist_deinit(struct idlist *l)
{
    for (uint32_t i = 0; i < l->keys_n; i++) {
        struct idlist_key *k = &l->key[i];

        if (k->ids != NULL)
            secret_wipe(k->ids, k->ids_max * ALIGN_ROW_BYTES);
        mem_free(k->ids);
        mem_free(k->at);
        secret_buf_deinit(&k->text);
    }
    *l = (struct idlist){.n = 0};
}
