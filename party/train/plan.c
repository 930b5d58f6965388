/* plan.c -- the plan of an offer: read, checked, priced, and room made for what it asks for.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/parts.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "party/policy.h"

#include <string.h>

/* --- the plan --- */

static enum status init_bottom(struct party_train *p)
{
    uint8_t key[RNG_KEY_BYTES];
    struct rng init = {0};
    enum status s;

    if (p->setup->seeded) {
        rng_seed_key(key, p->setup->seed, p->setup->self + 1, "init", 0);
        s = rng_init_key(&init, key);
    } else {
        s = rng_init_system(&init);
    }
    if (s == STATUS_OK)
        s = party_bottom_init(&p->learner.bottom, p->setup->config, &p->learner.plan,
                              (uint32_t)p->setup->train->cols, &init);
    rng_deinit(&init);
    p->learner.bottom.stop = p->stop;
    if (s == STATUS_OK && p->setup->seeded)
        party_dp_seed(&p->learner.bottom.dp, p->setup->seed, p->setup->self + 1);
    return s;
}

static enum status init_buffers(struct party_train *p)
{
    const struct plan *plan = &p->learner.plan;
    uint32_t batch = plan->training.batch, longest = plan->shape.train_rows;

    p->round.shape = (struct secagg_shape){
        .concat = plan->model.fusion == FUSION_CONCAT,
        .parties = plan->shape.parties,
        .self = p->setup->self, /* until a generation says otherwise */
        .values_max = wire_evaluate_rows(plan) * plan->model.embedding,
        .segments = plan->protocol.coded.segments,
        .privacy = plan->protocol.coded.privacy,
    };
    if (encode_init(&p->round.shape.encode, plan, plan->shape.parties) != STATUS_OK)
        return STATUS_CONFIG;
    if (plan->shape.test_rows > longest)
        longest = plan->shape.test_rows;
    p->purse.rows_max = (size_t)batch * PARTY_CHARGE_ROUNDS > longest
                            ? (size_t)batch * PARTY_CHARGE_ROUNDS
                            : longest;
    p->round.upload.check = mem_alloc((size_t)WIRE_TAGS_MAX + PARTY_CHECK_MAX, 1);
    p->round.coded = mem_alloc(wire_evaluate_rows(plan), sizeof *p->round.coded);
    p->purse.rows = mem_alloc(p->purse.rows_max, sizeof *p->purse.rows);
    if (p->round.upload.check == NULL || p->round.coded == NULL || p->purse.rows == NULL)
        return STATUS_MEMORY;
    return party_size_messages(p);
}

/* All that a session of this plan needs. */
static enum status make_room(struct party_train *p, const uint8_t *text, size_t n)
{
    enum status s = buf_append(&p->learner.plan_text, text, n);

    if (s == STATUS_OK && persons_named(p->setup->persons))
        s = persons_together(&p->purse.together, p->setup->persons, &p->learner.plan,
                             p->setup->self, p->error);
    if (s == STATUS_OK)
        s = schedule_init(&p->learner.schedule, agenda_seed(&p->learner.plan, p->setup->self),
                          p->learner.plan.shape.train_rows, p->learner.plan.training.batch,
                          p->learner.plan.protocol.fedvs.segments);
    if (s == STATUS_OK)
        s = init_bottom(p);
    if (s == STATUS_OK)
        s = init_buffers(p);
    if (s == STATUS_OK)
        s = party_sent_init(
            &p->learner.sent, &p->learner.plan, party_refreshes(&p->learner.plan, p->setup->self),
            secagg_scratch_bytes(&p->round.shape, (size_t)p->learner.plan.training.batch *
                                                      p->learner.plan.model.embedding));
    if (s == STATUS_OK)
        s = buf_reserve(&p->learner.undo, party_undo_bytes(&p->learner));
    return s;
}

enum status party_take_plan(struct party_train *p, const uint8_t *text, size_t n)
{
    enum status s = plan_parse(&p->learner.plan, (const char *)text, n, p->error);

    if (s != STATUS_OK) {
        error_wrap(p->error, "the server's plan");
        if (status_kind(s) != STATUS_KIND_LOCAL) /* what is short here is no fault of the server */
            p->error->status = s = STATUS_PROTOCOL;
        return s;
    }
    if (!wire_fits(&p->learner.plan))
        return error_set(p->error, STATUS_PROTOCOL,
                         "the server's plan: a step's message would have %zu bytes",
                         wire_blob_max(&p->learner.plan));
    if (p->learner.plan.shape.parties != p->setup->roster->n)
        return error_set(p->error, STATUS_PROTOCOL,
                         "the server's plan: for %u parties, the roster has %zu",
                         p->learner.plan.shape.parties, p->setup->roster->n);
    if (p->learner.plan.shape.train_rows != p->setup->train->rows ||
        p->learner.plan.shape.test_rows != p->setup->test->rows)
        return error_set(
            p->error, STATUS_DATA,
            "rows do not match: this side has %zu training and %zu test rows, the server %u and %u",
            p->setup->train->rows, p->setup->test->rows, p->learner.plan.shape.train_rows,
            p->learner.plan.shape.test_rows);
    p->purse.shared_ids = table_share_ids(p->setup->train, p->setup->test);
    agenda_make(&p->learner.agenda, &p->learner.plan);
    s = party_bottom_check(p->setup->config, &p->learner.plan, (uint32_t)p->setup->train->cols,
                           p->error);
    if (s != STATUS_OK)
        return s;
    s = make_room(p, text, n);
    if (s != STATUS_OK)
        return error_set(p->error, s, "the server's plan: %s", status_words(s));
    if (p->setup->weights != NULL)
        s = party_bottom_load(&p->learner.bottom, p->setup->weights, p->setup->weights_n, p->error);
    if (s != STATUS_OK)
        return s;
    s = party_refresh_init(&p->learner.refresh, &p->learner.plan, p->setup->self, p->setup->labels,
                           p->error);
    if (s != STATUS_OK)
        return s;
    digest_sha256(p->learner.plan_digest, p->learner.plan_text.data, p->learner.plan_text.len);
    trail_begin(&p->learner.trail, &p->learner.digest, p->learner.plan_digest);
    p->learner.planned = true;
    s = party_deal_init(p);
    if (s != STATUS_OK && p->error->status == STATUS_OK)
        error_set(p->error, s, "data shares: %s", status_words(s));
    return s;
}

static void wipe(struct buf *b)
{
    if (b->data != NULL)
        secret_wipe(b->data, b->cap);
    buf_deinit(b);
}

/* What party_take_plan and all that followed have made. */
void party_free_plan(struct party_train *p)
{
    schedule_deinit(&p->learner.schedule);
    party_bottom_deinit(&p->learner.bottom);
    party_sent_deinit(&p->learner.sent);
    party_refresh_deinit(&p->learner.refresh);
    buf_deinit(&p->learner.plan_text);
    wipe(&p->keep.last);
    wipe(&p->keep.before);
    wipe(&p->learner.undo);
    party_deal_deinit(p);
    if (p->round.upload.payload != NULL) /* shares that a failure left unsealed */
        secret_wipe(p->round.upload.payload, p->round.upload.payload_max);
    mem_free(p->round.upload.payload);
    mem_free(p->round.coded);
    mem_free(p->round.upload.check);
    mem_free(p->purse.rows);
}

static void forget_plan(struct party_train *p)
{
    CHECK(!p->keep.writing && p->round.masks == NULL);
    party_free_plan(p);
    buf_init(&p->learner.plan_text, PLAN_TEXT_MAX);
    buf_init(&p->keep.last, PARTY_KEEP_MAX);
    buf_init(&p->keep.before, PARTY_KEEP_MAX);
    buf_init(&p->learner.undo, PARTY_KEEP_MAX);
    p->round.upload.payload = p->round.upload.check = NULL;
    p->round.coded = p->purse.rows = NULL;
    p->learner.planned = p->keep.any = false;
    p->keep.last_step = p->keep.kept_step = p->keep.before_step = 0;
    party_witness_forget_steps(p);
}

static enum status same_plan(struct party_train *p, const struct wire_offer *o)
{
    if (o->job.text.n == p->learner.plan_text.len &&
        memcmp(o->job.text.data, p->learner.plan_text.data, o->job.text.n) == 0)
        return STATUS_OK;
    /* The first checkpoint of a run that ended before it began: its server has forgotten it, too,
     * and a fresh model is as good as that one. */
    if (!p->learner.taken && !p->learner.trained && !p->learner.final) {
        log_info("state: its run had done no step, and the server's is another one: begun anew");
        forget_plan(p);
        return party_take_plan(p, o->job.text.data, o->job.text.n);
    }
    if (!p->learner.taken)
        return error_set(
            p->error, STATUS_CONFIG, "state: holds %s of another plan; use another state directory",
            p->learner.final ? "the final model of a run that its server has not ended," : "a run");
    return error_set(p->error, STATUS_PROTOCOL,
                     "the server changed its plan in the middle of a run");
}

/* Steps from here on will be released: the server's may be fewer than this party's, and those in
 * between are released again.  Under async a party counts its own. */
static uint64_t goes_on_from(const struct party_train *p, uint64_t offered)
{
    if (p->learner.plan.protocol.straggler == STRAGGLER_ASYNC || offered > p->learner.applied)
        return p->learner.applied;
    return offered;
}

static enum status price(struct party_train *p, struct actions *a, uint64_t offered)
{
    struct account_entry spent[ACCOUNT_MECHANISMS_MAX];
    size_t n = p->setup->spent(p->setup->owner, spent);
    struct policy_set set = {
        .roster = p->setup->roster,
        .members = p->set->members,
        .n = p->set->members_n,
        .self = p->setup->self,
        /* Once this process has taken part, its own charges are in the ledger, and every block is
         * checked as it is reserved.  A process that goes on from a checkpoint prices the rest; so
         * does one that is taken back, on top of what it has spent. */
        .done = goes_on_from(p, offered),
        .bottom = policy_bottom_of(p->setup->config, spent, n),
        .shared = p->purse.shared_ids,
        .persons = p->setup->persons,
        .together = p->purse.together,
        .records = p->setup->records,
    };
    const struct account_entry mechanism = policy_mechanism(&p->learner.plan, &set);

    p->learner.raw |= set.bottom.kind == ACCOUNT_RAW;
    if (!p->setup->takes(p->setup->owner, &mechanism))
        return policy_full(p->error);
    party_use_mechanism(p, a, mechanism);
    if (p->learner.taken && set.done == p->learner.applied)
        return policy_check(&p->setup->config->policy, &p->learner.plan, &set, spent, 0, p->error);
    return policy_check(&p->setup->config->policy, &p->learner.plan, &set, spent, n, p->error);
}

enum status party_train_offer(void *state, struct actions *a, const struct wire_offer *o)
{
    struct party_train *p = state;
    enum status s =
        p->learner.planned ? same_plan(p, o) : party_take_plan(p, o->job.text.data, o->job.text.n);

    if (s != STATUS_OK)
        return s;
    if (p->learner.plan.protocol.straggler == STRAGGLER_WAIT &&
        p->set->members_n != p->setup->roster->n)
        return error_set(p->error, STATUS_PROTOCOL, "offer: %u of %zu parties under straggler wait",
                         p->set->members_n, p->setup->roster->n);
    s = price(p, a, o->step);
    p->learner.behind.offered = o->step;
    p->learner.taken = s == STATUS_OK;
    return s;
}
