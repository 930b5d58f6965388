/* predict.c -- the jobs `predict` and `contribute` at a party: life, and who of this folder gets
 * which event.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/predict/predict.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "common/flow/job.h"
#include "common/wire/limits.h"
#include "party/predict/parts.h"

#include <string.h>

/* --- a set comes together --- */

static void join(const void *state, struct wire_join *j)
{
    (void)state;
    (void)j;
}

static const uint8_t *digest(const void *state)
{
    return ((const struct party_predict *)state)->digest;
}

static enum party_next ready(void *state, struct actions *a)
{
    (void)state;
    (void)a;
    return PARTY_READY;
}

static void say(const void *state, struct wire_hello *h)
{
    const struct party_predict *p = state;

    h->ledger = p->setup->ledger.sequence(p->setup->ledger.owner);
}

static enum status begin(void *state, const struct secagg_pair *pairs)
{
    struct party_predict *p = state;
    enum status s;

    p->shape.parties = p->set->members_n;
    p->shape.self = p->set->self;
    s = encode_init(&p->shape.encode, &p->plan, p->set->members_n);
    if (s != STATUS_OK)
        return error_set(p->error, s, "predictions: %s", status_words(s));
    s = predict_sizes(p);
    if (s != STATUS_OK)
        return s;
    predict_witness_hellos(p);
    s = rng_renew(&p->noise);
    if (s == STATUS_OK)
        s = secagg_party_new(&p->masks, p->plan.protocol.aggregation, &p->shape, pairs);
    return s == STATUS_OK ? s
                          : error_set(p->error, s, "keys of generation %llu: %s",
                                      (unsigned long long)p->set->generation, status_words(s));
}

static void confirm(const void *state, struct agree_confirm *c)
{
    predict_witness_say(state, c);
}

static enum status check(void *state, const struct wire_confirms *cs)
{
    return predict_witness_check(state, cs);
}

static void start(void *state)
{
    struct party_predict *p = state;
    const bool shares = secagg_shares(p->plan.protocol.aggregation);

    sm_move(p->sm, shares ? PHASE_SHARE : PHASE_ROUND, p->set->generation);
    p->round.number = p->round.place = 0;
    trail_begin(&p->trail, &p->hash, p->digest);
}

static void lost(void *state)
{
    struct party_predict *p = state;

    p->round.relay_due = false;
    secagg_party_free(p->masks);
    p->masks = NULL;
}

/* --- it is played --- */

static enum party_next unless(enum status s)
{
    return s == STATUS_OK ? PARTY_WAIT : PARTY_REFUSE;
}

static enum party_next message(void *state, struct actions *a, const struct wire_msg *m)
{
    struct party_predict *p = state;

    if (m->kind == WIRE_BROADCAST)
        return unless(predict_broadcast(p, a, &m->broadcast));
    if (m->kind == WIRE_RELAY)
        return unless(predict_relay(p, a, &m->relay));
    error_set(p->error, STATUS_PROTOCOL, "the server sent %s in a job of predictions",
              wire_kind_name(m->kind));
    return PARTY_REFUSE;
}

static enum party_next done(void *state, struct actions *a, const struct event *e)
{
    struct party_predict *p = state;

    if (e->kind == EVENT_DONE)
        return unless(predict_worked(p, a));
    CHECK(e->kind == EVENT_CHARGED);
    if (e->error->status != STATUS_OK) {
        *p->error = *e->error;
        return PARTY_REFUSE;
    }
    return unless(predict_charged(p, a));
}

static enum party_next timer(void *state, bool connected)
{
    (void)state;
    (void)connected;
    return PARTY_FAIL;
}

static uint64_t patience_ms(const void *state)
{
    const struct party_predict *p = state;

    return p->planned ? 2 * (uint64_t)p->plan.protocol.patience_ms : 0;
}

/* --- its end --- */

static enum party_next dismissed(void *state, const struct wire_finish *f)
{
    (void)state;
    (void)f;
    return PARTY_DONE;
}

/* What was seen of others' ledgers since the last charge. */
static void end(void *state, struct actions *a)
{
    struct party_predict *p = state;

    if (!p->planned)
        return;
    log_info("%llu rows were predicted in %llu rounds", (unsigned long long)p->released,
             (unsigned long long)p->rounds);
    actions_add(a, ACTION_CHARGE)->charge = (struct action_charge){
        .mechanism = p->mechanism,
        .purpose = PURPOSE_EVALUATE_TEST,
        .predicts = true,
        .contributes = p->contributes,
        .plan = p->digest,
        .give_back = true,
        .seen = p->seen,
        .seen_n = p->setup->roster->n,
    };
}

/* A process that comes later begins with the next offer. */
static enum status save(const void *state, struct buf *out)
{
    (void)state;
    (void)out;
    return STATUS_OK;
}

static void report(const void *state, struct party_report *r)
{
    const struct party_predict *p = state;

    r->progress = (struct party_progress){.rounds = p->rounds, .furthest = p->asked.until};
    r->planned = p->planned;
    r->plan = p->plan;
    r->mechanism = p->mechanism;
    if (p->planned) {
        const size_t ids = (size_t)p->about.batch * 65 + WIRE_OVERHEAD_MAX,
                     least = wire_down_max(&p->plan, p->share_max);

        r->down_max = ids > least ? ids : least;
    }
}

/* --- life --- */

static void free_job(void *state)
{
    struct party_predict *p = state;

    lost(p);
    rng_deinit(&p->noise);
    digest_deinit(&p->hash);
    arena_deinit(&p->arena);
    contribution_deinit(&p->asks);
    if (p->payload != NULL) /* shares that a failure left unsealed */
        secret_wipe(p->payload, p->payload_max);
    mem_free(p->payload);
    buf_deinit(&p->received);
    if (p->program_job > 0)
        program_end(p->setup->start.program, p->program_job);
    secret_free(p, 1, sizeof *p);
}

static enum status new_job(void **state, const struct party_host *host)
{
    struct party_predict *p = secret_alloc(1, sizeof *p);
    enum status s;

    if (p == NULL)
        return STATUS_MEMORY;
    p->setup = host->setup;
    p->set = host->set;
    p->sm = host->sm;
    p->error = host->error;
    p->spans = host->spans;
    buf_init(&p->received, WIRE_PAYLOAD_MAX);
    predict_witness_init(p);
    s = rng_init_system(&p->noise);
    if (s == STATUS_OK)
        *state = p;
    else
        free_job(p);
    return s;
}

/* Both are played alike: what they are about is in the text. */
#define PREDICTS(name)                                                                             \
    {                                                                                              \
        .kind = name, .new = new_job, .free = free_job, .join = join, .offer = predict_offer,      \
        .digest = digest, .ready = ready, .say = say, .begin = begin, .confirm = confirm,          \
        .check = check, .start = start, .message = message, .work = predict_work, .done = done,    \
        .timer = timer, .patience_ms = patience_ms, .lost = lost, .dismissed = dismissed,          \
        .end = end, .save = save, .report = report,                                                \
    }

const struct party_job party_predict_job = PREDICTS(JOB_PREDICT);
const struct party_job party_contribute_job = PREDICTS(JOB_CONTRIBUTE);
