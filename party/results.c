/* results.c -- a party's files.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/results.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/config/aggregation.h"
#include "common/config/encoding.h"
#include "common/daemon/model.h"
#include "common/daemon/models.h"
#include "common/flow/mechanism.h"
#include "common/pbm/pbm.h"
#include "common/privacy/noise.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static const char *kind_names[WIRE_KINDS];

enum status party_results_init(struct party_results *r, const struct party_inputs *in,
                               const struct party_options *o, const char *folder, uint64_t now_us)
{
    memset(r, 0, sizeof *r);
    r->in = in;
    r->options = o;
    r->folder = folder;
    r->predicts = in->predicts;
    r->aligns = in->listed.alone;
    r->start_us = now_us;
    for (int k = 0; k < WIRE_KINDS; k++)
        kind_names[k] = wire_kind_name((enum wire_kind)k);
    return traffic_init(&r->traffic, 1, kind_names, WIRE_KINDS);
}

enum status party_results_again(struct party_results *r, uint64_t now_us)
{
    const uint64_t tls_in = r->tls_in, tls_out = r->tls_out;
    enum status s;

    traffic_deinit(&r->traffic);
    s = party_results_init(r, r->in, r->options, r->folder, now_us);
    r->tls_in = tls_in;
    r->tls_out = tls_out;
    return s;
}

void party_results_deinit(struct party_results *r)
{
    traffic_deinit(&r->traffic);
}

static const char *const bottoms[] = {[ACCOUNT_RAW] = "raw",
                                      [ACCOUNT_FROZEN] = "frozen",
                                      [ACCOUNT_DP] = "dp",
                                      [ACCOUNT_STATISTICS] = "statistics"};

static void add_parameter(struct report_mechanism *m, const char *name, bool whole, double value)
{
    CHECK(m->parameters < REPORT_PARAMETERS_MAX);
    m->parameter[m->parameters++] = (struct report_parameter){name, whole, value};
}

static struct report_mechanism mechanism(const struct account_entry *e)
{
    struct report_mechanism m = {.kind = noise_names[e->kind],
                                 .coordinates = e->coordinates,
                                 .parties = e->parties,
                                 .colluders = e->colluders,
                                 .clear = e->clear,
                                 .each = e->concat,
                                 .bottom = bottoms[e->bottom],
                                 .releases = e->releases,
                                 .participations_max = e->participations_max};
    const struct noise *law = noise_row(e->kind);
    struct pbm pbm;

    for (size_t i = 0; law != NULL && i < law->parameters; i++)
        add_parameter(&m, law->parameter[i].name, law->parameter[i].type == NOISE_WHOLE,
                      noise_value(&law->parameter[i], e));
    if (e->kind == ACCOUNT_PBM && pbm_init(&pbm, e->trials, e->beta, 1) == STATUS_OK) {
        add_parameter(&m, "t_lo", true, pbm.t_lo);
        add_parameter(&m, "t_hi", true, pbm.t_hi);
    }
    if (e->bottom == ACCOUNT_DP) {
        m.step_noise = e->step_noise;
        m.steps = e->steps;
        m.trained_max = e->trained_max;
    }
    return m;
}

/* By what the claims came about, from the same ledger. */
static void fill_account(struct report_privacy *out, const struct books *b,
                         const struct account_entry *entries, size_t n)
{
    struct ledger_histogram spent;

    _Static_assert((int)REPORT_MECHANISMS_MAX >= (int)ACCOUNT_MECHANISMS_MAX, "all of a ledger");
    _Static_assert((int)REPORT_BINS_MAX >= (int)LEDGER_BINS, "all of a histogram");
    out->mechanisms_n = n;
    for (size_t i = 0; i < n; i++)
        out->with[i] = mechanism(&entries[i]);
    ledger_histogram(b->ledger, &spent);
    out->bins_n = spent.n;
    out->bin_width = spent.width;
    memcpy(out->bin, spent.records, sizeof spent.records);
    /* Gradients show them, and no plan puts noise on labels. */
    out->labels = "disclosed to parties";
}

/* Claims cover everything the ledger holds: other runs of the same records too. */
static void fill_privacy(struct report_privacy *out, const struct party_report *rep,
                         const struct books *b)
{
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX];
    struct account_claim claims[ACCOUNT_CLAIMS_MAX];
    struct ledger_totals totals;
    size_t n = books_entries(b, entries), claims_n;

    ledger_totals(b->ledger, &totals);
    out->mechanism = encoding_names[rep->plan.protocol.encoding];
    out->delta = mechanism_delta(&rep->plan, totals.records);
    out->train = totals.releases[LEDGER_TRAIN];
    out->evaluate = totals.releases[LEDGER_EVALUATE];
    out->predict = totals.releases[LEDGER_PREDICT];
    out->participations_max = totals.participations_max;
    out->m_min = rep->mechanism.parties;
    for (size_t i = 0; i < n; i++)
        if (entries[i].bottom != ACCOUNT_STATISTICS && entries[i].parties < out->m_min)
            out->m_min = entries[i].parties;
    fill_account(out, b, entries, n);
    if (n == 0)
        return;
    claims_n = account_claims(claims, entries, n, out->delta, plan_withstands(&rep->plan));
    for (size_t i = 0; i < claims_n && i < REPORT_CLAIMS_MAX; i++)
        out->claim[i] = (struct report_claim){
            .adversary = account_adversary_name(claims[i].adversary),
            .adjacency = account_adjacency_name(claims[i].adjacency),
            .m_eff = claims[i].m_eff,
            .alpha = claims[i].alpha,
            .epsilon = claims[i].epsilon,
            .vacuous = claims[i].vacuous,
        };
    out->claims_n = claims_n < REPORT_CLAIMS_MAX ? claims_n : REPORT_CLAIMS_MAX;
}

void party_results_connected(struct party_results *r)
{
    r->tls_in = r->tls_out = 0;
}

void party_results_count(struct party_results *r, enum traffic_direction d,
                         const struct wire_msg *m, size_t frame, const struct net_traffic *now)
{
    struct traffic_at at = {0, d, (enum traffic_phase)wire_phase_of(m), m->kind};

    traffic_add(&r->traffic, at, wire_payload_bytes(m), frame + 4);
    at.direction = TRAFFIC_UP;
    traffic_add_tls(&r->traffic, at, now->tls_out - r->tls_out);
    at.direction = TRAFFIC_DOWN;
    traffic_add_tls(&r->traffic, at, now->tls_in - r->tls_in);
    r->tls_in = now->tls_in;
    r->tls_out = now->tls_out;
}

/* That the bottom has taken. */
static uint64_t model_steps(const struct party_report *rep)
{
    return rep->progress.best > 0 ? rep->progress.best : rep->progress.applied;
}

enum status party_results_package(const struct party_results *r, struct party_session *p,
                                  struct party_package *as, struct error *err)
{
    const struct party_report *rep = party_session_report(p);
    struct package m;
    enum status s;

    package_init(&m);
    m.role = PACKAGE_BOTTOM;
    m.plan = rep->plan;
    m.steps = model_steps(rep);
    m.epochs = agenda_epochs(&rep->agenda, m.steps);
    m.reach = rep->reach;
    m.made = rep->mechanism.bottom;
    m.noise = m.made == ACCOUNT_DP ? rep->mechanism.step_noise : 0;
    memcpy(m.trail, rep->trail, sizeof m.trail);
    s = party_inputs_columns(r->in, &m, err);
    if (s == STATUS_OK)
        s = models_keep(r->in->config.state, &m, rep->bottom, as->over, err);
    if (s == STATUS_OK && as->use)
        s = models_use(r->in->config.state, m.run, err);
    if (s == STATUS_OK)
        log_info("the model of run %s is kept%s", m.run, as->use ? ", and in use" : "");
    snprintf(as->run, sizeof as->run, "%s", m.run);
    memcpy(as->trail, m.trail, sizeof as->trail);
    package_deinit(&m);
    return s;
}

enum status party_results_end(struct party_results *r, struct party_session *p,
                              const struct books *b, const struct party_ending *end,
                              struct error *err)
{
    const struct party_report *rep = party_session_report(p);
    struct report_party *self = &r->summary.party[0];
    char path[CONFIG_PATH_MAX];
    struct rusage usage;
    enum status s = STATUS_OK;

    getrusage(RUSAGE_SELF, &usage);
    snprintf(self->name, sizeof self->name, "%s", r->in->roster.party[r->in->self].name);
    self->has_usage = true;
    self->max_rss_kb = (uint64_t)usage.ru_maxrss;
    self->cpu_s = clock_cpu_s();
    r->summary.party_n = 1;
    r->summary.parties_n = (uint32_t)r->in->roster.n;
    r->summary.status = end->outcome;
    r->summary.error = end->why->text;
    r->summary.insecure_seed = r->options->seeded;
    r->summary.rounds = rep->progress.rounds;
    r->summary.total_s = 1e-6 * (double)(end->now_us - r->start_us);
    r->summary.spans = party_session_spans(p);
    r->summary.traffic = &r->traffic;
    if (rep->planned) {
        r->summary.plaintext = aggregation_of(&rep->plan)->plaintext;
        if (!r->predicts)
            r->summary.epochs = agenda_epochs(&rep->agenda, rep->progress.applied);
        if (rep->progress.best > 0)
            r->summary.best = (struct report_best){
                .yes = true, .epoch = agenda_epochs(&rep->agenda, rep->progress.best)};
        fill_privacy(&r->summary.privacy, rep, b);
        if (!r->predicts &&
            (rep->progress.applied > 0 || rep->progress.rounds > 0)) /* else an earlier one stays */
            s = model_write(party_session_bottom(p), r->folder, r->options->export_file,
                            self->model_sha256, err);
        /* Of the very records that claims are about, which it would tell of at no price. */
        if (!r->options->seeded)
            self->model_sha256[0] = 0;
    }
    snprintf(path, sizeof path, "%.*s/%s.json", CONFIG_PATH_MAX - 32, r->folder,
             r->aligns     ? "alignment"
             : r->predicts ? "prediction"
                           : "summary");
    return s == STATUS_OK ? report_write(&r->summary, path, err) : s;
}
