/* queue.c -- jobs in a file of JSON, replaced as a whole at each change.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/queue.h"

#include "common/base/check.h"
#include "common/base/file.h"
#include "common/base/folder.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/config/key_text.h"
#include "common/crypto/rng.h"
#include "common/daemon/models.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FILE_MAX = QUEUE_JOBS_MAX * 5120, SEED_BITS = 52 };

const char *const queue_kind_names[QUEUE_KINDS] = {"train", "predict", "contribute", "align"};
const char *const queue_state_names[QUEUE_STATES] = {"waiting", "running", "done", "failed",
                                                     "cancelled"};

/* --- one job as JSON --- */

static json_t *job_to_json(const struct queue_job *j)
{
    return json_pack("{s:i, s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:s, s:s, s:s, s:s, s:s, s:i, s:i, "
                     "s:s, s:s, s:s, s:s}",
                     "job", (int)j->number, "kind", queue_kind_names[j->kind], "state",
                     queue_state_names[j->state], "tries", (int)j->tries, "seed",
                     (json_int_t)j->seed, "submitted", (json_int_t)j->submitted_s, "began",
                     (json_int_t)j->began_s, "ended", (json_int_t)j->ended_s, "run", j->run,
                     "model", j->model, "alignment", j->alignment, "absent", j->absent, "by", j->by,
                     "min_parties", (int)j->min_parties, "permutations", (int)j->orders, "columns",
                     j->columns, "without", j->without, "outcome", j->outcome, "error", j->error);
}

/* As queue_ended writes it: whoever reads a list of jobs reads it in a terminal. */
static bool take_text(char *out, size_t size, const char *text)
{
    const size_t n = strlen(text);

    for (const char *c = text; *c != 0; c++)
        if (*c < ' ' || *c > '~')
            return false;

    if (n < size)
        memcpy(out, text, n + 1);
    return n < size;
}

static bool take_name(const char *name, const char *const *names, int n, int *out)
{
    for (*out = 0; *out < n; ++*out)
        if (strcmp(name, names[*out]) == 0)
            return true;
    return false;
}

static bool job_from_json(struct queue_job *j, json_t *from)
{
    const char *kind, *state, *run, *model, *alignment = "", *absent, *by = "", *without = "",
                                            *columns = "", *outcome, *error;
    json_int_t seed, submitted, began, ended;
    int number, tries, least = 0, orders = 0, k, st;

    /* Those with a question mark are not in a queue that an earlier version has left. */
    if (json_unpack(
            from,
            "{s:i, s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:s, s:s, s?s, s:s, s?s, s?i, s?i, s?s, s?s, "
            "s:s, s:s !}",
            "job", &number, "kind", &kind, "state", &state, "tries", &tries, "seed", &seed,
            "submitted", &submitted, "began", &began, "ended", &ended, "run", &run, "model", &model,
            "alignment", &alignment, "absent", &absent, "by", &by, "min_parties", &least,
            "permutations", &orders, "columns", &columns, "without", &without, "outcome", &outcome,
            "error", &error) != 0 ||
        number < 1 || tries < 0 || least < 0 || orders < 0 || seed < 0 ||
        !take_name(kind, queue_kind_names, QUEUE_KINDS, &k) ||
        !take_name(state, queue_state_names, QUEUE_STATES, &st))
        return false;
    *j = (struct queue_job){.number = (uint32_t)number,
                            .kind = (enum queue_kind)k,
                            .state = (enum queue_state)st,
                            .tries = (uint32_t)tries,
                            .seed = (uint64_t)seed,
                            .submitted_s = submitted,
                            .began_s = began,
                            .ended_s = ended,
                            .min_parties = (uint32_t)least,
                            .orders = (uint32_t)orders};
    return take_text(j->run, sizeof j->run, run) && (run[0] == 0 || models_name(run)) &&
           take_text(j->model, sizeof j->model, model) && (model[0] == 0 || models_name(model)) &&
           (alignment[0] == 0 || key_text_is_alignment(alignment)) &&
           take_text(j->alignment, sizeof j->alignment, alignment) &&
           take_text(j->absent, sizeof j->absent, absent) && take_text(j->by, sizeof j->by, by) &&
           (by[0] == 0 || cert_name_is(by, strlen(by))) &&
           take_text(j->columns, sizeof j->columns, columns) &&
           take_text(j->without, sizeof j->without, without) &&
           take_text(j->outcome, sizeof j->outcome, outcome) &&
           take_text(j->error, sizeof j->error, error);
}

/* --- the file --- */

static void path_of(char out[CONFIG_PATH_MAX], const struct queue *q)
{
    snprintf(out, CONFIG_PATH_MAX, "%.*s/queue.json", CONFIG_PATH_MAX - 32, q->folder);
}

void queue_text_path(char out[CONFIG_PATH_MAX], const struct queue *q, const struct queue_job *job)
{
    static const char *const endings[QUEUE_KINDS] = {"plan", "ids", "ids", "align"};

    snprintf(out, CONFIG_PATH_MAX, "%.*s/%u.%s", CONFIG_PATH_MAX - 32, q->folder, job->number,
             endings[job->kind]);
}

static json_t *all_to_json(const struct queue *q)
{
    json_t *jobs = json_array();
    bool well = jobs != NULL;

    for (size_t i = 0; i < q->n && well; i++)
        well = json_array_append_new(jobs, job_to_json(&q->job[i])) == 0;
    if (well)
        return json_pack("{s:i, s:o}", "next", (int)q->next, "jobs", jobs);
    json_decref(jobs);
    return NULL;
}

static enum status save(const struct queue *q, struct error *err)
{
    json_t *all = all_to_json(q);
    const size_t n = all == NULL ? 0 : json_dumpb(all, NULL, 0, JSON_INDENT(1));
    char *text = n == 0 ? NULL : mem_alloc(n, 1), path[CONFIG_PATH_MAX];
    enum status s;

    path_of(path, q);
    if (text == NULL || json_dumpb(all, text, n, JSON_INDENT(1)) != n)
        s = error_set(err, STATUS_MEMORY, "%s: no memory", path);
    else
        s = file_write_atomic(path, text, n, 0600, err);
    json_decref(all);
    mem_free(text);
    return s;
}

static bool all_from_json(struct queue *q, json_t *all)
{
    json_t *jobs;
    int next;

    if (json_unpack(all, "{s:i, s:o !}", "next", &next, "jobs", &jobs) != 0 ||
        !json_is_array(jobs) || json_array_size(jobs) > QUEUE_JOBS_MAX)
        return false;
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        if (!job_from_json(&q->job[i], json_array_get(jobs, i)) ||
            (i > 0 && q->job[i].number <= q->job[i - 1].number))
            return false;
        q->n = i + 1;
    }
    q->next = (uint32_t)next;
    return next >= 1 && (q->n == 0 || q->job[q->n - 1].number < q->next);
}

static enum status load(struct queue *q, struct error *err)
{
    char path[CONFIG_PATH_MAX];
    json_error_t where;
    json_t *all = NULL;
    struct buf text;
    enum status s = STATUS_OK;

    path_of(path, q);
    buf_init(&text, FILE_MAX);
    if (access(path, F_OK) == 0) {
        s = file_read_own(path, &text, err);
        if (s == STATUS_OK)
            all = json_loadb((const char *)text.data, text.len, JSON_REJECT_DUPLICATES, &where);
        if (s == STATUS_OK && (all == NULL || !all_from_json(q, all)))
            s = error_set(err, STATUS_DATA, "%s: not a queue of this program's", path);
    }
    json_decref(all);
    buf_deinit(&text);
    return s;
}

/* Whoever died in the middle of a job may have died of it. */
static enum status begin_again(struct queue *q, struct error *err)
{
    bool changed = false;

    for (size_t i = 0; i < q->n; i++) {
        struct queue_job *j = &q->job[i];

        if (j->state != QUEUE_RUNNING)
            continue;
        changed = true;
        j->state = QUEUE_WAITING;
        if (j->tries < QUEUE_TRIES_MAX)
            continue;
        j->state = QUEUE_FAILED;
        j->ended_s = (int64_t)time(NULL);
        snprintf(j->outcome, sizeof j->outcome, "failed");
        snprintf(j->error, sizeof j->error, "%u servers ended in the middle of it", j->tries);
        log_error("job %u: %s", j->number, j->error);
    }
    return changed ? save(q, err) : STATUS_OK;
}

enum status queue_open(struct queue *q, const char *state, struct error *err)
{
    enum status s;

    *q = (struct queue){.next = 1};
    snprintf(q->folder, sizeof q->folder, "%.*s/jobs", CONFIG_PATH_MAX - 16, state);
    q->job = mem_alloc(QUEUE_JOBS_MAX, sizeof *q->job);
    if (q->job == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for %d jobs", QUEUE_JOBS_MAX);
    s = folder_make(q->folder, err);
    if (s == STATUS_OK)
        s = load(q, err);
    return s == STATUS_OK ? begin_again(q, err) : s;
}

void queue_close(struct queue *q)
{
    mem_free(q->job);
    *q = (struct queue){0};
}

/* --- looking --- */

static struct queue_job *find(const struct queue *q, uint32_t number)
{
    for (size_t i = 0; i < q->n; i++)
        if (q->job[i].number == number)
            return &q->job[i];
    return NULL;
}

const struct queue_job *queue_find(const struct queue *q, uint32_t number)
{
    return find(q, number);
}

const struct queue_job *queue_first(const struct queue *q)
{
    for (size_t i = 0; i < q->n; i++)
        if (q->job[i].state == QUEUE_WAITING)
            return &q->job[i];
    return NULL;
}

enum status queue_text(const struct queue *q, const struct queue_job *job, struct buf *out,
                       struct error *err)
{
    char path[CONFIG_PATH_MAX];

    queue_text_path(path, q, job);
    return file_read_own(path, out, err);
}

/* --- changes --- */

static enum status draw_seed(uint64_t *seed, struct error *err)
{
    struct rng fresh = {0};
    enum status s = rng_init_system(&fresh);

    if (s != STATUS_OK)
        return error_set(err, s, "no randomness for a seed");
    *seed = rng_u64(&fresh) >> (64 - SEED_BITS); /* readable as a number everywhere */
    rng_deinit(&fresh);
    return STATUS_OK;
}

/* Jobs that wait or run. */
static size_t unended(const struct queue *q)
{
    size_t n = 0;

    for (size_t i = 0; i < q->n; i++)
        n += q->job[i].state <= QUEUE_RUNNING;
    return n;
}

/* The oldest one that has ended makes room; what it was about goes once the file says so. */
static size_t oldest_ended(const struct queue *q)
{
    size_t i = 0;

    while (q->job[i].state <= QUEUE_RUNNING)
        CHECK(++i < q->n); /* fewer than all may wait */
    return i;
}

static void take_out(struct queue *q, size_t at)
{
    q->n--;
    memmove(&q->job[at], &q->job[at + 1], (q->n - at) * sizeof *q->job);
}

static void put_in(struct queue *q, size_t at, const struct queue_job *j)
{
    memmove(&q->job[at + 1], &q->job[at], (q->n - at) * sizeof *q->job);
    q->job[at] = *j;
    q->n++;
}

static void remove_text(const struct queue *q, const struct queue_job *j)
{
    char path[CONFIG_PATH_MAX];

    queue_text_path(path, q, j);
    (void)unlink(path); /* one that stays is read by nobody */
}

static enum status add(struct queue *q, const struct queue_job *job, struct error *err)
{
    const bool full = q->n == QUEUE_JOBS_MAX;
    const size_t at = full ? oldest_ended(q) : 0;
    const struct queue_job gone = q->job[at];
    enum status s;

    if (full)
        take_out(q, at);
    put_in(q, q->n, job);
    q->next++;
    s = save(q, err);
    if (s == STATUS_OK) {
        if (full)
            remove_text(q, &gone);
        return s;
    }
    q->next--;
    take_out(q, q->n - 1);
    if (full)
        put_in(q, at, &gone);
    return s;
}

enum status queue_add(struct queue *q, const struct queue_job *about, const char *text, size_t n,
                      uint32_t *number, struct error *err)
{
    struct queue_job job = *about;
    char path[CONFIG_PATH_MAX];
    enum status s;

    if (unended(q) >= QUEUE_WAITING_MAX || q->next >= INT32_MAX)
        return error_set(err, STATUS_POLICY, "%d jobs wait already", QUEUE_WAITING_MAX);
    job.number = q->next;
    job.state = QUEUE_WAITING;
    job.submitted_s = (int64_t)time(NULL);
    s = draw_seed(&job.seed, err);
    queue_text_path(path, q, &job);
    if (s == STATUS_OK)
        s = file_write_atomic(path, text, n, 0600, err);
    if (s != STATUS_OK)
        return s;
    s = add(q, &job, err);
    if (s == STATUS_OK)
        *number = job.number;
    else
        remove_text(q, &job);
    return s;
}

/* On the disk, or as it was. */
static enum status change(struct queue *q, const struct queue_job *to, struct error *err)
{
    struct queue_job *j = find(q, to->number);
    const struct queue_job was = *j;
    enum status s;

    *j = *to;
    s = save(q, err);
    if (s != STATUS_OK)
        *j = was;
    return s;
}

enum status queue_began(struct queue *q, uint32_t number, struct error *err)
{
    struct queue_job j = *find(q, number);

    CHECK(j.state == QUEUE_WAITING);
    j.state = QUEUE_RUNNING;
    j.tries++;
    j.began_s = (int64_t)time(NULL);
    return change(q, &j, err);
}

enum status queue_named(struct queue *q, uint32_t number, const char *run, struct error *err)
{
    struct queue_job j = *find(q, number);

    if (strcmp(j.run, run) == 0)
        return STATUS_OK;
    snprintf(j.run, sizeof j.run, "%s", run);
    return change(q, &j, err);
}

enum status queue_ended(struct queue *q, uint32_t number, enum queue_state how, const char *outcome,
                        const char *why, struct error *err)
{
    struct queue_job j = *find(q, number);

    CHECK(j.state <= QUEUE_RUNNING && how > QUEUE_RUNNING);
    j.state = how;
    j.ended_s = (int64_t)time(NULL);
    snprintf(j.outcome, sizeof j.outcome, "%s", outcome);
    snprintf(j.error, sizeof j.error, "%s", why);
    for (char *c = j.error; *c != 0; c++) /* a peer's words may be in it */
        if (*c < ' ' || *c > '~')
            *c = '?';
    return change(q, &j, err);
}

void queue_without(struct queue *q, uint32_t number, const char *names)
{
    struct queue_job *j = find(q, number);

    snprintf(j->without, sizeof j->without, "%s", names);
}

enum status queue_waits_again(struct queue *q, uint32_t number, struct error *err)
{
    struct queue_job j = *find(q, number);

    CHECK(j.state == QUEUE_RUNNING && j.tries > 0);
    j.state = QUEUE_WAITING;
    j.tries--;
    return change(q, &j, err);
}
