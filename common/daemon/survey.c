/* survey.c -- tables beside the alignments that there are.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/survey.h"

#include "common/base/mem.h"
#include "common/daemon/placed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNS "vfl job submit align"

/* One that is not gone by. */
static enum status print_other(const struct survey *s, const char *name, struct buf *out)
{
    struct placed_count c;
    struct error err = {0};
    enum status st = placed_count(&c, s->state, name, s->path, &err);

    if (st == STATUS_MEMORY)
        return st;
    if (st != STATUS_OK)
        return buf_printf(out, "# alignment %s is not used, and fits no table here: %s\n", name,
                          err.text);
    st = buf_printf(out,
                    "# alignment %s is not used (%s): %zu of its %u rows are in %s, and %zu rows "
                    "there are not in it; ",
                    name, s->key, c.there, c.rows, s->path, c.left);
    if (st != STATUS_OK)
        return st;
    if (c.gone > 0)
        return buf_printf(out,
                          "the server's operator has all sides aligned anew (" ALIGNS "), since "
                          "%zu of its rows are gone here\n",
                          c.gone);
    return buf_printf(out, "whoever runs this side goes by it with %s: %s\n", s->key, name);
}

/* One that is gone by. */
static enum status print_used(const struct survey *s, struct buf *out)
{
    const size_t left = s->t->own.left;

    return buf_printf(out, "# alignment %s (%s): %zu rows of %s are left out%s\n", s->name, s->key,
                      left, s->path,
                      left > 0 ? "; the server's operator can have them aligned, too (" ALIGNS
                                 "), where the others have them"
                               : "");
}

static enum status print_none(const struct survey *s, struct buf *out)
{
    return buf_printf(out,
                      "# alignment: none, so all sides need the ids of %s; where theirs differ, "
                      "the server's operator has them aligned (" ALIGNS "), and each "
                      "side names the result (%s)\n",
                      s->path, s->key);
}

static enum status print_table(const struct survey *s, struct buf *out)
{
    aligned_name names[SURVEY_MAX];
    enum status st = STATUS_OK;
    size_t n;

    if (s->t->own.any)
        return print_used(s, out);
    if (s->t->counted) /* by no ids */
        return STATUS_OK;
    n = aligned_names(names, SURVEY_MAX, s->state);
    for (size_t i = 0; i < n && st == STATUS_OK; i++)
        st = print_other(s, names[i], out);
    return n == 0 ? print_none(s, out) : st;
}

enum status survey_print(const struct survey *train, const struct survey *test, struct buf *out)
{
    const enum status s = print_table(train, out);

    return s == STATUS_OK && test->name[0] != 0 ? print_table(test, out) : s;
}
