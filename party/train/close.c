/* close.c -- checkpoints on their way, and CLOSE: the final model is kept before anybody ends.
 *
 * When one is durable the server is told, which may then forget what this party will not ask for
 * again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/parts.h"

#include "common/base/log.h"

static enum status save(struct party_train *p, struct error *err)
{
    if (party_train_save(p, party_keep_next(&p->keep, p->learner.applied)) == STATUS_OK)
        return STATUS_OK;
    return error_set(err, STATUS_MEMORY, "no memory for a checkpoint");
}

enum status party_save_when_due(struct party_train *p, struct party_result *r)
{
    const uint32_t every = p->host->setup->checkpoint_rounds;

    if (every == 0 || p->keep.writing || p->learner.applied % every != 0)
        return STATUS_OK;
    r->saved = true;
    return save(p, &r->error);
}

enum status party_keep_now(struct party_train *p, struct actions *a)
{
    enum status s = save(p, p->host->error);

    if (s == STATUS_OK)
        party_keep_write(&p->keep, a);
    return s;
}

static void say_kept(const struct party_train *p, struct actions *a)
{
    if (p->host->sm->phase != PHASE_GATHER) /* there the next join says it */
        party_keep_say(&p->keep, a);
}

enum status party_kept(struct party_train *p, struct actions *a, const struct error *result)
{
    struct party_keep *k = &p->keep;

    k->writing = false;
    if (result->status != STATUS_OK) {
        *p->host->error = *result;
        return result->status;
    }
    party_keep_durable(k);
    if (p->host->sm->phase == PHASE_CLOSE && !k->final)
        return party_close(p, a); /* that was an older one */
    say_kept(p, a);
    return STATUS_OK;
}

/* The last broadcast has come, and its gradient is applied. */
enum status party_close(struct party_train *p, struct actions *a)
{
    struct sm *sm = p->host->sm;
    struct party_keep *k = &p->keep;

    if (!party_best_settle(&p->learner.best, &p->learner.bottom.net))
        log_warn("the best model was that after %llu steps, of which this party has no copy: it "
                 "keeps its last one",
                 (unsigned long long)p->learner.best.named);
    p->learner.final = true;
    if (sm->phase != PHASE_CLOSE)
        sm_move(sm, PHASE_CLOSE, p->host->set->generation);
    party_arm(&p->course, a);
    if (k->writing)
        return STATUS_OK; /* comes back here */
    k->final = true;
    if (p->host->setup->checkpoint_rounds > 0)
        return party_keep_now(p, a);
    k->kept_step = p->learner.applied; /* as durable as this party wants anything to be */
    say_kept(p, a);
    return STATUS_OK;
}
