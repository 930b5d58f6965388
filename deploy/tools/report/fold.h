/* fold.h -- runs of one setting become one line: seeds folded into mean and standard deviation.
 *
 * A run is of a setting when they agree in every axis (or in those asked for).  Only runs that came
 * to their end count for figures; the others are counted and named.  A target is reached at the
 * first evaluation that shows it: nothing is interpolated between evaluations.  By curve it is the
 * mean over the runs that must show it, where a run that stopped early keeps its last score.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_REPORT_FOLD_H
#define COLONNADE_TOOLS_REPORT_FOLD_H

#include "deploy/tools/report/runs.h"
#include "deploy/tools/report/spread.h"

#include <stdbool.h>
#include <stddef.h>

enum { FOLD_BY_MAX = 16, FOLD_BEST_NONE = -2, FOLD_BEST_SCORE = -1 };

struct fold_want {
    enum runs_metric metric;
    enum runs_split split;
    bool has_score; /* the two above were asked for; otherwise fold_runs chooses */
    bool has_target;
    double target; /* at least this much; at most, of the loss */
    size_t by;     /* axes that make a line; 0: all */
    const char *by_axis[FOLD_BY_MAX];
    size_t where; /* only runs with these values, AXIS=VALUE[,VALUE...] */
    const char *where_text[FOLD_BY_MAX];
    bool by_curve; /* the target is for the mean over a line's runs, not for each of them */
    int best; /* enum runs_figure: per line of `by` only the setting that reaches the target with
                 the least of it; FOLD_BEST_SCORE: with the best score at the end; FOLD_BEST_NONE */
    const char *base; /* ratios are to this setting; NULL: the first */
};

/* The seeds at one epoch. */
struct fold_point {
    double epoch;
    struct spread score, figure[RUNS_FIGURES];
};

struct fold_setting {
    const char *label;
    const char *group; /* what `by` sees of it */
    size_t runs, whole;
    const struct run **run;
    struct spread last, best; /* score of the last evaluation, and the best of a run's */
    struct spread end[RUNS_FIGURES];
    struct spread formula_up, formula_down;
    size_t reached;
    struct spread at[RUNS_FIGURES]; /* over those that reached the target */
    size_t points;
    struct fold_point *point; /* in the order of epochs; only where half of the seeds are */
};

struct fold {
    struct fold_want *want;
    const struct runs *runs;
    size_t settings, base; /* base: index of the one that ratios are to */
    struct fold_setting *setting;
    bool *varies;   /* by axis: the runs that were chosen differ in it */
    bool *folded;   /* by axis: it varies within a line, as if it were a seed */
    size_t dropped; /* settings that `best` has left out */
};

/* STATUS_CONFIG: no run, no such axis, base or score.  Without want->has_score the score is set
 * here: accuracy, or else the loss; of the test rows, or else of the training rows. */
enum status fold_runs(struct fold *f, struct runs *r, struct fold_want *want,
                      struct error *err) MUST_USE;

/* True when an epsilon is above ACCOUNT_VACUOUS in one of these runs: it says nothing there. */
bool fold_vacuous(enum runs_figure figure, const struct spread *s);

/* spread_ratio is worth saying of this figure: a part of an epsilon that says nothing is none. */
bool fold_compares(enum runs_figure figure, const struct spread *s, const struct spread *of);

#endif
