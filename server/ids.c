/* ids.c -- lists of ids.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/ids.h"

#include "common/base/mem.h"
#include "common/data/lines.h"
#include "common/data/table.h"
#include "common/data/text.h"
#include "common/flow/prediction.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ids_init(struct ids *l)
{
    *l = (struct ids){0};
    buf_init(&l->text, UINT32_MAX);
}

void ids_deinit(struct ids *l)
{
    buf_deinit(&l->text);
    mem_free(l->at);
    l->at = NULL;
}

const char *ids_get(const struct ids *l, uint32_t i, size_t *n)
{
    *n = l->at[i + 1] - l->at[i] - 1;
    return (const char *)l->text.data + l->at[i];
}

const char *ids_name(const struct ids *l, uint32_t i, const struct placed *p, size_t *n)
{
    const char *id = ids_get(l, i, n);

    return p == NULL ? id : aligned_spelling(&p->file, (uint32_t)strtoul(id, NULL, 10), n);
}

/* Room grows in steps, so that a file without end is not believed first. */
static enum status add(struct ids *l, const char *id, size_t n)
{
    enum status s;

    if (l->n == PREDICTION_ROWS_MAX)
        return STATUS_LIMIT;
    if (l->n + 2 > l->room) {
        const uint32_t room = 2 * l->room + 64;
        uint32_t *grown = mem_grow(l->at, l->room * sizeof *grown, room * sizeof *grown);

        if (grown == NULL)
            return STATUS_MEMORY;
        l->at = grown;
        l->room = room;
    }
    s = buf_append(&l->text, id, n);
    if (s == STATUS_OK)
        s = buf_append(&l->text, "\n", 1);
    if (s == STATUS_OK)
        l->at[++l->n] = (uint32_t)l->text.len;
    return s;
}

enum status ids_read(struct ids *l, const char *path, struct error *err)
{
    struct lines file = {0};
    enum status s = lines_open(&file, path, TABLE_ID_MAX, err);

    while (s == STATUS_OK) {
        const unsigned long long number = (unsigned long long)file.number + 1;
        char *line;
        size_t n;

        s = lines_next(&file, &line, &n, err);
        if (s != STATUS_OK || line == NULL)
            break;
        if (!text_is_plain(line, n, TABLE_ID_MAX))
            s = error_set(err, STATUS_DATA, "%s:%llu: no id", path, number);
        else if (add(l, line, n) != STATUS_OK)
            s = error_set(err, STATUS_DATA, "%s:%llu: more ids than one job can have", path,
                          number);
    }
    lines_close(&file);
    if (s == STATUS_OK && l->n == 0)
        s = error_set(err, STATUS_DATA, "%s: no ids", path);
    return s;
}

/* --- places --- */

static enum status add_place(struct ids *l, uint32_t place)
{
    char number[16];

    return add(l, number, (size_t)snprintf(number, sizeof number, "%u", place));
}

static enum status add_spelled(struct ids *l, const struct placed *p, const char *line, size_t n)
{
    uint32_t place = placed_find(p, line, n, 0), k = 0;
    enum status s = place != PLACES_NONE ? STATUS_OK : STATUS_DATA;

    for (; s == STATUS_OK && place != PLACES_NONE; place = placed_find(p, line, n, ++k))
        s = add_place(l, place);
    return s;
}

static enum status read_spelled(struct ids *l, const char *path, const struct placed *p,
                                struct error *err)
{
    struct lines file = {0};
    enum status s = lines_open(&file, path, IDLIST_SPELLING_MAX, err);

    while (s == STATUS_OK) {
        char *line;
        size_t n;

        s = lines_next(&file, &line, &n, err);
        if (s != STATUS_OK || line == NULL)
            break;
        s = add_spelled(l, p, line, n);
        if (s != STATUS_OK)
            s = error_set(err, s, "%s:%llu: %s", path, (unsigned long long)file.number,
                          s == STATUS_DATA ? "no id of that alignment"
                                           : "more ids than one job can have");
    }
    lines_close(&file);
    return s;
}

enum status ids_read_placed(struct ids *l, const char *path, const struct placed *p,
                            struct error *err)
{
    enum status s = path != NULL ? read_spelled(l, path, p, err) : STATUS_OK;
    const bool all = path == NULL;

    if (s == STATUS_OK && !all && l->n == 0)
        return error_set(err, STATUS_DATA, "%s: no ids", path);
    if (all && p->file.n > PREDICTION_ROWS_MAX)
        return error_set(err, STATUS_DATA, "alignment %s: more rows than one job can have",
                         p->file.name);
    for (uint32_t i = 0; all && s == STATUS_OK && i < p->file.n; i++)
        s = add_place(l, i);
    return s == STATUS_OK || !all
               ? s
               : error_set(err, s, "alignment %s: %s", p->file.name, status_words(s));
}

/* --- what is kept --- */

static int by_id_then_place(const void *x, const void *y, void *of)
{
    const uint32_t *i = x, *j = y;
    const struct ids *l = of;
    size_t n, m;
    const char *a = ids_get(l, *i, &n), *b = ids_get(l, *j, &m);
    const int order = memcmp(a, b, n < m ? n : m);

    if (order != 0 || n != m)
        return order != 0 ? order : (n > m) - (n < m);
    return (*i > *j) - (*i < *j);
}

/* again[i]: an id that stands in the list before. */
static enum status find_repeated(bool *again, const struct ids *all)
{
    uint32_t *order = mem_alloc(all->n, sizeof *order);

    if (order == NULL)
        return STATUS_MEMORY;
    for (uint32_t i = 0; i < all->n; i++)
        order[i] = i;
    qsort_r(order, all->n, sizeof *order, by_id_then_place, (void *)(uintptr_t)all);
    for (uint32_t i = 1; i < all->n; i++) {
        size_t n, m;
        const char *a = ids_get(all, order[i - 1], &n), *b = ids_get(all, order[i], &m);

        again[order[i]] = n == m && memcmp(a, b, n) == 0;
    }
    mem_free(order);
    return STATUS_OK;
}

enum status ids_missing(struct ids *out, const struct ids *all, const struct answers *kept,
                        struct error *err)
{
    bool *again = mem_alloc(all->n, sizeof *again);
    enum status s = again == NULL ? STATUS_MEMORY : find_repeated(again, all);

    for (uint32_t i = 0; s == STATUS_OK && i < all->n; i++) {
        size_t n;
        const char *id = ids_get(all, i, &n);

        if (!again[i] && answers_find(kept, id, n) == NULL)
            s = add(out, id, n);
    }
    mem_free(again);
    return s == STATUS_OK ? s : error_set(err, s, "no memory for %u ids", all->n);
}
