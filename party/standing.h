/* standing.h -- what a party tells the server of where it is in a job.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_STANDING_H
#define COLONNADE_PARTY_STANDING_H

#include "party/core.h"

/* Of the job that has just been met in an offer; any: it could be made. */
void party_standing_note(struct party_session *p, bool any);
/* To this offer, before anything else: what a party says earlier is of the job before, and not
 * heard. */
void party_standing_say(struct party_session *p, struct actions *a, const struct wire_offer *o);
/* First on every connection. */
void party_standing_joins(struct party_session *p, struct actions *a);

#endif
