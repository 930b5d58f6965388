/* learner.c -- small things of the plan and the model that more than one phase needs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/learner.h"

#include "common/nn/state.h"
#include "party/train/parts.h"

#include <string.h>

/* The server gives up on others after its patience and then says so: this side waits longer than
 * that. */
uint64_t party_patience_ms(const struct party_train *p)
{
    return p->learner.planned ? 2 * (uint64_t)p->learner.plan.protocol.patience_ms + 10000 : 0;
}

void party_arm(const struct party_train *p, struct actions *a)
{
    actions_add(a, ACTION_ARM)->after_ms = party_patience_ms(p);
}

enum status party_violation(struct error *err, const char *what, uint64_t number)
{
    return error_set(err, STATUS_PROTOCOL, "the server: %s (%llu)", what,
                     (unsigned long long)number);
}

const uint32_t *party_batch(struct party_train *p, uint64_t step, uint32_t *rows)
{
    return schedule_batch(&p->learner.schedule, agenda_batch(&p->learner.agenda, step), rows);
}

enum status party_copy_gradient(struct party_train *p, void *to, struct wire_bytes from,
                                size_t words)
{
    if (from.n != words * sizeof *p->learner.bottom.received)
        return party_violation(p->error, "a gradient of the wrong size", from.n);
    if (from.n > 0)
        memcpy(to, from.data, from.n);
    return STATUS_OK;
}

/* --- a stop in the middle of a step --- */

static size_t weights_bytes(const struct party_learner *l)
{
    return l->sent.importance != NULL ? l->sent.width * sizeof *l->sent.importance : 0;
}

size_t party_undo_bytes(const struct party_learner *l)
{
    return l->plan.protocol.local_iterations > 1 && !l->bottom.frozen
               ? nn_state_bytes(&l->bottom.net) + weights_bytes(l)
               : 0;
}

enum status party_note_before(struct party_learner *l, struct error *err)
{
    enum status s = STATUS_OK;

    l->undo.len = 0;
    if (party_undo_bytes(l) == 0)
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
