/* key_value.c -- texts and lists of texts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/key_value.h"

#include <stdio.h>
#include <string.h>

bool key_value_add(struct key_value *v, const char *text, size_t n, bool quoted, int line)
{
    char *copy = v->pool + v->used;

    if (v->n == KEY_VALUE_ITEMS_MAX || n >= KEY_VALUE_POOL - v->used || memchr(text, 0, n) != NULL)
        return false;
    if (n > 0)
        memcpy(copy, text, n);
    copy[n] = 0;
    v->used += n + 1;
    v->item[v->n++] = (struct key_value_item){.text = copy, .quoted = quoted, .line = line};
    return true;
}

static bool add_scalar(struct key_value *v, const struct tree *t, int *line, const char **reason)
{
    *line = t->value_line;
    *reason = "too long, or too many items";
    return key_value_add(v, t->text, strlen(t->text), t->quoted, t->value_line);
}

/* A name or value of a map within a list: nothing that its text could be mistaken in. */
static bool is_plain(const char *text, bool quoted)
{
    return !quoted && text[0] != 0 && strpbrk(text, " =") == NULL;
}

static bool add_map(struct key_value *v, const struct tree *t, int *line, const char **reason)
{
    const struct tree *only = t->first;
    char text[KEY_VALUE_MAP_MAX];
    size_t n;

    *line = t->value_line;
    *reason = "in a list stands a value, or a name with what it takes, as {name: {key: 1}}";
    if (t->n != 1 || only->kind == TREE_LIST || !is_plain(only->name, false))
        return false;
    n = (size_t)snprintf(text, sizeof text, "%s", only->name);
    if (only->kind == TREE_SCALAR) {
        if (!is_plain(only->text, only->quoted))
            return false;
        n += n < sizeof text ? (size_t)snprintf(text + n, sizeof text - n, " %s", only->text) : 0;
    }
    for (const struct tree *e = only->first; only->kind == TREE_MAP && e != NULL; e = e->next) {
        if (e->kind != TREE_SCALAR || !is_plain(e->name, false) || !is_plain(e->text, e->quoted))
            return false;
        if (n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, " %s=%s", e->name, e->text);
    }
    *reason = "too long, or too many items";
    if (n >= sizeof text || !key_value_add(v, text, n, false, t->value_line))
        return false;
    v->item[v->n - 1].map = true;
    return true;
}

bool key_value_read(struct key_value *v, const struct tree *t, int *line, const char **reason)
{
    if (t->kind == TREE_SCALAR)
        return add_scalar(v, t, line, reason);
    if (t->kind == TREE_MAP) {
        *line = t->value_line;
        *reason = "takes a value, not keys of its own";
        return false;
    }
    v->list = true;
    for (const struct tree *item = t->first; item != NULL; item = item->next) {
        if (item->kind == TREE_LIST) {
            *line = item->value_line;
            *reason = "a list here holds single values only";
            return false;
        }
        if (!(item->kind == TREE_MAP ? add_map : add_scalar)(v, item, line, reason))
            return false;
    }
    return true;
}

/* `{name: {a: 1, b: 2}}` as "name a=1 b=2". */
static bool add_braces(struct key_value *v, const char *text, size_t n)
{
    char plain[KEY_VALUE_MAP_MAX];
    size_t used = 0;
    bool inner = false;

    if (n < 5 || n >= sizeof plain || memcmp(text + n - 2, "}}", 2) != 0)
        return false;
    for (size_t i = 1; i < n - 2; i++) {
        const char c = text[i];

        if (!inner && strncmp(text + i, ": {", 3) == 0) {
            inner = true;
            plain[used++] = ' ';
            i += 2;
        } else if (inner && (strncmp(text + i, ": ", 2) == 0 || strncmp(text + i, ", ", 2) == 0)) {
            plain[used++] = c == ':' ? '=' : ' ';
            i++;
        } else if (c == 0 || strchr(" ={}:,", c) != NULL)
            return false;
        else
            plain[used++] = c;
    }
    if (!inner || !key_value_add(v, plain, used, false, 0))
        return false;
    v->item[v->n - 1].map = true;
    return true;
}

static bool add_trimmed(struct key_value *v, const char *text, size_t n)
{
    while (n > 0 && text[0] == ' ') {
        text++;
        n--;
    }
    while (n > 0 && text[n - 1] == ' ')
        n--;
    return v->list && n > 0 && text[0] == '{' ? add_braces(v, text, n)
                                              : key_value_add(v, text, n, false, 0);
}

/* The comma behind an item, outside of braces; NULL: there is none. */
static const char *comma_of(const char *text, const char *end)
{
    size_t depth = 0;

    for (; text < end; text++) {
        if (*text == ',' && depth == 0)
            return text;
        if (*text == '{')
            depth++;
        else if (*text == '}' && depth > 0)
            depth--;
    }
    return NULL;
}

bool key_value_split(struct key_value *v, const char *text, size_t n)
{
    const char *end;

    if (n < 2 || text[0] != '[' || text[n - 1] != ']')
        return add_trimmed(v, text, n);
    v->list = true;
    end = text + n - 1;
    text++;
    if (text == end)
        return true;
    for (;;) {
        const char *comma = comma_of(text, end);

        if (!add_trimmed(v, text, (size_t)((comma == NULL ? end : comma) - text)))
            return false;
        if (comma == NULL)
            return true;
        text = comma + 1;
    }
}

void key_value_show(const struct key_value *v, char *out, size_t size)
{
    char whole[KEY_VALUE_POOL + 4 * KEY_VALUE_ITEMS_MAX + 4];
    size_t n = 0;

    n += (size_t)snprintf(whole, sizeof whole, "%s", v->list ? "[" : "");
    for (size_t i = 0; i < v->n; i++) {
        const char *quote = v->item[i].quoted ? "\"" : "";

        n += (size_t)snprintf(whole + n, sizeof whole - n, "%s%s%s%s", i > 0 ? ", " : "", quote,
                              v->item[i].text, quote);
    }
    snprintf(whole + n, sizeof whole - n, "%s", v->list ? "]" : "");
    for (char *c = whole; *c != 0; c++) {
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
            *c = '?';
    }
    n = strlen(whole) < size ? strlen(whole) : size - 1;
    memcpy(out, whole, n);
    out[n] = 0;
    if (whole[n] != 0)
        memcpy(out + n - 3, "...", 3);
}
