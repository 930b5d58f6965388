/* unpack.c -- protobuf bytes to checked structs, row by row (fields.h), under a memory quota.
 *
 * protobuf-c's own faults that matter here (threats E2, E3): it amplifies small frames into much
 * memory, keeps unknown fields, and lets the last of repeated singular fields win.  The quota
 * bounds the first; the second and third are refused: a message must be exactly the bytes it would
 * be packed to (canonical.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/message.h"

#include "common/base/mem.h"
#include "common/wire/canonical.h"
#include "common/wire/fields.h"

#include "proto/vfl.pb-c.h"

#include <string.h>

enum { QUOTA_ALIGNMENT = 16 };

static void *quota_alloc(void *data, size_t size)
{
    struct wire_unpacker *u = data;
    size_t start = (u->used + QUOTA_ALIGNMENT - 1) & ~(size_t)(QUOTA_ALIGNMENT - 1);

    if (start > u->size || size > u->size - start)
        return NULL;
    u->used = start + size;
    return u->block + start;
}

static void quota_free(void *data, void *block)
{
    (void)data;
    (void)block; /* the next unpack forgets everything at once */
}

enum status wire_unpacker_init(struct wire_unpacker *u, size_t frame_max)
{
    *u = (struct wire_unpacker){0};
    u->hellos = mem_alloc(WIRE_MEMBERS_MAX, sizeof *u->hellos);
    u->confirms = mem_alloc(WIRE_MEMBERS_MAX, sizeof *u->confirms);
    if (u->hellos == NULL || u->confirms == NULL || wire_unpacker_grow(u, frame_max) != STATUS_OK) {
        wire_unpacker_deinit(u);
        return STATUS_MEMORY;
    }
    return STATUS_OK;
}

enum status wire_unpacker_grow(struct wire_unpacker *u, size_t frame_max)
{
    size_t factor = frame_max > WIRE_QUOTA_BASE ? WIRE_QUOTA_LARGE : WIRE_QUOTA_FACTOR;
    size_t size = factor * frame_max + WIRE_QUOTA_BASE;
    uint8_t *block;

    if (size <= u->size)
        return STATUS_OK;
    block = mem_alloc(1, size);
    if (block == NULL)
        return STATUS_MEMORY;
    mem_free(u->block);
    u->block = block;
    u->size = size;
    u->used = 0;
    return STATUS_OK;
}

void wire_unpacker_deinit(struct wire_unpacker *u)
{
    mem_free(u->block);
    mem_free(u->hellos);
    mem_free(u->confirms);
    *u = (struct wire_unpacker){0};
}

/* --- rows --- */

static const char *take_message(struct wire_unpacker *u, const struct message *m,
                                const ProtobufCMessage *p, void *ours);

/* Text of peers ends up in logs and errors: printable ASCII or '?'. */
static void take_text(char *out, const char *text)
{
    for (; *text != 0; text++)
        *out++ = *text >= 0x20 && *text < 0x7f ? *text : '?';
    *out = 0;
}

/* What is packed in these bytes belongs to the same struct of ours as they do. */
static const char *take_packed(struct wire_unpacker *u, const struct message *m,
                               const ProtobufCBinaryData *bytes, void *ours)
{
    ProtobufCAllocator quota = {quota_alloc, quota_free, u};
    ProtobufCMessage *p = protobuf_c_message_unpack(m->type, &quota, bytes->len, bytes->data);

    if (p == NULL || !canonical_message(p, bytes->data, bytes->len))
        return m->name;
    return take_message(u, m, p, ours);
}

static const char *take_list(struct wire_unpacker *u, const struct field *f,
                             const ProtobufCMessage *p, uint8_t *ours)
{
    ProtobufCMessage *const *list;
    uint8_t *items;
    size_t n;

    memcpy(&list, (const uint8_t *)p + f->there, sizeof list);
    memcpy(&n, (const uint8_t *)p + f->there_n, sizeof n);
    memcpy(&items, (const uint8_t *)u + f->room, sizeof items);
    memcpy(ours + f->here, &items, sizeof items);
    memcpy(ours + f->here_n, &n, sizeof n);
    for (size_t i = 0; i < n; i++) {
        const char *wrong = take_message(u, f->inside, list[i], items + i * f->inside->size);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

/* A field that keeps to its limits. */
static const char *take_field(struct wire_unpacker *u, const struct field *f,
                              const ProtobufCMessage *p, void *ours)
{
    const void *there = (const uint8_t *)p + f->there;
    const ProtobufCBinaryData *bytes = there;
    void *here = (uint8_t *)ours + f->here;

    switch (f->kind) {
    case FIELD_U32: memcpy(here, there, sizeof(uint32_t)); break;
    case FIELD_U64: memcpy(here, there, sizeof(uint64_t)); break;
    case FIELD_FLAG: *(bool *)here = *(const protobuf_c_boolean *)there; break;
    case FIELD_FIXED: *(const uint8_t **)here = bytes->data; break;
    case FIELD_BYTES:
        *(struct wire_bytes *)here = (struct wire_bytes){bytes->data, bytes->len};
        return f->inside == NULL ? NULL : take_packed(u, f->inside, bytes, ours);
    case FIELD_TEXT:
    case FIELD_WORDS: take_text(here, *(char *const *)there); break;
    case FIELD_MESSAGE: return take_message(u, f->inside, *(ProtobufCMessage *const *)there, here);
    case FIELD_LIST: return take_list(u, f, p, ours);
    }
    return NULL;
}

/* What is wrong with it, or NULL.  As deep as the message types nest, which is WIRE_DEPTH_MAX at
 * most. */
static const char *take_message(struct wire_unpacker *u, const struct message *m,
                                const ProtobufCMessage *p, void *ours)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct field *f = &m->field[i];
        const char *wrong = f->words == NULL ? m->name : f->words;

        if (fields_fit(f, p))
            wrong = take_field(u, f, p, ours);
        if (wrong != NULL)
            return wrong;
    }
    return m->rule == NULL ? NULL : m->rule(ours);
}

/* --- frames --- */

static enum status bad(struct error *err, const char *what)
{
    return error_set(err, STATUS_PROTOCOL, "malformed message: %s", what);
}

static enum wire_kind kind_of(const Vfl__Frame *f)
{
    for (enum wire_kind k = WIRE_JOIN; k < WIRE_KINDS; k++) {
        if (fields_messages[k].number == f->body_case)
            return k;
    }
    return WIRE_NONE;
}

enum status wire_unpack(struct wire_msg *m, struct wire_unpacker *u, const uint8_t *bytes, size_t n,
                        struct error *err)
{
    ProtobufCAllocator quota = {quota_alloc, quota_free, u};
    const char *wrong;
    Vfl__Frame *f;

    u->used = 0;
    m->kind = WIRE_NONE;
    f = vfl__frame__unpack(&quota, n, bytes);
    if (f == NULL)
        return bad(err, "not a frame, or over its memory quota");
    if (!canonical_message(&f->base, bytes, n))
        return bad(err, "unknown, repeated or disordered fields");
    m->kind = kind_of(f);
    if (m->kind == WIRE_NONE)
        return bad(err, "no body");
    /* All bodies stand in the place of this one, in protobuf's union as in ours. */
    wrong = take_message(u, &fields_messages[m->kind], (const void *)f->join, &m->join);
    return wrong == NULL ? STATUS_OK : bad(err, wrong);
}
