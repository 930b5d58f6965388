/* read.c -- a grid file: its cases with their axes, rules and seeds.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/grid/read.h"

#include "common/base/file.h"
#include "common/config/number.h"
#include "deploy/tools/grid/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARENA_BYTES = 32 << 20, FILE_BYTES_MAX = 65536, JOBS_MAX = 1024, NAME_MAX_BYTES = 64 };

static const struct tree_limits limits = {
    .bytes = FILE_BYTES_MAX, .depth = 12, .nodes = FILE_BYTES_MAX / 2, .text_max = FILE_BYTES_MAX};

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

/* --- axes --- */

static struct choice *add_choice(struct read *r, struct axis *axis, const char *text, int line)
{
    struct choice **end = &axis->choices, *made;

    for (; *end != NULL; end = &(*end)->next) {
        if (strcmp((*end)->text, text) == 0) {
            read_refuse(r, line, axis->name, "%.200s is there twice", text);
            return NULL;
        }
    }
    made = read_make(r, sizeof *made);
    if (made != NULL) {
        made->text = text;
        *end = made;
    }
    return made;
}

/* `key.path: [value, ...]` */
static bool read_values(struct read *r, const struct tree *t, struct axis *axis)
{
    const struct tree *item = t->kind == TREE_LIST ? t->first : t;

    if (t->kind == TREE_MAP)
        return read_refuse(r, t->line, t->name, "takes a list of values");
    if (item == NULL || tree_is_empty(item))
        return read_refuse(r, t->line, t->name, "an axis without values");
    for (; item != NULL; item = t->kind == TREE_LIST ? item->next : NULL) {
        struct tree value = *item;
        const char *text;
        struct choice *c;

        value.name = t->name;
        text = read_text(r, &value);
        c = text == NULL ? NULL : add_choice(r, axis, text, item->line);
        if (c == NULL || !read_entry(r, t->name, &value, &c->settings))
            return false;
    }
    return true;
}

/* `name: {value: {key.path: ..., set: ...}, ...}` */
static bool read_bundles(struct read *r, const struct tree *t, struct axis *axis)
{
    if (t->kind != TREE_MAP || t->n == 0)
        return read_refuse(r, t->line, t->name,
                           "is no key of the server's file, so it takes names with settings");
    for (const struct tree *bundle = t->first; bundle != NULL; bundle = bundle->next) {
        struct choice *c = add_choice(r, axis, bundle->name, bundle->line);

        if (c == NULL)
            return false;
        if (tree_is_empty(bundle))
            continue;
        if (bundle->kind != TREE_MAP)
            return read_refuse(r, bundle->line, bundle->name, "takes settings");
        for (const struct tree *e = bundle->first; e != NULL; e = e->next) {
            bool section = read_is_section(e->name);

            if (!section && !read_is_entry(e->name))
                return read_refuse(r, e->line, e->name, "neither a key nor a section of settings");
            if (section ? !read_section(r, e, &c->settings)
                        : !read_entry(r, e->name, e, &c->settings))
                return false;
        }
    }
    return true;
}

static bool read_axes(struct read *r, const struct tree *t, struct axis **end)
{
    if (t->kind != TREE_MAP)
        return read_refuse(r, t->line, t->name, "takes axes: names with their values");
    for (const struct tree *a = t->first; a != NULL; a = a->next) {
        struct axis *axis = read_make(r, sizeof *axis);
        bool bundles;

        if (axis == NULL)
            return false;
        axis->name = a->name;
        axis->line = a->line;
        if (columns_has(a->name))
            return read_refuse(r, a->line, a->name, "the tables have another column of this name");
        /* `model: {small: ..., large: ...}` is a name, too. */
        bundles =
            !read_is_entry(a->name) || (a->kind == TREE_MAP && strpbrk(a->name, ".:") == NULL);
        if (!(bundles ? read_bundles : read_values)(r, a, axis))
            return false;
        *end = axis;
        end = &axis->next;
    }
    return true;
}

/* --- rules and seeds --- */

static bool read_rules(struct read *r, const struct tree *t, struct rule **rules)
{
    if (t->kind != TREE_LIST)
        return read_refuse(r, t->line, t->name, "takes a list of rules: [{axis: value, ...}, ...]");
    for (const struct tree *item = t->first; item != NULL; item = item->next) {
        struct rule *rule = read_make(r, sizeof *rule);
        struct match **end;

        if (rule == NULL)
            return false;
        if (item->kind != TREE_MAP || item->n == 0)
            return read_refuse(r, item->line, t->name, "a rule names axes and values");
        end = &rule->matches;
        for (const struct tree *m = item->first; m != NULL; m = m->next, end = &(*end)->next) {
            *end = read_make(r, sizeof **end);
            if (*end == NULL)
                return false;
            if (m->kind == TREE_MAP || tree_is_empty(m))
                return read_refuse(r, m->line, m->name, "takes a value or a list of values");
            **end = (struct match){.name = m->name, .value = m};
        }
        *rules = rule;
        rules = &rule->next;
    }
    return true;
}

static bool read_seed(struct read *r, struct block *b, const struct tree *t, const char *name)
{
    uint64_t seed;

    /* `vfl cluster` takes 19 digits. */
    if (t->kind != TREE_SCALAR || !number_whole(&seed, t->text) || seed > 9999999999999999999u)
        return read_refuse(r, t->line, name, "takes a number of seeds or a list of seeds");
    for (size_t i = 0; i < b->seeds_n; i++)
        if (b->seeds[i] == seed)
            return read_refuse(r, t->line, name, "%s is there twice", t->text);
    b->seeds[b->seeds_n++] = seed;
    return true;
}

static bool read_seeds(struct read *r, struct block *b, const struct tree *t)
{
    uint64_t n = t->n;

    if (t->kind == TREE_SCALAR && !number_whole(&n, t->text))
        return read_refuse(r, t->line, t->name, "takes a number of seeds or a list of seeds");
    if (t->kind == TREE_MAP || n < 1 || n > GRID_SEEDS_MAX)
        return read_refuse(r, t->line, t->name, "from 1 to %d seeds", GRID_SEEDS_MAX);
    b->seeds = read_make(r, n * sizeof *b->seeds);
    if (b->seeds == NULL)
        return false;
    if (t->kind == TREE_SCALAR) {
        for (b->seeds_n = 0; b->seeds_n < n; b->seeds_n++)
            b->seeds[b->seeds_n] = b->seeds_n + 1;
        return true;
    }
    for (const struct tree *item = t->first; item != NULL; item = item->next)
        if (!read_seed(r, b, item, t->name))
            return false;
    return true;
}

/* --- blocks --- */

/* *known: whether it was an entry that all blocks may have. */
static bool read_of_block(struct read *r, struct block *b, const struct tree *t, bool *known)
{
    *known = true;
    if (read_is_section(t->name))
        return read_section(r, t, &b->settings);
    if (strcmp(t->name, "grid") == 0)
        return read_axes(r, t, &b->axes);
    if (strcmp(t->name, "only") == 0)
        return read_rules(r, t, &b->only);
    if (strcmp(t->name, "skip") == 0)
        return read_rules(r, t, &b->skip);
    if (strcmp(t->name, "seeds") == 0)
        return read_seeds(r, b, t);
    *known = false;
    return true;
}

static bool read_case(struct read *r, struct block *b, const struct tree *t)
{
    bool known;

    b->name = t->name;
    if (tree_is_empty(t))
        return true;
    if (t->kind != TREE_MAP)
        return read_refuse(r, t->line, t->name, "a case has settings, a grid, rules, seeds");
    for (const struct tree *e = t->first; e != NULL; e = e->next) {
        if (!read_of_block(r, b, e, &known))
            return false;
        if (!known)
            return read_refuse(r, e->line, e->name,
                               "unknown; a case has cluster, set, party, link, labels, seeds, "
                               "grid, only, skip");
    }
    return true;
}

static bool read_cases(struct read *r, const struct tree *t)
{
    struct block **end = &r->g->cases;

    if (t->kind != TREE_MAP || t->n == 0)
        return read_refuse(r, t->line, t->name, "takes names with what each case has of its own");
    for (const struct tree *c = t->first; c != NULL; c = c->next, end = &(*end)->next) {
        *end = read_make(r, sizeof **end);
        if (*end == NULL || !read_case(r, *end, c))
            return false;
    }
    r->g->has_cases = true;
    return true;
}

static bool read_name(struct read *r, const struct tree *t)
{
    if (t->kind != TREE_SCALAR || t->text[0] == 0 || t->text[0] == '.' ||
        strlen(t->text) > NAME_MAX_BYTES || strspn(t->text, NAME_CHARS) != strlen(t->text))
        return read_refuse(r, t->line, t->name, "takes a name of letters, digits, '.', '_', '-'");
    r->g->name = t->text;
    return true;
}

static bool read_jobs(struct read *r, const struct tree *t)
{
    uint64_t n;

    if (t->kind != TREE_SCALAR || !number_whole(&n, t->text) || n < 1 || n > JOBS_MAX)
        return read_refuse(r, t->line, t->name, "takes a whole number from 1 to %d", JOBS_MAX);
    r->g->jobs = (unsigned)n;
    return true;
}

static bool read_root(struct read *r, const struct tree *root)
{
    bool known = true, ok;

    if (root->kind != TREE_MAP)
        return read_refuse(r, root->line, NULL, "not a list of `name: value` lines");
    for (const struct tree *t = root->first; t != NULL; t = t->next) {
        if (strcmp(t->name, "name") == 0)
            ok = read_name(r, t);
        else if (strcmp(t->name, "jobs") == 0)
            ok = read_jobs(r, t);
        else if (strcmp(t->name, "cases") == 0)
            ok = read_cases(r, t);
        else
            ok = read_of_block(r, &r->g->shared, t, &known);
        if (ok && !known)
            ok = read_refuse(r, t->line, t->name,
                             "unknown; a grid has name, cluster, set, party, link, labels, seeds, "
                             "jobs, grid, only, skip, cases");
        if (!ok)
            return false;
    }
    return r->g->name != NULL || read_refuse(r, root->line, "name", "is required");
}

/* --- what must fit together --- */

static bool clash(struct read *r, const struct axis *a, const struct axis *b)
{
    for (const struct choice *x = a->choices; x != NULL; x = x->next)
        for (const struct setting *s = x->settings; s != NULL; s = s->next)
            for (const struct choice *y = b->choices; y != NULL; y = y->next)
                for (const struct setting *u = y->settings; u != NULL; u = u->next)
                    if (read_same_key(s, u))
                        return !read_refuse(r, u->line, u->key, "the axis %s sets it too", a->name);
    return false;
}

static bool check_axes(struct read *r, const struct axis *axis, const struct axis *others)
{
    for (const struct axis *o = others; o != NULL && o != axis; o = o->next) {
        if (strcmp(o->name, axis->name) == 0)
            return read_refuse(r, axis->line, axis->name, "an axis already, on line %d", o->line);
        if (clash(r, o, axis))
            return false;
    }
    return true;
}

static const struct axis *find_axis(const struct axis *axes, const char *name)
{
    while (axes != NULL && strcmp(axes->name, name) != 0)
        axes = axes->next;
    return axes;
}

static bool has_choice(const struct axis *a, const char *text)
{
    for (const struct choice *c = a == NULL ? NULL : a->choices; c != NULL; c = c->next)
        if (strcmp(c->text, text) == 0)
            return true;
    return false;
}

/* Is this a value that the name can have, in some case of this block's? */
static bool is_value(const struct grid *g, const char *name, const char *text)
{
    uint64_t seed;

    if (strcmp(name, "seed") == 0)
        return number_whole(&seed, text);
    if (has_choice(find_axis(g->shared.axes, name), text))
        return true;
    for (const struct block *c = g->cases; c != NULL; c = c->next)
        if (strcmp(name, "case") == 0 ? c->name != NULL && strcmp(c->name, text) == 0
                                      : has_choice(find_axis(c->axes, name), text))
            return true;
    return false;
}

static bool is_axis(const struct grid *g, const char *name)
{
    bool found = strcmp(name, "seed") == 0 || find_axis(g->shared.axes, name) != NULL ||
                 (strcmp(name, "case") == 0 && g->has_cases);

    for (const struct block *c = g->cases; c != NULL; c = c->next)
        found = found || find_axis(c->axes, name) != NULL;
    return found;
}

static bool check_match(struct read *r, const struct match *m)
{
    const struct tree *item = m->value->kind == TREE_LIST ? m->value->first : m->value;

    if (!is_axis(r->g, m->name))
        return read_refuse(r, m->value->line, m->name, "is no axis");
    for (; item != NULL; item = m->value->kind == TREE_LIST ? item->next : NULL) {
        const char *text = read_text(r, item);

        if (text == NULL)
            return false;
        if (!is_value(r->g, m->name, text))
            return read_refuse(r, item->line, m->name, "never is %.200s", text);
    }
    return true;
}

static bool check_rules(struct read *r, const struct rule *rules)
{
    for (; rules != NULL; rules = rules->next)
        for (const struct match *m = rules->matches; m != NULL; m = m->next)
            if (!check_match(r, m))
                return false;
    return true;
}

static bool add_column(struct read *r, const char *name, int line)
{
    struct grid *g = r->g;

    for (size_t i = 0; i < g->columns; i++)
        if (strcmp(g->column[i], name) == 0)
            return true;
    if (columns_has(name))
        return read_refuse(r, line, name, "the tables have another column of this name");
    if (g->columns == GRID_COLUMNS_MAX)
        return read_refuse(r, line, name, "more than %d labels and axes", GRID_COLUMNS_MAX);
    g->column[g->columns++] = name;
    return true;
}

static bool add_labels(struct read *r, const struct setting *s)
{
    for (; s != NULL; s = s->next)
        if (s->kind == SETTING_LABEL && !add_column(r, s->key, s->line))
            return false;
    return true;
}

static bool add_axis_labels(struct read *r, const struct axis *a)
{
    for (; a != NULL; a = a->next)
        for (const struct choice *c = a->choices; c != NULL; c = c->next)
            if (!add_labels(r, c->settings))
                return false;
    return true;
}

static bool add_axes(struct read *r, const struct axis *a)
{
    for (; a != NULL; a = a->next) {
        for (size_t i = 0; i < r->g->labels; i++)
            if (strcmp(r->g->column[i], a->name) == 0)
                return read_refuse(r, a->line, a->name, "is a label, too");
        if (!add_column(r, a->name, a->line))
            return false;
    }
    return true;
}

static bool make_columns(struct read *r)
{
    struct grid *g = r->g;
    bool ok = add_labels(r, g->shared.settings) && add_axis_labels(r, g->shared.axes);

    for (const struct block *c = g->cases; ok && c != NULL; c = c->next)
        ok = add_labels(r, c->settings) && add_axis_labels(r, c->axes);
    g->labels = g->columns;
    ok = ok && add_axes(r, g->shared.axes);
    for (const struct block *c = g->cases; ok && c != NULL; c = c->next)
        ok = add_axes(r, c->axes);
    return ok;
}

static bool check_case(struct read *r, const struct block *c)
{
    size_t n = 0;

    for (const struct axis *a = r->g->shared.axes; a != NULL; a = a->next, n++)
        if (!check_axes(r, a, r->g->shared.axes))
            return false;
    for (const struct axis *a = c->axes; a != NULL; a = a->next, n++) {
        if (!check_axes(r, a, r->g->shared.axes) || !check_axes(r, a, c->axes))
            return false;
        if (n >= GRID_AXES_MAX)
            return read_refuse(r, a->line, a->name, "more than %d axes", GRID_AXES_MAX);
    }
    return check_rules(r, c->only) && check_rules(r, c->skip);
}

static bool check_all(struct read *r)
{
    struct grid *g = r->g;

    if (g->cases == NULL)
        g->cases = read_make(r, sizeof *g->cases);
    if (g->cases == NULL)
        return false;
    if (g->shared.seeds_n == 0) {
        g->shared.seeds = read_make(r, sizeof *g->shared.seeds);
        if (g->shared.seeds == NULL)
            return false;
        g->shared.seeds[g->shared.seeds_n++] = 1;
    }
    for (const struct block *c = g->cases; c != NULL; c = c->next)
        if (!check_case(r, c))
            return false;
    return check_rules(r, g->shared.only) && check_rules(r, g->shared.skip) && make_columns(r);
}

static enum status find_folder(struct grid *g, const char *data, struct error *err)
{
    char file[PATH_MAX];
    char *slash;

    snprintf(file, sizeof file, "%s", data == NULL ? g->file : data);
    slash = strrchr(file, '/');
    if (data == NULL && slash == NULL)
        strcpy(file, ".");
    else if (data == NULL)
        slash[slash == file] = 0;
    if (realpath(file, g->folder) != NULL && access(g->folder, X_OK) == 0)
        return STATUS_OK;
    return error_set(err, STATUS_CONFIG, "%s: no such folder", file);
}

static enum status read_tree(const struct tree **root, struct grid *g, struct error *err)
{
    struct error local = {0};
    struct tree_fault f;
    struct buf text;
    enum status s;

    buf_init(&text, FILE_BYTES_MAX);
    s = file_read(g->file, &text, &local);
    if (s != STATUS_OK) {
        s = error_set(err, s == STATUS_MEMORY ? s : STATUS_CONFIG, "%s", local.text);
    } else {
        s = tree_read(root, &g->text, (const char *)text.data, text.len, &limits, &f);
        if (s != STATUS_OK)
            tree_refuse(g->file, s, &f, err);
        else if (*root == NULL)
            s = error_set(err, STATUS_CONFIG, "%s:1: empty", g->file);
    }
    buf_deinit(&text);
    return s;
}

enum status grid_read(struct grid *g, const char *file, const char *data, struct error *err)
{
    struct read r = {.g = g, .err = err};
    const struct tree *root;
    enum status s;

    *g = (struct grid){.file = file};
    s = arena_init(&g->arena, ARENA_BYTES);
    if (s != STATUS_OK)
        return error_set(err, s, "%s", status_words(s));
    s = read_tree(&root, g, err);
    if (s == STATUS_OK)
        s = find_folder(g, data, err);
    if (s != STATUS_OK)
        return s;
    if (read_root(&r, root) && check_all(&r))
        return STATUS_OK;
    /* A copy of a text that had no room says nothing itself. */
    return err->status != STATUS_OK
               ? err->status
               : error_set(err, STATUS_MEMORY, "%s: %s", file, status_words(STATUS_MEMORY));
}

void grid_deinit(struct grid *g)
{
    arena_deinit(&g->text);
    arena_deinit(&g->arena);
}
