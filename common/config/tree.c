/* tree.c -- libyaml's events to nodes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/tree.h"

#include "common/base/mem.h"
#include "common/config/key_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one, owned */
    bool has_event;
    const struct tree_limits *limits;
    int depth;
    size_t nodes;
    struct arena *arena;
    char path[TREE_PATH_MAX]; /* of what is being read */
    enum status status;
    struct tree_fault *fault;
};

/* --- refusals --- */

static bool refuse(struct reader *r, size_t line, const char *fmt, ...) PRINTF_LIKE(3, 4);

static bool refuse(struct reader *r, size_t line, const char *fmt, ...)
{
    va_list args;

    r->status = STATUS_CONFIG;
    r->fault->line = (int)line;
    memcpy(r->fault->path, r->path, sizeof r->path);
    va_start(args, fmt);
    vsnprintf(r->fault->reason, sizeof r->fault->reason, fmt, args);
    va_end(args);
    return false;
}

static size_t line_of(const struct reader *r)
{
    return r->event.start_mark.line + 1;
}

static bool refuse_memory(struct reader *r)
{
    r->path[0] = 0;
    refuse(r, 0, "%s", status_words(STATUS_MEMORY));
    r->status = STATUS_MEMORY;
    return false;
}

/* Without a path: what is not closed is noticed far from where it began. */
static bool refuse_syntax(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem == NULL ? "no YAML" : p->problem;

    r->path[0] = 0;
    if (p->error == YAML_MEMORY_ERROR)
        return refuse_memory(r);
    if (p->error == YAML_READER_ERROR)
        return refuse(r, 0, "byte %zu: %s", p->problem_offset, problem);
    if (p->context == NULL)
        return refuse(r, p->problem_mark.line + 1, "%s", problem);
    return refuse(r, p->problem_mark.line + 1, "%s %s", problem, p->context);
}

enum status tree_refuse(const char *file, enum status s, const struct tree_fault *f,
                        struct error *err)
{
    char line[16] = "";

    if (f->line > 0)
        snprintf(line, sizeof line, ":%d", f->line);
    return error_set(err, s, "%s%s: %s%s%s", file, line, f->path, f->path[0] == 0 ? "" : ": ",
                     f->reason);
}

/* --- events --- */

/* What a scalar, mapping or list may not carry, and how many, deep and long they may be. */
static bool check_node(struct reader *r, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor != NULL)
        return refuse(r, line_of(r), "anchors are not accepted");
    if (tag != NULL)
        return refuse(r, line_of(r), "tags are not accepted");
    if (r->depth > r->limits->depth)
        return refuse(r, line_of(r), "nested too deeply");
    if (++r->nodes > r->limits->nodes)
        return refuse(r, line_of(r), "more entries than there may be");
    return true;
}

static bool check_event(struct reader *r)
{
    const yaml_event_t *e = &r->event;

    switch (e->type) {
    case YAML_ALIAS_EVENT: return refuse(r, line_of(r), "aliases are not accepted");
    case YAML_SCALAR_EVENT:
        if (e->data.scalar.length > r->limits->text_max)
            return refuse(r, line_of(r), "a text too long");
        return check_node(r, e->data.scalar.anchor, e->data.scalar.tag);
    case YAML_SEQUENCE_START_EVENT:
        r->depth++;
        return check_node(r, e->data.sequence_start.anchor, e->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        r->depth++;
        return check_node(r, e->data.mapping_start.anchor, e->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: r->depth--; return true;
    case YAML_DOCUMENT_START_EVENT:
        if (e->data.document_start.version_directive != NULL ||
            e->data.document_start.tag_directives.start !=
                e->data.document_start.tag_directives.end)
            return refuse(r, line_of(r), "directives are not accepted");
        return true;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT: return true;
    }
    return true;
}

static bool next(struct reader *r)
{
    if (r->has_event)
        yaml_event_delete(&r->event);
    r->has_event = yaml_parser_parse(&r->parser, &r->event) != 0;
    return r->has_event ? check_event(r) : refuse_syntax(r);
}

/* --- nodes --- */

static struct tree *make(struct reader *r, enum tree_kind kind)
{
    struct tree *t = arena_alloc(r->arena, 1, sizeof *t);
    const int line = (int)line_of(r);

    if (t == NULL)
        refuse_memory(r);
    else
        *t = (struct tree){.kind = kind, .line = line, .value_line = line};
    return t;
}

/* The current event's text. */
static const char *text_of(struct reader *r)
{
    const char *text = (const char *)r->event.data.scalar.value, *copy;
    const size_t n = r->event.data.scalar.length;

    if (strlen(text) != n || !key_text_is_printable(text)) {
        refuse(r, line_of(r), "a text of several lines, or with control characters");
        return NULL;
    }
    copy = arena_text(r->arena, text, n);
    if (copy == NULL)
        refuse_memory(r);
    return copy;
}

static struct tree *read_node(struct reader *r);

static struct tree *read_list(struct reader *r)
{
    struct tree *list = make(r, TREE_LIST), **end;

    if (list == NULL)
        return NULL;
    for (end = &list->first;; end = &(*end)->next, list->n++) {
        if (!next(r))
            return NULL;
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            return list;
        *end = read_node(r);
        if (*end == NULL)
            return NULL;
    }
}

/* A name goes into messages as it would into any: printable ASCII. */
static void enter(struct reader *r, const char *name)
{
    size_t used = strlen(r->path);

    snprintf(r->path + used, sizeof r->path - used, "%s%s", used > 0 ? "." : "", name);
    for (char *c = r->path + used; *c != 0; c++) {
        if (*c < ' ' || *c > '~')
            *c = '?';
    }
}

/* The current event is the name of the map's next entry, and the path ends in it. */
static const char *read_name(struct reader *r, const struct tree *map)
{
    const char *name = NULL;

    if (r->event.type != YAML_SCALAR_EVENT)
        refuse(r, line_of(r), "a key is a single name");
    else
        name = text_of(r);
    if (name == NULL)
        return NULL;
    if (name[0] == 0 || strcmp(name, "<<") == 0) {
        refuse(r, line_of(r),
               name[0] == 0 ? "a key without a name" : "merge keys are not accepted");
        return NULL;
    }
    enter(r, name);
    for (const struct tree *t = map->first; t != NULL; t = t->next) {
        if (strcmp(t->name, name) == 0) {
            refuse(r, line_of(r), "repeated, first on line %d", t->line);
            return NULL;
        }
    }
    return name;
}

static struct tree *read_map(struct reader *r)
{
    struct tree *map = make(r, TREE_MAP), **end;
    const size_t above = strlen(r->path);

    if (map == NULL)
        return NULL;
    for (end = &map->first;; end = &(*end)->next, map->n++) {
        const char *name;
        int line;

        r->path[above] = 0;
        if (!next(r))
            return NULL;
        if (r->event.type == YAML_MAPPING_END_EVENT)
            return map;
        line = (int)line_of(r);
        if (map->n == TREE_NAMES_MAX) {
            refuse(r, line_of(r), "more than %d names in one mapping", TREE_NAMES_MAX);
            return NULL;
        }
        name = read_name(r, map);
        *end = name == NULL || !next(r) ? NULL : read_node(r);
        if (*end == NULL)
            return NULL;
        (*end)->name = name;
        (*end)->line = line;
    }
}

/* The current event opens it.  Recursion is as deep as the limits let an event be. */
static struct tree *read_node(struct reader *r)
{
    struct tree *t;

    if (r->event.type == YAML_SEQUENCE_START_EVENT)
        return read_list(r);
    if (r->event.type == YAML_MAPPING_START_EVENT)
        return read_map(r);
    t = make(r, TREE_SCALAR);
    if (t == NULL)
        return NULL;
    t->quoted = r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    t->text = text_of(r);
    return t->text == NULL ? NULL : t;
}

bool tree_is_empty(const struct tree *t)
{
    return t->kind == TREE_SCALAR && t->text[0] == 0 && !t->quoted;
}

/* --- the whole --- */

/* An arena that any text of n bytes within the limits fits into. */
static bool make_room(struct reader *r, size_t n)
{
    /* No escape of a printable character is shorter than the character, and no node but the root
     * takes less than one. */
    const size_t node = sizeof(struct tree) + 2 * MEM_ALIGNMENT, most = r->limits->nodes;
    const size_t nodes = n + 2 < most ? n + 2 : most;

    return arena_init(r->arena, nodes * node + n) == STATUS_OK || refuse_memory(r);
}

static bool read_document(struct reader *r, const struct tree **root)
{
    if (!next(r) || !next(r)) /* the stream's start, and the document's */
        return false;
    if (r->event.type == YAML_STREAM_END_EVENT)
        return true;
    *root = next(r) ? read_node(r) : NULL;
    if (*root == NULL || !next(r) || !next(r))
        return false;
    return r->event.type == YAML_STREAM_END_EVENT ||
           refuse(r, line_of(r), "a second document is not accepted");
}

static bool read_text(struct reader *r, const struct tree **root, const char *text, size_t n)
{
    size_t hidden;
    bool ok;

    if (n > r->limits->bytes)
        return refuse(r, 0, "larger than %zu bytes", r->limits->bytes);
    hidden = key_text_hidden_line(text, n);
    if (hidden != 0)
        return refuse(r, hidden, "%s", key_text_hidden);
    if (!make_room(r, n))
        return false;
    if (yaml_parser_initialize(&r->parser) == 0)
        return refuse_memory(r);
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)(n == 0 ? "" : text), n);
    ok = read_document(r, root);
    if (r->has_event)
        yaml_event_delete(&r->event);
    yaml_parser_delete(&r->parser);
    return ok;
}

enum status tree_read(const struct tree **root, struct arena *a, const char *text, size_t n,
                      const struct tree_limits *limits, struct tree_fault *f)
{
    struct reader r = {.limits = limits, .arena = a, .fault = f};

    *root = NULL;
    *a = (struct arena){0};
    *f = (struct tree_fault){0};
    if (read_text(&r, root, text, n))
        return STATUS_OK;
    *root = NULL;
    return r.status;
}
