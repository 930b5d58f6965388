/* cluster.c -- a cluster's plan is the setting, metrics.jsonl its evaluations, summary.json its
 * end.
 *
 * What a daemon has written is not trusted to be whole: a value of another type is an error of the
 * line that holds it, an absent one is a figure that is not known.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/report/cluster.h"

#include "common/data/lines.h"
#include "common/metrics/json_file.h"

#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { CLUSTER_LINE_MAX = 1 << 20 };

/* One document, and where it stands. */
struct place {
    const char *path;
    size_t line;
    enum status status; /* of the first thing that was wrong */
    struct error *err;
};

static double number_of(struct place *at, const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    if (v == NULL)
        return NAN;
    if (!json_is_number(v) || !(json_number_value(v) >= 0)) {
        if (at->status == STATUS_OK)
            at->status = error_set(at->err, STATUS_DATA, "%s:%zu: %s: no number from 0 on",
                                   at->path, at->line, key);
        return NAN;
    }
    return json_number_value(v);
}

static const char *text_of(struct runs *r, const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));

    return runs_words(&r->pool, text == NULL ? "" : text);
}

static void read_scores(struct place *at, const json_t *o, struct runs_moment *m)
{
    for (int s = 0; s < RUNS_SPLITS; s++) {
        const json_t *score = json_object_get(o, runs_split_name((enum runs_split)s));

        for (int i = 0; i < RUNS_METRICS; i++)
            m->score[s][i] = number_of(at, score, runs_metric_name((enum runs_metric)i));
    }
}

/* Bytes of training, and what went through the sockets in all phases. */
static void read_bytes(struct place *at, const json_t *bytes, struct runs_moment *m)
{
    const json_t *train = json_object_get(bytes, "train");
    const json_t *total = json_object_get(bytes, "total");

    m->figure[RUNS_UP] = number_of(at, train, "payload_up");
    m->figure[RUNS_DOWN] = number_of(at, train, "payload_down");
    m->figure[RUNS_WIRE] = number_of(at, train, "tls_up") + number_of(at, train, "tls_down");
    m->figure[RUNS_WIRE_ALL] = number_of(at, total, "tls_up") + number_of(at, total, "tls_down");
}

/* That of one sample's data against the server, INFINITY when the claim is without bound. */
static double epsilon_of(struct place *at, const json_t *privacy)
{
    size_t i;
    json_t *claim;

    json_array_foreach(json_object_get(privacy, "claims"), i, claim)
    {
        const char *who = json_string_value(json_object_get(claim, "adversary"));
        const char *what = json_string_value(json_object_get(claim, "adjacency"));

        if (who != NULL && what != NULL && strcmp(who, "server") == 0 &&
            strcmp(what, "sample") == 0)
            return json_object_get(claim, "epsilon") == NULL ? INFINITY
                                                             : number_of(at, claim, "epsilon");
    }
    return NAN;
}

static enum status read_summary(struct runs *r, struct run *run, const char *path,
                                struct error *err)
{
    json_error_t where;
    json_t *root = json_file_load(path, JSON_REJECT_DUPLICATES, &where);
    struct place at = {.path = path, .line = 1, .err = err};
    struct runs_moment *end = &run->end;
    const json_t *time = json_object_get(root, "time"), *bytes = json_object_get(root, "bytes");

    if (!json_is_object(root)) {
        json_decref(root);
        return error_set(err, STATUS_DATA, "%s:%d: %s", path, where.line > 0 ? where.line : 1,
                         root == NULL ? where.text : "no object");
    }
    run->status = text_of(r, root, "status");
    run->error = text_of(r, root, "error");
    run->plaintext = json_is_true(json_object_get(root, "plaintext"));
    run->insecure_seed = json_is_true(json_object_get(root, "insecure_seed"));
    end->figure[RUNS_ROUNDS] = number_of(&at, root, "rounds");
    end->figure[RUNS_EPOCHS] = number_of(&at, root, "epochs");
    end->figure[RUNS_SECONDS] = number_of(&at, time, "train_s");
    end->figure[RUNS_EPSILON] = epsilon_of(&at, json_object_get(root, "privacy"));
    run->total_s = number_of(&at, time, "total_s");
    run->formula_up = number_of(&at, json_object_get(bytes, "train"), "formula_up");
    run->formula_down = number_of(&at, json_object_get(bytes, "train"), "formula_down");
    read_bytes(&at, bytes, end);
    read_scores(&at, root, end);
    json_decref(root);
    return at.status;
}

static enum status take_evaluation(struct runs *r, struct run *run, struct place *at, char *line)
{
    json_error_t where;
    json_t *root = json_loads(line, JSON_REJECT_DUPLICATES, &where);
    struct runs_moment *m;

    if (!json_is_object(root)) {
        json_decref(root);
        return error_set(at->err, STATUS_DATA, "%s:%zu: %s", at->path, at->line,
                         root == NULL ? where.text : "no object");
    }
    m = runs_evaluation(r, run);
    read_bytes(at, json_object_get(root, "traffic"), m);
    read_scores(at, root, m);
    m->figure[RUNS_EPOCHS] = number_of(at, root, "epoch");
    m->figure[RUNS_ROUNDS] = number_of(at, root, "round");
    m->figure[RUNS_SECONDS] = number_of(at, root, "train_s");
    m->figure[RUNS_PAYLOAD] = number_of(at, root, "bytes");
    json_decref(root);
    if (at->status == STATUS_OK && isnan(m->figure[RUNS_EPOCHS]))
        return error_set(at->err, STATUS_DATA, "%s:%zu: no epoch", at->path, at->line);
    return at->status;
}

/* The name of a set that comes with the programs, when this is its file. */
static const char *shipped(struct pool *p, const char *path)
{
    static const char *const place[] = {"/tests/data/", "/colonnade/data/"};
    static const char ending[] = ".csv.gz";
    size_t n = strlen(path);

    for (size_t i = 0; i < 2; i++) {
        const char *at = strstr(path, place[i]);
        const char *name = at == NULL ? "" : at + strlen(place[i]);

        if (n > sizeof ending && strcmp(path + n - sizeof ending + 1, ending) == 0 &&
            name[0] != 0 && strchr(name, '/') == NULL)
            return pool_text(p, "%.*s", (int)(strlen(name) - sizeof ending + 1), name);
    }
    return NULL;
}

/* A file, or two: where they were is nobody's business. */
static void take_file(struct runs *r, struct run *run, const char *axis, char *path)
{
    char *comma = strchr(path, ',');
    const char *name = shipped(&r->pool, path);

    if (comma != NULL)
        *comma = 0;
    if (name != NULL)
        runs_set(r, run, "data", name);
    else if (comma == NULL)
        runs_set(r, run, axis, runs_base(&r->pool, path));
    else
        runs_set(r, run, axis,
                 pool_text(&r->pool, "%s,%s", runs_base(&r->pool, path),
                           runs_base(&r->pool, comma + 1)));
}

/* A line of plan.txt: "set KEY=VALUE", "party I:KEY=VALUE", or an option and its value. */
static enum status take_plan(struct runs *r, struct run *run, struct place *at, char *line)
{
    char *value = strchr(line, ' '), *equals;

    (void)at;
    if (value == NULL || value[1] == 0)
        return STATUS_OK;
    *value++ = 0;
    equals = strchr(value, '=');
    if (strcmp(line, "seed") == 0) {
        run->seed = pool_text(&r->pool, "%s", value);
    } else if ((strcmp(line, "set") == 0 || strcmp(line, "party") == 0) && equals != NULL) {
        *equals = 0;
        runs_set(r, run, value, equals + 1);
    } else if (value[0] == '/') {
        take_file(r, run, line, value);
    } else if (strcmp(line, "strict-policy") != 0 || strcmp(value, "no") != 0) {
        runs_set(r, run, line, value);
    }
    return STATUS_OK;
}

/* `take` each line of a file, until one is wrong. */
static enum status read_lines(struct runs *r, struct run *run, const char *path,
                              enum status (*take)(struct runs *r, struct run *run, struct place *at,
                                                  char *line),
                              struct error *err)
{
    struct place at = {.path = path, .err = err};
    struct lines in = {0};
    char *line;
    size_t len;
    enum status status = lines_open(&in, path, CLUSTER_LINE_MAX, err);

    while (status == STATUS_OK) {
        status = lines_next(&in, &line, &len, err);
        if (status != STATUS_OK || line == NULL)
            break;
        at.line = (size_t)in.number;
        status = take(r, run, &at, line);
    }
    lines_close(&in);
    return status;
}

enum status cluster_read(struct runs *r, const char *folder, struct error *err)
{
    const char *path = pool_text(&r->pool, "%s/summary.json", folder);
    struct run *run = runs_add(r, folder);
    enum status status = STATUS_OK;

    run->title = runs_base(&r->pool, folder);
    if (access(path, F_OK) == 0)
        status = read_summary(r, run, path, err);
    else
        run->status = "missing"; /* it has not come to an end */
    path = pool_text(&r->pool, "%s/server/metrics.jsonl", folder);
    if (status == STATUS_OK && access(path, F_OK) == 0)
        status = read_lines(r, run, path, take_evaluation, err);
    path = pool_text(&r->pool, "%s/plan.txt", folder);
    if (status == STATUS_OK && access(path, F_OK) == 0)
        status = read_lines(r, run, path, take_plan, err);
    runs_complete(run);
    return status;
}
