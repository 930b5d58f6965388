/* scored.c -- rows read, ranked and counted.
 *
 * Scores of accuracy, AUC and the like are those of common/metrics/score.h.  A curve has a point
 * for each score that occurs, rows of one score together, so that its area is that AUC.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/report/scored.h"

#include "common/base/file.h"
#include "common/metrics/score.h"
#include "deploy/tools/report/sheet.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 10, CLASSES_MAX = 64, SHOWN_MAX = 12 };

struct scored {
    const char *path;
    struct pool pool;
    struct score_board board;
    size_t left_out;
    uint32_t classes; /* 0: values */
    struct score score;
    /* Rows of class a that class p was predicted of; p = classes: of none. */
    size_t *confusion;
};

/* Rows by how probable a class was: of two classes class 1, of more the one predicted. */
struct bin {
    size_t rows, hits;
    double sum;
};

/* --- reading --- */

static enum status bad_cell(const struct sheet *s, size_t row, const char *what, struct error *err)
{
    return error_set(err, STATUS_DATA, "%s:%zu: %s", s->path, s->line[row], what);
}

static bool read_number(const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return end != text && *end == 0 && isfinite(*out);
}

struct cells {
    float prob[CLASSES_MAX], label;
    bool empty; /* it has no scores */
};

static enum status read_row(const struct scored *d, const struct sheet *s, size_t row,
                            struct cells *out, struct error *err)
{
    const size_t n = s->cols - 2;
    double x, sum = 0;

    if (!read_number(sheet_text(s, row, 1), &x))
        return bad_cell(s, row, "its label is no number", err);
    out->label = (float)x;
    if (d->classes > 0 && (x < 0 || x != floor(x) || x >= d->classes))
        return bad_cell(s, row, "its label is none of the classes that there are scores of", err);
    out->empty = true;
    for (size_t c = 0; c < n; c++)
        out->empty &= sheet_text(s, row, 2 + c)[0] == 0;
    for (size_t c = 0; c < n && !out->empty; c++) {
        if (!read_number(sheet_text(s, row, 2 + c), &x))
            return bad_cell(s, row, "a score is no number", err);
        if (d->classes > 0 && (x < 0 || x > 1))
            return bad_cell(s, row, "a probability is not between 0 and 1", err);
        out->prob[c] = (float)x;
        sum += x;
    }
    if (d->classes > 0 && !out->empty && fabs(sum - 1) > 1e-3)
        return bad_cell(s, row, "its probabilities do not add up to 1", err);
    return STATUS_OK;
}

static double loss_of(const struct scored *d, const float *prob, float label)
{
    if (d->classes == 0)
        return 0.5 * ((double)prob[0] - (double)label) * ((double)prob[0] - (double)label);
    return -log(fmax((double)prob[(size_t)label], 1e-12));
}

static enum status check_head(struct scored *d, const struct sheet *s, struct error *err)
{
    char name[32];

    if (s->cols < 3 || strcmp(s->name[0], "id") != 0 || strcmp(s->name[1], "label") != 0)
        return error_set(err, STATUS_DATA,
                         "%s: no scores with one label: its columns are not id,label,score...",
                         s->path);
    if (s->cols == 3 && strcmp(s->name[2], "score") == 0)
        return STATUS_OK;
    if (s->cols < 4 || s->cols - 2 > CLASSES_MAX)
        return error_set(err, STATUS_DATA, "%s: scores of 2 to %d classes are expected", s->path,
                         CLASSES_MAX);
    d->classes = (uint32_t)(s->cols - 2);
    for (uint32_t k = 0; k < d->classes; k++) {
        snprintf(name, sizeof name, "score_%u", k);
        if (strcmp(s->name[2 + k], name) != 0)
            return error_set(err, STATUS_DATA, "%s: column %u is not %s", s->path, k + 3, name);
    }
    return STATUS_OK;
}

static uint32_t predicted(const struct scored *d, const float *prob)
{
    uint32_t best = 0;

    for (uint32_t k = 1; k < d->classes; k++)
        if (prob[k] > prob[best])
            best = k;
    return best;
}

static enum status read_scores(struct scored *d, const char *path, struct error *err)
{
    struct sheet s;
    enum status st = sheet_read(&s, &d->pool, path, err);
    struct cells of;

    d->path = path;
    if (st == STATUS_OK)
        st = check_head(d, &s, err);
    if (st == STATUS_OK &&
        score_board_init(&d->board, s.rows, d->classes > 0 ? d->classes : 1,
                         d->classes > 0 ? SCORE_OF_CLASSES : SCORE_OF_VALUES) != STATUS_OK)
        st = error_set(err, STATUS_MEMORY, "no memory for %zu rows", s.rows);
    if (st == STATUS_OK && d->classes > 0)
        d->confusion = pool_alloc(&d->pool, (size_t)d->classes * d->classes, sizeof(size_t));
    for (size_t i = 0; st == STATUS_OK && i < s.rows; i++) {
        st = read_row(d, &s, i, &of, err);
        d->left_out += st == STATUS_OK && of.empty;
        if (st != STATUS_OK || of.empty)
            continue;
        score_board_add(&d->board, of.prob, &of.label, 1, loss_of(d, of.prob, of.label));
        if (d->classes > 0)
            d->confusion[(size_t)of.label * d->classes + predicted(d, of.prob)]++;
    }
    if (st == STATUS_OK && d->board.rows == 0)
        st = error_set(err, STATUS_DATA, "%s: no row has scores", path);
    if (st == STATUS_OK)
        score_board_read(&d->board, &d->score);
    return st;
}

/* --- calibration --- */

static const float *row_of(const struct scored *d, size_t i)
{
    return d->board.prob + i * d->board.classes;
}

/* Returns the expected calibration error: mean distance of a bin's probability from its share. */
static double fill_bins(const struct scored *d, struct bin bin[BINS])
{
    double off = 0;

    memset(bin, 0, BINS * sizeof *bin);
    for (size_t i = 0; i < d->board.rows; i++) {
        const uint32_t k = d->classes == 2 ? 1 : predicted(d, row_of(d, i));
        const double p = (double)row_of(d, i)[k];
        struct bin *b = &bin[p >= 1 ? BINS - 1 : (int)(p * BINS)];

        b->rows++;
        b->sum += p;
        b->hits += d->board.target[i] == (float)k;
    }
    for (int i = 0; i < BINS; i++)
        off += fabs(bin[i].sum - (double)bin[i].hits);
    return off / (double)d->board.rows;
}

/* Of all classes (Brier 1950): of two, twice the square of class 1's distance. */
static double brier(const struct scored *d)
{
    double sum = 0;

    for (size_t i = 0; i < d->board.rows; i++)
        for (uint32_t k = 0; k < d->classes; k++) {
            const double off = (double)row_of(d, i)[k] - (d->board.target[i] == (float)k);

            sum += off * off;
        }
    return sum / (double)d->board.rows;
}

/* --- curves --- */

struct ranked {
    float score;
    bool yes;
};

static int by_score(const void *a, const void *b)
{
    const float x = ((const struct ranked *)a)->score, y = ((const struct ranked *)b)->score;

    return x < y ? 1 : x > y ? -1 : 0;
}

/* Points of class k against the rest, from the highest threshold down. */
static void write_curve(const struct scored *d, uint32_t k, struct ranked *rank, FILE *roc,
                        FILE *pr)
{
    size_t yes = 0, no = 0, hits = 0, n = d->board.rows;

    for (size_t i = 0; i < n; i++) {
        rank[i] = (struct ranked){row_of(d, i)[k], d->board.target[i] == (float)k};
        yes += rank[i].yes;
    }
    no = n - yes;
    qsort(rank, n, sizeof *rank, by_score);
    if (yes == 0 || no == 0)
        return;
    fprintf(roc, "%u,inf,0,0\n", k);
    for (size_t i = 0; i < n; i++) {
        hits += rank[i].yes;
        if (i + 1 < n && rank[i + 1].score == rank[i].score)
            continue;
        fprintf(roc, "%u,%.9g,%.9g,%.9g\n", k, (double)rank[i].score,
                (double)(i + 1 - hits) / (double)no, (double)hits / (double)yes);
        fprintf(pr, "%u,%.9g,%.9g,%.9g\n", k, (double)rank[i].score, (double)hits / (double)yes,
                (double)hits / (double)(i + 1));
    }
}

/* --- files --- */

static enum status open_file(FILE **f, const char *folder, const char *name, struct error *err)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return file_create(f, path, 0600, err);
}

static enum status close_file(FILE *f, const char *name, enum status s, struct error *err)
{
    int bad = 0;

    if (f != NULL) {
        bad = ferror(f);
        bad |= fclose(f);
    }
    return s == STATUS_OK && bad ? error_set(err, STATUS_IO, "%s: %s", name, strerror(errno)) : s;
}

static enum status write_curves(struct scored *d, const char *folder, struct error *err)
{
    struct ranked *rank = pool_alloc(&d->pool, d->board.rows, sizeof *rank);
    FILE *roc = NULL, *pr = NULL;
    enum status s = open_file(&roc, folder, "roc.csv", err);

    if (s == STATUS_OK)
        s = open_file(&pr, folder, "pr.csv", err);
    if (s == STATUS_OK) {
        fputs("class,threshold,false_positive_rate,true_positive_rate\n", roc);
        fputs("class,threshold,recall,precision\n", pr);
        for (uint32_t k = d->classes == 2 ? 1 : 0; k < d->classes; k++)
            write_curve(d, k, rank, roc, pr);
    }
    s = close_file(roc, "roc.csv", s, err);
    return close_file(pr, "pr.csv", s, err);
}

static enum status write_bins(const struct scored *d, const char *folder, struct error *err)
{
    struct bin bin[BINS];
    FILE *f = NULL;
    enum status s = open_file(&f, folder, "calibration.csv", err);

    (void)fill_bins(d, bin);
    if (s == STATUS_OK)
        fputs("from,to,rows,predicted,observed\n", f);
    for (int i = 0; i < BINS && s == STATUS_OK; i++)
        if (bin[i].rows > 0)
            fprintf(f, "%g,%g,%zu,%.9g,%.9g\n", (double)i / BINS, (double)(i + 1) / BINS,
                    bin[i].rows, bin[i].sum / (double)bin[i].rows,
                    (double)bin[i].hits / (double)bin[i].rows);
    return close_file(f, "calibration.csv", s, err);
}

static enum status write_confusion(const struct scored *d, const char *folder, struct error *err)
{
    FILE *f = NULL;
    enum status s = open_file(&f, folder, "confusion.csv", err);

    if (s == STATUS_OK)
        fputs("label,predicted,rows\n", f);
    for (uint32_t a = 0; a < d->classes && s == STATUS_OK; a++)
        for (uint32_t p = 0; p < d->classes; p++)
            fprintf(f, "%u,%u,%zu\n", a, p, d->confusion[(size_t)a * d->classes + p]);
    return close_file(f, "confusion.csv", s, err);
}

/* A line for each class, of which there are so many at most that colours can be told apart. */
static void write_plot(FILE *f, const struct scored *d, const char *name, const char *x,
                       const char *y)
{
    const uint32_t first = d->classes == 2 ? 1 : 0;

    fprintf(f, "set output '%s.svg'\nset xlabel '%s'\nset ylabel '%s'\nplot ", name, x, y);
    for (uint32_t k = first; k < d->classes && k < first + SHOWN_MAX; k++)
        fprintf(f,
                "%s'%s.csv' using (column(1) == %u ? column(3) : 1/0):4 with lines title "
                "'class %u'",
                k > first ? ", " : "", name, k, k);
    fputc('\n', f);
}

static enum status write_script(const struct scored *d, const char *folder, struct error *err)
{
    FILE *f = NULL;
    enum status s = open_file(&f, folder, "plots.gp", err);

    if (s == STATUS_OK) {
        fputs("# plots.gp -- written by vfl report --scores: gnuplot plots.gp\n"
              "set datafile separator ','\n"
              "set terminal svg size 640,640 dynamic font 'sans-serif,12' background 'white'\n"
              "set xrange [0:1]\nset yrange [0:1]\nset key bottom\n",
              f);
        write_plot(f, d, "roc", "false positive rate", "true positive rate");
        write_plot(f, d, "pr", "recall", "precision");
        fputs("set output 'calibration.svg'\nset xlabel 'predicted'\nset ylabel 'observed'\n"
              "plot x with lines dashtype 2 notitle, 'calibration.csv' using 4:5 with linespoints "
              "notitle\n",
              f);
    }
    return close_file(f, "plots.gp", s, err);
}

/* --- standard output --- */

static void print_scores(const struct scored *d)
{
    printf("rows       %zu", d->board.rows);
    if (d->left_out > 0)
        printf(" (%zu without scores left out)", d->left_out);
    printf("\n");
    for (int m = 0; m < SCORE_METRICS; m++)
        if (d->score.has[m])
            printf("%-10s %.4f\n", score_names[m], d->score.value[m]);
}

static void print_confusion(const struct scored *d)
{
    printf("\nconfusion (rows: label, columns: predicted)\n%-10s", "");
    for (uint32_t p = 0; p < d->classes; p++)
        printf(" %8u", p);
    for (uint32_t a = 0; a < d->classes; a++) {
        printf("\n%-10u", a);
        for (uint32_t p = 0; p < d->classes; p++)
            printf(" %8zu", d->confusion[(size_t)a * d->classes + p]);
    }
    printf("\n");
}

static void print_calibration(const struct scored *d)
{
    struct bin bin[BINS];
    const double off = fill_bins(d, bin);

    printf("brier      %.4f\nece        %.4f\n", brier(d), off);
    printf("\ncalibration (%s)\nfrom  to        rows  predicted  observed\n",
           d->classes == 2 ? "of class 1" : "of the class predicted");
    for (int i = 0; i < BINS; i++)
        if (bin[i].rows > 0)
            printf("%.1f   %.1f   %8zu     %.4f    %.4f\n", (double)i / BINS,
                   (double)(i + 1) / BINS, bin[i].rows, bin[i].sum / (double)bin[i].rows,
                   (double)bin[i].hits / (double)bin[i].rows);
}

enum status scored_report(const char *path, const char *folder, bool quiet, struct error *err)
{
    struct scored d = {0};
    enum status s = read_scores(&d, path, err);

    if (s == STATUS_OK && !quiet) {
        print_scores(&d);
        if (d.classes > 0) {
            print_calibration(&d);
            if (d.classes <= SHOWN_MAX)
                print_confusion(&d);
        }
    }
    if (s == STATUS_OK && folder != NULL && d.classes == 0)
        s = error_set(err, STATUS_CONFIG, "%s: values have no curves: leave --plots out", path);
    if (s == STATUS_OK && folder != NULL)
        s = write_curves(&d, folder, err);
    if (s == STATUS_OK && folder != NULL)
        s = write_bins(&d, folder, err);
    if (s == STATUS_OK && folder != NULL)
        s = write_confusion(&d, folder, err);
    if (s == STATUS_OK && folder != NULL)
        s = write_script(&d, folder, err);
    score_board_deinit(&d.board);
    pool_deinit(&d.pool);
    return s;
}
