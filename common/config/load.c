/* load.c -- where the values of a configuration come from, and whom to blame for them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/load.h"

#include "common/base/buf.h"
#include "common/base/check.h"
#include "common/base/file.h"
#include "common/config/document.h"
#include "common/config/key_set.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Enough of an assignment to recognise it in a message. */
enum { SET_SHOWN = 120 };

/* --- the file --- */

static enum document_kind sink_kind(void *ctx, const char *path, struct document_fault *f)
{
    struct load *l = ctx;

    if (key_find(l->table, path) >= 0)
        return DOCUMENT_VALUE;
    if (key_is_section(l->table, path))
        return DOCUMENT_SECTION;
    key_unknown(l->table, path, f->reason, sizeof f->reason);
    return DOCUMENT_UNKNOWN;
}

static bool sink_value(void *ctx, const char *path, const struct key_value *v,
                       struct document_fault *f)
{
    struct load *l = ctx;
    int i = key_find(l->table, path);
    struct key_set_fault bad;
    const struct key *k;
    size_t offset;

    k = key_at(l->table, (size_t)i, &offset);
    l->origin[i].line = f->line;
    if (key_set(k, (char *)l->base + offset, v, l->dir, &bad))
        return true;
    if (bad.line > 0)
        f->line = bad.line;
    snprintf(f->reason, sizeof f->reason, "%s is not %s", bad.value, bad.want);
    return false;
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

enum status load_text(struct load *l, const char *text, size_t n, struct error *err)
{
    const struct document_sink sink = {l, sink_kind, sink_value};
    struct document_fault f;
    char line[16] = "";

    if (document_read(text, n, &sink, &f))
        return STATUS_OK;
    if (f.line > 0)
        snprintf(line, sizeof line, ":%d", f.line);
    return error_set(err, STATUS_CONFIG, "%s%s: %s%s%s", l->file, line, f.key,
                     f.key[0] == 0 ? "" : ": ", f.reason);
}

static enum status read_file(struct load *l, struct error *err)
{
    struct error local = {0};
    struct buf text;
    enum status s;

    buf_init(&text, DOCUMENT_BYTES_MAX);
    s = file_read(l->file, &text, &local);
    if (s == STATUS_OK)
        s = load_text(l, text.data == NULL ? "" : (const char *)text.data, text.len, err);
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
    bool textual = k->type == KEY_PATH || k->type == KEY_SCALE || k->type == KEY_ADDRESS ||
                   k->type == KEY_SHA256 || k->type == KEY_COLUMN || k->type == KEY_TEXT;

    return text[0] == 0 || (textual && text[0] != '"' && text[0] != '\'');
}

static enum status set_value(struct load *l, int i, const char *set, struct error *err)
{
    const char *text = strchr(set, '=') + 1;
    struct key_value v = {0};
    struct document_fault f;
    struct key_set_fault bad;
    const struct key *k;
    size_t offset;

    k = key_at(l->table, (size_t)i, &offset);
    if (is_literal(k, text)) {
        if (!key_value_add(&v, text, strlen(text), true, 0))
            return error_set(err, STATUS_CONFIG, "--set %.*s...: too long", SET_SHOWN, set);
    } else if (!document_read_value(text, strlen(text), &v, &f)) {
        return error_set(err, STATUS_CONFIG, "--set %.*s: %s", SET_SHOWN, set, f.reason);
    }
    if (!key_set(k, (char *)l->base + offset, &v, l->dir, &bad))
        return error_set(err, STATUS_CONFIG, "--set %.*s: must be %s", SET_SHOWN, set, bad.want);
    l->origin[i] = (struct load_origin){.set = set};
    return STATUS_OK;
}

static enum status assign(struct load *l, const char *set, struct error *err)
{
    const char *equals = strchr(set, '=');
    char path[KEY_PATH_MAX], reason[384];
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
