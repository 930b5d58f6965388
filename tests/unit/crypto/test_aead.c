/* test_aead.c -- AES-256-GCM: published vectors, and nothing else opens.
 *
 * The vectors are test cases 13, 14 and 16 of McGrew and Viega, "The Galois/Counter Mode of
 * Operation".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/aead.h"

#include "common/crypto/digest.h"
#include "tests/lib/aborts.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { TEXT_MAX = 64 };

static const struct vector {
    const char *key, *nonce, *aad, *text, *sealed, *tag; /* hexadecimal */
} VECTORS[] = {
    {"0000000000000000000000000000000000000000000000000000000000000000", "000000000000000000000000",
     "", "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
    {"0000000000000000000000000000000000000000000000000000000000000000", "000000000000000000000000",
     "", "00000000000000000000000000000000", "cea7403d4d606b6e074ec5d3baf39d18",
     "d0d1c8a799996bf0265b98b5d48ab919"},
    {"feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
     "feedfacedeadbeeffeedfacedeadbeefabaddad2",
     "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
     "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
     "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
     "76fc6ece0f4e1768cddf8853bb2d551b"},
};
enum { VECTORS_N = sizeof VECTORS / sizeof VECTORS[0] };

/* A vector in bytes. */
struct bytes {
    uint8_t key[AEAD_KEY_BYTES], aad[TEXT_MAX], text[TEXT_MAX], sealed[TEXT_MAX];
    uint8_t tag[AEAD_TAG_BYTES];
    size_t n;
    struct aead_name name;
};

static void load(struct bytes *b, const struct vector *v)
{
    memset(b, 0, sizeof *b);
    b->n = strlen(v->text) / 2;
    b->name.aad = b->aad;
    b->name.aad_n = strlen(v->aad) / 2;
    assert_true(digest_from_hex(b->key, sizeof b->key, v->key));
    assert_true(digest_from_hex(b->name.nonce, AEAD_NONCE_BYTES, v->nonce));
    assert_true(digest_from_hex(b->aad, b->name.aad_n, v->aad));
    assert_true(digest_from_hex(b->text, b->n, v->text));
    assert_true(digest_from_hex(b->sealed, b->n, v->sealed));
    assert_true(digest_from_hex(b->tag, sizeof b->tag, v->tag));
}

static void expect_sealed(struct aead *a, const struct bytes *b)
{
    uint8_t bytes[TEXT_MAX], tag[AEAD_TAG_BYTES];

    memcpy(bytes, b->text, sizeof bytes);
    aead_seal(a, bytes, b->n, tag, &b->name);
    assert_memory_equal(bytes, b->sealed, sizeof bytes); /* and nothing behind the text */
    assert_memory_equal(tag, b->tag, sizeof tag);
}

static void test_published_vectors_seal_and_open(void **state)
{
    (void)state;
    for (size_t k = 0; k < VECTORS_N; k++) {
        struct aead seal, open;
        struct bytes b;
        uint8_t out[TEXT_MAX];

        load(&b, &VECTORS[k]);
        assert_int_equal(aead_init(&seal, true, b.key), STATUS_OK);
        assert_int_equal(aead_init(&open, false, b.key), STATUS_OK);
        for (int again = 0; again < 3; again++) {
            expect_sealed(&seal, &b);
            memset(out, 0, sizeof out);
            assert_true(aead_open(&open, out, b.sealed, b.n, b.tag, &b.name));
            assert_memory_equal(out, b.text, sizeof out);
        }
        memcpy(out, b.sealed, sizeof out); /* in place */
        assert_true(aead_open(&open, out, out, b.n, b.tag, &b.name));
        assert_memory_equal(out, b.text, sizeof out);
        aead_deinit(&seal);
        aead_deinit(&open);
    }
}

static void test_a_context_serves_one_key_after_the_other(void **state)
{
    struct aead seal, open;
    struct bytes b;
    uint8_t out[TEXT_MAX];

    (void)state;
    load(&b, &VECTORS[0]);
    assert_int_equal(aead_init(&seal, true, b.key), STATUS_OK);
    assert_int_equal(aead_init(&open, false, b.key), STATUS_OK);
    for (size_t k = 0; k < 6; k++) {
        load(&b, &VECTORS[k % VECTORS_N]);
        aead_rekey(&seal, b.key);
        aead_rekey(&open, b.key);
        expect_sealed(&seal, &b);
        assert_true(aead_open(&open, out, b.sealed, b.n, b.tag, &b.name));
        assert_memory_equal(out, b.text, b.n);
    }
    aead_deinit(&seal);
    aead_deinit(&open);
}

/* --- what does not open --- */

static void expect_refused(struct aead *open, const struct bytes *b)
{
    static const uint8_t zeros[TEXT_MAX];
    uint8_t out[TEXT_MAX];

    memset(out, 0xa5, sizeof out);
    assert_false(aead_open(open, out, b->sealed, b->n, b->tag, &b->name));
    assert_memory_equal(out, zeros, b->n); /* nobody reads what was not authenticated */
}

static void flip_each(struct aead *open, struct bytes *b, uint8_t *field, size_t n)
{
    for (size_t bit = 0; bit < 8 * n; bit++) {
        field[bit / 8] ^= (uint8_t)(1U << bit % 8);
        expect_refused(open, b);
        field[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
}

static void test_any_bit_flipped_is_refused_and_nothing_comes_out(void **state)
{
    struct bytes b;
    struct aead open;
    uint8_t out[TEXT_MAX];

    (void)state;
    load(&b, &VECTORS[2]);
    assert_int_equal(aead_init(&open, false, b.key), STATUS_OK);
    flip_each(&open, &b, b.sealed, b.n);
    flip_each(&open, &b, b.tag, sizeof b.tag);
    flip_each(&open, &b, b.aad, b.name.aad_n);
    flip_each(&open, &b, b.name.nonce, sizeof b.name.nonce);
    for (size_t bit = 0; bit < 8 * AEAD_KEY_BYTES; bit++) {
        b.key[bit / 8] ^= (uint8_t)(1U << bit % 8);
        aead_rekey(&open, b.key);
        expect_refused(&open, &b);
        b.key[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    aead_rekey(&open, b.key);
    assert_true(aead_open(&open, out, b.sealed, b.n, b.tag, &b.name));
    aead_deinit(&open);
}

static void test_a_text_cut_or_lengthened_is_refused(void **state)
{
    struct bytes b;
    struct aead open;

    (void)state;
    load(&b, &VECTORS[2]);
    assert_int_equal(aead_init(&open, false, b.key), STATUS_OK);
    b.n++;
    expect_refused(&open, &b);
    for (b.n -= 2; b.n > 0; b.n--)
        expect_refused(&open, &b);
    expect_refused(&open, &b);
    load(&b, &VECTORS[2]);
    b.name.aad_n--;
    expect_refused(&open, &b);
    aead_deinit(&open);
}

/* --- misuse, memory --- */

struct call {
    struct aead *a;
    struct bytes b;
};

static void seal_it(void *arg)
{
    struct call *c = arg;

    aead_seal(c->a, c->b.text, c->b.n, c->b.tag, &c->b.name);
}

static void open_it(void *arg)
{
    struct call *c = arg;

    (void)!aead_open(c->a, c->b.text, c->b.sealed, c->b.n, c->b.tag, &c->b.name);
}

static void test_a_context_of_one_direction_does_not_serve_the_other(void **state)
{
    struct aead seal, open;
    struct call c;

    (void)state;
    load(&c.b, &VECTORS[2]);
    assert_int_equal(aead_init(&seal, true, c.b.key), STATUS_OK);
    assert_int_equal(aead_init(&open, false, c.b.key), STATUS_OK);
    c.a = &seal;
    assert_false(aborts(seal_it, &c));
    assert_true(aborts(open_it, &c));
    c.a = &open;
    assert_false(aborts(open_it, &c));
    assert_true(aborts(seal_it, &c));
    aead_deinit(&seal);
    aead_deinit(&open);
}

static void test_a_context_that_never_was_can_be_ended(void **state)
{
    struct aead a = {0};

    (void)state;
    aead_deinit(&a);
    aead_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_vectors_seal_and_open),
        cmocka_unit_test(test_a_context_serves_one_key_after_the_other),
        cmocka_unit_test(test_any_bit_flipped_is_refused_and_nothing_comes_out),
        cmocka_unit_test(test_a_text_cut_or_lengthened_is_refused),
        cmocka_unit_test(test_a_context_of_one_direction_does_not_serve_the_other),
        cmocka_unit_test(test_a_context_that_never_was_can_be_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
