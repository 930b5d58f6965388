/* plan.c -- the plan of an offer: read, checked, priced, and room made for what it asks for.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/parts.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "party/policy.h"
#include "party/train/mode.h"

#include <string.h>

/* --- the plan --- */

/* In each part, for all that a job of this plan does. */
static enum status make_room(struct party_train *p, const uint8_t *text, size_t n)
{
    const struct party_setup *setup = p->host->setup;
    struct error *err = p->host->error;
    struct party_course *c = &p->course;
    enum status s = party_course_make_room(c, text, n);

    if (s == STATUS_OK && persons_named(setup->data.persons))
        s = persons_together(&p->purse.together, setup->data.persons, &c->plan, setup->self, err);
    if (s == STATUS_OK)
        s = party_round_make_room(&p->round, c);
    if (s == STATUS_OK)
        s = party_size_messages(&p->round, &c->plan, 0, err);
    if (s == STATUS_OK)
        s = party_purse_make_room(&p->purse, &c->plan);
    if (s == STATUS_OK)
        s = party_learner_make_room(&p->learner, c, setup, &p->round.shape);
    if (s != STATUS_OK)
        return error_set(err, s, "the server's plan: %s", status_words(s));
    p->learner.bottom.halt.stop = p->learner.bottom.outside.program == NULL ? p->host->stop : NULL;
    return STATUS_OK;
}

/* Before anything is said: what it does with zeros hangs on no record. */
static enum status begin_program(struct party_train *p)
{
    const struct party_setup *setup = p->host->setup;
    const struct plan *plan = &p->course.plan;
    const uint32_t features = (uint32_t)setup->data.train->cols;
    struct program_shape shape = {.plan = plan};
    struct nn_spec spec;
    enum status s;

    if (setup->config->program.command.n == 0)
        return STATUS_OK;
    spec = party_bottom_spec(setup->config, plan, features, setup->data.schema);
    shape.inputs = features;
    shape.outputs = plan->model.embedding;
    shape.rows_max = spec.rows_max;
    shape.shape = spec.layer[0].shape;
    /* Its own, as first weights are. */
    s = program_draw_seed(&shape.seed, setup->start.seeded, setup->start.seed, setup->self + 1);
    return s == STATUS_OK ? program_begin(setup->start.program, &shape, p->host->error)
                          : error_set(p->host->error, s, "model.program: %s", status_words(s));
}

enum status party_take_plan(struct party_train *p, const uint8_t *text, size_t n)
{
    const struct party_setup *setup = p->host->setup;
    struct error *err = p->host->error;
    struct party_course *c = &p->course;
    enum status s = party_course_read(c, setup, text, n, err);

    if (s == STATUS_OK)
        s = party_bottom_check(setup->config, &c->plan, (uint32_t)setup->data.train->cols,
                               setup->data.schema, err);
    if (s == STATUS_OK)
        s = begin_program(p);
    if (s == STATUS_OK)
        s = make_room(p, text, n);
    if (s == STATUS_OK)
        s = party_learner_load(&p->learner, c, setup, err);
    if (s == STATUS_OK)
        s = party_from_load(p);
    if (s != STATUS_OK)
        return s;
    c->mode = party_mode_of(&c->plan);
    p->purse.repeats = validate_repeats(setup->data.train, setup->data.test);
    trail_begin(&p->learner.trail, &p->learner.digest, c->digest);
    c->planned = true;
    s = party_deal_init(&p->deal, c, setup, err);
    if (s != STATUS_OK && err->status == STATUS_OK)
        error_set(err, s, "data shares: %s", status_words(s));
    return s;
}

/* All that party_take_plan and what followed have made. */
static void forget_plan(struct party_train *p)
{
    CHECK(p->round.masks == NULL);
    party_course_deinit(&p->course);
    party_learner_deinit(&p->learner);
    party_deal_deinit(&p->deal);
    party_round_free_room(&p->round);
    party_purse_deinit(&p->purse);
    party_keep_forget(&p->keep);
    party_witness_forget_steps(&p->purse.witness);
    p->purse.opened = (struct party_opened){.steps = 0};
    p->learner.behind.heard = 0;
}

static enum status same_plan(struct party_train *p, const struct wire_offer *o)
{
    if (o->job.text.n == p->course.text.len &&
        memcmp(o->job.text.data, p->course.text.data, o->job.text.n) == 0)
        return STATUS_OK;
    /* The first checkpoint of a run that ended before it began: its server has forgotten it, too,
     * and a fresh model is as good as that one. */
    if (!p->course.taken && !p->learner.trained && !p->learner.final) {
        log_info("state: its run had done no step, and the server's is another one: begun anew");
        forget_plan(p);
        return party_take_plan(p, o->job.text.data, o->job.text.n);
    }
    if (!p->course.taken)
        return error_set(
            p->host->error, STATUS_CONFIG,
            "state: holds %s of another plan; use another state directory",
            p->learner.final ? "the final model of a run that its server has not ended," : "a run");
    return error_set(p->host->error, STATUS_PROTOCOL,
                     "the server changed its plan in the middle of a run");
}

/* Steps from here on will be released: the server's may be fewer than this party's, and those in
 * between are released again.  Under async a party counts its own. */
static uint64_t goes_on_from(const struct party_train *p, uint64_t offered)
{
    return p->course.mode->own_steps || offered > p->learner.applied ? p->learner.applied : offered;
}

/* What this party's policy and its ledger say of the plan among a set. */
static enum status judge(const struct party_train *p, const struct policy_set *set,
                         const struct account_entry *spent, size_t n, struct error *err)
{
    const struct party_setup *setup = p->host->setup;
    const struct account_entry mechanism = policy_mechanism(&p->course.plan, set);

    if (!setup->ledger.takes(setup->ledger.owner, &mechanism))
        return policy_full(err);
    return policy_check(&setup->config->policy, &p->course.plan, set, spent, n, err);
}

/* A set of some of the roster, though the whole roster has come together before. */
static bool is_a_rest(const struct party_train *p, const struct policy_set *set, uint64_t offered)
{
    const bool first = !p->course.taken && offered == 0;

    return p->course.does_without && !first && set->n < set->roster->n;
}

/* Once this process has taken part, its own charges are in the ledger, and every block is checked
 * as it is reserved: the rest of the plan alone is judged, and a run whose rounds were repeated
 * goes on for as long as its limit allows.  A process that goes on from a checkpoint prices the
 * rest on top of what it has spent; so does one that is taken back. */
static enum status judge_as_it_stands(const struct party_train *p, const struct policy_set *set,
                                      const struct account_entry *spent, size_t n,
                                      struct error *err)
{
    const bool goes_on = p->course.taken && set->done == p->learner.applied;

    return judge(p, set, spent, goes_on ? 0 : n, err);
}

/* A set that others may come back to.  On top of all that is spent the rest of the plan may be too
 * dear in it, so that the ledger would end the run halfway, and not in the whole roster: then it is
 * sat out.  Where the limit allows neither, since rounds were repeated, it is played as far as it
 * goes. */
static enum status judge_rest(struct party_train *p, const struct policy_set *set,
                              struct account_entry *spent, size_t n, struct error *err)
{
    struct policy_set left = *set, all;
    uint8_t members[WIRE_MEMBERS_MAX];
    struct error why = {0};
    enum status s;

    for (size_t i = 0; i < set->roster->n; i++)
        members[i] = (uint8_t)i;
    party_less_unopened(&p->purse, &p->course, spent, n);
    left.again = p->purse.opened.steps <= set->done;
    all = left;
    all.members = members;
    all.n = set->roster->n;
    s = judge(p, &left, spent, n, &why);
    p->course.wants_more = s != STATUS_OK && judge(p, &all, spent, n, NULL) == STATUS_OK;
    if (s == STATUS_OK)
        return s;
    if (p->course.wants_more) {
        *err = why;
        return s;
    }
    s = judge_as_it_stands(p, set, spent, n, err);
    all.again = false;
    p->course.wants_more =
        s != STATUS_OK && judge_as_it_stands(p, &all, spent, n, NULL) == STATUS_OK;
    return s;
}

/* Before the first release of a process: what it releases is known by then, as the set stays. */
static enum status spare(const struct party_train *p, const struct policy_set *set)
{
    const struct party_setup *setup = p->host->setup;
    struct account_entry planned;
    struct agenda_releases releases;

    if (!set->lacking || p->course.taken || !policy_limits_record(&setup->config->policy))
        return STATUS_OK;
    planned = policy_planned(&p->course.plan, set, &releases);
    policy_repetitions(&planned, &setup->config->policy, &p->course.plan, set);
    return setup->ledger.spare(setup->ledger.owner, &p->course.plan, &planned, p->host->error);
}

static enum status price(struct party_train *p, struct actions *a, uint64_t offered)
{
    const struct party_setup *setup = p->host->setup;
    const struct plan *plan = &p->course.plan;
    struct account_entry spent[ACCOUNT_MECHANISMS_MAX];
    const size_t n = setup->ledger.spent(setup->ledger.owner, spent);
    struct policy_set set = {
        .roster = setup->roster,
        .members = p->host->set->members,
        .n = p->host->set->members_n,
        .self = setup->self,
        .done = goes_on_from(p, offered),
        .bottom = plan->training.from[0] != 0
                      ? policy_bottom_kept(p->purse.before, setup->config, spent, n)
                      : policy_bottom_of(setup->config, spent, n),
        .repeats = p->purse.repeats,
        .persons = setup->data.persons,
        .together = p->purse.together,
        .records = setup->ledger.records,
        .lacking = setup->data.train->lacks != NULL,
    };
    const struct account_entry mechanism = policy_mechanism(plan, &set);
    enum status s;

    p->purse.raw |= set.bottom.kind == ACCOUNT_RAW;
    s = is_a_rest(p, &set, offered) ? judge_rest(p, &set, spent, n, p->host->error)
                                    : judge_as_it_stands(p, &set, spent, n, p->host->error);
    if (s == STATUS_OK)
        s = spare(p, &set);
    /* Of a set that it sits out of nothing is spent: what is reserved stays for the next. */
    if (!p->course.wants_more && setup->ledger.takes(setup->ledger.owner, &mechanism))
        party_use_mechanism(&p->purse, &p->course, a, mechanism);
    return s;
}

enum status party_train_offer(void *state, struct actions *a, const struct wire_offer *o)
{
    struct party_train *p = state;
    enum status s;

    program_round(p->host->setup->start.program);
    s = p->course.planned ? same_plan(p, o) : party_take_plan(p, o->job.text.data, o->job.text.n);

    p->course.wants_more = false;
    if (s != STATUS_OK)
        return s;
    if (o->step > p->learner.behind.heard && o->step <= p->course.agenda.steps)
        p->learner.behind.heard = o->step;
    if (!p->course.does_without && p->host->set->members_n != p->host->setup->roster->n)
        return error_set(p->host->error, STATUS_PROTOCOL,
                         "offer: %u of %zu parties under straggler wait", p->host->set->members_n,
                         p->host->setup->roster->n);
    if (!party_best_may_be(&p->learner.best, o->best, o->step))
        return party_violation(p->host->error, PARTY_NO_EVALUATION, o->best);
    party_learner_best(&p->learner, o->best);
    s = price(p, a, o->step);
    if (p->course.wants_more)
        return s;
    p->learner.behind.offered = o->step;
    p->course.taken = s == STATUS_OK;
    if (p->course.taken) /* of one that it refuses this party has no part */
        memcpy(p->course.playing, o->playing, sizeof p->course.playing);
    return s;
}
