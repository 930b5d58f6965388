/* schema_text.c -- YAML to a schema.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/schema_text.h"

#include "common/base/check.h"
#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/config/number.h"
#include "common/config/tree.h"
#include "common/data/order.h"
#include "common/data/text.h"

#include <math.h>
#include <string.h>

/* Of a category. */
static const char *const encodings[] = {"one-hot", "embedding", NULL};

struct reader {
    const char *path;
    struct error *err;
};

static enum status refuse(const struct reader *r, int line, const char *what)
{
    return error_set(r->err, STATUS_CONFIG, "%s:%d: %s", r->path, line, what);
}

static int word_of(const char *const *words, const char *text)
{
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], text) == 0)
            return i;
    return -1;
}

static enum status read_number(const struct reader *r, float *out, const struct tree *t)
{
    double x;

    if (t->kind != TREE_SCALAR || !number_real(&x, t->text) || !isfinite((float)x))
        return refuse(r, t->value_line, "a number expected");
    *out = (float)x;
    return STATUS_OK;
}

static enum status read_bool(const struct reader *r, bool *out, const struct tree *t)
{
    *out = t->kind == TREE_SCALAR && strcmp(t->text, "true") == 0;
    if (*out || (t->kind == TREE_SCALAR && strcmp(t->text, "false") == 0))
        return STATUS_OK;
    return refuse(r, t->value_line, "true or false expected");
}

static enum status read_levels(const struct reader *r, struct schema_column *c,
                               const struct tree *t)
{
    uint32_t number;

    if (t->kind != TREE_LIST)
        return refuse(r, t->value_line, "levels: a list of texts expected");
    for (const struct tree *item = t->first; item != NULL; item = item->next) {
        const uint32_t before = c->levels.n;
        enum status s;

        if (item->kind != TREE_SCALAR)
            return refuse(r, item->value_line, "levels: a list of texts expected");
        s = levels_add(&c->levels, item->text, strlen(item->text), &number);
        if (s == STATUS_MEMORY)
            return error_set(r->err, s, "%s: %s", r->path, status_words(s));
        if (s != STATUS_OK)
            return refuse(r, item->value_line, "levels: too many of them, or one that is no text");
        if (c->levels.n == before)
            return refuse(r, item->value_line, "levels: one stands there twice");
    }
    c->open = false;
    return STATUS_OK;
}

static enum status read_clip(const struct reader *r, struct schema_column *c, const struct tree *t)
{
    enum status s;

    if (t->kind != TREE_LIST || t->n != 2)
        return refuse(r, t->value_line, "clip: [lowest, highest] expected");
    s = read_number(r, &c->low, t->first);
    if (s == STATUS_OK)
        s = read_number(r, &c->high, t->first->next);
    c->clipped = true;
    return s == STATUS_OK && c->low > c->high ? refuse(r, t->value_line, "clip: runs backwards")
                                              : s;
}

static enum status read_missing(const struct reader *r, struct schema_column *c,
                                const struct tree *t)
{
    const int word = t->kind == TREE_SCALAR ? word_of(schema_missings, t->text) : -1;

    if (word < 0)
        return refuse(r, t->value_line, "missing: mean, median, constant, own or refused expected");
    /* A text that is missing is no level already: a level of its own is its indicator. */
    c->indicator = c->indicator || word == MISSING_OWN;
    if (c->kind != SCHEMA_CATEGORY || word != MISSING_OWN)
        c->missing = (enum schema_missing)word;
    return STATUS_OK;
}

static enum status read_count(const struct reader *r, uint32_t *out, uint64_t most,
                              const struct tree *t)
{
    uint64_t n = 0;

    if (t->kind != TREE_SCALAR || !number_whole(&n, t->text) || n < 1 || n > most)
        return refuse(r, t->value_line, "a whole number from 1 expected, that is not too large");
    *out = (uint32_t)n;
    return STATUS_OK;
}

static enum status read_edges(const struct reader *r, struct schema_column *c, const struct tree *t)
{
    enum status s = STATUS_OK;
    uint32_t n = 0;

    if (t->kind != TREE_LIST || t->n >= SCHEMA_BINS_MAX)
        return refuse(r, t->value_line, "edges: a list of at most 63 numbers expected");
    if (c->bins > 0)
        return refuse(r, t->line, "bins or edges, not both");
    c->edge = mem_alloc(t->n + 1, sizeof *c->edge);
    if (c->edge == NULL)
        return error_set(r->err, STATUS_MEMORY, "%s: %s", r->path, status_words(STATUS_MEMORY));
    for (const struct tree *item = t->first; s == STATUS_OK && item != NULL; item = item->next) {
        s = read_number(r, &c->edge[n], item);
        if (s == STATUS_OK && n > 0 && c->edge[n] <= c->edge[n - 1])
            s = refuse(r, item->value_line, "edges: each is above the one before");
        n++;
    }
    c->bins = n + 1;
    c->cut = true;
    return s;
}

static enum status read_bins(const struct reader *r, struct schema_column *c, const struct tree *t)
{
    if (c->bins > 0)
        return refuse(r, t->line, "bins or edges, not both");
    return read_count(r, &c->bins, SCHEMA_BINS_MAX, t);
}

static enum status read_parts(const struct reader *r, struct schema_column *c, const struct tree *t)
{
    int before = -1;

    for (const struct tree *item = t->kind == TREE_LIST ? t->first : NULL; item != NULL;
         item = item->next) {
        const int word = item->kind == TREE_SCALAR ? word_of(schema_parts, item->text) : -1;

        if (word <= before)
            return refuse(r, item->value_line,
                          "parts: some of days, year, month, day, weekday, hour, in this order");
        c->parts |= 1u << word;
        before = word;
    }
    return c->parts > 0 ? STATUS_OK : refuse(r, t->value_line, "parts: a list of them expected");
}

static enum status read_indicator(const struct reader *r, struct schema_column *c,
                                  const struct tree *t)
{
    const bool own = c->indicator;
    enum status s = read_bool(r, &c->indicator, t);

    return s == STATUS_OK && own && !c->indicator
               ? refuse(r, t->line, "missing: own has an indicator")
               : s;
}

static enum status read_encode(const struct reader *r, struct schema_column *c,
                               const struct tree *t)
{
    const int word = t->kind == TREE_SCALAR ? word_of(encodings, t->text) : -1;

    if (word < 0)
        return refuse(r, t->value_line, "encode: one-hot or embedding expected");
    c->embedded = word == 1;
    return STATUS_OK;
}

/* What is for categories alone. */
static enum status read_category_key(const struct reader *r, struct schema_column *c,
                                     const struct tree *t)
{
    if (strcmp(t->name, "other") == 0)
        return read_bool(r, &c->other, t);
    if (strcmp(t->name, "min_rows") == 0)
        return read_count(r, &c->min_rows, UINT32_MAX, t);
    if (strcmp(t->name, "max_levels") == 0)
        return read_count(r, &c->max_levels, LEVELS_MAX, t);
    if (strcmp(t->name, "encode") == 0)
        return read_encode(r, c, t);
    if (strcmp(t->name, "width") == 0)
        return read_count(r, &c->vector, SCHEMA_VECTOR_MAX, t);
    return refuse(r, t->line, "no key of a column of this kind");
}

/* What a number or a time becomes. */
static enum status read_value_key(const struct reader *r, struct schema_column *c,
                                  const struct tree *t)
{
    if (strcmp(t->name, "clip") == 0)
        return read_clip(r, c, t);
    if (strcmp(t->name, "log") == 0)
        return read_bool(r, &c->log, t);
    if (strcmp(t->name, "bins") == 0 && c->kind != SCHEMA_ORDERED)
        return read_bins(r, c, t);
    if (strcmp(t->name, "edges") == 0 && c->kind != SCHEMA_ORDERED)
        return read_edges(r, c, t);
    if (strcmp(t->name, "parts") == 0 && c->kind == SCHEMA_TIME)
        return read_parts(r, c, t);
    if (strcmp(t->name, "fill") != 0)
        return refuse(r, t->line, "no key of a column of this kind");
    c->filled = true;
    return read_number(r, &c->fill, t);
}

/* One key of a column, its name and kind aside. */
static enum status read_key(const struct reader *r, struct schema_column *c, const struct tree *t)
{
    const bool texts = c->kind == SCHEMA_CATEGORY || c->kind == SCHEMA_ORDERED;
    const bool none = c->kind == SCHEMA_IGNORED || c->kind == SCHEMA_LABEL;

    if (texts && strcmp(t->name, "levels") == 0)
        return read_levels(r, c, t);
    if (!none && strcmp(t->name, "indicator") == 0)
        return read_indicator(r, c, t);
    if (!none && strcmp(t->name, "missing") == 0)
        return read_missing(r, c, t);
    if (none)
        return refuse(r, t->line, "no key of a column of this kind");
    return c->kind == SCHEMA_CATEGORY ? read_category_key(r, c, t) : read_value_key(r, c, t);
}

static enum status check_values(const struct reader *r, const struct schema *s,
                                const struct schema_column *c, int line)
{
    if (c->missing == MISSING_CONSTANT && !c->filled)
        return refuse(r, line, "missing: constant needs fill");
    if (c->missing == MISSING_OWN && c->bins == 0)
        return refuse(r, line, "missing: own is for categories and bins");
    if ((c->bins > 0) + (c->parts > 0) + c->log > 1)
        return refuse(r, line, "one of bins, parts and log");
    if (s->given && c->bins > 0 && !c->cut)
        return refuse(r, line, "statistics: given, but the edges of this column's bins are not");
    if (s->given && !c->filled && c->missing != MISSING_REFUSED && c->missing != MISSING_OWN)
        return refuse(r, line, "statistics: given, but this column's fill is not");
    return STATUS_OK;
}

static enum status check_column(const struct reader *r, const struct schema *s,
                                struct schema_column *c, int line)
{
    const bool number = schema_width(c) > 0 && c->kind != SCHEMA_CATEGORY;
    enum status status = STATUS_OK;

    if (c->kind == SCHEMA_CATEGORY && !c->open && c->levels.n == 0 && schema_width(c) == 0)
        return refuse(r, line, "levels: a list that is empty needs other: true");
    if (c->kind == SCHEMA_ORDERED && c->levels.n == 0)
        return refuse(r, line, "an ordered column needs its levels, the lowest first");
    if (c->vector > 0 && !c->embedded)
        return refuse(r, line, "width is for encode: embedding");
    if (!c->open && (c->min_rows > 0 || c->max_levels > 0))
        return refuse(r, line, "min_rows and max_levels are for levels that the rows decide");
    if (s->given && c->kind == SCHEMA_CATEGORY && c->open)
        return refuse(r, line, "statistics: given, but this column's levels are not");
    if (number)
        status = check_values(r, s, c, line);
    if (status != STATUS_OK)
        return status;
    if (c->kind == SCHEMA_CATEGORY && !c->open && schema_place_all(c) != STATUS_OK)
        return error_set(r->err, STATUS_MEMORY, "%s: %s", r->path, status_words(STATUS_MEMORY));
    if (c->kind == SCHEMA_ORDERED && schema_place_all(c) != STATUS_OK)
        return error_set(r->err, STATUS_MEMORY, "%s: %s", r->path, status_words(STATUS_MEMORY));
    if (!c->open)
        schema_settle_vector(c);
    return STATUS_OK;
}

/* {name: ..., kind: ..., and what its kind knows}; an id takes no place in s->column. */
static enum status read_column(const struct reader *r, struct schema *s, const struct tree *t)
{
    const struct tree *name = t->kind == TREE_MAP ? t->first : NULL;
    const struct tree *kind = name != NULL ? name->next : NULL;
    struct schema_column *c = &s->column[s->n];
    enum status status = STATUS_OK;
    int word;

    if (kind == NULL || strcmp(name->name, "name") != 0 || strcmp(kind->name, "kind") != 0 ||
        name->kind != TREE_SCALAR || kind->kind != TREE_SCALAR)
        return refuse(r, t->value_line, "a column is {name: ..., kind: ..., ...}, in this order");
    if (!text_is_name(name->text, strlen(name->text), TABLE_NAME_MAX - 1))
        return refuse(r, name->value_line, "no name of a column");
    if (strcmp(kind->text, "id") == 0) {
        if (s->id[0] != 0 || kind->next != NULL)
            return refuse(r, kind->line, "one column is the id, and has no other keys");
        strcpy(s->id, name->text);
        return STATUS_OK;
    }
    word = word_of(schema_kinds, kind->text);
    if (word <= SCHEMA_AUTO)
        return refuse(r, kind->value_line,
                      "kind: number, category, ordered, time, ignored, label or "
                      "id expected");
    strcpy(c->name, name->text);
    c->kind = (enum schema_kind)word;
    c->open = c->kind == SCHEMA_CATEGORY;
    s->n++;
    for (const struct tree *key = kind->next; status == STATUS_OK && key != NULL; key = key->next)
        status = read_key(r, c, key);
    return status == STATUS_OK ? check_column(r, s, c, t->value_line) : status;
}

/* The second of two columns of this name, which are there. */
static enum status refuse_repeated(const struct reader *r, const struct tree *columns,
                                   const char *name)
{
    const struct tree *t = columns->first;

    for (int seen = 0; t != NULL; t = t->next) {
        seen += strcmp(t->first->text, name) == 0;
        if (seen == 2)
            break;
    }
    CHECK(t != NULL);
    return refuse(r, t->first->value_line, "two columns of one name");
}

/* Sorted, since there may be very many. */
static enum status check_names(const struct reader *r, const struct schema *s,
                               const struct tree *columns)
{
    const char *text = (const char *)s->column;
    struct order_item *items = mem_alloc(s->n, sizeof *items);
    enum status status = STATUS_OK;
    size_t i;

    if (items == NULL)
        return error_set(r->err, STATUS_MEMORY, "%s: %s", r->path, status_words(STATUS_MEMORY));
    for (i = 0; i < s->n; i++)
        items[i] = order_item(text, (uint32_t)(s->column[i].name - text), (uint32_t)i);
    order_sort(items, s->n, text);
    i = order_repeated(items, s->n, text);
    if (i < s->n)
        status = refuse_repeated(r, columns, text + items[i].at);
    for (i = 0; status == STATUS_OK && i < s->n; i++) {
        if (strcmp(s->column[i].name, s->id) == 0)
            status = refuse_repeated(r, columns, s->id);
    }
    mem_free(items);
    return status;
}

/* Above 0, and at most `most`. */
static bool read_share(double *out, const struct tree *t, const char *name, double most)
{
    return t != NULL && strcmp(t->name, name) == 0 && t->kind == TREE_SCALAR &&
           number_real(out, t->text) && *out > 0 && *out <= most;
}

static enum status read_budget(const struct reader *r, struct schema *s, const struct tree *t)
{
    const struct tree *epsilon = t->kind == TREE_MAP ? t->first : NULL;
    const struct tree *delta = epsilon != NULL ? epsilon->next : NULL;

    if (!read_share(&s->epsilon, epsilon, "epsilon", SCHEMA_EPSILON_MAX) ||
        !read_share(&s->delta, delta, "delta", SCHEMA_DELTA_MAX) || delta->next != NULL)
        return refuse(
            r, t->value_line,
            "budget: {epsilon: ..., delta: ...} expected, above 0 and at most 20 and 0.001");
    return STATUS_OK;
}

static enum status read_statistics(const struct reader *r, struct schema *s, const struct tree *t)
{
    static const char *const words[] = {"fit", "given", "dp", NULL};
    const int word = t->kind == TREE_SCALAR ? word_of(words, t->text) : -1;

    if (word < 0)
        return refuse(r, t->value_line, "statistics: fit, given or dp expected");
    s->given = word == 1;
    s->dp = word == 2;
    return STATUS_OK;
}

static enum status read_schema(const struct reader *r, struct schema *s, const struct tree *root)
{
    const struct tree *how = root != NULL && root->kind == TREE_MAP ? root->first : NULL;
    const struct tree *columns = how != NULL ? how->next : NULL, *budget = NULL;
    struct schema head = {.written = true};
    enum status status = STATUS_OK;

    if (columns != NULL && strcmp(columns->name, "budget") == 0) {
        budget = columns;
        columns = columns->next;
    }
    if (columns == NULL || columns->next != NULL || strcmp(how->name, "statistics") != 0 ||
        strcmp(columns->name, "columns") != 0 || columns->kind != TREE_LIST || columns->n == 0)
        return refuse(r, 1, "a schema has the keys statistics and columns, in this order");
    status = read_statistics(r, &head, how);
    if (status == STATUS_OK && head.dp != (budget != NULL))
        return refuse(r, how->value_line,
                      "statistics: dp has a budget behind it, and nothing else has");
    if (status == STATUS_OK && budget != NULL)
        status = read_budget(r, &head, budget);
    if (status != STATUS_OK)
        return status;
    if (columns->n > TABLE_COLUMNS_MAX || schema_init(s, columns->n) != STATUS_OK)
        return error_set(r->err, STATUS_MEMORY, "%s: %s", r->path, status_words(STATUS_MEMORY));
    head.column = s->column;
    *s = head;
    for (const struct tree *t = columns->first; status == STATUS_OK && t != NULL; t = t->next)
        status = read_column(r, s, t);
    if (status == STATUS_OK)
        status = check_names(r, s, columns);
    if (status == STATUS_OK && (status = schema_check_vectors(s, r->err)) != STATUS_OK)
        error_wrap(r->err, "%s", r->path);
    return status;
}

enum status schema_parse(struct schema *s, const char *text, size_t n, const char *path,
                         struct error *err)
{
    const struct reader r = {.path = path, .err = err};
    /* No text has more entries than bytes. */
    const struct tree_limits limits = {.bytes = SCHEMA_TEXT_MAX,
                                       .depth = 5,
                                       .nodes = n < SCHEMA_NODES_MAX ? n + 1 : SCHEMA_NODES_MAX,
                                       .text_max = LEVELS_TEXT_MAX};
    const struct tree *root;
    struct tree_fault f;
    struct arena a;
    enum status status = tree_read(&root, &a, text, n, &limits, &f);

    *s = (struct schema){0};
    status = status == STATUS_OK ? read_schema(&r, s, root) : tree_refuse(path, status, &f, err);
    arena_deinit(&a);
    if (status != STATUS_OK)
        schema_deinit(s);
    return status;
}

enum status schema_load(struct schema *s, const char *path, struct error *err)
{
    struct buf text;
    enum status status;

    *s = (struct schema){0};
    buf_init(&text, SCHEMA_TEXT_MAX);
    status = file_read(path, &text, err);
    if (status == STATUS_OK)
        status = schema_parse(s, (const char *)text.data, text.len, path, err);
    buf_deinit(&text);
    return status;
}

enum status schema_copy(struct schema *to, const struct schema *from, struct error *err)
{
    struct error why = {0};
    struct buf text;
    enum status status;

    *to = (struct schema){0};
    if (from->n == 0)
        return STATUS_OK;
    buf_init(&text, SCHEMA_TEXT_MAX);
    status = schema_print(from, &text);
    if (status == STATUS_OK)
        status = schema_parse(to, (const char *)text.data, text.len, "schema", &why);
    buf_deinit(&text);
    if (status == STATUS_OK || status == STATUS_MEMORY)
        return status == STATUS_OK ? status : error_set(err, status, "no memory for a schema");
    return error_set(err, STATUS_DATA, "what is made of the columns cannot be kept: %s",
                     status == STATUS_LIMIT ? "it is over 32 MiB" : why.text);
}
