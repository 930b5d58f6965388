/* test_agree.c -- one view of keys, set and plan: nothing of it can be changed, borrowed or
 * replayed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/agree.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/kex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/golden/flow.h"

enum { MEMBERS = 3 };

static const uint8_t plan_digest[WIRE_DIGEST_BYTES] = {200, 201, 202};
static const uint8_t element[WIRE_ELEMENT_BYTES] = {7, 8};
static const struct agree_terms terms = {plan_digest, UINT64_C(1) << 40, element, plan_digest};

/* A member, and its honest hello as it would arrive. */
static struct member {
    struct sign_key key;
    struct roster_entry entry;
    uint8_t secret[KEX_BYTES], public[KEX_BYTES], nonce[WIRE_KEY_BYTES],
        elements[WIRE_ELEMENTS_BYTES];
    struct buf body;
    struct wire_hello hello;
    uint8_t signature[WIRE_SIGNATURE_BYTES];
} member[MEMBERS];

/* Packs and signs h as m would, under `label`. */
static void sign_hello(struct member *m, struct wire_hello *h, const char *label)
{
    assert_int_equal(wire_pack_hello_body(&m->body, h), STATUS_OK);
    assert_int_equal(sign_make(m->signature, &m->key, label, m->body.data, m->body.len), STATUS_OK);
    h->body = (struct wire_bytes){m->body.data, m->body.len};
    h->public_key = m->key.public_key;
    h->signature = m->signature;
}

static void say_hello(struct member *m)
{
    m->hello = (struct wire_hello){
        .plan_digest = plan_digest,
        .nonce = m->nonce,
        .kex_public = m->public,
        .generation = terms.generation,
        .train_rows = 70,
        .test_rows = 30,
        .elements = m->elements,
    };
    strcpy(m->hello.name, m->entry.name);
    sign_hello(m, &m->hello, "vfl/hello/2");
}

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < MEMBERS; i++) {
        struct member *m = &member[i];

        memset(m, 0, sizeof *m);
        buf_init(&m->body, WIRE_HELLO_MAX);
        CHECK(sign_key_generate(&m->key) == STATUS_OK);
        CHECK(kex_generate(m->secret, m->public) == STATUS_OK);
        memset(m->nonce, 10 + i, sizeof m->nonce);
        memset(m->elements, 20 + i, sizeof m->elements);
        snprintf(m->entry.name, sizeof m->entry.name, "p%d", i + 1);
        sign_spki_digest(m->entry.key, m->key.public_key);
        say_hello(m);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < MEMBERS; i++) {
        sign_key_deinit(&member[i].key);
        buf_deinit(&member[i].body);
    }
    return 0;
}

/* --- hellos --- */

static void expect_hello(const struct wire_hello *h, const struct roster_entry *who,
                         const struct agree_terms *t, enum status status, const char *why)
{
    struct error err = {0};

    assert_int_equal(agree_check_hello(h, who, t, &err), status);
    assert_int_equal(agree_check_hello(h, who, t, NULL), status);
    if (status != STATUS_OK) {
        assert_string_equal(err.text, why);
        assert_int_equal(err.status, status);
    }
}

static void test_an_honest_hello_is_accepted(void **state)
{
    (void)state;
    for (int i = 0; i < MEMBERS; i++)
        expect_hello(&member[i].hello, &member[i].entry, &terms, STATUS_OK, NULL);
}

static void test_an_honest_hello_survives_the_wire(void **state)
{
    struct wire_msg m = {.kind = WIRE_HELLO}, got;
    struct wire_unpacker u;
    struct buf out;

    (void)state;
    m.hello = member[0].hello;
    buf_init(&out, WIRE_SETUP_MAX);
    assert_int_equal(wire_unpacker_init(&u, WIRE_SETUP_MAX), STATUS_OK);
    assert_int_equal(wire_pack(&out, &m), STATUS_OK);
    assert_int_equal(wire_unpack(&got, &u, out.data, out.len, NULL), STATUS_OK);
    expect_hello(&got.hello, &member[0].entry, &terms, STATUS_OK, NULL);
    assert_memory_equal(got.hello.kex_public, member[0].public, KEX_BYTES);
    wire_unpacker_deinit(&u);
    buf_deinit(&out);
}

static void test_any_bit_of_a_hello_changed_by_a_relay_is_noticed(void **state)
{
    struct wire_hello h = member[0].hello;
    uint8_t body[WIRE_HELLO_MAX], signature[WIRE_SIGNATURE_BYTES], key[WIRE_KEY_BYTES];

    (void)state;
    memcpy(body, h.body.data, h.body.n);
    memcpy(signature, h.signature, sizeof signature);
    memcpy(key, h.public_key, sizeof key);
    h.body.data = body;
    h.signature = signature;
    h.public_key = key;
    expect_hello(&h, &member[0].entry, &terms, STATUS_OK, NULL);
    for (size_t bit = 0; bit < 8 * h.body.n; bit++) {
        body[bit / 8] ^= (uint8_t)(1u << bit % 8);
        expect_hello(&h, &member[0].entry, &terms, STATUS_AUTH, "hello of p1: bad signature");
        body[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t bit = 0; bit < 8 * sizeof signature; bit++) {
        signature[bit / 8] ^= (uint8_t)(1u << bit % 8);
        expect_hello(&h, &member[0].entry, &terms, STATUS_AUTH, "hello of p1: bad signature");
        signature[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t bit = 0; bit < 8 * sizeof key; bit++) {
        key[bit / 8] ^= (uint8_t)(1u << bit % 8);
        expect_hello(&h, &member[0].entry, &terms, STATUS_AUTH,
                     "hello of p1: signed by a key that is not in the roster");
        key[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    h.body.n--;
    expect_hello(&h, &member[0].entry, &terms, STATUS_AUTH, "hello of p1: bad signature");
}

static void test_a_hello_of_another_key_is_refused_even_with_the_right_name(void **state)
{
    struct wire_hello h = member[1].hello;

    (void)state;
    strcpy(h.name, "p1");
    sign_hello(&member[1], &h, "vfl/hello/2");
    expect_hello(&h, &member[0].entry, &terms, STATUS_AUTH,
                 "hello of p1: signed by a key that is not in the roster");
    /* The roster's key beside another's signature is no better. */
    h.public_key = member[0].key.public_key;
    expect_hello(&h, &member[0].entry, &terms, STATUS_AUTH, "hello of p1: bad signature");
}

static void test_a_signature_under_another_label_is_none(void **state)
{
    static const char *const labels[] = {"vfl/confirm/2", "vfl/hello/1", "vfl/hello/", "",
                                         "vfl/hello/22"};
    struct wire_hello h = member[0].hello;

    (void)state;
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        sign_hello(&member[0], &h, labels[i]);
        expect_hello(&h, &member[0].entry, &terms, STATUS_AUTH, "hello of p1: bad signature");
    }
    sign_hello(&member[0], &h, "vfl/hello/2");
    expect_hello(&h, &member[0].entry, &terms, STATUS_OK, NULL);
}

static void test_a_member_that_names_itself_otherwise_is_refused(void **state)
{
    struct wire_hello h = member[0].hello;

    (void)state;
    strcpy(h.name, "p2");
    sign_hello(&member[0], &h, "vfl/hello/2");
    expect_hello(&h, &member[0].entry, &terms, STATUS_PROTOCOL, "hello of p1: names itself p2");
    strcpy(h.name, "p1x");
    sign_hello(&member[0], &h, "vfl/hello/2");
    expect_hello(&h, &member[0].entry, &terms, STATUS_PROTOCOL, "hello of p1: names itself p1x");
}

static void test_a_hello_with_an_impossible_ledger_is_refused(void **state)
{
    struct wire_hello h = member[0].hello;

    (void)state;
    h.ledger = WIRE_LEDGER_MAX;
    sign_hello(&member[0], &h, "vfl/hello/2");
    expect_hello(&h, &member[0].entry, &terms, STATUS_OK, NULL);
    h.ledger++;
    sign_hello(&member[0], &h, "vfl/hello/2");
    expect_hello(&h, &member[0].entry, &terms, STATUS_PROTOCOL,
                 "hello of p1: no ledger has so many entries");
}

static void test_a_hello_of_another_generation_or_plan_is_refused(void **state)
{
    uint8_t other_plan[WIRE_DIGEST_BYTES];
    struct agree_terms later = {plan_digest, terms.generation + 1, element, plan_digest};
    struct agree_terms changed = {other_plan, terms.generation, element, plan_digest};

    (void)state;
    /* A replay: the signed hello of an earlier generation or of another plan. */
    expect_hello(&member[0].hello, &member[0].entry, &later, STATUS_PROTOCOL,
                 "hello of p1: of another generation");
    for (size_t i = 0; i < sizeof other_plan; i++) {
        memcpy(other_plan, plan_digest, sizeof other_plan);
        other_plan[i] ^= 1;
        expect_hello(&member[0].hello, &member[0].entry, &changed, STATUS_PROTOCOL,
                     "hello of p1: for another plan");
    }
    memcpy(other_plan, plan_digest, sizeof other_plan);
    expect_hello(&member[0].hello, &member[0].entry, &changed, STATUS_OK, NULL);
}

static void test_a_kept_hello_is_shown_as_it_came(void **state)
{
    struct agree_hello kept;
    struct wire_hello shown;

    (void)state;
    memset(&kept, 0xa5, sizeof kept);
    agree_keep_hello(&kept, &member[1].hello);
    shown = agree_show_hello(&kept);
    assert_int_equal(shown.body.n, member[1].hello.body.n);
    assert_memory_equal(shown.body.data, member[1].hello.body.data, shown.body.n);
    assert_memory_equal(shown.public_key, member[1].key.public_key, WIRE_KEY_BYTES);
    assert_memory_equal(shown.signature, member[1].signature, WIRE_SIGNATURE_BYTES);
    assert_memory_equal(kept.kex_public, member[1].public, KEX_BYTES);
    assert_memory_equal(kept.elements, member[1].elements, sizeof kept.elements);
    assert_int_equal(kept.train_rows, 70);
    assert_int_equal(kept.test_rows, 30);
}

/* --- sid --- */

/* Counting up from `first`, as in gen_flow.py. */
static void count_up(uint8_t *out, size_t n, uint8_t first)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(first + i);
}

static void golden_hellos(struct agree_hello h[MEMBERS])
{
    static const struct {
        uint8_t first;
        size_t n;
    } bodies[MEMBERS] = {{10, 5}, {0, 0}, {30, 100}};

    memset(h, 0, MEMBERS * sizeof *h);
    for (int i = 0; i < MEMBERS; i++) {
        count_up(h[i].body, bodies[i].n, bodies[i].first);
        h[i].body_len = bodies[i].n;
        count_up(h[i].public_key, sizeof h[i].public_key, (uint8_t)(i + 1));
    }
}

static void test_sid_is_the_digest_that_the_header_writes_down(void **state)
{
    uint8_t plan[WIRE_DIGEST_BYTES], of_server[WIRE_ELEMENT_BYTES], playing[WIRE_DIGEST_BYTES];
    uint8_t sid[WIRE_DIGEST_BYTES];
    struct agree_terms t = {plan, (UINT64_C(1) << 40) + 7, of_server, playing};
    struct agree_hello h[MEMBERS];

    (void)state;
    count_up(plan, sizeof plan, 200);
    count_up(of_server, sizeof of_server, 150);
    count_up(playing, sizeof playing, 90);
    golden_hellos(h);
    agree_sid(sid, &t, h, MEMBERS);
    assert_memory_equal(sid, GOLDEN_SID, sizeof sid);
}

static void expect_other_sid(const struct agree_terms *t, const struct agree_hello *h, size_t n)
{
    uint8_t sid[WIRE_DIGEST_BYTES];

    agree_sid(sid, t, h, n);
    assert_memory_not_equal(sid, GOLDEN_SID, sizeof sid);
}

static void test_sid_changes_with_every_byte_of_every_hello(void **state)
{
    uint8_t plan[WIRE_DIGEST_BYTES], of_server[WIRE_ELEMENT_BYTES], playing[WIRE_DIGEST_BYTES];
    struct agree_terms t = {plan, (UINT64_C(1) << 40) + 7, of_server, playing};
    struct agree_hello h[MEMBERS];

    (void)state;
    count_up(plan, sizeof plan, 200);
    count_up(of_server, sizeof of_server, 150);
    count_up(playing, sizeof playing, 90);
    golden_hellos(h);
    for (int m = 0; m < MEMBERS; m++) {
        for (size_t i = 0; i < h[m].body_len; i++) {
            h[m].body[i] ^= 1;
            expect_other_sid(&t, h, MEMBERS);
            h[m].body[i] ^= 1;
        }
        for (size_t i = 0; i < sizeof h[m].public_key; i++) {
            h[m].public_key[i] ^= 0x80;
            expect_other_sid(&t, h, MEMBERS);
            h[m].public_key[i] ^= 0x80;
        }
        h[m].body_len++;
        expect_other_sid(&t, h, MEMBERS);
        h[m].body_len--;
    }
}

static void test_sid_changes_with_plan_generation_offer_number_and_order_of_members(void **state)
{
    uint8_t plan[WIRE_DIGEST_BYTES], of_server[WIRE_ELEMENT_BYTES], playing[WIRE_DIGEST_BYTES];
    struct agree_terms t = {plan, (UINT64_C(1) << 40) + 7, of_server, playing};
    struct agree_hello h[MEMBERS], swapped;

    (void)state;
    count_up(plan, sizeof plan, 200);
    count_up(of_server, sizeof of_server, 150);
    count_up(playing, sizeof playing, 90);
    golden_hellos(h);
    for (size_t i = 0; i < sizeof plan; i++) {
        plan[i] ^= 1;
        expect_other_sid(&t, h, MEMBERS);
        plan[i] ^= 1;
    }
    for (size_t i = 0; i < sizeof playing; i++) {
        playing[i] ^= 1;
        expect_other_sid(&t, h, MEMBERS);
        playing[i] ^= 1;
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        t.generation ^= UINT64_C(1) << bit;
        expect_other_sid(&t, h, MEMBERS);
        t.generation ^= UINT64_C(1) << bit;
    }
    for (size_t i = 0; i < sizeof of_server; i++) {
        of_server[i] ^= 1;
        expect_other_sid(&t, h, MEMBERS);
        of_server[i] ^= 1;
    }
    expect_other_sid(&t, h, MEMBERS - 1);
    expect_other_sid(&t, h + 1, MEMBERS - 1);
    swapped = h[0];
    h[0] = h[1];
    h[1] = swapped;
    expect_other_sid(&t, h, MEMBERS);
}

static void test_bytes_cannot_move_from_one_hello_to_the_next_without_changing_sid(void **state)
{
    struct agree_hello a[2], b[2];
    uint8_t sid_a[WIRE_DIGEST_BYTES], sid_b[WIRE_DIGEST_BYTES];

    (void)state;
    memset(a, 7, sizeof a);
    memset(b, 7, sizeof b);
    a[0].body_len = 10;
    a[1].body_len = 20;
    b[0].body_len = 20;
    b[1].body_len = 10;
    agree_sid(sid_a, &terms, a, 2);
    agree_sid(sid_b, &terms, b, 2);
    assert_memory_not_equal(sid_a, sid_b, sizeof sid_a);
}

/* --- keys --- */

static void test_the_pair_keys_are_hkdf_over_x25519_as_the_header_writes_down(void **state)
{
    uint8_t own[KEX_BYTES], sid[WIRE_DIGEST_BYTES];
    struct secagg_pair pair;

    (void)state;
    count_up(own, sizeof own, 5);
    count_up(sid, sizeof sid, 9);
    assert_int_equal(agree_pair_keys(&pair, own, GOLDEN_OTHER_PUBLIC, sid, 255, 3), STATUS_OK);
    assert_memory_equal(pair.mask, GOLDEN_PAIR_KEY, sizeof pair.mask);
    assert_memory_equal(pair.seal_to, GOLDEN_SEAL_255_TO_3, sizeof pair.seal_to);
    assert_memory_equal(pair.seal_from, GOLDEN_SEAL_3_TO_255, sizeof pair.seal_from);
}

static struct secagg_pair pair_of(uint32_t own, uint32_t other, const uint8_t *sid, uint32_t a,
                                  uint32_t b)
{
    struct secagg_pair pair;

    assert_int_equal(agree_pair_keys(&pair, member[own].secret, member[other].public, sid, a, b),
                     STATUS_OK);
    return pair;
}

static void test_both_ends_of_a_pair_derive_the_same_keys_and_no_other_pair_does(void **state)
{
    static const uint8_t sid[WIRE_DIGEST_BYTES] = {1};
    struct secagg_pair pair[MEMBERS][MEMBERS];
    uint8_t seen[3 * MEMBERS * MEMBERS][32];
    size_t n = 0;

    (void)state;
    for (uint32_t a = 0; a < MEMBERS; a++)
        for (uint32_t b = 0; b < MEMBERS; b++) {
            if (a != b)
                pair[a][b] = pair_of(a, b, sid, a, b);
        }
    for (uint32_t a = 0; a < MEMBERS; a++)
        for (uint32_t b = a + 1; b < MEMBERS; b++) {
            assert_memory_equal(pair[a][b].mask, pair[b][a].mask, 32);
            assert_memory_equal(pair[a][b].seal_to, pair[b][a].seal_from, 32);
            assert_memory_equal(pair[a][b].seal_from, pair[b][a].seal_to, 32);
            memcpy(seen[n++], pair[a][b].mask, 32);
            memcpy(seen[n++], pair[a][b].seal_to, 32);
            memcpy(seen[n++], pair[a][b].seal_from, 32);
        }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(seen[i], seen[k], 32);
}

/* None of a pair's three keys is that of another. */
static void expect_others(const struct secagg_pair *a, const struct secagg_pair *b)
{
    assert_memory_not_equal(a->mask, b->mask, 32);
    assert_memory_not_equal(a->seal_to, b->seal_to, 32);
    assert_memory_not_equal(a->seal_from, b->seal_from, 32);
}

static void test_a_pair_of_another_session_or_at_other_places_has_other_keys(void **state)
{
    static const uint8_t sid[WIRE_DIGEST_BYTES] = {1}, other_sid[WIRE_DIGEST_BYTES] = {2};
    const struct secagg_pair pair = pair_of(0, 1, sid, 0, 1);
    struct secagg_pair other = pair_of(0, 1, other_sid, 0, 1);

    (void)state;
    expect_others(&pair, &other);
    other = pair_of(0, 1, sid, 0, 2);
    expect_others(&pair, &other);
    other = pair_of(0, 1, sid, 0, 257);
    expect_others(&pair, &other);
    other = pair_of(0, 1, sid, 1, 0); /* masks know no direction, seals do */
    assert_memory_equal(other.mask, pair.mask, 32);
    assert_memory_equal(other.seal_to, pair.seal_from, 32);
    assert_memory_equal(other.seal_from, pair.seal_to, 32);
}

static void test_a_public_key_that_fixes_the_secret_is_refused_and_leaves_no_keys(void **state)
{
    static const uint8_t zero[KEX_BYTES], one[KEX_BYTES] = {1}, sid[WIRE_DIGEST_BYTES];
    static const struct secagg_pair none;
    struct secagg_pair pair;

    (void)state;
    memset(&pair, 0xa5, sizeof pair);
    assert_int_equal(agree_pair_keys(&pair, member[0].secret, zero, sid, 0, 1), STATUS_AUTH);
    assert_memory_equal(&pair, &none, sizeof pair);
    assert_int_equal(agree_pair_keys(&pair, member[0].secret, one, sid, 0, 1), STATUS_AUTH);
    assert_int_equal(agree_pair_keys(&pair, member[0].secret, member[1].public, sid, 0, 1),
                     STATUS_OK);
    assert_memory_not_equal(&pair, &none, sizeof pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
        TEST(test_an_honest_hello_is_accepted),
        TEST(test_an_honest_hello_survives_the_wire),
        TEST(test_any_bit_of_a_hello_changed_by_a_relay_is_noticed),
        TEST(test_a_hello_of_another_key_is_refused_even_with_the_right_name),
        TEST(test_a_signature_under_another_label_is_none),
        TEST(test_a_member_that_names_itself_otherwise_is_refused),
        TEST(test_a_hello_of_another_generation_or_plan_is_refused),
        TEST(test_a_kept_hello_is_shown_as_it_came),
        TEST(test_sid_is_the_digest_that_the_header_writes_down),
        TEST(test_sid_changes_with_every_byte_of_every_hello),
        TEST(test_sid_changes_with_plan_generation_offer_number_and_order_of_members),
        TEST(test_bytes_cannot_move_from_one_hello_to_the_next_without_changing_sid),
        TEST(test_a_hello_with_an_impossible_ledger_is_refused),
        TEST(test_the_pair_keys_are_hkdf_over_x25519_as_the_header_writes_down),
        TEST(test_both_ends_of_a_pair_derive_the_same_keys_and_no_other_pair_does),
        TEST(test_a_pair_of_another_session_or_at_other_places_has_other_keys),
        TEST(test_a_public_key_that_fixes_the_secret_is_refused_and_leaves_no_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
