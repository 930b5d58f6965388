/* runs.c -- a growing list of runs, and of the axes that any of them has.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/report/runs.h"

#include <math.h>
#include <string.h>

void runs_deinit(struct runs *r)
{
    pool_deinit(&r->pool);
}

static void know_nothing(struct runs_moment *m)
{
    for (int i = 0; i < RUNS_FIGURES; i++)
        m->figure[i] = NAN;
    for (int s = 0; s < RUNS_SPLITS; s++)
        for (int i = 0; i < RUNS_METRICS; i++)
            m->score[s][i] = NAN;
}

struct run *runs_add(struct runs *r, const char *folder)
{
    struct run *run;

    r->run = pool_more(&r->pool, r->run, r->n, sizeof *r->run);
    run = &r->run[r->n++];
    *run = (struct run){.folder = folder,
                        .id = "",
                        .title = "",
                        .seed = "",
                        .status = "",
                        .error = "",
                        .formula_up = NAN,
                        .formula_down = NAN,
                        .total_s = NAN};
    know_nothing(&run->end);
    return run;
}

void runs_set(struct runs *r, struct run *run, const char *axis, const char *value)
{
    size_t i = 0;

    while (i < r->axes && strcmp(r->axis[i], axis) != 0)
        i++;
    if (i == r->axes) {
        r->axis = pool_more(&r->pool, r->axis, r->axes, sizeof *r->axis);
        r->axis[r->axes++] = runs_words(&r->pool, axis);
    }
    while (run->values <= i) {
        run->value = pool_more(&r->pool, run->value, run->values, sizeof *run->value);
        run->value[run->values++] = NULL;
    }
    run->value[i] = runs_words(&r->pool, value);
}

const char *runs_value(const struct run *run, size_t axis)
{
    return axis >= run->values || run->value[axis] == NULL ? "" : run->value[axis];
}

struct runs_moment *runs_evaluation(struct runs *r, struct run *run)
{
    struct runs_moment *m;

    run->moment = pool_more(&r->pool, run->moment, run->moments, sizeof *run->moment);
    m = &run->moment[run->moments++];
    know_nothing(m);
    return m;
}

static void complete(struct runs_moment *m)
{
    if (isnan(m->figure[RUNS_PAYLOAD]))
        m->figure[RUNS_PAYLOAD] = m->figure[RUNS_UP] + m->figure[RUNS_DOWN];
}

void runs_complete(struct run *run)
{
    complete(&run->end);
    for (size_t i = 0; i < run->moments; i++)
        complete(&run->moment[i]);
    run->whole = strcmp(run->status, "completed") == 0 || strcmp(run->status, "target") == 0 ||
                 strcmp(run->status, "budget") == 0;
}

const char *runs_metric_name(enum runs_metric m)
{
    static const char *const names[] = {"loss", "accuracy", "auc", "auprc", "f1"};

    return names[m];
}

const char *runs_split_name(enum runs_split s)
{
    return s == RUNS_TRAIN ? "train" : "test";
}

static bool ends_path(char c)
{
    return strchr(" ,:'\")]", c) != NULL; /* the final 0, too */
}

/* How many bytes of a path from the root stand at `text` before its last name; 0: there is none. */
static size_t folders_at(const char *text, char before)
{
    size_t n = 0;

    if (text[0] != '/' || strchr(" =,'\"([", before) == NULL)
        return 0;
    for (size_t i = 0; !ends_path(text[i]); i++)
        if (text[i] == '/' && !ends_path(text[i + 1]))
            n = i + 1;
    return n;
}

const char *runs_words(struct pool *p, const char *text)
{
    char *words = pool_alloc(p, strlen(text) + 1, 1), before = ' ';

    for (size_t n = 0; *text != 0; text++) {
        text += folders_at(text, before);
        before = (unsigned char)*text < ' ' || *text == 127 ? ' ' : *text;
        words[n++] = before;
    }
    return words;
}

const char *runs_base(struct pool *p, const char *path)
{
    size_t n = strlen(path), from;

    while (n > 1 && path[n - 1] == '/')
        n--;
    for (from = n; from > 0 && path[from - 1] != '/'; from--)
        ;
    return pool_text(p, "%.*s", (int)(n - from), path + from);
}
