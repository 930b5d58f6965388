/* disk.h -- what outlives a process: checkpoints, and the server's journal.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_DISK_H
#define COLONNADE_TESTS_SIM_DISK_H

#include "tests/sim/world.h"

void disk_init(struct sim_disk *d);
void disk_deinit(struct sim_disk *d);
void disk_keep(struct sim_disk *d, const struct sim *s, const struct wire_bytes *kept);
void disk_durable(struct sim *s, int who); /* the checkpoint that was being written now is */
void disk_copy(struct sim *s, int who);
void disk_copy_journal(struct sim_disk *to, const struct sim_disk *from);
void disk_put_back(struct sim *s, int who);
void disk_lose_records(struct sim *s, size_t n);
/* The server's journal: what it may ask of it, and its actions. */
struct server_store disk_store(struct sim *s);
/* How far its generations have come, for its next process. */
struct generation_floor disk_floor(struct sim_disk *d);
void disk_write(struct sim *s, const struct actions *written, struct error *err);
void disk_recall(struct sim *s, const struct action *a, struct error *err);
void disk_forget(struct sim *s, uint64_t before_step);
/* Where a party's session keeps the shares of everybody's data. */
struct party_holdings disk_holdings(struct sim_disk *d);
void disk_lose_shares(struct sim_disk *d);
void disk_copy_shares(struct sim_disk *to, const struct sim_disk *from);
/* The journal into a new server.  s->server_end says why not. */
bool disk_replay(struct sim *s);

#endif
