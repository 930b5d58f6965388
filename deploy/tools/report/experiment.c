/* experiment.c -- two tables with the same leading columns become runs.
 *
 * The columns between `run` and `seed` are the axes.  Rows of results.csv find their run by its id.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/report/experiment.h"

#include "deploy/tools/report/sheet.h"

#include <stdio.h>
#include <string.h>

/* What both tables have before their own columns. */
struct place {
    size_t experiment, run, seed, status;
};

static enum status find_place(const struct sheet *s, struct place *at, struct error *err)
{
    enum status status = sheet_need(s, &at->run, "run", err);

    if (status == STATUS_OK)
        status = sheet_need(s, &at->seed, "seed", err);
    if (status == STATUS_OK)
        status = sheet_need(s, &at->status, "status", err);
    if (status == STATUS_OK && at->seed < at->run)
        status = error_set(err, STATUS_DATA, "%s:1: 'seed' stands before 'run'", s->path);
    at->experiment = sheet_column(s, "experiment");
    return status;
}

static enum status read_scores(const struct sheet *s, size_t row, struct runs_moment *m,
                               struct error *err)
{
    char name[32];

    for (int split = 0; split < RUNS_SPLITS; split++)
        for (int i = 0; i < RUNS_METRICS; i++) {
            enum status status;

            snprintf(name, sizeof name, "%s_%s", runs_split_name((enum runs_split)split),
                     runs_metric_name((enum runs_metric)i));
            status = sheet_number(s, row, sheet_column(s, name), &m->score[split][i], err);
            if (status != STATUS_OK)
                return status;
        }
    return STATUS_OK;
}

/* The sum of two cells into *sum; NAN when one is not known. */
static enum status read_sum(const struct sheet *s, size_t row, const char *const name[2],
                            double *sum, struct error *err)
{
    double up, down;
    enum status status = sheet_number(s, row, sheet_column(s, name[0]), &up, err);

    if (status == STATUS_OK)
        status = sheet_number(s, row, sheet_column(s, name[1]), &down, err);
    *sum = status == STATUS_OK ? up + down : 0;
    return status;
}

static enum status read_moment(const struct sheet *s, size_t row, const char *epoch,
                               struct runs_moment *m, struct error *err)
{
    const struct {
        enum runs_figure figure;
        const char *name;
    } single[] = {{RUNS_EPOCHS, epoch},      {RUNS_ROUNDS, epoch[5] == 's' ? "rounds" : "round"},
                  {RUNS_UP, "payload_up"},   {RUNS_DOWN, "payload_down"},
                  {RUNS_SECONDS, "train_s"}, {RUNS_EPSILON, "epsilon"}};
    static const char *const wire[] = {"tls_up", "tls_down"};
    static const char *const wire_all[] = {"total_tls_up", "total_tls_down"};
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < sizeof single / sizeof single[0]; i++)
        status = sheet_number(s, row, sheet_column(s, single[i].name), &m->figure[single[i].figure],
                              err);
    if (status == STATUS_OK)
        status = read_sum(s, row, wire, &m->figure[RUNS_WIRE], err);
    if (status == STATUS_OK)
        status = read_sum(s, row, wire_all, &m->figure[RUNS_WIRE_ALL], err);
    return status == STATUS_OK ? read_scores(s, row, m, err) : status;
}

static enum status read_end(struct runs *r, const struct sheet *s, size_t row, struct run *run,
                            struct error *err)
{
    const struct {
        const char *name;
        double *number;
    } figure[] = {{"formula_up", &run->formula_up},
                  {"formula_down", &run->formula_down},
                  {"total_s", &run->total_s}};
    enum status status = read_moment(s, row, "epochs", &run->end, err);

    for (size_t i = 0; status == STATUS_OK && i < sizeof figure / sizeof figure[0]; i++)
        status = sheet_number(s, row, sheet_column(s, figure[i].name), figure[i].number, err);
    run->error = runs_words(&r->pool, sheet_text(s, row, sheet_column(s, "error")));
    run->plaintext = strcmp(sheet_text(s, row, sheet_column(s, "plaintext")), "1") == 0;
    run->insecure_seed = run->seed[0] != 0;
    return status;
}

static enum status read_runs(struct runs *r, const char *folder, size_t first, struct error *err)
{
    struct sheet s;
    struct place at;
    enum status status = sheet_read(&s, &r->pool, pool_text(&r->pool, "%s/runs.csv", folder), err);

    if (status == STATUS_OK)
        status = find_place(&s, &at, err);
    for (size_t row = 0; status == STATUS_OK && row < s.rows; row++) {
        const char *id = sheet_text(&s, row, at.run);
        struct run *run;

        for (size_t i = first; i < r->n; i++)
            if (strcmp(r->run[i].id, id) == 0)
                return error_set(err, STATUS_DATA, "%s:%zu: run '%.60s' for the second time",
                                 s.path, s.line[row], id);
        run = runs_add(r, folder);
        run->id = id;
        run->seed = runs_words(&r->pool, sheet_text(&s, row, at.seed));
        run->status = runs_words(&r->pool, sheet_text(&s, row, at.status));
        run->title = runs_words(&r->pool, sheet_text(&s, row, at.experiment));
        runs_set(r, run, "experiment", run->title);
        for (size_t i = at.run + 1; i < at.seed; i++)
            runs_set(r, run, s.name[i], sheet_text(&s, row, i));
        status = read_end(r, &s, row, run, err);
    }
    return status;
}

/* Rows of one run stand together as a rule, so the search begins where the last one ended. */
static struct run *find_run(struct runs *r, size_t first, size_t *near, const char *id)
{
    size_t n = r->n - first;

    for (size_t i = 0; i < n; i++) {
        size_t at = first + (*near - first + i) % n;

        if (strcmp(r->run[at].id, id) == 0) {
            *near = at;
            return &r->run[at];
        }
    }
    return NULL;
}

static enum status read_results(struct runs *r, const char *folder, size_t first, struct error *err)
{
    struct sheet s;
    struct place at;
    size_t near = first;
    enum status status =
        sheet_read(&s, &r->pool, pool_text(&r->pool, "%s/results.csv", folder), err);

    if (status == STATUS_OK)
        status = find_place(&s, &at, err);
    for (size_t row = 0; status == STATUS_OK && row < s.rows; row++) {
        const char *id = sheet_text(&s, row, at.run);
        struct run *run = find_run(r, first, &near, id);
        struct runs_moment *m;

        if (run == NULL)
            return error_set(err, STATUS_DATA, "%s:%zu: run '%.60s' is not in runs.csv", s.path,
                             s.line[row], id);
        m = runs_evaluation(r, run);
        status = read_moment(&s, row, "epoch", m, err);
        if (status == STATUS_OK && !(m->figure[RUNS_EPOCHS] >= 0))
            status = error_set(err, STATUS_DATA, "%s:%zu: no epoch", s.path, s.line[row]);
    }
    return status;
}

enum status experiment_read(struct runs *r, const char *folder, struct error *err)
{
    size_t first = r->n;
    enum status status = read_runs(r, folder, first, err);

    if (status == STATUS_OK)
        status = read_results(r, folder, first, err);
    for (size_t i = first; i < r->n; i++)
        runs_complete(&r->run[i]);
    return status;
}
