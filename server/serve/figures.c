/* figures.c -- models and counts as JSON.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/serve/figures.h"

#include "common/base/mem.h"
#include "common/config/task.h"
#include "common/daemon/models.h"
#include "common/data/schema.h"
#include "common/metrics/report_latency.h"
#include "server/serve/words.h"

#include <string.h>

void figures_models(const struct serve *s, struct http_answer *out)
{
    char(*runs)[PACKAGE_RUN_MAX + 1] = mem_alloc(MODELS_MAX, sizeof *runs);
    char served[PACKAGE_RUN_MAX + 1] = "";
    struct error err = {0};
    json_t *list = json_array();
    size_t n = 0;

    if (runs == NULL || models_list(s->whole->home, runs, MODELS_MAX, &n, &err) != STATUS_OK ||
        models_served(s->whole->home, served, &err) != STATUS_OK) {
        json_decref(list);
        words_refuse(out, 500, err.text);
    } else {
        for (size_t i = 0; i < n; i++)
            (void)json_array_append_new(list, json_string(runs[i]));
        words_answer(out, 200, json_pack("{s:s, s:o}", "served", served, "models", list));
    }
    mem_free(runs);
}

/* What each score of a row is of; of regression of nothing. */
static json_t *classes_of(const struct package *p)
{
    json_t *list = json_array();
    char name[LEVELS_TEXT_MAX + 1];

    for (uint32_t k = 0; k < package_classes(&p->plan); k++) {
        package_class(p, k, name, sizeof name);
        (void)json_array_append_new(list, json_string(name));
    }
    return list;
}

void figures_model(const struct serve *s, const char *run, struct http_answer *out)
{
    struct package p;
    struct error err = {0};

    package_init(&p);
    if (models_load(s->whole->home, run, &p, &err) != STATUS_OK)
        words_refuse(out, 500, err.text);
    else if (p.role != PACKAGE_HEAD)
        words_refuse(out, 404, "this run has a bottom here, and no head: nothing is scored by it");
    else
        words_answer(out, 200,
                     json_pack("{s:s, s:s, s:i, s:o, s:i, s:s}", "model", p.run, "task",
                               task_of(&p.plan)->name, "outputs", (int)p.plan.shape.outputs,
                               "classes", classes_of(&p), "parties", (int)p.plan.shape.parties,
                               "score", p.score));
    package_deinit(&p);
}

static json_t *clients_of(const struct serve *s)
{
    json_t *clients = json_object();

    for (size_t i = 0; i < s->tokens.n; i++)
        (void)json_object_set_new(clients, s->tokens.name[i],
                                  json_pack("{s:I, s:I}", "requests",
                                            (json_int_t)s->client[i].calls, "rows",
                                            (json_int_t)s->client[i].rows));
    return clients;
}

void figures_stats(const struct serve *s, struct http_answer *out)
{
    const struct serve_counts *n = &s->counts;

    struct report_json j = {.bad = false};
    json_t *o = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:i, s:s, s:b, s:o}", "requests",
        (json_int_t)n->calls, "rows", (json_int_t)n->rows, "kept", (json_int_t)n->kept, "refused",
        (json_int_t)n->refused, "late", (json_int_t)n->late, "failed", (json_int_t)n->failed,
        "jobs", (json_int_t)n->jobs, "waiting_requests", (int)s->waiting.calls_n, "waiting_rows",
        (int)s->waiting.ids, "model", s->run, "open", s->opened, "clients", clients_of(s));

    report_latency(&j, o, &s->latency);
    words_answer(out, 200, o);
}
