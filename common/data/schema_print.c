/* schema_print.c -- a schema to YAML, a column a line.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/schema_print.h"

#include "common/base/mem.h"
#include "common/config/key_print.h"
#include "common/config/number.h"

static enum status print_number(struct buf *out, const char *before, float x)
{
    char text[NUMBER_TEXT_MAX];

    number_print(text, (double)x);
    return buf_printf(out, "%s%s", before, text);
}

static enum status print_levels(const struct schema_column *c, struct buf *out)
{
    uint32_t *at = mem_alloc(c->levels.n, sizeof *at);
    enum status s = at == NULL ? STATUS_MEMORY : buf_printf(out, ", levels: [");

    for (uint32_t i = 0; s == STATUS_OK && i < c->levels.n; i++)
        if (c->place[i] != LEVELS_NONE)
            at[c->place[i]] = i;
    for (uint32_t i = 0; s == STATUS_OK && i < c->kept; i++) {
        s = buf_printf(out, "%s", i == 0 ? "" : ", ");
        if (s == STATUS_OK)
            s = key_print_quoted(levels_text(&c->levels, at[i]), out);
    }
    mem_free(at);
    if (s == STATUS_OK)
        s = buf_printf(out, "]");
    return s == STATUS_OK && c->other ? buf_printf(out, ", other: true") : s;
}

/* Bins whose edges are known are said by these. */
static enum status print_bins(const struct schema_column *c, struct buf *out)
{
    enum status s;

    if (!c->cut)
        return buf_printf(out, ", bins: %u", (unsigned)c->bins);
    s = buf_printf(out, ", edges: [");
    for (uint32_t i = 0; s == STATUS_OK && i + 1 < c->bins; i++)
        s = print_number(out, i == 0 ? "" : ", ", c->edge[i]);
    return s == STATUS_OK ? buf_printf(out, "]") : s;
}

static enum status print_parts(const struct schema_column *c, struct buf *out)
{
    const char *between = ", parts: [";
    enum status s = STATUS_OK;

    for (size_t i = 0; s == STATUS_OK && schema_parts[i] != NULL; i++)
        if ((c->parts >> i & 1) != 0) {
            s = buf_printf(out, "%s%s", between, schema_parts[i]);
            between = ", ";
        }
    return s == STATUS_OK ? buf_printf(out, "]") : s;
}

static enum status print_values(const struct schema_column *c, struct buf *out)
{
    enum status s = buf_printf(out, ", missing: %s", schema_missings[c->missing]);

    if (s == STATUS_OK && c->filled)
        s = print_number(out, ", fill: ", c->fill);
    if (s == STATUS_OK && c->clipped) {
        s = print_number(out, ", clip: [", c->low);
        if (s == STATUS_OK)
            s = print_number(out, ", ", c->high);
        if (s == STATUS_OK)
            s = buf_printf(out, "]");
    }
    if (s == STATUS_OK && c->bins > 0)
        s = print_bins(c, out);
    if (s == STATUS_OK && c->parts > 0)
        s = print_parts(c, out);
    return s == STATUS_OK && c->log ? buf_printf(out, ", log: true") : s;
}

static enum status print_embedding(const struct schema_column *c, struct buf *out)
{
    const enum status s = buf_printf(out, ", encode: embedding");

    return s == STATUS_OK && c->vector > 0 ? buf_printf(out, ", width: %u", (unsigned)c->vector)
                                           : s;
}

static enum status print_column(const struct schema_column *c, struct buf *out)
{
    const bool texts = c->kind == SCHEMA_CATEGORY || c->kind == SCHEMA_ORDERED;
    enum status s = buf_printf(out, "  - {name: ");

    if (s == STATUS_OK)
        s = key_print_quoted(c->name, out);
    if (s == STATUS_OK)
        s = buf_printf(out, ", kind: %s", schema_kinds[c->kind]);
    /* What its kind was before (group, a column that the rows say nothing by) may have left more.
     */
    if (s == STATUS_OK && (c->kind == SCHEMA_IGNORED || c->kind == SCHEMA_LABEL))
        return buf_printf(out, "}\n");
    if (s == STATUS_OK && texts && !c->open)
        s = print_levels(c, out);
    if (s == STATUS_OK && c->open && c->min_rows > 0)
        s = buf_printf(out, ", min_rows: %u", (unsigned)c->min_rows);
    if (s == STATUS_OK && c->open && c->max_levels > 0)
        s = buf_printf(out, ", max_levels: %u", (unsigned)c->max_levels);
    if (s == STATUS_OK && c->kind == SCHEMA_CATEGORY && c->embedded)
        s = print_embedding(c, out);
    if (s == STATUS_OK && schema_width(c) > 0 && c->kind != SCHEMA_CATEGORY)
        s = print_values(c, out);
    else if (s == STATUS_OK && c->kind == SCHEMA_CATEGORY && c->missing == MISSING_REFUSED)
        s = buf_printf(out, ", missing: %s", schema_missings[c->missing]);
    if (s == STATUS_OK && c->indicator)
        s = buf_printf(out, ", indicator: true");
    return s == STATUS_OK ? buf_printf(out, "}\n") : s;
}

static enum status print_statistics(const struct schema *s, struct buf *out)
{
    char epsilon[NUMBER_TEXT_MAX], delta[NUMBER_TEXT_MAX];

    if (!s->dp)
        return buf_printf(out, "statistics: %s\n", s->given ? "given" : "fit");
    number_print(epsilon, s->epsilon);
    number_print(delta, s->delta);
    return buf_printf(out, "statistics: dp\nbudget: {epsilon: %s, delta: %s}\n", epsilon, delta);
}

enum status schema_print(const struct schema *s, struct buf *out)
{
    enum status status = print_statistics(s, out);

    if (status == STATUS_OK)
        status = buf_printf(out, "columns:\n");
    if (status == STATUS_OK && s->id[0] != 0) {
        status = buf_printf(out, "  - {name: ");
        if (status == STATUS_OK)
            status = key_print_quoted(s->id, out);
        if (status == STATUS_OK)
            status = buf_printf(out, ", kind: id}\n");
    }
    for (size_t i = 0; status == STATUS_OK && i < s->n; i++)
        status = print_column(&s->column[i], out);
    return status;
}
