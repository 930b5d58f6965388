/* control.c -- requests to the queue.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/control.h"

#include "common/base/file.h"
#include "common/config/key_text.h"
#include "common/daemon/models.h"
#include "common/flow/alignment.h"
#include "server/contributed.h"
#include "server/serve/words.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define JOBS "/v1/jobs"

/* --- answers --- */

static unsigned code_of(enum status s)
{
    switch (status_kind(s)) {
    case STATUS_KIND_CONFIG: return 400;
    case STATUS_KIND_POLICY: return 429;
    case STATUS_KIND_NONE:
    case STATUS_KIND_PEER:
    case STATUS_KIND_NET:
    case STATUS_KIND_LOCAL: break;
    }
    return 500;
}

static json_t *show(const struct queue_job *j)
{
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:i}",
                     "job", (int)j->number, "kind", queue_kind_names[j->kind], "state",
                     queue_state_names[j->state], "run", j->run, "model", j->model, "by", j->by,
                     "alignment", j->alignment, "without", j->without, "outcome", j->outcome,
                     "error", j->error, "submitted", (json_int_t)j->submitted_s, "began",
                     (json_int_t)j->began_s, "ended", (json_int_t)j->ended_s, "tries",
                     (int)j->tries);
}

static void list(const struct queue *q, struct http_answer *out)
{
    json_t *jobs = json_array();

    for (size_t i = 0; i < q->n; i++)
        (void)json_array_append_new(jobs, show(&q->job[i])); /* no memory: one is missing */
    words_answer(out, 200, json_pack("{s:o}", "jobs", jobs));
}

/* --- a job comes --- */

/* By kind: what its text is called. */
static const char *const text_names[QUEUE_KINDS] = {"plan", "ids", "ids", "align"};

/* What a request says of a job. */
struct wish {
    const char *kind, *text, *model, *alignment, *absent, *by, *columns;
    size_t text_n;
    int least, orders;
    bool has[QUEUE_KINDS]; /* which texts (text_names) */
};

static enum status read_wish(struct wish *w, json_t *from, struct error *err)
{
    *w = (struct wish){.model = "", .alignment = "", .absent = "", .by = "", .columns = ""};
    if (json_unpack(from, "{s:s, s?s%, s?s%, s?s%, s?s, s?s, s?s, s?s, s?i, s?i, s?s !}", "kind",
                    &w->kind, "plan", &w->text, &w->text_n, "ids", &w->text, &w->text_n, "align",
                    &w->text, &w->text_n, "model", &w->model, "alignment", &w->alignment, "absent",
                    &w->absent, "by", &w->by, "min_parties", &w->least, "permutations", &w->orders,
                    "columns", &w->columns) != 0 ||
        w->text == NULL)
        return error_set(err, STATUS_DATA, "no job: kind, and a plan, ids or align, as texts");
    for (int k = 0; k < QUEUE_KINDS; k++)
        w->has[k] = json_object_get(from, text_names[k]) != NULL;
    return STATUS_OK;
}

static enum status check_wish(const struct wish *w, enum queue_kind kind, struct error *err)
{
    const bool asks = kind == QUEUE_PREDICT || kind == QUEUE_CONTRIBUTE;

    if (w->has[QUEUE_PREDICT] != asks || w->has[QUEUE_TRAIN] != (kind == QUEUE_TRAIN) ||
        w->has[QUEUE_ALIGN] != (kind == QUEUE_ALIGN))
        return error_set(err, STATUS_DATA,
                         "a plan is for train, ids are for predict and contribute, and align is "
                         "for align");
    if (!asks && (w->model[0] != 0 || w->by[0] != 0 || w->alignment[0] != 0))
        return error_set(err, STATUS_DATA,
                         "model, by and alignment are for predict and contribute");
    if (kind != QUEUE_PREDICT && (w->absent[0] != 0 || w->least != 0))
        return error_set(err, STATUS_DATA, "absent and min_parties are for predict");
    if (kind != QUEUE_CONTRIBUTE && (w->columns[0] != 0 || w->orders != 0))
        return error_set(err, STATUS_DATA, "permutations and columns are for contribute");
    if (w->least < 0 || w->least > PLAN_PARTIES_MAX)
        return error_set(err, STATUS_DATA, "min_parties: 0 to %d", PLAN_PARTIES_MAX);
    if (w->orders < 0 || w->orders > COALITIONS_ORDERS_MAX)
        return error_set(err, STATUS_DATA, "permutations: 0 to %d", COALITIONS_ORDERS_MAX);
    return STATUS_OK;
}

static enum status check_text(enum queue_kind kind, const struct wish *w, struct error *err)
{
    struct alignment_order order;

    if (w->text_n > (w->has[QUEUE_PREDICT] ? QUEUE_IDS_MAX : QUEUE_PLAN_MAX))
        return error_set(err, STATUS_DATA, "the text is too long");
    if (kind == QUEUE_ALIGN)
        return alignment_asked(&order, (const uint8_t *)w->text, w->text_n, err);
    return kind == QUEUE_TRAIN ? config_check_job(w->text, w->text_n, err) : STATUS_OK;
}

/* What is wrong with it, as far as a file of this side's does not have to be read for that. */
static enum status read_job(struct queue_job *job, const struct wish *w, struct error *err)
{
    const char *model = models_asked(w->model);
    int kind = 0;

    while (kind < QUEUE_KINDS && strcmp(w->kind, queue_kind_names[kind]) != 0)
        kind++;
    if (kind == QUEUE_KINDS)
        return error_set(err, STATUS_DATA, "no kind of job: train, predict, contribute or align");
    *job = (struct queue_job){.kind = (enum queue_kind)kind,
                              .min_parties = (uint32_t)w->least,
                              .orders = (uint32_t)w->orders};
    if (check_wish(w, job->kind, err) != STATUS_OK)
        return err->status;
    if ((model[0] != 0 && !models_name(model)) || strlen(w->absent) >= sizeof job->absent ||
        w->absent[strspn(w->absent, KEY_TEXT_HOST ",")] != 0 ||
        strlen(w->columns) >= sizeof job->columns ||
        w->columns[strspn(w->columns, KEY_TEXT_HOST ",=")] != 0)
        return error_set(err, STATUS_DATA, "no name of a run, or too many parties");
    if (w->alignment[0] != 0 && !key_text_is_alignment(w->alignment))
        return error_set(err, STATUS_DATA, "alignment: no name of one");
    if (w->by[0] != 0 && !cert_name_is(w->by, strlen(w->by)))
        return error_set(err, STATUS_DATA, "by: %s", CERT_NAME_RULE);
    snprintf(job->by, sizeof job->by, "%s", w->by);
    snprintf(job->model, sizeof job->model, "%s", model);
    snprintf(job->alignment, sizeof job->alignment, "%s", w->alignment);
    snprintf(job->absent, sizeof job->absent, "%s", w->absent);
    snprintf(job->columns, sizeof job->columns, "%s", w->columns);
    return check_text(job->kind, w, err);
}

static void submit(const struct control *c, const struct http_request *r, struct http_answer *out)
{
    json_t *from = json_loadb((const char *)r->body, r->n, JSON_REJECT_DUPLICATES, NULL);
    struct error err = {0};
    struct queue_job job;
    struct wish wish;
    uint32_t number = 0;
    enum status s;

    if (from == NULL) {
        words_refuse(out, 400, "no JSON");
        return;
    }
    s = read_wish(&wish, from, &err);
    if (s == STATUS_OK)
        s = read_job(&job, &wish, &err);
    if (s == STATUS_OK)
        s = queue_add(&c->stand->queue, &job, wish.text, wish.text_n, &number, &err);
    json_decref(from);
    if (s != STATUS_OK) {
        words_refuse(out, code_of(s), err.text);
        return;
    }
    words_answer(out, 201, json_pack("{s:i}", "job", (int)number));
    c->submitted(c->owner);
}

/* --- a job is asked about --- */

static void cancel(const struct control *c, uint32_t number, struct http_answer *out)
{
    struct error err = {0};
    bool running;

    if (stand_cancel(c->stand, number, &running, &err) != STATUS_OK) {
        words_refuse(out, err.status == STATUS_DATA ? 409 : 500, err.text);
        return;
    }
    words_answer(out, 200, show(queue_find(&c->stand->queue, number)));
    if (running)
        c->cancelled(c->owner);
}

/* A file of the run's folder, as far as it goes. */
static void show_file(const struct control *c, const struct queue_job *j, const char *name,
                      struct http_answer *out)
{
    char path[CONFIG_PATH_MAX];
    struct error err = {0};
    struct stat is;

    snprintf(path, sizeof path, "%.*s/runs/%s/%s", CONFIG_PATH_MAX - 96, c->stand->run->whole->home,
             j->run, name);
    if (j->run[0] == 0 || (lstat(path, &is) != 0 && errno == ENOENT)) {
        words_refuse(out, 404, "there is no such file yet");
    } else if (file_read_own(path, &out->body, &err) == STATUS_OK) {
        out->type = "text/plain";
    } else {
        out->body.len = 0;
        words_refuse(out, 500, err.text);
    }
}

static const char *file_of(const struct queue_job *j, const char *what)
{
    if (strcmp(what, "/log") == 0)
        return "log.txt";
    if (strcmp(what, "/summary") == 0)
        return j->kind == QUEUE_TRAIN   ? "summary.json"
               : j->kind == QUEUE_ALIGN ? "alignment.json"
                                        : "prediction.json";
    if (strcmp(what, "/scores") == 0 && j->kind == QUEUE_PREDICT)
        return "scores.csv";
    if (strcmp(what, "/answers") == 0 && j->kind == QUEUE_CONTRIBUTE)
        return "answers.csv";
    if (strcmp(what, "/without") == 0 && j->kind == QUEUE_PREDICT)
        return "scores.csv.without";
    return NULL;
}

static void about(const struct control *c, const struct http_request *r, const char *rest,
                  struct http_answer *out)
{
    const size_t digits = strspn(rest, "0123456789");
    const unsigned long number = digits > 0 && digits < 10 ? strtoul(rest, NULL, 10) : 0;
    const struct queue_job *j = queue_find(&c->stand->queue, (uint32_t)number);
    const char *what = rest + digits;
    const bool gets = strcmp(r->method, "GET") == 0;

    if (j == NULL)
        words_refuse(out, 404, "there is no such job");
    else if (*what == 0 && strcmp(r->method, "DELETE") == 0)
        cancel(c, (uint32_t)number, out);
    else if (*what == 0 && gets)
        words_answer(out, 200, show(j));
    else if (gets && file_of(j, what) != NULL)
        show_file(c, j, file_of(j, what), out);
    else
        words_refuse(out, 404, "there is nothing of that name");
}

static void answer(const struct control *c, const struct http_request *r, struct http_answer *out)
{
    if (r->client != 0)
        words_refuse(out, 403, "jobs are the operator's");
    else if (strcmp(r->path, JOBS) == 0 && strcmp(r->method, "GET") == 0)
        list(&c->stand->queue, out);
    else if (strcmp(r->path, JOBS) == 0 && strcmp(r->method, "POST") == 0)
        submit(c, r, out);
    else if (strncmp(r->path, JOBS "/", strlen(JOBS "/")) == 0)
        about(c, r, r->path + strlen(JOBS "/"), out);
    else
        words_refuse(out, 404, "there is nothing of that name");
}

bool control_answer(void *control, const struct http_request *r, struct http_answer *out)
{
    const struct control *c = control;

    if (serve_is_its(r->path))
        return serve_answer(&c->stand->serve, r, out);
    answer(c, r, out);
    return true;
}
