/* event.h -- what a session core is told.
 *
 * While work is under way (WORK, CHARGE, RECALL) the driver holds all other events back
 * (driver.h); a core never sees one in between.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_EVENT_H
#define COLONNADE_FLOW_EVENT_H

#include "common/base/status.h"
#include "common/wire/message.h"

enum event_kind {
    EVENT_START,    /* once, first */
    EVENT_JOINED,   /* server: `peer` sent a join (msg); party: the connection is up */
    EVENT_LOST,     /* the connection of `peer` ended; error says why */
    EVENT_MESSAGE,  /* msg from `peer` */
    EVENT_TIMER,    /* the armed timer ran out */
    EVENT_DONE,     /* the started work is done, and what it wanted written; or error */
    EVENT_CHARGED,  /* the asked charge was committed, or error */
    EVENT_RECALLED, /* what was asked of the journal is there, or error */
    EVENT_KEPT,     /* the checkpoint of an ACTION_KEEP is durable, or error */
    EVENT_UNSENT,   /* a message that was asked for did not go out: no memory to pack it */
    EVENT_ASKED,    /* server, of an open job: somebody asks for rows, or waits for its end */
    EVENT_CANCEL,   /* server: finish or abandon the round and the job; the process stands */
    EVENT_STOP,     /* the same, then end in order */
};

struct event {
    enum event_kind kind;
    uint32_t peer; /* server: roster index of the party */
    const struct wire_msg *msg;
    const struct error *error; /* LOST, DONE, CHARGED, RECALLED, KEPT (status OK: well) */
};

#endif
