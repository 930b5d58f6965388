/* purpose.h -- what a round is for: one row of facts for each purpose, which both sides ask instead
 * of a name.
 *
 * Where a purpose stands in the protocol is docs/protocol.md, 3.1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_WIRE_PURPOSE_H
#define COLONNADE_WIRE_PURPOSE_H

#include "common/wire/message.h"

struct purpose {
    const char *name;      /* in texts for people, and in transcripts */
    enum wire_phase phase; /* that its messages count in */
    bool trains;           /* a step of the schedule, whose gradient goes down */
    bool scores;           /* rows of a split in order: a part of a sweep, which changes no model */
    bool deals;            /* shares and relays alone: no upload, nothing of it to charge */
    bool keys;             /* what is dealt is keys, and else data */
    bool test;             /* its rows are the test split's, and else the training split's */
};

const struct purpose *purpose_of(enum wire_purpose p);

#endif
