/* seats.h -- who is in the next set: of those who are here, who is on time, not at odds with
 * another, and content with so many.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_SEATS_H
#define COLONNADE_SERVER_SEATS_H

#include "server/federation.h"

/* How a party stands to a set that could be chosen now. */
enum server_seat {
    SEAT_NONE,    /* not here, too late, or sitting out as before */
    SEAT_TAKEN,   /* is in it */
    SEAT_AT_ODDS, /* makes room for one that it is at odds with */
    SEAT_TOO_FEW, /* takes part among more parties than there are, or has refused this set */
};

/* Late or lost, as a member: sits out until it is let in again; or for good, when that has been so
 * too often in a row. */
void server_sits_out(struct server_federation *f, uint32_t peer);
/* The same of a member that is late, and the generation goes on without it. */
void server_left_behind(struct server_federation *f, uint32_t peer);
/* A round has come to nothing since it was late or lost.  Who lets that happen too often, in a row
 * or not, is shut out. */
void server_voided(struct server_federation *f, uint32_t peer);
/* It has played its part of a round to the end: what it was late or lost before is forgotten, but
 * for rounds that came to nothing, of which this pays back a part. */
void server_was_whole(struct server_federation *f, uint32_t peer);
/* It was late: no round has come to nothing by that, but all others have waited for it in vain.
 * Who lets that happen too often is shut out, too. */
void server_stalled(struct server_federation *f, uint32_t peer);
/* They waited for its refusal of a set (4.2): nothing for which a party is shut out. */
void server_wished_late(struct server_federation *f, uint32_t peer);
/* It could have kept them waiting and did not, which pays back a part of that. */
void server_was_in_time(struct server_federation *f, uint32_t peer);
/* Here, and free to be a member. */
bool server_may_sit(const struct server_federation *f, uint32_t peer);
/* This member asks for a larger set than the one that is offered: it is not asked of it again ...
 */
void server_refuses_set(struct server_federation *f, uint32_t peer);
/* ... until the job has come a step forward: then anybody may think otherwise of what is left. */
void server_step_forward(struct server_federation *f);
/* What could have been a wait for such refusals was none, which pays back a part of those. */
void server_late_wishes_repaid(struct server_federation *f);
/* The set to choose of those who may sit, or (of_all) of all who are here: no two at odds, and as
 * many as each of its members asks for, and no set that one of them has refused.  How many are in
 * it. */
uint32_t server_seats(const struct server_federation *f, bool of_all,
                      enum server_seat seat[WIRE_MEMBERS_MAX]);
/* It is chosen: who has no seat now sits out, and is named. */
void server_take_seats(struct server_federation *f, const enum server_seat seat[WIRE_MEMBERS_MAX]);
/* Somebody who sits out now would be in a set of all. */
bool server_may_come_in(const struct server_federation *f);
/* Takes the seats of that set, for the next generation; false: nobody would come in. */
bool server_let_in(struct server_federation *f);
/* How many are shut out, and how many pairs are at odds, both ways: it never falls in a
 * process. */
uint32_t server_marks(const struct server_federation *f);
/* Who is, for a later process of this job, which knows nobody yet. */
enum status server_marks_print(const struct server_federation *f, struct buf *out) MUST_USE;
enum status server_marks_parse(struct server_federation *f, const uint8_t *bytes, size_t n,
                               size_t *used) MUST_USE;
/* f->error: why this party is shut out. */
void server_say_barred(struct server_federation *f, uint32_t peer);

#endif
