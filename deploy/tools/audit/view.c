/* view.c -- two numbers by canary, and Fisher's discriminant of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/audit/view.h"

#include "common/base/mem.h"

#include <math.h>
#include <string.h>

enum { OWN, AFTER, KINDS }; /* its own releases; those of its probes */

/* Both numbers of the canaries on one side of the coin. */
struct side {
    double *x[KINDS];
    size_t n;
};

/* --- tables --- */

/* The row's only column; cols: it has none, or several. */
static size_t column_of(const struct table *t, size_t row)
{
    size_t column = t->cols;

    for (size_t c = 0; c < t->cols; c++) {
        if (t->x[row * t->cols + c] == 0)
            continue;
        if (column < t->cols)
            return t->cols;
        column = c;
    }
    return column;
}

static enum status check_tables(const struct view_of *of, struct error *err)
{
    const struct plan *p = &of->seen->plan;

    if (of->canaries->rows != p->shape.train_rows)
        return error_set(err, STATUS_DATA, "%zu canaries, and the plan has %u training rows",
                         of->canaries->rows, p->shape.train_rows);
    if (of->probes == NULL)
        return STATUS_OK;
    if (of->probes->rows != p->shape.test_rows || of->probes->cols != of->canaries->cols)
        return error_set(err, STATUS_DATA, "%zu probes of %zu columns, where %u of %zu are due",
                         of->probes->rows, of->probes->cols, p->shape.test_rows,
                         of->canaries->cols);
    if (of->seen->width != p->model.embedding)
        return error_set(err, STATUS_DATA,
                         "probes are read along gradients in full, "
                         "protocol.gradient.form");
    return STATUS_OK;
}

/* --- what is seen --- */

/* Of its own releases: the farther from everybody, the larger. */
static double own(const struct view_of *of, size_t row, uint32_t held)
{
    double sum = 0;

    for (uint32_t k = 0; k < of->seen->plan.model.embedding; k++)
        sum -= seen_value(of->seen, row, held, k);
    return sum;
}

/* after[c]: the mean over the probes of column c of what was seen along the gradient that came down
 * for the canary of that column.  The step has taken the weights against this gradient times the
 * canary's value: upwards when that is below 0. */
static enum status read_probes(const struct view_of *of, double *after, uint32_t held,
                               struct error *err)
{
    const struct seen *s = of->seen;
    const size_t cols = of->canaries->cols;
    const float **along = mem_alloc(cols, sizeof *along);
    uint32_t *n = mem_alloc(cols, sizeof *n);
    enum status st = along == NULL || n == NULL ? STATUS_MEMORY : STATUS_OK;

    for (size_t r = 0; r < of->canaries->rows && st == STATUS_OK; r++) {
        const size_t c = column_of(of->canaries, r);
        const bool one = c < cols && along[c] == NULL;

        if (!one)
            st = STATUS_DATA;
        else
            along[c] = s->gradient + r * s->width;
    }
    for (size_t r = 0; r < of->probes->rows && st == STATUS_OK; r++) {
        const size_t row = of->canaries->rows + r, c = column_of(of->probes, r);

        if (c == cols || along[c] == NULL || s->times[row] == 0)
            continue;
        n[c]++;
        for (uint32_t k = 0; k < s->width; k++)
            after[c] += (double)along[c][k] * seen_value(s, row, held, k);
    }
    for (size_t c = 0; c < cols && st == STATUS_OK; c++) {
        double norm = 0;

        for (uint32_t k = 0; k < s->width && along[c] != NULL; k++)
            norm += (double)along[c][k] * (double)along[c][k];
        after[c] = n[c] > 0 && norm > 0 ? after[c] / n[c] / sqrt(norm) : 0;
    }
    mem_free(along);
    mem_free(n);
    return st == STATUS_OK     ? st
           : st == STATUS_DATA ? error_set(err, st, "probes need canaries of a column each")
                               : error_set(err, st, "no memory for %zu probes", of->probes->rows);
}

/* --- one number of two --- */

static double mean_of(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

static double covariance(const struct side *s, size_t n, int a, int b)
{
    const double mean_a = mean_of(s->x[a], n), mean_b = mean_of(s->x[b], n);
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (s->x[a][i] - mean_a) * (s->x[b][i] - mean_b);
    return sum / (double)n;
}

/* Weights by which the first halves are farthest apart: S^-1 (difference of the means), S the sum
 * of both covariances. */
static void discriminant(double w[KINDS], const struct side *d, const struct side *d_prime)
{
    const size_t n = d->n / 2, m = d_prime->n / 2;
    double s[KINDS][KINDS], apart[KINDS], det;

    for (int a = 0; a < KINDS; a++) {
        apart[a] = mean_of(d_prime->x[a], m) - mean_of(d->x[a], n);
        for (int b = 0; b < KINDS; b++)
            s[a][b] = covariance(d, n, a, b) + covariance(d_prime, m, a, b);
    }
    det = s[OWN][OWN] * s[AFTER][AFTER] - s[OWN][AFTER] * s[AFTER][OWN];
    w[OWN] = 1;
    w[AFTER] = 0;
    if (!(det > 1e-12 * s[OWN][OWN] * s[AFTER][AFTER]))
        return;
    w[OWN] = (s[AFTER][AFTER] * apart[OWN] - s[OWN][AFTER] * apart[AFTER]) / det;
    w[AFTER] = (s[OWN][OWN] * apart[AFTER] - s[AFTER][OWN] * apart[OWN]) / det;
}

static void join(double *to, const struct side *s, const double w[KINDS])
{
    for (size_t i = 0; i < s->n; i++)
        to[i] = w[OWN] * s->x[OWN][i] + w[AFTER] * s->x[AFTER][i];
}

/* --- the view --- */

static enum status collect(struct side side[2], const struct view_of *of, const double *after,
                           uint32_t held, struct error *err)
{
    const struct table *t = of->canaries;

    for (size_t r = 0; r < t->rows; r++) {
        const size_t c = column_of(t, r);
        struct side *to;

        if (c == t->cols)
            return error_set(err, STATUS_DATA, "canary %s has more or less than one value",
                             table_id(t, r));
        if (of->seen->times[r] == 0)
            continue;
        to = &side[t->x[r * t->cols + c] < 0];
        to->x[OWN][to->n] = own(of, r, held);
        to->x[AFTER][to->n++] = after[c];
    }
    return STATUS_OK;
}

static enum status see(struct view *v, const struct view_of *of, uint32_t held, double *room,
                       struct error *err)
{
    const size_t rows = of->canaries->rows;
    struct side side[2] = {{{room, room + rows}, 0}, {{room + 2 * rows, room + 3 * rows}, 0}};
    double *after = room + 4 * rows, w[KINDS] = {1, 0};
    enum status s = STATUS_OK;

    if (of->probes != NULL)
        s = read_probes(of, after, held, err);
    if (s == STATUS_OK)
        s = collect(side, of, after, held, err);
    if (s != STATUS_OK)
        return s;
    v->n = side[0].n;
    v->m = side[1].n;
    if (of->probes != NULL && v->n > 1 && v->m > 1)
        discriminant(w, &side[0], &side[1]);
    join(v->d, &side[0], w);
    join(v->d_prime, &side[1], w);
    return STATUS_OK;
}

enum status view_make(struct view *v, const struct view_of *of, uint32_t held, struct error *err)
{
    const size_t rows = of->canaries->rows;
    double *room = mem_alloc(4 * rows + of->canaries->cols, sizeof *room);
    enum status s;

    v->d = mem_alloc(rows, sizeof *v->d);
    v->d_prime = mem_alloc(rows, sizeof *v->d_prime);
    if (room == NULL || v->d == NULL || v->d_prime == NULL)
        s = error_set(err, STATUS_MEMORY, "no memory for %zu canaries", rows);
    else
        s = check_tables(of, err);
    if (s == STATUS_OK)
        s = see(v, of, held, room, err);
    mem_free(room);
    return s;
}

void view_deinit(struct view *v)
{
    mem_free(v->d);
    mem_free(v->d_prime);
    *v = (struct view){0};
}
