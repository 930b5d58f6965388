/* survey.c -- tables beside the alignments that there are.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/survey.h"

#include "common/base/mem.h"
#include "common/daemon/placed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    return buf_printf(out,
                      "# alignment %s is not used (%s): %zu of its %u rows are in %s, and %zu rows "
                      "there are not in it\n",
                      name, s->key, c.there, c.rows, s->path, c.left);
}

static enum status print_none(const struct survey *s, struct buf *out)
{
    return buf_printf(out,
                      "# alignment: none, so all sides need the ids of %s; where theirs differ, "
                      "the server's operator has them aligned (vfl job submit align), and each "
                      "side names the result (%s)\n",
                      s->path, s->key);
}

static enum status print_table(const struct survey *s, struct buf *out)
{
    aligned_name names[SURVEY_MAX];
    enum status st = STATUS_OK;
    size_t n;

    if (s->t->own.any)
        return buf_printf(out, "# alignment %s (%s): %zu rows of %s are left out\n", s->name,
                          s->key, s->t->own.left, s->path);
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
