/* tree.c -- libyaml's events to nodes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/grid/tree.h"

#include "common/base/file.h"
#include "common/config/key_text.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one, owned */
    bool has_event;
    const char *path;
    struct arena *arena;
    struct error *err;
};

static bool refuse(struct reader *r, size_t line, const char *reason)
{
    error_set(r->err, STATUS_CONFIG, "%s:%zu: %s", r->path, line + 1, reason);
    return false;
}

static bool refuse_here(struct reader *r, const char *reason)
{
    return refuse(r, r->event.start_mark.line, reason);
}

static bool short_of_memory(struct reader *r)
{
    error_set(r->err, STATUS_MEMORY, "%s: %s", r->path, status_words(STATUS_MEMORY));
    return false;
}

/* What no event may carry. */
static bool check_plain(struct reader *r)
{
    const yaml_event_t *e = &r->event;

    if (e->type == YAML_ALIAS_EVENT ||
        (e->type == YAML_SCALAR_EVENT && e->data.scalar.anchor != NULL) ||
        (e->type == YAML_SEQUENCE_START_EVENT && e->data.sequence_start.anchor != NULL) ||
        (e->type == YAML_MAPPING_START_EVENT && e->data.mapping_start.anchor != NULL))
        return refuse_here(r, "anchors and aliases are not accepted");
    if ((e->type == YAML_SCALAR_EVENT && e->data.scalar.tag != NULL) ||
        (e->type == YAML_SEQUENCE_START_EVENT && e->data.sequence_start.tag != NULL) ||
        (e->type == YAML_MAPPING_START_EVENT && e->data.mapping_start.tag != NULL))
        return refuse_here(r, "tags are not accepted");
    if (e->type == YAML_DOCUMENT_START_EVENT &&
        (e->data.document_start.version_directive != NULL ||
         e->data.document_start.tag_directives.start != e->data.document_start.tag_directives.end))
        return refuse_here(r, "directives are not accepted");
    return true;
}

static bool next(struct reader *r)
{
    if (r->has_event)
        yaml_event_delete(&r->event);
    r->has_event = yaml_parser_parse(&r->parser, &r->event) != 0;
    if (r->has_event)
        return check_plain(r);
    if (r->parser.error == YAML_MEMORY_ERROR)
        return short_of_memory(r);
    return refuse(r, r->parser.problem_mark.line,
                  r->parser.problem == NULL ? "no YAML" : r->parser.problem);
}

static struct tree *node(struct reader *r, enum tree_kind kind)
{
    struct tree *t = arena_alloc(r->arena, 1, sizeof *t);

    if (t == NULL) {
        short_of_memory(r);
        return NULL;
    }
    *t = (struct tree){.kind = kind, .line = (int)r->event.start_mark.line + 1};
    return t;
}

/* The current event's text: one line of printable characters. */
static const char *text_of(struct reader *r)
{
    const unsigned char *text = r->event.data.scalar.value;
    size_t n = r->event.data.scalar.length;
    const char *copy;

    for (size_t i = 0; i < n; i++) {
        if (text[i] < ' ' || text[i] == 0x7f) {
            refuse_here(r, "a text of several lines, or with control characters");
            return NULL;
        }
    }
    copy = tree_copy(r->arena, (const char *)text, n);
    if (copy == NULL)
        short_of_memory(r);
    return copy;
}

static struct tree *read_node(struct reader *r, int depth);

static struct tree *read_list(struct reader *r, int depth)
{
    struct tree *list = node(r, TREE_LIST), **end;

    if (list == NULL)
        return NULL;
    for (end = &list->first;; end = &(*end)->next, list->n++) {
        if (!next(r))
            return NULL;
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            return list;
        *end = read_node(r, depth + 1);
        if (*end == NULL)
            return NULL;
    }
}

static bool check_name(struct reader *r, const struct tree *map, const char *name)
{
    const struct tree *before = tree_find(map, name);
    char reason[96];

    if (name[0] == 0 || strcmp(name, "<<") == 0)
        return refuse_here(r, "not accepted as a name");
    if (before == NULL)
        return true;
    snprintf(reason, sizeof reason, "repeated, first on line %d", before->line);
    refuse_here(r, reason);
    return false;
}

static struct tree *read_map(struct reader *r, int depth)
{
    struct tree *map = node(r, TREE_MAP), **end;

    if (map == NULL)
        return NULL;
    for (end = &map->first;; end = &(*end)->next, map->n++) {
        const char *name;
        int line;

        if (!next(r))
            return NULL;
        if (r->event.type == YAML_MAPPING_END_EVENT)
            return map;
        if (r->event.type != YAML_SCALAR_EVENT) {
            refuse_here(r, "a name expected");
            return NULL;
        }
        name = text_of(r);
        line = (int)r->event.start_mark.line + 1;
        if (name == NULL || !check_name(r, map, name) || !next(r))
            return NULL;
        *end = read_node(r, depth + 1);
        if (*end == NULL)
            return NULL;
        (*end)->name = name;
        (*end)->line = line;
    }
}

/* The current event opens it. */
static struct tree *read_node(struct reader *r, int depth)
{
    struct tree *t;

    if (depth > TREE_DEPTH_MAX) {
        refuse_here(r, "nested too deeply");
        return NULL;
    }
    if (r->event.type == YAML_SEQUENCE_START_EVENT)
        return read_list(r, depth);
    if (r->event.type == YAML_MAPPING_START_EVENT)
        return read_map(r, depth);
    t = node(r, TREE_SCALAR);
    if (t == NULL)
        return NULL;
    t->quoted = r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    t->text = text_of(r);
    return t->text == NULL ? NULL : t;
}

static bool read_all(struct reader *r, const struct tree **root)
{
    if (!next(r) || !next(r)) /* the stream's and the document's start */
        return false;
    if (r->event.type == YAML_STREAM_END_EVENT)
        return refuse(r, 0, "empty");
    if (!next(r))
        return false;
    *root = read_node(r, 1);
    if (*root == NULL || !next(r) || !next(r))
        return false;
    return r->event.type == YAML_STREAM_END_EVENT || refuse_here(r, "a second document");
}

enum status tree_read(const struct tree **root, const char *path, struct arena *a,
                      struct error *err)
{
    struct error local = {0};
    struct reader r = {.path = path, .arena = a, .err = err};
    struct buf text;
    size_t hidden;
    enum status s;

    buf_init(&text, TREE_BYTES_MAX);
    s = file_read(path, &text, &local);
    if (s != STATUS_OK) {
        buf_deinit(&text);
        return error_set(err, s == STATUS_MEMORY ? s : STATUS_CONFIG, "%s", local.text);
    }
    hidden = text.len == 0 ? 0 : key_text_hidden_line((const char *)text.data, text.len);
    if (hidden != 0) {
        buf_deinit(&text);
        return error_set(err, STATUS_CONFIG, "%s:%zu: %s", path, hidden, key_text_hidden);
    }
    if (yaml_parser_initialize(&r.parser) == 0) {
        buf_deinit(&text);
        return error_set(err, STATUS_MEMORY, "%s: %s", path, status_words(STATUS_MEMORY));
    }
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, text.data, text.len);
    s = read_all(&r, root) ? STATUS_OK : err->status;
    if (r.has_event)
        yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    buf_deinit(&text);
    return s;
}

/* --- what is in a tree --- */

const struct tree *tree_find(const struct tree *map, const char *name)
{
    for (const struct tree *t = map->first; t != NULL; t = t->next)
        if (t->name != NULL && strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

bool tree_is_empty(const struct tree *t)
{
    return t->kind == TREE_SCALAR && t->text[0] == 0 && !t->quoted;
}

const char *tree_copy(struct arena *a, const char *text, size_t n)
{
    char *copy = arena_alloc(a, n + 1, 1);

    if (copy == NULL)
        return NULL;
    memcpy(copy, text, n);
    copy[n] = 0;
    return copy;
}

const char *tree_text(const struct tree *t, struct arena *a)
{
    char text[4096] = "[";
    size_t n = 1;

    if (t->kind == TREE_SCALAR)
        return t->text;
    for (const struct tree *item = t->first; item != NULL; item = item->next) {
        const char *part = item->kind == TREE_MAP ? NULL : tree_text(item, a);
        int more;

        if (part == NULL)
            return NULL;
        more = snprintf(text + n, sizeof text - n, "%s%s", item == t->first ? "" : ",", part);
        n += (size_t)more;
        if (n + 2 > sizeof text)
            return NULL;
    }
    text[n++] = ']';
    return tree_copy(a, text, n);
}
