/* test_kex.c -- X25519 (RFC 7748), HKDF-SHA-256 (RFC 5869), low-order points, the ratchet.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/kex.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/unit/crypto/hex.h"

static const char ALICE[] = "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a";
static const char ALICE_PUBLIC[] =
    "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a";
static const char BOB[] = "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb";
static const char BOB_PUBLIC[] = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";
static const char BOTH[] = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742";

static void check_derive(const char *secret, const char *peer, const char *want)
{
    uint8_t s[KEX_BYTES], p[KEX_BYTES], out[KEX_BYTES];

    hex(s, KEX_BYTES, secret);
    hex(p, KEX_BYTES, peer);
    assert_int_equal(kex_derive(out, s, p), STATUS_OK);
    assert_hex(out, KEX_BYTES, want);
}

static void test_x25519_of_rfc_7748(void **state)
{
    (void)state;
    check_derive("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
                 "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
                 "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
    check_derive(ALICE, BOB_PUBLIC, BOTH);
    check_derive(BOB, ALICE_PUBLIC, BOTH);
}

static void test_two_fresh_pairs_agree_and_a_third_does_not(void **state)
{
    uint8_t secret[3][KEX_BYTES], public_key[3][KEX_BYTES], ab[KEX_BYTES], ba[KEX_BYTES],
        ac[KEX_BYTES];

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(kex_generate(secret[i], public_key[i]), STATUS_OK);
    assert_memory_not_equal(secret[0], secret[1], KEX_BYTES);
    assert_int_equal(kex_derive(ab, secret[0], public_key[1]), STATUS_OK);
    assert_int_equal(kex_derive(ba, secret[1], public_key[0]), STATUS_OK);
    assert_int_equal(kex_derive(ac, secret[0], public_key[2]), STATUS_OK);
    assert_memory_equal(ab, ba, KEX_BYTES);
    assert_memory_not_equal(ab, ac, KEX_BYTES);
}

/* The points of order 1, 2, 4 and 8 of the curve and its twist, in the encodings that reach them.
 */
static void test_a_low_order_point_is_refused_and_nothing_is_left(void **state)
{
    static const char *const points[] = {
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    };
    static const uint8_t zero[KEX_BYTES];
    uint8_t secret[KEX_BYTES], point[KEX_BYTES], out[KEX_BYTES];

    (void)state;
    hex(secret, KEX_BYTES, ALICE);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        hex(point, KEX_BYTES, points[i]);
        memset(out, 0xa5, sizeof out);
        assert_int_equal(kex_derive(out, secret, point), STATUS_AUTH);
        assert_memory_equal(out, zero, sizeof out);
    }
}

static void test_hkdf_of_rfc_5869(void **state)
{
    uint8_t key[22], salt[13], info[10], out[42];

    (void)state;
    memset(key, 0x0b, sizeof key);
    hex(salt, sizeof salt, "000102030405060708090a0b0c");
    hex(info, sizeof info, "f0f1f2f3f4f5f6f7f8f9");
    assert_int_equal(kex_hkdf(out, 42, key, 22, salt, 13, info, 10), STATUS_OK);
    assert_hex(out, 42,
               "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
               "34007208d5b887185865");
    assert_int_equal(kex_hkdf(out, 42, key, 22, salt, 0, info, 0), STATUS_OK);
    assert_hex(out, 42,
               "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
               "9d201395faa4b61a96c8");
}

static void test_hkdf_separates_salts_and_infos(void **state)
{
    static const uint8_t key[32] = {1}, salt[32] = {2}, other[32] = {3};
    uint8_t a[32], b[32];

    (void)state;
    assert_int_equal(kex_hkdf(a, 32, key, 32, salt, 32, "mask", 4), STATUS_OK);
    assert_int_equal(kex_hkdf(b, 32, key, 32, salt, 32, "mask", 4), STATUS_OK);
    assert_memory_equal(a, b, 32);
    assert_int_equal(kex_hkdf(b, 32, key, 32, other, 32, "mask", 4), STATUS_OK);
    assert_memory_not_equal(a, b, 32);
    assert_int_equal(kex_hkdf(b, 32, key, 32, salt, 32, "seal", 4), STATUS_OK);
    assert_memory_not_equal(a, b, 32);
}

/* RFC 5869, A.1: PRK and info; the first 32 bytes of its output. */
static void test_a_ratchet_step_is_hkdf_expand(void **state)
{
    uint8_t key[KEX_BYTES];

    (void)state;
    hex(key, KEX_BYTES, "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5");
    kex_ratchet(key, "\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9");
    assert_hex(key, KEX_BYTES, "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_x25519_of_rfc_7748),
        cmocka_unit_test(test_two_fresh_pairs_agree_and_a_third_does_not),
        cmocka_unit_test(test_a_low_order_point_is_refused_and_nothing_is_left),
        cmocka_unit_test(test_hkdf_of_rfc_5869),
        cmocka_unit_test(test_hkdf_separates_salts_and_infos),
        cmocka_unit_test(test_a_ratchet_step_is_hkdf_expand),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
