/* listing.c -- means, standard deviations and ratios, nine digits each.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/report/listing.h"

#include <math.h>

static void put_quoted(const char *text, FILE *to)
{
    fputc('"', to);
    for (; *text != 0; text++)
        fprintf(to, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', to);
}

static void put_spread(const struct spread *s, FILE *to)
{
    fputc(',', to);
    if (s->n > 0)
        fprintf(to, "%.9g", s->mean);
    fputc(',', to);
    if (s->n > 0 && !isnan(s->sd))
        fprintf(to, "%.9g", s->sd);
}

static const char *const csv_name[] = {"rounds",       "epochs",  "payload_up",
                                       "payload_down", "payload", "tls",
                                       "total_tls",    "train_s", "epsilon"};

static void put_csv_head(const struct fold *f, FILE *to)
{
    static const char *const lead[] = {"final", "best", "formula_up", "formula_down"};

    fprintf(to, "setting");
    for (size_t i = 0; i < f->runs->axes; i++) {
        if (!f->varies[i])
            continue;
        fputc(',', to);
        put_quoted(f->runs->axis[i], to);
    }
    fprintf(to, ",runs,whole,metric,split,target,reached");
    for (size_t i = 0; i < sizeof lead / sizeof lead[0]; i++)
        fprintf(to, ",%s_mean,%s_sd", lead[i], lead[i]);
    for (size_t i = 0; i < RUNS_FIGURES; i++)
        fprintf(to, ",end_%s_mean,end_%s_sd", csv_name[i], csv_name[i]);
    for (size_t i = 0; i < RUNS_FIGURES; i++)
        fprintf(to, ",target_%s_mean,target_%s_sd,target_%s_ratio", csv_name[i], csv_name[i],
                csv_name[i]);
    fputc('\n', to);
}

static void put_csv_row(const struct fold *f, const struct fold_setting *s, FILE *to)
{
    const struct fold_want *want = f->want;
    const struct fold_setting *base = &f->setting[f->base];

    put_quoted(s->label, to);
    for (size_t i = 0; i < f->runs->axes; i++) {
        if (!f->varies[i])
            continue;
        fputc(',', to);
        put_quoted(f->folded[i] ? "" : runs_value(s->run[0], i), to);
    }
    fprintf(to, ",%zu,%zu,%s,%s,", s->runs, s->whole, runs_metric_name(want->metric),
            runs_split_name(want->split));
    if (want->has_target)
        fprintf(to, "%.9g,%zu", want->target, s->reached);
    else
        fputc(',', to);
    put_spread(&s->last, to);
    put_spread(&s->best, to);
    put_spread(&s->formula_up, to);
    put_spread(&s->formula_down, to);
    for (size_t i = 0; i < RUNS_FIGURES; i++)
        put_spread(&s->end[i], to);
    for (size_t i = 0; i < RUNS_FIGURES; i++) {
        double ratio = s->at[i].mean / base->at[i].mean;

        put_spread(&s->at[i], to);
        fputc(',', to);
        if (s->at[i].n > 0 && base->at[i].n > 0 && isfinite(ratio) &&
            fold_compares((enum runs_figure)i, &s->at[i], &base->at[i]))
            fprintf(to, "%.9g", ratio);
    }
    fputc('\n', to);
}

void listing_write(const struct fold *f, FILE *to)
{
    put_csv_head(f, to);
    for (size_t i = 0; i < f->settings; i++)
        put_csv_row(f, &f->setting[i], to);
}
