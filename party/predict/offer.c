/* offer.c -- the text of a job of predictions, or contributions: is it about the model that this
 * party answers with, may it be played with this set, what does it cost; and room for it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/predict/parts.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/config/aggregation.h"
#include "common/crypto/digest.h"
#include "common/daemon/package.h"
#include "common/flow/job.h"
#include "common/wire/limits.h"
#include "party/policy.h"

#include <string.h>

_Static_assert((int)PREDICTION_RUN_MAX == (int)PACKAGE_RUN_MAX, "a run has one name");

/* --- what it is about --- */

static enum status check_model(struct party_predict *p)
{
    const struct package *m = p->setup->answers.model;
    const struct prediction *of = &p->about;

    if (memcmp(of->plan, m->plan_sha256, sizeof of->plan) != 0 ||
        memcmp(of->trail, m->trail, sizeof of->trail) != 0)
        return error_set(p->error, STATUS_CONFIG,
                         "predictions by the model of run %s; this party's of run %s is of another "
                         "plan, or of another time that the plan was played",
                         of->run, m->run);
    if (package_tells(of->trail, of->run, p->error) != STATUS_OK)
        return p->error->status;
    if (m->plan.shape.parties != p->setup->roster->n)
        return error_set(p->error, STATUS_CONFIG, "the model is of %u parties, the roster has %zu",
                         m->plan.shape.parties, p->setup->roster->n);
    return prediction_plan(&p->plan, &m->plan, m->reach, p->error);
}

/* Rows by what they are called in the job: ids, or places of one alignment. */
static enum status check_names(const struct party_predict *p)
{
    const struct table *t = p->setup->answers.rows;
    const struct prediction *of = &p->about;

    if (t->own.any && !prediction_is_placed(of))
        return error_set(
            p->error, STATUS_CONFIG,
            "rows are asked for by ids, and this party answers by places (--alignment)");
    if (!prediction_is_placed(of))
        return STATUS_OK;
    if (!t->own.any)
        return error_set(p->error, STATUS_CONFIG,
                         "rows are asked for by places of alignment %s, and this party answers by "
                         "ids (--alignment %s)",
                         of->alignment, of->alignment);
    return memcmp(t->own.alignment, of->places, sizeof of->places) == 0
               ? STATUS_OK
               : error_set(p->error, STATUS_CONFIG,
                           "alignment %s: this side answers by places of another one than the "
                           "server's: let all sides align again",
                           of->alignment);
}

static bool is_among(const struct config_names *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->name[i], name) == 0)
            return true;
    return false;
}

/* plan:DIGITS names every run of a plan. */
static bool is_plan_among(const struct config_names *list, const uint8_t plan[WIRE_DIGEST_BYTES])
{
    static const char of_plan[] = "plan:";
    const size_t n = sizeof of_plan - 1;
    char hex[DIGEST_HEX_CHARS + 1];

    digest_hex(hex, plan, WIRE_DIGEST_BYTES);
    for (size_t i = 0; i < list->n; i++)
        if (strncmp(list->name[i], of_plan, n) == 0 && list->name[i][n] != 0 &&
            strncmp(hex, list->name[i] + n, strlen(list->name[i] + n)) == 0)
            return true;
    return false;
}

/* For whom it is the server's word, and which model this party's own. */
static enum status check_allowed(const struct party_predict *p)
{
    const struct config_policy *policy = &p->setup->config->policy;
    const struct package *m = p->setup->answers.model;

    if (policy->predict_by.n > 0 && !is_among(&policy->predict_by, p->about.by))
        return error_set(p->error, STATUS_POLICY, "policy.predict.by: %s is not among them",
                         p->about.by);
    if (policy->predict_models.n > 0 && !is_among(&policy->predict_models, m->run) &&
        !is_plan_among(&policy->predict_models, m->plan_sha256))
        return error_set(p->error, STATUS_POLICY,
                         "policy.predict.models: the model of run %s is not among them",
                         p->about.run);
    return STATUS_OK;
}

/* That others are away is the server's word, which nobody here can test.  With noise a row among
 * fewer is another release, at its own price (price()); without, the difference of two sets' sums
 * is what one party has, so that no sum is of fewer than all, whatever was answered before. */
static enum status check_set(const struct party_predict *p)
{
    const size_t all = p->setup->roster->n;

    if (p->set->members_n == all)
        return STATUS_OK;
    if (p->contributes)
        return error_set(p->error, STATUS_PROTOCOL, "offer: %u of %zu parties, for contributions",
                         p->set->members_n, all);
    if (prediction_is_exact(&p->plan))
        return error_set(
            p->error, STATUS_POLICY,
            "offer: %u of %zu parties, and the encoding has no noise: beside an answer "
            "of all of them it would show what is theirs",
            p->set->members_n, all);
    if (p->set->members_n < aggregation_of(&p->plan)->least(&p->plan))
        return error_set(p->error, STATUS_PROTOCOL, "offer: %u of %zu parties, for predictions",
                         p->set->members_n, all);
    log_info("predictions among %u of %zu parties: the server says that the others are away",
             p->set->members_n, all);
    return STATUS_OK;
}

static enum status check_rows(const struct party_predict *p)
{
    const struct prediction *of = &p->about;
    const uint32_t rows_max = p->setup->config->policy.predict_rows;

    if (of->batch > prediction_batch_max(&p->plan))
        return error_set(p->error, STATUS_PROTOCOL, "rounds of %u rows, %u are the most", of->batch,
                         prediction_batch_max(&p->plan));
    if (rows_max > 0 && of->rows > rows_max)
        return error_set(p->error, STATUS_POLICY,
                         "policy.predict.max_rows: %u rows are asked for, %u are the most",
                         of->rows, rows_max);
    for (size_t i = p->setup->roster->n; i < WIRE_MEMBERS_MAX; i++)
        if (of->absent[i])
            return error_set(p->error, STATUS_PROTOCOL, "leaves out a party that there is not");
    if (prediction_is_exact(&p->plan) && prediction_leaves_out(of))
        return error_set(p->error, STATUS_POLICY,
                         "parties are left out, and the encoding has no noise: beside an answer "
                         "with all of them it would show what is theirs");
    if (prediction_is_exact(&p->plan) && p->setup->answers.rows->lacks != NULL)
        return error_set(p->error, STATUS_POLICY, PREDICTION_LABELLED, of->alignment);
    return STATUS_OK;
}

/* Are there so many, and what are they called?  Columns are those of the table, whatever its
 * records have made of them, so that their number tells nothing of these; names stay in this
 * party's log. */
static enum status check_columns(const struct party_predict *p, uint32_t n)
{
    const struct schema *schema = &p->setup->answers.model->schema;

    if (n > schema->n)
        return error_set(p->error, STATUS_CONFIG,
                         "policy.contribute.columns: the model has %zu columns", schema->n);
    for (uint32_t i = 0; i < n && !p->planned; i++)
        log_info("contributions: column %u is \"%s\"", i + 1, schema->column[i].name);
    return STATUS_OK;
}

/* What is asked of each row: all of it is known now, and priced before anything is sent. */
static enum status check_asks(struct party_predict *p)
{
    const struct config_policy *policy = &p->setup->config->policy;
    uint32_t end;

    if (!p->contributes)
        return STATUS_OK;
    if (policy->contribute_rows == 0)
        return error_set(p->error, STATUS_POLICY,
                         "policy.contribute.max_rows: this party takes part in no contributions");
    if (p->about.rows > policy->contribute_rows)
        return error_set(p->error, STATUS_POLICY,
                         "policy.contribute.max_rows: %u rows are asked for, %u are the most",
                         p->about.rows, policy->contribute_rows);
    if (prediction_is_exact(&p->plan))
        return error_set(p->error, STATUS_POLICY, CONTRIBUTION_EXACT);
    contribution_mixes(&p->asks, p->setup->self, &end);
    if (end > policy->contribute_columns)
        return error_set(p->error, STATUS_POLICY,
                         "policy.contribute.columns: column %u is to be mixed up, %u are the most",
                         end, policy->contribute_columns);
    return check_columns(p, end);
}

static enum status price(struct party_predict *p)
{
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX + 1];
    const size_t n = p->setup->ledger.spent(p->setup->ledger.owner, entries);
    const struct package *m = p->setup->answers.model;
    uint32_t end;
    const struct policy_set set = {
        .roster = p->setup->roster,
        .members = p->set->members,
        .n = p->set->members_n,
        .self = p->setup->self,
        .bottom = policy_bottom_kept((struct policy_bottom){m->made, m->noise}, p->setup->config,
                                     entries, n),
        .persons = p->setup->answers.persons,
        .together = 1,
        .records = p->setup->ledger.records,
        .lacking = p->setup->answers.rows->lacks != NULL,
    };

    p->mechanism = policy_mechanism(&p->plan, &set);
    if (!p->setup->ledger.takes(p->setup->ledger.owner, &p->mechanism))
        return policy_full(p->error);
    /* A row that is asked for twice is judged as its block is charged. */
    entries[n] = policy_contributed(&p->plan, &set, p->about.rows,
                                    p->asks.n + contribution_mixes(&p->asks, p->setup->self, &end));
    return policy_check_entries(&p->setup->config->policy, &p->plan, &set, entries, n + 1,
                                p->error);
}

/* --- room --- */

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

enum status predict_sizes(struct party_predict *p)
{
    const enum plan_aggregation agg = p->plan.protocol.aggregation;
    const struct secagg_shape *s = &p->shape;
    const size_t n = s->values_max, tags = secagg_tag_bytes(agg, s),
                 relay = secagg_relay_bytes(agg, s, SECAGG_PART_ROUND, s->self, n),
                 own = larger(secagg_payload_bytes(agg, s, n),
                              secagg_share_bytes(agg, s, SECAGG_PART_ROUND, s->self, n));

    CHECK(secagg_check_bytes(agg, s) <= PREDICT_CHECK_MAX);
    if (own > WIRE_SHARES_MAX || relay > WIRE_SHARES_MAX)
        return error_set(p->error, STATUS_CONFIG, "shares of %zu bytes, more than a message holds",
                         larger(own, relay));
    p->share_max = relay == 0 ? 0 : wire_share_max(relay, tags);
    if (own <= p->payload_max)
        return STATUS_OK;
    mem_free(p->payload);
    p->payload = mem_alloc(own + 16, 1);
    p->payload_max = p->payload == NULL ? 0 : own;
    return p->payload != NULL ? STATUS_OK : error_set(p->error, STATUS_MEMORY, "no memory");
}

/* Of a model that a program has made, that program: it begins with zeros, as in training, and then
 * gets the model's state, with which it says nothing that others see. */
static enum status begin_program(struct party_predict *p, struct nn_spec *spec)
{
    const struct party_setup *setup = p->setup;
    const struct program_shape shape = {.inputs = spec->width[0],
                                        .outputs = spec->width[1],
                                        .rows_max = spec->rows_max,
                                        .shape = spec->layer[0].shape,
                                        .plan = &p->plan};
    enum status s;

    if (spec->layer[0].kind != NN_OUTSIDE)
        return STATUS_OK;
    if (setup->start.program == NULL)
        return error_set(p->error, STATUS_IO, /* nobody else is told */
                         "model.program: there is none, and the model's bottom is a program's");
    s = program_begin(setup->start.program, &shape, p->error);
    if (s != STATUS_OK)
        return s;
    p->program_job = program_job(setup->start.program);
    if (program_floats(setup->start.program) != spec->layer[0].units)
        return error_set(p->error, STATUS_IO,
                         "model.program: its state is not as large as that of the model's bottom");
    spec->outside = program_outside(setup->start.program);
    return STATUS_OK;
}

static enum status make_net(struct party_predict *p)
{
    const struct package *m = p->setup->answers.model;
    const uint32_t batch = p->about.batch;
    struct nn_spec spec = m->spec;
    size_t shown;
    enum status s;

    spec.rows_max = nn_spec_rows(&spec, batch);
    spec.optimizer = NN_SGD;
    shown = spec.rows_max < batch ? (size_t)batch * p->plan.model.embedding : 0;
    s = begin_program(p, &spec);
    if (s != STATUS_OK)
        return s;
    s = arena_init(&p->arena, nn_net_bytes(&spec) +
                                  ((size_t)batch * m->cols + shown) * sizeof *p->x +
                                  3 * (size_t)batch * sizeof *p->round.row + 2 * (size_t)batch +
                                  (size_t)WIRE_TAGS_MAX + PREDICT_CHECK_MAX + 10 * MEM_ALIGNMENT);
    if (s == STATUS_OK)
        s = nn_net_init(&p->net, &spec, &p->arena);
    if (s != STATUS_OK)
        return error_set(p->error, s, "predictions: %s", status_words(s));
    p->x = arena_alloc(&p->arena, (size_t)batch * m->cols, sizeof *p->x);
    p->round.row = arena_alloc(&p->arena, batch, sizeof *p->round.row);
    p->round.charged = arena_alloc(&p->arena, 2 * (size_t)batch, sizeof *p->round.charged);
    p->round.spared = arena_alloc(&p->arena, 2 * (size_t)batch, sizeof *p->round.spared);
    p->check = arena_alloc(&p->arena, (size_t)WIRE_TAGS_MAX + PREDICT_CHECK_MAX, 1);
    if (shown > 0)
        p->shown = arena_alloc(&p->arena, shown, sizeof *p->shown);
    CHECK((shown == 0 || p->shown != NULL) && p->x != NULL && p->round.row != NULL &&
          p->round.charged != NULL && p->round.spared != NULL && p->check != NULL);
    return package_weights(m, &p->net, p->error);
}

static enum status make_room(struct party_predict *p)
{
    enum status s = make_net(p);

    p->shape = (struct secagg_shape){
        .concat = plan_keeps_apart(&p->plan),
        .parties = p->plan.shape.parties,
        .self = p->setup->self,
        .values_max = p->about.batch * p->plan.model.embedding,
        .segments = p->plan.protocol.coded.segments,
        .privacy = p->plan.protocol.coded.privacy,
    };
    if (s == STATUS_OK)
        s = encode_init(&p->shape.encode, &p->plan, p->plan.shape.parties);
    if (s != STATUS_OK)
        return p->error->status != STATUS_OK
                   ? s
                   : error_set(p->error, s, "predictions: %s", status_words(s));
    return predict_sizes(p);
}

static enum status parse(struct party_predict *p, const struct wire_job *job)
{
    enum status s;

    p->contributes = job_is(job, JOB_CONTRIBUTE);
    if (p->contributes) {
        s = contribution_parse(&p->asks, &p->about, &job->text, (uint32_t)p->setup->roster->n,
                               p->error);
        return s == STATUS_OK && p->about.open /* whose rounds have no places for many questions */
                   ? error_set(p->error, STATUS_PROTOCOL, "contributions of rows that come later")
                   : s;
    }
    s = prediction_parse(&p->about, job->text.data, job->text.n, p->error);
    if (s != STATUS_OK)
        return s;
    s = contribution_of(&p->asks, &p->about);
    return s == STATUS_OK ? s : error_set(p->error, s, "predictions: %s", status_words(s));
}

static uint32_t answers(const struct party_predict *p)
{
    return (uint32_t)contribution_places(&p->asks, &p->about);
}

enum status predict_offer(void *state, struct actions *a, const struct wire_offer *o)
{
    struct party_predict *p = state;
    uint8_t digest[WIRE_DIGEST_BYTES];
    enum status s = STATUS_OK;

    (void)a;
    program_round(p->setup->start.program);
    if (p->setup->answers.rows == NULL)
        return error_set(p->error, STATUS_POLICY,
                         "data.predict: this party takes part in no prediction");
    job_digest(digest, o->job.kind, o->job.text.data, o->job.text.n);
    if (p->planned && memcmp(digest, p->digest, sizeof digest) != 0)
        return error_set(p->error, STATUS_PROTOCOL, "the server changed the job in its middle");
    if (!p->planned) {
        contribution_deinit(&p->asks); /* of an offer that was refused */
        s = parse(p, &o->job);
        if (s == STATUS_OK)
            s = check_model(p);
        if (s == STATUS_OK)
            s = check_names(p);
    }
    if (s == STATUS_OK)
        s = check_allowed(p);
    if (s == STATUS_OK)
        s = check_set(p);
    if (s == STATUS_OK)
        s = check_rows(p);
    if (s == STATUS_OK)
        s = check_asks(p);
    if (s == STATUS_OK)
        s = p->setup->ledger.may_answer(p->setup->ledger.owner, p->planned ? 0 : answers(p),
                                        p->error);
    if (s == STATUS_OK)
        s = price(p);
    if (s == STATUS_OK && !p->planned)
        s = make_room(p);
    if (s != STATUS_OK)
        return s;
    if (!p->planned)
        log_info("%s asks for %s%u rows%s%s%s by the model of run %s, for %s, each %u times",
                 p->setup->roster->server.name, p->about.open ? "up to " : "", p->about.rows,
                 prediction_is_placed(&p->about) ? " of alignment " : "", p->about.alignment,
                 p->contributes ? ", to tell contributions," : "", p->about.run, p->about.by,
                 p->asks.n);
    memcpy(p->digest, digest, sizeof digest);
    p->planned = true;
    return STATUS_OK;
}
