/* document.c -- libyaml's events to keys and values.
 *
 * The walk asks the sink about each key before it looks at what stands behind it, so nothing is
 * read deeper than the table is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/document.h"

#include "common/base/check.h"
#include "common/config/key_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "common/base/status.h"

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one, owned */
    bool has_event;
    const struct document_sink *sink;
    struct document_fault *fault;
    char path[KEY_PATH_MAX];
};

/* The names a mapping has had so far. */
struct names {
    size_t n;
    struct {
        char text[KEY_PATH_MAX];
        int line;
    } seen[DOCUMENT_NAMES_MAX];
};

static bool refuse(struct reader *r, int line, const char *fmt, ...) PRINTF_LIKE(3, 4);

static bool refuse(struct reader *r, int line, const char *fmt, ...)
{
    va_list args;

    r->fault->line = line;
    snprintf(r->fault->key, sizeof r->fault->key, "%s", r->path);
    va_start(args, fmt);
    vsnprintf(r->fault->reason, sizeof r->fault->reason, fmt, args);
    va_end(args);
    return false;
}

static int line_of(const struct reader *r)
{
    return (int)r->event.start_mark.line + 1;
}

static bool refuse_syntax(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem == NULL ? "no YAML" : p->problem;

    r->path[0] = 0;
    if (p->error == YAML_MEMORY_ERROR)
        return refuse(r, 0, "%s", status_words(STATUS_MEMORY));
    if (p->error == YAML_READER_ERROR)
        return refuse(r, 0, "byte %zu: %s", p->problem_offset, problem);
    if (p->context == NULL)
        return refuse(r, (int)p->problem_mark.line + 1, "%s", problem);
    return refuse(r, (int)p->problem_mark.line + 1, "%s %s", problem, p->context);
}

/* What no event may carry. */
static bool check_plain(struct reader *r)
{
    const yaml_event_t *e = &r->event;
    bool anchor = false, tag = false;

    if (e->type == YAML_ALIAS_EVENT)
        return refuse(r, line_of(r), "aliases are not accepted");
    if (e->type == YAML_SCALAR_EVENT) {
        anchor = e->data.scalar.anchor != NULL;
        tag = e->data.scalar.tag != NULL;
    } else if (e->type == YAML_SEQUENCE_START_EVENT) {
        anchor = e->data.sequence_start.anchor != NULL;
        tag = e->data.sequence_start.tag != NULL;
    } else if (e->type == YAML_MAPPING_START_EVENT) {
        anchor = e->data.mapping_start.anchor != NULL;
        tag = e->data.mapping_start.tag != NULL;
    } else if (e->type == YAML_DOCUMENT_START_EVENT) {
        if (e->data.document_start.version_directive != NULL ||
            e->data.document_start.tag_directives.start !=
                e->data.document_start.tag_directives.end)
            return refuse(r, line_of(r), "directives are not accepted");
    }
    if (anchor)
        return refuse(r, line_of(r), "anchors are not accepted");
    if (tag)
        return refuse(r, line_of(r), "tags are not accepted");
    return true;
}

static bool next(struct reader *r)
{
    if (r->has_event)
        yaml_event_delete(&r->event);
    r->has_event = yaml_parser_parse(&r->parser, &r->event) != 0;
    if (!r->has_event)
        return refuse_syntax(r);
    return check_plain(r);
}

static bool add_scalar(struct reader *r, struct key_value *v)
{
    const char *text = (const char *)r->event.data.scalar.value;
    bool quoted = r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;

    if (!key_value_add(v, text, r->event.data.scalar.length, quoted, line_of(r)))
        return refuse(r, line_of(r), "too long, too many items, or a NUL character");
    return true;
}

/* The current event opens a value: a scalar, or a list of scalars. */
static bool read_value(struct reader *r, struct key_value *v)
{
    if (r->event.type == YAML_SCALAR_EVENT)
        return add_scalar(r, v);
    if (r->event.type != YAML_SEQUENCE_START_EVENT)
        return refuse(r, line_of(r), "takes a value, not keys of its own");
    v->list = true;
    for (;;) {
        if (!next(r))
            return false;
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            return true;
        if (r->event.type != YAML_SCALAR_EVENT)
            return refuse(r, line_of(r), "a list here holds single values only");
        if (!add_scalar(r, v))
            return false;
    }
}

/* The current event is a key; appends it to the path and asks what it is. */
static bool read_key(struct reader *r, struct names *names, enum document_kind *kind)
{
    const char *name = (const char *)r->event.data.scalar.value;
    size_t used = strlen(r->path), n = r->event.data.scalar.length;
    int line = line_of(r);

    if (strcmp(name, "<<") == 0)
        return refuse(r, line, "merge keys are not accepted");
    if (strlen(name) != n || n == 0 || n + used + 2 > sizeof r->path ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != n)
        return refuse(r, line, "a key is a name of lowercase letters, digits and _");
    snprintf(r->path + used, sizeof r->path - used, "%s%s", used > 0 ? "." : "", name);
    *kind = r->sink->kind(r->sink->ctx, r->path, r->fault);
    if (*kind == DOCUMENT_UNKNOWN) {
        char reason[sizeof r->fault->reason];

        memcpy(reason, r->fault->reason, sizeof reason);
        return refuse(r, line, "%s", reason);
    }
    for (size_t i = 0; i < names->n; i++) {
        if (strcmp(names->seen[i].text, name) == 0)
            return refuse(r, line, "repeated, first on line %d", names->seen[i].line);
    }
    /* Unknown and repeated names are refused, so a mapping has no more names than its table. */
    CHECK(names->n < DOCUMENT_NAMES_MAX);
    memcpy(names->seen[names->n].text, name, n + 1);
    names->seen[names->n++].line = line;
    return true;
}

static bool give_value(struct reader *r)
{
    struct key_value v = {0};
    int line = line_of(r);

    if (!read_value(r, &v))
        return false;
    if (!v.list && v.item[0].text[0] == 0 && !v.item[0].quoted)
        return refuse(r, line, "has no value");
    snprintf(r->fault->key, sizeof r->fault->key, "%s", r->path);
    r->fault->line = line;
    return r->sink->value(r->sink->ctx, r->path, &v, r->fault);
}

/* The current event opens a mapping; reads to its end.  Recursion is as deep as the sink's
 * sections. */
static bool read_mapping(struct reader *r, int depth)
{
    struct names names = {0};
    size_t used = strlen(r->path);
    enum document_kind kind = DOCUMENT_UNKNOWN;

    if (r->event.type == YAML_SCALAR_EVENT && r->event.data.scalar.length == 0)
        return refuse(r, line_of(r), "is a section without keys");
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return refuse(r, line_of(r), "is a section: it takes keys of its own, not a value");
    if (depth > DOCUMENT_DEPTH_MAX)
        return refuse(r, line_of(r), "nested too deeply");
    for (;;) {
        r->path[used] = 0;
        if (!next(r))
            return false;
        if (r->event.type == YAML_MAPPING_END_EVENT)
            return true;
        if (r->event.type != YAML_SCALAR_EVENT)
            return refuse(r, line_of(r), "a key is a single name");
        if (!read_key(r, &names, &kind) || !next(r))
            return false;
        if (kind == DOCUMENT_SECTION ? !read_mapping(r, depth + 1) : !give_value(r))
            return false;
    }
}

/* Advances over the stream's and document's start; true with *empty when there is no document. */
static bool open_document(struct reader *r, bool *empty)
{
    if (!next(r) || !next(r))
        return false;
    *empty = r->event.type == YAML_STREAM_END_EVENT;
    return *empty || next(r);
}

static bool close_document(struct reader *r)
{
    r->path[0] = 0;
    if (!next(r) || !next(r))
        return false;
    if (r->event.type != YAML_STREAM_END_EVENT)
        return refuse(r, line_of(r), "a second document is not accepted");
    return true;
}

static bool reader_open(struct reader *r, const char *text, size_t n, struct document_fault *f)
{
    size_t hidden;

    *f = (struct document_fault){0};
    r->fault = f;
    if (n > DOCUMENT_BYTES_MAX)
        return refuse(r, 0, "larger than %d bytes", DOCUMENT_BYTES_MAX);
    hidden = key_text_hidden_line(text, n);
    if (hidden != 0)
        return refuse(r, (int)hidden, "%s", key_text_hidden);
    if (yaml_parser_initialize(&r->parser) == 0)
        return refuse(r, 0, "%s", status_words(STATUS_MEMORY));
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)text, n);
    return true;
}

static void reader_close(struct reader *r)
{
    if (r->has_event)
        yaml_event_delete(&r->event);
    yaml_parser_delete(&r->parser);
}

bool document_read(const char *text, size_t n, const struct document_sink *sink,
                   struct document_fault *f)
{
    struct reader r = {.sink = sink};
    bool ok, empty;

    if (!reader_open(&r, text, n, f))
        return false;
    ok = open_document(&r, &empty);
    if (ok && !empty) {
        bool blank = r.event.type == YAML_SCALAR_EVENT && r.event.data.scalar.length == 0 &&
                     r.event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

        if (!blank && r.event.type != YAML_MAPPING_START_EVENT)
            ok = refuse(&r, line_of(&r), "not a list of `key: value` lines");
        ok = ok && (blank || read_mapping(&r, 1)) && close_document(&r);
    }
    reader_close(&r);
    return ok;
}

bool document_read_value(const char *text, size_t n, struct key_value *v, struct document_fault *f)
{
    struct reader r = {0};
    bool ok, empty;

    if (!reader_open(&r, text, n, f))
        return false;
    ok = open_document(&r, &empty);
    if (ok)
        ok = empty ? key_value_add(v, "", 0, true, 0) : read_value(&r, v) && close_document(&r);
    reader_close(&r);
    return ok;
}
