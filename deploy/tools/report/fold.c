/* fold.c -- which runs stand in which line, and what they amount to.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/report/fold.h"

#include "common/privacy/account.h"
#include "deploy/tools/report/label.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- one run --- */

static double score_of(const struct fold_want *want, const struct runs_moment *m)
{
    return m->score[want->split][want->metric];
}

static bool better(const struct fold_want *want, double a, double b)
{
    return isnan(b) || (want->metric == RUNS_LOSS ? a < b : a > b);
}

/* Is it as good as the target, or better? */
static bool reaches(const struct fold_want *want, double score)
{
    return want->metric == RUNS_LOSS ? score <= want->target : score >= want->target;
}

bool fold_vacuous(enum runs_figure figure, const struct spread *s)
{
    return figure == RUNS_EPSILON && s->n > 0 && s->most > ACCOUNT_VACUOUS;
}

bool fold_compares(enum runs_figure figure, const struct spread *s, const struct spread *of)
{
    return !fold_vacuous(figure, s) && !fold_vacuous(figure, of);
}

static void add_moment(struct spread figure[RUNS_FIGURES], const struct runs_moment *m)
{
    for (int i = 0; i < RUNS_FIGURES; i++)
        spread_add(&figure[i], m->figure[i]);
}

static void add_run(struct fold_setting *s, const struct fold_want *want, const struct run *run)
{
    double best = NAN, last = score_of(want, &run->end);

    s->whole++;
    for (size_t i = 0; i < run->moments; i++) {
        double score = score_of(want, &run->moment[i]);

        if (!isnan(score) && better(want, score, best))
            best = score;
        if (!isnan(score))
            last = score;
    }
    spread_add(&s->last, last);
    spread_add(&s->best, isnan(best) ? last : best);
    add_moment(s->end, &run->end);
    spread_add(&s->formula_up, run->formula_up);
    spread_add(&s->formula_down, run->formula_down);
    for (size_t i = 0; want->has_target && !want->by_curve && i < run->moments; i++)
        if (reaches(want, score_of(want, &run->moment[i]))) {
            s->reached++;
            add_moment(s->at, &run->moment[i]);
            break;
        }
}

/* --- the curve of a setting --- */

static int by_epoch(const void *a, const void *b)
{
    const struct runs_moment *x = *(const struct runs_moment *const *)a;
    const struct runs_moment *y = *(const struct runs_moment *const *)b;
    double d = x->figure[RUNS_EPOCHS] - y->figure[RUNS_EPOCHS];

    return d < 0 ? -1 : d > 0;
}

/* Evaluations of the seeds at one epoch become one point.  Where seeds have stopped early, the rest
 * are another sample: with fewer than half of them the curve ends. */
static void add_points(struct fold_setting *s, const struct fold_want *want, struct pool *p)
{
    const struct runs_moment **all = NULL;
    size_t n = 0, to;

    for (size_t i = 0; i < s->runs; i++)
        for (size_t k = 0; s->run[i]->whole && k < s->run[i]->moments; k++)
            if (!isnan(score_of(want, &s->run[i]->moment[k]))) {
                all = pool_more(p, all, n, sizeof *all);
                all[n++] = &s->run[i]->moment[k];
            }
    if (n > 0)
        qsort(all, n, sizeof *all, by_epoch);
    for (size_t from = 0; from < n; from = to) {
        struct fold_point point = {.epoch = all[from]->figure[RUNS_EPOCHS]};

        for (to = from; to < n && all[to]->figure[RUNS_EPOCHS] < point.epoch + 1e-4; to++) {
            spread_add(&point.score, score_of(want, all[to]));
            add_moment(point.figure, all[to]);
        }
        if (2 * point.score.n < s->whole)
            continue;
        s->point = pool_more(p, s->point, s->points, sizeof *s->point);
        s->point[s->points++] = point;
    }
}

/* The score of the last evaluation until this epoch. */
static double score_until(const struct fold_want *want, const struct run *run, double epoch)
{
    double score = NAN;

    for (size_t i = 0; i < run->moments; i++)
        if (run->moment[i].figure[RUNS_EPOCHS] < epoch + 1e-4 &&
            !isnan(score_of(want, &run->moment[i])))
            score = score_of(want, &run->moment[i]);
    return score;
}

/* What it took until the mean curve shows the target: for all runs or for none. */
static void reach_by_curve(struct fold_setting *s, const struct fold_want *want)
{
    for (size_t k = 0; k < s->points && s->reached == 0; k++) {
        struct spread score = {0};

        for (size_t i = 0; i < s->runs; i++)
            if (s->run[i]->whole)
                spread_add(&score, score_until(want, s->run[i], s->point[k].epoch));
        if (!reaches(want, score.mean))
            continue;
        s->reached = s->whole;
        memcpy(s->at, s->point[k].figure, sizeof s->at);
    }
}

/* --- settings --- */

/* Is the value the whole of the list, or one of what its commas separate? */
static bool listed(const char *value, const char *list)
{
    size_t n = strlen(value);

    if (strcmp(value, list) == 0)
        return true;
    for (const char *item = list;; item++) {
        size_t m = strcspn(item, ",");

        if (m == n && strncmp(item, value, n) == 0)
            return true;
        item += m;
        if (*item == 0)
            return false;
    }
}

static bool chosen(const struct runs *r, const struct run *run, const struct fold_want *want)
{
    for (size_t i = 0; i < want->where; i++) {
        const char *equals = strchr(want->where_text[i], '=');
        size_t axis = label_axis(r, want->where_text[i], (size_t)(equals - want->where_text[i]));

        if (!listed(runs_value(run, axis), equals + 1))
            return false;
    }
    return true;
}

static enum status check_axes(const struct runs *r, const struct fold_want *want, struct error *err)
{
    for (size_t i = 0; i < want->by + want->where; i++) {
        const char *name = i < want->by ? want->by_axis[i] : want->where_text[i - want->by];
        size_t n = strcspn(name, "=");

        if (label_axis(r, name, n) >= r->axes)
            return error_set(err, STATUS_CONFIG, "%.*s: no axis of these runs, or more than one",
                             (int)n, name);
    }
    return STATUS_OK;
}

static void find_varying(struct fold *f, struct runs *r, const bool *in)
{
    f->varies = pool_alloc(&r->pool, r->axes, sizeof *f->varies);
    f->folded = pool_alloc(&r->pool, r->axes, sizeof *f->folded);
    for (size_t axis = 0; axis < r->axes; axis++) {
        const char *first = NULL;

        for (size_t i = 0; i < r->n; i++) {
            if (!in[i])
                continue;
            if (first == NULL)
                first = runs_value(&r->run[i], axis);
            f->varies[axis] = f->varies[axis] || strcmp(first, runs_value(&r->run[i], axis)) != 0;
        }
    }
}

/* The axes that make a line, and those that are folded within it. */
static void find_lines(const struct fold *f, bool *line)
{
    const struct fold_want *want = f->want;

    for (size_t axis = 0; axis < f->runs->axes; axis++)
        line[axis] = want->by == 0 && want->best == FOLD_BEST_NONE && f->varies[axis];
    for (size_t i = 0; i < want->by; i++)
        line[label_axis(f->runs, want->by_axis[i], strlen(want->by_axis[i]))] = true;
    for (size_t axis = 0; axis < f->runs->axes; axis++)
        f->folded[axis] = f->varies[axis] && !line[axis] && want->best == FOLD_BEST_NONE;
}

static struct fold_setting *setting_of(struct fold *f, struct pool *p, const char *label)
{
    for (size_t i = 0; i < f->settings; i++)
        if (strcmp(f->setting[i].label, label) == 0)
            return &f->setting[i];
    f->setting = pool_more(p, f->setting, f->settings, sizeof *f->setting);
    f->setting[f->settings] = (struct fold_setting){.label = label};
    return &f->setting[f->settings++];
}

static void add_to_setting(struct fold *f, struct runs *r, const struct run *run, const bool *line)
{
    bool all = f->want->best != FOLD_BEST_NONE;
    const char *group = label_of(r, run, line, f->varies);
    const char *label = all ? label_of(r, run, f->varies, f->varies) : group;
    struct fold_setting *s = setting_of(f, &r->pool, label);

    s->group = group;
    s->run = pool_more(&r->pool, s->run, s->runs, sizeof *s->run);
    s->run[s->runs++] = run;
}

/* Is `a` the better choice of the two? */
static bool preferred(const struct fold_want *want, const struct fold_setting *a,
                      const struct fold_setting *b)
{
    const struct spread *x = &a->last, *y = &b->last;

    if (want->best == FOLD_BEST_SCORE)
        return x->n > 0 && (y->n == 0 || better(want, x->mean, y->mean));
    x = &a->at[want->best];
    y = &b->at[want->best];
    if (a->reached * b->whole != b->reached * a->whole) /* a larger part of its seeds */
        return a->reached * b->whole > b->reached * a->whole;
    return x->n > 0 && (y->n == 0 || x->mean < y->mean);
}

static void keep_best(struct fold *f)
{
    size_t kept = 0, k;

    for (size_t i = 0; i < f->settings; i++) {
        for (k = 0; k < kept && strcmp(f->setting[k].group, f->setting[i].group) != 0; k++)
            ;
        if (k == kept)
            f->setting[kept++] = f->setting[i];
        else if (preferred(f->want, &f->setting[i], &f->setting[k]))
            f->setting[k] = f->setting[i];
    }
    f->dropped = f->settings - kept;
    f->settings = kept;
}

static enum status find_base(struct fold *f, struct error *err)
{
    size_t found = f->settings, hits = 0;

    if (f->want->base == NULL)
        return STATUS_OK;
    for (size_t i = 0; i < f->settings; i++) {
        if (strcmp(f->setting[i].label, f->want->base) == 0) {
            f->base = i;
            return STATUS_OK;
        }
        if (strstr(f->setting[i].label, f->want->base) != NULL) {
            found = i;
            hits++;
        }
    }
    f->base = found;
    return hits == 1 ? STATUS_OK
                     : error_set(err, STATUS_CONFIG, "--base %s: %s", f->want->base,
                                 hits == 0 ? "no line is called so" : "more than one line");
}

/* The same run twice would count as two seeds. */
static enum status check_seeds(const struct fold *f, struct error *err)
{
    for (size_t i = 0; i < f->settings; i++) {
        const struct fold_setting *s = &f->setting[i];

        for (size_t a = 0; a < s->runs; a++)
            for (size_t b = 0; b < a; b++)
                if (strcmp(s->run[a]->folder, s->run[b]->folder) == 0 &&
                    strcmp(s->run[a]->id, s->run[b]->id) == 0)
                    return error_set(err, STATUS_CONFIG, "%s: given twice", s->run[a]->folder);
    }
    return STATUS_OK;
}

/* Is the score known at the end, or at an evaluation, of any run? */
static bool scored(const struct runs *r, const struct fold_want *want)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct run *run = &r->run[i];

        if (!isnan(score_of(want, &run->end)))
            return true;
        for (size_t k = 0; k < run->moments; k++)
            if (!isnan(score_of(want, &run->moment[k])))
                return true;
    }
    return false;
}

static enum status choose_score(struct fold_want *want, const struct runs *r, struct error *err)
{
    static const struct {
        enum runs_metric metric;
        enum runs_split split;
    } choice[] = {{RUNS_ACCURACY, RUNS_TEST},
                  {RUNS_LOSS, RUNS_TEST},
                  {RUNS_ACCURACY, RUNS_TRAIN},
                  {RUNS_LOSS, RUNS_TRAIN}};

    for (size_t i = 0; !want->has_score && i < sizeof choice / sizeof choice[0]; i++) {
        want->metric = choice[i].metric;
        want->split = choice[i].split;
        if (scored(r, want))
            return STATUS_OK;
    }
    if (!want->has_score) /* nothing has been evaluated; a table of nothing is no fault */
        return STATUS_OK;
    return scored(r, want)
               ? STATUS_OK
               : error_set(err, STATUS_CONFIG, "no run has a %s %s", runs_split_name(want->split),
                           runs_metric_name(want->metric));
}

enum status fold_runs(struct fold *f, struct runs *r, struct fold_want *want, struct error *err)
{
    bool *in, *line;
    size_t n = 0;
    enum status status = check_axes(r, want, err);

    *f = (struct fold){.want = want, .runs = r};
    if (status == STATUS_OK)
        status = choose_score(want, r, err);
    if (status != STATUS_OK)
        return status;
    in = pool_alloc(&r->pool, r->n, sizeof *in);
    for (size_t i = 0; i < r->n; i++)
        n += in[i] = chosen(r, &r->run[i], want);
    if (n == 0)
        return error_set(err, STATUS_CONFIG, "no run%s", r->n > 0 ? " with these values" : "");
    find_varying(f, r, in);
    line = pool_alloc(&r->pool, r->axes, sizeof *line);
    find_lines(f, line);
    for (size_t i = 0; i < r->n; i++)
        if (in[i])
            add_to_setting(f, r, &r->run[i], line);
    for (size_t i = 0; i < f->settings; i++) {
        for (size_t k = 0; k < f->setting[i].runs; k++)
            if (f->setting[i].run[k]->whole)
                add_run(&f->setting[i], want, f->setting[i].run[k]);
        add_points(&f->setting[i], want, &r->pool);
        if (want->has_target && want->by_curve)
            reach_by_curve(&f->setting[i], want);
    }
    if (want->best != FOLD_BEST_NONE)
        keep_best(f);
    status = check_seeds(f, err);
    return status == STATUS_OK ? find_base(f, err) : status;
}
