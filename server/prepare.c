/* prepare.c -- reading what the server is given, and resolving its plan.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/prepare.h"

#include "common/base/file.h"
#include "common/base/folder.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/config/aggregation.h"
#include "common/config/key_text.h"
#include "common/config/task.h"
#include "common/crypto/digest.h"
#include "common/crypto/rng.h"
#include "common/daemon/aligned.h"
#include "common/daemon/models.h"
#include "common/daemon/package.h"
#include "common/daemon/survey.h"
#include "common/flow/agenda.h"
#include "common/flow/mechanism.h"
#include "common/nn/safetensors.h"
#include "common/privacy/ledger.h"
#include "common/secagg/secagg.h"
#include "common/wire/limits.h"
#include "server/train/checkpoint.h"
#include "server/train/fedvs_price.h"

#include <stdio.h>
#include <string.h>

/* A seed that the plan leaves open: that of the unfinished run in the state directory, or
 * --insecure-seed's, or a fresh one. */
static enum status resolve_seed(struct config_server *c, bool seeded, uint64_t seed,
                                struct error *err)
{
    struct plan *p = &c->plan;
    struct rng fresh = {0};
    bool found;
    enum status s;

    if (p->training.seed_given)
        return STATUS_OK;
    s = server_checkpoint_seed(c, &p->training.seed, &found, err);
    p->training.seed_given = true;
    if (s != STATUS_OK || found)
        return s;
    p->training.seed = seed;
    if (seeded)
        return STATUS_OK;
    s = rng_init_system(&fresh);
    if (s != STATUS_OK)
        return error_set(err, s, "no randomness for a seed");
    p->training.seed = rng_u64(&fresh) >> 12; /* below 2^52: readable as a number everywhere */
    rng_deinit(&fresh);
    return STATUS_OK;
}

static enum status resolve_plan(struct server_inputs *in, struct error *err)
{
    struct plan *p = &in->config.plan;
    enum status s;

    if (!p->privacy.delta_given) {
        p->privacy.delta = ledger_delta(in->train.rows + in->test.rows);
        p->privacy.delta_given = true;
    }
    p->training.weight_decay = plan_weight_decay(p);
    p->training.weight_decay_given = true;
    p->shape.parties = (uint32_t)in->roster.n;
    p->shape.train_rows = (uint32_t)in->train.rows;
    p->shape.test_rows = (uint32_t)in->test.rows;
    if (p->model.task == TASK_AUTO)
        p->model.task = p->shape.outputs <= 2 ? TASK_BINARY : TASK_MULTICLASS;
    if (task_of(p)->outputs > 0 || p->shape.outputs < 2) /* of one class only: still two */
        p->shape.outputs = task_of(p)->outputs > 0 ? task_of(p)->outputs : 2;
    s = plan_check(p, err);
    if (s == STATUS_OK && !wire_fits(p))
        return error_set(err, STATUS_CONFIG,
                         "training.batch: a step's message to a party would have %zu bytes, %d are "
                         "the most",
                         wire_blob_max(p), (int)WIRE_PAYLOAD_MAX);
    return s == STATUS_OK ? fedvs_price_check(p, err) : s;
}

/* Of a party whose ledger holds nothing else. */
static double delta_of(const struct server_inputs *in)
{
    return mechanism_delta(&in->config.plan, in->train.rows + in->test.rows);
}

/* As a party has it that may lack some of the rows: whether one is in both tables is not looked at.
 */
static struct validate_repeats repeats_of(const struct server_inputs *in)
{
    struct validate_repeats r = validate_repeats(&in->train, &in->test);

    r.shared |= placed_lacks(&in->target.placed);
    return r;
}

/* What it costs party `self`. */
static struct account_entry priced(const struct server_inputs *in, const struct agenda_releases *r,
                                   uint32_t self)
{
    const struct plan *p = &in->config.plan;
    uint8_t members[WIRE_MEMBERS_MAX];
    struct account_entry e;

    for (size_t i = 0; i < in->roster.n; i++)
        members[i] = (uint8_t)i;
    e = mechanism_of(p, &in->roster, members, in->roster.n, self);
    /* Under `once` no other bottom takes part; otherwise a server cannot know of another. */
    e.bottom = p->training.releases == RELEASES_ONCE ? ACCOUNT_FROZEN : ACCOUNT_RAW;
    e.releases = r->train + r->evaluate;
    e.participations_max = agenda_record_max(r, repeats_of(in));
    return e;
}

/* Each claim of the party that it is highest for: operators may leave one with less company. */
static size_t priced_claims(struct account_claim out[ACCOUNT_CLAIMS_MAX],
                            const struct server_inputs *in, const struct agenda_releases *r)
{
    const struct plan *p = &in->config.plan;
    struct account_entry entry[WIRE_MEMBERS_MAX];
    struct account_claim claims[ACCOUNT_CLAIMS_MAX];
    size_t n = 0;

    for (uint32_t self = 0; self < in->roster.n; self++) {
        bool known = false;

        entry[self] = priced(in, r, self);
        for (uint32_t i = 0; i < self; i++)
            known |= entry[i].parties == entry[self].parties &&
                     entry[i].colluders == entry[self].colluders;
        if (known)
            continue;
        n = account_claims(claims, &entry[self], 1, delta_of(in), plan_withstands(p));
        for (size_t i = 0; i < n; i++)
            if (self == 0 || claims[i].epsilon > out[i].epsilon)
                out[i] = claims[i];
    }
    return n;
}

/* privacy.max_epsilon: this side's own limit on what its plan costs a party. */
static enum status check_price(const struct server_inputs *in, struct error *err)
{
    const struct plan *p = &in->config.plan;
    struct agenda_releases releases;
    struct account_claim claims[ACCOUNT_CLAIMS_MAX];
    struct agenda agenda;
    double epsilon = 0;
    size_t n;

    if (p->privacy.max_epsilon <= 0)
        return STATUS_OK;
    agenda_make(&agenda, p);
    agenda_price(&agenda, p, &releases);
    n = priced_claims(claims, in, &releases);
    for (size_t i = 0; i < n; i++)
        if (claims[i].adversary == ACCOUNT_SERVER && claims[i].adjacency <= ACCOUNT_RECORD_RAW)
            epsilon = claims[i].epsilon;
    if (epsilon <= p->privacy.max_epsilon)
        return STATUS_OK;
    return error_set(
        err, STATUS_BUDGET,
        "privacy.max_epsilon: the plan costs a party's record epsilon %.4g, %.4g is the most",
        epsilon, p->privacy.max_epsilon);
}

/* That they are numbers, and a head's: before a word is said to anybody. */
static enum status read_weights(struct server_inputs *in, struct error *err)
{
    struct package p;
    enum status s = file_read(in->config.load, &in->head.weights, err);

    package_init(&p);
    if (s == STATUS_OK && in->head.program != NULL &&
        !package_is(in->head.weights.data, in->head.weights.len))
        return s; /* what it is only the program knows */
    if (s == STATUS_OK)
        s = safetensors_numbers(in->head.weights.data, in->head.weights.len, err);
    if (s == STATUS_OK && package_is(in->head.weights.data, in->head.weights.len)) {
        s = package_parse(&p, in->head.weights.data, in->head.weights.len, err);
        if (s == STATUS_OK && p.role != PACKAGE_HEAD)
            s = error_set(err, STATUS_DATA, "it is a bottom's package");
    }
    package_deinit(&p);
    if (s == STATUS_DATA)
        error_wrap(err, "model.load: %s", in->config.load);
    return s;
}

static bool same_text(const char *a, const char *b)
{
    return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

/* Class 1 has to stay class 1. */
static enum status check_names(const struct server_inputs *in, const struct package *p,
                               struct error *err)
{
    char *names = NULL;
    enum status s = server_targets_names(&in->target, &names);

    if (s != STATUS_OK)
        return error_set(err, s, "training.from: %s", status_words(s));
    if (!same_text(names, p->classes))
        s = error_set(err, STATUS_CONFIG,
                      "training.from: run %s calls its classes or labels otherwise", p->run);
    mem_free(names);
    return s;
}

/* training.from: the head's package of that run, and which playing all sides have to have of it. */
static enum status read_from(struct server_inputs *in, struct error *err)
{
    struct plan *plan = &in->config.plan;
    char trail[DIGEST_HEX_CHARS + 1];
    struct package p;
    enum status s;

    if (in->config.load[0] != 0)
        return error_set(err, STATUS_CONFIG,
                         "model.load: training.from says what the head begins with");
    package_init(&p);
    s = models_load(in->home, plan->training.from, &p, err);
    if (s == STATUS_OK && p.role != PACKAGE_HEAD)
        s = error_set(err, STATUS_CONFIG, "training.from: run %s has a bottom here", p.run);
    if (s == STATUS_OK)
        s = package_tells(p.trail, p.run, err);
    if (s == STATUS_OK)
        s = package_continues(&p, plan, err);
    if (s == STATUS_OK)
        s = check_names(in, &p, err);
    digest_hex(trail, p.trail, sizeof p.trail);
    if (s == STATUS_OK && plan->training.from_trail[0] != 0 &&
        strcmp(plan->training.from_trail, trail) != 0)
        s = error_set(err, STATUS_CONFIG, "training.from_trail: not that of run %s", p.run);
    memcpy(plan->training.from_trail, trail, sizeof trail);
    if (s == STATUS_OK && buf_append(&in->head.weights, p.file.data, p.file.len) != STATUS_OK)
        s = error_set(err, STATUS_MEMORY, "training.from: %s", status_words(STATUS_MEMORY));
    package_deinit(&p);
    return s;
}

/* Labels, the plan as they make it, and what is asked of both. */
static enum status read_data(struct server_inputs *in, struct error *err)
{
    const struct config_server *c = &in->config;
    const struct placed_names names = {.key = "labels",
                                       .train = c->labels_alignment,
                                       .test = c->labels_alignment_test,
                                       .test_file = c->labels_test,
                                       .by_order = c->plan.data.validate > 0 &&
                                                   c->plan.data.validate_by == VALIDATE_ORDER};
    enum status s = placed_open_pair(&in->target.placed, in->home, &names, err);

    if (s == STATUS_OK)
        s = server_targets_read(&in->target, &in->config, &in->train, &in->test, err);
    if (s == STATUS_OK)
        s = resolve_plan(in, err);
    if (s == STATUS_OK)
        s = server_targets_check(&in->target, &in->config.plan, err);
    if (s == STATUS_OK && in->config.plan.training.from[0] != 0)
        s = read_from(in, err);
    else if (s == STATUS_OK && in->config.load[0] != 0)
        s = read_weights(in, err);
    return s == STATUS_OK ? check_price(in, err) : s;
}

static enum status read_roster(struct server_inputs *in, struct error *err)
{
    enum status s = folder_check(in->config.state, err);

    snprintf(in->home, sizeof in->home, "%s", in->config.state);
    if (s == STATUS_OK)
        s = roster_load(&in->roster, in->config.roster, err);
    if (s == STATUS_OK && in->roster.n == 0)
        s = error_set(err, STATUS_CONFIG, "%s: no parties", in->config.roster);
    return s;
}

enum status server_inputs_identify(struct server_inputs *in, const struct options *o,
                                   struct error *err)
{
    enum status s;

    memset(in, 0, sizeof *in);
    buf_init(&in->head.weights, SIZE_MAX);
    s = config_load_server(&in->config, o->file, o->sets, o->sets_n, err);
    if (s == STATUS_OK) /* no key has been read yet */
        s = program_new(&in->head.program, PROGRAM_HEAD, &in->config.head, in->config.stand, err);
    return s == STATUS_OK ? read_roster(in, err) : s;
}

enum status server_inputs_load(struct server_inputs *in, const struct options *o, struct error *err)
{
    enum status s = server_inputs_identify(in, o, err);

    if (s == STATUS_OK)
        s = read_data(in, err);
    return s == STATUS_OK ? resolve_seed(&in->config, o->seeded, o->seed, err) : s;
}

enum status server_inputs_errand(struct server_inputs *in, const struct server_errand *e,
                                 struct error *err)
{
    const struct config_job job = {e->options->file, e->options->sets, e->options->sets_n, e->plan,
                                   e->plan_n};
    struct plan *p = &in->config.plan;
    enum status s;

    memset(in, 0, sizeof *in);
    buf_init(&in->head.weights, SIZE_MAX);
    s = config_load_server_job(&in->config, &job, err);
    if (s == STATUS_OK &&
        memcmp(&in->config.head, &e->whole->config.head, sizeof in->config.head) != 0)
        s = error_set(err, STATUS_CONFIG,
                      "model.head_program: not the one that this server was started with: start it "
                      "anew");
    in->head.program = e->whole->head.program;
    in->roster = e->whole->roster;
    snprintf(in->home, sizeof in->home, "%s", e->whole->home);
    if (s == STATUS_OK)
        s = read_data(in, err);
    if (s == STATUS_OK && !p->training.seed_given) {
        p->training.seed = e->seed;
        p->training.seed_given = true;
    }
    return s;
}

/* --- an alignment --- */

/* Which of its rows are listed, by which keys: all of them, in the order of align.key. */
static enum status list(struct server_inputs *in, const char *extends, struct error *err)
{
    const struct idlist *ids = &in->listed.ids;
    struct alignment *about = &in->listed.about;
    struct aligned old = {.n = 0};
    enum status s = STATUS_OK;

    for (uint32_t k = 0; k < ids->keys_n; k++) {
        struct alignment_key *key = &about->key[about->keys_n++];

        memcpy(key->name, ids->key[k].name, sizeof key->name);
        key->columns = ids->key[k].form.columns;
    }
    memcpy(about->extends, extends, strnlen(extends, CONFIG_ALIGN_NAME_MAX));
    if (extends[0] != 0) {
        s = aligned_load(&old, in->home, extends, err);
        memcpy(about->extended, old.transcript, sizeof about->extended);
        aligned_deinit(&old);
    }
    in->listed.roll = mem_alloc(1, sizeof *in->listed.roll);
    if (s == STATUS_OK && in->listed.roll == NULL)
        s = error_set(err, STATUS_MEMORY, "no memory for an alignment");
    if (s == STATUS_OK)
        s = roll_open(in->listed.roll, ids, in->home, about, true, err);
    if (s == STATUS_OK)
        about->ids = in->listed.roll->listed;
    return s;
}

static enum status read_listed(struct server_inputs *in, const struct alignment_order *order,
                               struct error *err)
{
    const struct config_align *c = &in->config.align;
    enum status s;

    in->listed.aligns = true;
    if (!key_text_is_alignment(order->name))
        return error_set(err, STATUS_CONFIG,
                         "an alignment's name: 1 to %d of a-z, 0-9 and '-' expected",
                         CONFIG_ALIGN_NAME_MAX);
    if (c->table[0] == 0)
        return error_set(err, STATUS_CONFIG, "align.table: there is none, for an alignment");
    if (strcmp(order->name, order->extends) == 0)
        return error_set(err, STATUS_CONFIG, "alignment %s cannot extend itself", order->name);
    s = idlist_read(&in->listed.ids, c, err);
    if (s != STATUS_OK)
        return s;
    if (c->rows == CONFIG_ROWS_LABELLED && in->listed.ids.keys_n > 1)
        return error_set(err, STATUS_CONFIG,
                         "align.key: labelled rows are aligned by one key (their list stays whole, "
                         "and a party would learn of its rows by each)");
    in->listed.about = (struct alignment){.result_min = c->result_min,
                                          .replace = order->replace,
                                          .trim = c->trim,
                                          .fold = c->fold,
                                          .unicode = c->unicode,
                                          .rows = c->rows,
                                          .chunk = ALIGN_CHUNK,
                                          .patience_ms = c->patience_ms};
    snprintf(in->listed.about.name, sizeof in->listed.about.name, "%.*s", CONFIG_ALIGN_NAME_MAX,
             order->name);
    s = order->replace ? STATUS_OK : aligned_free(in->home, order->name, err);
    return s == STATUS_OK ? list(in, order->extends, err) : s;
}

enum status server_inputs_align(struct server_inputs *in, const struct options *o,
                                const struct alignment_order *order, struct error *err)
{
    enum status s = server_inputs_identify(in, o, err);

    in->config.stand = false; /* one job, and an end */
    return s == STATUS_OK ? read_listed(in, order, err) : s;
}

enum status server_inputs_align_errand(struct server_inputs *in, const struct server_inputs *whole,
                                       const struct alignment_order *order, struct error *err)
{
    memset(in, 0, sizeof *in);
    buf_init(&in->head.weights, SIZE_MAX);
    in->config = whole->config;
    in->head.program = whole->head.program;
    in->roster = whole->roster;
    snprintf(in->home, sizeof in->home, "%s", whole->home);
    if (order->rows_given)
        in->config.align.rows = order->rows;
    return read_listed(in, order, err);
}

void server_inputs_deinit(struct server_inputs *in)
{
    if (in->listed.roll != NULL)
        roll_close(in->listed.roll);
    mem_free(in->listed.roll);
    idlist_deinit(&in->listed.ids);
    package_deinit(&in->model);
    if (in->answers != NULL)
        answers_close(in->answers);
    mem_free(in->answers);
    contribution_deinit(&in->asks);
    placed_close(&in->listed.placed);
    ids_deinit(&in->wanted);
    ids_deinit(&in->missing);
    table_deinit(&in->train);
    table_deinit(&in->test);
    buf_deinit(&in->head.weights);
    server_targets_deinit(&in->target);
}

/* --- what -n prints --- */

static enum status print_claims(const struct server_inputs *in, const struct agenda_releases *r,
                                struct buf *out)
{
    struct account_claim claims[ACCOUNT_CLAIMS_MAX];
    size_t n = priced_claims(claims, in, r);
    enum status s = buf_printf(
        out, "# cost of the plan for one party, delta %g (epsilon over %g says nothing):\n",
        delta_of(in), ACCOUNT_VACUOUS);

    for (size_t i = 0; i < n && s == STATUS_OK; i++)
        s = buf_printf(out, "#   %-12s %-13s epsilon %.6g%s\n",
                       account_adversary_name(claims[i].adversary),
                       account_adjacency_name(claims[i].adjacency), claims[i].epsilon,
                       claims[i].vacuous ? "  (vacuous)" : "");
    return s;
}

/* What a full training round sends; shape->values_max values.  Shares come down as they went up. */
static enum status print_bytes(const struct plan *p, const struct secagg_shape *shape,
                               struct buf *out)
{
    const enum plan_aggregation agg = p->protocol.aggregation;
    const size_t upload = secagg_payload_bytes(agg, shape, shape->values_max);
    const size_t shares = secagg_share_bytes(agg, shape, SECAGG_PART_ROUND, 0, shape->values_max);
    const size_t blob = wire_blob_max(p);
    enum status s = buf_printf(
        out, "# a full training round: %zu payload bytes up from each party, %zu down to each\n",
        upload + shares, blob + shares);

    if (s != STATUS_OK || !secagg_shares(agg))
        return s;
    return buf_printf(
        out,
        "#   shares for the %u others: %zu of them each way, %u bits an element; the upload: %zu\n"
        "#   any %u uploads decode: %u may be late or lost, once all have shared\n",
        p->shape.parties - 1, shares, secagg_width(agg, shape), upload,
        shape->segments + shape->privacy, p->shape.parties - shape->segments - shape->privacy);
}

/* What alignments say of either file. */
static enum status print_surveys(const struct server_inputs *in, struct buf *out)
{
    const struct config_server *c = &in->config;
    const struct survey train = {in->home, "labels.alignment", c->labels_alignment, c->labels_train,
                                 &in->train},
                        test = {in->home, "labels.alignment_test", c->labels_alignment_test,
                                c->labels_test, &in->test};

    return survey_print(&train, &test, out);
}

enum status server_inputs_print(const struct server_inputs *in, struct buf *out)
{
    const struct plan *p = &in->config.plan;
    const uint32_t values = p->training.batch * p->model.embedding;
    struct secagg_shape shape = {.parties = p->shape.parties,
                                 .concat = plan_keeps_apart(p),
                                 .values_max = values,
                                 .segments = p->protocol.coded.segments,
                                 .privacy = p->protocol.coded.privacy};
    struct agenda_releases releases;
    struct agenda agenda;
    enum status s = config_print_server(&in->config, out);

    if (s == STATUS_OK)
        s = encode_init(&shape.encode, p, p->shape.parties);
    if (s != STATUS_OK)
        return s;
    agenda_make(&agenda, p);
    agenda_price(&agenda, p, &releases);
    s = buf_printf(out, "# %u parties, %u training and %u test rows", p->shape.parties,
                   p->shape.train_rows, p->shape.test_rows - p->shape.validate_rows);
    if (s == STATUS_OK && p->shape.validate_rows > 0)
        s = buf_printf(out, ", %u to choose by", p->shape.validate_rows);
    if (s == STATUS_OK)
        s = buf_printf(out, ", %u outputs\n# %llu training steps of %u rows, %llu evaluations\n",
                       p->shape.outputs, (unsigned long long)agenda.steps, p->training.batch,
                       (unsigned long long)agenda.sweeps);
    if (s == STATUS_OK)
        s = print_surveys(in, out);
    if (s == STATUS_OK)
        s = server_targets_print(&in->target, out);
    if (s == STATUS_OK)
        s = aggregation_of(p)->polynomial ? fedvs_price_print(p, out) : print_bytes(p, &shape, out);
    if (s == STATUS_OK)
        s = buf_printf(
            out, "# releases: %llu vectors of %u coordinates; one record at most %llu times\n",
            (unsigned long long)(releases.train + releases.evaluate), p->model.embedding,
            (unsigned long long)agenda_record_max(&releases, repeats_of(in)));
    return s == STATUS_OK ? print_claims(in, &releases, out) : s;
}
