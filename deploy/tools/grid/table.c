/* table.c -- figures of runs, copied into rows.  The columns' names and order are in columns.c.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/grid/table.h"

#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/config/plan.h"
#include "common/crypto/digest.h"
#include "deploy/tools/grid/columns.h"
#include "deploy/tools/grid/epsilon.h"
#include "deploy/tools/grid/found.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TABLE_BYTES_MAX = 1 << 30, TABLE_MODE = 0640, DIGITS = 15 };

struct table {
    struct grid *g;
    const char *dir;
    struct buf results, runs, failed;
    struct error *err;
    enum status s; /* of all that was appended */
};

static const char *const six[] = {"payload_up", "payload_down", "frame_up", "frame_down",
                                  "tls_up",     "tls_down",     NULL};
static const char *const scores[] = {"loss", "accuracy", "auc", "auprc", "f1", NULL};

/* --- cells --- */

static void put(struct table *t, struct buf *to, const char *bytes, size_t n)
{
    if (t->s == STATUS_OK && n > 0)
        t->s = buf_append(to, bytes, n);
}

static void put_cell(struct table *t, struct buf *to, const char *text)
{
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;

    put(t, to, quoted ? ",\"" : ",", quoted ? 2 : 1);
    for (; *text != 0; text++)
        put(t, to, quoted && *text == '"' ? "\"\"" : text, quoted && *text == '"' ? 2 : 1);
    put(t, to, "\"", quoted);
}

static void put_number(struct table *t, struct buf *to, double v)
{
    char text[32] = "";

    if (isfinite(v))
        snprintf(text, sizeof text, "%.*g", DIGITS, v); /* as the summaries have them */
    else if (v > 0)
        snprintf(text, sizeof text, "inf");
    put_cell(t, to, text);
}

/* A number, a text or a truth value; an empty cell when there is none. */
static void put_json(struct table *t, struct buf *to, const json_t *v)
{
    if (json_is_number(v))
        put_number(t, to, json_number_value(v));
    else if (json_is_boolean(v))
        put_cell(t, to, json_is_true(v) ? "1" : "0");
    else
        put_cell(t, to, json_is_string(v) ? json_string_value(v) : "");
}

static void put_keys(struct table *t, struct buf *to, const json_t *o, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        put_json(t, to, json_object_get(o, *keys));
}

static const json_t *within(const json_t *o, const char *key)
{
    return json_object_get(o, key);
}

/* --- the columns that both tables have --- */

static void put_header(struct table *t, struct buf *to, const char *const *columns)
{
    put(t, to, "experiment,run", 14);
    if (t->g->has_cases)
        put_cell(t, to, "case");
    for (size_t c = 0; c < t->g->columns; c++)
        put_cell(t, to, t->g->column[c]);
    put_cell(t, to, "seed");
    for (; *columns != NULL; columns++)
        put_cell(t, to, *columns);
    put(t, to, "\n", 1);
}

static void put_run(struct table *t, struct buf *to, const struct run *r)
{
    char seed[32];

    put(t, to, t->g->name, strlen(t->g->name));
    put_cell(t, to, r->id);
    if (t->g->has_cases)
        put_cell(t, to, r->of->name);
    for (size_t c = 0; c < t->g->columns; c++)
        put_cell(t, to, grid_cell(t->g, r, c));
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)r->seed);
    put_cell(t, to, seed);
}

/* --- results.csv --- */

static void put_evaluation(struct table *t, const struct found *f, const json_t *line)
{
    static const char *const place[] = {"epoch", "round", NULL};
    static const char *const clocks[] = {"seconds", "train_s", NULL};
    struct buf *to = &t->results;
    /* What a run's last process alone has measured is not the run's. */
    const json_t *own = f->continued ? NULL : line;

    put_keys(t, to, line, place);
    put_keys(t, to, own, clocks);
    put_keys(t, to, within(within(own, "traffic"), "train"), six);
    put_keys(t, to, within(within(own, "traffic"), "total"), six);
    put_keys(t, to, within(line, "train"), scores);
    put_keys(t, to, within(line, "test"), scores);
}

static void put_results(struct table *t, const struct run *r, const struct found *f)
{
    size_t n = json_array_size(f->metrics), i;
    char dir[PATH_MAX];
    struct epsilon e;
    json_t *line;

    snprintf(dir, sizeof dir, "%s/runs/%s", t->dir, r->id);
    epsilon_open(&e, dir, f->summary, n == 0 ? NULL : json_array_get(f->metrics, n - 1), n);
    json_array_foreach(f->metrics, i, line)
    {
        double epoch = json_number_value(json_object_get(line, "epoch"));

        put_run(t, &t->results, r);
        put_evaluation(t, f, line);
        put_number(t, &t->results, e.known ? epsilon_at(&e, epoch, i + 1, false) : NAN);
        put_number(t, &t->results, e.known ? epsilon_at(&e, epoch, i + 1, true) : NAN);
        put_cell(t, &t->results, f->status);
        put(t, &t->results, "\n", 1);
    }
}

/* --- runs.csv --- */

/* A claim without an epsilon is one without a bound. */
static double epsilon_of(const json_t *claim)
{
    const json_t *v = within(claim, "epsilon");

    return v == NULL ? INFINITY : json_number_value(v);
}

static bool is_text(const json_t *o, const char *key, const char *want)
{
    const char *have = json_string_value(within(o, key));

    return have != NULL && strcmp(have, want) == 0;
}

/* The worst claim for one record, or person, against this adversary; NULL: there is none. */
static const json_t *record_claim(const json_t *claims, const char *adversary)
{
    const json_t *worst = NULL;
    json_t *c;
    size_t i;

    json_array_foreach(claims, i, c)
    {
        const char *what = json_string_value(within(c, "adjacency"));

        if (what != NULL &&
            (strncmp(what, "record_", 7) == 0 || strncmp(what, "person_", 7) == 0) &&
            is_text(c, "adversary", adversary) &&
            (worst == NULL || epsilon_of(c) > epsilon_of(worst)))
            worst = c;
    }
    return worst;
}

/* NaN where nothing is claimed. */
static void put_claims(struct table *t, const json_t *claims)
{
    const json_t *server = record_claim(claims, "server"), *more = record_claim(claims, "server+1");
    const char *record = json_string_value(within(server, "adjacency"));
    double sample = NAN, worst = NAN;
    json_t *c;
    size_t i;

    json_array_foreach(claims, i, c)
    {
        double epsilon = epsilon_of(c);

        worst = worst >= epsilon ? worst : epsilon;
        if (is_text(c, "adversary", "server") && is_text(c, "adjacency", "sample"))
            sample = epsilon;
    }
    put_number(t, &t->runs, sample);
    put_number(t, &t->runs, worst);
    put_cell(t, &t->runs, record == NULL ? "" : record);
    put_number(t, &t->runs, server == NULL ? NAN : epsilon_of(server));
    put_number(t, &t->runs, more == NULL ? NAN : epsilon_of(more));
}

/* The head's digest, and one over the digests of all models. */
static void put_models(struct table *t, const json_t *models)
{
    const char *head = json_string_value(within(models, "head"));
    char all[(PLAN_PARTIES_MAX + 1) * DIGEST_HEX_CHARS], hex[DIGEST_HEX_CHARS + 1] = "";
    uint8_t sum[DIGEST_BYTES];
    json_t *party;
    size_t n = 0, i;

    put_cell(t, &t->runs, head == NULL ? "" : head);
    if (head != NULL && strlen(head) == DIGEST_HEX_CHARS) {
        memcpy(all, head, DIGEST_HEX_CHARS);
        n = DIGEST_HEX_CHARS;
    }
    json_array_foreach(within(models, "parties"), i, party)
    {
        const char *one = json_string_value(party);

        if (one == NULL || strlen(one) != DIGEST_HEX_CHARS || n + DIGEST_HEX_CHARS > sizeof all) {
            n = 0; /* a model is not known */
            break;
        }
        memcpy(all + n, one, DIGEST_HEX_CHARS);
        n += DIGEST_HEX_CHARS;
    }
    if (n > DIGEST_HEX_CHARS) {
        digest_sha256(sum, all, n);
        digest_hex(hex, sum, sizeof sum);
    }
    put_cell(t, &t->runs, hex);
}

static void put_measured(struct table *t, const struct found *f)
{
    static const char *const reached[] = {"metric", "split", "value", "epoch", "round", NULL};
    static const char *const reached_own[] = {"seconds", "payload_bytes", NULL};
    static const char *const time[] = {"setup_s", "train_s",      "evaluate_s",
                                       "total_s", "rounds_per_s", NULL};
    static const char *const formula[] = {"formula_up", "formula_down", NULL};
    const json_t *own = f->continued ? NULL : f->summary, *bytes = within(own, "bytes");
    struct buf *to = &t->runs;

    put_keys(t, to, within(f->summary, "reached"), reached);
    put_keys(t, to, within(own, "reached"), reached_own);
    put_keys(t, to, within(own, "time"), time);
    put_keys(t, to, within(bytes, "train"), six);
    put_keys(t, to, within(bytes, "total"), six);
    put_keys(t, to, within(bytes, "train"), formula);
}

static void put_row(struct table *t, const struct run *r, const struct found *f)
{
    static const char *const whole[] = {"plaintext",   "epochs",    "rounds",
                                        "void_rounds", "parties_n", NULL};
    const char *error = json_string_value(within(f->summary, "error"));
    char code[16] = "";
    struct buf *to = &t->runs;

    put_run(t, to, r);
    put_cell(t, to, f->status);
    if (f->code >= 0)
        snprintf(code, sizeof code, "%d", f->code);
    put_cell(t, to, code);
    put_cell(t, to, error != NULL ? error : f->words);
    put_keys(t, to, f->summary, whole);
    put_keys(t, to, within(f->summary, "train"), scores);
    put_keys(t, to, within(f->summary, "test"), scores);
    put_measured(t, f);
    put_claims(t, within(within(f->summary, "privacy"), "claims"));
    put_models(t, within(f->summary, "model_sha256"));
    put(t, to, "\n", 1);
}

static void put_failure(struct table *t, const struct run *r, const struct found *f)
{
    if (strcmp(f->status, "failed") == 0 && t->s == STATUS_OK)
        t->s = buf_printf(&t->failed, "%s\t%d\t%s\n", r->id, f->code, f->words);
}

/* --- all of it --- */

static enum status take(void *ctx, const struct run *r)
{
    struct table *t = ctx;
    struct found f;
    enum status s = found_open(&f, t->dir, r->id, t->err);

    if (s == STATUS_OK) {
        put_results(t, r, &f);
        put_row(t, r, &f);
        put_failure(t, r, &f);
        if (t->s != STATUS_OK)
            s = error_set(t->err, t->s, "%s: tables: %s", t->dir, status_words(t->s));
    }
    found_close(&f);
    return s;
}

static enum status write_one(struct table *t, const struct buf *text, const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", t->dir, name);
    return file_write_atomic(path, text->data == NULL ? (const void *)"" : text->data, text->len,
                             TABLE_MODE, t->err);
}

enum status table_write(struct grid *g, const char *dir, struct error *err)
{
    struct table t = {.g = g, .dir = dir, .err = err};
    enum status s;

    buf_init(&t.results, TABLE_BYTES_MAX);
    buf_init(&t.runs, TABLE_BYTES_MAX);
    buf_init(&t.failed, TABLE_BYTES_MAX);
    put_header(&t, &t.results, columns_results);
    put_header(&t, &t.runs, columns_runs);
    s = grid_each(g, take, &t, err);
    if (s == STATUS_OK)
        s = write_one(&t, &t.results, "results.csv");
    if (s == STATUS_OK)
        s = write_one(&t, &t.runs, "runs.csv");
    if (s == STATUS_OK)
        s = write_one(&t, &t.failed, "failed");
    buf_deinit(&t.results);
    buf_deinit(&t.runs);
    buf_deinit(&t.failed);
    return s;
}
