/* intake_header.c -- which columns of a source are what.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/intake_header.h"

#include "common/base/mem.h"
#include "common/data/order.h"
#include "common/data/text.h"

#include <string.h>

enum status intake_no_memory(const struct intake *in, struct error *err)
{
    return error_set(err, STATUS_MEMORY, "%s: no memory for %zu rows of %zu columns",
                     in->source.path, in->room, in->t->cols);
}

/* --- the header --- */

/* Somebody has written that the table has it, and that it is none of this side's. */
static bool says_label(const struct schema *s)
{
    size_t i = 0;

    while (i < s->n && strcmp(s->column[i].name, "label") != 0)
        i++;
    return s->written && i < s->n && schema_width(&s->column[i]) == 0;
}

bool intake_is_key(const struct intake *in, size_t column)
{
    return in->want->places != NULL && in->want->places->is_key(in->want->places->owner, column);
}

static bool is_labels_only(const struct intake_want *w)
{
    return w->labels || w->several;
}

/* Or, of a party's table, one that tells rows apart: that is one of kind ignored. */
static bool is_feature(const struct intake *in, size_t column)
{
    return column != in->id && column != in->group && column != in->time &&
           !(is_labels_only(in->want) && intake_is_key(in, column));
}

/* Of one label: the ids, the labels, and whose rows they are, and of when. */
static bool is_labels(const struct intake *in)
{
    const struct source *s = &in->source;
    const size_t label = source_column(s, "label");
    size_t others = 0;

    for (size_t i = 0; i < s->cols; i++)
        others += is_feature(in, i);
    if (in->want->places != NULL)
        return others == 1 && label < s->cols && is_feature(in, label);
    return s->cols == 2 + (size_t)(in->group < s->cols) + (size_t)(in->time < s->cols) &&
           in->id == 0 && label < s->cols && is_feature(in, label);
}

/* The column of this name; NULL: there is none. */
static enum status find_role(const struct source *s, const char *name, size_t *column,
                             struct error *err)
{
    *column = name != NULL ? source_column(s, name) : s->cols;
    return name == NULL || *column < s->cols ? STATUS_OK
                                             : source_fail(s, err, "no column \"%s\"", name);
}

static enum status no_features(const struct intake *in, const char *id, struct error *err)
{
    const struct intake_want *w = in->want;
    const struct source *s = &in->source;

    if (w->group != NULL && w->time != NULL)
        return source_fail(s, err, "no column besides %s, \"%s\" and \"%s\"", id, w->group,
                           w->time);
    if (w->group != NULL || w->time != NULL)
        return source_fail(s, err, "no column besides %s and \"%s\"", id,
                           w->group != NULL ? w->group : w->time);
    return source_fail(s, err, "no column besides %s", id);
}

static enum status find_roles(struct intake *in, struct error *err)
{
    const struct intake_want *w = in->want;
    const struct source *s = &in->source;
    const char *id = in->schema->id[0] != 0 ? in->schema->id : w->id == NULL ? "id" : w->id;

    size_t features = 0;
    enum status found;

    in->id = source_column(s, id);
    if (in->id == s->cols && w->places != NULL && w->places->by_id)
        return source_fail(
            s, err, "no column \"%s\", which rows are called by where align.key has names", id);
    if (in->id == s->cols && !w->numbered && w->places == NULL)
        return source_fail(s, err, "no column \"%s\"", id);
    found = w->places != NULL ? w->places->begin(w->places->owner, s, err) : STATUS_OK;
    if (found == STATUS_OK)
        found = find_role(s, w->group, &in->group, err);
    if (found == STATUS_OK)
        found = find_role(s, w->time, &in->time, err);
    if (found != STATUS_OK)
        return found;
    if (in->time < s->cols && (in->time == in->id || in->time == in->group))
        return source_fault(s, in->time, "one column cannot be the times and ids or names", err);
    if (w->labels && !is_labels(in))
        return source_fail(s, err,
                           w->places != NULL
                               ? "a label file has the column label, those of the alignment's key, "
                                 "and else none but id and those of labels.group and labels.time"
                           : w->group != NULL || w->time != NULL
                               ? "a label file has exactly the columns id,label, and those "
                                 "of labels.group and labels.time"
                               : "a label file has exactly the columns id,label (those of an "
                                 "alignment's key go with the name of the alignment)");
    if (!w->labels && !w->several && source_column(s, "label") < s->cols && !says_label(in->schema))
        return source_fault(s, source_column(s, "label"),
                            "labels belong to the server, in a file of their own", err);
    for (size_t i = 0; i < s->cols; i++)
        features += is_feature(in, i) && !intake_is_key(in, i);
    return features > 0 ? STATUS_OK : no_features(in, id, err);
}

/* Which columns are to be read, as a schema that knows no kinds yet. */
static enum status make_schema(struct intake *in, size_t cols, struct error *err)
{
    struct schema *s = in->schema;

    if (schema_init(s, cols) != STATUS_OK)
        return intake_no_memory(in, err);
    for (size_t i = 0; i < cols; i++) {
        struct schema_column *c = &s->column[i];

        memcpy(c->name, in->source.names + in->from[i] * SOURCE_NAME_MAX, SOURCE_NAME_MAX);
        c->kind = intake_is_key(in, in->from[i]) ? SCHEMA_IGNORED : in->want->kind;
        c->open = true;
        if (in->want->complete)
            c->missing = MISSING_REFUSED;
    }
    return STATUS_OK;
}

/* --- the columns of a schema, wherever they stand in this source --- */

/* Of the source's names in order: the column called so; n: none. */
static size_t named(const struct order_item *sorted, size_t n, const char *names, const char *name)
{
    const size_t len = strlen(name);
    size_t low = 0, high = n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const char *there = names + sorted[middle].at;
        const int order = order_compare(there, strlen(there), name, len);

        if (order == 0)
            return sorted[middle].row;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return n;
}

static enum status find_columns(const struct intake *in, size_t *found, struct error *err)
{
    const struct source *s = &in->source;
    struct order_item *sorted = mem_alloc(s->cols, sizeof *sorted);

    if (sorted == NULL)
        return intake_no_memory(in, err);
    for (size_t i = 0; i < s->cols; i++)
        sorted[i] = order_item(s->names, (uint32_t)(i * SOURCE_NAME_MAX), (uint32_t)i);
    order_sort(sorted, s->cols, s->names);
    for (size_t i = 0; i < in->schema->n; i++)
        found[i] = named(sorted, s->cols, s->names, in->schema->column[i].name);
    mem_free(sorted);
    return STATUS_OK;
}

/* What is read of a column is there, and is no id. */
static enum status check_found(const struct intake *in, const size_t *found, struct error *err)
{
    const struct schema *s = in->schema;
    char shown[TEXT_EXCERPT_MAX];

    for (size_t i = 0; i < s->n; i++) {
        const struct schema_column *c = &s->column[i];

        if (c->kind == SCHEMA_IGNORED || c->kind == SCHEMA_LABEL)
            continue;
        if (found[i] == in->source.cols) {
            text_excerpt(shown, c->name, strlen(c->name));
            return source_fail(&in->source, err, "no column \"%s\", which the %s has", shown,
                               s->written ? "schema" : "training table");
        }
        if (found[i] == in->id)
            return source_fault(&in->source, in->id,
                                "the ids, which are no feature: in the schema it is of kind id, or "
                                "ignored",
                                err);
    }
    return STATUS_OK;
}

/* The source has no others, but for those that are no features. */
static enum status check_declared(const struct intake *in, const size_t *found, size_t cols,
                                  struct error *err)
{
    const size_t n = in->source.cols;
    bool *declared = mem_alloc(n + 1, sizeof *declared);
    size_t i = 0;

    if (declared == NULL)
        return intake_no_memory(in, err);
    for (size_t k = 0; k < in->schema->n; k++)
        declared[found[k]] = true;
    while (i < cols && (declared[in->from[i]] || intake_is_key(in, in->from[i])))
        i++;
    mem_free(declared);
    if (i == cols)
        return STATUS_OK;
    return source_fault(&in->source, in->from[i],
                        in->schema->written ? "not in the schema" : "not in the training table",
                        err);
}

static enum status find_schema(struct intake *in, size_t cols, struct error *err)
{
    size_t *found = mem_alloc(in->schema->n, sizeof *found);
    enum status s = found == NULL ? intake_no_memory(in, err) : find_columns(in, found, err);

    if (s == STATUS_OK)
        s = check_found(in, found, err);
    if (s == STATUS_OK && !in->want->several)
        s = check_declared(in, found, cols, err);
    mem_free(s == STATUS_OK ? in->from : found);
    if (s == STATUS_OK)
        in->from = found;
    return s;
}

enum status intake_header_read(struct intake *in, struct error *err)
{
    size_t cols = 0;
    enum status s = find_roles(in, err);

    if (s != STATUS_OK)
        return s;
    in->from = mem_alloc(in->source.cols, sizeof *in->from);
    if (in->from == NULL)
        return intake_no_memory(in, err);
    for (size_t i = 0; i < in->source.cols; i++)
        if (is_feature(in, i))
            in->from[cols++] = i;
    if (cols > TABLE_COLUMNS_MAX)
        return source_fail(&in->source, err, "%zu columns, at most %d", cols, TABLE_COLUMNS_MAX);
    in->made = in->schema->n == 0;
    s = in->made ? make_schema(in, cols, err) : find_schema(in, cols, err);
    if (s != STATUS_OK)
        return s;
    cols = in->schema->n;
    in->t->names = mem_alloc(cols, TABLE_NAME_MAX);
    in->t->cols = cols;
    for (size_t i = 0; in->t->names != NULL && i < cols; i++)
        memcpy(in->t->names + i * TABLE_NAME_MAX, in->schema->column[i].name, TABLE_NAME_MAX);
    return in->t->names != NULL ? STATUS_OK : intake_no_memory(in, err);
}
