/* learner.c -- life of what learns, and a stop in the middle of a step.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/learner.h"

#include "common/crypto/secret.h"
#include "common/nn/state.h"

#include <string.h>

/* --- what a step may change --- */

static size_t weights_bytes(const struct party_learner *l)
{
    return l->sent.importance != NULL ? l->sent.width * sizeof *l->sent.importance : 0;
}

static size_t undo_bytes(const struct party_learner *l, const struct plan *p)
{
    /* A program's steps are not left halfway: to have its state before each costs more. */
    return p->protocol.local_iterations > 1 && !l->bottom.frozen &&
                   l->bottom.outside.program == NULL
               ? nn_state_bytes(&l->bottom.net) + weights_bytes(l)
               : 0;
}

/* --- life --- */

void party_learner_deinit(struct party_learner *l)
{
    party_bottom_deinit(&l->bottom);
    party_best_deinit(&l->best);
    party_sent_deinit(&l->sent);
    party_refresh_deinit(&l->refresh);
    secret_buf_deinit(&l->undo);
    digest_deinit(&l->digest);
}

static enum status draw_bottom(struct party_learner *l, const struct party_course *c,
                               const struct party_setup *setup)
{
    uint8_t key[RNG_KEY_BYTES];
    struct rng init = {0};
    enum status s;

    if (setup->start.seeded) {
        rng_seed_key(key, setup->start.seed, setup->self + 1, "init", 0);
        s = rng_init_key(&init, key);
    } else {
        s = rng_init_system(&init);
    }
    l->bottom.outside.program = setup->config->program.command.n > 0 ? setup->start.program : NULL;
    if (s == STATUS_OK)
        s = party_bottom_init(&l->bottom, setup->config, &c->plan,
                              (uint32_t)setup->data.train->cols, setup->data.schema, &init);
    rng_deinit(&init);
    if (s == STATUS_OK && setup->start.seeded)
        party_bottom_seed(&l->bottom, setup->start.seed, setup->self + 1);
    return s;
}

enum status party_learner_make_room(struct party_learner *l, const struct party_course *c,
                                    const struct party_setup *setup,
                                    const struct secagg_shape *shape)
{
    const size_t batch_values = (size_t)c->plan.training.batch * c->plan.model.embedding;
    enum status s = draw_bottom(l, c, setup);

    if (s == STATUS_OK)
        s = party_best_init(&l->best, &c->plan, &c->agenda, &l->bottom.net);
    /* As large as the bottom and what is sent of it: the number of features is the rows' to decide,
     * so that no limit may stand where a plan is answered. */
    buf_init(&l->undo, SIZE_MAX);
    if (s == STATUS_OK)
        s = party_sent_init(&l->sent, &c->plan, party_refreshes(&c->plan, c->self),
                            secagg_scratch_bytes(shape, batch_values));
    return s == STATUS_OK ? buf_reserve(&l->undo, undo_bytes(l, &c->plan)) : s;
}

enum status party_learner_load(struct party_learner *l, const struct party_course *c,
                               const struct party_setup *setup, struct error *err)
{
    enum status s = STATUS_OK;

    if (setup->start.weights != NULL)
        s = party_bottom_load(&l->bottom, setup->start.weights, setup->start.weights_n, err);
    if (s != STATUS_OK)
        return s;
    return party_refresh_init(&l->refresh, &c->plan, c->self, setup->data.labels, err);
}

/* --- steps --- */

size_t party_step_bytes(const struct party_learner *l, uint32_t rows)
{
    return down_words(&l->bottom.back.down, rows) * sizeof *l->bottom.back.received;
}

enum status party_learner_receive(struct party_learner *l, struct wire_bytes gradient,
                                  uint32_t rows, struct error *err)
{
    if (gradient.n != party_step_bytes(l, rows))
        return party_violation(err, "a gradient of the wrong size", gradient.n);
    if (gradient.n > 0)
        memcpy(l->bottom.back.received, gradient.data, gradient.n);
    return STATUS_OK;
}

void party_learner_advance(struct party_learner *l)
{
    trail_add(&l->trail, &l->digest, l->applied, l->bottom.back.received,
              party_step_bytes(l, l->bottom.batch_rows));
    l->trained = true;
    party_best_pass(&l->best, &l->bottom.net, l->applied, l->applied + 1);
    if (++l->applied > l->behind.furthest)
        l->behind.furthest = l->applied;
}

void party_learner_best(struct party_learner *l, uint64_t step)
{
    if (l->best.kept.step != step)
        party_learner_reopen(l);
    party_best_name(&l->best, step);
}

void party_learner_reopen(struct party_learner *l)
{
    if (!l->best.settled)
        return;
    party_best_unsettle(&l->best, &l->bottom.net);
    l->final = false;
}

void party_learner_released(struct party_learner *l, const uint8_t playing[DIGEST_BYTES])
{
    l->released = true;
    memcpy(l->released_in, playing, sizeof l->released_in);
}

enum status party_note_before(struct party_learner *l, const struct plan *p, struct error *err)
{
    enum status s = STATUS_OK;

    l->undo.len = 0;
    if (undo_bytes(l, p) == 0)
        return STATUS_OK;
    if (weights_bytes(l) > 0)
        s = buf_append(&l->undo, l->sent.importance, weights_bytes(l));
    if (s == STATUS_OK)
        s = nn_state_print(&l->bottom.net, &l->undo);
    return s == STATUS_OK ? s : error_set(err, s, "a local step: %s", status_words(s));
}

enum status party_undo(struct party_learner *l, struct error *err)
{
    const size_t weights = weights_bytes(l);

    if (weights > 0)
        memcpy(l->sent.importance, l->undo.data, weights);
    if (nn_state_parse(&l->bottom.net, l->undo.data + weights, l->undo.len - weights) == STATUS_OK)
        return STATUS_OK;
    return error_set(err, STATUS_DATA, "a local step that cannot be taken back");
}
