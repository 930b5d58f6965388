/* price.c -- a plan as comment lines under the resolved configuration.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/price.h"

#include "common/base/mem.h"
#include "common/config/task.h"
#include "common/flow/mechanism.h"
#include "common/flow/prediction.h"
#include "common/privacy/ledger.h"
#include "common/privacy/noise.h"
#include "common/privacy/paper.h"
#include "party/books.h"
#include "party/train/bottom.h"
#include "party/train/course.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ORDERS = 8 };
static const double orders[ORDERS] = {1.25, 1.5, 2, 4, 8, 16, 32, 64};

/* --- the plan --- */

/* Keys that a server's file must have and a plan needs not. */
static const char *const required[] = {
    "listen=127.0.0.1:0", "identity.cert=-", "identity.key=-", "identity.ca=-",
    "roster=-",           "state=-",         "labels.train=-",
};

static enum status read_plan(struct plan *out, const char *file, struct error *err)
{
    struct config_server *config = mem_alloc(1, sizeof *config);
    enum status s;

    if (config == NULL)
        return error_set(err, STATUS_MEMORY, "%s: out of memory", file);
    s = config_load_server(config, file, required, sizeof required / sizeof required[0], err);
    *out = config->plan;
    mem_free(config);
    return s;
}

/* Statistics that a first release will pay for. */
static void expect_drawn(struct price *out, const struct party_inputs *in)
{
    if (in->fitted.drawn.statistics.queries == 0)
        return;
    out->drawn = &in->fitted.drawn;
    if (out->drawn_paid)
        return;
    out->mechanisms++;
    if (out->spent_n < ACCOUNT_MECHANISMS_MAX)
        out->spent[out->spent_n++] = in->fitted.drawn.entry;
}

/* What was spent before, if anything was. */
static enum status read_ledger(struct price *out, const struct party_inputs *in, struct error *err)
{
    struct ledger *ledger;
    enum status s = books_open_ledger(&ledger, &in->config, false, err);

    out->records = in->train.rows + in->test.rows;
    if (s == STATUS_OK && ledger != NULL) {
        out->mechanisms = ledger_mechanisms(ledger);
        out->spent_n = ledger_entries(ledger, out->spent);
        s = books_records_with(ledger, in, &out->records, err);
        if (s == STATUS_OK)
            s = books_drawn_paid(ledger, in, &out->drawn_paid, err);
        ledger_close(ledger);
    }
    if (s == STATUS_OK)
        expect_drawn(out, in);
    return s;
}

/* Where the ledger is full, asks it for the plan's mechanism. */
static enum status ask_room(struct price *out, const struct party_inputs *in, struct error *err)
{
    struct ledger *ledger;
    enum status s;

    out->taken = out->mechanisms <= ACCOUNT_MECHANISMS_MAX;
    if (out->mechanisms != ACCOUNT_MECHANISMS_MAX)
        return STATUS_OK;
    s = books_open_ledger(&ledger, &in->config, false, err);
    if (s != STATUS_OK || ledger == NULL)
        return s;
    out->taken = ledger_takes(ledger, &out->entry);
    ledger_close(ledger);
    return STATUS_OK;
}

/* Of rows that may not all be here: those whose records have no room for the plan. */
static enum status count_spared(struct price *out, const struct party_inputs *in, struct error *err)
{
    struct account_entry planned = out->entry;
    struct ledger *ledger;
    enum status s;

    if (!out->set.lacking || !policy_limits_record(&in->config.policy))
        return STATUS_OK;
    s = books_open_ledger(&ledger, &in->config, false, err);
    if (s != STATUS_OK || ledger == NULL)
        return s;
    policy_repetitions(&planned, &in->config.policy, &out->plan, &out->set);
    s = books_spared_with(ledger, in, &out->plan, &planned, &out->spared, err);
    ledger_close(ledger);
    return s;
}

/* What a server takes from its labels: their number is this party's rows, of what kind they are
 * makes no difference to the price. */
static void give_shape(struct plan *p, const struct party_inputs *in)
{
    p->shape.parties = (uint32_t)in->roster.n;
    p->shape.train_rows = (uint32_t)in->train.rows;
    p->shape.test_rows = (uint32_t)in->test.rows;
    p->shape.validate_rows = (uint32_t)in->kept_back;
    if (p->model.task == TASK_AUTO)
        p->model.task = TASK_BINARY;
    p->shape.outputs = p->model.output == OUTPUT_IDENTITY ? p->model.embedding : 2;
    if (task_of(p)->outputs > 0)
        p->shape.outputs = task_of(p)->outputs;
}

enum status price_load(struct price *out, const struct party_inputs *in, const char *file,
                       struct error *err)
{
    struct plan *p = &out->plan;
    enum status s;

    *out = (struct price){.file = file};
    plan_defaults(p);
    s = read_ledger(out, in, err);
    if (s == STATUS_OK && file != NULL)
        s = read_plan(p, file, err);
    else
        p->data.validate = in->config.validate;
    if (s == STATUS_OK)
        s = party_course_keeps_back(p, &in->config, err);
    if (s != STATUS_OK)
        return s;
    give_shape(p, in);
    if (file == NULL && p->training.batch > p->shape.train_rows)
        p->training.batch = p->shape.train_rows;
    s = plan_check(p, err);
    if (s == STATUS_OK && file != NULL)
        s = party_bottom_check(&in->config, p, (uint32_t)in->train.cols, &in->schema, err);
    if (s != STATUS_OK)
        return file != NULL ? error_wrap(err, "%s", file) : s;
    for (size_t i = 0; i < in->roster.n; i++)
        out->members[i] = (uint8_t)i;
    out->set =
        (struct policy_set){.roster = &in->roster,
                            .members = out->members,
                            .n = in->roster.n,
                            .self = in->self,
                            .bottom = policy_bottom_of(&in->config, out->spent, out->spent_n),
                            .repeats = validate_repeats(&in->train, &in->test),
                            .persons = &in->persons,
                            .lacking = in->train.lacks != NULL};
    if (persons_named(&in->persons))
        s = persons_together(&out->set.together, &in->persons, p, in->self, err);
    if (s != STATUS_OK)
        return s;
    out->raw_because = policy_raw_because(&in->config, out->spent, out->spent_n);
    out->set.records = out->records;
    out->delta = mechanism_delta(p, out->records);
    out->entry = policy_planned(p, &out->set, &out->releases);
    s = count_spared(out, in, err);
    return s == STATUS_OK ? ask_room(out, in, err) : s;
}

enum status price_predictions(struct price *out, const struct party_inputs *in, struct error *err)
{
    struct plan *p = &out->plan;
    enum status s;

    *out = (struct price){.file = in->model.run};
    s = prediction_plan(p, &in->model.plan, in->model.reach, err);
    if (s == STATUS_OK)
        s = read_ledger(out, in, err);
    if (s != STATUS_OK)
        return s;
    for (size_t i = 0; i < in->roster.n; i++)
        out->members[i] = (uint8_t)i;
    out->set = (struct policy_set){
        .roster = &in->roster,
        .members = out->members,
        .n = in->roster.n,
        .self = in->self,
        .bottom = policy_bottom_kept((struct policy_bottom){in->model.made, in->model.noise},
                                     &in->config, out->spent, out->spent_n),
        .persons = &in->persons,
        .together = 1,
        .records = out->records,
        .lacking = in->test.lacks != NULL};
    out->delta = mechanism_delta(p, out->records);
    out->entry = policy_predicted(p, &out->set, (uint32_t)in->test.rows);
    return ask_room(out, in, err);
}

/* --- what it costs --- */

static enum status print_persons(const struct price *p, struct buf *out)
{
    const struct persons *persons = p->set.persons;

    if (!persons_named(persons))
        return STATUS_OK;
    return buf_printf(
        out,
        "#   data.group: the claims are for %" PRIu32 " persons; one has at most %" PRIu32
        " of the training rows,\n#   %" PRIu32 " of them in one batch, and releases "
        "%" PRIu64 " vectors\n",
        persons->group.n, persons->most, p->set.together, p->entry.participations_max);
}

static enum status print_bottom(const struct price *p, struct buf *out)
{
    const struct account_entry *e = &p->entry;
    struct plan once = p->plan;
    bool again = p->releases.trained_max > 1; /* says the same, at the price of a release */

    once.training.releases = RELEASES_ONCE;
    again = again && plan_check(&once, NULL) == STATUS_OK;

    switch (e->bottom) {
    case ACCOUNT_FROZEN:
        return buf_printf(out, "#   bottom: frozen, a record shows in its own releases alone%s\n",
                          again ? "; training.releases: once would make them one" : "");
    case ACCOUNT_DP:
        return buf_printf(out,
                          "#   bottom: dp, a record shows in its own releases and in %" PRIu32
                          " step%s at noise %g after each\n",
                          e->steps, e->steps == 1 ? "" : "s", e->step_noise);
    case ACCOUNT_RAW:
    case ACCOUNT_STATISTICS: break;
    }
    return buf_printf(out, "#   bottom: raw (%s): a record shows in every later release\n",
                      p->raw_because);
}

/* Drawn once for these rows and this schema, and in the claims of each plan. */
static enum status print_drawn(const struct price *p, struct buf *out)
{
    const struct drawn *d = p->drawn;

    if (d == NULL)
        return STATUS_OK;
    return buf_printf(out,
                      "#   statistics: dp, %zu of columns with noise, rho %.6g for each %s: %s\n",
                      d->statistics.queries, d->rho, d->entry.persons ? "person" : "record",
                      p->drawn_paid ? "the ledger has them" : "charged with the first release");
}

/* What is drawn with. */
static enum status print_mechanism(const struct account_entry *e, struct buf *out)
{
    const struct noise *noise = noise_row(e->kind);
    enum status s = noise == NULL ? STATUS_OK : buf_printf(out, "#   mechanism: ");

    if (noise == NULL)
        return s;
    if (s == STATUS_OK)
        s = noise->describe(e, out);
    return s == STATUS_OK ? buf_printf(out, "\n") : s;
}

static enum status print_releases(const struct price *p, struct buf *out)
{
    const struct agenda_releases *r = &p->releases;
    enum status s =
        buf_printf(out, "# cost of %s for this party, one of %zu\n",
                   p->file != NULL ? p->file : "a plan of defaults (no --plan)", p->set.n);

    if (s == STATUS_OK)
        s = print_mechanism(&p->entry, out);
    if (s == STATUS_OK)
        s = print_bottom(p, out);
    if (s == STATUS_OK)
        s = print_drawn(p, out);
    if (s == STATUS_OK)
        s = print_persons(p, out);
    if (s != STATUS_OK)
        return s;
    return buf_printf(
        out,
        "#   releases: %" PRIu64 " vectors of %" PRIu32 " coordinates in training, %" PRIu64
        " in evaluations;\n"
        "#   one training record at most %" PRIu64 " times, one test record at most %" PRIu64 "\n",
        r->train, p->entry.coordinates, r->evaluate, r->train_record_max, r->test_record_max);
}

static enum status print_room(const struct price *p, struct buf *out)
{
    if (p->mechanisms < LEDGER_NEARLY_FULL)
        return STATUS_OK;
    return buf_printf(out,
                      "# WARNING: the ledger has accounts for %zu mechanisms of at most %d: plans "
                      "with another one will be refused\n",
                      p->mechanisms, ACCOUNT_MECHANISMS_MAX);
}

static enum status print_spared(const struct price *p, struct buf *out)
{
    if (p->spared == 0)
        return STATUS_OK;
    return buf_printf(out,
                      "# WARNING: %zu rows of this party have no room for all this within limits "
                      "of one record: they would have no part in it\n",
                      p->spared);
}

/* A plan's releases, and what they are prepared with. */
enum { TOGETHER_MAX = 2 };
static size_t together_with(struct account_entry out[TOGETHER_MAX], const struct account_entry *of,
                            const struct price *p)
{
    out[0] = *of;
    if (p->drawn != NULL)
        out[1] = p->drawn->entry;
    return p->drawn != NULL ? 2 : 1;
}

enum status price_print_claims(const struct account_entry *of, const struct price *p,
                               struct buf *out)
{
    struct account_claim claims[ACCOUNT_CLAIMS_MAX];
    struct account_entry all[TOGETHER_MAX];
    const size_t n =
        account_claims(claims, all, together_with(all, of, p), p->delta, plan_withstands(&p->plan));
    enum status s = buf_printf(out, "# claims at delta %g (epsilon over %g says nothing):\n",
                               p->delta, ACCOUNT_VACUOUS);

    for (size_t i = 0; i < n && s == STATUS_OK; i++)
        s = buf_printf(out, "#   %-12s %-14s m_eff %-4" PRIu32 " epsilon %-11.6g alpha %.6g%s\n",
                       account_adversary_name(claims[i].adversary),
                       account_adjacency_name(claims[i].adjacency), claims[i].m_eff,
                       claims[i].epsilon, claims[i].alpha, claims[i].vacuous ? "  (vacuous)" : "");
    return s;
}

/* Copies, a family, several visits of one patient: whoever sees epsilon for one record multiplies
 * it by their number, which is too little for steps. */
static enum status print_groups(const struct price *p, struct buf *out)
{
    static const uint32_t sizes[] = {2, 5, 10};
    const struct account_entry *e = &p->entry;
    const bool dp = e->bottom == ACCOUNT_DP;
    enum status s;

    if (e->bottom == ACCOUNT_RAW)
        return buf_printf(out,
                          "# records that change together cost no more than one of them: every "
                          "release is counted\n");
    s = buf_printf(out, "# %s that change together (copies, a family) cost, releases g times%s:\n",
                   e->persons ? "g persons" : "g records",
                   dp ? " and steps g^2 times where they are in one batch" : "");
    for (int a = 0; a < ACCOUNT_ADVERSARIES && s == STATUS_OK; a++) {
        if (a == ACCOUNT_SERVER_T && plan_withstands(&p->plan) <= 1)
            continue;
        s = buf_printf(out, "#   %-12s", account_adversary_name((enum account_adversary)a));
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes && s == STATUS_OK; i++) {
            struct account_entry all[TOGETHER_MAX],
                group = account_group(e, sizes[i], p->plan.training.batch);
            const size_t n = together_with(all, &group, p);
            struct account_claim c = {.adversary = (enum account_adversary)a,
                                      .adjacency = ACCOUNT_RECORD_RAW,
                                      .t = plan_withstands(&p->plan)};

            if (n > 1) /* they move a sum g times as far */
                all[1].participations_max *= (uint64_t)sizes[i] * sizes[i];
            c = account_claim(all, n, &c, p->delta);
            s = buf_printf(out, " g=%-2" PRIu32 " epsilon %-10.6g", sizes[i], c.epsilon);
        }
        if (s == STATUS_OK)
            s = buf_printf(out, "\n");
    }
    return s;
}

static enum status print_curves(const struct price *p, const struct account_claim *claims, size_t n,
                                struct buf *out)
{
    double excess[ORDERS], curve[ORDERS];
    struct account_entry all[TOGETHER_MAX];
    const size_t all_n = together_with(all, &p->entry, p);
    enum status s = buf_printf(out, "# their Renyi divergence by order:\n#   %-27s", "alpha");

    for (size_t a = 0; a < ORDERS && s == STATUS_OK; a++) {
        excess[a] = orders[a] - 1;
        s = buf_printf(out, " %9g", orders[a]);
    }
    for (size_t i = 0; i < n && s == STATUS_OK; i++) {
        account_curve(curve, excess, ORDERS, &claims[i], all, all_n);
        s = buf_printf(out, "\n#   %-12s %-14s", account_adversary_name(claims[i].adversary),
                       account_adjacency_name(claims[i].adjacency));
        for (size_t a = 0; a < ORDERS && s == STATUS_OK; a++)
            s = buf_printf(out, " %9.4g", curve[a]);
    }
    return s == STATUS_OK ? buf_printf(out, "\n") : s;
}

static enum status print_paper(const struct price *p, struct buf *out)
{
    double alpha, epsilon;

    if (p->entry.kind != ACCOUNT_PBM)
        return STATUS_OK;
    epsilon = paper_epsilon(&p->entry, p->delta, &alpha);
    return buf_printf(
        out,
        "# the paper's figure, not a guarantee: epsilon %.6g at alpha %.6g\n"
        "#   (PBM-VFL, Theorem 6.1, for at most %" PRIu64 " releases of one record, its "
        "open constant taken as 1;\n"
        "#   to hold for the sum over all parties at this order it would have to be "
        "%.3g)\n",
        epsilon, alpha, p->entry.participations_max, paper_constant(&p->entry, alpha));
}

enum status price_print(const struct price *p, struct buf *out)
{
    struct account_claim claims[ACCOUNT_CLAIMS_MAX];
    struct account_entry all[TOGETHER_MAX];
    size_t n = account_claims(claims, all, together_with(all, &p->entry, p), p->delta,
                              plan_withstands(&p->plan));
    enum status s = print_releases(p, out);

    if (s == STATUS_OK)
        s = print_room(p, out);
    if (s == STATUS_OK)
        s = print_spared(p, out);
    if (s == STATUS_OK)
        s = price_print_claims(&p->entry, p, out);
    if (s == STATUS_OK)
        s = print_groups(p, out);
    if (s == STATUS_OK)
        s = print_curves(p, claims, n, out);
    return s == STATUS_OK ? print_paper(p, out) : s;
}

enum status price_print_predictions(const struct price *p, const struct party_inputs *in,
                                    struct buf *out)
{
    struct account_entry all[ACCOUNT_MECHANISMS_MAX + 1];
    struct error why = {0};
    enum status s = buf_printf(
        out,
        "# %" PRIu64 " rows can be predicted by the model of run %s, each once, for this party, "
        "one of %zu\n",
        p->entry.releases, p->file, p->set.n);

    if (s == STATUS_OK && p->entry.persons)
        s = buf_printf(out,
                       "#   data.group: the claims are for %" PRIu32
                       " persons; one has at most %" PRIu64 " of the rows\n",
                       p->set.persons->group.n, p->entry.participations_max);
    if (s == STATUS_OK)
        s = print_mechanism(&p->entry, out);
    if (s == STATUS_OK)
        s = print_room(p, out);
    if (s == STATUS_OK)
        s = price_print_claims(&p->entry, p, out);
    if (s != STATUS_OK)
        return s;
    memcpy(all, p->spent, p->spent_n * sizeof *all);
    all[p->spent_n] = p->entry;
    s = p->taken
            ? policy_check_entries(&in->config.policy, &p->plan, &p->set, all, p->spent_n + 1, &why)
            : policy_full(&why);
    if (s == STATUS_OK)
        return buf_printf(out, "# this party's policy accepts all of them\n");
    return buf_printf(out, "# this party's policy refuses all of them together: %s\n", why.text);
}

/* --- the policy --- */

enum status price_judge(const struct price *p, const struct party_inputs *in, struct error *err)
{
    if (!p->taken)
        return policy_full(err);
    return policy_check(&in->config.policy, &p->plan, &p->set, p->spent, p->spent_n, err);
}

/* --- the corners --- */

static enum status print_corners(const struct corners_found *f, const struct corners *c,
                                 struct buf *out)
{
    enum status s = buf_printf(out,
                               "#   m_eff %" PRIu32 ": %" PRIu64 " of %" PRIu64
                               " corners%s\n#   %8s %20s %10s %20s\n",
                               c->m_eff, f->swept, f->corners,
                               f->stride > 1 ? " (all would take too long: this is no proof)" : "",
                               "alpha", "largest D_k", "at k", "accountant");

    for (size_t i = 0; i < CORNERS_ORDERS && s == STATUS_OK; i++)
        s = buf_printf(out, "#   %8g %20.13g %10" PRIu64 " %20.13g\n", corners_alpha[i],
                       f->divergence[i], f->k[i], f->figure[i]);
    return s;
}

enum status price_verify(const struct price *p,
                         void (*figure)(const struct corners *c, double out[CORNERS_ORDERS]),
                         struct buf *out, struct error *err)
{
    struct corners c = {
        .trials = p->entry.trials, .beta = p->entry.beta, .figure = figure, .m_eff = 0};
    struct account_claim claims[ACCOUNT_CLAIMS_MAX];
    size_t n = account_claims(claims, &p->entry, 1, p->delta, plan_withstands(&p->plan));
    struct corners_found found;
    enum status s;

    if (p->entry.kind != ACCOUNT_PBM)
        return buf_printf(out, "# accountant: nothing to verify, the encoding is not pbm\n");
    s = buf_printf(out, "# accountant: b %" PRIu32 ", beta %g, every corner of the others' range\n",
                   c.trials, c.beta);
    for (size_t i = 0; i < n && s == STATUS_OK; i++) {
        bool known = claims[i].adjacency != ACCOUNT_COLUMNS; /* one claim of each adversary */

        for (size_t j = 0; j < i && !known; j++)
            known = claims[j].adjacency == ACCOUNT_COLUMNS && claims[j].m_eff == claims[i].m_eff;
        if (known)
            continue;
        c.m_eff = claims[i].m_eff;
        s = corners_sweep(&c, &found);
        if (s == STATUS_OK)
            s = print_corners(&found, &c, out);
        else
            error_set(err, s, "accountant: no memory for its corners");
        if (s == STATUS_OK && !found.holds)
            return error_set(err, STATUS_FAULT,
                             "accountant: at m_eff %" PRIu32 ", alpha %g the corner k = %" PRIu64
                             " costs %.13g, the accountant says %.13g: its claims are not to be "
                             "relied on",
                             c.m_eff, corners_alpha[found.worst], found.k[found.worst],
                             found.divergence[found.worst], found.figure[found.worst]);
    }
    return s;
}
