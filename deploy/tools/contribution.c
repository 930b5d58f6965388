/* contribution.c -- vfl-contribution: what each party, and each column that was mixed up, adds to
 * the score of a model, from the answers of a job of contributions and the labels of its rows.
 *
 *   vfl-contribution --answers FILE --labels FILE [--state DIR [--model RUN]] [--resamples N]
 *                    [--out FILE.csv] [--summary FILE.json]
 *
 * It asks nobody: labels stay with whoever runs it, and other labels of the same rows cost nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/daemon/models.h"
#include "common/metrics/json_file.h"
#include "deploy/tools/contribution/worth.h"

#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESAMPLES = 200, RESAMPLES_MAX = 100000 };

static const char usage[] =
    "usage: vfl-contribution --answers FILE --labels FILE [--state DIR [--model RUN]]\n"
    "                        [--resamples N] [--out FILE.csv] [--summary FILE.json]\n"
    "  --answers FILE    what a job of contributions has left: vfl job answers N\n"
    "  --labels FILE     id,label, or of several labels id and their names; other rows may be "
    "there\n"
    "  --state DIR       of the server, whose model says what labels are called; without it they\n"
    "                    are numbers of classes, or values\n"
    "  --model RUN       whose; without it the one in use\n"
    "  --resamples N     rows are drawn anew N times for the standard errors, 200\n"
    "  --out FILE        party,column,measure,value,error as CSV\n"
    "  --summary FILE    the same into a summary that is there, or a new one\n";

struct asked {
    const char *answers, *labels, *state, *model, *out, *summary;
    uint32_t resamples;
};

static const char *const measures[WORTH_MEASURES] = {"score", "loss"};

/* --- as a table for people --- */

static void print_part(const char *what, const struct worth_part *alone,
                       const struct worth_part *shapley)
{
    printf("%-16s", what);
    for (int m = 0; m < WORTH_MEASURES; m++) {
        if (shapley != NULL)
            printf("  %9.4f +- %-7.4f", shapley->value[m], shapley->error[m]);
        printf("  %9.4f +- %-7.4f", alone->value[m], alone->error[m]);
    }
    printf("\n");
}

static void print_table(const struct answers_table *t, const struct worth *w)
{
    size_t column = 0;

    printf("rows      %zu, %s %.4f with all parties and %.4f with none, loss %.4f and %.4f\n",
           t->rows, score_names[w->metric], fabs(w->all[WORTH_SCORE]), fabs(w->nobody[WORTH_SCORE]),
           -w->all[WORTH_LOSS], -w->nobody[WORTH_LOSS]);
    if (w->orders == 0)
        printf("sets      all %u\n", 1u << t->parties);
    else
        printf("orders    %" PRIu32 " of the parties: Shapley values are estimates\n", w->orders);
    printf("%-16s  %-20s  %-20s  %-20s  %s\n", "party", "Shapley", "leave one out", "Shapley, loss",
           "leave one out, loss");
    for (uint32_t i = 0; i < t->parties; i++)
        print_part(t->name[i], &w->alone[i], &w->shapley[i]);
    if (w->columns > 0)
        printf("%-16s  %-20s  %s\n", "column", "mixed up", "mixed up, loss");
    for (size_t q = 0; q < t->n; q++)
        if (t->of[q].what.mixes)
            print_part(t->of[q].asked, &w->column[column++], NULL);
}

/* --- as a file --- */

static void put_part(FILE *f, const char *party, uint32_t column, const char *how,
                     const struct worth_part *p)
{
    for (int m = 0; m < WORTH_MEASURES; m++) {
        fprintf(f, "%s,", party);
        if (column > 0)
            fprintf(f, "%" PRIu32, column);
        fprintf(f, ",%s,%s,%.9g,%.9g\n", how, measures[m], p->value[m], p->error[m]);
    }
}

static enum status write_csv(const struct answers_table *t, const struct worth *w, const char *path,
                             struct error *err)
{
    size_t column = 0;
    FILE *f;
    bool bad;

    if (file_create(&f, path, 0600, err) != STATUS_OK)
        return err->status;
    fputs("party,column,how,measure,value,error\n", f);
    for (uint32_t i = 0; i < t->parties; i++) {
        put_part(f, t->name[i], 0, "shapley", &w->shapley[i]);
        put_part(f, t->name[i], 0, "leave_one_out", &w->alone[i]);
    }
    for (size_t q = 0; q < t->n; q++)
        if (t->of[q].what.mixes)
            put_part(f, t->name[t->of[q].what.party], t->of[q].what.column + 1, "mixed",
                     &w->column[column++]);
    bad = fflush(f) != 0 || ferror(f) != 0;
    return fclose(f) != 0 || bad ? error_set(err, STATUS_IO, "%s: it could not be written", path)
                                 : STATUS_OK;
}

/* --- as JSON --- */

/* A number that is none is not there. */
static void put_number(json_t *to, const char *key, double value)
{
    if (isfinite(value))
        (void)json_object_set_new(to, key, json_real(value)); /* no memory: the end tells */
}

static json_t *json_part(const struct worth_part *p)
{
    json_t *o = json_object();

    put_number(o, "score", p->value[WORTH_SCORE]);
    put_number(o, "score_error", p->error[WORTH_SCORE]);
    put_number(o, "loss", p->value[WORTH_LOSS]);
    put_number(o, "loss_error", p->error[WORTH_LOSS]);
    return o;
}

static json_t *json_parties(const struct answers_table *t, const struct worth *w)
{
    json_t *all = json_array();

    for (uint32_t i = 0; i < t->parties; i++)
        (void)json_array_append_new(all, json_pack("{s:s, s:o, s:o}", "party", t->name[i],
                                                   "shapley", json_part(&w->shapley[i]),
                                                   "leave_one_out", json_part(&w->alone[i])));
    return all;
}

static json_t *json_columns(const struct answers_table *t, const struct worth *w)
{
    json_t *all = json_array();
    size_t column = 0;

    for (size_t q = 0; q < t->n; q++)
        if (t->of[q].what.mixes)
            (void)json_array_append_new(all, json_pack("{s:s, s:i, s:o}", "party",
                                                       t->name[t->of[q].what.party], "column",
                                                       (int)t->of[q].what.column + 1, "mixed",
                                                       json_part(&w->column[column++])));
    return all;
}

static json_t *describe(const struct answers_table *t, const struct worth *w)
{
    json_t *o = json_pack("{s:I, s:s, s:i, s:o, s:o}", "rows", (json_int_t)t->rows, "metric",
                          score_names[w->metric], "permutations", (int)w->orders, "parties",
                          json_parties(t, w), "columns", json_columns(t, w));

    put_number(o, "all", w->all[WORTH_SCORE]);
    put_number(o, "nobody", w->nobody[WORTH_SCORE]);
    put_number(o, "all_loss", -w->all[WORTH_LOSS]);
    put_number(o, "nobody_loss", -w->nobody[WORTH_LOSS]);
    return o;
}

static enum status write_summary(const struct answers_table *t, const struct worth *w,
                                 const char *path, struct error *err)
{
    json_t *root = json_file_load(path, 0, NULL);
    char *text = NULL;
    enum status s = STATUS_MEMORY;

    if (!json_is_object(root)) {
        json_decref(root);
        root = json_object();
    }
    if (json_object_set_new(root, "contribution", describe(t, w)) == 0)
        text = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
    if (text != NULL)
        s = file_write_atomic(path, text, strlen(text), 0600, err);
    else
        error_set(err, s, "%s: no memory", path);
    mem_free(text);
    json_decref(root);
    return s;
}

/* --- the command --- */

static enum status run(const struct asked *a, struct error *err)
{
    static struct answers_table t;
    struct package model;
    struct worth w;
    enum status s = STATUS_OK;

    package_init(&model);
    if (a->state != NULL)
        s = models_load(a->state, models_asked(a->model), &model, err);
    if (s == STATUS_OK)
        s = answers_table_read(&t, a->answers, a->labels, a->state != NULL ? &model : NULL, err);
    if (s == STATUS_OK)
        s = worth_of(&w, &t, a->resamples, err);
    if (s == STATUS_OK)
        print_table(&t, &w);
    if (s == STATUS_OK && a->out != NULL)
        s = write_csv(&t, &w, a->out, err);
    if (s == STATUS_OK && a->summary != NULL)
        s = write_summary(&t, &w, a->summary, err);
    pool_deinit(&t.pool);
    package_deinit(&model);
    return s;
}

static bool read_count(const char *text, uint32_t *out)
{
    const size_t n = strlen(text);

    *out = n > 0 && n < 7 && strspn(text, "0123456789") == n ? (uint32_t)atoi(text) : 0;
    return *out >= 2 && *out <= RESAMPLES_MAX;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"answers", required_argument, NULL, 'a'},
                                            {"labels", required_argument, NULL, 'l'},
                                            {"state", required_argument, NULL, 's'},
                                            {"model", required_argument, NULL, 'm'},
                                            {"resamples", required_argument, NULL, 'r'},
                                            {"out", required_argument, NULL, 'o'},
                                            {"summary", required_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    struct asked a = {.model = "served", .resamples = RESAMPLES};
    struct error err = {0};
    bool right = true;
    int c;

    while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (c) {
        case 'a': a.answers = optarg; break;
        case 'l': a.labels = optarg; break;
        case 's': a.state = optarg; break;
        case 'm': a.model = optarg; break;
        case 'r': right &= read_count(optarg, &a.resamples); break;
        case 'o': a.out = optarg; break;
        case 'j': a.summary = optarg; break;
        case 'h': fputs(usage, stdout); return 0;
        default: right = false; break;
        }
    }
    if (!right || optind != argc || a.answers == NULL || a.labels == NULL) {
        fputs(usage, stderr);
        return 2;
    }
    if (run(&a, &err) != STATUS_OK)
        fprintf(stderr, "vfl contribution: %s\n", err.text);
    return status_exit_code(err.status);
}
