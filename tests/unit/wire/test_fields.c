/* test_fields.c -- the tables are whole: every field of every message type has one row, and what a
 * row says of its limits is what wire_unpack does.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/fields.h"

#include "tests/unit/wire/raw.h"

#include <string.h>

static bool has_type(const struct field *row, const ProtobufCFieldDescriptor *f)
{
    switch (row->kind) {
    case FIELD_U32: return f->type == PROTOBUF_C_TYPE_UINT32 || f->type == PROTOBUF_C_TYPE_ENUM;
    case FIELD_U64: return f->type == PROTOBUF_C_TYPE_UINT64;
    case FIELD_FLAG: return f->type == PROTOBUF_C_TYPE_BOOL;
    case FIELD_FIXED: return f->type == PROTOBUF_C_TYPE_BYTES && row->least == row->most;
    case FIELD_BYTES: return f->type == PROTOBUF_C_TYPE_BYTES;
    case FIELD_TEXT:
    case FIELD_WORDS: return f->type == PROTOBUF_C_TYPE_STRING;
    case FIELD_MESSAGE: return f->type == PROTOBUF_C_TYPE_MESSAGE;
    case FIELD_LIST:
        return f->type == PROTOBUF_C_TYPE_MESSAGE && f->quantifier_offset == row->there_n;
    }
    return false;
}

static void expect_a_row_for_every_field(const struct message *m)
{
    assert_int_equal(m->n, m->type->n_fields);
    for (unsigned i = 0; i < m->type->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &m->type->fields[i];
        size_t rows = 0;

        for (size_t j = 0; j < m->n; j++) {
            const struct field *row = &m->field[j];

            if (row->there != f->offset)
                continue;
            rows++;
            assert_true(has_type(row, f));
            assert_int_equal(row->kind == FIELD_LIST, f->label == PROTOBUF_C_LABEL_REPEATED);
            assert_true(f->type != PROTOBUF_C_TYPE_MESSAGE || row->inside->type == f->descriptor);
        }
        if (rows != 1)
            fail_msg("%s.%s has %zu rows", m->type->short_name, f->name, rows);
    }
    for (size_t i = 0; i < m->n; i++) {
        if (m->field[i].inside != NULL)
            expect_a_row_for_every_field(m->field[i].inside);
    }
}

static void test_every_field_of_every_type_has_one_row_of_its_kind(void **state)
{
    const ProtobufCMessageDescriptor *frame = &vfl__frame__descriptor;

    (void)state;
    for (int k = WIRE_JOIN; k < WIRE_KINDS; k++) {
        const struct message *m = &fields_messages[k];
        const ProtobufCFieldDescriptor *f =
            protobuf_c_message_descriptor_get_field(frame, m->number);

        assert_non_null(f);
        assert_true(f->descriptor == m->type);
        assert_string_equal(f->name, m->name);
        expect_a_row_for_every_field(m);
    }
    assert_int_equal(frame->n_fields, WIRE_KINDS - 1);
}

/* --- limits --- */

/* Longer than any limit but that of vectors, which tests/unit/wire/test_limits.c reaches. */
enum { EXTENT_MAX = WIRE_JOB_TEXT_MAX + 1, ARENA = 1 << 20 };

/* protobuf's structs of one frame: forgotten by the next one, so that any pointer may be put in. */
static _Alignas(16) uint8_t arena[ARENA];
static size_t arena_used;

static void *arena_alloc(void *data, size_t size)
{
    void *at = arena + arena_used;

    (void)data;
    arena_used += (size + 15) / 16 * 16;
    assert_true(arena_used <= ARENA);
    return at;
}

static void arena_free(void *data, void *at)
{
    (void)data;
    (void)at;
}

static ProtobufCAllocator in_arena = {arena_alloc, arena_free, NULL};

static Vfl__Frame *fresh_frame(enum wire_kind kind)
{
    struct wire_msg m = sample(kind);
    struct buf packed;
    Vfl__Frame *f;

    arena_used = 0;
    buf_init(&packed, SAMPLE_FRAME_MAX);
    assert_int_equal(wire_pack(&packed, &m), STATUS_OK);
    f = vfl__frame__unpack(&in_arena, packed.len, packed.data);
    assert_non_null(f);
    buf_deinit(&packed);
    return f;
}

static void *at(ProtobufCMessage *p, size_t offset)
{
    return (uint8_t *)p + offset;
}

/* The message in this field of p; of a list, the first. */
static ProtobufCMessage *message_in(const struct field *row, ProtobufCMessage *p)
{
    const ProtobufCBinaryData *bytes = at(p, row->there);

    if (row->kind == FIELD_LIST)
        return **(ProtobufCMessage ***)at(p, row->there);
    if (row->kind == FIELD_MESSAGE)
        return *(ProtobufCMessage **)at(p, row->there);
    return protobuf_c_message_unpack(row->inside->type, &in_arena, bytes->len, bytes->data);
}

/* Makes a list of n out of the first of one. */
static void stretch(const struct field *row, ProtobufCMessage *p, size_t n)
{
    ProtobufCMessage **list = arena_alloc(NULL, (n + 1) * sizeof *list);

    for (size_t i = 0; i < n; i++)
        list[i] = message_in(row, p);
    *(ProtobufCMessage ***)at(p, row->there) = list;
    *(size_t *)at(p, row->there_n) = n;
}

/* Gives the field of p so many bytes, characters or messages, or this value. */
static void set_extent(const struct field *row, ProtobufCMessage *p, size_t n)
{
    static uint8_t bytes[EXTENT_MAX];
    char *text;

    assert_true(n <= EXTENT_MAX);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)i; /* ascends, as indices of members do */
    if (row->kind == FIELD_U32) {
        *(uint32_t *)at(p, row->there) = (uint32_t)n;
    } else if (row->kind == FIELD_FIXED || row->kind == FIELD_BYTES) {
        *(ProtobufCBinaryData *)at(p, row->there) = (ProtobufCBinaryData){n, bytes};
    } else if (row->kind == FIELD_LIST) {
        stretch(row, p, n);
    } else if (row->kind == FIELD_MESSAGE) {
        if (n == 0)
            *(void **)at(p, row->there) = NULL;
    } else {
        text = arena_alloc(NULL, n + 1);
        memset(text, 'n', n);
        text[n] = 0;
        *(char **)at(p, row->there) = text;
    }
}

/* A row of a message, which may be inside another. */
struct place {
    enum wire_kind kind;
    const struct field *outer; /* or NULL */
    const struct message *owner;
    const struct field *row;
};

/* What wire_unpack says when there is so much of the field; NULL if nothing. */
static const char *answer_to(const struct place *at_row, size_t n)
{
    static uint8_t bytes[4 * RAW_MAX], part[RAW_MAX];
    static struct error err;
    const struct field *outer = at_row->outer;
    Vfl__Frame *f = fresh_frame(at_row->kind);
    ProtobufCMessage *top = (void *)f->join, *p = outer == NULL ? top : message_in(outer, top);
    struct wire_msg m;

    set_extent(at_row->row, p, n);
    if (outer != NULL && outer->kind == FIELD_BYTES) {
        assert_true(protobuf_c_message_get_packed_size(p) <= sizeof part);
        *(ProtobufCBinaryData *)at(top, outer->there) =
            (ProtobufCBinaryData){protobuf_c_message_pack(p, part), part};
    }
    assert_true(vfl__frame__get_packed_size(f) <= sizeof bytes);
    err = (struct error){0};
    if (wire_unpack(&m, &unpacker, bytes, vfl__frame__pack(f, bytes), &err) == STATUS_OK) {
        assert_true(fields_fit(at_row->row, p));
        return NULL;
    }
    return err.text;
}

static void expect_limits(const struct place *at_row)
{
    const struct field *row = at_row->row;
    const size_t beyond[] = {row->least - 1, row->most + 1, row->most + row->unit, row->most - 1};
    char refusal[128];

    snprintf(refusal, sizeof refusal, "malformed message: %s",
             row->words == NULL ? at_row->owner->name : row->words);
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        const char *said;

        if ((i == 0 && row->least == 0) || (i == 3 && row->unit == 1))
            continue;
        said = answer_to(at_row, beyond[i]);
        if (said == NULL || strcmp(said, refusal) != 0)
            fail_msg("%s at %zu: %s", refusal, beyond[i], said == NULL ? "taken" : said);
    }
    /* What the rule or the message inside says of it has tests of its own. */
    if (at_row->owner->rule != NULL || (row->kind == FIELD_BYTES && row->inside != NULL))
        return;
    assert_null(answer_to(at_row, row->least));
    assert_null(answer_to(at_row, row->most));
}

/* Those of the owner's rows that have limits which a test can reach: so many. */
static size_t expect_limits_of(enum wire_kind kind, const struct field *outer,
                               const struct message *owner)
{
    size_t n = 0;

    for (size_t i = 0; i < owner->n; i++) {
        struct place at_row = {kind, outer, owner, &owner->field[i]};

        if (at_row.row->kind != FIELD_FLAG && at_row.row->kind != FIELD_MESSAGE &&
            at_row.row->most < EXTENT_MAX) {
            expect_limits(&at_row);
            n++;
        }
    }
    return n;
}

static void test_every_limit_of_a_row_is_kept_and_a_step_beyond_is_refused(void **state)
{
    size_t n = 0;

    (void)state;
    assert_int_equal(wire_unpacker_grow(&unpacker, 4 * RAW_MAX), STATUS_OK);
    for (enum wire_kind k = WIRE_JOIN; k < WIRE_KINDS; k++) {
        const struct message *m = &fields_messages[k];

        n += expect_limits_of(k, NULL, m);
        for (size_t i = 0; i < m->n; i++) {
            if (m->field[i].inside != NULL)
                n += expect_limits_of(k, &m->field[i], m->field[i].inside);
        }
    }
    assert_true(n > 40);
    print_message("%zu limits\n", n);
}

/* The limits of vectors and whole numbers, which no frame of this test reaches. */
static void test_a_vector_has_its_limit_and_a_message_must_be_there(void **state)
{
    Vfl__Frame *f = fresh_frame(WIRE_OFFER);
    size_t vectors = 0;

    (void)state;
    for (size_t i = 0; i < fields_messages[WIRE_OFFER].n; i++) {
        const struct field *row = &fields_messages[WIRE_OFFER].field[i];

        if (row->kind != FIELD_MESSAGE)
            continue;
        assert_true(fields_fit(row, &f->offer->base));
        f->offer->job = NULL;
        assert_false(fields_fit(row, &f->offer->base));
    }
    for (enum wire_kind k = WIRE_JOIN; k < WIRE_KINDS; k++) {
        ProtobufCMessage *p = (void *)fresh_frame(k)->join;

        for (size_t i = 0; i < fields_messages[k].n; i++) {
            const struct field *row = &fields_messages[k].field[i];
            ProtobufCBinaryData *bytes = at(p, row->there);

            if (row->kind != FIELD_BYTES || row->most < EXTENT_MAX)
                continue;
            assert_true(row->most == WIRE_PAYLOAD_MAX || row->most == WIRE_IDS_MAX ||
                        row->most == WIRE_ENTRIES_MAX || row->most == WIRE_TALLIES_MAX);
            bytes->len = row->most;
            assert_true(fields_fit(row, p));
            bytes->len += row->unit;
            assert_false(fields_fit(row, p));
            vectors++;
        }
    }
    assert_int_equal(vectors, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field_of_every_type_has_one_row_of_its_kind),
        cmocka_unit_test(test_every_limit_of_a_row_is_kept_and_a_step_beyond_is_refused),
        cmocka_unit_test(test_a_vector_has_its_limit_and_a_message_must_be_there),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
