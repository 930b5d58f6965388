/* array.c -- an array in two passes: header and length first, then allocation, then the elements.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/array.h"

#include "common/base/mem.h"
#include "common/data/counted.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 65536 };

bool array_measure(struct array *a, size_t *which)
{
    a->columns = 1;
    for (*which = 0; *which < a->rank; ++*which) {
        const size_t dim = a->dim[*which];

        if (dim == 0 || dim > (*which == 0 ? TABLE_ROWS_MAX : TABLE_COLUMNS_MAX / a->columns))
            return false;
        a->columns *= *which == 0 ? 1 : dim;
    }
    return a->dim[0] <= TABLE_VALUES_MAX / a->columns;
}

double array_value(const struct array *a, const uint8_t *element)
{
    uint64_t bits = 0;
    const unsigned shift = 64 - 8 * (unsigned)a->element;

    for (size_t i = 0; i < a->element; i++)
        bits |= (uint64_t)element[i] << (8 * i);
    if (a->kind == 'u')
        return (double)bits;
    if (a->kind == 'i')
        return (double)((int64_t)(bits << shift) >> shift);
    if (a->element == 4) {
        const uint32_t half = (uint32_t)bits;
        float x;

        memcpy(&x, &half, sizeof x);
        return (double)x;
    }
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* "IDX" of "an IDX" */
static const char *bare(const struct array_format *f)
{
    return strchr(f->name, ' ') + 1;
}

enum status array_check(const struct array *a, const struct array_format *f,
                        const struct table_want *want, const char *path, struct error *err)
{
    if (want->group != NULL || want->time != NULL)
        return error_set(err, STATUS_DATA,
                         "%s: %s file has no columns with names: data.%s needs CSV", path, f->name,
                         want->group != NULL ? "group" : "time");
    if (want->labels && a->rank != 1)
        return error_set(err, STATUS_DATA, "%s: labels need %s file of one dimension", path,
                         f->name);
    if (!want->labels && a->rank == 1)
        return error_set(err, STATUS_DATA, "%s: one %s dimension: a label file, not features", path,
                         bare(f));
    return STATUS_OK;
}

/* Exactly that many bytes follow, and then the end. */
static enum status check_length(struct stream *in, const struct array *a,
                                const struct array_format *f, uint8_t *chunk, struct error *err)
{
    const size_t bytes = a->dim[0] * a->columns * a->element;
    size_t seen = 0, n;

    do {
        enum status s = stream_read(in, chunk, CHUNK, &n, err);

        if (s != STATUS_OK)
            return s;
        seen += n;
    } while (n == CHUNK && seen <= bytes);
    if (seen == bytes)
        return STATUS_OK;
    return error_set(err, STATUS_DATA, "%s: the %s header promises %zu bytes, the file has %s",
                     in->path, bare(f), bytes, seen < bytes ? "fewer" : "more");
}

static enum status changed(const struct stream *in, struct error *err)
{
    return error_set(err, STATUS_DATA, "%s: the file changed while it was read", in->path);
}

static enum status fill(struct stream *in, const struct array *a, float unit, uint8_t *chunk,
                        struct table *t, struct error *err)
{
    const size_t all = t->rows * t->cols, at_once = CHUNK / a->element;

    for (size_t i = 0; i < all;) {
        const size_t want = all - i < at_once ? all - i : at_once;
        size_t n;
        enum status s = stream_read(in, chunk, want * a->element, &n, err);

        if (s != STATUS_OK)
            return s;
        if (n != want * a->element)
            return changed(in, err);
        for (size_t k = 0; k < want; k++, i++) {
            t->x[i] = (float)array_value(a, chunk + k * a->element) / unit;
            if (!isfinite(t->x[i]))
                return error_set(err, STATUS_DATA,
                                 "%s: row %zu, column %zu: not a number, or too large a one",
                                 in->path, i / t->cols + 1, i % t->cols + 1);
        }
    }
    return STATUS_OK;
}

static enum status read_twice(struct table *t, struct stream *in, const struct array_format *f,
                              uint8_t *chunk, const struct table_want *want, struct error *err)
{
    struct array a = {0}, again = {0};
    enum status s = f->open(&a, in, err);

    if (s == STATUS_OK)
        s = array_check(&a, f, want, in->path, err);
    if (s == STATUS_OK)
        s = check_length(in, &a, f, chunk, err);
    if (s == STATUS_OK)
        s = counted_allocate(t, a.dim[0], a.columns, in->path, err);
    if (s == STATUS_OK)
        s = stream_rewind(in, err);
    if (s == STATUS_OK)
        s = f->open(&again, in, err);
    if (s == STATUS_OK && (again.kind != a.kind || again.element != a.element ||
                           again.dim[0] != a.dim[0] || again.columns != a.columns))
        s = changed(in, err);
    if (s == STATUS_OK)
        s = fill(in, &a, want->labels ? 1 : f->unit, chunk, t, err);
    return s;
}

enum status array_read(struct table *t, const char *path, const struct array_format *f,
                       const struct table_want *want, struct error *err)
{
    struct stream in;
    uint8_t *chunk;
    enum status s = stream_open(&in, path, err);

    *t = (struct table){.values.folder = want->mapped};
    if (s != STATUS_OK)
        return s;
    chunk = mem_alloc(CHUNK, 1);
    s = chunk == NULL ? error_set(err, STATUS_MEMORY, "%s: %s", path, status_words(STATUS_MEMORY))
                      : read_twice(t, &in, f, chunk, want, err);
    mem_free(chunk);
    stream_close(&in);
    if (s != STATUS_OK)
        table_deinit(t);
    return s;
}
