/* table.c -- tables by id: labels as classes, gathering rows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/table.h"

#include "common/base/check.h"
#include "common/base/finite.h"
#include "common/base/mem.h"
#include "common/data/intake.h"
#include "common/data/order.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { GATHER_AHEAD = 8, CACHE_LINE = 64 };

enum status table_read(struct table *t, const char *path, const struct table_want *want,
                       struct error *err)
{
    const struct intake_want numbers = {.group = want->group,
                                        .time = want->time,
                                        .mapped = want->mapped,
                                        .labels = want->labels,
                                        .kind = SCHEMA_NUMBER,
                                        .complete = true,
                                        .limits = &INTAKE_LIMITS};
    struct schema schema = {0};
    enum status s = intake_read(t, &schema, path, &numbers, err);

    schema_deinit(&schema);
    return s;
}

void table_deinit(struct table *t)
{
    values_free(&t->values, t->x);
    mem_free(t->id_text);
    mem_free(t->id_at);
    mem_free(t->names);
    mem_free(t->lacks);
    mem_free(t->own.text);
    mem_free(t->own.at);
    mem_free(t->own.order);
    *t = (struct table){0};
}

const char *table_id(const struct table *t, size_t row)
{
    return t->id_text + t->id_at[row];
}

const char *table_own_id(const struct table *t, size_t row)
{
    return t->own.any ? t->own.text + t->own.at[row] : table_id(t, row);
}

enum status table_classes(const struct table *t, int32_t *label, uint32_t *classes,
                          uint32_t classes_max, const char *path, struct error *err)
{
    uint32_t largest = 0;

    CHECK(t->cols == 1 && t->rows > 0 && classes_max >= 1 && classes_max <= INT32_MAX);
    for (size_t i = 0; i < t->rows; i++) {
        float x = t->x[i];

        /* The value itself stays out of the text: labels are not for logs. */
        if (!(x >= 0) || x != floorf(x) || (double)x >= classes_max)
            return error_set(err, STATUS_DATA,
                             "%s: id \"%s\": the label is not a whole number from 0 to %lu", path,
                             table_own_id(t, i), (unsigned long)classes_max - 1);
        label[i] = (int32_t)x;
        if ((uint32_t)x > largest)
            largest = (uint32_t)x;
    }
    *classes = largest + 1;
    return STATUS_OK;
}

size_t table_limit(struct table *t)
{
    size_t beyond = 0;

    for (size_t i = 0; i < t->rows * t->cols; i++) {
        beyond += !(fabsf(t->x[i]) <= TABLE_VALUE_LIMIT);
        t->x[i] = finite_within(t->x[i], TABLE_VALUE_LIMIT);
    }
    return beyond;
}

void table_gather(float *out, const struct table *t, const uint32_t *rows, size_t n)
{
    size_t cols = t->cols, bytes = cols * sizeof *out;

    for (size_t i = 0; i < n; i++) {
        CHECK(rows[i] < t->rows);
        /* Rows of a shuffled batch lie anywhere: their first lines are
         * asked for some rows early. */
        if (i + GATHER_AHEAD < n) {
            const char *next = (const char *)(t->x + rows[i + GATHER_AHEAD] * cols);

            __builtin_prefetch(next);
            __builtin_prefetch(next + CACHE_LINE);
        }
        memcpy(out + i * cols, t->x + rows[i] * cols, bytes);
    }
}

/* By own ids, in their order, or by ids, in the order of rows. */
static size_t find(const struct table *t, const char *id, size_t n, bool own)
{
    size_t low = 0, high = t->rows;

    while (low < high) {
        const size_t middle = low + (high - low) / 2, row = own ? t->own.order[middle] : middle;
        const char *at = own ? table_own_id(t, row) : table_id(t, row);
        const int order = order_compare(at, strlen(at), id, n);

        if (order == 0)
            return row;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return t->rows;
}

size_t table_find(const struct table *t, const char *id, size_t n)
{
    return find(t, id, n, false);
}

size_t table_find_own(const struct table *t, const char *id)
{
    return find(t, id, strlen(id), t->own.any);
}

static bool share_own_ids(const struct table *a, const struct table *b)
{
    size_t i = 0;

    while (i < a->rows && table_find_own(b, table_own_id(a, i)) == b->rows)
        i++;
    return i < a->rows;
}

/* Both are in the order of ids. */
bool table_share_ids(const struct table *a, const struct table *b)
{
    size_t i = 0, j = 0;

    if (a->own.any || b->own.any)
        return share_own_ids(a, b);
    while (i < a->rows && j < b->rows) {
        const char *x = table_id(a, i), *y = table_id(b, j);
        const int order = order_compare(x, strlen(x), y, strlen(y));

        if (order == 0)
            return true;
        i += order < 0;
        j += order > 0;
    }
    return false;
}

size_t table_ids_bytes(const struct table *t)
{
    return t->rows == 0 ? 0 : t->id_at[t->rows - 1] + strlen(table_id(t, t->rows - 1)) + 1;
}

bool table_counts(const struct table *t)
{
    char number[24];

    for (size_t i = 0; i < t->rows; i++) {
        snprintf(number, sizeof number, "%zu", i);
        if (strcmp(table_id(t, i), number) != 0)
            return false;
    }
    return true;
}

size_t table_lacks(const struct table *a, const struct table *b, size_t *first)
{
    size_t n = 0;

    for (size_t i = b->rows; i-- > 0;) {
        const char *id = table_id(b, i);

        if (table_find(a, id, strlen(id)) < a->rows)
            continue;
        *first = i;
        n++;
    }
    return n;
}

enum status table_differ(const struct table *a, const char *called, const struct table *b,
                         const char *path, struct error *err)
{
    size_t first = 0, other = 0;
    const size_t lacking = table_lacks(b, a, &first), more = table_lacks(a, b, &other);

    return error_set(err, STATUS_DATA,
                     "%s: %zu of the %zu ids there are not in %.160s%s%s, and %zu of the %zu in it "
                     "not there%s%s",
                     called, lacking, a->rows, path, lacking > 0 ? ": " : "",
                     lacking > 0 ? table_own_id(a, first) : "", more, b->rows, more > 0 ? ": " : "",
                     more > 0 ? table_own_id(b, other) : "");
}

bool table_same_ids(const struct table *a, const struct table *b)
{
    const size_t bytes = table_ids_bytes(a);

    return a->rows == b->rows && bytes == table_ids_bytes(b) &&
           (bytes == 0 || memcmp(a->id_text, b->id_text, bytes) == 0);
}
