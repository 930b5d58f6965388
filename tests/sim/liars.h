/* liars.h -- what a member can say that nobody but it can check: for a rule's alter.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_LIARS_H
#define COLONNADE_TESTS_SIM_LIARS_H

#include "common/flow/ids.h"
#include "tests/sim/world.h"

/* An upload, a share or a confirmation becomes an accusation of this party, in its generation and
 * so many before it. */
void liars_accuse(struct wire_msg *m, uint32_t of, enum status_kind about, uint64_t before);
/* Of a share, what is for the others named by these bits, in member order, does not open. */
void liars_spoil_shares(struct wire_msg *m, size_t others, uint64_t whose);
/* A confirmation shows the neighbour on this side another proof (or the server another mark), and
 * is signed again. */
void liars_show_proof(struct wire_msg *m, const struct sign_key *key, enum ids_side side);
void liars_show_mark(struct wire_msg *m, const struct sign_key *key, enum ids_side side);
/* It has seen number `number` of the ledger of this member, or of all (members) but itself. */
void liars_see(struct wire_msg *m, const struct sign_key *key, uint32_t member, uint64_t number);

#endif
