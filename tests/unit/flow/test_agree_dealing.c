/* test_agree_dealing.c -- what a hello says of dealings is whole, signed and kept.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/agree.h"

#include "common/base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const uint8_t digest[WIRE_DIGEST_BYTES] = {200, 201, 202};
static const uint8_t elements[WIRE_ELEMENTS_BYTES] = {9};
static const struct agree_terms terms = {digest, 77, elements, digest};

/* A member, and its hello of before it deals. */
static struct {
    struct sign_key key;
    struct roster_entry entry;
    struct buf body;
    uint8_t signature[WIRE_SIGNATURE_BYTES];
    struct wire_hello hello;
} p1;

static int set_up(void **state)
{
    (void)state;
    memset(&p1, 0, sizeof p1);
    buf_init(&p1.body, WIRE_HELLO_MAX);
    CHECK(sign_key_generate(&p1.key) == STATUS_OK);
    strcpy(p1.entry.name, "p1");
    sign_spki_digest(p1.entry.key, p1.key.public_key);
    p1.hello = (struct wire_hello){.plan_digest = digest,
                                   .nonce = digest,
                                   .kex_public = digest,
                                   .generation = terms.generation,
                                   .name = "p1",
                                   .train_rows = 70,
                                   .elements = elements};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sign_key_deinit(&p1.key);
    buf_deinit(&p1.body);
    return 0;
}

static void sign_hello(struct wire_hello *h)
{
    CHECK(wire_pack_hello_body(&p1.body, h) == STATUS_OK);
    CHECK(sign_make(p1.signature, &p1.key, "vfl/hello/2", p1.body.data, p1.body.len) == STATUS_OK);
    h->body = (struct wire_bytes){p1.body.data, p1.body.len};
    h->public_key = p1.key.public_key;
    h->signature = p1.signature;
}

/* Which of the five that speak of dealings are there; in this order. */
enum { FEATURES = 1, DEGREE = 2, DEALING = 4, HOLDS = 8, HELD = 16, ALL_OF_THEM = 31 };

static const uint8_t dealing_name[WIRE_DIGEST_BYTES] = {41, 42},
                     dealings_held[WIRE_DIGEST_BYTES] = {51, 52};

static void say_dealing(struct wire_hello *h, unsigned what)
{
    h->features = what & FEATURES ? 12 : 0;
    h->degree = what & DEGREE ? 2 : 0;
    h->dealing = what & DEALING ? (struct wire_bytes){dealing_name, sizeof dealing_name}
                                : (struct wire_bytes){NULL, 0};
    h->holds = what & HOLDS ? (struct wire_bytes){dealings_held, sizeof dealings_held}
                            : (struct wire_bytes){NULL, 0};
    h->held = what & HELD ? 7 : 0;
}

static void test_a_dealing_is_there_with_its_shape_and_what_is_held_with_its_name(void **state)
{
    static const unsigned whole[] = {0, FEATURES | DEGREE | DEALING, ALL_OF_THEM};
    struct wire_hello h = p1.hello;

    (void)state;
    for (unsigned what = 0; what <= ALL_OF_THEM; what++) {
        struct error err = {0};
        bool ok = false;

        for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
            ok |= whole[i] == what;
        say_dealing(&h, what);
        sign_hello(&h);
        if (ok) {
            assert_int_equal(agree_check_hello(&h, &p1.entry, &terms, NULL), STATUS_OK);
        } else {
            assert_int_equal(agree_check_hello(&h, &p1.entry, &terms, &err), STATUS_PROTOCOL);
            assert_string_equal(err.text, "hello of p1: half a dealing");
        }
    }
}

/* The relay can neither add a dealing nor take one away: it is in what was signed. */
static void test_a_dealing_is_part_of_what_is_signed(void **state)
{
    struct wire_hello h = p1.hello;
    uint8_t body[WIRE_HELLO_MAX];

    (void)state;
    say_dealing(&h, ALL_OF_THEM);
    sign_hello(&h);
    memcpy(body, h.body.data, h.body.n);
    for (size_t i = 0; i < h.body.n; i++) {
        h.body.data = body;
        body[i] ^= 1;
        assert_int_equal(agree_check_hello(&h, &p1.entry, &terms, NULL), STATUS_AUTH);
        body[i] ^= 1;
    }
    assert_int_equal(agree_check_hello(&h, &p1.entry, &terms, NULL), STATUS_OK);
}

static void test_a_kept_hello_keeps_what_it_says_of_dealings(void **state)
{
    static const uint8_t zeros[WIRE_DIGEST_BYTES];
    struct wire_hello h = p1.hello;
    struct agree_hello kept;

    (void)state;
    for (unsigned what = 0; what <= ALL_OF_THEM; what++) {
        memset(&kept, 0xa5, sizeof kept);
        say_dealing(&h, what);
        sign_hello(&h);
        agree_keep_hello(&kept, &h);
        assert_int_equal(kept.features, what & FEATURES ? 12 : 0);
        assert_int_equal(kept.degree, what & DEGREE ? 2 : 0);
        assert_int_equal(kept.has_dealing, (what & DEALING) != 0);
        assert_memory_equal(kept.dealing, what & DEALING ? dealing_name : zeros, sizeof zeros);
        assert_int_equal(kept.has_holds, (what & HOLDS) != 0);
        assert_memory_equal(kept.holds, what & HOLDS ? dealings_held : zeros, sizeof zeros);
        assert_int_equal(kept.held, what & HELD ? 7 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_dealing_is_there_with_its_shape_and_what_is_held_with_its_name),
        cmocka_unit_test(test_a_dealing_is_part_of_what_is_signed),
        cmocka_unit_test(test_a_kept_hello_keeps_what_it_says_of_dealings),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
