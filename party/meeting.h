/* meeting.h -- how this party meets a job that it is not in.  What it has of that job is read on a
 * thread, which may take as long as a database does; while it is, nothing is told to the session.
 *
 *   begin -> read (any thread) -> make
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_MEETING_H
#define COLONNADE_PARTY_MEETING_H

#include "party/core.h"

/* Nothing of another job is this one's.  True: p->meeting has the offer, and something is to be
 * read; false: it may be made. */
bool party_meeting_begin(struct party_session *p, const struct wire_offer *o);
void party_meeting_read(struct party_session *p);
/* What has come to its end here, without a word from the server, and has not begun there, is played
 * once more. */
enum status party_meeting_make(struct party_session *p, const struct wire_offer *o,
                               const struct party_job *job) MUST_USE;

/* With p->setup.saved, which is of no other. */
enum status party_meeting_new_job(struct party_session *p, const struct party_job *job) MUST_USE;
void party_meeting_free_job(struct party_session *p); /* where there is one */

#endif
