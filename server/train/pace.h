/* pace.h -- how the models of the parties keep up with the run: a row for each straggler policy.
 *
 * Where all are waited for, each party takes every step of the run: there is one trail, and who has
 * missed steps is sent them.  Elsewhere a party may have missed any number of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRAIN_PACE_H
#define COLONNADE_SERVER_TRAIN_PACE_H

#include "common/wire/message.h"
#include "server/train/trainer.h"

struct server_pace {
    /* Each party takes every step: a trail is of the whole run, else of one generation; and
     * gradients are sent again to who has missed them. */
    bool in_step;
    /* What is wrong with a model that joins; NULL: nothing. */
    const char *(*unfit)(const struct server_trainer *t, const struct wire_join *j);
    /* Steps that a party has applied where it goes on from. */
    uint64_t (*comes_from)(const struct server_trainer *t, const struct wire_join *j);
};

const struct server_pace *server_pace_of(const struct plan *p);

/* Can a party that has applied so many steps be brought up to this run's? */
bool server_reachable(const struct server_trainer *t, uint64_t applied);

#endif
