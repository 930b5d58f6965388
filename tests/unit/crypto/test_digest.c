/* test_digest.c -- SHA-256 (FIPS 180-2, appendix B) and HMAC-SHA-256 (RFC 4231).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/digest.h"

#include "common/base/mem.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/unit/crypto/hex.h"

static const char SHA_EMPTY[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char SHA_ABC[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char SHA_MILLION[] =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static void test_sha256_of_the_standard(void **state)
{
    uint8_t out[DIGEST_BYTES];

    (void)state;
    digest_sha256(out, "", 0);
    assert_hex(out, sizeof out, SHA_EMPTY);
    digest_sha256(out, "abc", 3);
    assert_hex(out, sizeof out, SHA_ABC);
    digest_sha256(out, "abd", 3);
    assert_memory_not_equal(out, "\xba\x78\x16\xbf", 4);
}

static void test_pieces_give_the_digest_of_the_whole(void **state)
{
    uint8_t run[1000], out[DIGEST_BYTES];
    struct digest d;

    (void)state;
    memset(run, 'a', sizeof run);
    assert_int_equal(digest_init(&d), STATUS_OK);
    for (int again = 0; again < 2; again++) {
        digest_begin(&d);
        for (int i = 0; i < 1000; i++)
            digest_update(&d, run, sizeof run);
        digest_final(&d, out);
        assert_hex(out, sizeof out, SHA_MILLION);
    }
    digest_begin(&d);
    digest_update(&d, "ab", 2);
    digest_begin(&d); /* forgets what was begun */
    digest_update(&d, "a", 1);
    digest_update(&d, "", 0);
    digest_update(&d, "bc", 2);
    digest_final(&d, out);
    assert_hex(out, sizeof out, SHA_ABC);
    digest_deinit(&d);
    digest_deinit(&d); /* harmless */
}

static void test_begin_to_final_allocates_nothing_of_ours(void **state)
{
    uint8_t out[DIGEST_BYTES];
    struct digest d;
    uint64_t before;

    (void)state;
    assert_int_equal(digest_init(&d), STATUS_OK);
    before = mem_count();
    for (int i = 0; i < 100; i++) {
        digest_begin(&d);
        digest_update(&d, out, sizeof out);
        digest_final(&d, out);
    }
    assert_int_equal(mem_count(), before);
    digest_deinit(&d);
}

static void check_hmac(const char *key, size_t key_len, const char *message, const char *want)
{
    uint8_t out[DIGEST_BYTES];

    digest_hmac(out, (const uint8_t *)key, key_len, message, strlen(message));
    assert_hex(out, sizeof out, want);
}

static void test_hmac_of_rfc_4231(void **state)
{
    char bytes[131];

    (void)state;
    memset(bytes, 0x0b, 20);
    check_hmac(bytes, 20, "Hi There",
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    check_hmac("Jefe", 4, "what do ya want for nothing?",
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(bytes, 0xaa, 131);
    check_hmac(bytes, 131, "Test Using Larger Than Block-Size Key - Hash Key First",
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void test_another_key_gives_another_hmac(void **state)
{
    uint8_t a[DIGEST_BYTES], b[DIGEST_BYTES];

    (void)state;
    digest_hmac(a, (const uint8_t *)"Jefe", 4, "x", 1);
    digest_hmac(b, (const uint8_t *)"Jeff", 4, "x", 1);
    assert_memory_not_equal(a, b, sizeof a);
}

static void test_hex_reads_what_it_writes_and_nothing_else(void **state)
{
    uint8_t bytes[4] = {0};
    char text[9];

    (void)state;
    digest_hex(text, (const uint8_t *)"\x00\x7f\xab\xff", 4);
    assert_string_equal(text, "007fabff");
    assert_true(digest_from_hex(bytes, 4, text));
    assert_memory_equal(bytes, "\x00\x7f\xab\xff", 4);
    assert_true(digest_from_hex(bytes, 4, "007FABFF"));
    assert_false(digest_from_hex(bytes, 4, "007fabf"));
    assert_false(digest_from_hex(bytes, 4, "007fabff0"));
    assert_false(digest_from_hex(bytes, 4, "007fabfg"));
    assert_false(digest_from_hex(bytes, 4, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256_of_the_standard),
        cmocka_unit_test(test_pieces_give_the_digest_of_the_whole),
        cmocka_unit_test(test_begin_to_final_allocates_nothing_of_ours),
        cmocka_unit_test(test_hmac_of_rfc_4231),
        cmocka_unit_test(test_another_key_gives_another_hmac),
        cmocka_unit_test(test_hex_reads_what_it_writes_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
