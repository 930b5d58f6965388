/* placed.c -- from cells to places.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/placed.h"

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/crypto/secret.h"
#include "common/data/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)PLACES_DIGEST_BYTES == DIGEST_BYTES, "places are bound to a digest");
_Static_assert((int)TABLE_ID_MAX == DIGEST_HEX_CHARS, "a digest may stand for an id");

static const char LABEL[] = "vfl/aligned/1";

static const uint8_t *row_of(const struct placed *p, uint32_t place)
{
    return p->rows + (size_t)place * ALIGN_ROW_BYTES;
}

static int by_row(const void *a, const void *b, void *of)
{
    const struct placed *p = of;

    return memcmp(row_of(p, *(const uint32_t *)a), row_of(p, *(const uint32_t *)b),
                  ALIGN_ROW_BYTES);
}

static uint32_t find_row(const struct placed *p, const struct placed_section *of,
                         const uint8_t row[ALIGN_ROW_BYTES])
{
    uint32_t low = of->first, high = of->first + of->there;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2, place = p->order[middle];
        const int order = memcmp(row_of(p, place), row, ALIGN_ROW_BYTES);

        if (order == 0)
            return place;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return PLACES_NONE;
}

/* --- a row in a section --- */

enum looked { LOOKED_NO, LOOKED_FOUND, LOOKED_LEFT_OUT, LOOKED_TWICE };

/* Another row of an id whose first one has been found. */
static enum looked look_again(struct placed *p, uint32_t k, const uint8_t id[ALIGN_ROW_BYTES],
                              uint32_t first, uint32_t *place)
{
    const enum config_duplicates rule = p->file.section[k].duplicates;
    uint8_t row[ALIGN_ROW_BYTES];

    if (rule == CONFIG_DUPLICATES_REFUSE && !p->may_lack)
        return LOOKED_TWICE;
    if (rule != CONFIG_DUPLICATES_ALL)
        return LOOKED_LEFT_OUT;
    memcpy(row, id, sizeof row);
    idlist_number(row, p->times[first]);
    *place = find_row(p, &p->section[k], row);
    secret_wipe(row, sizeof row);
    return *place != PLACES_NONE ? LOOKED_FOUND : LOOKED_NO;
}

static enum looked look(struct placed *p, uint32_t k, const uint8_t id[ALIGN_ROW_BYTES],
                        uint32_t *place)
{
    uint8_t row[ALIGN_ROW_BYTES];
    enum looked found = LOOKED_NO;
    uint32_t first;

    memcpy(row, id, sizeof row);
    idlist_number(row, 0);
    first = find_row(p, &p->section[k], row);
    *place = first;
    if (first != PLACES_NONE && p->times[first] > 0)
        found = look_again(p, k, id, first, place);
    else if (first != PLACES_NONE)
        found = LOOKED_FOUND;
    if (found == LOOKED_FOUND)
        p->times[*place]++;
    if (first != PLACES_NONE && (found != LOOKED_FOUND || *place != first))
        p->times[first]++;
    secret_wipe(row, sizeof row);
    return found;
}

/* --- as places.h has it --- */

/* Of a key that has matched nothing the columns need not be there. */
static enum status find_columns(struct placed *p, uint32_t k, const struct source *s,
                                struct error *err)
{
    const struct aligned_section *of = &p->file.section[k];
    struct idlist_form *form = &p->section[k].form;
    struct error none = {0};

    if (idlist_form_find(form, of->key, s, of->n > 0 ? err : &none) != STATUS_OK) {
        if (of->n > 0)
            return error_wrap(err, "alignment %s", p->file.name);
        form->columns = 0;
    }
    return of->n == 0 || form->columns == of->columns
               ? STATUS_OK
               : source_fail(s, err, "alignment %s: its key has %u columns, and here %u",
                             p->file.name, of->columns, form->columns);
}

static enum status begin(void *owner, const struct source *s, struct error *err)
{
    struct placed *p = owner;
    enum status found = STATUS_OK;

    memset(p->times, 0, (size_t)p->file.n * sizeof *p->times);
    for (uint32_t k = 0; k < p->file.sections_n && found == STATUS_OK; k++)
        found = find_columns(p, k, s, err);
    return found;
}

static bool is_key(const void *owner, size_t column)
{
    const struct placed *p = owner;

    for (uint32_t k = 0; k < p->file.sections_n; k++) {
        for (uint32_t i = 0; i < p->section[k].form.columns; i++) {
            if (p->section[k].form.column[i] == column)
                return true;
        }
    }
    return false;
}

static void name_row(struct placed *p, uint32_t k, uint32_t place)
{
    const char *text = (const char *)p->spelling.data;
    const bool trim = p->section[k].form.rule.trim;
    size_t n = p->spelling.len;

    for (; trim && n > 0 && *text == ' '; text++)
        n--;
    while (trim && n > 0 && text[n - 1] == ' ')
        n--;
    digest_hex(p->own, row_of(p, place), ALIGN_ROW_BYTES);
    if (p->file.occurrence[place] > 0 || !text_is_plain(text, n, TABLE_ID_MAX))
        return;
    memcpy(p->own, text, n);
    p->own[n] = 0;
}

static enum status find(void *owner, const struct source *s, uint32_t *place, struct error *err)
{
    struct placed *p = owner;
    enum looked found = LOOKED_NO;
    enum status status = STATUS_OK;
    bool any = false;
    size_t column = 0;

    for (uint32_t k = 0; k < p->file.sections_n && status == STATUS_OK && found == LOOKED_NO; k++) {
        uint8_t id[ALIGN_ROW_BYTES];
        bool none;

        if (p->file.section[k].n == 0)
            continue;
        column = p->section[k].form.column[0];
        p->spelling.len = 0;
        status = idlist_form_row(&p->section[k].form, s, id, &none, &p->spelling, err);
        if (status == STATUS_OK && !none)
            found = look(p, k, id, place);
        any = any || !none;
        if (found == LOOKED_FOUND)
            name_row(p, k, *place);
        secret_wipe(id, sizeof id);
    }
    if (found != LOOKED_FOUND)
        *place = PLACES_NONE;
    if (found == LOOKED_TWICE)
        return source_fault(s, column, "an id is there twice (align.duplicates says what then)",
                            err);
    if (status == STATUS_OK && !any && p->file.sections_n == 1 && !p->places.by_id)
        return source_fault(s, column, "an empty id", err);
    return status;
}

static const char *own(const void *owner)
{
    return ((const struct placed *)owner)->own;
}

/* A labelled row that is gone is one that this side does not have: to end for it would tell the
 * others that it was labelled. */
static enum status end(void *owner, const struct source *s, struct error *err)
{
    struct placed *p = owner;
    const bool lacking = p->may_lack || p->asked;
    uint32_t missing = 0, first = 0;

    for (uint32_t i = p->file.n; i-- > 0;) {
        if (p->times[i] > 0 || p->file.size[i] == 0)
            continue;
        first = i;
        missing++;
        if (p->may_lack)
            p->file.size[i] = 0;
    }
    if (missing > 0 && lacking)
        log_warn("%s: it lacks %u of the rows of alignment %s that were here, that of place %u "
                 "first: their part is a constant",
                 s->path, missing, p->file.name, first);
    if (missing == 0 || lacking)
        return STATUS_OK;
    return error_set(err, STATUS_DATA,
                     "%s: it lacks %u of the %u rows of alignment %s, that of place %u first: let "
                     "all sides align again",
                     s->path, missing, p->there, p->file.name, first);
}

/* --- opened --- */

static void bind(struct placed *p)
{
    struct digest d;

    digest_begin(&d);
    digest_update(&d, LABEL, sizeof LABEL);
    digest_update(&d, p->file.name, strlen(p->file.name) + 1);
    digest_update(&d, p->file.transcript, sizeof p->file.transcript);
    digest_final(&d, p->places.digest);
    digest_deinit(&d);
}

static enum status index_section(struct placed *p, uint32_t k, struct error *err)
{
    const struct aligned_section *of = &p->file.section[k];
    struct placed_section *s = &p->section[k];

    s->first = p->there;
    for (uint32_t i = of->from; i < of->from + of->n; i++) {
        uint8_t *row = p->rows + (size_t)i * ALIGN_ROW_BYTES;

        if (p->file.labelled && p->file.size[i] == 0)
            continue;
        if (!idlist_form_spelling(&s->form, (const char *)p->file.text.data + p->file.at[i],
                                  p->file.size[i], row))
            return error_set(err, STATUS_DATA, "%s: place %u has no id", p->file.path, i);
        idlist_number(row, p->file.occurrence[i]);
        p->order[p->there++] = i;
    }
    s->there = p->there - s->first;
    qsort_r(p->order + s->first, s->there, sizeof *p->order, by_row, p);
    for (uint32_t i = s->first + 1; i < p->there; i++)
        if (by_row(&p->order[i - 1], &p->order[i], p) == 0)
            return error_set(err, STATUS_DATA, "%s: places %u and %u are one id", p->file.path,
                             p->order[i - 1], p->order[i]);
    return STATUS_OK;
}

/* Each line is an id of its own, in its section. */
static enum status index_rows(struct placed *p, struct error *err)
{
    const uint32_t n = p->file.n;
    enum status s = STATUS_OK;

    p->rows = mem_alloc(n, ALIGN_ROW_BYTES);
    p->order = mem_alloc(n, sizeof *p->order);
    p->times = mem_alloc(n, sizeof *p->times);
    if (p->rows == NULL || p->order == NULL || p->times == NULL)
        return error_set(err, STATUS_MEMORY, "%s: no memory for %u rows", p->file.path, n);
    for (uint32_t k = 0; k < p->file.sections_n && s == STATUS_OK; k++) {
        const struct aligned_section *of = &p->file.section[k];

        idlist_form_of(&p->section[k].form, of->trim, of->fold, of->unicode);
        p->section[k].form.columns = of->columns;
        s = index_section(p, k, err);
    }
    return s;
}

enum status placed_open_added(struct placed *p, const char *state, const char *name,
                              struct error *err)
{
    enum status s = aligned_load(&p->file, state, name, err);

    buf_init(&p->spelling, IDLIST_SPELLING_MAX);
    if (s != STATUS_OK)
        return s;
    p->places = (struct places){.owner = p,
                                .n = p->file.n,
                                .begin = begin,
                                .is_key = is_key,
                                .find = find,
                                .own = own,
                                .end = end};
    bind(p);
    return index_rows(p, err);
}

enum status placed_open(struct placed *p, const char *state, const char *name, struct error *err)
{
    const enum status s = placed_open_added(p, state, name, err);

    /* Of labelled rows a side may have none, and nobody is to see that. */
    if (s == STATUS_OK && p->there == 0 && !p->file.labelled)
        return error_set(err, STATUS_DATA, "%s: none of its rows is here", p->file.path);
    return s;
}

void placed_close(struct placed *p)
{
    if (p->rows != NULL)
        secret_wipe(p->rows, (size_t)p->file.n * ALIGN_ROW_BYTES);
    mem_free(p->rows);
    mem_free(p->order);
    mem_free(p->times);
    buf_deinit(&p->spelling);
    aligned_deinit(&p->file);
    *p = (struct placed){.there = 0};
}

/* --- rows of a list --- */

/* Which of its keys has these columns; keys_n: none has. */
static uint32_t key_of(const struct idlist *l, const struct aligned_section *of)
{
    uint32_t k = 0;

    while (k < l->keys_n &&
           (strcmp(l->key[k].columns, of->key) != 0 || l->key[k].form.columns != of->columns))
        k++;
    return k;
}

static bool is_in(struct placed *p, uint32_t k, const struct idlist_key *of, uint32_t i)
{
    const size_t at = of->at[i], n = of->at[i + 1] - at - 1;
    uint8_t id[ALIGN_ROW_BYTES];
    uint32_t place;
    const bool is =
        n > 0 &&
        idlist_form_spelling(&p->section[k].form, (const char *)of->text.data + at, n, id) &&
        look(p, k, id, &place) != LOOKED_NO;

    secret_wipe(id, sizeof id);
    return is;
}

enum status placed_mark(struct placed *p, const struct idlist *l, uint8_t *in, struct error *err)
{
    uint32_t key[ALIGNED_SECTIONS_MAX];

    p->may_lack = true; /* what is there twice is left out */
    for (uint32_t k = 0; k < p->file.sections_n; k++) {
        key[k] = key_of(l, &p->file.section[k]);
        if (key[k] < l->keys_n || p->file.section[k].n == 0)
            continue;
        log_error("alignment %s: it was made by the columns \"%s\", which are no key of align.key",
                  p->file.name, p->file.section[k].key);
        return error_set(err, STATUS_CONFIG, "alignment %s: a key of it is gone", p->file.name);
    }
    for (uint32_t i = 0; i < l->n; i++) {
        in[i] = 0;
        for (uint32_t k = 0; k < p->file.sections_n && in[i] == 0; k++)
            in[i] = p->file.section[k].n > 0 && is_in(p, k, &l->key[key[k]], i);
    }
    return STATUS_OK;
}

void placed_by_id(struct placed *p, const char *align_key)
{
    p->places.by_id = idlist_is_named(align_key);
    for (uint32_t k = 1; k < p->file.sections_n; k++)
        if (strcmp(p->file.section[k].key, p->file.section[0].key) != 0)
            p->places.by_id = true;
}

/* --- spellings --- */

uint32_t placed_next(const struct placed *p, const char *spelling, size_t n, struct placed_at *at)
{
    uint8_t row[ALIGN_ROW_BYTES];
    uint32_t place = PLACES_NONE;

    while (at->section < p->file.sections_n && place == PLACES_NONE) {
        const struct placed_section *of = &p->section[at->section];

        if (idlist_form_spelling(&of->form, spelling, n, row)) {
            idlist_number(row, at->occurrence);
            place = find_row(p, of, row);
        }
        *at = place == PLACES_NONE ? (struct placed_at){.section = at->section + 1}
                                   : (struct placed_at){at->section, at->occurrence + 1};
    }
    secret_wipe(row, sizeof row);
    return place;
}

bool placed_spells(const struct placed *p, uint32_t place, const char *spelling, size_t n)
{
    uint8_t row[ALIGN_ROW_BYTES];
    uint32_t k = 0;
    bool is;

    if (place >= p->file.n || p->file.size[place] == 0)
        return false;
    while (place >= p->file.section[k].from + p->file.section[k].n)
        k++;
    is = idlist_form_spelling(&p->section[k].form, spelling, n, row);
    idlist_number(row, p->file.occurrence[place]);
    is = is && memcmp(row, row_of(p, place), sizeof row) == 0;
    secret_wipe(row, sizeof row);
    return is;
}

const char *placed_own_id(const struct placed *p, const struct table *t, size_t row, size_t *n)
{
    const char *own = table_own_id(t, row), *digits = strrchr(table_id(t, row), '-');
    char hex[DIGEST_HEX_CHARS + 1];
    unsigned long place;

    *n = strlen(own);
    if (p->file.n == 0)
        return own;
    place = strtoul(digits != NULL ? digits + 1 : table_id(t, row), NULL, 10); /* validate.h */
    if (place >= p->file.n)
        return own;
    digest_hex(hex, row_of(p, (uint32_t)place), ALIGN_ROW_BYTES);
    if (strcmp(own, hex) != 0)
        return own;
    return aligned_spelling(&p->file, (uint32_t)place, n);
}

void placed_show(const struct placed *p, const struct table *t, const char *path)
{
    if (p->file.n > 0)
        log_info("%s: %zu rows are in alignment %s, and %zu are left out", path, t->rows,
                 p->file.name, t->own.left);
}

static enum status count_rows(struct placed_count *c, struct placed *p, struct source *s,
                              struct error *err)
{
    enum status status = begin(p, s, err);
    bool more = true;
    uint32_t place;

    while (status == STATUS_OK && more) {
        status = source_next(s, &more, err);
        if (status != STATUS_OK || !more)
            break;
        status = find(p, s, &place, err);
        c->there += place != PLACES_NONE;
        c->left += place == PLACES_NONE;
    }
    return status;
}

enum status placed_count(struct placed_count *c, const char *state, const char *name,
                         const char *path, struct error *err)
{
    const struct source_options options = {.table = NULL};
    struct placed p = {0};
    struct source s = {0};
    enum status status = placed_open(&p, state, name, err);

    *c = (struct placed_count){.rows = p.file.n};
    if (status == STATUS_OK)
        status = source_open(&s, path, &options, err);
    if (status == STATUS_OK)
        status = count_rows(c, &p, &s, err);
    if (status == STATUS_OK && !p.file.labelled)
        c->gone = p.there - c->there;
    source_close(&s);
    placed_close(&p);
    return status;
}

/* --- of both tables --- */

bool placed_lacks(const struct placed_pair *p)
{
    return p->train.file.labelled || p->test.file.labelled;
}

enum status placed_open_pair(struct placed_pair *p, const char *state, const struct placed_names *n,
                             struct error *err)
{
    const bool tests = n->test_file[0] != 0;
    enum status s;

    if (n->train[0] == 0 && n->test[0] == 0)
        return STATUS_OK;
    if (n->by_order)
        return error_set(err, STATUS_CONFIG,
                         "data.validate_by: order goes by ids, and the places of an alignment are "
                         "in no order (time is another rule)");
    if (n->train[0] == 0 || (n->test[0] != 0) != tests)
        return error_set(err, STATUS_CONFIG,
                         "%s.alignment%s: %s.alignment and, where there is a %s.test, "
                         "%s.alignment_test go together",
                         n->key, n->train[0] == 0 ? "" : "_test", n->key, n->key, n->key);
    s = placed_open(&p->train, state, n->train, err);
    p->train.may_lack = n->may_lack && p->train.file.labelled;
    if (n->align_key != NULL)
        placed_by_id(&p->train, n->align_key);
    if (s != STATUS_OK)
        return error_wrap(err, "%s.alignment", n->key);
    if (!tests)
        return s;
    s = placed_open(&p->test, state, n->test, err);
    p->test.may_lack = n->may_lack && p->test.file.labelled;
    if (n->align_key != NULL)
        placed_by_id(&p->test, n->align_key);
    if (s != STATUS_OK)
        return error_wrap(err, "%s.alignment_test", n->key);
    if (memcmp(p->test.file.transcript, p->train.file.transcript, DIGEST_BYTES) != 0)
        return s;
    return error_set(
        err, STATUS_CONFIG,
        "%s.alignment_test: it is the same as %s.alignment, and a row would be in both", n->key,
        n->key);
}

void placed_close_pair(struct placed_pair *p)
{
    placed_close(&p->train);
    placed_close(&p->test);
}
