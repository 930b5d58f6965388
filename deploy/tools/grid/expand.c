/* expand.c -- all choices of all axes, times the seeds.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/grid/grid.h"
#include "deploy/tools/grid/read.h"
#include "deploy/tools/grid/run.h"
#include "deploy/tools/grid/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct expand {
    struct grid *g;
    enum status (*take)(void *ctx, const struct run *r);
    void *ctx;
    struct error *err;
    size_t runs;
    struct run run;
};

/* --- rules --- */

/* NULL when the run's case has no such axis. */
static const char *value_of(const struct run *r, const char *name, char seed[32])
{
    if (strcmp(name, "case") == 0)
        return r->of->name;
    if (strcmp(name, "seed") == 0) {
        snprintf(seed, 32, "%llu", (unsigned long long)r->seed);
        return seed;
    }
    for (size_t i = 0; i < r->axes; i++)
        if (strcmp(r->axis[i]->name, name) == 0)
            return r->pick[i]->text;
    return NULL;
}

static bool among(const struct tree *value, const char *text, struct arena *a)
{
    const struct tree *item = value->kind == TREE_LIST ? value->first : value;

    for (; item != NULL; item = value->kind == TREE_LIST ? item->next : NULL) {
        const char *one = value_text(item, a);

        if (one != NULL && strcmp(one, text) == 0)
            return true;
    }
    return false;
}

/* A rule that names an axis of another case says nothing about this run. */
static bool matches(const struct run *r, const struct rule *rule, bool *speaks, struct arena *a)
{
    bool all = true;
    char seed[32];

    *speaks = true;
    for (const struct match *m = rule->matches; m != NULL; m = m->next) {
        const char *text = value_of(r, m->name, seed);

        if (text == NULL)
            *speaks = false;
        all = all && text != NULL && among(m->value, text, a);
    }
    return all;
}

static bool is_wanted(struct expand *e, const struct block *b)
{
    bool wanted = true, speaks;

    for (const struct rule *rule = b->skip; rule != NULL; rule = rule->next)
        if (matches(&e->run, rule, &speaks, &e->g->arena))
            return false;
    for (const struct rule *rule = b->only; rule != NULL; rule = rule->next) {
        if (matches(&e->run, rule, &speaks, &e->g->arena))
            return true;
        wanted = wanted && !speaks;
    }
    return wanted;
}

/* --- what holds for a run --- */

static enum status put(struct expand *e, const struct setting *s)
{
    struct run *r = &e->run;

    for (; s != NULL; s = s->next) {
        size_t i = 0;

        while (i < r->settings && !read_same_key(r->setting[i], s))
            i++;
        if (i == GRID_SETTINGS_MAX)
            return error_set(e->err, STATUS_CONFIG, "%s:%d: more than %d settings of one run",
                             e->g->file, s->line, GRID_SETTINGS_MAX);
        r->setting[i] = s;
        r->settings += i == r->settings;
    }
    return STATUS_OK;
}

static int compare(const void *a, const void *b)
{
    const struct setting *x = *(const struct setting *const *)a;
    const struct setting *y = *(const struct setting *const *)b;
    int by_who = x->kind == SETTING_PARTY && y->kind == SETTING_PARTY ? strcmp(x->who, y->who) : 0;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    /* '*' comes before digits: what one party has counts before what all have. */
    return by_who != 0 ? by_who : strcmp(x->key, y->key);
}

static enum status settle(struct expand *e)
{
    struct run *r = &e->run;
    enum status s;

    r->settings = 0;
    s = put(e, e->g->shared.settings);
    if (s == STATUS_OK)
        s = put(e, r->of->settings);
    for (size_t i = 0; s == STATUS_OK && i < r->axes; i++)
        s = put(e, r->pick[i]->settings);
    if (s == STATUS_OK)
        qsort(r->setting, r->settings, sizeof r->setting[0], compare);
    return s;
}

/* --- the product --- */

static enum status take_seeds(struct expand *e)
{
    const struct block *b = e->run.of->seeds_n > 0 ? e->run.of : &e->g->shared;
    enum status s = settle(e);

    for (size_t i = 0; s == STATUS_OK && i < b->seeds_n; i++) {
        e->run.seed = b->seeds[i];
        if (!is_wanted(e, &e->g->shared) || !is_wanted(e, e->run.of))
            continue;
        if (e->runs++ == GRID_RUNS_MAX)
            return error_set(e->err, STATUS_CONFIG, "%s: more than %d runs", e->g->file,
                             GRID_RUNS_MAX);
        s = run_name(&e->run, e->g, e->err);
        if (s == STATUS_OK)
            s = e->take(e->ctx, &e->run);
    }
    return s;
}

/* The last axis turns fastest. */
static bool turn(struct run *r)
{
    for (size_t i = r->axes; i-- > 0;) {
        r->pick[i] = r->pick[i]->next;
        if (r->pick[i] != NULL)
            return true;
        r->pick[i] = r->axis[i]->choices;
    }
    return false;
}

static enum status take_case(struct expand *e, const struct block *c)
{
    struct run *r = &e->run;
    enum status s;

    r->of = c;
    r->axes = 0;
    for (const struct axis *a = e->g->shared.axes; a != NULL; a = a->next)
        r->axis[r->axes++] = a;
    for (const struct axis *a = c->axes; a != NULL; a = a->next)
        r->axis[r->axes++] = a;
    for (size_t i = 0; i < r->axes; i++)
        r->pick[i] = r->axis[i]->choices;
    do {
        s = take_seeds(e);
    } while (s == STATUS_OK && turn(r));
    return s;
}

enum status grid_each(struct grid *g, enum status (*take)(void *ctx, const struct run *r),
                      void *ctx, struct error *err)
{
    static struct expand e; /* large */
    enum status s = STATUS_OK;

    e = (struct expand){.g = g, .take = take, .ctx = ctx, .err = err};
    for (const struct block *c = g->cases; s == STATUS_OK && c != NULL; c = c->next)
        s = take_case(&e, c);
    if (s == STATUS_OK && e.runs == 0)
        s = error_set(err, STATUS_CONFIG, "%s: the rules leave no run", g->file);
    return s;
}

const char *grid_cell(const struct grid *g, const struct run *r, size_t c)
{
    char seed[32];

    if (c >= g->labels) {
        const char *text = value_of(r, g->column[c], seed);

        return text == NULL ? "" : text;
    }
    for (size_t i = 0; i < r->settings; i++)
        if (r->setting[i]->kind == SETTING_LABEL && strcmp(r->setting[i]->key, g->column[c]) == 0)
            return r->setting[i]->value;
    return "";
}

/* As `vfl cluster` would count: parties, or the parts of columns, or 4. */
unsigned grid_parties(const struct run *r)
{
    unsigned n = 4, rows, columns;

    for (size_t i = 0; i < r->settings && r->setting[i]->kind == SETTING_CLUSTER; i++) {
        const char *value = r->setting[i]->value;

        if (strcmp(r->setting[i]->key, "parties") == 0)
            return (unsigned)strtoul(value, NULL, 10);
        if (strcmp(r->setting[i]->key, "columns") != 0)
            continue;
        if (sscanf(value, "grid:%ux%u", &rows, &columns) == 2) {
            n = rows * columns;
            continue;
        }
        for (n = 1; *value != 0; value++)
            n += *value == ',';
    }
    return n;
}
