/* tables.c -- the columns of each table, its titles and its notes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/report/tables.h"

#include "common/privacy/account.h"
#include "deploy/tools/report/curves.h"

#include <math.h>
#include <string.h>

const char *tables_score_name(const struct fold_want *want, struct pool *p)
{
    return pool_text(p, "%s %s", runs_split_name(want->split), runs_metric_name(want->metric));
}

const char *tables_target_name(const struct fold_want *want, struct pool *p)
{
    return pool_text(p, "%s %s %g", tables_score_name(want, p),
                     want->metric == RUNS_LOSS ? "<=" : ">=", want->target);
}

/* --- columns --- */

static struct block *begin(struct tables *t, struct pool *p, const char *title, const char *note)
{
    struct block *b = &t->block[t->n++];

    *b = (struct block){.title = title, .note = note};
    block_head(b, p, "");
    return b;
}

static const char *figure_text(struct pool *p, enum runs_figure i, const struct spread *s)
{
    if (fold_vacuous(i, s))
        return pool_text(p, "%s, %s", spread_short(p, s),
                         s->mean > ACCOUNT_VACUOUS ? "vacuous" : "vacuous in part");
    return i >= RUNS_UP && i <= RUNS_WIRE_ALL ? spread_bytes(p, s) : spread_short(p, s);
}

static const char *figure_head(enum runs_figure i)
{
    static const char *const head[] = {"rounds",           "epochs",  "payload up",
                                       "payload down",     "payload", "wire",
                                       "wire, all phases", "seconds", "epsilon"};

    return head[i];
}

static void put_head(struct block *b, struct pool *p, const enum runs_figure *figure, size_t n)
{
    for (size_t i = 0; i < n; i++)
        block_head(b, p, figure_head(figure[i]));
}

static void put_figures(struct block *b, struct pool *p, const struct spread *s,
                        const enum runs_figure *figure, size_t n)
{
    for (size_t i = 0; i < n; i++)
        block_cell(b, p, figure_text(p, figure[i], &s[figure[i]]));
}

static const enum runs_figure effort[] = {RUNS_ROUNDS, RUNS_EPOCHS, RUNS_SECONDS, RUNS_EPSILON};
static const enum runs_figure bytes[] = {RUNS_UP, RUNS_DOWN, RUNS_PAYLOAD, RUNS_WIRE,
                                         RUNS_WIRE_ALL};
static const enum runs_figure compared[] = {RUNS_ROUNDS,   RUNS_PAYLOAD, RUNS_WIRE,
                                            RUNS_WIRE_ALL, RUNS_SECONDS, RUNS_EPSILON};
enum { EFFORT = 4, BYTES = 5, COMPARED = 6 };

/* --- tables --- */

static void scores(struct tables *t, const struct fold *f, struct pool *p)
{
    const char *name = tables_score_name(f->want, p);
    struct block *b = begin(t, p, "Whole runs",
                            "Runs: at their end, of all. Final: the last evaluation. Best: of a "
                            "run's evaluations.");

    block_head(b, p, "runs");
    block_head(b, p, pool_text(p, "final %s", name));
    block_head(b, p, pool_text(p, "best %s", name));
    put_head(b, p, effort, EFFORT);
    for (size_t i = 0; i < f->settings; i++) {
        const struct fold_setting *s = &f->setting[i];

        block_cell(b, p, s->label);
        block_cell(b, p, pool_text(p, "%zu/%zu", s->whole, s->runs));
        block_cell(b, p, spread_digits(p, &s->last, 4));
        block_cell(b, p, spread_digits(p, &s->best, 4));
        put_figures(b, p, s->end, effort, EFFORT);
    }
}

static const char *reached_text(const struct fold_setting *s, struct pool *p)
{
    return pool_text(p, "%zu/%zu", s->reached, s->whole);
}

/* What each setting needed to the target, of these figures. */
static void put_reached(struct block *b, struct pool *p, const struct fold *f,
                        const enum runs_figure *figure, size_t n)
{
    block_head(b, p, "reached");
    put_head(b, p, figure, n);
    for (size_t i = 0; i < f->settings; i++) {
        block_cell(b, p, f->setting[i].label);
        block_cell(b, p, reached_text(&f->setting[i], p));
        put_figures(b, p, f->setting[i].at, figure, n);
    }
}

static void to_target(struct tables *t, const struct fold *f, struct pool *p)
{
    struct block *b =
        begin(t, p, pool_text(p, "Until %s", tables_target_name(f->want, p)),
              f->want->by_curve ? "The first evaluation where the mean of the runs' scores shows "
                                  "it, not interpolated."
                                : "The first evaluation that shows it, not interpolated; mean over "
                                  "the runs that reached it.");

    put_reached(b, p, f, effort, EFFORT);
    b = begin(t, p, pool_text(p, "Bytes until %s", tables_target_name(f->want, p)),
              "Payload and wire: of training. Wire: through the sockets, both directions; all "
              "phases: with setup and evaluation.");
    put_reached(b, p, f, bytes, BYTES);
}

static bool any_vacuous(const struct fold *f)
{
    for (size_t i = 0; i < f->settings; i++)
        if (fold_vacuous(RUNS_EPSILON, &f->setting[i].end[RUNS_EPSILON]) ||
            fold_vacuous(RUNS_EPSILON, &f->setting[i].at[RUNS_EPSILON]))
            return true;
    return false;
}

static void ratios(struct tables *t, const struct fold *f, struct pool *p)
{
    const struct fold_setting *base = &f->setting[f->base];
    bool target = f->want->has_target;
    const struct spread *of = target ? base->at : base->end;
    struct block *b =
        begin(t, p,
              pool_text(p, "%s, as a part of what '%s' needs",
                        target ? "To the target" : "Whole runs", base->label),
              any_vacuous(f) ? "A vacuous epsilon says nothing, so there is no part of it." : "");

    if (target)
        block_head(b, p, "reached");
    put_head(b, p, compared, COMPARED);
    for (size_t i = 0; i < f->settings; i++) {
        const struct fold_setting *s = &f->setting[i];

        block_cell(b, p, s->label);
        if (target)
            block_cell(b, p, reached_text(s, p));
        for (size_t k = 0; k < COMPARED; k++) {
            enum runs_figure what = compared[k];
            const struct spread *x = target ? &s->at[what] : &s->end[what];

            block_cell(b, p,
                       fold_vacuous(what, x)               ? "vacuous"
                       : fold_compares(what, x, &of[what]) ? spread_ratio(p, x, &of[what])
                                                           : "");
        }
    }
}

static void predictions(struct tables *t, const struct fold *f, struct pool *p)
{
    static const char *const head[] = {"formula up",   "payload up", "ratio", "formula down",
                                       "payload down", "ratio",      "wire",  "wire, all phases"};
    struct block *b = begin(t, p, "Whole runs: predicted beside measured",
                            "Formula: the paper's, for the same rounds of training. Ratio: "
                            "measured payload to it.");

    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++)
        block_head(b, p, head[i]);
    for (size_t i = 0; i < f->settings; i++) {
        const struct fold_setting *s = &f->setting[i];

        block_cell(b, p, s->label);
        block_cell(b, p, spread_bytes(p, &s->formula_up));
        block_cell(b, p, spread_bytes(p, &s->end[RUNS_UP]));
        block_cell(b, p, spread_ratio(p, &s->end[RUNS_UP], &s->formula_up));
        block_cell(b, p, spread_bytes(p, &s->formula_down));
        block_cell(b, p, spread_bytes(p, &s->end[RUNS_DOWN]));
        block_cell(b, p, spread_ratio(p, &s->end[RUNS_DOWN], &s->formula_down));
        block_cell(b, p, spread_bytes(p, &s->end[RUNS_WIRE]));
        block_cell(b, p, spread_bytes(p, &s->end[RUNS_WIRE_ALL]));
    }
}

/* --- words --- */

static void note(struct tables *t, struct pool *p, const char *text)
{
    t->note = pool_more(p, t->note, t->notes, sizeof *t->note);
    t->note[t->notes++] = text;
}

static void note_folded(struct tables *t, const struct fold *f, struct pool *p)
{
    const char *names = "", *between = "";

    for (size_t i = 0; i < f->runs->axes; i++)
        if (f->folded[i]) {
            names = pool_text(p, "%s%s%s", names, between, f->runs->axis[i]);
            between = ", ";
        }
    if (names[0] != 0)
        note(t, p, pool_text(p, "Folded as if they were seeds, though they differ: %s.", names));
    if (f->dropped > 0)
        note(t, p,
             pool_text(p,
                       "Of each line only the best setting is shown; %zu others are left "
                       "out.",
                       f->dropped));
}

static void note_runs(struct tables *t, const struct fold *f, struct pool *p)
{
    size_t plain = 0, seeded = 0, n = 0;

    for (size_t i = 0; i < f->settings; i++)
        for (size_t k = 0; k < f->setting[i].runs; k++) {
            const struct run *run = f->setting[i].run[k];

            n++;
            plain += run->plaintext;
            seeded += run->insecure_seed;
            if (!run->whole)
                note(t, p,
                     pool_text(p, "%s, seed %s: %s%s%.200s", f->setting[i].label,
                               run->seed[0] != 0 ? run->seed : "-", run->status,
                               run->error[0] != 0 ? ": " : "", run->error));
        }
    if (plain > 0)
        note(t, p,
             pool_text(p, "%zu of %zu runs in clear: the server saw every embedding.", plain, n));
    if (seeded > 0)
        note(t, p, pool_text(p, "%zu of %zu runs seeded: reproducible, not private.", seeded, n));
}

void tables_build(struct tables *t, const struct fold *f, struct pool *p)
{
    *t = (struct tables){0};
    scores(t, f, p);
    if (f->want->has_target)
        to_target(t, f, p);
    if (f->settings > 1)
        ratios(t, f, p);
    predictions(t, f, p);
    note(t, p,
         "Mean ± standard deviation over runs (n - 1); without ±, one value or the same in "
         "all. Seconds are of training, epsilon is of one sample against the server.");
    if (any_vacuous(f))
        note(t, p,
             pool_text(p,
                       "Vacuous: an epsilon above %g. It rules nothing out and bounds nothing "
                       "that anybody should rely on; inf: no noise at all.",
                       ACCOUNT_VACUOUS));
    if (f->settings > CURVES_LINES_MAX)
        note(t, p,
             pool_text(p, "Plots show the first %d of %zu lines; --where, --by and --best choose.",
                       CURVES_LINES_MAX, f->settings));
    note_folded(t, f, p);
    note_runs(t, f, p);
}

void tables_common(struct block *b, const struct fold *f, struct pool *p)
{
    *b = (struct block){.title = "", .note = ""};
    block_head(b, p, "setting");
    block_head(b, p, "value in all runs");
    for (size_t i = 0; i < f->runs->axes; i++) {
        const char *value = runs_value(f->setting[0].run[0], i);

        if (f->varies[i] || value[0] == 0)
            continue;
        block_cell(b, p, f->runs->axis[i]);
        block_cell(b, p, value);
    }
}
