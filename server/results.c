/* results.c -- the server's files and its progress line.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/results.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/config/aggregation.h"
#include "common/daemon/model.h"
#include "common/daemon/models.h"
#include "common/metrics/report_progress.h"
#include "common/secagg/secagg.h"
#include "common/wire/message.h"
#include "server/align/align.h"
#include "server/missing.h"
#include "server/scores.h"
#include "server/train/formula.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SLOW_US = 200000 };

static const char *kind_names[WIRE_KINDS];

/* Rows to choose by stand among the test rows. */
static enum status count_apart(struct server_results *r, const struct server_inputs *in)
{
    const size_t all = in->test.rows, k = in->target.width;
    float *sorted = mem_alloc(all, k * sizeof *sorted);
    size_t validate = 0, test = all;

    if (sorted == NULL)
        return STATUS_MEMORY;
    for (size_t i = 0; i < all; i++)
        memcpy(sorted + k * (validate_row(&in->target.validate, i) ? validate++ : --test),
               in->target.test + k * i, k * sizeof *sorted);
    r->validate = server_targets_count(&in->target, sorted, validate);
    r->test = server_targets_count(&in->target, sorted + k * validate, all - validate);
    mem_free(sorted);
    return STATUS_OK;
}

enum status server_results_init(struct server_results *r, const struct server_inputs *in,
                                const struct server_options *o, uint64_t now_us)
{
    memset(r, 0, sizeof *r);
    r->in = in;
    r->options = o;
    r->start_us = r->last_line_us = now_us;
    r->train = server_targets_count(&in->target, in->target.train, in->train.rows);
    r->test = server_targets_count(&in->target, in->target.test, in->test.rows);
    if (in->target.validate.from != NULL && count_apart(r, in) != STATUS_OK)
        return STATUS_MEMORY;
    for (int k = 0; k < WIRE_KINDS; k++)
        kind_names[k] = wire_kind_name((enum wire_kind)k);
    return traffic_init(&r->traffic, (uint32_t)in->roster.n, kind_names, WIRE_KINDS);
}

void server_results_deinit(struct server_results *r)
{
    traffic_deinit(&r->traffic);
}

void server_results_go_on(struct server_results *r, const struct server_report *rep)
{
    r->summary.rounds_before = r->last_rounds = rep->rounds;
}

void server_results_round(struct server_results *r, uint32_t members, uint32_t rows,
                          const struct fedvs_terms *terms, uint64_t now_us)
{
    struct server_formula formula;

    if (r->first_round_us == 0)
        r->first_round_us = now_us;
    server_formula(&formula, &r->in->config.plan, members, rows, terms);
    r->formula_up += (uint64_t)formula.up;
    r->formula_down += (uint64_t)formula.down;
}

/* --- degradations --- */

/* May a round close without a member's upload, and may training go on without a party? */
static bool can_miss(const struct plan *p)
{
    return secagg_shares(p->protocol.aggregation) || aggregation_partial(p);
}

static bool can_be_absent(const struct plan *p)
{
    return p->protocol.straggler == STRAGGLER_DROP;
}

static struct report_degraded degraded_of(const struct plan *p, const struct server_report *rep)
{
    const struct server_degraded *d = &rep->degraded;
    struct report_degraded out = {0};

    if (can_miss(p))
        report_degraded_set(&out, REPORT_MISSING_UPLOADS, d->missing);
    if (can_miss(p) || can_be_absent(p))
        report_degraded_set(&out, REPORT_LATE_UPLOADS, d->late);
    if (can_be_absent(p))
        report_degraded_set(&out, REPORT_ABSENT_PARTIES, d->absent);
    if (p->protocol.straggler == STRAGGLER_ASYNC) {
        report_degraded_set(&out, REPORT_STALE_EMBEDDINGS, d->stale);
        report_degraded_set(&out, REPORT_UNSEEN_EMBEDDINGS, d->unseen);
    }
    if (secagg_shares(p->protocol.aggregation)) {
        report_degraded_set(&out, REPORT_UNVERIFIED_DECODES, d->unverified);
        report_degraded_set(&out, REPORT_FAULTY_UPLOADS, d->faulty);
    }
    if (p->protocol.straggler == STRAGGLER_WAIT)
        report_degraded_set(&out, REPORT_REPLAYED_GRADIENTS, d->replayed);
    report_degraded_set(&out, REPORT_VOID_ROUNDS, rep->void_rounds);
    report_degraded_set(&out, REPORT_INTEGRITY_FAILURES, rep->integrity_failures);
    return out;
}

/* --- while it runs --- */

static double seconds_since(uint64_t then_us, uint64_t now_us)
{
    return then_us == 0 ? 0 : 1e-6 * (double)(now_us - then_us);
}

static uint64_t training_payload(const struct traffic *t)
{
    return traffic_of_phase(t, TRAFFIC_UP, TRAFFIC_TRAIN).payload +
           traffic_of_phase(t, TRAFFIC_DOWN, TRAFFIC_TRAIN).payload;
}

static uint64_t all_frames(const struct traffic *t)
{
    uint64_t sum = 0;

    for (int d = 0; d < TRAFFIC_DIRECTIONS; d++) {
        for (int p = 0; p < TRAFFIC_PHASES; p++)
            sum += traffic_of_phase(t, (enum traffic_direction)d, (enum traffic_phase)p).frame;
    }
    return sum;
}

_Static_assert(METRIC_F1_MICRO - METRIC_FIRST + 1 == SCORE_METRICS,
               "a plan can stop by each score");

static const char *metric_name(enum plan_metric m)
{
    return score_names[m - METRIC_FIRST];
}

static void path_in_state(char out[CONFIG_PATH_MAX], const struct server_results *r,
                          const char *name)
{
    snprintf(out, CONFIG_PATH_MAX, "%.*s/%s", CONFIG_PATH_MAX - 32, r->in->config.state, name);
}

/* Of the process that reached the target, or else of the one that ends the run. */
static void note_reached(struct server_results *r, const struct server_report *rep, uint64_t now_us)
{
    if (!rep->measured.reached.yes || r->summary.reached.metric != NULL)
        return;
    r->summary.reached = (struct report_reached){
        .metric = metric_name(r->in->config.plan.training.stop.metric),
        .split = plan_splits[r->in->config.plan.training.stop.split],
        .value = rep->measured.reached.value,
        .epoch = rep->measured.reached.epoch,
        .seconds = seconds_since(r->first_round_us, now_us),
        .round = rep->measured.reached.round,
        .payload_bytes = training_payload(&r->traffic),
    };
}

/* Of a run that is complete: else the model is that of its last step. */
static void fill_best(struct server_results *r, const struct server_report *rep)
{
    const struct server_best_of *best = &rep->measured.best;

    r->summary.best = (struct report_best){
        .yes = rep->measured.settled,
        .metric = metric_name(plan_best_by(&r->in->config.plan)),
        .epoch = best->epoch,
        .value = best->value,
        .round = best->round,
    };
}

static struct report_evaluation evaluation_of(const struct server_results *r,
                                              const struct server_report *rep, uint64_t now_us)
{
    return (struct report_evaluation){
        .epoch = rep->epochs,
        .epochs = r->in->config.plan.training.epochs,
        .round = rep->rounds,
        .seconds = seconds_since(r->first_round_us, now_us),
        .bytes = training_payload(&r->traffic),
        .traffic = &r->traffic,
        .degraded = degraded_of(&r->in->config.plan, rep),
        .train = rep->measured.scored.train,
        .validate = rep->measured.scored.validate,
        .test = rep->measured.scored.test,
    };
}

enum status server_results_evaluation(struct server_results *r, const struct server_report *rep,
                                      double train_s, uint64_t now_us, struct error *err)
{
    char path[CONFIG_PATH_MAX];
    struct report_evaluation e = evaluation_of(r, rep, now_us);

    e.train_s = train_s;
    note_reached(r, rep, now_us);
    path_in_state(path, r, "metrics.jsonl");
    /* Under releases once a restarted server begins with the head again. */
    return r->in->config.plan.training.releases == RELEASES_ONCE ? report_append_once(path, &e, err)
                                                                 : report_append(path, &e, err);
}

enum status server_results_replayed(struct server_results *r, const struct server_report *rep,
                                    uint64_t now_us, struct error *err)
{
    char path[CONFIG_PATH_MAX];
    struct report_evaluation e = evaluation_of(r, rep, now_us);

    path_in_state(path, r, "metrics.jsonl");
    return report_append_once(path, &e, err);
}

/* Of the model that a run leaves, when it is over. */
static const struct server_scored *scored_at_end(const struct server_report *rep)
{
    const struct server_measured *m = &rep->measured;

    return m->settled ? &m->best.scored : &m->scored;
}

/* The scores that count, those of the test rows if there are any, and whose labels they are of. */
static const struct score *scored(const struct server_results *r, const struct server_scored *of,
                                  const struct verdict_labels **labels, const char **split)
{
    const enum plan_split which = of->test.has[SCORE_LOSS]       ? SPLIT_TEST
                                  : of->validate.has[SCORE_LOSS] ? SPLIT_VALIDATE
                                                                 : SPLIT_TRAIN;

    *split = plan_splits[which];
    switch (which) {
    case SPLIT_TEST: *labels = &r->test; return &of->test;
    case SPLIT_VALIDATE: *labels = &r->validate; return &of->validate;
    case SPLIT_TRAIN: break;
    }
    *labels = &r->train;
    return &of->train;
}

static void shown_metric(const struct server_results *r, const struct server_report *rep,
                         struct report_progress *p)
{
    const struct verdict_labels *labels;
    enum score_metric m;
    const struct score *s = scored(r, &rep->measured.scored, &labels, &p->split);

    if (!verdict_metric(&m, s, labels))
        return;
    p->metric_name = score_names[m];
    p->metric = s->value[m];
}

void server_results_verdict(struct server_results *r, const struct server_report *rep)
{
    const struct verdict_labels *labels;
    enum score_metric m;
    const char *split, *nothing;
    const struct score *s = scored(r, scored_at_end(rep), &labels, &split);

    if (!verdict_metric(&m, s, labels))
        return;
    log_info("the model's %s %s is %.4f after %g epochs", split, score_names[m], s->value[m],
             rep->measured.settled ? rep->measured.best.epoch : rep->epochs);
    if (scored_at_end(rep)->calibrated.rows > 0)
        log_info("its probabilities have the temperature %.3g, by %llu validation rows: the "
                 "calibration error of the %s rows goes from %.4f to %.4f",
                 scored_at_end(rep)->calibrated.temperature,
                 (unsigned long long)scored_at_end(rep)->calibrated.rows, split,
                 scored_at_end(rep)->calibrated.before, scored_at_end(rep)->calibrated.after);
    nothing = verdict_learned_nothing(s, labels);
    if (nothing == NULL)
        return;
    snprintf(r->warning, sizeof r->warning,
             "the model has learned nothing that the %s rows show: %s", split, nothing);
    r->summary.warning = r->warning;
    log_warn("%s", r->warning);
}

void server_results_progress(struct server_results *r, const struct server_report *rep,
                             uint64_t now_us, bool line_end)
{
    char line[REPORT_PROGRESS_MAX];
    struct report_progress p = {
        .epoch = rep->epochs,
        .epochs = r->in->config.plan.training.epochs,
        .loss = rep->measured.last_loss,
        .bytes = all_frames(&r->traffic),
        .missing = rep->missing_now,
        .degraded = degraded_of(&r->in->config.plan, rep),
    };
    double passed = seconds_since(r->last_line_us, now_us);
    bool terminal = isatty(STDOUT_FILENO);

    if (!r->options->progress || (!terminal && !line_end))
        return;
    if (passed > 0.2) {
        r->rounds_per_s = (double)(rep->rounds - r->last_rounds) / passed;
        r->last_rounds = rep->rounds;
        r->last_line_us = now_us;
    }
    p.rounds_per_s = r->rounds_per_s;
    /* Before the first whole window. */
    if (r->last_rounds == r->summary.rounds_before && now_us > r->first_round_us)
        p.rounds_per_s =
            (double)(rep->rounds - r->last_rounds) / seconds_since(r->first_round_us, now_us);
    /* Somebody is always last; a line names nobody for less than a visible pause. */
    if (rep->presence.waiting_for >= 0 && now_us - rep->presence.waiting_since_us > SLOW_US)
        p.slow = r->in->roster.party[rep->presence.waiting_for].name;
    shown_metric(r, rep, &p);
    report_progress_line(line, &p);
    printf(terminal ? "\r%s\033[K%s" : "%s%s", line, line_end || !terminal ? "\n" : "");
    fflush(stdout);
}

/* --- the end --- */

static void fill_lateness(struct report_party *p, const struct plan *plan,
                          const struct server_report *rep, size_t i)
{
    p->has_shares = secagg_shares(plan->protocol.aggregation);
    p->share_wait_s = 1e-6 * (double)rep->shares.us[i];
    p->slowest_shares = rep->shares.times[i];
    p->can_miss = can_miss(plan) || can_be_absent(plan);
    p->missing_uploads = rep->whose.missing[i];
    p->late_uploads = rep->whose.late[i];
    p->can_be_absent = can_be_absent(plan);
    p->absent_rounds = rep->whose.absent[i];
}

static void fill_parties(struct server_results *r, const struct server_report *rep)
{
    r->summary.party_n = r->summary.parties_n = (uint32_t)r->in->roster.n;
    for (size_t i = 0; i < r->in->roster.n; i++) {
        struct report_party *p = &r->summary.party[i];
        snprintf(p->name, sizeof p->name, "%s", r->in->roster.party[i].name);
        p->wait_s = 1e-6 * (double)rep->uploads.us[i];
        p->slowest_rounds = rep->uploads.times[i];
        p->lost = rep->presence.lost[i];
        p->rejoined = rep->presence.joined[i] > 0 ? rep->presence.joined[i] - 1 : 0;
        fill_lateness(p, &r->in->config.plan, rep, i);
    }
}

enum status server_results_package(const struct server_results *r, struct server_session *s,
                                   struct error *err)
{
    const struct server_report *rep = server_session_report(s);
    const struct server_scored *end = scored_at_end(rep);
    const struct server_best_of *best = &rep->measured.best;
    const bool settled = rep->measured.settled;
    const bool once = r->in->config.plan.training.releases == RELEASES_ONCE;
    struct package m;
    enum status st;

    package_init(&m);
    m.role = PACKAGE_HEAD;
    m.plan = r->in->config.plan;
    m.steps = settled && !once ? best->step : rep->steps;
    m.epochs = settled ? best->epoch : rep->epochs;
    m.reach = server_session_reach(s);
    memcpy(m.trail, rep->trail, sizeof m.trail);
    m.center = server_session_top(s)->center;
    m.spread = server_session_top(s)->spread;
    if (end->calibrated.rows > 0)
        m.temperature = (float)end->calibrated.temperature;
    package_score(m.score, &end->train, &end->validate, &end->test);
    st = server_targets_names(&r->in->target, &m.classes);
    st = st == STATUS_OK ? models_keep(r->in->home, &m, server_session_head(s), true, err)
                         : error_set(err, st, "model package: %s", status_words(st));
    if (st == STATUS_OK && program_failed(r->in->head.program) != NULL) {
        log_warn("the model of run %s is kept, and not in use: its head is lost", m.run);
    } else if (st == STATUS_OK) {
        st = models_use(r->in->home, m.run, err);
        if (st == STATUS_OK)
            log_info("the model of run %s is kept, and in use", m.run);
    }
    package_deinit(&m);
    return st;
}

enum status server_results_keep(const struct server_inputs *in, struct server_session *s,
                                struct error *err)
{
    const struct predict_scored p = server_predict_scored(server_session_predictions(s));

    return missing_keep(in, &p, err);
}

enum status server_results_predictions(const struct server_inputs *in, const char *path,
                                       struct error *err)
{
    struct nn_head head;
    struct scores out;
    enum status st = STATUS_OK;

    if (path == NULL)
        return st;
    nn_head_shape(&head, &in->config.plan);
    out = (struct scores){.loss = head.loss, .outputs = head.outputs, .targets = head.targets};
    st = scores_open(&out, path, false, err);
    if (st != STATUS_OK)
        return st;
    for (uint32_t i = 0; i < in->wanted.n; i++) {
        size_t n;
        const char *id = ids_get(&in->wanted, i, &n);
        const float *score = answers_find(in->answers, id, n);

        id = ids_name(&in->wanted, i, in->asked.placed, &n);
        scores_put(&out, id, n, NULL, score);
    }
    st = scores_close(&out, err);
    return st == STATUS_OK ? missing_write(in, path, err) : st;
}

/* The rows of an alignment that stay are in one that has come to its end. */
static void note_aligned(struct server_results *r, const struct server_session *s)
{
    const struct server_inputs *in = r->in;
    const struct server_alignment a = server_align_result(server_session_alignment(s));
    const uint32_t before = a.transcript != NULL ? in->listed.roll->old.file.n : 0;

    r->summary.ids = in->listed.roll->listed;
    r->summary.extended = before;
    if (alignment_labelled(&in->listed.about) > 0)
        r->summary.labelled = alignment_labelled(&in->listed.about) + before;
    r->summary.common = a.common + before;
}

/* What predictions are of: so many rows, and who is not in them. */
static void note_asked(struct server_results *r, const struct server_session *s)
{
    const struct server_inputs *in = r->in;
    bool missing[WIRE_MEMBERS_MAX];

    r->summary.rows = in->wanted.n;
    r->summary.kept = in->wanted.n - in->missing.n;
    if (in->listed.aligns)
        note_aligned(r, s);
    r->summary.asks = in->asks.n;
    if (!in->predicts || in->asks.n > 0)
        return;
    missing_from(missing, in);
    for (size_t i = 0; i < in->roster.n; i++)
        if (missing[i])
            r->summary.without[r->summary.without_n++] = in->roster.party[i].name;
}

enum status server_results_kept(const struct server_inputs *in, const struct server_options *o,
                                struct error *err)
{
    struct server_results r;
    struct spans none = {0};
    char path[CONFIG_PATH_MAX];
    enum status st = server_results_init(&r, in, o, clock_us());

    if (st != STATUS_OK)
        return error_set(err, st, "predictions: %s", status_words(st));
    log_info("all %u rows were answered before: nobody is asked", in->wanted.n);
    r.summary.status = "completed";
    r.summary.plaintext = aggregation_of(&in->config.plan)->plaintext;
    r.summary.insecure_seed = o->seeded;
    note_asked(&r, NULL);
    r.summary.parties_n = (uint32_t)in->roster.n;
    r.summary.spans = &none;
    r.summary.traffic = &r.traffic;
    path_in_state(path, &r, "prediction.json");
    st = server_results_predictions(in, o->scores, err);
    if (st == STATUS_OK)
        st = report_write(&r.summary, path, err);
    server_results_deinit(&r);
    return st;
}

enum status server_results_scores(const struct server_results *r, struct server_session *s,
                                  struct error *err)
{
    const struct table *test = &r->in->test;
    struct server_tested t;
    struct scores out = {0};
    enum status st;

    if (r->options->scores == NULL)
        return STATUS_OK;
    st = server_session_tested(s, &t);
    if (st == STATUS_DATA) {
        log_warn("%s is not written: the run has no scores of all its test rows",
                 r->options->scores);
        return STATUS_OK;
    }
    out.loss = t.loss;
    out.outputs = t.outputs;
    out.targets = r->in->target.width;
    if (st != STATUS_OK)
        return error_set(err, st, "scores: %s", status_words(st));
    out.calibrated = scored_at_end(server_session_report(s))->calibrated;
    st = scores_open(&out, r->options->scores, true, err);
    for (size_t i = 0; i < test->rows && st == STATUS_OK; i++) {
        size_t n;
        const char *id = placed_own_id(&r->in->target.placed.test, test, i, &n);

        if (validate_row(&r->in->target.validate, i))
            continue;
        scores_put(&out, id, n, r->in->target.test + i * out.targets,
                   t.prob + (size_t)t.at[i] * t.outputs);
    }
    if (st == STATUS_OK)
        st = scores_close(&out, err);
    mem_free(t.at);
    return st;
}

enum status server_results_end(struct server_results *r, struct server_session *s,
                               const char *outcome, const struct error *why, uint64_t now_us,
                               struct error *err)
{
    const struct server_report *rep = server_session_report(s);
    const struct plan *p = &r->in->config.plan;
    char path[CONFIG_PATH_MAX];
    struct rusage usage;
    enum status st = STATUS_OK;

    getrusage(RUSAGE_SELF, &usage);
    fill_parties(r, rep);
    note_reached(r, rep, now_us);
    r->summary.status = outcome;
    r->summary.error = why->text;
    r->summary.plaintext = aggregation_of(p)->plaintext;
    r->summary.insecure_seed = r->options->seeded;
    r->summary.rounds = rep->rounds;
    r->summary.void_rounds = rep->void_rounds;
    r->summary.degraded = degraded_of(p, rep);
    r->summary.epochs = rep->epochs;
    r->summary.train = scored_at_end(rep)->train;
    r->summary.validate = scored_at_end(rep)->validate;
    r->summary.test = scored_at_end(rep)->test;
    r->summary.calibrated = scored_at_end(rep)->calibrated;
    fill_best(r, rep);
    r->summary.total_s = seconds_since(r->start_us, now_us);
    r->summary.spans = server_session_spans(s);
    r->summary.traffic = &r->traffic;
    note_asked(r, s);
    r->summary.latency = r->options->latency;
    if (r->options->latency != NULL)
        r->summary.rows = server_predict_scored(server_session_predictions(s)).place;
    r->summary.has_formula = !r->in->predicts && !r->in->listed.aligns;
    r->summary.formula_up = r->formula_up;
    r->summary.formula_down = r->formula_down;
    r->summary.has_server = true;
    r->summary.server_max_rss_kb = (uint64_t)usage.ru_maxrss;
    r->summary.server_cpu_s = clock_cpu_s();
    if (!r->in->predicts && !r->in->listed.aligns &&
        server_session_opened(s)) /* an untrained one would replace an earlier run's */
        st = model_write(server_session_head(s), r->in->config.state, r->options->export_file,
                         r->summary.head_sha256, err);
    path_in_state(path, r,
                  r->in->predicts        ? "prediction.json"
                  : r->in->listed.aligns ? "alignment.json"
                                         : "summary.json");
    if (st == STATUS_OK)
        st = report_write(&r->summary, path, err);
    return st;
}
