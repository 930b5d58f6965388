/* images.c -- IDX files, NumPy's and batches of CIFAR, element by element.
 *
 * A party's file holds its columns' elements as they stood, in as many dimensions as the whole has
 * where they have sides of their own.  Labels are an IDX file, or a table of as many rows in the
 * same order; a batch has its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/split/images.h"

#include "common/base/mem.h"
#include "common/data/cifar.h"
#include "common/data/idx.h"
#include "common/data/npy.h"
#include "common/data/schema.h"
#include "common/data/source.h"
#include "deploy/tools/split/output.h"
#include "deploy/tools/split/sets.h"

#include <limits.h>
#include <string.h>

/* Rows of elements without names or ids. */
struct raster {
    const struct array_format *format; /* NULL: batches */
    struct stream in;
    struct cifar cifar;
    struct array array;
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

/* What a row is: an IDX file of rows of two dimensions has pictures, a .npy one series. */
static struct plan_widths shape_of(const struct raster *r)
{
    const struct array *a = &r->array;
    const size_t *d = a->dim;

    if (a->rank == 3 && r->format == &IDX_FORMAT)
        return (struct plan_widths){3, {1, (uint32_t)d[1], (uint32_t)d[2]}};
    if (a->rank == 3)
        return (struct plan_widths){2, {(uint32_t)d[1], (uint32_t)d[2]}};
    if (a->rank == 4)
        return (struct plan_widths){3, {(uint32_t)d[1], (uint32_t)d[2], (uint32_t)d[3]}};
    return (struct plan_widths){0};
}

/* Party p's array: of an image of one channel the last two sides, as the whole has them. */
static struct array part_of(const struct split *s, const struct raster *r, uint32_t p,
                            uint32_t rows)
{
    struct array own = r->array;
    struct plan_widths shape;

    own.dim[0] = rows;
    own.columns = s->columns.first[p + 1] - s->columns.first[p];
    if (own.rank > 2 && columns_shape(&s->columns, p, &shape)) {
        for (size_t i = 1; i < own.rank; i++)
            own.dim[i] = shape.width[shape.n - own.rank + i];
    } else {
        own.rank = 2;
        own.dim[1] = own.columns;
    }
    return own;
}

static void put_headers(struct split *s, const struct raster *r, int set, uint32_t rows)
{
    char text[NPY_TEXT_MAX];
    uint8_t bytes[IDX_HEADER_MAX];

    for (uint32_t p = 0; p < s->columns.parties; p++) {
        const struct array own = part_of(s, r, p, rows);
        FILE *f = s->features_out[set][p];

        if (r->format == &NPY_FORMAT)
            fwrite(text, 1, npy_header(text, &own), f);
        else
            fwrite(bytes, 1, idx_header(bytes, &own), f);
    }
}

/* --- labels --- */

static enum status answers_open(struct split *s, struct answers *a, const char *path,
                                const char *images, const struct raster *r)
{
    static const struct table_want want = {.labels = true};
    const char *label = s->o.label != NULL ? s->o.label : "label";
    const struct source_options options = {.delimiter = s->o.delimiter};
    const size_t rows = r->array.dim[0];
    struct array labels = {0};
    enum status status;

    if (r->format == &IDX_FORMAT) {
        status = stream_open(&a->idx, path, &s->err);
        if (status == STATUS_OK)
            status = IDX_FORMAT.open(&labels, &a->idx, &s->err);
        if (status == STATUS_OK)
            status = array_check(&labels, &IDX_FORMAT, &want, path, &s->err);
        if (status == STATUS_OK && labels.dim[0] != rows)
            status = error_set(&s->err, STATUS_DATA, "%s: %zu images but %zu labels", images, rows,
                               labels.dim[0]);
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

/* `label` is what a batch says. */
static enum status next_answer(struct split *s, const struct raster *r, struct answers *a,
                               uint8_t label, int set, const char *id)
{
    char number[SOURCE_NUMBER_MAX];
    bool more;
    size_t n = 0;
    const char *text = number;
    enum status status = STATUS_OK;

    if (a->table.cols == 0) {
        status = r->format == NULL ? STATUS_OK : fill(s, &a->idx, &label, 1);
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

static void put_row(struct split *s, const uint8_t *row, uint8_t *part, int set)
{
    const size_t element = s->array.element;

    for (uint32_t p = 0; p < s->columns.parties; p++) {
        const uint32_t first = s->columns.first[p], n = s->columns.first[p + 1] - first;

        for (uint32_t i = 0; i < n; i++)
            memcpy(part + i * element, row + s->columns.column[first + i] * element, element);
        fwrite(part, element, n, s->features_out[set][p]);
    }
}

/* row: an image's bytes, and as much room again. */
static enum status put_one(struct split *s, struct raster *r, struct answers *a, uint8_t *row,
                           int to, const char *id)
{
    const size_t bytes = s->array.element * s->features;
    uint8_t label = 0;
    enum status status = r->format == NULL ? cifar_next(&r->cifar, row, &label, &s->err)
                                           : fill(s, &r->in, row, bytes);

    if (status == STATUS_OK && a != NULL)
        status = next_answer(s, r, a, label, to, id);
    else if (status == STATUS_OK)
        output_label(s, to, id, "");
    if (status != STATUS_OK)
        return status;
    fputc('\n', s->labels_out[to]);
    put_row(s, row, row + bytes, to);
    return STATUS_OK;
}

/* Rows are numbered anew in each set, because a reader counts them so.  a NULL: nobody has labels.
 */
static enum status put_rows(struct split *s, struct raster *r, struct answers *a, int set)
{
    uint8_t *row = mem_alloc(2 * r->array.element, s->features);
    enum status status = STATUS_OK;

    if (row == NULL)
        return error_set(&s->err, STATUS_MEMORY, "out of memory");
    for (uint32_t i = 0; status == STATUS_OK && i < r->array.dim[0]; i++) {
        char id[16];
        int to = set;

        snprintf(id, sizeof id, "%u", i);
        if (set < 0)
            to = sets_of_id(&s->o, id);
        snprintf(id, sizeof id, "%u", (unsigned)s->rows[to]++);
        status = put_one(s, r, a, row, to, id);
    }
    if (status == STATUS_OK && a != NULL)
        status = answers_end(s, a);
    mem_free(row);
    return status;
}

/* CIFAR-100's images have two labels. */
static enum status open_batches(struct split *s, struct raster *r, const char *files)
{
    const char *label = s->o.label;
    enum cifar_label which = CIFAR_ANY;
    enum status status;

    if (label != NULL && strcmp(label, "fine") != 0 && strcmp(label, "coarse") != 0)
        return error_set(&s->err, STATUS_CONFIG, "--label %s: of CIFAR-100 there are fine, coarse",
                         label);
    if (label != NULL)
        which = strcmp(label, "fine") == 0 ? CIFAR_FINE : CIFAR_COARSE;
    status = cifar_open(&r->cifar, files, which, &s->err);
    if (status == STATUS_OK)
        r->array = (struct array){
            'u', 1, 4, {r->cifar.rows, CIFAR_CHANNELS, CIFAR_SIDE, CIFAR_SIDE}, CIFAR_PIXELS};
    return status;
}

static enum status open_array(struct split *s, struct raster *r, const char *path)
{
    static const struct table_want want = {.labels = false};
    bool npy;
    enum status status = npy_is(&npy, path, &s->err);

    r->format = npy ? &NPY_FORMAT : &IDX_FORMAT;
    if (status == STATUS_OK)
        status = stream_open(&r->in, path, &s->err);
    if (status == STATUS_OK)
        status = r->format->open(&r->array, &r->in, &s->err);
    if (status == STATUS_OK)
        status = array_check(&r->array, r->format, &want, path, &s->err);
    return status;
}

static enum status raster_open(struct split *s, struct raster *r, const char *path)
{
    const char *ending;
    const struct array *a = &r->array, *first = &s->array;
    enum status status = s->o.cifar ? open_batches(s, r, path) : open_array(s, r, path);

    if (status != STATUS_OK)
        return status;
    ending = r->format == &NPY_FORMAT ? "npy" : "idx";
    if (s->features == 0) {
        s->of_batch = r->cifar.labels;
        s->ending = ending;
        s->array = *a;
        return output_open(
            s, &(struct output_shape){.features = (uint32_t)a->columns, .shape = shape_of(r)});
    }
    if (r->cifar.labels != s->of_batch)
        return error_set(&s->err, STATUS_DATA,
                         "%s: of %s, and the training rows are of another set of CIFAR", path,
                         r->cifar.labels == 2 ? "CIFAR-100" : "CIFAR-10");
    if (strcmp(s->ending, ending) != 0)
        return error_set(&s->err, STATUS_DATA, "%s: another kind of file than the training rows'",
                         path);
    if (a->columns != first->columns || a->element != first->element)
        return error_set(&s->err, STATUS_DATA,
                         "%s: %zu columns of %zu bytes, the training rows have %zu of %zu", path,
                         a->columns, a->element, first->columns, first->element);
    if (a->rank != first->rank ||
        memcmp(a->dim + 1, first->dim + 1, (a->rank - 1) * sizeof *a->dim) != 0)
        return error_set(&s->err, STATUS_DATA, "%s: rows of other sides than the training rows'",
                         path);
    return STATUS_OK;
}

static void raster_close(struct raster *r)
{
    stream_close(&r->in);
    cifar_close(&r->cifar);
}

/* The first name of a pair; batches are a list that stays whole. */
static enum status first_of(struct split *s, char out[PATH_MAX], const char *pair)
{
    const char *comma = strchr(pair, ',');

    if (comma == NULL || comma[1] == 0 || comma == pair || comma - pair >= PATH_MAX)
        return error_set(&s->err, STATUS_CONFIG, "%s: expected IMAGES,LABELS", pair);
    snprintf(out, PATH_MAX, "%.*s", (int)(comma - pair), pair);
    return STATUS_OK;
}

static enum status open_pair(struct split *s, struct raster *r, struct answers *a, const char *pair)
{
    char path[PATH_MAX];
    enum status status;

    if (s->o.cifar)
        return raster_open(s, r, pair);
    status = first_of(s, path, pair);
    if (status == STATUS_OK)
        status = raster_open(s, r, path);
    return status == STATUS_OK ? answers_open(s, a, strchr(pair, ',') + 1, path, r) : status;
}

static enum status one_pair(struct split *s, const char *pair, int set)
{
    struct raster r = {0};
    struct answers a = {0};
    uint32_t tests = 0;
    enum status status = open_pair(s, &r, &a, pair);
    const uint32_t rows = (uint32_t)r.array.dim[0];

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
    raster_close(&r);
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
    raster_close(&r);
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
