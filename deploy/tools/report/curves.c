/* curves.c -- the range, the ticks and the lines of each plot are decided here; gnuplot draws.
 *
 * Colours are those of Okabe and Ito, which all kinds of eyes tell apart; from the eighth line on
 * they come again, dashed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/report/curves.h"

#include "common/base/file.h"
#include "common/privacy/account.h"
#include "deploy/tools/report/tables.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SOLID_LINES = 7,
    KEY_LETTERS = 74, /* that fit side by side below a plot */
};

enum scale { LINEAR, LOG, EITHER };

static const struct plot {
    const char *name, *title, *axis;
    enum runs_figure figure;
    enum scale scale; /* EITHER: log when the lines' ends lie far apart */
} plots[CURVES_PLOTS] = {
    {"epoch", "Score by epoch", "epochs of training", RUNS_EPOCHS, LINEAR},
    {"bytes", "Score by bytes", "payload of training, both directions", RUNS_PAYLOAD, LOG},
    {"seconds", "Score by seconds", "seconds of training, without evaluation", RUNS_SECONDS,
     EITHER},
    {"epsilon", "Score by epsilon", "epsilon of one sample against the server", RUNS_EPSILON,
     EITHER},
};

/* What is drawn in one plot: which values of x there are. */
struct range {
    double least, most; /* positive ones */
    double first_end;   /* the end of the line that ends first */
    double unit;        /* x is divided by it */
    const char *unit_name;
    bool log;
};

const char *curves_name(size_t plot)
{
    return plots[plot].name;
}

const char *curves_title(size_t plot)
{
    return plots[plot].title;
}

static size_t lines_of(const struct fold *f)
{
    return f->settings < CURVES_LINES_MAX ? f->settings : CURVES_LINES_MAX;
}

/* What x is counted in, so that ticks are short. */
static void find_unit(struct range *r, enum runs_figure figure)
{
    static const char *const bytes[] = {"B", "kB", "MB", "GB", "TB"};
    static const char *const powers[] = {"", "10^{3}", "10^{6}", "10^{9}", "10^{12}"};
    size_t u = 0;

    if (figure == RUNS_PAYLOAD || (!r->log && r->most >= 1e5))
        for (; u < 4 && r->most / r->unit >= 2000; u++)
            r->unit *= 1000;
    r->unit_name = figure == RUNS_PAYLOAD ? bytes[u] : powers[u];
}

static struct range range_of(const struct fold *f, size_t plot)
{
    struct range r = {INFINITY, 0, INFINITY, 1, "", false};

    for (size_t i = 0; i < lines_of(f); i++) {
        double end = 0;

        for (size_t k = 0; k < f->setting[i].points; k++) {
            const struct spread *x = &f->setting[i].point[k].figure[plots[plot].figure];

            if (x->n == 0 || !isfinite(x->mean) || x->mean <= 0)
                continue;
            r.least = fmin(r.least, x->mean);
            r.most = fmax(r.most, x->mean);
            end = fmax(end, x->mean);
        }
        if (end > 0)
            r.first_end = fmin(r.first_end, end);
    }
    if (plots[plot].figure == RUNS_EPSILON && r.most > ACCOUNT_VACUOUS)
        r.least = fmin(r.least, ACCOUNT_VACUOUS); /* its line shall be seen */
    r.log = plots[plot].scale == LOG || (plots[plot].scale == EITHER && r.most > 8 * r.first_end);
    find_unit(&r, plots[plot].figure);
    return r;
}

bool curves_has(const struct fold *f, size_t plot)
{
    return range_of(f, plot).most > 0;
}

/* --- data --- */

static void write_data(const struct fold *f, FILE *to)
{
    fprintf(to, "# epoch payload_bytes train_s epsilon score sd runs\n");
    for (size_t i = 0; i < lines_of(f); i++) {
        const struct fold_setting *s = &f->setting[i];

        fprintf(to, "\n\n# line %zu\n", i + 1);
        for (size_t k = 0; k < s->points; k++) {
            const struct fold_point *point = &s->point[k];

            for (size_t x = 0; x < CURVES_PLOTS; x++) {
                const struct spread *v = &point->figure[plots[x].figure];

                if (v->n > 0 && isfinite(v->mean))
                    fprintf(to, "%.9g ", v->mean);
                else
                    fprintf(to, "NaN ");
            }
            fprintf(to, "%.9g %.9g %zu\n", point->score.mean,
                    isnan(point->score.sd) ? 0 : point->score.sd, point->score.n);
        }
        if (s->points == 0)
            fprintf(to, "NaN NaN NaN NaN NaN NaN 0\n");
    }
}

/* --- script --- */

/* In gnuplot's single quotes nothing has a meaning but the quote. */
static void put_quoted(FILE *to, const char *text, const char *more)
{
    const char *part[] = {text, more};

    fputc('\'', to);
    for (int i = 0; i < 2; i++)
        for (const char *c = part[i]; *c != 0; c++)
            fprintf(to, *c == '\'' ? "''" : "%c", (unsigned char)*c < ' ' ? ' ' : *c);
    fputc('\'', to);
}

static void put_tick(FILE *to, int factor, int power, const char *between)
{
    double value = factor * pow(10, power);

    if (power >= -3 && power < 5)
        fprintf(to, "%s'%g' %g", between, value, value);
    else if (factor == 1)
        fprintf(to, "%s'10^{%d}' %g", between, power, value);
    else
        fprintf(to, "%s'%d·10^{%d}' %g", between, factor, power, value);
}

/* Of a logarithmic axis: 1, 2, 5 when it is short, powers of ten when it is long. */
static void put_ticks(FILE *to, double least, double most)
{
    static const int factor[] = {1, 2, 5};
    int from = (int)floor(log10(least)), till = (int)ceil(log10(most));
    double decades = log10(most / least);
    int step = decades > 8 ? 2 : 1;
    const char *between = "";

    fprintf(to, "set xtics (");
    for (int power = from; power <= till; power += step)
        for (int i = 0; i < (decades > 3.2 ? 1 : 3); i++) {
            put_tick(to, factor[i], power, between);
            between = ", ";
        }
    fprintf(to, ")\n");
}

static void put_axis(FILE *to, const struct range *r, size_t plot)
{
    double least = r->least / r->unit, most = r->most / r->unit;

    fprintf(to, "set xlabel '%s%s%s%s%s'\n", plots[plot].axis, r->unit_name[0] != 0 ? " (" : "",
            r->unit_name, r->unit_name[0] != 0 ? ")" : "", r->log ? ", log scale" : "");
    if (r->log) {
        least /= least == most ? 2 : pow(most / least, 0.02);
        most *= r->least == r->most ? 2 : pow(most / least, 0.02);
        fprintf(to, "set logscale x\nset xrange [%.9g:%.9g]\n", least, most);
        put_ticks(to, least, most);
    } else {
        fprintf(to, "unset logscale x\nset xrange [0:%.9g]\nset xtics autofreq\n", 1.02 * most);
    }
}

/* Why a line cannot be seen, behind its name; "" when it can. */
static const char *absence(const struct fold_setting *s, size_t plot)
{
    const char *why = " (not known)";

    for (size_t k = 0; k < s->points; k++) {
        const struct spread *x = &s->point[k].figure[plots[plot].figure];

        if (x->n > 0 && isfinite(x->mean))
            return "";
        if (x->n > 0)
            why = " (no bound)";
    }
    return why;
}

static void put_line(FILE *to, const struct fold_setting *s, size_t i, size_t plot)
{
    fprintf(to, "'curves.dat' index %zu using ($%zu/u):5 with linespoints ls %zu pi %zu title ", i,
            plot + 1, i + 1, s->points / 8 + 1);
    put_quoted(to, s->label, absence(s, plot));
}

/* From where on epsilon says nothing. */
static void put_vacuous(FILE *to, const struct range *r)
{
    if (r->most <= ACCOUNT_VACUOUS)
        return;
    fprintf(to,
            "set arrow 1 from %.9g/u, graph 0 to %.9g/u, graph 1 nohead lw 1.5 dt (6, 4) lc rgb "
            "'#555555'\n"
            "set label 2 'vacuous above %g' at %.9g/u, graph 0.99 right rotate by 90 offset "
            "1.4,0 textcolor rgb '#555555'\n",
            ACCOUNT_VACUOUS, ACCOUNT_VACUOUS, ACCOUNT_VACUOUS, ACCOUNT_VACUOUS);
}

static void put_plot(FILE *to, const struct fold *f, size_t plot)
{
    struct range r = range_of(f, plot);
    size_t n = lines_of(f);

    fprintf(to, "\n# --- %s ---\n", plots[plot].title);
    put_axis(to, &r, plot);
    fprintf(to, "u = %.9g\nunset arrow 1\nunset label 2\n", r.unit);
    if (plots[plot].figure == RUNS_EPSILON)
        put_vacuous(to, &r);
    fprintf(to, "do for [format in formats] {\n    @begin\n");
    fprintf(to, "    set output '%s.'.format\n    plot \\\n", plots[plot].name);
    for (size_t i = 0; i < n; i++)
        fprintf(to,
                "        'curves.dat' index %zu using ($%zu/u):($5-$6):($5+$6) with filledcurves "
                "ls %zu notitle, \\\n",
                i, plot + 1, i + 101);
    if (f->want->has_target)
        fprintf(to, "        %.9g with lines lw 1.5 dt (6, 4) lc rgb '#555555' notitle, \\\n",
                f->want->target);
    for (size_t i = 0; i < n; i++) {
        fprintf(to, "        ");
        put_line(to, &f->setting[i], i, plot);
        fprintf(to, i + 1 < n ? ", \\\n" : "\n");
    }
    fprintf(to, "    unset output\n}\n");
}

static void put_styles(FILE *to, size_t n)
{
    static const char *const colour[CURVES_LINES_MAX] = {
        "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
        "#333333", "#882255", "#999933", "#332288", "#44aa99", "#aa4466"};
    static const int point[] = {7, 5, 9, 11, 13, 6, 4};

    for (size_t i = 0; i < n; i++) {
        fprintf(to, "set style line %zu lw 2 dt %s pt %d ps 0.7 lc rgb '%s'\n", i + 1,
                i < SOLID_LINES ? "1" : "(6, 3)", point[i % SOLID_LINES], colour[i]);
        fprintf(to, "set style line %zu lc rgb '%s'\n", i + 101, colour[i]);
    }
}

/* Names stand below the plot, in as many columns as they leave room for. */
static void put_key(FILE *to, const struct fold *f, size_t n)
{
    size_t widest = 0, columns;

    for (size_t i = 0; i < n; i++) {
        size_t width = strlen(f->setting[i].label);

        widest = width > widest ? width : widest;
    }
    columns = KEY_LETTERS / (widest + 8);
    columns = columns == 0 ? 1 : columns > n ? n : columns;
    fprintf(to,
            "set key outside below left Left reverse noenhanced samplen 3 spacing 1.25 "
            "maxcols %zu title ' '\n",
            columns);
    if (widest + 20 > KEY_LETTERS) /* room for a word behind it, too */
        fprintf(to, "set key font ',%zu'\n",
                widest + 20 > KEY_LETTERS * 3 / 2 ? 8 : 12 * KEY_LETTERS / (widest + 20));
    fprintf(to, "height = %zu\n", 400 + 24 * ((n + columns - 1) / columns));
}

static void put_script(FILE *to, const struct fold *f, struct pool *p)
{
    size_t n = lines_of(f);

    fprintf(
        to,
        "# plots.gp -- written by vfl report; draws curves.dat: gnuplot plots.gp\n"
        "# One format alone: gnuplot -e 'formats=\"png\"' plots.gp\n\n"
        "if (!exists('formats')) formats = 'svg png'\n"
        "set style fill transparent solid 0.15 noborder\n"
        "set border 3 lc rgb '#777777'\nset tics out nomirror scale 0.6 textcolor rgb '#333333'\n"
        "set grid lc rgb '#e4e4e4' lt 1 lw 1\n"
        "set ylabel ");
    put_quoted(to, tables_score_name(f->want, p), "");
    fprintf(to, " noenhanced\n");
    put_key(to, f, n);
    fprintf(to, "begin = \"if (format eq 'svg') { set terminal svg size 760,height dynamic font "
                "'sans-serif,12' background 'white' } else { set terminal pngcairo size "
                "760,height dashlength 1.2 font 'sans-serif,11' background 'white' }\"\n");
    put_styles(to, n);
    if (f->want->has_target)
        fprintf(to,
                "set label 1 'target %g' at graph 1, first %.9g left offset 0.7,0 textcolor rgb "
                "'#555555'\nset rmargin 13\n",
                f->want->target, f->want->target);
    for (size_t plot = 0; plot < CURVES_PLOTS; plot++)
        if (curves_has(f, plot))
            put_plot(to, f, plot);
}

static enum status close_file(FILE *f, const char *path, struct error *err)
{
    int bad = ferror(f);

    bad |= fclose(f);
    return bad ? error_set(err, STATUS_IO, "%s: %s", path, strerror(errno)) : STATUS_OK;
}

enum status curves_write(const struct fold *f, struct pool *p, const char *dir, struct error *err)
{
    enum status status = file_make_dir(dir, 0777, err);

    for (int script = 0; status == STATUS_OK && script < 2; script++) {
        const char *path = pool_text(p, "%s/%s", dir, script ? "plots.gp" : "curves.dat");
        FILE *to;

        status = file_create(&to, path, 0666, err);
        if (status != STATUS_OK)
            return status;
        if (script)
            put_script(to, f, p);
        else
            write_data(f, to);
        status = close_file(to, path, err);
    }
    return status;
}
