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
        if (item->kind != TREE_SCALAR) {
            *line = item->value_line;
            *reason = "a list here holds single values only";
            return false;
        }
        if (!add_scalar(v, item, line, reason))
            return false;
    }
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
    return key_value_add(v, text, n, false, 0);
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
        const char *comma = memchr(text, ',', (size_t)(end - text));

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
