/* seen.c -- lines of JSON to tables by training row.
 *
 * Uploads come before the round that they belong to, so they wait until its line says which rows
 * they were.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/audit/seen.h"

#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/compress/gradient.h"

#include <jansson.h>
#include <string.h>

#define TRANSCRIPT_MAX ((size_t)4 << 30) /* bytes */

struct reader {
    struct seen *to;
    const char *path;
    unsigned line;
    json_t *waiting[PLAN_PARTIES_MAX]; /* uploads of the round to come */
    struct error *err;
};

static enum status bad(const struct reader *r, const char *what)
{
    return error_set(r->err, STATUS_DATA, "%s:%u: %s", r->path, r->line, what);
}

static enum status take_plan(struct reader *r, const json_t *o)
{
    struct seen *s = r->to;
    const char *text = json_string_value(json_object_get(o, "text"));
    struct gradient_form form;
    size_t rows;

    if (text == NULL || s->times != NULL)
        return s->times != NULL ? STATUS_OK : bad(r, "a plan without its text"); /* went on */
    if (plan_parse(&s->plan, text, strlen(text), r->err) != STATUS_OK)
        return error_wrap(r->err, "%s:%u", r->path, r->line);
    rows = s->plan.shape.train_rows;
    form = gradient_form_of(&s->plan);
    s->inputs = s->plan.model.embedding *
                (s->plan.model.fusion == FUSION_CONCAT ? s->plan.shape.parties : 1);
    s->width = (uint32_t)gradient_row_values(&form, 1);
    s->sum = mem_alloc(rows * s->inputs, sizeof *s->sum);
    s->times = mem_alloc(rows, sizeof *s->times);
    s->gradient = mem_alloc(rows * s->width, sizeof *s->gradient);
    if (s->plan.protocol.aggregation == AGGREGATION_CLEAR)
        s->upload =
            mem_alloc(rows * s->plan.shape.parties, s->plan.model.embedding * sizeof *s->upload);
    if (s->sum == NULL || s->times == NULL || s->gradient == NULL ||
        (s->upload == NULL && s->plan.protocol.aggregation == AGGREGATION_CLEAR))
        return error_set(r->err, STATUS_MEMORY, "%s: no memory for %zu rows", r->path, rows);
    return STATUS_OK;
}

static enum status take_upload(struct reader *r, json_t *o)
{
    json_int_t party = json_integer_value(json_object_get(o, "party"));

    if (party < 1 || party > (json_int_t)r->to->plan.shape.parties || r->to->upload == NULL)
        return bad(r, "an upload of nobody");
    json_decref(r->waiting[party - 1]);
    r->waiting[party - 1] = json_incref(o);
    return STATUS_OK;
}

static double at(const json_t *list, size_t i)
{
    return json_number_value(json_array_get(list, i));
}

static enum status take_row(struct reader *r, const json_t *o, size_t i, size_t row)
{
    struct seen *s = r->to;
    const json_t *sum = json_object_get(o, "sum"), *gradient = json_object_get(o, "gradient");
    const uint32_t width = s->plan.model.embedding;

    if (row >= s->plan.shape.train_rows || json_array_size(sum) < (i + 1) * s->inputs)
        return bad(r, "a row that the plan does not have");
    for (uint32_t k = 0; k < s->inputs; k++)
        s->sum[row * s->inputs + k] += at(sum, i * s->inputs + k);
    s->times[row]++;
    for (uint32_t k = 0; k < s->width && gradient != NULL; k++)
        s->gradient[row * s->width + k] = (float)at(gradient, i * s->width + k);
    for (uint32_t m = 0; m < s->plan.shape.parties && s->upload != NULL; m++) {
        const json_t *values = json_object_get(r->waiting[m], "values");
        float *to = s->upload + ((size_t)m * s->plan.shape.train_rows + row) * width;

        for (uint32_t k = 0; k < width && values != NULL; k++)
            to[k] = (float)at(values, i * width + k);
    }
    return STATUS_OK;
}

static void forget_uploads(struct reader *r)
{
    for (size_t m = 0; m < PLAN_PARTIES_MAX; m++) {
        json_decref(r->waiting[m]);
        r->waiting[m] = NULL;
    }
}

static enum status take_round(struct reader *r, const json_t *o)
{
    const char *purpose = json_string_value(json_object_get(o, "purpose"));
    const json_t *rows = json_object_get(o, "rows");
    enum status s = STATUS_OK;

    if (purpose == NULL || r->to->times == NULL)
        return bad(r, "a round before a plan, or without a purpose");
    for (size_t i = 0; i < json_array_size(rows) && s == STATUS_OK && strcmp(purpose, "train") == 0;
         i++)
        s = take_row(r, o, i, (size_t)json_integer_value(json_array_get(rows, i)));
    forget_uploads(r);
    return s;
}

static enum status take_line(struct reader *r, const char *text)
{
    json_error_t where;
    json_t *o = json_loads(text, 0, &where);
    const char *kind = json_string_value(json_object_get(o, "kind"));
    enum status s;

    if (kind == NULL)
        s = bad(r, o == NULL ? where.text : "no kind");
    else if (strcmp(kind, "plan") == 0)
        s = take_plan(r, o);
    else if (strcmp(kind, "upload") == 0)
        s = take_upload(r, o);
    else
        s = take_round(r, o);
    json_decref(o);
    return s;
}

enum status seen_read(struct seen *s, const char *path, struct error *err)
{
    struct reader r = {.to = s, .path = path, .err = err};
    struct buf text;
    enum status st;

    memset(s, 0, sizeof *s);
    buf_init(&text, TRANSCRIPT_MAX);
    st = file_read(path, &text, err);
    if (st == STATUS_OK)
        st = buf_append(&text, "", 1);
    for (char *line = (char *)text.data, *end; st == STATUS_OK && *line != 0; line = end) {
        end = line + strcspn(line, "\n");
        if (*end != 0)
            *end++ = 0;
        r.line++;
        st = take_line(&r, line);
    }
    if (st == STATUS_OK && s->times == NULL)
        st = error_set(err, STATUS_DATA, "%s: no transcript: it has no plan", path);
    forget_uploads(&r);
    buf_deinit(&text);
    return st;
}

void seen_deinit(struct seen *s)
{
    mem_free(s->sum);
    mem_free(s->times);
    mem_free(s->upload);
    mem_free(s->gradient);
    *s = (struct seen){0};
}
