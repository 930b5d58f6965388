/* broadcast.h -- what goes down: the last gradient, once to each.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRAIN_BROADCAST_H
#define COLONNADE_SERVER_TRAIN_BROADCAST_H

#include "common/flow/action.h"
#include "server/federation.h"
#include "server/train/trainer.h"

/* Ends the last step, if no broadcast has yet; `number`: of the last round that was opened. */
struct wire_broadcast server_broadcast_of(const struct server_trainer *t, uint64_t generation,
                                          uint64_t number);
/* To the members still there, each with its own gradient where they differ. */
void server_send_broadcast(struct server_federation *f, struct actions *a, struct server_trainer *t,
                           const struct wire_broadcast *b);
/* The last gradient, if it was not sent yet, without opening a round. */
void server_flush_close(struct server_federation *f, struct actions *a, struct server_trainer *t,
                        uint64_t number);

#endif
