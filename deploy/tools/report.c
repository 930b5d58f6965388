/* report.c -- vfl-report: folders of clusters and experiments become tables, data for gnuplot, and
 * a page.
 *
 *   vfl-report [--target METRIC=VALUE] [--plots DIR] [--html FILE] [--csv FILE] ... FOLDER...
 *   vfl-report --scores FILE [--plots DIR]    one model's test rows, row by row (scored.h)
 *
 * All arithmetic of a report is done here and in report/; deploy/sh/report.sh calls gnuplot between
 * two passes of this program, of which the second puts the pictures into the page.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/file.h"
#include "common/metrics/json_file.h"
#include "deploy/tools/grid/epsilon.h"
#include "deploy/tools/report/cluster.h"
#include "deploy/tools/report/curves.h"
#include "deploy/tools/report/experiment.h"
#include "deploy/tools/report/listing.h"
#include "deploy/tools/report/page.h"
#include "deploy/tools/report/scored.h"
#include "deploy/tools/report/tables.h"
#include "deploy/tools/report/want.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What a cluster's run had spent at each evaluation, as the tables of an experiment say it. */
static void price(struct run *run, const char *folder)
{
    char path[PATH_MAX];
    json_t *summary, *last;
    struct epsilon e;

    if (run->moments == 0)
        return;
    snprintf(path, sizeof path, "%s/summary.json", folder);
    summary = json_file_load(path, 0, NULL);
    last = json_pack("{s:f}", "epoch", run->moment[run->moments - 1].figure[RUNS_EPOCHS]);
    epsilon_open(&e, folder, summary, last, run->moments);
    for (size_t i = 0; e.known && i < run->moments; i++)
        run->moment[i].figure[RUNS_EPSILON] =
            epsilon_at(&e, run->moment[i].figure[RUNS_EPOCHS], i + 1, false);
    json_decref(summary);
    json_decref(last);
}

static enum status read_folder(struct runs *r, const char *folder, struct error *err)
{
    const char *const file[] = {"runs.csv", "summary.json", "plan.txt"};
    enum status status;
    int i = 0;

    while (i < 3 && access(pool_text(&r->pool, "%s/%s", folder, file[i]), F_OK) != 0)
        i++;
    if (i == 3)
        return error_set(err, STATUS_DATA, "%s: no experiment (runs.csv) and no run (summary.json)",
                         folder);
    if (i == 0)
        return experiment_read(r, folder, err);
    status = cluster_read(r, folder, err);
    if (status == STATUS_OK && i == 1)
        price(&r->run[r->n - 1], folder);
    return status;
}

/* "runs/a/" is "runs/a". */
static const char *without_slash(struct pool *p, const char *folder)
{
    size_t n = strlen(folder);

    while (n > 1 && folder[n - 1] == '/')
        n--;
    return pool_text(p, "%.*s", (int)n, folder);
}

static enum status write_listing(const struct fold *f, const char *path, struct error *err)
{
    FILE *to;
    enum status s = file_create(&to, path, 0666, err);
    int bad;

    if (s != STATUS_OK)
        return s;
    listing_write(f, to);
    bad = ferror(to);
    bad |= fclose(to);
    return bad ? error_set(err, STATUS_IO, "%s: %s", path, strerror(errno)) : STATUS_OK;
}

static void print_tables(const struct tables *t)
{
    for (size_t i = 0; i < t->n; i++)
        block_print(&t->block[i], stdout);
    for (size_t i = 0; i < t->notes; i++)
        printf("%s\n", t->note[i]);
}

static enum status report(struct runs *r, struct want *w, struct error *err)
{
    enum status status = STATUS_OK;
    struct tables tables;
    struct fold f;

    for (size_t i = 0; status == STATUS_OK && i < w->folders; i++)
        status = read_folder(r, without_slash(&r->pool, w->folder[i]), err);
    if (status == STATUS_OK)
        status = fold_runs(&f, r, &w->fold, err);
    if (status != STATUS_OK)
        return status;
    tables_build(&tables, &f, &r->pool);
    if (!w->quiet)
        print_tables(&tables);
    if (w->csv != NULL)
        status = write_listing(&f, w->csv, err);
    if (status == STATUS_OK && w->plots != NULL && w->html == NULL)
        status = curves_write(&f, &r->pool, w->plots, err);
    if (status == STATUS_OK && w->html != NULL)
        status = page_write(&f, &tables, w, &r->pool, err);
    return status;
}

int main(int argc, char **argv)
{
    struct runs runs = {0};
    struct error err = {0};
    struct want want;
    enum status status = want_read(&want, argc, argv, &err);

    if (status == STATUS_OK && want.scores != NULL)
        status = scored_report(want.scores, want.plots, want.quiet, &err);
    else if (status == STATUS_OK)
        status = report(&runs, &want, &err);
    if (status == STATUS_OK && (ferror(stdout) || fflush(stdout) != 0))
        status = error_set(&err, STATUS_IO, "standard output: %s", strerror(errno));
    if (status != STATUS_OK)
        fprintf(stderr, "vfl report: %s\n", err.text);
    runs_deinit(&runs);
    return status_exit_code(status);
}
