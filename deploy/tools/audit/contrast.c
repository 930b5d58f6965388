/* contrast.c -- ridge regression, and a sign.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/audit/contrast.h"

#include "common/base/mem.h"

#include <math.h>
#include <stdio.h>

static const double RIDGE = 1e-3;

/* Of row r: a constant, then what the server saw. */
static double seen_of(const struct seen *s, size_t r, size_t k)
{
    if (k == 0)
        return 1;
    if (s->clear)
        return seen_value(s, r, s->plan.shape.parties - 1, (uint32_t)k - 1);
    return s->times[r] == 0 ? 0 : s->sum[r * s->inputs + k - 1] / s->times[r];
}

/* Solves A w = b for a symmetric positive A (n x n, overwritten by its Cholesky factor). */
static void solve(double *a, double *b, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        for (size_t k = 0; k < j; k++)
            a[j * n + j] -= a[j * n + k] * a[j * n + k];
        a[j * n + j] = sqrt(a[j * n + j]);
        for (size_t i = j + 1; i < n; i++) {
            for (size_t k = 0; k < j; k++)
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
            a[i * n + j] /= a[j * n + j];
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            b[i] -= a[k * n + i] * b[k];
        b[i] /= a[i * n + i];
    }
}

struct fit {
    const struct seen *s;
    const struct table *t;
    size_t known, n; /* n: unknowns, the constant included */
    double *a, *w;
};

static void fit_column(const struct fit *f, size_t column)
{
    for (size_t i = 0; i < f->n; i++) {
        f->w[i] = 0;
        for (size_t k = 0; k < f->n; k++)
            f->a[i * f->n + k] = i == k ? RIDGE : 0;
    }
    for (size_t r = 0; r < f->known; r++) {
        for (size_t i = 0; i < f->n; i++) {
            const double x = seen_of(f->s, r, i);

            f->w[i] += x * (double)f->t->x[r * f->t->cols + column];
            for (size_t k = 0; k <= i; k++)
                f->a[i * f->n + k] += x * seen_of(f->s, r, k);
        }
    }
    solve(f->a, f->w, f->n);
}

/* Squares left over, and squares about the mean, of the records that were not known. */
static void errors_of(const struct fit *f, size_t column, double *left, double *all)
{
    const size_t rows = f->t->rows;
    double mean = 0;

    *left = *all = 0;
    for (size_t r = f->known; r < rows; r++)
        mean += (double)f->t->x[r * f->t->cols + column] / (double)(rows - f->known);
    for (size_t r = f->known; r < rows; r++) {
        double x = (double)f->t->x[r * f->t->cols + column], guess = 0;

        for (size_t i = 0; i < f->n; i++)
            guess += f->w[i] * seen_of(f->s, r, i);
        *left += (x - guess) * (x - guess);
        *all += (x - mean) * (x - mean);
    }
}

enum status contrast_features(const struct seen *s, const struct table *features, size_t known,
                              struct error *err)
{
    const size_t n = 1 + (s->clear ? s->plan.model.embedding : s->inputs);
    struct fit f = {
        s, features, known, n, mem_alloc(n * n, sizeof(double)), mem_alloc(n, sizeof(double))};
    enum status st = STATUS_OK;
    double sum = 0, best = -INFINITY;
    size_t columns = 0;

    if (f.a == NULL || f.w == NULL)
        st = error_set(err, STATUS_MEMORY, "no memory");
    else if (features->rows != s->plan.shape.train_rows || known >= features->rows)
        st = error_set(err, STATUS_DATA, "%zu records with %zu known ones for %u training rows",
                       features->rows, known, s->plan.shape.train_rows);
    for (size_t c = 0; c < features->cols && st == STATUS_OK; c++) {
        double left, all;

        fit_column(&f, c);
        errors_of(&f, c, &left, &all);
        if (all <= 0)
            continue;
        columns++;
        sum += 1 - left / all;
        best = 1 - left / all > best ? 1 - left / all : best;
    }
    if (st == STATUS_OK && columns > 0)
        printf("features  from %s, %zu known records: R^2 %.3f over %zu columns, at best %.3f\n",
               s->clear ? "embeddings" : "sums", known, sum / (double)columns, columns, best);
    mem_free(f.a);
    mem_free(f.w);
    return st;
}

/* On which side of the first record's gradient. */
static bool side_of(const struct seen *s, size_t first, size_t r)
{
    double dot = 0;

    for (uint32_t k = 0; k < s->width; k++)
        dot += (double)s->gradient[first * s->width + k] * (double)s->gradient[r * s->width + k];
    return dot > 0;
}

enum status contrast_labels(const struct seen *s, const struct table *labels, struct error *err)
{
    size_t right = 0, ones = 0, n = 0, first = 0;

    if (labels->rows != s->plan.shape.train_rows || labels->cols != 1)
        return error_set(err, STATUS_DATA, "%zu labels for %u training rows", labels->rows,
                         s->plan.shape.train_rows);
    while (first < labels->rows && s->times[first] == 0)
        first++;
    for (size_t r = first; r < labels->rows; r++) {
        if (s->times[r] == 0)
            continue;
        n++;
        ones += labels->x[r] > 0;
        right += side_of(s, first, r) == (labels->x[r] > 0);
    }
    if (n == 0)
        return error_set(err, STATUS_DATA, "nothing was released");
    right = right > n - right ? right : n - right;
    ones = ones > n - ones ? ones : n - ones;
    printf("labels    from gradients: %.2f %% of %zu right, by frequency %.2f %%\n",
           100.0 * (double)right / (double)n, n, 100.0 * (double)ones / (double)n);
    return STATUS_OK;
}
