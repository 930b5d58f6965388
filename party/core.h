/* core.h -- the inside of a party session: the federation, and the job that it plays.
 *
 * session.c alone changes it, but for what is `standing`, which standing.c notes: it hands events
 * to either, and does what they return.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_CORE_H
#define COLONNADE_PARTY_CORE_H

#include "common/flow/sm.h"
#include "party/federation.h"
#include "party/job.h"
#include "party/setup.h"

/* Where this party is in a job that it met in an offer, for the server to know (protocol.md, 2.1).
 * Until everybody's hellos show that the server does, it is what it was before that offer. */
struct party_standing {
    bool said; /* the server has been told, or has nothing to ask */
    bool agreed;
    struct wire_join join; /* with this trail */
    uint8_t trail[WIRE_DIGEST_BYTES];
};

/* The offer of a job that this party is about to meet: what it has of that is being read, which may
 * take as long as a database does, on a thread and while nothing else is told here. */
struct party_meeting {
    bool under_way;
    enum status read;
    struct wire_offer offer; /* what it points to is behind it */
    struct buf bytes;
};

struct party_session {
    struct party_setup setup;
    struct sm sm;
    struct error error;
    uint32_t accused; /* roster index + 1 of a member that it cannot go on with; or 0 */
    bool larger;      /* the set is too small for its policy, which takes part in a larger one */
    bool gave_up;     /* nor with this generation: what else comes of it is of no use */
    atomic_bool stop; /* set by another thread while this one works */
    struct party_federation fed;
    struct party_host host;
    const struct party_job *job; /* of the last offer; before one, the first kind */
    bool ended;                  /* it is over: the next offer is of another one */
    bool taken;                  /* an offer of it was */
    bool unmet;                  /* the last one could not be made: `state` is of one before */
    bool dismissed;              /* the server has said that it is over, and well */
    void *state; /* of it; stays when the job is over, until another one is offered */
    struct party_standing standing;
    struct party_meeting meeting;
    struct party_report report;
    struct spans spans;
};

#endif
