/* value.c -- lists, and maps in them, to texts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/grid/value.h"

#include "common/base/status.h"

#include <stdarg.h>
#include <stdio.h>

struct out {
    char text[4096];
    size_t n;
};

/* false: it is too long. */
static bool put(struct out *o, const char *fmt, ...) PRINTF_LIKE(2, 3);

static bool put(struct out *o, const char *fmt, ...)
{
    va_list args;
    int more;

    va_start(args, fmt);
    more = vsnprintf(o->text + o->n, sizeof o->text - o->n, fmt, args);
    va_end(args);
    if (more < 0 || (size_t)more >= sizeof o->text - o->n)
        return false;
    o->n += (size_t)more;
    return true;
}

static bool put_value(struct out *o, const struct tree *t)
{
    const bool map = t->kind == TREE_MAP;

    if (t->kind == TREE_SCALAR)
        return put(o, "%s", t->text);
    if (!put(o, map ? "{" : "["))
        return false;
    for (const struct tree *item = t->first; item != NULL; item = item->next) {
        if (item != t->first && !put(o, map ? ", " : ","))
            return false;
        if (map && !put(o, "%s: ", item->name))
            return false;
        if (!put_value(o, item))
            return false;
    }
    return put(o, map ? "}" : "]");
}

const char *value_text(const struct tree *t, struct arena *a)
{
    struct out o = {.n = 0};

    if (t->kind == TREE_SCALAR)
        return t->text;
    return put_value(&o, t) ? arena_text(a, o.text, o.n) : NULL;
}
