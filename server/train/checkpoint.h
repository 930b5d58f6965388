/* checkpoint.h -- the server's part of a run in a sealed file of its state directory.
 *
 * Written before the first round, every checkpoint_rounds and at an early end, if there is a
 * state_key; read when the server starts again; removed when the run is complete.  Its label
 * carries the schedule's seed, so that a plan without a seed of its own stays the same plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRAIN_CHECKPOINT_H
#define COLONNADE_SERVER_TRAIN_CHECKPOINT_H

#include "common/config/config.h"
#include "server/session.h"

/* The seed of the run that the state directory holds; *found tells whether it holds one. */
enum status server_checkpoint_seed(const struct config_server *c, uint64_t *seed, bool *found,
                                   struct error *err) MUST_USE;
enum status server_checkpoint_load(const struct config_server *c, struct server_session *s,
                                   bool *found, struct error *err) MUST_USE;
enum status server_checkpoint_save(const struct config_server *c, const struct server_session *s,
                                   struct error *err) MUST_USE;
/* The same for bytes that the session has made already; from any thread. */
enum status server_checkpoint_write(const struct config_server *c, const uint8_t *plan_digest,
                                    const struct wire_bytes *bytes, struct error *err) MUST_USE;
enum status server_checkpoint_remove(const struct config_server *c, struct error *err) MUST_USE;

#endif
