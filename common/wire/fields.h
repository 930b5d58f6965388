/* fields.h -- each message as a table: one row for each field of its protobuf type.  Private.
 *
 * pack.c and unpack.c walk these rows and know no message by name.  A row says where the value
 * stands in protobuf's struct and in ours, what it is, and how much of it there may be; what rows
 * cannot say, because it is about several fields, is the message's rule.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_WIRE_FIELDS_H
#define COLONNADE_WIRE_FIELDS_H

#include "common/wire/message.h"

#include <protobuf-c/protobuf-c.h>

enum field_kind {
    FIELD_U32,     /* a number or an enum; the limits are of its value */
    FIELD_U64,     /* any number */
    FIELD_FLAG,    /* bool */
    FIELD_FIXED,   /* const uint8_t *: as many bytes as the limits say, which are equal */
    FIELD_BYTES,   /* struct wire_bytes; with `inside`, a packed message that is unpacked in turn */
    FIELD_TEXT,    /* char[most + 1]: characters from `first` to `last` alone */
    FIELD_WORDS,   /* char[most + 1]: for logs; what is not printable ASCII becomes '?' */
    FIELD_MESSAGE, /* a struct, never absent */
    FIELD_LIST,    /* a pointer to structs, which stand in the unpacker, and their number */
};

struct field {
    enum field_kind kind;
    uint16_t there, here;           /* offsets in protobuf's struct and in ours */
    uint16_t there_n, here_n, room; /* of a list: of its numbers; of its place in the unpacker */
    size_t least, most, unit;       /* bytes, characters or structs; 0 least: may be absent */
    char first, last;
    bool payload;                 /* counts as payload (wire_payload_bytes) */
    const char *words;            /* of a refusal; NULL: the message's name */
    const struct message *inside; /* FIELD_MESSAGE, FIELD_LIST and perhaps FIELD_BYTES */
};

struct message {
    const char *name; /* in a refusal */
    unsigned number;  /* in a Frame; 0: in none */
    const ProtobufCMessageDescriptor *type;
    size_t size; /* of our struct */
    /* Rows are checked in this order, so that of two faults the first is named: fields that hold
     * other messages come last. */
    const struct field *field;
    size_t n;
    const char *(*rule)(const void *ours); /* the words of a refusal or NULL; NULL: no rule */
};

extern const struct message fields_messages[WIRE_KINDS]; /* of WIRE_NONE: no more than a name */
extern const struct message fields_hello_body;

/* Does p, a message of this type, keep to the limits of the row? */
bool fields_fit(const struct field *f, const ProtobufCMessage *p);

#endif
