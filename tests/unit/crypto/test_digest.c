/* test_digest.c -- SHA-256 and HMAC on published vectors, and hexadecimal.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/digest.h"
#include "tests/lib/openssl_mem.h"

#include <openssl/err.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static void expect_hex(const uint8_t *bytes, const char *hex)
{
    char text[DIGEST_HEX_CHARS + 1];

    digest_hex(text, bytes, DIGEST_BYTES);
    assert_string_equal(text, hex);
}

/* FIPS 180-4's examples, and the empty message. */
static void test_sha256_equals_published_vectors(void **state)
{
    uint8_t out[DIGEST_BYTES];
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

    (void)state;
    digest_sha256(out, "", 0);
    expect_hex(out, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    digest_sha256(out, "abc", 3);
    expect_hex(out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    digest_sha256(out, two, strlen(two));
    expect_hex(out, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void test_pieces_give_what_the_whole_gives_and_a_digest_can_begin_again(void **state)
{
    uint8_t text[300], whole[DIGEST_BYTES], out[DIGEST_BYTES];
    struct digest d;

    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)(i * 7);
    digest_sha256(whole, text, sizeof text);
    for (size_t cut = 0; cut <= sizeof text; cut += 25) {
        digest_begin(&d);
        digest_update(&d, text, cut);
        digest_update(&d, text + cut, sizeof text - cut);
        digest_final(&d, out);
        assert_memory_equal(out, whole, sizeof whole);
    }
    digest_begin(&d);
    digest_update(&d, text, 100);
    digest_begin(&d); /* forgets what was begun */
    digest_update(&d, text, sizeof text);
    digest_final(&d, out);
    assert_memory_equal(out, whole, sizeof whole);
    digest_deinit(&d);
    digest_deinit(&d); /* safe twice */
}

/* RFC 4231, test cases 1, 2, 3, 4, 6 and 7. */
static void test_hmac_equals_rfc_4231(void **state)
{
    static const char longer[] =
        "This is a test using a larger than block-size key and a larger than "
        "block-size data. The key needs to be hashed before being used by the "
        "HMAC algorithm.";
    static const char first[] = "Test Using Larger Than Block-Size Key - Hash Key First";
    uint8_t key[131], data[50], out[DIGEST_BYTES];

    (void)state;
    memset(key, 0x0b, 20);
    assert_int_equal(digest_hmac(out, key, 20, "Hi There", 8), STATUS_OK);
    expect_hex(out, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    assert_int_equal(
        digest_hmac(out, (const uint8_t *)"Jefe", 4, "what do ya want for nothing?", 28),
        STATUS_OK);
    expect_hex(out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    memset(data, 0xdd, sizeof data);
    assert_int_equal(digest_hmac(out, key, 20, data, 50), STATUS_OK);
    expect_hex(out, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    assert_int_equal(digest_hmac(out, key, 131, first, strlen(first)), STATUS_OK);
    expect_hex(out, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    assert_int_equal(digest_hmac(out, key, 131, longer, strlen(longer)), STATUS_OK);
    expect_hex(out, "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
    for (uint8_t i = 0; i < 25; i++)
        key[i] = (uint8_t)(i + 1);
    memset(data, 0xcd, sizeof data);
    assert_int_equal(digest_hmac(out, key, 25, data, 50), STATUS_OK);
    expect_hex(out, "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
}

static void test_hmac_without_memory_says_so_and_is_right_otherwise(void **state)
{
    const uint8_t key[20] = {1};
    uint8_t want[DIGEST_BYTES], out[DIGEST_BYTES];
    enum status s = STATUS_CRYPTO;
    unsigned failed = 0;
    int64_t live;

    (void)state;
    assert_int_equal(digest_hmac(want, key, sizeof key, "text", 4), STATUS_OK);
    live = openssl_mem_live();
    for (uint64_t n = 1; s != STATUS_OK || openssl_mem_fail_left() == 0; n++) {
        openssl_mem_fail_at(n);
        s = digest_hmac(out, key, sizeof key, "text", 4);
        if (s == STATUS_OK)
            assert_memory_equal(out, want, sizeof want);
        else
            assert_int_equal(s, STATUS_CRYPTO);
        failed += s != STATUS_OK;
        ERR_clear_error();
        assert_int_equal(openssl_mem_live(), live);
    }
    openssl_mem_fail_at(0);
    assert_true(failed > 0);
}

/* What names a round cannot fail. */
static void test_sha256_takes_no_memory(void **state)
{
    uint8_t out[DIGEST_BYTES];
    struct digest d;

    (void)state;
    openssl_mem_fail_at(1);
    digest_begin(&d);
    digest_update(&d, "text", 4);
    digest_final(&d, out);
    digest_deinit(&d);
    digest_sha256(out, "text", 4);
    assert_int_equal(openssl_mem_fail_left(), 1);
    openssl_mem_fail_at(0);
}

static void test_hex_is_read_back_and_anything_else_is_refused(void **state)
{
    const uint8_t bytes[4] = {0x00, 0x9f, 0xA0, 0xff};
    uint8_t back[4];
    char text[9];

    (void)state;
    digest_hex(text, bytes, 4);
    assert_string_equal(text, "009fa0ff");
    assert_true(digest_from_hex(back, 4, text));
    assert_memory_equal(back, bytes, 4);
    assert_true(digest_from_hex(back, 4, "009FA0fF"));
    assert_memory_equal(back, bytes, 4);
    assert_false(digest_from_hex(back, 4, "009fa0f"));
    assert_false(digest_from_hex(back, 4, "009fa0ff0"));
    assert_false(digest_from_hex(back, 4, "009fa0fg"));
    assert_false(digest_from_hex(back, 4, "009fa0f:"));
    assert_false(digest_from_hex(back, 4, "009fa0f`"));
    assert_false(digest_from_hex(back, 4, "0x9fa0ff"));
    assert_false(digest_from_hex(back, 4, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256_equals_published_vectors),
        cmocka_unit_test(test_pieces_give_what_the_whole_gives_and_a_digest_can_begin_again),
        cmocka_unit_test(test_hmac_equals_rfc_4231),
        cmocka_unit_test(test_hmac_without_memory_says_so_and_is_right_otherwise),
        cmocka_unit_test(test_sha256_takes_no_memory),
        cmocka_unit_test(test_hex_is_read_back_and_anything_else_is_refused),
    };

    openssl_mem_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
