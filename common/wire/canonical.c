/* canonical.c -- sizes, the order of fields, and booleans.
 *
 * Every field that protobuf-c keeps is packed into at most the bytes it came in, and what it drops
 * is packed into none; so equal sizes leave only two freedoms: the order of fields and the value of
 * a true boolean.  Those are walked here.  (A negative enum may grow; no enum of ours is negative,
 * and unpack.c refuses such a value whatever its form.)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/canonical.h"

enum { VARINT_BYTES_MAX = 10 };

struct cursor {
    const uint8_t *at, *end;
};

static bool next_varint(struct cursor *c, uint64_t *out)
{
    *out = 0;
    for (unsigned i = 0; i < VARINT_BYTES_MAX && c->at < c->end; i++) {
        uint8_t byte = *c->at++;

        *out |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool ordered(const ProtobufCMessageDescriptor *d, struct cursor c);

static bool value_ordered(const ProtobufCFieldDescriptor *f, struct cursor *c)
{
    uint64_t value;

    if (!next_varint(c, &value))
        return false;
    if (f->type == PROTOBUF_C_TYPE_BOOL)
        return value == 1;
    if (f->type != PROTOBUF_C_TYPE_BYTES && f->type != PROTOBUF_C_TYPE_STRING &&
        f->type != PROTOBUF_C_TYPE_MESSAGE)
        return true;
    if (value > (size_t)(c->end - c->at))
        return false;
    c->at += value;
    return f->type != PROTOBUF_C_TYPE_MESSAGE ||
           ordered(f->descriptor, (struct cursor){c->at - value, c->at});
}

/* As deep as the message types nest, which is WIRE_DEPTH_MAX at most. */
static bool ordered(const ProtobufCMessageDescriptor *d, struct cursor c)
{
    uint64_t last = 0;

    while (c.at < c.end) {
        const ProtobufCFieldDescriptor *f;
        uint64_t tag;

        if (!next_varint(&c, &tag) || tag >> 3 > UINT32_MAX || tag >> 3 < last)
            return false;
        f = protobuf_c_message_descriptor_get_field(d, (unsigned)(tag >> 3));
        if (f == NULL || !value_ordered(f, &c))
            return false;
        last = tag >> 3;
    }
    return true;
}

bool canonical_message(const ProtobufCMessage *m, const uint8_t *bytes, size_t n)
{
    return protobuf_c_message_get_packed_size(m) == n &&
           ordered(m->descriptor, (struct cursor){bytes, bytes + n});
}
