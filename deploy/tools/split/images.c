/* images.c -- IDX files and NumPy's, element by element.
 *
 * A party's file holds its columns' elements as they stood.  Labels are an IDX file, or a table of
 * as many rows in the same order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/split/images.h"

#include "common/base/mem.h"
#include "common/data/npy.h"
#include "common/data/schema.h"
#include "common/data/source.h"
#include "common/data/stream.h"
#include "common/data/table.h"
#include "deploy/tools/split/output.h"
#include "deploy/tools/split/sets.h"

#include <limits.h>
#include <string.h>

/* Rows of elements without names or ids. */
struct raster {
    struct stream in;
    bool npy;
    struct npy array; /* of the same shape, whichever it is */
    uint32_t height, width;
};

struct answers {
    struct stream idx;
    struct source table;
    size_t column; /* of the table */
};

static enum status fill(struct split *s, struct stream *in, uint8_t *out, size_t n)
{
    size_t got;
    enum status status = stream_read(in, out, n, &got, &s->err);

    if (status == STATUS_OK && got != n)
        status = error_set(&s->err, STATUS_DATA, "%s: ends too early", in->path);
    return status;
}

/* Type unsigned byte; 1 dimension (labels) or 2 to 4 (images); dim[1..3] = 1 where there is none.
 */
static enum status idx_header(struct split *s, struct stream *in, bool labels, uint32_t dim[4])
{
    uint8_t head[4 + 4 * 4];
    enum status status = fill(s, in, head, 4);
    uint64_t product = 1;

    if (status != STATUS_OK)
        return status;
    if (head[0] != 0 || head[1] != 0 || head[2] != 8 || head[3] < (labels ? 1 : 2) ||
        head[3] > (labels ? 1 : 4))
        return error_set(&s->err, STATUS_DATA, "%s: no IDX file of unsigned bytes with %s",
                         in->path, labels ? "one dimension" : "two to four dimensions");
    status = fill(s, in, head + 4, (size_t)head[3] * 4);
    for (int i = 0; i < 4; i++) {
        const uint8_t *b = head + 4 + 4 * i;

        dim[i] = i >= head[3]
                     ? 1
                     : (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
        product *= i == 0 || product > TABLE_COLUMNS_MAX ? 1 : dim[i];
    }
    if (status == STATUS_OK &&
        (dim[0] == 0 || dim[0] > TABLE_ROWS_MAX || product == 0 || product > TABLE_COLUMNS_MAX))
        status = error_set(&s->err, STATUS_DATA, "%s: a dimension is 0 or too large", in->path);
    return status;
}

static void put_dim(FILE *f, uint32_t n)
{
    const uint8_t bytes[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8),
                              (uint8_t)n};

    fwrite(bytes, 1, sizeof bytes, f);
}

/* Each party's file: two dimensions, rows x its columns. */
static void put_headers(struct split *s, const struct raster *r, int set, uint32_t rows)
{
    char text[NPY_TEXT_MAX];

    for (uint32_t p = 0; p < s->columns.parties; p++) {
        const uint32_t cols = s->columns.first[p + 1] - s->columns.first[p];
        struct npy own = r->array;
        FILE *f = s->features_out[set][p];

        own.dim[0] = rows;
        own.dim[1] = cols;
        if (r->npy) {
            fwrite(text, 1, npy_header(text, &own), f);
        } else {
            put_dim(f, 0x0802);
            put_dim(f, rows);
            put_dim(f, cols);
        }
    }
}

/* --- labels --- */

static enum status answers_open(struct split *s, struct answers *a, const char *path,
                                const char *images, uint32_t rows, bool npy)
{
    const char *label = s->o.label != NULL ? s->o.label : "label";
    const struct source_options options = {.delimiter = s->o.delimiter};
    uint32_t dim[4];
    enum status status;

    if (!npy) {
        status = stream_open(&a->idx, path, &s->err);
        if (status == STATUS_OK)
            status = idx_header(s, &a->idx, true, dim);
        if (status == STATUS_OK && dim[0] != rows)
            status = error_set(&s->err, STATUS_DATA, "%s: %u images but %u labels", images, rows,
                               dim[0]);
        return status;
    }
    status = source_open(&a->table, path, &options, &s->err);
    if (status != STATUS_OK)
        return status;
    a->column = source_column(&a->table, label);
    if (a->column == a->table.cols)
        return source_fail(&a->table, &s->err, "no column \"%s\"", label);
    return STATUS_OK;
}

static enum status next_answer(struct split *s, struct answers *a, int set, const char *id)
{
    char number[SOURCE_NUMBER_MAX];
    uint8_t label;
    bool more;
    size_t n = 0;
    const char *text = number;
    enum status status;

    if (a->table.cols == 0) {
        status = fill(s, &a->idx, &label, 1);
        snprintf(number, sizeof number, "%u", label);
    } else {
        status = source_next(&a->table, &more, &s->err);
        if (status == STATUS_OK && !more)
            status = error_set(&s->err, STATUS_DATA, "%s: fewer labels than rows", a->table.path);
        if (status == STATUS_OK && more)
            text = source_text(&a->table.cell[a->column], number, &n);
        if (status == STATUS_OK && schema_is_missing(text, n))
            status = source_fault(&a->table, a->column, "a row without a label", &s->err);
    }
    if (status == STATUS_OK && !output_label(s, set, id, text))
        status = source_fail(&a->table, &s->err, "label: no class that --label-map can map");
    return status;
}

static enum status answers_end(struct split *s, struct answers *a)
{
    bool more = false;
    enum status status = a->table.cols > 0 ? source_next(&a->table, &more, &s->err) : STATUS_OK;

    if (status == STATUS_OK && more)
        status = error_set(&s->err, STATUS_DATA, "%s: more labels than rows", a->table.path);
    return status;
}

/* --- rows --- */

static void put_row(struct split *s, const struct raster *r, const uint8_t *row, int set)
{
    const size_t element = r->array.element;

    for (uint32_t p = 0; p < s->columns.parties; p++)
        for (uint32_t i = s->columns.first[p]; i < s->columns.first[p + 1]; i++)
            fwrite(row + s->columns.column[i] * element, element, 1, s->features_out[set][p]);
}

/* Rows are numbered anew in each set, because a reader counts them so.  a NULL: nobody has labels.
 */
static enum status put_rows(struct split *s, struct raster *r, struct answers *a, int set)
{
    const size_t bytes = r->array.element * s->features;
    uint8_t *row = mem_alloc(bytes, 1);
    enum status status = STATUS_OK;

    if (row == NULL)
        return error_set(&s->err, STATUS_MEMORY, "out of memory");
    for (uint32_t i = 0; status == STATUS_OK && i < r->array.dim[0]; i++) {
        char id[16];
        int to = set;

        status = fill(s, &r->in, row, bytes);
        if (status != STATUS_OK)
            break;
        snprintf(id, sizeof id, "%u", i);
        if (set < 0)
            to = sets_of_id(&s->o, id);
        snprintf(id, sizeof id, "%u", (unsigned)s->rows[to]++);
        if (a != NULL)
            status = next_answer(s, a, to, id);
        else
            output_label(s, to, id, "");
        fputc('\n', s->labels_out[to]);
        put_row(s, r, row, to);
    }
    if (status == STATUS_OK && a != NULL)
        status = answers_end(s, a);
    mem_free(row);
    return status;
}

static enum status raster_shape(struct split *s, struct raster *r)
{
    uint32_t dim[4] = {0};
    enum status status;

    if (r->npy) {
        status = npy_open(&r->array, &r->in, &s->err);
        if (status == STATUS_OK && r->array.dims != 2)
            status = error_set(&s->err, STATUS_DATA, "%s: no array of two dimensions", r->in.path);
        return status;
    }
    status = idx_header(s, &r->in, false, dim);
    r->array = (struct npy){'u', 1, 2, {dim[0], (size_t)dim[1] * dim[2] * dim[3]}};
    if (dim[2] > 1 && dim[3] == 1) {
        r->height = dim[1];
        r->width = dim[2];
    }
    return status;
}

static enum status raster_open(struct split *s, struct raster *r, const char *path)
{
    uint32_t features;
    enum status status = npy_is(&r->npy, path, &s->err);

    if (status == STATUS_OK)
        status = stream_open(&r->in, path, &s->err);
    if (status == STATUS_OK)
        status = raster_shape(s, r);
    if (status != STATUS_OK)
        return status;
    features = (uint32_t)r->array.dim[1];
    if (s->features == 0) {
        s->ending = r->npy ? "npy" : "idx";
        s->element = r->array.element;
        return output_open(s, &(struct output_shape){
                                  .features = features, .height = r->height, .width = r->width});
    }
    if (r->npy != (strcmp(s->ending, "npy") == 0))
        return error_set(&s->err, STATUS_DATA, "%s: another kind of file than the training rows'",
                         path);
    if (features == s->features && r->array.element == s->element)
        return STATUS_OK;
    return error_set(&s->err, STATUS_DATA,
                     "%s: %u columns of %zu bytes, the training rows have %u of %zu", path,
                     features, r->array.element, s->features, s->element);
}

static enum status one_pair(struct split *s, const char *pair, int set)
{
    char path[PATH_MAX];
    const char *comma = strchr(pair, ',');
    struct raster r = {0};
    struct answers a = {0};
    uint32_t rows, tests = 0;
    enum status status;

    if (comma == NULL || comma[1] == 0 || comma == pair || comma - pair >= PATH_MAX)
        return error_set(&s->err, STATUS_CONFIG, "%s: expected IMAGES,LABELS", pair);
    snprintf(path, sizeof path, "%.*s", (int)(comma - pair), pair);
    status = raster_open(s, &r, path);
    rows = (uint32_t)r.array.dim[0];
    if (status == STATUS_OK)
        status = answers_open(s, &a, comma + 1, path, rows, r.npy);
    for (uint32_t row = 0; status == STATUS_OK && set < 0 && row < rows; row++) {
        char id[16];

        snprintf(id, sizeof id, "%u", row);
        tests += (uint32_t)sets_of_id(&s->o, id);
    }
    if (status == STATUS_OK && set != 1)
        put_headers(s, &r, 0, rows - tests);
    if (status == STATUS_OK && set != 0)
        put_headers(s, &r, 1, set < 0 ? tests : rows);
    if (status == STATUS_OK)
        status = put_rows(s, &r, &a, set);
    stream_close(&r.in);
    stream_close(&a.idx);
    source_close(&a.table);
    return status;
}

/* Rows without labels, all of them in the first set. */
static enum status alone(struct split *s, const char *path)
{
    struct raster r = {0};
    enum status status = raster_open(s, &r, path);

    if (status == STATUS_OK) {
        put_headers(s, &r, 0, (uint32_t)r.array.dim[0]);
        status = put_rows(s, &r, NULL, 0);
    }
    stream_close(&r.in);
    return status;
}

enum status images_split(struct split *s)
{
    enum status status;

    if (s->o.pair_predict)
        return alone(s, s->o.predict);
    status = one_pair(s, s->o.pair_train, s->o.pair_test == NULL ? -1 : 0);
    if (status == STATUS_OK && s->o.pair_test != NULL)
        status = one_pair(s, s->o.pair_test, 1);
    return status;
}
