/* pace.c -- the table of paces.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/pace.h"

#include <string.h>

bool server_reachable(const struct server_trainer *t, uint64_t applied)
{
    const struct server_store *store = &t->setup->store;
    uint64_t first = t->close.any ? t->close.step : t->steps_done;

    if (store->first != NULL && store->first(store->owner) < first)
        first = store->first(store->owner);
    return applied == t->steps_done || (applied < t->steps_done && applied >= first);
}

static bool trail_differs(const struct server_trainer *t, const struct wire_join *j)
{
    const struct server_store *store = &t->setup->store;
    uint8_t trail[WIRE_DIGEST_BYTES];
    const uint8_t *ours = t->trail.value;

    /* Each its own gradients; not known here. */
    if (t->head.apart || j->applied > t->steps_done)
        return false;
    /* A model of no steps is as good as a fresh one: the party looks whether the plan is its own.
     */
    if (t->steps_done == 0)
        return false;
    if (j->applied != t->steps_done) {
        if (store->first == NULL || !store->trail(store->owner, j->applied, trail))
            return false;
        ours = trail;
    }
    return memcmp(ours, j->trail, WIRE_DIGEST_BYTES) != 0;
}

/* --- wait: the model is of this run, and can be brought to its last step --- */

/* What it has applied, or where it can go back to: one that is ahead goes back to its checkpoint
 * (a power cut took the journal's last records). */
static uint64_t reaches_back(const struct server_trainer *t, const struct wire_join *j)
{
    if (j->applied <= t->steps_done)
        return j->applied;
    return j->kept <= t->steps_done ? j->kept : j->kept_before;
}

static const char *unfit(const struct server_trainer *t, const struct wire_join *j)
{
    const uint64_t from = reaches_back(t, j);

    if (!j->resumes && (t->steps_done > 0 || j->applied > 0))
        return "comes without the model that it had in this run";
    if (from > t->steps_done)
        return "is ahead of this server, whose state was lost or put back";
    if (!server_reachable(t, from))
        return "is further back than this server remembers";
    return j->resumes && trail_differs(t, j) ? "brings a model of another run" : NULL;
}

/* --- drop, async: any model is; the server, too, may have forgotten steps, or (async) counts its
 * own --- */

static const char *always_fit(const struct server_trainer *t, const struct wire_join *j)
{
    (void)t;
    (void)j;
    return NULL;
}

static uint64_t as_it_says(const struct server_trainer *t, const struct wire_join *j)
{
    (void)t;
    return j->applied;
}

const struct server_pace *server_pace_of(const struct plan *p)
{
    static const struct server_pace table[] = {
        [STRAGGLER_WAIT] = {.in_step = true, .unfit = unfit, .comes_from = reaches_back},
        [STRAGGLER_DROP] = {.unfit = always_fit, .comes_from = as_it_says},
        [STRAGGLER_ASYNC] = {.unfit = always_fit, .comes_from = as_it_says},
    };

    return &table[p->protocol.straggler];
}
