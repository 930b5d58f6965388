/* value.c -- lists to texts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/grid/value.h"

#include <stdio.h>

const char *value_text(const struct tree *t, struct arena *a)
{
    char text[4096] = "[";
    size_t n = 1;

    if (t->kind == TREE_SCALAR)
        return t->text;
    for (const struct tree *item = t->first; item != NULL; item = item->next) {
        const char *part = item->kind == TREE_MAP ? NULL : value_text(item, a);
        int more;

        if (part == NULL)
            return NULL;
        more = snprintf(text + n, sizeof text - n, "%s%s", item == t->first ? "" : ",", part);
        n += (size_t)more;
        if (n + 2 > sizeof text)
            return NULL;
    }
    text[n++] = ']';
    return arena_text(a, text, n);
}
