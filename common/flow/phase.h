/* phase.h -- THE TABLE: the whole protocol as data (docs/protocol.md prints it).
 *
 * Server and parties walk the same phases.  In each, the server says one message, each member
 * answers one, and the phase ends when the quorum has answered or its deadline acts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_PHASE_H
#define COLONNADE_FLOW_PHASE_H

#include "common/base/buf.h"
#include "common/base/status.h"
#include "common/wire/message.h"

#include <stdbool.h>

enum phase {
    PHASE_GATHER,  /* parties connect and join */
    PHASE_AGREE,   /* keys: offer -> hello */
    PHASE_CONFIRM, /* one view of keys, set and plan: hellos -> confirm */
    PHASE_ROUND,   /* masked, clear: broadcast -> upload, again and again */
    PHASE_SHARE,   /* coded, fedvs: broadcast -> share, and ... */
    PHASE_SUM,     /* ... relay -> upload, in turn; dealings have shares and relays alone */
    PHASE_STREAM,  /* async: broadcast -> upload with each member on its own */
    PHASE_CLOSE,   /* the last broadcast -> kept */
    PHASE_OVER,    /* finish */
    PHASES
};

/* Who must answer before the phase may end in success. */
enum phase_quorum { QUORUM_ROSTER, QUORUM_MEMBERS, QUORUM_DECODES, QUORUM_ANY, QUORUM_NONE };
/* Which setting bounds the phase. */
enum phase_deadline { PHASE_PATIENCE, PHASE_ROUND_DEADLINE, PHASE_ENDLESS };

struct phase_row {
    enum phase phase;
    const char *name, *clause;
    enum wire_kind server_says, member_answers;
    enum phase_quorum quorum;
    enum phase_deadline deadline;
    bool goes_on;  /* the clock of the phase before it runs on: both together have its time */
    unsigned next; /* bit set of enum phase */
};

const struct phase_row *phase_row(enum phase p);
bool phase_allows(enum phase from, enum phase to);

/* May a member send (to_server) or receive a message of this kind in this phase?  `join`, `kept`
 * and `refuse` are allowed always; an `offer` opens a new generation in every phase but OVER; a
 * member that an offer found behind catches up in AGREE; an upload that its round did not wait for
 * may still come in SHARE and CLOSE. */
bool phase_expects(enum phase p, bool to_server, enum wire_kind kind);

/* Does the phase belong to a generation whose keys are agreed? */
bool phase_trains(enum phase p);

/* The table in Markdown, for docs/protocol.md. */
enum status phase_print(struct buf *out) MUST_USE;

#endif
