/* test_kex.c -- X25519 and HKDF on published vectors, and public keys that must be refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/kex.h"
#include "tests/lib/openssl_mem.h"

#include "common/crypto/digest.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static void from_hex(uint8_t *out, size_t n, const char *hex)
{
    assert_true(digest_from_hex(out, n, hex));
}

static void expect_shared(const char *secret_hex, const char *peer_hex, const char *shared_hex)
{
    uint8_t secret[KEX_BYTES], peer[KEX_BYTES], want[KEX_BYTES], shared[KEX_BYTES];

    from_hex(secret, KEX_BYTES, secret_hex);
    from_hex(peer, KEX_BYTES, peer_hex);
    from_hex(want, KEX_BYTES, shared_hex);
    assert_int_equal(kex_derive(shared, secret, peer), STATUS_OK);
    assert_memory_equal(shared, want, KEX_BYTES);
}

/* RFC 7748: both vectors of section 5.2, and section 6.1 from either side. */
static void test_x25519_equals_rfc_7748(void **state)
{
    (void)state;
    expect_shared("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
                  "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
                  "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
    expect_shared("4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
                  "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
                  "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957");
    expect_shared("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
                  "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
                  "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
    expect_shared("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
                  "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
                  "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
}

static void test_both_ends_of_fresh_pairs_agree_and_pairs_differ(void **state)
{
    uint8_t secret[3][KEX_BYTES], public_key[3][KEX_BYTES], shared[3][KEX_BYTES];

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(kex_generate(secret[i], public_key[i]), STATUS_OK);
    assert_int_equal(kex_derive(shared[0], secret[0], public_key[1]), STATUS_OK);
    assert_int_equal(kex_derive(shared[1], secret[1], public_key[0]), STATUS_OK);
    assert_int_equal(kex_derive(shared[2], secret[0], public_key[2]), STATUS_OK);
    assert_memory_equal(shared[0], shared[1], KEX_BYTES);
    assert_memory_not_equal(shared[0], shared[2], KEX_BYTES);
    assert_memory_not_equal(secret[0], secret[1], KEX_BYTES);
}

/* The points of order 1, 2, 4 and 8 on the curve and its twist, and encodings of 0 and 1 above p.
 */
static void test_low_order_public_keys_are_refused_and_leave_nothing(void **state)
{
    static const char *const points[] = {
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000080", /* the top bit is
                                                                               ignored */
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    };
    static const uint8_t zero[KEX_BYTES];
    uint8_t secret[KEX_BYTES], public_key[KEX_BYTES], peer[KEX_BYTES], shared[KEX_BYTES];

    (void)state;
    assert_int_equal(kex_generate(secret, public_key), STATUS_OK);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        from_hex(peer, KEX_BYTES, points[i]);
        memset(shared, 0x55, sizeof shared);
        assert_int_equal(kex_derive(shared, secret, peer), STATUS_AUTH);
        assert_memory_equal(shared, zero, KEX_BYTES);
    }
}

/* RFC 5869, A.1 and A.2. */
static void test_hkdf_equals_rfc_5869(void **state)
{
    uint8_t key[80], salt[80], info[80], out[82], want[82];

    (void)state;
    memset(key, 0x0b, 22);
    for (int i = 0; i < 13; i++)
        salt[i] = (uint8_t)i;
    for (int i = 0; i < 10; i++)
        info[i] = (uint8_t)(0xf0 + i);
    from_hex(
        want, 42,
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
    assert_int_equal(kex_hkdf(out, 42, key, 22, salt, 13, info, 10), STATUS_OK);
    assert_memory_equal(out, want, 42);
    for (int i = 0; i < 80; i++) {
        key[i] = (uint8_t)i;
        salt[i] = (uint8_t)(0x60 + i);
        info[i] = (uint8_t)(0xb0 + i);
    }
    from_hex(
        want, 82,
        "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c6"
        "5e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87");
    assert_int_equal(kex_hkdf(out, 82, key, 80, salt, 80, info, 80), STATUS_OK);
    assert_memory_equal(out, want, 82);
    assert_int_equal(kex_hkdf(out, 82, key, 80, salt, 79, info, 80), STATUS_OK);
    assert_memory_not_equal(out, want, 82);
}

/* RFC 5869, A.3. */
static void test_hkdf_takes_an_empty_salt_and_info(void **state)
{
    uint8_t key[22], out[42], want[42];

    (void)state;
    memset(key, 0x0b, sizeof key);
    from_hex(
        want, 42,
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
    assert_int_equal(kex_hkdf(out, 42, key, 22, NULL, 0, NULL, 0), STATUS_OK);
    assert_memory_equal(out, want, 42);
}

static void test_hkdf_gives_at_most_255_blocks(void **state)
{
    static uint8_t out[255 * 32 + 1];
    uint8_t key[32] = {1}, salt[32] = {2};

    (void)state;
    assert_int_equal(kex_hkdf(out, 255 * 32, key, 32, salt, 32, "x", 1), STATUS_OK);
    assert_int_equal(kex_hkdf(out, 255 * 32 + 1, key, 32, salt, 32, "x", 1), STATUS_CRYPTO);
}

/* Expand of RFC 5869 with the key as its pseudorandom key: one HMAC of label || 1. */
static void test_ratchet_is_hkdf_expand_and_depends_on_its_label(void **state)
{
    uint8_t key[KEX_BYTES], other[KEX_BYTES], want[KEX_BYTES];

    (void)state;
    for (int i = 0; i < KEX_BYTES; i++)
        key[i] = other[i] = (uint8_t)(i * 3);
    assert_int_equal(digest_hmac(want, key, sizeof key, "step\x01", 5), STATUS_OK);
    assert_int_equal(kex_ratchet(key, "step"), STATUS_OK);
    assert_memory_equal(key, want, sizeof want);
    assert_int_equal(kex_ratchet(other, "stop"), STATUS_OK);
    assert_memory_not_equal(other, want, sizeof want);
}

static void test_a_step_that_fails_leaves_the_key_as_it_was(void **state)
{
    const uint8_t before[KEX_BYTES] = {1};
    uint8_t key[KEX_BYTES] = {1}, after[KEX_BYTES] = {1};
    enum status s = STATUS_CRYPTO;
    unsigned failed = 0;

    (void)state;
    assert_int_equal(kex_ratchet(after, "step"), STATUS_OK);
    for (uint64_t n = 1; s != STATUS_OK || openssl_mem_fail_left() == 0; n++) {
        memcpy(key, before, sizeof key);
        openssl_mem_fail_at(n);
        s = kex_ratchet(key, "step");
        assert_memory_equal(key, s == STATUS_OK ? after : before, sizeof key);
        failed += s == STATUS_CRYPTO;
    }
    openssl_mem_fail_at(0);
    assert_true(failed > 0);
}

/* A status of the library's own would end the run of whoever is sent such a key. */
static void test_no_public_key_is_taken_for_a_failure_of_the_library(void **state)
{
    uint8_t secret[KEX_BYTES], key[KEX_BYTES], out[KEX_BYTES];

    (void)state;
    assert_int_equal(kex_generate(secret, key), STATUS_OK);
    for (unsigned i = 0; i < 512; i++) {
        enum status s;

        memset(key, i < 256 ? (int)i : 0xff, sizeof key); /* all bytes equal, then near the prime */
        key[0] = (uint8_t)i;
        key[31] = i < 256 ? key[31] : 0x7f;
        s = kex_derive(out, secret, key);
        assert_true(s == STATUS_OK || s == STATUS_AUTH);
    }
}

static void test_a_shortage_is_never_a_peers_fault(void **state)
{
    uint8_t secret[KEX_BYTES], public_key[KEX_BYTES], want[KEX_BYTES], out[KEX_BYTES];
    enum status s = STATUS_CRYPTO;

    (void)state;
    assert_int_equal(kex_generate(secret, public_key), STATUS_OK);
    assert_int_equal(kex_derive(want, secret, public_key), STATUS_OK);
    for (uint64_t n = 1; s != STATUS_OK || openssl_mem_fail_left() == 0; n++) {
        openssl_mem_fail_at(n);
        s = kex_derive(out, secret, public_key);
        assert_true(s == STATUS_OK || s == STATUS_CRYPTO);
        if (s == STATUS_OK)
            assert_memory_equal(out, want, sizeof want);
    }
    openssl_mem_fail_at(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_x25519_equals_rfc_7748),
        cmocka_unit_test(test_both_ends_of_fresh_pairs_agree_and_pairs_differ),
        cmocka_unit_test(test_low_order_public_keys_are_refused_and_leave_nothing),
        cmocka_unit_test(test_hkdf_equals_rfc_5869),
        cmocka_unit_test(test_hkdf_takes_an_empty_salt_and_info),
        cmocka_unit_test(test_hkdf_gives_at_most_255_blocks),
        cmocka_unit_test(test_ratchet_is_hkdf_expand_and_depends_on_its_label),
        cmocka_unit_test(test_a_step_that_fails_leaves_the_key_as_it_was),
        cmocka_unit_test(test_no_public_key_is_taken_for_a_failure_of_the_library),
        cmocka_unit_test(test_a_shortage_is_never_a_peers_fault),
    };

    openssl_mem_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
