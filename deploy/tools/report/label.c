/* label.c -- ends of dotted names.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/report/label.h"

#include <stdlib.h>
#include <string.h>

/* Does the name end in these n bytes, as a whole or behind a dot or colon? */
static bool ends_in(const char *name, const char *end, size_t n)
{
    size_t length = strlen(name);

    return length >= n && memcmp(name + length - n, end, n) == 0 &&
           (length == n || strchr(".:", name[length - n - 1]) != NULL);
}

size_t label_axis(const struct runs *r, const char *name, size_t n)
{
    size_t found = r->axes;

    for (size_t i = 0; i < r->axes; i++) {
        if (!ends_in(r->axis[i], name, n))
            continue;
        if (strlen(r->axis[i]) == n)
            return i;
        if (found < r->axes)
            return r->axes;
        found = i;
    }
    return found;
}

/* The shortest end of the axis' name that no other axis among `among` has. */
static const char *short_name(const struct runs *r, size_t axis, const bool *among)
{
    const char *name = r->axis[axis], *end = name + strlen(name);

    while (end > name) {
        bool alone = true;

        while (end > name && strchr(".:", *--end) == NULL)
            ;
        if (end == name)
            break;
        for (size_t i = 0; i < r->axes; i++)
            alone =
                alone && (i == axis || !among[i] || !ends_in(r->axis[i], end + 1, strlen(end + 1)));
        if (alone)
            return end + 1;
    }
    return name;
}

static bool is_number(const char *text)
{
    char *end;

    strtod(text, &end);
    return end > text && *end == 0;
}

const char *label_of(struct runs *r, const struct run *run, const bool *which, const bool *among)
{
    const char *label = "", *between = "";
    bool any = false;

    for (size_t i = 0; i < r->axes; i++) {
        const char *value = runs_value(run, i);

        any = any || which[i];
        if (!which[i] || value[0] == 0)
            continue;
        if (strpbrk(r->axis[i], ".:") == NULL && !is_number(value))
            label = pool_text(&r->pool, "%s%s%s", label, between, value);
        else
            label =
                pool_text(&r->pool, "%s%s%s=%s", label, between, short_name(r, i, among), value);
        between = ", ";
    }
    return label[0] != 0 ? label : any ? "default" : r->run[0].title;
}
