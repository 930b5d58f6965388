/* pack.c -- structs to protobuf bytes, row by row (fields.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/message.h"

#include "common/base/check.h"
#include "common/wire/fields.h"

#include "proto/vfl.pb-c.h"

#include <stdalign.h>
#include <string.h>

/* protobuf's structs of one message, those inside it included.  None needs more than a list of
 * confirms. */
struct room {
    size_t used;
    alignas(ProtobufCMessage) uint8_t
        bytes[sizeof(Vfl__Confirms) + WIRE_MEMBERS_MAX * (sizeof(Vfl__Confirm) + sizeof(void *))];
};

/* n is a multiple of the size of a pointer: those structs begin with one. */
static void *take_room(struct room *room, size_t n)
{
    void *at = room->bytes + room->used;

    CHECK(n <= sizeof room->bytes - room->used);
    room->used += n;
    return at;
}

static const void *pointer_at(const void *at)
{
    const void *p;

    memcpy(&p, at, sizeof p);
    return p;
}

/* protobuf-c's structs want non-const pointers but packing never writes through them. */
static void put_bytes(ProtobufCBinaryData *there, const uint8_t *bytes, size_t n)
{
    *there = (ProtobufCBinaryData){n, (uint8_t *)(uintptr_t)bytes};
}

static ProtobufCMessage *filled(struct room *room, const struct message *m, const void *ours);

static void put_list(struct room *room, const struct field *f, ProtobufCMessage *p,
                     const uint8_t *ours)
{
    size_t n = *(const size_t *)(const void *)(ours + f->here_n);
    const uint8_t *item = pointer_at(ours + f->here);
    ProtobufCMessage **list;

    CHECK(n <= f->most);
    list = take_room(room, n * sizeof(void *));
    for (size_t i = 0; i < n; i++)
        list[i] = filled(room, f->inside, item + i * f->inside->size);
    memcpy((uint8_t *)p + f->there, &list, sizeof(void *));
    memcpy((uint8_t *)p + f->there_n, &n, sizeof n);
}

static void put_field(struct room *room, const struct field *f, ProtobufCMessage *p,
                      const void *ours)
{
    void *there = (uint8_t *)p + f->there;
    const void *here = (const uint8_t *)ours + f->here;
    const struct wire_bytes *bytes = here;

    switch (f->kind) {
    case FIELD_U32: memcpy(there, here, sizeof(uint32_t)); return;
    case FIELD_U64: memcpy(there, here, sizeof(uint64_t)); return;
    case FIELD_FLAG: *(protobuf_c_boolean *)there = *(const bool *)here; return;
    case FIELD_FIXED: put_bytes(there, pointer_at(here), f->most); return;
    case FIELD_BYTES: put_bytes(there, bytes->data, bytes->n); return;
    case FIELD_TEXT:
    case FIELD_WORDS: memcpy(there, &here, sizeof here); return;
    case FIELD_MESSAGE: *(ProtobufCMessage **)there = filled(room, f->inside, here); return;
    case FIELD_LIST: put_list(room, f, p, ours); return;
    }
}

/* As deep as the message types nest, which is WIRE_DEPTH_MAX at most. */
static ProtobufCMessage *filled(struct room *room, const struct message *m, const void *ours)
{
    ProtobufCMessage *p = take_room(room, m->type->sizeof_message);

    protobuf_c_message_init(m->type, p);
    for (size_t i = 0; i < m->n; i++)
        put_field(room, &m->field[i], p, ours);
    return p;
}

static enum status pack_message(struct buf *out, const ProtobufCMessage *m)
{
    size_t n = protobuf_c_message_get_packed_size(m);
    enum status s;

    out->len = 0;
    s = buf_reserve(out, n);
    if (s == STATUS_OK)
        out->len = protobuf_c_message_pack(m, out->data);
    return s;
}

enum status wire_pack_hello_body(struct buf *out, const struct wire_hello *h)
{
    struct room room;

    room.used = 0;
    return pack_message(out, filled(&room, &fields_hello_body, h));
}

enum status wire_pack(struct buf *out, const struct wire_msg *m)
{
    Vfl__Frame f = VFL__FRAME__INIT;
    struct room room;

    CHECK(m->kind > WIRE_NONE && m->kind < WIRE_KINDS);
    room.used = 0;
    f.body_case = (Vfl__Frame__BodyCase)fields_messages[m->kind].number;
    /* All bodies stand in the place of this one, in protobuf's union as in ours. */
    f.join = (void *)filled(&room, &fields_messages[m->kind], &m->join);
    return pack_message(out, &f.base);
}
