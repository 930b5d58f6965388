/* scale.c -- column means and deviations: fitted, kept in a file, applied.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/scale.h"

#include "common/base/buf.h"
#include "common/base/check.h"
#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/data/lines.h"
#include "common/data/decimal.h"
#include "common/data/text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SCALE_LINE_MAX = 4096, SCALE_MODE = 0600 };
static const char SCALE_HEADER[] = "name,mean,sd";

enum status scale_init(struct scale *s, size_t cols)
{
    *s = (struct scale){.cols = cols};
    s->mean = mem_alloc(cols, sizeof *s->mean);
    s->sd = mem_alloc(cols, sizeof *s->sd);
    if (s->mean != NULL && s->sd != NULL)
        return STATUS_OK;
    scale_deinit(s);
    return STATUS_MEMORY;
}

void scale_deinit(struct scale *s)
{
    mem_free(s->mean);
    mem_free(s->sd);
    *s = (struct scale){0};
}

/* Means first, then squared distances from them: no cancellation.  sum is
 * cols doubles of scratch. */
static void fit_means(struct scale *s, double *sum, const struct table *t)
{
    memset(sum, 0, t->cols * sizeof *sum);
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t j = 0; j < t->cols; j++)
            sum[j] += (double)t->x[i * t->cols + j];
    }
    for (size_t j = 0; j < t->cols; j++) {
        sum[j] /= (double)t->rows;
        s->mean[j] = (float)sum[j];
    }
}

static void fit_deviations(struct scale *s, double *square, const double *mean,
                           const struct table *t)
{
    memset(square, 0, t->cols * sizeof *square);
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t j = 0; j < t->cols; j++) {
            double distance = (double)t->x[i * t->cols + j] - mean[j];

            square[j] += distance * distance;
        }
    }
    for (size_t j = 0; j < t->cols; j++) {
        s->sd[j] = (float)fmin(sqrt(square[j] / (double)t->rows), (double)FLT_MAX);
        /* A constant column gives exactly 0: the sum of fewer than 2^29 equal floats is exact in a
         * double, and so is their mean.  A deviation below the normal floats counts as 0. */
        if (s->sd[j] < FLT_MIN)
            s->sd[j] = 1;
    }
}

enum status scale_fit(struct scale *s, const struct table *t)
{
    enum status status = scale_init(s, t->cols);
    double *mean, *square;

    if (status != STATUS_OK)
        return status;
    if (t->rows == 0) { /* nothing is known of any column */
        for (size_t j = 0; j < t->cols; j++)
            s->sd[j] = 1;
        return STATUS_OK;
    }
    mean = mem_alloc(t->cols, sizeof *mean);
    square = mem_alloc(t->cols, sizeof *square);
    if (mean != NULL && square != NULL) {
        fit_means(s, mean, t);
        fit_deviations(s, square, mean, t);
    } else {
        scale_deinit(s);
        status = STATUS_MEMORY;
    }
    mem_free(mean);
    mem_free(square);
    return status;
}

/* Columns of a file without names (IDX) are called by their place, from 1. */
static void column_name(char out[TABLE_NAME_MAX], const struct table *t, size_t col)
{
    if (t->names != NULL)
        snprintf(out, TABLE_NAME_MAX, "%s", t->names + col * TABLE_NAME_MAX);
    else
        snprintf(out, TABLE_NAME_MAX, "%zu", col + 1);
}

static enum status parse_column(struct scale *s, const struct table *t, size_t col,
                                const struct lines *l, const char *line, struct error *err)
{
    char name[TABLE_NAME_MAX], shown[TEXT_EXCERPT_MAX];
    const char *p = line + strcspn(line, ",");

    column_name(name, t, col);
    text_excerpt(shown, line, (size_t)(p - line));
    if ((size_t)(p - line) != strlen(name) || strncmp(line, name, strlen(name)) != 0)
        return error_set(err, STATUS_DATA, "%s:%llu: column \"%s\" where the data has \"%s\"",
                         l->stream.path, (unsigned long long)l->number, shown, name);
    p = *p == ',' ? decimal_scan(p + 1, &s->mean[col]) : NULL;
    if (p != NULL)
        p = *p == ',' ? decimal_scan(p + 1, &s->sd[col]) : NULL;
    if (p == NULL || *p != 0 || !isfinite(s->mean[col]) || !isfinite(s->sd[col]) || s->sd[col] <= 0)
        return error_set(err, STATUS_DATA,
                         "%s:%llu: column \"%s\": expected name,mean,sd with sd above 0",
                         l->stream.path, (unsigned long long)l->number, shown);
    return STATUS_OK;
}

static enum status parse_file(struct scale *s, const struct table *t, struct lines *l,
                              struct error *err)
{
    char *line;
    size_t len;
    enum status status = lines_next(l, &line, &len, err);

    if (status != STATUS_OK)
        return status;
    if (line == NULL || strcmp(line, SCALE_HEADER) != 0)
        return error_set(err, STATUS_DATA, "%s:1: the header must be %s", l->stream.path,
                         SCALE_HEADER);
    for (size_t col = 0;; col++) {
        status = lines_next(l, &line, &len, err);
        if (status != STATUS_OK)
            return status;
        if ((line == NULL) != (col == t->cols))
            return error_set(err, STATUS_DATA, "%s: %s columns than the data, which has %zu",
                             l->stream.path, line == NULL ? "fewer" : "more", t->cols);
        if (line == NULL)
            return STATUS_OK;
        status = parse_column(s, t, col, l, line, err);
        if (status != STATUS_OK)
            return status;
    }
}

enum status scale_load(struct scale *s, const char *path, const struct table *t, struct error *err)
{
    struct lines l;
    enum status status = scale_init(s, t->cols);

    if (status != STATUS_OK)
        return error_set(err, status, "%s: %s", path, status_words(status));
    status = lines_open(&l, path, SCALE_LINE_MAX, err);
    if (status == STATUS_OK)
        status = parse_file(s, t, &l, err);
    lines_close(&l);
    if (status != STATUS_OK)
        scale_deinit(s);
    return status;
}

enum status scale_save(const struct scale *s, const struct table *t, const char *path,
                       struct error *err)
{
    char name[TABLE_NAME_MAX];
    struct buf out;
    enum status status;

    CHECK(s->cols == t->cols);
    buf_init(&out, (s->cols + 1) * (TABLE_NAME_MAX + 64));
    status = buf_printf(&out, "%s\n", SCALE_HEADER);
    for (size_t j = 0; j < s->cols && status == STATUS_OK; j++) {
        column_name(name, t, j);
        /* Nine digits bring every float back exactly. */
        status = buf_printf(&out, "%s,%.9g,%.9g\n", name, (double)s->mean[j], (double)s->sd[j]);
    }
    if (status == STATUS_OK)
        status = file_write_atomic(path, out.data, out.len, SCALE_MODE, err);
    else
        error_set(err, status, "%s: %s", path, status_words(status));
    buf_deinit(&out);
    return status;
}

void scale_apply(const struct scale *s, struct table *t)
{
    CHECK(s->cols == t->cols);
    for (size_t i = 0; i < t->rows; i++) {
        float *x = t->x + i * t->cols;

        for (size_t j = 0; j < t->cols; j++) {
            double scaled = ((double)x[j] - (double)s->mean[j]) / (double)s->sd[j];

            /* A table stays finite, even under the scale of other data. */
            x[j] = (float)fmin(fmax(scaled, -(double)FLT_MAX), (double)FLT_MAX);
        }
    }
}
