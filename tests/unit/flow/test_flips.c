/* test_flips.c -- of everything that is signed or sealed no bit can be turned and no byte be left
 * out: a hello, a confirmation, a share.
 *
 * What is not signed in their frames is counted, bit by bit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/kex.h"
#include "common/flow/agree.h"
#include "common/secagg/share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { FRAME_MAX = 4096, MEMBERS = 3, SHARE_BYTES = 96 };

static const uint8_t plan_digest[WIRE_DIGEST_BYTES] = {1, 2, 3}, sid[WIRE_DIGEST_BYTES] = {4, 5, 6},
                     nonce[WIRE_KEY_BYTES] = {7}, dealing[WIRE_DIGEST_BYTES] = {8};
static const uint8_t elements[WIRE_ELEMENTS_BYTES] = {9};
static const struct agree_terms terms = {plan_digest, 1, elements, plan_digest};

static struct {
    struct sign_key key;
    struct roster_entry entry;
    struct wire_unpacker unpacker;
    struct buf frame;
    uint8_t secret[MEMBERS][KEX_BYTES], public[MEMBERS][KEX_BYTES];
} world;

static int set_up(void **state)
{
    (void)state;
    buf_init(&world.frame, FRAME_MAX);
    strcpy(world.entry.name, "p1");
    if (sign_key_generate(&world.key) != STATUS_OK ||
        wire_unpacker_init(&world.unpacker, FRAME_MAX) != STATUS_OK)
        return -1;
    sign_spki_digest(world.entry.key, world.key.public_key);
    for (uint32_t m = 0; m < MEMBERS; m++) {
        if (kex_generate(world.secret[m], world.public[m]) != STATUS_OK)
            return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sign_key_deinit(&world.key);
    wire_unpacker_deinit(&world.unpacker);
    buf_deinit(&world.frame);
    return 0;
}

/* How many of all flips and cuts of the frame end as what `taken` takes. */
struct tally {
    size_t flips, flips_taken, cuts, cuts_taken;
};

static bool is_taken(const uint8_t *bytes, size_t n, bool (*taken)(const struct wire_msg *))
{
    struct error err = {0};
    struct wire_msg m;

    if (wire_unpack(&m, &world.unpacker, bytes, n, &err) != STATUS_OK) {
        assert_int_equal(status_kind(err.status), STATUS_KIND_PEER);
        return false;
    }
    return taken(&m);
}

static struct tally try_all(const struct wire_msg *m, bool (*taken)(const struct wire_msg *))
{
    struct tally t = {0};
    struct buf *f = &world.frame;

    assert_int_equal(wire_pack(f, m), STATUS_OK);
    assert_true(is_taken(f->data, f->len, taken));
    for (size_t bit = 0; bit < 8 * f->len; bit++, t.flips++) {
        f->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        t.flips_taken += is_taken(f->data, f->len, taken);
        f->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (; t.cuts < f->len; t.cuts++)
        t.cuts_taken += is_taken(f->data, t.cuts, taken);
    assert_true(t.flips == 8 * f->len);
    print_message("%s: %zu flips, %zu taken; %zu cuts, %zu taken\n", wire_kind_name(m->kind),
                  t.flips, t.flips_taken, t.cuts, t.cuts_taken);
    return t;
}

/* --- a hello --- */

static bool takes_hello(const struct wire_msg *m)
{
    struct error err = {0};
    enum status s;

    if (m->kind != WIRE_HELLO)
        return false;
    s = agree_check_hello(&m->hello, &world.entry, &terms, &err);
    assert_true(s == STATUS_OK || s == STATUS_AUTH || s == STATUS_PROTOCOL);
    return s == STATUS_OK;
}

static void test_no_bit_of_a_hello_can_be_turned(void **state)
{
    struct wire_hello h = {.plan_digest = plan_digest,
                           .nonce = nonce,
                           .kex_public = sid,
                           .generation = terms.generation,
                           .name = "p1",
                           .train_rows = 70,
                           .test_rows = 30,
                           .features = 5,
                           .degree = 2,
                           .dealing = {dealing, sizeof dealing},
                           .holds = {dealing, sizeof dealing},
                           .held = 3,
                           .ledger = 812,
                           .elements = elements};
    uint8_t signature[WIRE_SIGNATURE_BYTES];
    struct wire_msg m = {.kind = WIRE_HELLO};
    struct buf body;
    struct tally t;

    (void)state;
    buf_init(&body, WIRE_HELLO_MAX);
    assert_int_equal(wire_pack_hello_body(&body, &h), STATUS_OK);
    assert_int_equal(sign_make(signature, &world.key, "vfl/hello/2", body.data, body.len),
                     STATUS_OK);
    h.body = (struct wire_bytes){body.data, body.len};
    h.public_key = world.key.public_key;
    h.signature = signature;
    m.hello = h;
    t = try_all(&m, takes_hello);
    assert_int_equal(t.flips_taken, 0);
    assert_int_equal(t.cuts_taken, 0);
    assert_true(t.flips >= 8 * (body.len + WIRE_KEY_BYTES + WIRE_SIGNATURE_BYTES));
    buf_deinit(&body);
}

/* --- a confirmation --- */

static bool takes_confirm(const struct wire_msg *m)
{
    struct error err = {0};
    enum status s;

    if (m->kind != WIRE_CONFIRM)
        return false;
    s = agree_check_confirm(&m->confirm, world.key.public_key, sid, MEMBERS, &err);
    assert_true(s == STATUS_OK || s == STATUS_AUTH || s == STATUS_PROTOCOL);
    return s == STATUS_OK;
}

/* The generation beside the signature says where a confirmation belongs, and sid has it: of 1, one
 * byte, six bits can be turned so that it stays a number (bit 0 leaves none, bit 7 no end). */
static void
test_no_bit_of_a_confirmation_can_be_turned_but_of_the_generation_beside_it(void **state)
{
    struct agree_confirm c = {.members = MEMBERS};
    struct wire_msg m = {.kind = WIRE_CONFIRM};
    struct tally t;

    (void)state;
    memcpy(c.sid, sid, sizeof c.sid);
    agree_put_seen(&c, 1, 77);
    assert_int_equal(agree_sign_confirm(&c, &world.key), STATUS_OK);
    m.confirm = agree_show_confirm(&c, terms.generation);
    t = try_all(&m, takes_confirm);
    assert_int_equal(t.flips_taken, 6);
    assert_int_equal(t.cuts_taken, 0);
    assert_true(t.flips >= 8 * (3 * WIRE_DIGEST_BYTES + WIRE_SIGNATURE_BYTES + 8 * MEMBERS));
}

/* --- a share --- */

static struct share_keys keys_of(uint32_t self)
{
    struct secagg_pair pairs[MEMBERS];
    struct share_keys k;

    memset(pairs, 0, sizeof pairs);
    for (uint32_t m = 0; m < MEMBERS; m++) {
        if (m != self)
            assert_int_equal(
                agree_pair_keys(&pairs[m], world.secret[self], world.public[m], sid, self, m),
                STATUS_OK);
    }
    assert_int_equal(share_init(&k, MEMBERS, self, pairs), STATUS_OK);
    return k;
}

static bool opens(struct share_keys *k, const uint8_t *sealed, const uint8_t *tag, size_t n)
{
    uint8_t out[SHARE_BYTES];

    return share_open(k, 0, out, sealed, n, tag);
}

static void test_no_bit_of_a_sealed_share_can_be_turned(void **state)
{
    uint8_t sealed[SHARE_BYTES] = "codes", tag[AEAD_TAG_BYTES], view[WIRE_DIGEST_BYTES] = {9};
    const struct secagg_round round = {.round = 5, .sid = sid, .broadcast = view};
    struct share_keys from, to;
    size_t flips = 0, taken = 0;

    (void)state;
    from = keys_of(0);
    to = keys_of(1);
    assert_int_equal(share_begin(&from, &round), STATUS_OK);
    assert_int_equal(share_begin(&to, &round), STATUS_OK);
    share_seal(&from, 1, sealed, sizeof sealed, tag);
    assert_true(opens(&to, sealed, tag, sizeof sealed));
    for (size_t bit = 0; bit < 8 * sizeof sealed; bit++, flips++) {
        sealed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        taken += opens(&to, sealed, tag, sizeof sealed);
        sealed[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t bit = 0; bit < 8 * sizeof tag; bit++, flips++) {
        tag[bit / 8] ^= (uint8_t)(1u << bit % 8);
        taken += opens(&to, sealed, tag, sizeof sealed);
        tag[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(taken, 0);
    assert_int_equal(flips, 8 * (SHARE_BYTES + AEAD_TAG_BYTES));
    for (size_t n = 0; n < sizeof sealed; n++)
        assert_false(opens(&to, sealed, tag, n));
    share_deinit(&from);
    share_deinit(&to);
}

/* Of the round's name: 8 bits of purpose, 16 of its number, all of sid and view. */
static void test_no_bit_of_the_name_of_a_shares_round_can_be_turned(void **state)
{
    uint8_t sealed[SHARE_BYTES] = "codes", tag[AEAD_TAG_BYTES];
    uint8_t view[WIRE_DIGEST_BYTES] = {9}, of[WIRE_DIGEST_BYTES];
    struct secagg_round round = {.round = 5, .sid = of, .broadcast = view};
    uint8_t *const part[] = {&round.purpose, (uint8_t *)&round.round, of, view};
    static const size_t bits[] = {8, 16, 8 * WIRE_DIGEST_BYTES, 8 * WIRE_DIGEST_BYTES};
    struct share_keys from, to;
    size_t flips = 0;

    (void)state;
    memcpy(of, sid, sizeof of);
    from = keys_of(0);
    assert_int_equal(share_begin(&from, &round), STATUS_OK);
    share_seal(&from, 1, sealed, sizeof sealed, tag);
    share_deinit(&from);
    for (size_t p = 0; p < sizeof part / sizeof *part; p++) {
        for (size_t bit = 0; bit <= bits[p]; bit++) {
            const uint8_t turn = bit < bits[p] ? (uint8_t)(1u << bit % 8) : 0;

            to = keys_of(1);
            part[p][bit / 8 % (bits[p] / 8)] ^= turn;
            assert_int_equal(share_begin(&to, &round), STATUS_OK);
            assert_int_equal(opens(&to, sealed, tag, sizeof sealed), turn == 0);
            part[p][bit / 8 % (bits[p] / 8)] ^= turn;
            share_deinit(&to);
            flips += turn != 0;
        }
    }
    assert_int_equal(flips, 8 + 16 + 2 * 8 * WIRE_DIGEST_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_bit_of_a_hello_can_be_turned),
        cmocka_unit_test(
            test_no_bit_of_a_confirmation_can_be_turned_but_of_the_generation_beside_it),
        cmocka_unit_test(test_no_bit_of_a_sealed_share_can_be_turned),
        cmocka_unit_test(test_no_bit_of_the_name_of_a_shares_round_can_be_turned),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
