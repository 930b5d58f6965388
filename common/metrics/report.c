/* report.c -- summary.json, metrics.jsonl and the progress line.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/report.h"

#include "common/base/check.h"
#include "common/base/file.h"
#include "common/metrics/report_calibration.h"
#include "common/metrics/report_json.h"
#include "common/metrics/report_latency.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SUMMARY_BYTES_MAX = 4 << 20,
    METRICS_BYTES_MAX = 1 << 28,
    LINE_BYTES_MAX = 1 << 14, /* several times the longest there can be */
    SUMMARY_MODE = 0640,
};

static const char *const phase_names[TRAFFIC_PHASES] = {"setup", "train", "evaluate"};

static void put_reached(struct report_json *j, json_t *root, const struct report_reached *r)
{
    json_t *o;

    if (r->metric == NULL)
        return;
    o = report_json_object(j, root, "reached");
    report_json_text(j, o, "metric", r->metric);
    report_json_text(j, o, "split", r->split);
    report_json_real(j, o, "value", r->value);
    report_json_real(j, o, "epoch", r->epoch);
    report_json_count(j, o, "round", r->round);
    report_json_real(j, o, "seconds", r->seconds);
    report_json_count(j, o, "payload_bytes", r->payload_bytes);
}

/* Left out when nothing of it applies. */
static void put_degraded(struct report_json *j, json_t *parent, const struct report_degraded *d)
{
    json_t *o = NULL;

    for (int k = 0; k < REPORT_DEGRADATIONS; k++) {
        if (!d->applies[k])
            continue;
        if (o == NULL)
            o = report_json_object(j, parent, "degraded");
        report_json_count(j, o, report_degraded_name((enum report_degradation)k), d->count[k]);
    }
}

static void put_time(struct report_json *j, json_t *root, const struct summary *r)
{
    json_t *o = report_json_object(j, root, "time"), *spans;
    double train_s = spans_phase_s(r->spans, TRAFFIC_TRAIN);

    report_json_real(j, o, "setup_s", spans_phase_s(r->spans, TRAFFIC_SETUP));
    report_json_real(j, o, "train_s", train_s);
    report_json_real(j, o, "evaluate_s", spans_phase_s(r->spans, TRAFFIC_EVALUATE));
    report_json_real(j, o, "total_s", r->total_s);
    if (train_s > 0)
        report_json_real(j, o, "rounds_per_s", (double)(r->rounds - r->rounds_before) / train_s);
    spans = report_json_object(j, o, "spans");
    for (int i = 0; i < SPANS; i++)
        report_json_real(j, spans, spans_name((enum span)i), spans_s(r->spans, (enum span)i));
}

static void put_six(struct report_json *j, json_t *o, const struct traffic_sum *up,
                    const struct traffic_sum *down)
{
    report_json_count(j, o, "payload_up", up->payload);
    report_json_count(j, o, "payload_down", down->payload);
    report_json_count(j, o, "frame_up", up->frame);
    report_json_count(j, o, "frame_down", down->frame);
    report_json_count(j, o, "tls_up", up->tls);
    report_json_count(j, o, "tls_down", down->tls);
}

static void add_sum(struct traffic_sum *to, const struct traffic_sum *from)
{
    to->payload += from->payload;
    to->frame += from->frame;
    to->tls += from->tls;
}

static void put_messages(struct report_json *j, json_t *bytes, const struct traffic *t)
{
    json_t *all = report_json_object(j, bytes, "by_message");

    for (uint32_t kind = 0; kind < t->kinds; kind++) {
        struct traffic_cell c = traffic_of_kind(t, kind);
        json_t *o;

        if (c.count == 0)
            continue;
        o = report_json_object(j, all, t->names[kind]);
        report_json_count(j, o, "count", c.count);
        report_json_count(j, o, "payload", c.payload);
        report_json_count(j, o, "frame", c.frame);
    }
}

/* The six of one phase. */
static json_t *put_phase(struct report_json *j, json_t *bytes, const struct traffic *t,
                         enum traffic_phase p)
{
    struct traffic_sum up = traffic_of_phase(t, TRAFFIC_UP, p);
    struct traffic_sum down = traffic_of_phase(t, TRAFFIC_DOWN, p);
    json_t *o = report_json_object(j, bytes, phase_names[p]);

    put_six(j, o, &up, &down);
    return o;
}

/* The six of all phases. */
static void put_total(struct report_json *j, json_t *bytes, const struct traffic *t)
{
    struct traffic_sum up = {0}, down = {0};

    for (int p = 0; p < TRAFFIC_PHASES; p++) {
        struct traffic_sum of_up = traffic_of_phase(t, TRAFFIC_UP, (enum traffic_phase)p);
        struct traffic_sum of_down = traffic_of_phase(t, TRAFFIC_DOWN, (enum traffic_phase)p);

        add_sum(&up, &of_up);
        add_sum(&down, &of_down);
    }
    put_six(j, report_json_object(j, bytes, "total"), &up, &down);
}

static void put_bytes(struct report_json *j, json_t *root, const struct summary *r)
{
    json_t *bytes = report_json_object(j, root, "bytes");

    for (int p = 0; p < TRAFFIC_PHASES; p++) {
        json_t *o = put_phase(j, bytes, r->traffic, (enum traffic_phase)p);

        if (p == TRAFFIC_TRAIN && r->has_formula) {
            report_json_count(j, o, "formula_up", r->formula_up);
            report_json_count(j, o, "formula_down", r->formula_down);
        }
    }
    put_total(j, bytes, r->traffic);
    put_messages(j, bytes, r->traffic);
}

static void put_lateness(struct report_json *j, json_t *o, const struct report_party *p)
{
    if (p->has_shares) {
        report_json_real(j, o, "share_wait_s", p->share_wait_s);
        report_json_count(j, o, "slowest_shares", p->slowest_shares);
    }
    if (p->can_miss) {
        report_json_count(j, o, "missing_uploads", p->missing_uploads);
        report_json_count(j, o, "late_uploads", p->late_uploads);
    }
    if (p->can_be_absent)
        report_json_count(j, o, "absent_rounds", p->absent_rounds);
}

static void put_parties(struct report_json *j, json_t *root, const struct summary *r)
{
    json_t *list = report_json_array(j, root, "parties");

    for (uint32_t i = 0; i < r->party_n; i++) {
        const struct report_party *p = &r->party[i];
        json_t *o = json_object();

        report_json_text(j, o, "name", p->name);
        if (r->traffic != NULL && i < r->traffic->parties) {
            report_json_count(j, o, "frame_up", traffic_of_party(r->traffic, i, TRAFFIC_UP).frame);
            report_json_count(j, o, "frame_down",
                              traffic_of_party(r->traffic, i, TRAFFIC_DOWN).frame);
        }
        report_json_real(j, o, "wait_s", p->wait_s);
        report_json_count(j, o, "slowest_rounds", p->slowest_rounds);
        report_json_count(j, o, "lost", p->lost);
        report_json_count(j, o, "rejoined", p->rejoined);
        put_lateness(j, o, p);
        if (p->has_usage) {
            report_json_count(j, o, "max_rss_kb", p->max_rss_kb);
            report_json_real(j, o, "cpu_s", p->cpu_s);
        }
        report_json_append(j, list, o);
    }
}

static void put_mechanism(struct report_json *j, json_t *list, const struct report_mechanism *m)
{
    json_t *o = json_object();

    report_json_text(j, o, "mechanism", m->kind);
    CHECK(m->parameters <= REPORT_PARAMETERS_MAX);
    for (const struct report_parameter *p = m->parameter; p < m->parameter + m->parameters; p++)
        if (p->whole)
            report_json_count(j, o, p->name, (uint64_t)p->value);
        else
            report_json_real(j, o, p->name, p->value);
    report_json_count(j, o, "coordinates", m->coordinates);
    report_json_count(j, o, "parties", m->parties);
    report_json_count(j, o, "colluders", m->colluders);
    report_json_flag(j, o, "clear", m->clear);
    report_json_flag(j, o, "each", m->each);
    report_json_text(j, o, "bottom", m->bottom);
    if (m->steps > 0) {
        report_json_real(j, o, "step_noise", m->step_noise);
        report_json_count(j, o, "steps", m->steps);
        report_json_count(j, o, "trained_max", m->trained_max);
    }
    report_json_count(j, o, "releases", m->releases);
    report_json_count(j, o, "participations_max", m->participations_max);
    report_json_append(j, list, o);
}

/* What a party says beyond its claims: by what they came about. */
static void put_account(struct report_json *j, json_t *o, const struct report_privacy *p)
{
    json_t *list;

    CHECK(p->mechanisms_n <= REPORT_MECHANISMS_MAX && p->bins_n <= REPORT_BINS_MAX);
    report_json_text(j, o, "labels", p->labels);
    if (p->mechanisms_n > 0) {
        list = report_json_array(j, o, "mechanisms");
        for (size_t i = 0; i < p->mechanisms_n; i++)
            put_mechanism(j, list, &p->with[i]);
    }
    if (p->bins_n == 0)
        return;
    list = report_json_array(j, o, "participations");
    for (size_t i = 0; i < p->bins_n; i++) {
        json_t *bin;

        if (p->bin[i] == 0)
            continue;
        bin = json_object();
        report_json_count(j, bin, "from", i * p->bin_width);
        report_json_count(j, bin, "to", (i + 1) * p->bin_width - 1);
        report_json_count(j, bin, "records", p->bin[i]);
        report_json_append(j, list, bin);
    }
}

static void put_privacy(struct report_json *j, json_t *root, const struct report_privacy *p)
{
    json_t *o, *releases, *list;

    if (p->mechanism == NULL)
        return;
    CHECK(p->claims_n <= REPORT_CLAIMS_MAX);
    o = report_json_object(j, root, "privacy");
    report_json_text(j, o, "mechanism", p->mechanism);
    report_json_real(j, o, "delta", p->delta);
    releases = report_json_object(j, o, "releases");
    report_json_count(j, releases, "train", p->train);
    report_json_count(j, releases, "evaluate", p->evaluate);
    report_json_count(j, releases, "predict", p->predict);
    report_json_count(j, o, "participations_max", p->participations_max);
    report_json_count(j, o, "m_min", p->m_min);
    list = report_json_array(j, o, "claims");
    for (size_t i = 0; i < p->claims_n; i++) {
        const struct report_claim *c = &p->claim[i];
        json_t *claim = json_object();

        report_json_text(j, claim, "adversary", c->adversary);
        report_json_count(j, claim, "m_eff", c->m_eff);
        report_json_text(j, claim, "adjacency", c->adjacency);
        report_json_real(j, claim, "alpha", c->alpha);
        report_json_real(j, claim, "epsilon", c->epsilon);
        report_json_flag(j, claim, "vacuous", c->vacuous);
        report_json_append(j, list, claim);
    }
    put_account(j, o, p);
}

static void put_models(struct report_json *j, json_t *root, const struct summary *r)
{
    json_t *o, *list;
    bool any = false;

    for (size_t i = 0; i < r->party_n; i++)
        any = any || r->party[i].model_sha256[0] != 0;
    if (!any && r->head_sha256[0] == 0)
        return;
    o = report_json_object(j, root, "model_sha256");
    report_json_text(j, o, "head", r->head_sha256);
    if (!any)
        return;
    list = report_json_array(j, o, "parties");
    for (size_t i = 0; i < r->party_n; i++)
        report_json_append(j, list, json_string(r->party[i].model_sha256));
}

static void put_without(struct report_json *j, json_t *root, const struct summary *r)
{
    json_t *list = r->without_n == 0 ? NULL : report_json_array(j, root, "without");

    for (size_t i = 0; i < r->without_n; i++)
        report_json_append(j, list, json_string(r->without[i]));
}

static void put_all(struct report_json *j, json_t *root, const struct summary *r)
{
    report_json_text(j, root, "status", r->status);
    report_json_text(j, root, "error", r->error);
    report_json_text(j, root, "warning", r->warning);
    report_json_flag(j, root, "plaintext", r->plaintext);
    report_json_flag(j, root, "insecure_seed", r->insecure_seed);
    report_json_count(j, root, "rounds", r->rounds);
    report_json_some(j, root, "ids", r->ids);
    report_json_some(j, root, "labelled", r->labelled);
    if (r->ids > 0 && r->labelled == 0)
        report_json_count(j, root, "common", r->common);
    report_json_some(j, root, "extended", r->extended);
    report_json_some(j, root, "rows", r->rows);
    report_json_some(j, root, "times", r->asks);
    report_json_some(j, root, "kept", r->kept);
    put_without(j, root, r);
    report_latency(j, root, r->latency);
    report_json_count(j, root, "void_rounds", r->void_rounds);
    report_json_real(j, root, "epochs", r->epochs);
    report_json_count(j, root, "parties_n", r->parties_n);
    put_degraded(j, root, &r->degraded);
    report_json_score(j, root, "train", &r->train);
    report_json_score(j, root, "validate", &r->validate);
    report_json_score(j, root, "test", &r->test);
    report_best(j, root, &r->best);
    report_calibration(j, root, &r->calibrated);
    put_reached(j, root, &r->reached);
    if (r->spans != NULL)
        put_time(j, root, r);
    if (r->traffic != NULL)
        put_bytes(j, root, r);
    put_parties(j, root, r);
    if (r->has_server) {
        json_t *o = report_json_object(j, root, "server");

        report_json_count(j, o, "max_rss_kb", r->server_max_rss_kb);
        report_json_real(j, o, "cpu_s", r->server_cpu_s);
    }
    put_privacy(j, root, &r->privacy);
    put_models(j, root, r);
}

enum status report_print(const struct summary *r, struct buf *out)
{
    struct report_json j = {0};
    json_t *root = json_object();
    enum status s = STATUS_MEMORY;
    char *text;

    CHECK(r->status != NULL && r->party_n <= REPORT_PARTIES_MAX);
    put_all(&j, root, r);
    text = report_json_dump(&j, root, true);
    if (text != NULL)
        s = buf_append(out, text, strlen(text));
    if (s == STATUS_OK)
        s = buf_append(out, "\n", 1);
    report_json_free(text);
    json_decref(root);
    return s;
}

enum status report_write(const struct summary *r, const char *path, struct error *err)
{
    struct buf text;
    enum status s;

    buf_init(&text, SUMMARY_BYTES_MAX);
    s = report_print(r, &text);
    if (s == STATUS_OK)
        s = file_write_atomic(path, text.data, text.len, SUMMARY_MODE, err);
    else
        error_set(err, s, "%s: %s", path, status_words(s));
    buf_deinit(&text);
    return s;
}

/* --- one line for each evaluation --- */

/* What a writer that was killed, or a full disk, has left behind the last whole line. */
static enum status cut_half_line(int fd)
{
    char tail[LINE_BYTES_MAX];
    struct stat st;
    off_t from;
    ssize_t n;

    if (fstat(fd, &st) != 0)
        return STATUS_IO;
    from = st.st_size > LINE_BYTES_MAX ? st.st_size - LINE_BYTES_MAX : 0;
    n = pread(fd, tail, sizeof tail, from);
    if (n < 0)
        return STATUS_IO;
    while (n > 0 && tail[n - 1] != '\n')
        n--;
    return from + n == st.st_size || ftruncate(fd, from + n) == 0 ? STATUS_OK : STATUS_IO;
}

/* One write of a whole line, so that a reader never sees half of it. */
static enum status append_line(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, text, n);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return STATUS_IO;
        text += written;
        n -= (size_t)written;
    }
    return STATUS_OK;
}

static enum status append_text(const char *path, const char *text, size_t n, struct error *err)
{
    int fd;
    enum status s = file_open_own(&fd, path, O_RDWR | O_CREAT | O_APPEND, SUMMARY_MODE, err);

    if (s != STATUS_OK)
        return s;
    s = cut_half_line(fd);
    if (s == STATUS_OK)
        s = append_line(fd, text, n);
    if (s != STATUS_OK) {
        error_set(err, s, "%s: %s", path, strerror(errno));
        if (cut_half_line(fd) != STATUS_OK)
            error_wrap(err, "half a line stays");
    }
    close(fd);
    return s;
}

/* The text is the caller's to report_json_free; *n counts its line end. */
static enum status line_of(char **text, size_t *n, const struct report_evaluation *e)
{
    struct report_json j = {0};
    json_t *root = json_object();

    report_json_real(&j, root, "epoch", e->epoch);
    report_json_count(&j, root, "round", e->round);
    report_json_real(&j, root, "seconds", e->seconds);
    report_json_real(&j, root, "train_s", e->train_s);
    report_json_count(&j, root, "bytes", e->bytes);
    if (e->traffic != NULL) {
        json_t *o = report_json_object(&j, root, "traffic");

        put_phase(&j, o, e->traffic, TRAFFIC_TRAIN);
        put_total(&j, o, e->traffic);
    }
    put_degraded(&j, root, &e->degraded);
    report_json_score(&j, root, "train", &e->train);
    report_json_score(&j, root, "validate", &e->validate);
    report_json_score(&j, root, "test", &e->test);
    *text = report_json_dump(&j, root, false);
    json_decref(root);
    if (*text == NULL)
        return STATUS_MEMORY;
    *n = strlen(*text);
    (*text)[(*n)++] = '\n'; /* in the place of the final 0 */
    return STATUS_OK;
}

/* What a line says that another process comes to as well; NULL when it is no line of ours. */
static json_t *outcome_of(const char *line, size_t n)
{
    static const char *const own[] = {"seconds", "train_s", "bytes", "traffic", "degraded"};
    json_t *o = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        json_object_del(o, own[i]);
    return o;
}

static bool has_evaluation(const struct buf *file, const json_t *outcome)
{
    const char *at = (const char *)file->data;
    size_t left = file->len;
    bool found = false;

    while (left > 0 && !found) {
        const char *end = memchr(at, '\n', left);
        const size_t length = end == NULL ? left : (size_t)(end - at) + 1;
        json_t *one = outcome_of(at, length);

        found = json_equal(one, outcome);
        json_decref(one);
        at += length;
        left -= length;
    }
    return found;
}

static enum status append_once(const char *path, const char *text, size_t n, struct error *err)
{
    json_t *outcome = outcome_of(text, n);
    struct buf file;
    enum status s = STATUS_OK;

    if (outcome == NULL)
        return error_set(err, STATUS_MEMORY, "%s: %s", path, status_words(STATUS_MEMORY));
    buf_init(&file, METRICS_BYTES_MAX);
    if (access(path, F_OK) == 0)
        s = file_read_own(path, &file, err);
    if (s == STATUS_OK && !has_evaluation(&file, outcome))
        s = append_text(path, text, n, err);
    buf_deinit(&file);
    json_decref(outcome);
    return s;
}

static enum status append(const char *path, const struct report_evaluation *e,
                          enum status (*how)(const char *path, const char *text, size_t n,
                                             struct error *err),
                          struct error *err)
{
    char *text;
    size_t n;
    enum status s = line_of(&text, &n, e);

    if (s != STATUS_OK)
        return error_set(err, s, "%s: %s", path, status_words(s));
    s = how(path, text, n, err);
    report_json_free(text);
    return s;
}

enum status report_append(const char *path, const struct report_evaluation *e, struct error *err)
{
    return append(path, e, append_text, err);
}

enum status report_append_once(const char *path, const struct report_evaluation *e,
                               struct error *err)
{
    return append(path, e, append_once, err);
}
