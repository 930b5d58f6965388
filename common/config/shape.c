/* shape.c -- a walk over libyaml's events that ends in time.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/shape.h"

#include "common/config/key_text.h"

#include <yaml.h>

struct walk {
    const struct shape_limits *limits;
    int depth;
    size_t nodes;
};

/* What is wrong with this event, or NULL. */
static const char *judge(struct walk *w, const yaml_event_t *e)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;

    switch (e->type) {
    case YAML_ALIAS_EVENT: return "aliases are not accepted";
    case YAML_SCALAR_EVENT:
        if (e->data.scalar.length > w->limits->scalar_max)
            return "a text too long";
        anchor = e->data.scalar.anchor;
        tag = e->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = e->data.sequence_start.anchor;
        tag = e->data.sequence_start.tag;
        w->depth++;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = e->data.mapping_start.anchor;
        tag = e->data.mapping_start.tag;
        w->depth++;
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: w->depth--; return NULL;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_START_EVENT:
    case YAML_DOCUMENT_END_EVENT: return NULL;
    }
    if (anchor != NULL)
        return "anchors are not accepted";
    if (tag != NULL)
        return "tags are not accepted";
    if (w->depth > w->limits->depth)
        return "nested too deeply";
    return ++w->nodes > w->limits->nodes ? "more entries than there may be" : NULL;
}

bool shape_within(const char *text, size_t n, const struct shape_limits *limits, size_t *line,
                  const char **reason)
{
    struct walk w = {.limits = limits};
    bool more = true;
    yaml_parser_t parser;
    yaml_event_t event;

    *reason = NULL;
    *line = key_text_hidden_line(text, n);
    if (*line != 0) {
        *reason = key_text_hidden;
        return false;
    }
    if (yaml_parser_initialize(&parser) == 0)
        return true;
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    while (more && *reason == NULL && yaml_parser_parse(&parser, &event) != 0) {
        *reason = judge(&w, &event);
        *line = event.start_mark.line + 1;
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return *reason == NULL;
}
