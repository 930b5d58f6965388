/* grid.c -- vfl-grid: the runs of an experiment, and its tables.
 *
 *   vfl-grid runs   [--data FOLDER] [--out DIR] [--only WORD] [--begin] GRID.yaml
 *   vfl-grid list   [--data FOLDER] [--out DIR] [--only WORD] GRID.yaml
 *   vfl-grid tables [--data FOLDER] [--out DIR] GRID.yaml
 *
 * `runs` is for deploy/sh/experiment.sh: a line with the folder, the grid's jobs (0: it does not
 * say) and the most parties of a run, then one for each run: its id, done or todo, the arguments of
 * `vfl cluster`; all with tabs between.  `list` says the same to people.  `tables` writes
 * DIR/results.csv, runs.csv and failed.  The folder is runs/NAME unless said.  --begin: it is this
 * experiment's, and gets a key for the ids if it has none (grid/idkey.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/grid/found.h"
#include "deploy/tools/grid/grid.h"
#include "deploy/tools/grid/idkey.h"
#include "deploy/tools/grid/run.h"
#include "deploy/tools/grid/table.h"

#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum mode { MODE_RUNS, MODE_LIST, MODE_TABLES };

struct options {
    enum mode mode;
    const char *data, *out, *only, *file;
    bool begin;
};

struct listing {
    const struct options *o;
    const char *dir;
    unsigned parties; /* the most */
    size_t runs, done;
    bool counts; /* nothing is printed yet */
};

static enum status take(void *ctx, const struct run *r)
{
    struct listing *l = ctx;
    bool done;

    if (l->o->only != NULL && strstr(r->id, l->o->only) == NULL)
        return STATUS_OK;
    if (l->counts) {
        unsigned n = grid_parties(r);

        l->parties = n > l->parties ? n : l->parties;
        return STATUS_OK;
    }
    done = found_is_done(l->dir, r->id);
    l->runs++;
    l->done += done;
    printf(l->o->mode == MODE_LIST ? "%s  %s\n    vfl cluster" : "%s\t%s",
           l->o->mode == MODE_LIST ? (done ? "done" : "todo") : r->id,
           l->o->mode == MODE_LIST ? r->id : (done ? "done" : "todo"));
    run_print_arguments(r, l->o->mode == MODE_LIST, stdout);
    putchar('\n');
    return STATUS_OK;
}

static enum status list(struct grid *g, const struct options *o, const char *dir, struct error *err)
{
    struct listing l = {.o = o, .dir = dir, .counts = true};
    enum status s = grid_each(g, take, &l, err);

    if (s != STATUS_OK)
        return s;
    if (l.parties == 0)
        return error_set(err, STATUS_CONFIG, "%s: no run has %s in its id", o->file, o->only);
    if (o->mode == MODE_RUNS)
        printf("%s\t%u\t%u\n", dir, g->jobs, l.parties);
    l.counts = false;
    s = grid_each(g, take, &l, err);
    if (o->mode == MODE_LIST)
        printf("%zu runs, %zu of them done, in %s\n", l.runs, l.done, dir);
    if (s == STATUS_OK && fflush(stdout) != 0)
        s = error_set(err, STATUS_IO, "standard output cannot be written");
    return s;
}

static bool read_arguments(struct options *o, int argc, char **argv)
{
    static const char *const modes[] = {"runs", "list", "tables"};
    static const struct option known[] = {
        {"data", required_argument, NULL, 'd'},
        {"out", required_argument, NULL, 'o'},
        {"only", required_argument, NULL, 'w'},
        {"begin", no_argument, NULL, 'b'},
        {NULL, 0, NULL, 0},
    };
    size_t mode = 0;
    int c;

    while (argc > 1 && mode < 3 && strcmp(argv[1], modes[mode]) != 0)
        mode++;
    if (argc < 2 || mode == 3)
        return false;
    o->mode = (enum mode)mode;
    while ((c = getopt_long(argc - 1, argv + 1, "", known, NULL)) != -1) {
        if (c == 'd')
            o->data = optarg;
        else if (c == 'o')
            o->out = optarg;
        else if (c == 'w')
            o->only = optarg;
        else if (c == 'b' && o->mode == MODE_RUNS)
            o->begin = true;
        else
            return false;
    }
    if (argc - 1 - optind != 1)
        return false;
    o->file = argv[1 + optind];
    return true;
}

int main(int argc, char **argv)
{
    static struct grid g; /* large */
    struct options o = {0};
    struct error err = {0};
    char dir[PATH_MAX];
    enum status s;

    if (!read_arguments(&o, argc, argv)) {
        fprintf(stderr, "usage: vfl-grid runs|list|tables [--data FOLDER] [--out DIR] "
                        "[--only WORD] [--begin] GRID.yaml\n");
        return status_exit_code(STATUS_CONFIG);
    }
    s = grid_read(&g, o.file, o.data, &err);
    if (s == STATUS_OK) {
        if (o.out != NULL)
            snprintf(dir, sizeof dir, "%s", o.out);
        else
            snprintf(dir, sizeof dir, "runs/%s", g.name);
        s = idkey_load(&g, dir, o.begin, &err);
        if (s == STATUS_OK)
            s = o.mode == MODE_TABLES ? table_write(&g, dir, &err) : list(&g, &o, dir, &err);
    }
    if (s != STATUS_OK)
        fprintf(stderr, "%s\n", err.text);
    grid_deinit(&g);
    return status_exit_code(s);
}
