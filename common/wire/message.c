/* message.c -- names, sizes and phases of messages.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/message.h"

#include "common/base/check.h"
#include "common/wire/fields.h"
#include "common/wire/purpose.h"

const char *wire_kind_name(enum wire_kind k)
{
    CHECK(k < WIRE_KINDS);
    return fields_messages[k].name;
}

const char *wire_outcome_name(enum wire_outcome o)
{
    switch (o) {
    case OUTCOME_COMPLETED: return "completed";
    case OUTCOME_TARGET: return "target";
    case OUTCOME_BUDGET: return "budget";
    case OUTCOME_STOPPED: return "stopped";
    case OUTCOME_FAILED: return "failed";
    }
    return "?";
}

size_t wire_payload_bytes(const struct wire_msg *m)
{
    const struct message *t = &fields_messages[m->kind];
    const uint8_t *body = (const void *)&m->join; /* where all bodies stand */

    for (size_t i = 0; i < t->n; i++) {
        if (t->field[i].payload)
            return ((const struct wire_bytes *)(const void *)(body + t->field[i].here))->n;
    }
    return 0;
}

enum wire_phase wire_phase_of(const struct wire_msg *m)
{
    if (m->kind == WIRE_UPLOAD)
        return purpose_of(m->upload.purpose)->phase;
    if (m->kind == WIRE_SHARE)
        return purpose_of(m->share.purpose)->phase;
    if (m->kind == WIRE_RELAY)
        return purpose_of(m->relay.purpose)->phase;
    if (m->kind == WIRE_BROADCAST) {
        if (m->broadcast.closes)
            return WIRE_PHASE_TRAIN;
        return m->broadcast.opens ? purpose_of(m->broadcast.purpose)->phase : WIRE_PHASE_EVALUATE;
    }
    return WIRE_PHASE_SETUP;
}

size_t wire_up_max(size_t payload, size_t check)
{
    size_t frame = payload + check + WIRE_OVERHEAD_MAX;

    return frame > WIRE_SETUP_MAX ? frame : WIRE_SETUP_MAX;
}

size_t wire_share_max(size_t sealed, size_t tags)
{
    return sealed + tags + WIRE_OVERHEAD_MAX;
}

/* So the lists of hellos and confirms, and all that setup needs, may always be sent. */
_Static_assert(WIRE_SETUP_MAX <= WIRE_REPLAY_MAX &&
                   WIRE_MEMBERS_MAX * WIRE_HELLO_MAX <= WIRE_REPLAY_MAX &&
                   WIRE_MEMBERS_MAX * WIRE_CONFIRM_MAX <= WIRE_REPLAY_MAX,
               "a replay is the smallest of the largest frames");

size_t wire_down_max(const struct plan *p, size_t share_frame)
{
    size_t broadcast = wire_blob_max(p) + p->shape.parties + WIRE_OVERHEAD_MAX;
    size_t replay = wire_replay_max(p) + WIRE_OVERHEAD_MAX;
    size_t most = broadcast > replay ? broadcast : replay;

    return most > share_frame ? most : share_frame;
}
