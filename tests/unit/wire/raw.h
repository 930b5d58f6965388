/* raw.h -- protobuf put together by hand, right or wrong, and what wire_unpack says to it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_WIRE_RAW_H
#define COLONNADE_TESTS_WIRE_RAW_H

#include "common/base/check.h"
#include "common/wire/message.h"

#include "proto/vfl.pb-c.h"
#include "tests/unit/wire/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { RAW_MAX = 256 * 1024, VARINT = 0, LENGTH = 2 };

/* A message under construction. */
struct raw {
    size_t n;
    uint8_t bytes[RAW_MAX];
};

static inline void put_number(struct raw *r, uint64_t v)
{
    do {
        CHECK(r->n < RAW_MAX);
        r->bytes[r->n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        v >>= 7;
    } while (v > 0);
}

static inline void put_value(struct raw *r, unsigned field, uint64_t v)
{
    put_number(r, field << 3 | VARINT);
    put_number(r, v);
}

static inline void put_bytes(struct raw *r, unsigned field, const void *bytes, size_t n)
{
    put_number(r, field << 3 | LENGTH);
    put_number(r, n);
    CHECK(n <= RAW_MAX - r->n);
    if (n > 0)
        memcpy(r->bytes + r->n, bytes, n);
    r->n += n;
}

static inline void put_text(struct raw *r, unsigned field, const char *text)
{
    put_bytes(r, field, text, strlen(text));
}

/* The number of this message in Frame. */
static inline unsigned number_of(enum wire_kind kind)
{
    const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field_by_name(
        &vfl__frame__descriptor, wire_kind_name(kind));

    CHECK(f != NULL);
    return f->id;
}

static inline const struct raw *framed(enum wire_kind kind, const struct raw *body)
{
    static struct raw frame;

    frame.n = 0;
    put_bytes(&frame, number_of(kind), body->bytes, body->n);
    return &frame;
}

static struct wire_unpacker unpacker;

static inline int set_up(void **state)
{
    (void)state;
    return wire_unpacker_init(&unpacker, WIRE_SETUP_MAX) == STATUS_OK ? 0 : -1;
}

static inline int tear_down(void **state)
{
    (void)state;
    wire_unpacker_deinit(&unpacker);
    return 0;
}

static inline void expect_ok(struct wire_msg *m, enum wire_kind kind, const struct raw *body)
{
    const struct raw *f = framed(kind, body);
    struct error err = {0};

    if (wire_unpack(m, &unpacker, f->bytes, f->n, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(m->kind, kind);
}

static inline void expect_refused(enum wire_kind kind, const struct raw *body, const char *why)
{
    const struct raw *f = framed(kind, body);
    struct error err = {0};
    struct wire_msg m;

    assert_int_equal(wire_unpack(&m, &unpacker, f->bytes, f->n, &err), STATUS_PROTOCOL);
    if (strlen(err.text) < strlen(why) ||
        strcmp(err.text + strlen(err.text) - strlen(why), why) != 0)
        fail_msg("\"%s\" where \"%s\" was expected", err.text, why);
}

static inline void body_of_join(struct raw *r, size_t digest)
{
    r->n = 0;
    put_value(r, 1, 1);
    put_bytes(r, 2, sample_bytes(1), digest);
    put_value(r, 3, 77);
    put_bytes(r, 5, sample_bytes(2), WIRE_DIGEST_BYTES);
}

/* Lengths of plan digest, nonce, X25519 key; of public key and signature; of the elements, which
 * are left out at 0. */
enum { HELLO_LENGTHS = 6 };

static inline void signed_part(struct raw *r, const size_t length[HELLO_LENGTHS], const char *name)
{
    r->n = 0;
    put_bytes(r, 1, sample_bytes(1), length[0]);
    put_value(r, 2, 300);
    if (name[0] != 0)
        put_text(r, 3, name);
    put_bytes(r, 4, sample_bytes(2), length[1]);
    put_bytes(r, 5, sample_bytes(3), length[2]);
    put_value(r, 6, 8);
}

static inline void around_signed_part(struct raw *r, const struct raw *part, const size_t *length)
{
    static const uint8_t longer[WIRE_ELEMENTS_BYTES + 1] = {6};
    static struct raw whole;

    memcpy(whole.bytes, part->bytes, part->n);
    whole.n = part->n;
    if (length[5] > 0)
        put_bytes(&whole, 14, longer, length[5]);
    r->n = 0;
    put_bytes(r, 1, whole.bytes, whole.n);
    put_bytes(r, 2, sample_bytes(4), length[3]);
    put_bytes(r, 3, sample_bytes(5), length[4]);
}

static inline void body_of_hello(struct raw *r, const size_t length[HELLO_LENGTHS],
                                 const char *name)
{
    struct raw part;

    signed_part(&part, length, name);
    around_signed_part(r, &part, length);
}

#endif
