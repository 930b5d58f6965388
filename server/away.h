/* away.h -- a job that waits for everybody, and goes on without those who stay away
 * (server_job.away_ms).
 *
 * The set is the whole roster, or after that time those who are here, if they are enough.  Who was
 * in the set before is waited for as long again when it is lost; who was not is not, and comes in
 * where a round has ended.  Nobody is left behind in a set: one that does not answer is dropped,
 * and away like one whose connection broke (dispatch.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_AWAY_H
#define COLONNADE_SERVER_AWAY_H

#include "server/federation.h"

bool server_goes_without(const struct server_federation *f); /* is it such a job? */
/* Where it is: are those who are here the set by now?  Then its seats are taken. */
bool server_away_set(struct server_federation *f);
/* How long GATHER waits from now on, whatever the job. */
uint64_t server_away_ms(const struct server_federation *f);
/* A round has ended: has somebody who is not in the set come back?  Then a seat is taken. */
bool server_away_back(struct server_federation *f);

#endif
