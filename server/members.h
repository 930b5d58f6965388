/* members.h -- messages to the members of a generation, and who of them has answered.
 *
 * What the phases of the federation and of every job stand on; it calls none of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_MEMBERS_H
#define COLONNADE_SERVER_MEMBERS_H

#include "server/federation.h"

const char *server_name(const struct server_federation *f, uint32_t peer);
bool server_waits(const struct server_federation *f); /* straggler wait */
/* The job has begun and goes on without whoever is late or lost. */
bool server_does_without(const struct server_federation *f);

/* The phase has just been entered, or a round of it opened: until it is given up, what its row in
 * the table says; `patient`: patience_ms, whatever it says. */
void server_arm_phase(struct server_federation *f, struct actions *a, bool patient);
void server_arm(struct actions *a, uint64_t after_ms);
/* Of this phase, where the late are left behind or where they are waited for. */
uint64_t server_limit_ms(const struct server_federation *f, bool hurries);

/* To the members that are still there. */
struct action *server_send_members(struct server_federation *f, struct actions *a,
                                   enum wire_kind kind);
struct action *server_send_one(struct server_federation *f, struct actions *a, uint32_t peer,
                               enum wire_kind kind);
uint8_t *server_audience(struct server_federation *f); /* room for one more list of peers */
/* The protocol is over: everybody who is there, or this party, is told. */
void server_say_over(struct server_federation *f, struct actions *a, enum wire_outcome outcome);
void server_say_over_to(struct server_federation *f, struct actions *a, uint32_t peer);

void server_next_question(struct server_federation *f); /* nobody has answered yet */
/* None of the members still there is missing. */
bool server_all_answered(const struct server_federation *f);
/* Counts an answer, and asks the same. */
bool server_answered(struct server_federation *f, uint32_t peer);
/* Where each member is asked on its own: this one has an answer to give, or none. */
void server_awaits(struct server_federation *f, uint32_t peer, bool answer);
void server_missing(const struct server_federation *f, char *out,
                    size_t n); /* "p1, p3" without an answer */

/* `peer` is refused with f->error, and its connection closed.  What it was a member of is another
 * matter (server_lost, server_leaves). */
void server_drop(struct server_federation *f, struct actions *a, uint32_t peer);
void server_leaves(struct server_federation *f, uint32_t peer); /* is here no longer */
/* That may lie together, and nobody else is shut out for it. */
uint32_t server_colluders(const struct server_federation *f);

#endif
