/* test_shapes.c -- the shape of the message types themselves (threats E2, E3): no type contains
 * itself, none nests deeper than WIRE_DEPTH_MAX, and nothing is repeated but hellos and confirms.
 *
 * protobuf-c unpacks by recursion, so a type within itself is a way to run out of stack.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/message.h"

#include "proto/vfl.pb-c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { TYPES_MAX = 64, ENDLESS = 1000 };

/* Levels of messages from d down, ENDLESS when there is no end.  above: the types around d. */
static int depth_of(const ProtobufCMessageDescriptor *d, const ProtobufCMessageDescriptor **above,
                    int level, void (*seen)(const ProtobufCMessageDescriptor *d, void *arg),
                    void *arg)
{
    int most = 0;

    for (int i = 0; i < level; i++) {
        if (above[i] == d)
            return ENDLESS;
    }
    if (level == TYPES_MAX)
        return ENDLESS;
    above[level] = d;
    if (seen != NULL)
        seen(d, arg);
    for (unsigned i = 0; i < d->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &d->fields[i];
        int below = f->type == PROTOBUF_C_TYPE_MESSAGE
                        ? depth_of(f->descriptor, above, level + 1, seen, arg)
                        : 0;

        most = below > most ? below : most;
    }
    return most >= ENDLESS ? ENDLESS : most + 1;
}

static int depth(const ProtobufCMessageDescriptor *d,
                 void (*seen)(const ProtobufCMessageDescriptor *d, void *arg), void *arg)
{
    const ProtobufCMessageDescriptor *above[TYPES_MAX];

    return depth_of(d, above, 0, seen, arg);
}

struct found {
    size_t n;
    const ProtobufCMessageDescriptor *type[TYPES_MAX];
};

static void collect(const ProtobufCMessageDescriptor *d, void *arg)
{
    struct found *f = arg;

    for (size_t i = 0; i < f->n; i++) {
        if (f->type[i] == d)
            return;
    }
    assert_true(f->n < TYPES_MAX);
    f->type[f->n++] = d;
}

/* Lines of proto/vfl.proto that begin a message type. */
static size_t types_in_source(void)
{
    FILE *source = fopen("proto/vfl.proto", "r");
    char line[512];
    size_t n = 0;

    assert_non_null(source);
    while (fgets(line, sizeof line, source) != NULL)
        n += strncmp(line, "message ", 8) == 0;
    fclose(source);
    return n;
}

static void test_no_message_type_nests_deeper_than_the_limit(void **state)
{
    int frame = depth(&vfl__frame__descriptor, NULL, NULL);
    int body = depth(&vfl__hello_body__descriptor, NULL, NULL);

    (void)state;
    assert_true(frame <= WIRE_DEPTH_MAX);
    /* A hello carries its signed part as bytes, which are unpacked in turn. */
    assert_true(depth(&vfl__hellos__descriptor, NULL, NULL) + 1 + body <= WIRE_DEPTH_MAX);
}

static void test_the_walk_sees_every_type_of_the_source(void **state)
{
    struct found f = {0};

    (void)state;
    depth(&vfl__frame__descriptor, collect, &f);
    depth(&vfl__hello_body__descriptor, collect, &f);
    assert_int_equal(f.n, types_in_source());
}

static void test_the_walk_finds_cycles_and_depth(void **state)
{
    ProtobufCMessageDescriptor type[6] = {0};
    ProtobufCFieldDescriptor field[6] = {0};

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        type[i].n_fields = 1;
        type[i].fields = &field[i];
        field[i].type = PROTOBUF_C_TYPE_MESSAGE;
        field[i].descriptor = &type[i + 1 < 6 ? i + 1 : 0];
    }
    assert_int_equal(depth(&type[0], NULL, NULL), ENDLESS);
    field[5].type = PROTOBUF_C_TYPE_BYTES;
    assert_int_equal(depth(&type[0], NULL, NULL), 6);
    assert_int_equal(depth(&type[2], NULL, NULL), 4);
    field[2].descriptor = &type[2];
    assert_int_equal(depth(&type[0], NULL, NULL), ENDLESS);
}

/* Repeated scalars are amplified 32 times, and packed ones hide their count. */
static void test_only_hellos_and_confirms_are_repeated(void **state)
{
    struct found f = {0};

    (void)state;
    depth(&vfl__frame__descriptor, collect, &f);
    depth(&vfl__hello_body__descriptor, collect, &f);
    for (size_t t = 0; t < f.n; t++) {
        for (unsigned i = 0; i < f.type[t]->n_fields; i++) {
            const ProtobufCFieldDescriptor *field = &f.type[t]->fields[i];

            if (field->label == PROTOBUF_C_LABEL_REPEATED)
                assert_true(field->descriptor == &vfl__hello__descriptor ||
                            field->descriptor == &vfl__confirm__descriptor);
        }
    }
}

/* wire_unpack and its callers convert by number. */
static void test_numbers_of_the_source_are_those_of_the_structs(void **state)
{
    /* What was given away once is never given to another. */
    static const uint32_t numbers[WIRE_KINDS] = {
        [WIRE_JOIN] = 1,    [WIRE_OFFER] = 2,    [WIRE_HELLO] = 3,     [WIRE_HELLOS] = 4,
        [WIRE_CONFIRM] = 5, [WIRE_CONFIRMS] = 6, [WIRE_BROADCAST] = 7, [WIRE_UPLOAD] = 8,
        [WIRE_FINISH] = 9,  [WIRE_REFUSE] = 10,  [WIRE_BEHIND] = 11,   [WIRE_REPLAY] = 12,
        [WIRE_SHARE] = 13,  [WIRE_RELAY] = 14,   [WIRE_KEPT] = 15,     [WIRE_BATCH] = 16,
    };

    (void)state;
    for (int k = WIRE_JOIN; k < WIRE_KINDS; k++) {
        const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field_by_name(
            &vfl__frame__descriptor, wire_kind_name((enum wire_kind)k));

        assert_non_null(f);
        assert_int_equal(f->id, numbers[k]);
    }
    assert_int_equal(vfl__frame__descriptor.n_fields, WIRE_KINDS - 1);
    assert_int_equal(PURPOSE_TRAIN, VFL__PURPOSE__TRAIN);
    assert_int_equal(PURPOSE_EVALUATE_TEST, VFL__PURPOSE__EVALUATE_TEST);
    assert_int_equal(PURPOSE_EVALUATE_TRAIN, VFL__PURPOSE__EVALUATE_TRAIN);
    assert_int_equal(PURPOSE_DEAL_KEYS, VFL__PURPOSE__DEAL_KEYS);
    assert_int_equal(PURPOSE_DEAL_DATA, VFL__PURPOSE__DEAL_DATA);
    assert_int_equal(OUTCOME_COMPLETED, VFL__OUTCOME__COMPLETED);
    assert_int_equal(OUTCOME_TARGET, VFL__OUTCOME__TARGET);
    assert_int_equal(OUTCOME_BUDGET, VFL__OUTCOME__BUDGET);
    assert_int_equal(OUTCOME_STOPPED, VFL__OUTCOME__STOPPED);
    assert_int_equal(OUTCOME_FAILED, VFL__OUTCOME__FAILED);
    assert_int_equal(vfl__purpose__descriptor.n_values, 5);
    assert_int_equal(vfl__outcome__descriptor.n_values, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_message_type_nests_deeper_than_the_limit),
        cmocka_unit_test(test_the_walk_sees_every_type_of_the_source),
        cmocka_unit_test(test_the_walk_finds_cycles_and_depth),
        cmocka_unit_test(test_only_hellos_and_confirms_are_repeated),
        cmocka_unit_test(test_numbers_of_the_source_are_those_of_the_structs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
