/* setting.c -- the parts of a grid that set something.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/grid/keys.h"
#include "deploy/tools/grid/read.h"
#include "deploy/tools/grid/value.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { KEY_BYTES_MAX = 128 };

bool read_refuse(struct read *r, int line, const char *name, const char *fmt, ...)
{
    char reason[KEYS_REASON_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(reason, sizeof reason, fmt, args);
    va_end(args);
    error_set(r->err, STATUS_CONFIG, "%s:%d: %s%s%s", r->g->file, line, name == NULL ? "" : name,
              name == NULL ? "" : ": ", reason);
    return false;
}

void *read_make(struct read *r, size_t size)
{
    void *block = arena_alloc(&r->g->arena, 1, size);

    if (block == NULL)
        error_set(r->err, STATUS_MEMORY, "%s: %s", r->g->file, status_words(STATUS_MEMORY));
    else
        memset(block, 0, size);
    return block;
}

const char *read_text(struct read *r, const struct tree *t)
{
    const char *text = t->kind == TREE_MAP ? NULL : value_text(t, &r->g->arena);

    if (text == NULL)
        read_refuse(r, t->line, t->name, "takes a value or a list of values");
    return text;
}

bool read_same_key(const struct setting *a, const struct setting *b)
{
    return a->kind == b->kind && strcmp(a->key, b->key) == 0 &&
           (a->kind != SETTING_PARTY || strcmp(a->who, b->who) == 0);
}

/* --- names of files --- */

/* The file itself, or the same with .gz behind it. */
static const char *find_file(struct read *r, const struct tree *t, const char *text, size_t n)
{
    char path[PATH_MAX];
    int used;

    if (n > 0 && text[0] == '/')
        used = snprintf(path, sizeof path, "%.*s", (int)n, text);
    else
        used = snprintf(path, sizeof path, "%s/%.*s", r->g->folder, (int)n, text);
    if (used + 4 < (int)sizeof path) {
        if (access(path, R_OK) == 0)
            return arena_text(&r->g->arena, path, (size_t)used);
        strcpy(path + used, ".gz");
        if (access(path, R_OK) == 0)
            return arena_text(&r->g->arena, path, (size_t)used + 3);
        path[used] = 0;
    }
    read_refuse(r, t->line, t->name, "no file %.300s (another folder: --data)", path);
    return NULL;
}

/* One file, or several with commas between. */
static const char *find_files(struct read *r, const struct tree *t)
{
    char all[4 * PATH_MAX];
    size_t n = 0;

    if (t->kind == TREE_SCALAR)
        return find_file(r, t, t->text, strlen(t->text));
    for (const struct tree *one = t->first; one != NULL; one = one->next) {
        const char *path = find_file(r, t, one->text, strlen(one->text));

        if (path == NULL)
            return NULL;
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", n > 0 ? "," : "", path);
        if (n >= sizeof all) {
            read_refuse(r, t->line, t->name, "too many files, or too long names");
            return NULL;
        }
    }
    return arena_text(&r->g->arena, all, n);
}

/* --- one setting --- */

static bool append(struct read *r, struct setting **list, const struct setting *made)
{
    struct setting *copy;

    for (; *list != NULL; list = &(*list)->next)
        if (read_same_key(*list, made))
            return read_refuse(r, made->line, made->key, "set twice, first on line %d",
                               (*list)->line);
    copy = read_make(r, sizeof *copy);
    if (copy == NULL)
        return false;
    *copy = *made;
    *list = copy;
    return true;
}

static bool add_setting(struct read *r, struct setting made, const struct tree *value,
                        struct setting **list)
{
    char reason[KEYS_REASON_MAX];
    bool ok = true;

    made.line = value->line;
    if (value->kind == TREE_MAP || tree_is_empty(value))
        return read_refuse(r, value->line, made.key, "takes a value");
    if (made.kind == SETTING_CLUSTER)
        ok = keys_check_cluster(made.key, value, &made.file, reason);
    else if (made.kind != SETTING_LABEL)
        ok = keys_check(made.kind == SETTING_PARTY, made.key, value, &made.file, reason);
    if (!ok)
        return read_refuse(r, value->line, made.key, "%s", reason);
    made.value = made.file ? find_files(r, value) : read_text(r, value);
    return made.value != NULL && append(r, list, &made);
}

/* `protocol: {pbm: {trials: 16}}` is `protocol.pbm.trials: 16`. */
static bool add_keys(struct read *r, struct setting made, const struct tree *value,
                     struct setting **list)
{
    char path[KEY_BYTES_MAX];

    if (value->kind != TREE_MAP)
        return add_setting(r, made, value, list);
    for (const struct tree *t = value->first; t != NULL; t = t->next) {
        struct setting inner = made;

        if (snprintf(path, sizeof path, "%s%s%s", made.key, made.key[0] == 0 ? "" : ".", t->name) >=
            (int)sizeof path)
            return read_refuse(r, t->line, t->name, "too long");
        inner.key = arena_text(&r->g->arena, path, strlen(path));
        if (inner.key == NULL || !add_keys(r, inner, t, list))
            return false;
    }
    return true;
}

/* Every daemon shapes what it sends: so both directions, of every party. */
static bool add_link(struct read *r, const char *key, const struct tree *value,
                     struct setting **list)
{
    char path[KEY_BYTES_MAX];
    struct setting made = {.kind = SETTING_SET, .who = "*"};

    if (strcmp(key, "delay_ms") != 0 && strcmp(key, "jitter_ms") != 0 &&
        strcmp(key, "rate_mbit") != 0)
        return read_refuse(r, value->line, key,
                           "unknown; a link has delay_ms, jitter_ms, rate_mbit");
    snprintf(path, sizeof path, "inject.link.%s", key);
    made.key = arena_text(&r->g->arena, path, strlen(path));
    if (made.key == NULL || !add_setting(r, made, value, list))
        return false;
    made.kind = SETTING_PARTY;
    return add_setting(r, made, value, list);
}

static bool is_who(const char *text, size_t n)
{
    if (n == 1 && text[0] == '*')
        return true;
    return n >= 1 && n <= 3 && text[0] != '0' && strspn(text, "0123456789") >= n;
}

/* The length of WHO in `WHO:key`; 0 when it is none. */
static size_t who_of(const char *name)
{
    const char *colon = strchr(name, ':');
    size_t n = colon == NULL ? 0 : (size_t)(colon - name);

    return n > 0 && colon[1] != 0 && is_who(name, n) ? n : 0;
}

bool read_is_entry(const char *name)
{
    return who_of(name) > 0 || strchr(name, '.') != NULL || keys_is_server(name);
}

bool read_entry(struct read *r, const char *name, const struct tree *value, struct setting **list)
{
    struct setting made = {.kind = SETTING_SET, .key = name};
    size_t n = who_of(name);

    if (n > 0) {
        made.kind = SETTING_PARTY;
        made.who = arena_text(&r->g->arena, name, n);
        made.key = name + n + 1;
        return made.who != NULL && add_keys(r, made, value, list);
    }
    if (strncmp(name, "link.", 5) == 0)
        return add_link(r, name + 5, value, list);
    if (strncmp(name, "cluster.", 8) == 0) {
        made.kind = SETTING_CLUSTER;
        made.key = name + 8;
        return add_setting(r, made, value, list);
    }
    return add_keys(r, made, value, list);
}

/* --- sections --- */

static const char *const sections[] = {"set", "party", "link", "cluster", "labels"};

bool read_is_section(const char *name)
{
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        if (strcmp(name, sections[i]) == 0)
            return true;
    return false;
}

static bool read_of_section(struct read *r, const char *section, const struct tree *t,
                            struct setting **list)
{
    struct setting made = {.key = t->name};

    if (strcmp(section, "link") == 0)
        return add_link(r, t->name, t, list);
    if (strcmp(section, "set") == 0) {
        made.kind = SETTING_SET;
        return add_keys(r, made, t, list);
    }
    if (strcmp(section, "party") == 0) {
        if (!is_who(t->name, strlen(t->name)))
            return read_refuse(r, t->line, t->name, "a party's number or '*' expected");
        if (t->kind != TREE_MAP)
            return read_refuse(r, t->line, t->name, "takes keys of the party's file");
        made = (struct setting){.kind = SETTING_PARTY, .who = t->name, .key = ""};
        return add_keys(r, made, t, list);
    }
    made.kind = strcmp(section, "labels") == 0 ? SETTING_LABEL : SETTING_CLUSTER;
    return add_setting(r, made, t, list);
}

bool read_section(struct read *r, const struct tree *section, struct setting **list)
{
    if (tree_is_empty(section))
        return true;
    if (section->kind != TREE_MAP)
        return read_refuse(r, section->line, section->name, "takes names with values");
    for (const struct tree *t = section->first; t != NULL; t = t->next)
        if (!read_of_section(r, section->name, t, list))
            return false;
    return true;
}
