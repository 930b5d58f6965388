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

static uint32_t find_row(const struct placed *p, const uint8_t row[ALIGN_ROW_BYTES])
{
    uint32_t low = 0, high = p->there;

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

/* --- as places.h has it --- */

static enum status begin(void *owner, const struct source *s, struct error *err)
{
    struct placed *p = owner;

    memset(p->times, 0, (size_t)p->file.n * sizeof *p->times);
    if (idlist_form_find(&p->form, &p->file.as, s, err) != STATUS_OK)
        return error_wrap(err, "alignment %s", p->file.name);
    return p->form.columns == p->file.columns
               ? STATUS_OK
               : source_fail(s, err, "alignment %s: its key has %u columns, and here %u",
                             p->file.name, p->file.columns, p->form.columns);
}

static bool is_key(const void *owner, size_t column)
{
    const struct placed *p = owner;
    uint32_t k = 0;

    while (k < p->form.columns && p->form.column[k] != column)
        k++;
    return k < p->form.columns;
}

static void name_row(struct placed *p, uint32_t place)
{
    const char *text = (const char *)p->spelling.data;
    size_t n = p->spelling.len;

    for (; p->form.rule.trim && n > 0 && *text == ' '; text++)
        n--;
    while (p->form.rule.trim && n > 0 && text[n - 1] == ' ')
        n--;
    digest_hex(p->own, row_of(p, place), ALIGN_ROW_BYTES);
    if (p->file.occurrence[place] > 0 || !text_is_plain(text, n, TABLE_ID_MAX))
        return;
    memcpy(p->own, text, n);
    p->own[n] = 0;
}

static enum status find_again(struct placed *p, const uint8_t id[ALIGN_ROW_BYTES], uint32_t first,
                              const struct source *s, uint32_t *place, struct error *err)
{
    uint8_t row[ALIGN_ROW_BYTES];

    if (p->file.as.duplicates == CONFIG_DUPLICATES_REFUSE && !p->may_lack)
        return source_fault(s, p->form.column[0],
                            "an id is there twice (align.duplicates says what then)", err);
    if (p->file.as.duplicates != CONFIG_DUPLICATES_ALL)
        return STATUS_OK;
    memcpy(row, id, sizeof row);
    idlist_number(row, p->times[first]);
    *place = find_row(p, row);
    secret_wipe(row, sizeof row);
    return STATUS_OK;
}

static enum status find(void *owner, const struct source *s, uint32_t *place, struct error *err)
{
    struct placed *p = owner;
    uint8_t id[ALIGN_ROW_BYTES], row[ALIGN_ROW_BYTES];
    uint32_t first;
    enum status status;

    *place = PLACES_NONE;
    p->spelling.len = 0;
    status = idlist_form_row(&p->form, s, id, &p->spelling, err);
    if (status == STATUS_OK) {
        memcpy(row, id, sizeof row);
        idlist_number(row, 0);
        first = find_row(p, row);
        if (first != PLACES_NONE && p->times[first] > 0)
            status = find_again(p, id, first, s, place, err);
        else
            *place = first;
        if (*place != PLACES_NONE)
            name_row(p, *place);
        if (*place != PLACES_NONE)
            p->times[*place]++;
        if (first != PLACES_NONE && *place != first)
            p->times[first]++;
    }
    secret_wipe(id, sizeof id);
    secret_wipe(row, sizeof row);
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
    if (missing == p->there && p->may_lack && !p->asked)
        return error_set(err, STATUS_DATA, "%s: none of the rows of alignment %s is here", s->path,
                         p->file.name);
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

/* Each line is an id of its own. */
static enum status index_rows(struct placed *p, struct error *err)
{
    const uint32_t n = p->file.n;

    p->rows = mem_alloc(n, ALIGN_ROW_BYTES);
    p->order = mem_alloc(n, sizeof *p->order);
    p->times = mem_alloc(n, sizeof *p->times);
    if (p->rows == NULL || p->order == NULL || p->times == NULL)
        return error_set(err, STATUS_MEMORY, "%s: no memory for %u rows", p->file.path, n);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *row = p->rows + (size_t)i * ALIGN_ROW_BYTES;

        if (p->file.labelled && p->file.size[i] == 0)
            continue;
        if (!idlist_form_spelling(&p->form, (const char *)p->file.text.data + p->file.at[i],
                                  p->file.size[i], row))
            return error_set(err, STATUS_DATA, "%s: place %u has no id", p->file.path, i);
        idlist_number(row, p->file.occurrence[i]);
        p->order[p->there++] = i;
    }
    if (p->there == 0)
        return error_set(err, STATUS_DATA, "%s: none of its rows is here", p->file.path);
    qsort_r(p->order, p->there, sizeof *p->order, by_row, p);
    for (uint32_t i = 1; i < p->there; i++)
        if (by_row(&p->order[i - 1], &p->order[i], p) == 0)
            return error_set(err, STATUS_DATA, "%s: places %u and %u are one id", p->file.path,
                             p->order[i - 1], p->order[i]);
    return STATUS_OK;
}

enum status placed_open(struct placed *p, const char *state, const char *name, struct error *err)
{
    enum status s = aligned_load(&p->file, state, name, err);

    buf_init(&p->spelling, IDLIST_SPELLING_MAX);
    if (s != STATUS_OK)
        return s;
    idlist_form_of(&p->form, &p->file.as);
    p->form.columns = p->file.columns;
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

void placed_close(struct placed *p)
{
    if (p->rows != NULL)
        secret_wipe(p->rows, (size_t)p->file.n * ALIGN_ROW_BYTES);
    mem_free(p->rows);
    mem_free(p->order);
    mem_free(p->times);
    buf_deinit(&p->spelling);
    aligned_deinit(&p->file);
    *p = (struct placed){.form.columns = 0};
}

uint32_t placed_find(const struct placed *p, const char *spelling, size_t n, uint32_t occurrence)
{
    uint8_t row[ALIGN_ROW_BYTES];
    uint32_t place = PLACES_NONE;

    if (idlist_form_spelling(&p->form, spelling, n, row)) {
        idlist_number(row, occurrence);
        place = find_row(p, row);
    }
    secret_wipe(row, sizeof row);
    return place;
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
    if (s != STATUS_OK)
        return error_wrap(err, "%s.alignment", n->key);
    if (!tests)
        return s;
    s = placed_open(&p->test, state, n->test, err);
    p->test.may_lack = n->may_lack && p->test.file.labelled;
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
