/* runs.h -- what a report is made of: runs with their settings, their evaluations and their ends.
 *
 * Both kinds of folders are read into this one shape (cluster.h, experiment.h).  A figure that is
 * not known is NAN; an epsilon without noise is INFINITY.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_REPORT_RUNS_H
#define COLONNADE_TOOLS_REPORT_RUNS_H

#include "deploy/tools/report/pool.h"

#include <stdbool.h>
#include <stddef.h>

enum runs_metric { RUNS_LOSS, RUNS_ACCURACY, RUNS_AUC, RUNS_AUPRC, RUNS_F1, RUNS_METRICS };
enum runs_split { RUNS_TRAIN, RUNS_TEST, RUNS_SPLITS };

/* What a run has cost until some moment.  Bytes are those of training, both directions where none
 * is named; seconds are those of training, without what evaluation took. */
enum runs_figure {
    RUNS_ROUNDS,
    RUNS_EPOCHS,
    RUNS_UP,       /* payload bytes */
    RUNS_DOWN,     /* payload bytes */
    RUNS_PAYLOAD,  /* the two together */
    RUNS_WIRE,     /* what went through the sockets */
    RUNS_WIRE_ALL, /* the same with setup and evaluation */
    RUNS_SECONDS,
    RUNS_EPSILON, /* one sample against the server */
    RUNS_FIGURES
};

struct runs_moment {
    double figure[RUNS_FIGURES];
    double score[RUNS_SPLITS][RUNS_METRICS];
};

/* A run: what it was asked for (axis by axis), and what came of it. */
struct run {
    const char *folder; /* as it was named on the command line */
    const char *id;     /* within an experiment; "" for a cluster's folder */
    const char *title;  /* the experiment's name, or that of the folder */
    const char *seed;   /* "" when there was none */
    const char **value; /* of axis i of struct runs, for i < values; NULL: not said */
    size_t values;
    const char *status, *error;
    bool whole; /* it came to its end: completed, target or budget */
    bool plaintext, insecure_seed;
    struct runs_moment end;
    double formula_up, formula_down, total_s;
    size_t moments;
    struct runs_moment *moment; /* one for each evaluation, as they came */
};

struct runs {
    struct pool pool;
    size_t axes, n;
    const char **axis; /* names */
    struct run *run;
};

void runs_deinit(struct runs *r); /* safe on a zeroed struct */

/* A new run without any figure; valid until the next one is added. */
struct run *runs_add(struct runs *r, const char *folder);
void runs_set(struct runs *r, struct run *run, const char *axis, const char *value);
const char *runs_value(const struct run *run, size_t axis); /* "" when it has none */

/* A new evaluation without any figure, behind the others of this run. */
struct runs_moment *runs_evaluation(struct runs *r, struct run *run);

/* Sets what follows from the rest: payload, and whether the run is whole. */
void runs_complete(struct run *run);

const char *runs_metric_name(enum runs_metric m); /* "auc": as in summary.json */
const char *runs_split_name(enum runs_split s);

/* A copy for people: in one line, and of each path from the root only the last name, since where
 * files are on this machine is nobody's business. */
const char *runs_words(struct pool *p, const char *text);

/* The last name in a path, for titles and pages that shall not say where something was. */
const char *runs_base(struct pool *p, const char *path);

#endif
