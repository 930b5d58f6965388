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
    PHASE_ALIGN,   /* an alignment: batch -> batch, step by step */
    PHASE_CLOSE,   /* the last broadcast -> kept */
    PHASE_OVER,    /* finish */
    PHASES
};

/* Who must answer before the phase may end in success. */
enum phase_quorum {
    QUORUM_ROSTER,  /* everybody is here */
    QUORUM_PRESENT, /* those who are, when patience ends */
    QUORUM_MEMBERS, /* all members that are still there */
    QUORUM_DECODES, /* as many as the sum takes */
    QUORUM_ANY,     /* each on its own */
    QUORUM_NONE
};
/* Which setting bounds the phase. */
enum phase_limit { LIMIT_PATIENCE, LIMIT_DEADLINE, LIMIT_NONE };
/* Which members may be lost while the phase goes on. */
enum phase_spares {
    SPARES_NOBODY,
    SPARES_PARTIAL,  /* anybody, where a sum in clear may be of some members */
    SPARES_SHARED,   /* who has answered, as long as the others decode */
    SPARES_DECODES,  /* anybody, as long as the others decode */
    SPARES_ANYBODY,  /* each goes its own way */
    SPARES_ANSWERED, /* who has answered; where parties are done without, anybody */
};

struct phase_row {
    enum phase phase;
    const char *name, *clause;
    enum wire_kind server_says, member_answers;
    unsigned to_server, to_member; /* bit sets of enum wire_kind: what is taken, answers included */
    /* [1]: where parties are done without, which is under drop and async once a first generation
     * has trained; [0]: everywhere else. */
    enum phase_quorum quorum[2];
    enum phase_limit limit[2];
    uint32_t patiences; /* limits that progress may win, one for each step of it; 1: none */
    enum phase_spares spares;
    unsigned next; /* bit set of enum phase */
};

const struct phase_row *phase_row(enum phase p);
bool phase_allows(enum phase from, enum phase to);

/* May a member send (to_server) or receive a message of this kind in this phase? */
bool phase_expects(enum phase p, bool to_server, enum wire_kind kind);

/* What bounds the phase, in ms; UINT64_MAX: nothing. */
uint64_t phase_limit_ms(enum phase p, bool does_without, uint32_t patience_ms,
                        uint32_t deadline_ms);

/* Is it one in which the job is played: of a generation whose keys are agreed? */
bool phase_plays(enum phase p);

/* The table in Markdown, for docs/protocol.md. */
enum status phase_print(struct buf *out) MUST_USE;

#endif
