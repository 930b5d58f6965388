/* seen.c -- lines of JSON to tables by row.
 *
 * An upload or a sum belongs to the round with its number that was asked for last: only an ask
 * names rows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/audit/seen.h"

#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/compress/gradient.h"
#include "common/config/aggregation.h"
#include "common/wire/purpose.h"
#include "deploy/tools/audit/colluder.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define TRANSCRIPT_MAX ((size_t)4 << 30)  /* bytes */
#define LINE_BYTES_MAX ((size_t)64 << 20) /* JSON takes some times as much when it is read */

struct reader {
    struct seen *to;
    const char *path;
    unsigned line;
    json_t *asks; /* by round */
    const uint64_t *seed;
    struct colluder colluder;
    float *drawn;
    struct error *err;
};

/* A round that was asked for. */
struct asked {
    struct colluder_round round;
    const json_t *rows;
    size_t n, first, split; /* rows; the split's first one, and its size */
};

static enum status bad(const struct reader *r, const char *what)
{
    return error_set(r->err, STATUS_DATA, "%s:%u: %s", r->path, r->line, what);
}

/* --- the plan --- */

static enum status make_tables(struct reader *r)
{
    struct seen *s = r->to;
    const size_t parties = s->plan.shape.parties, values = s->rows * s->plan.model.embedding;

    s->sum = mem_alloc(s->rows * s->inputs, sizeof *s->sum);
    s->times = mem_alloc(s->rows, sizeof *s->times);
    s->gradient = mem_alloc((size_t)s->plan.shape.train_rows * s->width, sizeof *s->gradient);
    if (s->sum == NULL || s->times == NULL || s->gradient == NULL)
        return STATUS_MEMORY;
    if (!s->clear && r->seed == NULL)
        return STATUS_OK;
    s->part = mem_alloc(parties * values, sizeof *s->part);
    s->part_times = mem_alloc(parties * s->rows, sizeof *s->part_times);
    r->drawn = mem_alloc(values, sizeof *r->drawn);
    return s->part == NULL || s->part_times == NULL || r->drawn == NULL ? STATUS_MEMORY : STATUS_OK;
}

static enum status take_plan(struct reader *r, const json_t *o)
{
    struct seen *s = r->to;
    const char *text = json_string_value(json_object_get(o, "text"));
    struct gradient_form form;

    if (text == NULL || s->times != NULL)
        return s->times != NULL ? STATUS_OK : bad(r, "a plan without its text"); /* went on */
    if (plan_parse(&s->plan, text, strlen(text), r->err) != STATUS_OK)
        return error_wrap(r->err, "%s:%u", r->path, r->line);
    form = gradient_form_of(&s->plan);
    s->rows = (size_t)s->plan.shape.train_rows + s->plan.shape.test_rows;
    s->inputs = s->plan.model.embedding *
                (plan_keeps_apart(&s->plan) ? s->plan.shape.parties : 1);
    s->width = (uint32_t)gradient_row_values(&form, 1);
    s->clear = aggregation_of(&s->plan)->plaintext;
    if (make_tables(r) != STATUS_OK)
        return error_set(r->err, STATUS_MEMORY, "%s: no memory for %zu rows", r->path, s->rows);
    if (r->seed == NULL || s->clear)
        return STATUS_OK;
    return colluder_init(&r->colluder, &s->plan, *r->seed, s->rows * s->plan.model.embedding,
                         r->err);
}

/* --- rounds --- */

static uint64_t number(const json_t *o, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(o, key));
}

static void key_of(char key[24], const json_t *o)
{
    snprintf(key, 24, "%" PRIu64, number(o, "round"));
}

static enum status take_ask(struct reader *r, json_t *o)
{
    char key[24];

    key_of(key, o);
    return json_object_set(r->asks, key, o) == 0 ? STATUS_OK : bad(r, "no memory for a round");
}

static bool read_purpose(enum wire_purpose *out, const json_t *ask)
{
    static const enum wire_purpose known[] = {PURPOSE_TRAIN, PURPOSE_EVALUATE_TEST,
                                              PURPOSE_EVALUATE_TRAIN};
    const char *name = json_string_value(json_object_get(ask, "purpose"));

    for (size_t i = 0; i < sizeof known / sizeof *known && name != NULL; i++) {
        *out = known[i];
        if (strcmp(purpose_of(known[i])->name, name) == 0)
            return true;
    }
    return false;
}

/* The round that an upload or a sum is of. */
static enum status find(const struct reader *r, struct asked *a, const json_t *o)
{
    const struct plan *p = &r->to->plan;
    json_t *ask;
    char key[24];

    key_of(key, o);
    ask = json_object_get(r->asks, key);
    if (ask == NULL || r->to->times == NULL)
        return bad(r, "of a round that was not asked for");
    *a = (struct asked){.rows = json_object_get(ask, "rows"), .split = p->shape.train_rows};
    if (!read_purpose(&a->round.purpose, ask))
        return bad(r, "a purpose that nobody knows");
    a->n = json_array_size(a->rows);
    a->round.place = number(ask, "place");
    a->round.sweep = number(ask, "sweep");
    a->round.values = a->n * p->model.embedding;
    if (a->round.purpose == PURPOSE_EVALUATE_TEST) {
        a->first = p->shape.train_rows;
        a->split = p->shape.test_rows;
    }
    return a->n <= a->split ? STATUS_OK : bad(r, "more rows than there are");
}

/* Row i of the round; false: there is none. */
static bool row_of(size_t *row, const struct asked *a, size_t i)
{
    const uint64_t at = (uint64_t)json_integer_value(json_array_get(a->rows, i));

    *row = a->first + (size_t)at;
    return at < a->split;
}

static double at(const json_t *list, size_t i)
{
    return json_number_value(json_array_get(list, i));
}

/* One party's values of one row. */
static double *part_of(struct seen *s, uint32_t party, size_t row)
{
    s->part_times[party * s->rows + row]++;
    return s->part + (party * s->rows + row) * s->plan.model.embedding;
}

static enum status take_upload(struct reader *r, const json_t *o)
{
    struct seen *s = r->to;
    const json_t *values = json_object_get(o, "values");
    const uint64_t party = number(o, "party");
    const uint32_t width = s->plan.model.embedding;
    struct asked a;
    enum status st = find(r, &a, o);
    size_t row;

    if (st != STATUS_OK)
        return st;
    if (party < 1 || party > s->plan.shape.parties || !s->clear)
        return bad(r, "an upload of nobody");
    if (json_array_size(values) == 0) /* it did not open */
        return STATUS_OK;
    if (json_array_size(values) != a.n * width)
        return bad(r, "an upload of another size");
    for (size_t i = 0; i < a.n; i++) {
        double *to;

        if (!row_of(&row, &a, i))
            return bad(r, "a row that the plan does not have");
        to = part_of(s, (uint32_t)party - 1, row);
        for (uint32_t k = 0; k < width; k++)
            to[k] += at(values, i * width + k);
    }
    return STATUS_OK;
}

/* What all parties but the first have put into this sum. */
static enum status draw_again(struct reader *r, const struct asked *a, const json_t *sum)
{
    struct seen *s = r->to;
    const uint32_t width = s->plan.model.embedding, parties = s->plan.shape.parties;
    double *left = mem_alloc(a->n * width, sizeof *left);
    bool fits = s->inputs == width;
    size_t row;

    if (left == NULL)
        return error_set(r->err, STATUS_MEMORY, "%s: no memory", r->path);
    for (size_t i = 0; i < a->n * width; i++)
        left[i] = at(sum, i) * (s->plan.model.fusion == FUSION_MEAN ? parties : 1);
    for (uint32_t m = 1; m < parties && fits; m++) {
        colluder_part(&r->colluder, r->drawn, m, &a->round);
        for (size_t i = 0; i < a->n && row_of(&row, a, i); i++) {
            double *to = part_of(s, m, row);

            for (uint32_t k = 0; k < width; k++) {
                to[k] += (double)r->drawn[i * width + k];
                left[i * width + k] -= (double)r->drawn[i * width + k];
            }
        }
    }
    for (size_t i = 0; i < a->n * width && fits; i++)
        fits = colluder_is_code(&r->colluder, left[i]);
    mem_free(left);
    return fits ? STATUS_OK : bad(r, "the parties' noise is not that of the seed");
}

static enum status take_sum(struct reader *r, const json_t *o)
{
    struct seen *s = r->to;
    const json_t *sum = json_object_get(o, "sum"), *gradient = json_object_get(o, "gradient");
    const double whole = s->plan.model.fusion == FUSION_MEAN ? s->plan.shape.parties : 1;
    struct asked a;
    enum status st = find(r, &a, o);
    size_t row;

    if (st != STATUS_OK)
        return st;
    if (json_array_size(sum) != a.n * s->inputs)
        return bad(r, "a sum of another size");
    for (size_t i = 0; i < a.n; i++) {
        if (!row_of(&row, &a, i))
            return bad(r, "a row that the plan does not have");
        s->times[row]++;
        for (uint32_t k = 0; k < s->inputs; k++)
            s->sum[row * s->inputs + k] += whole * at(sum, i * s->inputs + k);
        for (uint32_t k = 0; k < s->width && gradient != NULL && a.first == 0; k++)
            s->gradient[row * s->width + k] = (float)at(gradient, i * s->width + k);
    }
    return r->seed != NULL && !s->clear ? draw_again(r, &a, sum) : STATUS_OK;
}

/* --- beside the values --- */

/* Room for `more` behind n; false: there is no memory, and nothing has changed. */
static bool grow(void **block, size_t n, size_t *max, size_t more, size_t size)
{
    size_t most = *max == 0 ? 64 : *max;
    void *now;

    while (most < n + more)
        most *= 2;
    if (most == *max)
        return true;
    now = mem_grow(*block, *max * size, most * size);
    if (now == NULL)
        return false;
    *block = now;
    *max = most;
    return true;
}

/* Of the target alone; rounds that deal are of no rows, and were not asked for. */
static enum status take_arrival(struct reader *r, const json_t *o)
{
    struct seen *s = r->to;
    struct seen_arrival *to;
    const json_t *rows;
    char key[24];

    if (s->times == NULL)
        return bad(r, "before the plan");
    if (number(o, "party") != 1)
        return STATUS_OK;
    key_of(key, o);
    rows = json_object_get(json_object_get(r->asks, key), "rows");
    if (json_array_size(rows) > s->rows)
        return bad(r, "more rows than there are");
    if (!grow((void **)&s->arrival, s->arrivals, &s->arrivals_max, 1, sizeof *s->arrival) ||
        !grow((void **)&s->arrived_row, s->arrived_rows, &s->arrived_rows_max,
              json_array_size(rows), sizeof *s->arrived_row))
        return error_set(r->err, STATUS_MEMORY, "%s: no memory", r->path);
    to = &s->arrival[s->arrivals++];
    *to = (struct seen_arrival){number(o, "bytes"), number(o, "us"), s->arrived_rows,
                                json_array_size(rows)};
    for (size_t i = 0; i < to->rows; i++)
        s->arrived_row[s->arrived_rows++] = (uint32_t)json_integer_value(json_array_get(rows, i));
    return STATUS_OK;
}

static enum status take_end(struct reader *r, const json_t *o)
{
    const char *outcome = json_string_value(json_object_get(o, "outcome"));

    if (outcome == NULL)
        return bad(r, "an end without its outcome");
    r->to->ended = true;
    r->to->exit_code = (int)number(o, "exit");
    snprintf(r->to->outcome, sizeof r->to->outcome, "%s", outcome);
    return STATUS_OK;
}

/* --- lines --- */

static enum status take_line(struct reader *r, const char *text)
{
    json_error_t where;
    json_t *o = json_loads(text, 0, &where);
    const char *kind = json_string_value(json_object_get(o, "kind"));
    enum status s = STATUS_OK;

    if (kind == NULL)
        s = bad(r, o == NULL ? "no JSON" : "no kind");
    else if (strcmp(kind, "plan") == 0)
        s = take_plan(r, o);
    else if (strcmp(kind, "ask") == 0)
        s = take_ask(r, o);
    else if (strcmp(kind, "upload") == 0)
        s = take_upload(r, o);
    else if (strcmp(kind, "sum") == 0)
        s = take_sum(r, o);
    else if (strcmp(kind, "arrival") == 0)
        s = take_arrival(r, o);
    else if (strcmp(kind, "end") == 0)
        s = take_end(r, o);
    else if (strcmp(kind, "again") != 0) /* which tells nothing new */
        s = bad(r, "a kind that nobody knows");
    json_decref(o);
    return s;
}

enum status seen_read(struct seen *s, const char *path, const uint64_t *seed, struct error *err)
{
    struct reader r = {.to = s, .path = path, .seed = seed, .err = err, .asks = json_object()};
    struct buf text;
    enum status st;

    memset(s, 0, sizeof *s);
    buf_init(&text, TRANSCRIPT_MAX);
    st = file_read(path, &text, err);
    if (st == STATUS_IO &&
        errno == EINVAL) /* not a failure of the disk, but another thing's name */
        st = error_set(err, STATUS_DATA, "%s: no transcript: not a regular file", path);
    if (st == STATUS_OK)
        st = buf_append(&text, "", 1);
    for (char *line = (char *)text.data, *end; st == STATUS_OK && *line != 0; line = end) {
        end = line + strcspn(line, "\n");
        if (*end != 0)
            *end++ = 0;
        r.line++;
        st = strnlen(line, LINE_BYTES_MAX + 1) > LINE_BYTES_MAX ? bad(&r, "a line above 64 MiB")
                                                                : take_line(&r, line);
    }
    if (st == STATUS_OK && s->times == NULL)
        st = error_set(err, STATUS_DATA, "%s: no transcript: it has no plan", path);
    json_decref(r.asks);
    colluder_deinit(&r.colluder);
    mem_free(r.drawn);
    buf_deinit(&text);
    return st;
}

void seen_deinit(struct seen *s)
{
    mem_free(s->sum);
    mem_free(s->times);
    mem_free(s->part);
    mem_free(s->part_times);
    mem_free(s->gradient);
    mem_free(s->arrival);
    mem_free(s->arrived_row);
    *s = (struct seen){0};
}

static double mean_part(const struct seen *s, uint32_t party, size_t row, uint32_t k)
{
    const uint32_t times = s->part_times[party * s->rows + row];

    return times == 0 ? 0 : s->part[(party * s->rows + row) * s->plan.model.embedding + k] / times;
}

double seen_value(const struct seen *s, size_t row, uint32_t held, uint32_t k)
{
    double value = 0;

    if (s->clear) {
        for (uint32_t m = 0; m < s->plan.shape.parties; m++)
            value += m == 0 || m > held ? mean_part(s, m, row, k) : 0;
        return value;
    }
    value = s->times[row] == 0 ? 0 : s->sum[row * s->inputs + k] / s->times[row];
    for (uint32_t m = 1; m <= held; m++)
        value -= mean_part(s, m, row, k);
    return value;
}
