/* mutate.c -- all small changes of one message, by what protobuf-c knows of its fields.
 *
 * One walk over descriptor and message counts the changes and makes the one that is asked for.
 * Blocks that change hands are protobuf-c's, which takes them from malloc.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/mutate.h"

#include "common/base/check.h"

#include "proto/vfl.pb-c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HUGE_MORE = 5 << 18,
    MANY = 300,
    PATH_MAX_BYTES = 64,
    HOW_MAX_BYTES = MUTATE_NAME_MAX - PATH_MAX_BYTES - 1
};

struct walk {
    size_t left; /* changes to pass by */
    bool done;
    char *name;
};

/* Is it this one's turn? */
static bool due(struct walk *w, const char *path, const char *how)
{
    if (w->done || w->left-- > 0)
        return false;
    w->done = true;
    snprintf(w->name, MUTATE_NAME_MAX, "%.*s %.*s", PATH_MAX_BYTES - 1, path, HOW_MAX_BYTES, how);
    return true;
}

/* --- one field --- */

static void change_number(struct walk *w, const char *path, uint64_t *x, uint64_t max)
{
    const uint64_t was = *x;
    const struct {
        const char *how;
        uint64_t to;
    } ways[] = {
        {"+1", was + 1}, {"-1", was - 1}, {"0", 0}, {"max", max}, {"high bit", max / 2 + 1}};

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (ways[i].to <= max && ways[i].to != was && due(w, path, ways[i].how))
            *x = ways[i].to;
    }
}

static void change_u32(struct walk *w, const char *path, uint32_t *x)
{
    uint64_t wide = *x;

    change_number(w, path, &wide, UINT32_MAX);
    *x = (uint32_t)wide;
}

static void change_bool(struct walk *w, const char *path, protobuf_c_boolean *x)
{
    if (due(w, path, *x ? "false" : "true"))
        *x = !*x;
}

/* Every other choice, and two that do not exist. */
static void change_enum(struct walk *w, const char *path, int *x, const ProtobufCEnumDescriptor *e)
{
    const int was = *x;

    for (unsigned i = 0; i < e->n_values; i++) {
        if (e->values[i].value != was && due(w, path, e->values[i].name))
            *x = e->values[i].value;
    }
    if (due(w, path, "an unknown choice"))
        *x = e->values[e->n_values - 1].value + 1;
    if (due(w, path, "a negative choice"))
        *x = -1;
}

static void resize(ProtobufCBinaryData *b, size_t n)
{
    uint8_t *to = calloc(n + 1, 1);

    CHECK(to != NULL);
    if (b->len > 0)
        memcpy(to, b->data, n < b->len ? n : b->len);
    free(b->data);
    b->data = to;
    b->len = n;
}

static bool all_zero(const ProtobufCBinaryData *b)
{
    for (size_t i = 0; i < b->len; i++) {
        if (b->data[i] != 0)
            return false;
    }
    return true;
}

static void change_bytes(struct walk *w, const char *path, ProtobufCBinaryData *b)
{
    if (due(w, path, "one byte more"))
        resize(b, b->len + 1);
    if (due(w, path, "far too many bytes"))
        resize(b, b->len + HUGE_MORE);
    if (b->len == 0)
        return;
    if (due(w, path, "one byte less"))
        resize(b, b->len - 1);
    if (due(w, path, "no bytes"))
        resize(b, 0);
    if (due(w, path, "first bit"))
        b->data[0] ^= 1;
    if (due(w, path, "last bit"))
        b->data[b->len - 1] ^= 0x80;
    if (!all_zero(b) && due(w, path, "zeros"))
        memset(b->data, 0, b->len);
    if (due(w, path, "ones"))
        memset(b->data, 0xff, b->len);
}

static void retext(char **x, const char *first, size_t n, char fill)
{
    char *to = malloc(n + 1);

    CHECK(to != NULL);
    memset(to, fill, n);
    memcpy(to, first, strlen(first) < n ? strlen(first) : n);
    to[n] = 0;
    if (*x != protobuf_c_empty_string)
        free(*x);
    *x = to;
}

static void change_string(struct walk *w, const char *path, char **x)
{
    char was[512];
    size_t n = strlen(*x);

    snprintf(was, sizeof was, "%s", *x);
    if (due(w, path, "one character more"))
        retext(x, was, n + 1, 'x');
    if (due(w, path, "a control character"))
        retext(x, was, n + 1, '\n');
    if (due(w, path, "a long text"))
        retext(x, was, 2000, 'x');
    if (n > 0 && due(w, path, "empty"))
        retext(x, "", 0, 0);
}

/* --- lists of messages --- */

static ProtobufCMessage *copy(const ProtobufCMessage *m)
{
    size_t n = protobuf_c_message_get_packed_size(m);
    uint8_t *bytes = malloc(n + 1);
    ProtobufCMessage *to;

    CHECK(bytes != NULL);
    protobuf_c_message_pack(m, bytes);
    to = protobuf_c_message_unpack(m->descriptor, NULL, n, bytes);
    CHECK(to != NULL);
    free(bytes);
    return to;
}

static void put_copy(ProtobufCMessage **list, size_t at, size_t of)
{
    ProtobufCMessage *new = copy(list[of]);

    protobuf_c_message_free_unpacked(list[at], NULL);
    list[at] = new;
}

static void lengthen(ProtobufCMessage ***list, size_t *n, size_t to)
{
    ProtobufCMessage **longer = realloc(*list, to * sizeof *longer);

    CHECK(longer != NULL);
    while (*n < to) {
        longer[*n] = copy(longer[*n - 1]);
        ++*n;
    }
    *list = longer;
}

static void change_list(struct walk *w, const char *path, ProtobufCMessage ***list, size_t *n)
{
    ProtobufCMessage *first = (*list)[0];

    if (due(w, path, "the last one missing"))
        protobuf_c_message_free_unpacked((*list)[--*n], NULL);
    if (due(w, path, "the last one twice"))
        lengthen(list, n, *n + 1);
    if (due(w, path, "many"))
        lengthen(list, n, MANY);
    if (due(w, path, "none")) {
        while (*n > 0)
            protobuf_c_message_free_unpacked((*list)[--*n], NULL);
    }
    if (*n < 2)
        return;
    if (due(w, path, "the first one missing")) {
        protobuf_c_message_free_unpacked(first, NULL);
        memmove(*list, *list + 1, --*n * sizeof **list);
    }
    for (size_t i = 1; i < *n; i++) {
        if (due(w, path, "two of them swapped")) {
            (*list)[0] = (*list)[i];
            (*list)[i] = first;
        }
        if (due(w, path, "the first one in another's place"))
            put_copy(*list, i, 0);
        if (due(w, path, "another in the first one's place"))
            put_copy(*list, 0, i);
    }
}

/* --- messages --- */

static void change_message(struct walk *w, const char *path, ProtobufCMessage *m);

/* What is signed travels as bytes, with fields of its own. */
static void change_inside(struct walk *w, const char *path, ProtobufCBinaryData *b)
{
    Vfl__HelloBody *body = vfl__hello_body__unpack(NULL, b->len, b->data);
    bool before = w->done;

    if (body == NULL)
        return;
    change_message(w, path, &body->base);
    if (w->done && !before) {
        resize(b, vfl__hello_body__get_packed_size(body));
        vfl__hello_body__pack(body, b->data);
    }
    vfl__hello_body__free_unpacked(body, NULL);
}

static void change_field(struct walk *w, const char *path, ProtobufCMessage *m,
                         const ProtobufCFieldDescriptor *f)
{
    void *at = (char *)m + f->offset;

    if (f->type == PROTOBUF_C_TYPE_UINT32)
        change_u32(w, path, at);
    else if (f->type == PROTOBUF_C_TYPE_UINT64)
        change_number(w, path, at, UINT64_MAX);
    else if (f->type == PROTOBUF_C_TYPE_BOOL)
        change_bool(w, path, at);
    else if (f->type == PROTOBUF_C_TYPE_ENUM)
        change_enum(w, path, at, f->descriptor);
    else if (f->type == PROTOBUF_C_TYPE_STRING)
        change_string(w, path, at);
    else if (f->type == PROTOBUF_C_TYPE_MESSAGE)
        change_message(w, path, *(ProtobufCMessage **)at);
    else if (f->type == PROTOBUF_C_TYPE_BYTES)
        change_bytes(w, path, at);
    else
        CHECK(!"a field of a type that no message of ours has");
    if (m->descriptor == &vfl__hello__descriptor && strcmp(f->name, "body") == 0)
        change_inside(w, path, at);
}

static void change_repeated(struct walk *w, const char *path, ProtobufCMessage *m,
                            const ProtobufCFieldDescriptor *f)
{
    ProtobufCMessage ***list = (ProtobufCMessage ***)(void *)((char *)m + f->offset);
    size_t *n = (size_t *)(void *)((char *)m + f->quantifier_offset);
    char inside[PATH_MAX_BYTES];

    CHECK(f->type == PROTOBUF_C_TYPE_MESSAGE && *n > 0);
    for (size_t i = 0; i < *n && !w->done; i++) {
        snprintf(inside, sizeof inside, "%.*s[%u]", PATH_MAX_BYTES - 16, path, (unsigned)i);
        change_message(w, inside, (*list)[i]);
    }
    change_list(w, path, list, n);
}

static void change_message(struct walk *w, const char *path, ProtobufCMessage *m)
{
    const ProtobufCMessageDescriptor *d = m->descriptor;

    for (unsigned i = 0; i < d->n_fields && !w->done; i++) {
        const ProtobufCFieldDescriptor *f = &d->fields[i];
        char inside[PATH_MAX_BYTES];

        if ((f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0 &&
            *(uint32_t *)(void *)((char *)m + f->quantifier_offset) != f->id)
            continue;
        snprintf(inside, sizeof inside, "%.*s%s%.*s", PATH_MAX_BYTES / 2, path,
                 path[0] == 0 ? "" : ".", PATH_MAX_BYTES / 2 - 2, f->name);
        if (f->label == PROTOBUF_C_LABEL_REPEATED)
            change_repeated(w, inside, m, f);
        else
            change_field(w, inside, m, f);
    }
}

/* --- the whole --- */

static void change_frame(struct walk *w, struct buf *frame)
{
    static const uint8_t unknown[] = {0xa0, 0x06, 0x01}; /* field 100, a number: 1 */
    const size_t n = frame->len;

    if (due(w, "frame", "cut short"))
        frame->len--;
    if (due(w, "frame", "a byte more"))
        CHECK(buf_append(frame, unknown, 1) == STATUS_OK);
    if (due(w, "frame", "an unknown field"))
        CHECK(buf_append(frame, unknown, sizeof unknown) == STATUS_OK);
    if (due(w, "frame", "said twice")) {
        CHECK(buf_reserve(frame, n) == STATUS_OK);
        memcpy(frame->data + n, frame->data, n);
        frame->len += n;
    }
}

static void repack(struct buf *to, const ProtobufCMessage *m)
{
    size_t n = protobuf_c_message_get_packed_size(m);

    to->len = 0;
    CHECK(buf_reserve(to, n) == STATUS_OK);
    to->len = protobuf_c_message_pack(m, to->data);
}

static bool mutate(struct buf *bytes, struct walk *w, const ProtobufCMessageDescriptor *d)
{
    ProtobufCMessage *m = protobuf_c_message_unpack(d, NULL, bytes->len, bytes->data);

    CHECK(m != NULL);
    change_message(w, "", m);
    if (w->done)
        repack(bytes, m);
    protobuf_c_message_free_unpacked(m, NULL);
    return w->done;
}

bool mutate_frame(struct buf *frame, char name[MUTATE_NAME_MAX], size_t which)
{
    struct walk w = {.left = which, .name = name};

    if (!mutate(frame, &w, &vfl__frame__descriptor))
        change_frame(&w, frame);
    return w.done;
}

bool mutate_hello_body(struct buf *body, char name[MUTATE_NAME_MAX], size_t which)
{
    struct walk w = {.left = which, .name = name};

    return mutate(body, &w, &vfl__hello_body__descriptor);
}
