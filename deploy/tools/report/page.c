/* page.c -- well-formed XML and valid HTML at once.
 *
 * Pictures of gnuplot are put in as they are, but for names: each gets its own, since names are for
 * the whole page, and the declarations of XML go, since HTML has none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/report/page.h"

#include "common/base/file.h"
#include "deploy/tools/report/curves.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

enum { PAGE_BYTES_MAX = 64 << 20, PAGE_SVG_MAX = 8 << 20 };

/* All goes to a buffer; the first failure stays. */
struct page {
    struct buf out;
    enum status status;
};

static void put(struct page *g, const char *bytes, size_t n)
{
    if (g->status == STATUS_OK)
        g->status = buf_append(&g->out, bytes, n);
}

static void put_markup(struct page *g, const char *text)
{
    put(g, text, strlen(text));
}

static void put_text(struct page *g, const char *text)
{
    for (; *text != 0; text++) {
        const char *name = *text == '&'   ? "&amp;"
                           : *text == '<' ? "&lt;"
                           : *text == '>' ? "&gt;"
                           : *text == '"' ? "&quot;"
                                          : NULL;

        if (name != NULL)
            put_markup(g, name);
        else if ((unsigned char)*text >= ' ' || *text == '\n')
            put(g, text, 1);
    }
}

static void put_element(struct page *g, const char *name, const char *text)
{
    put_markup(g, "<");
    put_markup(g, name);
    put_markup(g, ">");
    put_text(g, text);
    put_markup(g, "</");
    put(g, name, strcspn(name, " "));
    put_markup(g, ">\n");
}

/* --- pictures --- */

static bool starts(const char *at, const char *word)
{
    return strncmp(at, word, strlen(word)) == 0;
}

/* The words of an SVG file that are not taken as they are: what stands there, and instead. */
static const char *replaced(const char *at, const char **instead, const char *name, struct pool *p)
{
    static const char *const gone[] = {"xmlns=\"http://www.w3.org/2000/svg\"",
                                       "xmlns:xlink=\"http://www.w3.org/1999/xlink\"", NULL};
    static const char *const renamed[] = {"xlink:href='#", "id='", "id=\"", "url(#", NULL};
    static const char *const stem[] = {"href='#", "id='", "id=\"", "url(#"};

    for (size_t i = 0; gone[i] != NULL; i++)
        if (starts(at, gone[i])) {
            *instead = "";
            return at + strlen(gone[i]);
        }
    if (starts(at, "<title>gnuplot_plot_")) { /* of a band, which has no name */
        *instead = "";
        at = strstr(at, "</title>");
        return at == NULL ? "" : at + strlen("</title>");
    }
    for (size_t i = 0; renamed[i] != NULL; i++)
        if (starts(at, renamed[i])) {
            *instead = pool_text(p, "%s%s-", stem[i], name);
            return at + strlen(renamed[i]);
        }
    return NULL;
}

static void put_svg(struct page *g, const char *svg, const char *name, struct pool *p)
{
    const char *at = strstr(svg, "<svg"), *from = at;

    while (at != NULL && *at != 0) {
        const char *instead, *next = replaced(at, &instead, name, p);

        if (next == NULL) {
            at++;
            continue;
        }
        put(g, from, (size_t)(at - from));
        put_markup(g, instead);
        from = at = next;
    }
    if (at != NULL)
        put(g, from, (size_t)(at - from));
}

static bool put_plot(struct page *g, const struct fold *f, const char *dir, size_t plot,
                     struct pool *p)
{
    const char *path = pool_text(p, "%s/%s.svg", dir, curves_name(plot));
    struct buf svg;
    bool done = false;

    if (!curves_has(f, plot) || access(path, R_OK) != 0)
        return false;
    buf_init(&svg, PAGE_SVG_MAX);
    if (file_read(path, &svg, NULL) == STATUS_OK && buf_append(&svg, "", 1) == STATUS_OK) {
        put_markup(g, "<figure>\n");
        put_element(g, "figcaption", curves_title(plot));
        put_svg(g, (const char *)svg.data, curves_name(plot), p);
        put_markup(g, "</figure>\n");
        done = true;
    }
    buf_deinit(&svg);
    return done;
}

static void put_plots(struct page *g, const struct fold *f, const struct want *want, struct pool *p)
{
    size_t n = 0;

    put_element(g, "h2", "Plots");
    put_element(g, "p",
                "Lines: mean over runs at each evaluation; bands: one standard deviation "
                "on either side. A line ends where fewer than half of its runs go on.");
    put_markup(g, "<div class=\"plots\">\n");
    for (size_t i = 0; want->plots != NULL && i < CURVES_PLOTS; i++)
        n += put_plot(g, f, want->plots, i, p);
    put_markup(g, "</div>\n");
    if (n == 0)
        put_element(g, "p", "None: gnuplot was not there when this page was made.");
}

/* --- the rest --- */

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;color:#222;background:#fff;max-width:1500px;"
    "margin:2em auto;padding:0 1.5em}\n"
    "h1{font-size:1.6em;margin-bottom:0}h2{font-size:1.2em;margin:2em 0 .3em}\n"
    "p{max-width:60em;margin:.3em 0}p.sub{color:#666}\n"
    ".wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;margin:.6em 0;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.25em .9em;text-align:right;white-space:nowrap;"
    "border-bottom:1px solid #e4e4e4}\n"
    "th{border-bottom:2px solid #777;font-weight:600}\n"
    "th:first-child,td:first-child{text-align:left;padding-left:0}\n"
    "table.settings th,table.settings td{text-align:left}\n"
    "tbody tr:hover{background:#f4f8fb}\n"
    ".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(520px,1fr));gap:1em}\n"
    "figure{margin:0}figure svg{width:100%;height:auto}\n"
    "figcaption{font-weight:600;margin:.8em 0 .2em}\n"
    "pre{background:#f6f6f6;padding:.8em 1em;overflow-x:auto;font-size:.9em}\n"
    "footer{margin:3em 0 1em;color:#666;border-top:1px solid #e4e4e4;padding-top:.5em}\n";

static void put_table(struct page *g, const struct block *b, const char *class)
{
    put_markup(g, "<div class=\"wide\"><table");
    put_markup(g, class);
    put_markup(g, "><thead><tr>");
    for (size_t i = 0; i < b->cols; i++)
        put_element(g, "th", b->head[i]);
    put_markup(g, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < b->cells; i++) {
        put_markup(g, i % b->cols == 0 ? "<tr>" : "");
        put_element(g, "td", b->cell[i]);
        put_markup(g, (i + 1) % b->cols == 0 ? "</tr>\n" : "");
    }
    put_markup(g, "</tbody></table></div>\n");
}

static void put_tables(struct page *g, const struct tables *t)
{
    for (size_t i = 0; i < t->n; i++) {
        put_element(g, "h2", t->block[i].title);
        if (t->block[i].note[0] != 0)
            put_element(g, "p", t->block[i].note);
        put_table(g, &t->block[i], "");
    }
    put_element(g, "h2", "Notes");
    for (size_t i = 0; i < t->notes; i++)
        put_element(g, "p", t->note[i]);
}

/* One row for each run: what it was asked for where runs differ, and how it ended. */
static void put_runs(struct page *g, const struct fold *f, struct pool *p)
{
    struct block b = {.title = "", .note = ""};
    const struct runs *r = f->runs;

    block_head(&b, p, "run");
    for (size_t i = 0; i < r->axes; i++)
        if (f->varies[i])
            block_head(&b, p, r->axis[i]);
    block_head(&b, p, "seed");
    block_head(&b, p, "status");
    for (size_t i = 0; i < f->settings; i++)
        for (size_t k = 0; k < f->setting[i].runs; k++) {
            const struct run *run = f->setting[i].run[k];

            block_cell(&b, p, run->id[0] != 0 ? run->id : run->title);
            for (size_t axis = 0; axis < r->axes; axis++)
                if (f->varies[axis])
                    block_cell(&b, p, runs_value(run, axis));
            block_cell(&b, p, run->seed);
            block_cell(&b, p, run->status);
        }
    put_table(g, &b, " class=\"settings\"");
}

static void put_page(struct page *g, const struct fold *f, const struct tables *t,
                     const struct want *want, struct pool *p)
{
    const char *title = want->title != NULL ? want->title : f->setting[0].run[0]->title;
    struct block common;
    size_t n = 0;

    for (size_t i = 0; i < f->settings; i++)
        n += f->setting[i].runs;
    put_markup(g, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                  "<meta name=\"viewport\" content=\"width=device-width\"/>\n");
    put_element(g, "title", title);
    put_markup(g, "<style>\n");
    put_markup(g, style);
    put_markup(g, "</style>\n</head>\n<body>\n");
    put_element(g, "h1", title);
    put_element(g, "p class=\"sub\"",
                pool_text(p, "%zu settings, %zu runs; score: %s", f->settings, n,
                          want->fold.has_target ? tables_target_name(&want->fold, p)
                                                : tables_score_name(&want->fold, p)));
    put_plots(g, f, want, p);
    put_tables(g, t);
    put_element(g, "h2", "Settings");
    tables_common(&common, f, p);
    if (common.cells > 0)
        put_table(g, &common, " class=\"settings\"");
    put_runs(g, f, p);
    put_element(g, "h2", "Made by");
    put_element(g, "pre", want->command != NULL ? want->command : "vfl report");
    put_element(g, "footer", "Colonnade " VFL_VERSION);
    put_markup(g, "</body>\n</html>\n");
}

enum status page_write(const struct fold *f, const struct tables *t, const struct want *want,
                       struct pool *p, struct error *err)
{
    struct page g = {.status = STATUS_OK};

    buf_init(&g.out, PAGE_BYTES_MAX);
    put_page(&g, f, t, want, p);
    if (g.status == STATUS_OK)
        g.status = file_write_atomic(want->html, g.out.data, g.out.len, 0644, err);
    else
        error_set(err, g.status, "%s: %s", want->html, status_words(g.status));
    buf_deinit(&g.out);
    return g.status;
}
