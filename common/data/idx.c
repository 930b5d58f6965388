/* idx.c -- an IDX file in two passes: header and length first, then allocation, then the bytes.
 *
 * The dimensions are a claim until the first pass has counted that many bytes; only then is the
 * table allocated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/idx.h"

#include "common/base/mem.h"
#include "common/data/counted.h"
#include "common/data/stream.h"

#include <string.h>

enum { IDX_UNSIGNED_BYTE = 0x08, IDX_DIMS_MAX = 8, IDX_CHUNK = 65536 };

static enum status refuse(const struct stream *s, const char *reason, struct error *err)
{
    return error_set(err, STATUS_DATA, "%s: %s", s->path, reason);
}

static enum status read_exactly(struct stream *s, uint8_t *out, size_t n, struct error *err)
{
    size_t got;
    enum status status = stream_read(s, out, n, &got, err);

    if (status != STATUS_OK)
        return status;
    return got == n ? STATUS_OK : refuse(s, "ends inside the IDX header", err);
}

static enum status read_dims(struct stream *s, size_t n, size_t *rows, size_t *cols,
                             struct error *err)
{
    uint8_t bytes[4];

    *cols = 1;
    for (size_t i = 0; i < n; i++) {
        enum status status = read_exactly(s, bytes, sizeof bytes, err);
        size_t dim =
            (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];

        if (status != STATUS_OK)
            return status;
        if (dim == 0)
            return error_set(err, STATUS_DATA, "%s: IDX dimension %zu is 0", s->path, i + 1);
        if (dim > (i == 0 ? TABLE_ROWS_MAX : TABLE_COLUMNS_MAX / *cols))
            return error_set(err, STATUS_DATA, "%s: IDX dimension %zu is too large: %zu", s->path,
                             i + 1, dim);
        if (i == 0)
            *rows = dim;
        else
            *cols *= dim;
    }
    if (*rows > TABLE_VALUES_MAX / *cols)
        return error_set(err, STATUS_DATA, "%s: %zu rows of %zu columns are too large a table",
                         s->path, *rows, *cols);
    return STATUS_OK;
}

static enum status read_header(struct stream *s, const struct table_want *want, size_t *rows,
                               size_t *cols, struct error *err)
{
    uint8_t magic[4];
    enum status status = read_exactly(s, magic, sizeof magic, err);

    if (status != STATUS_OK)
        return status;
    if (magic[0] != 0 || magic[1] != 0)
        return refuse(s, "not an IDX file", err);
    if (magic[2] != IDX_UNSIGNED_BYTE)
        return error_set(err, STATUS_DATA, "%s: IDX type 0x%02x, only 0x08 (unsigned byte) is read",
                         s->path, magic[2]);
    if (magic[3] == 0 || magic[3] > IDX_DIMS_MAX)
        return error_set(err, STATUS_DATA, "%s: %u IDX dimensions, 1 to %d are read", s->path,
                         magic[3], IDX_DIMS_MAX);
    if (want->group != NULL)
        return refuse(s, "an IDX file has no columns with names: data.group needs CSV", err);
    if (want->time != NULL)
        return refuse(s, "an IDX file has no columns with names: data.time needs CSV", err);
    if (want->labels && magic[3] != 1)
        return refuse(s, "labels need an IDX file of one dimension", err);
    if (!want->labels && magic[3] == 1)
        return refuse(s, "one IDX dimension: a label file, not features", err);
    return read_dims(s, magic[3], rows, cols, err);
}

/* Exactly `bytes` bytes must follow, and then the end. */
static enum status check_length(struct stream *s, uint8_t *chunk, size_t bytes, struct error *err)
{
    size_t seen = 0, n;

    do {
        enum status status = stream_read(s, chunk, IDX_CHUNK, &n, err);

        if (status != STATUS_OK)
            return status;
        seen += n;
    } while (n == IDX_CHUNK && seen <= bytes);
    if (seen != bytes)
        return error_set(err, STATUS_DATA, "%s: the IDX header promises %zu bytes, the file has %s",
                         s->path, bytes, seen < bytes ? "fewer" : "more");
    return STATUS_OK;
}

static enum status fill_values(struct stream *s, uint8_t *chunk, struct table *t, bool labels,
                               struct error *err)
{
    size_t left = t->rows * t->cols;
    float *x = t->x;

    while (left > 0) {
        size_t want = left < IDX_CHUNK ? left : IDX_CHUNK, n;
        enum status status = stream_read(s, chunk, want, &n, err);

        if (status != STATUS_OK)
            return status;
        if (n != want)
            return refuse(s, "the file changed while it was read", err);
        for (size_t i = 0; i < n; i++)
            x[i] = labels ? (float)chunk[i] : (float)chunk[i] / 255.0f;
        x += n;
        left -= n;
    }
    return STATUS_OK;
}

static enum status read_twice(struct table *t, struct stream *s, uint8_t *chunk,
                              const struct table_want *want, struct error *err)
{
    size_t rows, cols;
    enum status status = read_header(s, want, &rows, &cols, err);

    if (status == STATUS_OK)
        status = check_length(s, chunk, rows * cols, err);
    if (status != STATUS_OK)
        return status;
    status = counted_allocate(t, rows, cols, s->path, err);
    if (status == STATUS_OK)
        status = stream_rewind(s, err);
    if (status == STATUS_OK)
        status = read_header(s, want, &rows, &cols, err);
    if (status == STATUS_OK && (rows != t->rows || cols != t->cols))
        status = refuse(s, "the file changed while it was read", err);
    if (status == STATUS_OK)
        status = fill_values(s, chunk, t, want->labels, err);
    return status;
}

enum status idx_read(struct table *t, const char *path, const struct table_want *want,
                     struct error *err)
{
    struct stream source;
    uint8_t *chunk = NULL;
    enum status s = stream_open(&source, path, err);

    *t = (struct table){0};
    if (s != STATUS_OK)
        return s;
    chunk = mem_alloc(IDX_CHUNK, 1);
    if (chunk == NULL)
        s = error_set(err, STATUS_MEMORY, "%s: %s", path, status_words(STATUS_MEMORY));
    else
        s = read_twice(t, &source, chunk, want, err);
    mem_free(chunk);
    stream_close(&source);
    if (s != STATUS_OK)
        table_deinit(t);
    return s;
}

/* No text begins with two bytes 0; every IDX file does. */
static enum status content_is_idx(bool *idx, const char *path, struct error *err)
{
    struct stream stream;
    char first[2];
    size_t n = 0;
    enum status s = stream_open(&stream, path, err);

    if (s == STATUS_OK)
        s = stream_read(&stream, first, sizeof first, &n, err);
    *idx = n == 2 && first[0] == 0 && first[1] == 0;
    stream_close(&stream);
    return s;
}

enum status idx_is(bool *idx, const char *path, struct error *err)
{
    *idx = stream_ends(path, ".idx");
    if (*idx || stream_is_csv(path))
        return STATUS_OK;
    return content_is_idx(idx, path, err);
}
