/* load.c -- where the values of a configuration come from, and whom to blame for them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/load.h"

#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/config/key_set.h"
#include "common/config/key_value.h"
#include "common/config/tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    SET_SHOWN = 120, /* enough of an assignment to recognise it in a message */
    BYTES_MAX = 65536,
    REASON_MAX = 384
};

/* A file has each key of its table at most once, with no more items than a value may have. */
static const struct tree_limits limits = {.bytes = BYTES_MAX,
                                          .depth = 8,
                                          .nodes = KEY_TABLE_MAX * (KEY_VALUE_ITEMS_MAX + 4),
                                          .text_max = BYTES_MAX};

/* --- the file --- */

static enum status refuse(const struct load *l, int line, const char *path, const char *reason,
                          struct error *err)
{
    return error_set(err, STATUS_CONFIG, "%s:%d: %s%s%s", l->file, line, path,
                     path[0] == 0 ? "" : ": ", reason);
}

static enum status take_value(struct load *l, int i, const struct tree *t, struct error *err)
{
    struct key_value v = {0};
    struct key_set_fault bad;
    char reason[REASON_MAX];
    const char *why;
    size_t offset;
    int line;
    const struct key *k = key_at(l->table, (size_t)i, &offset);

    if (tree_is_empty(t))
        return refuse(l, t->value_line, k->path, "has no value", err);
    if (!key_value_read(&v, t, &line, &why))
        return refuse(l, line, k->path, why, err);
    l->origin[i].line = t->value_line;
    if (key_set(k, (char *)l->base + offset, &v, l->dir, &bad))
        return STATUS_OK;
    snprintf(reason, sizeof reason, "%s is not %s", bad.value, bad.want);
    return refuse(l, bad.line > 0 ? bad.line : t->value_line, k->path, reason, err);
}

static enum status take_section(struct load *l, const struct tree *t, char path[KEY_PATH_MAX],
                                struct error *err);

/* The path is that of the map around it, and is so again. */
static enum status take_entry(struct load *l, const struct tree *t, char path[KEY_PATH_MAX],
                              struct error *err)
{
    const size_t used = strlen(path), n = strlen(t->name);
    char reason[REASON_MAX];
    enum status s;
    int i;

    if (used + n + 2 > KEY_PATH_MAX ||
        strspn(t->name, "abcdefghijklmnopqrstuvwxyz0123456789_") != n)
        return refuse(l, t->line, path, "a key is a name of lowercase letters, digits and _", err);
    snprintf(path + used, KEY_PATH_MAX - used, "%s%s", used > 0 ? "." : "", t->name);
    i = key_find(l->table, path);
    if (i >= 0) {
        s = take_value(l, i, t, err);
    } else if (key_is_section(l->table, path)) {
        s = take_section(l, t, path, err);
    } else {
        key_unknown(l->table, path, reason, sizeof reason);
        s = refuse(l, t->line, path, reason, err);
    }
    path[used] = 0;
    return s;
}

/* Recursion is as deep as the sections of the table. */
static enum status take_section(struct load *l, const struct tree *t, char path[KEY_PATH_MAX],
                                struct error *err)
{
    enum status s = STATUS_OK;

    if (tree_is_empty(t))
        return refuse(l, t->value_line, path, "is a section without keys", err);
    if (t->kind != TREE_MAP)
        return refuse(l, t->value_line, path, "is a section: it takes keys of its own, not a value",
                      err);
    for (const struct tree *e = t->first; s == STATUS_OK && e != NULL; e = e->next)
        s = take_entry(l, e, path, err);
    return s;
}

enum status load_text(struct load *l, const char *text, size_t n, struct error *err)
{
    char path[KEY_PATH_MAX] = "";
    const struct tree *root;
    struct tree_fault f;
    struct arena a;
    enum status s = tree_read(&root, &a, text, n, &limits, &f);

    if (s != STATUS_OK)
        s = tree_refuse(l->file, s, &f, err);
    else if (root != NULL && !tree_is_empty(root))
        s = root->kind == TREE_MAP
                ? take_section(l, root, path, err)
                : refuse(l, root->line, path, "not a list of `key: value` lines", err);
    arena_deinit(&a);
    return s;
}

/* The absolute directory of l->file, or the working directory when there is no file. */
static enum status find_dir(struct load *l, const char *file, struct error *err)
{
    const char *slash = file == NULL ? NULL : strrchr(file, '/');
    size_t n = slash == NULL ? 0 : slash == file ? 1 : (size_t)(slash - file), used = 0;

    if (n == 0 || file[0] != '/') {
        if (getcwd(l->dir, sizeof l->dir) == NULL)
            return error_set(err, STATUS_CONFIG, "working directory: %s", strerror(errno));
        used = strlen(l->dir);
        while (n > 1 && file[0] == '.' && file[1] == '/') {
            file += 2;
            n -= 2;
        }
        if (n == 0 || (n == 1 && file[0] == '.'))
            return STATUS_OK;
        if (strcmp(l->dir, "/") != 0)
            l->dir[used++] = '/';
    }
    if (used + n >= sizeof l->dir)
        return error_set(err, STATUS_CONFIG, "%s: its directory's name is too long", l->file);
    memcpy(l->dir + used, file, n);
    l->dir[used + n] = 0;
    return STATUS_OK;
}

static enum status read_file(struct load *l, struct error *err)
{
    struct error local = {0};
    struct buf text;
    enum status s;

    buf_init(&text, BYTES_MAX);
    s = file_read(l->file, &text, &local);
    if (s == STATUS_OK)
        s = load_text(l, (const char *)text.data, text.len, err);
    else
        s = error_set(err, s == STATUS_MEMORY ? s : STATUS_CONFIG, "%s", local.text);
    buf_deinit(&text);
    return s;
}

/* --- assignments --- */

/* Paths and addresses are taken as they stand, because `[::1]:7000` or `a#b` is not what YAML makes
 * of it. */
static bool is_literal(const struct key *k, const char *text)
{
    bool textual = k->type == KEY_PATH || k->type == KEY_SOURCE || k->type == KEY_SCALE ||
                   k->type == KEY_ADDRESS || k->type == KEY_SHA256 || k->type == KEY_COLUMN ||
                   k->type == KEY_TEXT || k->type == KEY_ALIGNMENT;

    return text[0] == 0 || (textual && text[0] != '"' && text[0] != '\'');
}

/* *reason: why not. */
static enum status read_assigned(struct key_value *v, const char *text, char reason[REASON_MAX])
{
    const struct tree *root;
    struct tree_fault f;
    const char *why;
    struct arena a;
    int line;
    enum status s = tree_read(&root, &a, text, strlen(text), &limits, &f);

    if (s != STATUS_OK) {
        snprintf(reason, REASON_MAX, "%s", f.reason);
    } else if (root == NULL) {
        key_value_add(v, "", 0, true, 0);
    } else if (!key_value_read(v, root, &line, &why)) {
        snprintf(reason, REASON_MAX, "%s", why);
        s = STATUS_CONFIG;
    }
    arena_deinit(&a);
    return s;
}

static enum status set_value(struct load *l, int i, const char *set, struct error *err)
{
    const char *text = strchr(set, '=') + 1;
    struct key_value v = {0};
    struct key_set_fault bad;
    char reason[REASON_MAX] = "";
    const struct key *k;
    size_t offset;
    enum status s;

    k = key_at(l->table, (size_t)i, &offset);
    if (is_literal(k, text)) {
        if (!key_value_add(&v, text, strlen(text), true, 0))
            return error_set(err, STATUS_CONFIG, "--set %.*s...: too long", SET_SHOWN, set);
    } else {
        s = read_assigned(&v, text, reason);
        if (s != STATUS_OK)
            return error_set(err, s, "--set %.*s: %s", SET_SHOWN, set, reason);
    }
    if (!key_set(k, (char *)l->base + offset, &v, l->dir, &bad))
        return error_set(err, STATUS_CONFIG, "--set %.*s: must be %s", SET_SHOWN, set, bad.want);
    l->origin[i] = (struct load_origin){.set = set};
    return STATUS_OK;
}

static enum status assign(struct load *l, const char *set, struct error *err)
{
    const char *equals = strchr(set, '=');
    char path[KEY_PATH_MAX], reason[REASON_MAX];
    int i;

    if (equals == NULL || equals == set)
        return error_set(err, STATUS_CONFIG, "--set %.*s: must be key.path=value", SET_SHOWN, set);
    snprintf(path, sizeof path, "%.*s",
             (int)(equals - set < KEY_PATH_MAX ? equals - set : KEY_PATH_MAX), set);
    i = key_find(l->table, path);
    if (i >= 0)
        return set_value(l, i, set, err);
    if (key_is_section(l->table, path))
        return error_set(err, STATUS_CONFIG, "--set %.*s: is a section, name one of its keys",
                         SET_SHOWN, set);
    key_unknown(l->table, path, reason, sizeof reason);
    return error_set(err, STATUS_CONFIG, "--set %.*s: %s", SET_SHOWN, set, reason);
}

/* --- the whole --- */

enum status load_refuse(const struct load *l, const char *path, const char *reason,
                        struct error *err)
{
    const char *file = l->file == NULL ? l->table->name : l->file;
    int i = key_find(l->table, path);

    if (i >= 0 && l->origin[i].set != NULL)
        return error_set(err, STATUS_CONFIG, "--set %.*s: %s", SET_SHOWN, l->origin[i].set, reason);
    if (i >= 0 && l->origin[i].line > 0)
        return error_set(err, STATUS_CONFIG, "%s:%d: %s: %s", file, l->origin[i].line, path,
                         reason);
    return error_set(err, STATUS_CONFIG, "%s: %s: %s", file, path, reason);
}

static bool is_given(const struct load *l, const char *path)
{
    const int i = key_find(l->table, path);

    return i >= 0 && (l->origin[i].set != NULL || l->origin[i].line > 0);
}

enum status load_refuse_with(const struct load *l, const char *path, const char *const *with,
                             size_t n, const char *reason, struct error *err)
{
    const struct load_origin *o;
    size_t i = 0;

    while (i < n && with[i] != NULL && !is_given(l, with[i]))
        i++;
    if (is_given(l, path) || i == n || with[i] == NULL)
        return load_refuse(l, path, reason, err);
    o = &l->origin[key_find(l->table, with[i])];
    if (o->set != NULL)
        return error_set(err, STATUS_CONFIG, "--set %.*s: %s: %s", SET_SHOWN, o->set, path, reason);
    return error_set(err, STATUS_CONFIG, "%s:%d: %s: %s (here: %s)", l->file, o->line, path, reason,
                     with[i]);
}

static enum status check_required(const struct load *l, struct error *err)
{
    const struct key *k;
    size_t offset;

    for (size_t i = 0; (k = key_at(l->table, i, &offset)) != NULL; i++) {
        if (k->fallback == NULL && *((const char *)l->base + offset) == 0)
            return load_refuse(l, k->path, "is required", err);
    }
    return STATUS_OK;
}

enum status load_run(struct load *l, const char *const *sets, size_t n, struct error *err)
{
    enum status s;

    key_set_defaults(l->table, l->base);
    if (l->file != NULL) {
        s = find_dir(l, l->file, err);
        if (s == STATUS_OK)
            s = read_file(l, err);
        if (s != STATUS_OK)
            return s;
    }
    s = find_dir(l, NULL, err);
    for (size_t i = 0; s == STATUS_OK && i < n; i++)
        s = assign(l, sets[i], err);
    return s == STATUS_OK ? check_required(l, err) : s;
}
