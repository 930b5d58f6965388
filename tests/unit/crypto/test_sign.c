/* test_sign.c -- signatures under labels; tests/golden/gen_sign.py printed the expected one.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/sign.h"
#include "tests/lib/openssl_mem.h"

#include "common/crypto/digest.h"
#include "tests/lib/aborts.h"
#include "tests/lib/scratch.h"

#include <string.h>
#include <sys/stat.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

/* The key of RFC 8032, 7.1, test 1, as PKCS #8. */
static const char RFC_KEY[] = "-----BEGIN PRIVATE KEY-----\n"
                              "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                              "-----END PRIVATE KEY-----\n";
static const char RFC_PUBLIC[] = "-----BEGIN PUBLIC KEY-----\n"
                                 "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
                                 "-----END PUBLIC KEY-----\n";
static const char P256_KEY[] = "-----BEGIN PRIVATE KEY-----\n"
                               "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgXWUhRhsWeDIZAp1U\n"
                               "1bIGknrtdB1HtI7DtA0lZnKQdD6hRANCAARK6Us0z//vts+5sik3GeF9rZcLfxCW\n"
                               "xFadrfzBaIgRM1YA+0wzBssP5BriSMChvMk7hCuP2FjKRqONuSUYazqW\n"
                               "-----END PRIVATE KEY-----\n";
static const char X25519_KEY[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VuBCIEINgdaiY6GzGGNaFzTM+Dv4oR3zU2EOabHKTQhpfLDatV\n"
    "-----END PRIVATE KEY-----\n";

static const char *key_file(const char *name, const char *text, unsigned mode)
{
    const char *path = scratch_write_text(name, text);

    assert_int_equal(chmod(path, mode), 0);
    return path;
}

static struct sign_key rfc_key(void)
{
    struct error err = {0};
    struct sign_key k;

    assert_int_equal(sign_key_load(&k, key_file("rfc.key", RFC_KEY, 0600), &err), STATUS_OK);
    return k;
}

static void test_signature_is_that_of_label_zero_message(void **state)
{
    struct sign_key k = rfc_key();
    uint8_t want[SIGN_BYTES], sig[SIGN_BYTES];

    (void)state;
    assert_true(digest_from_hex(
        want, 32, "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"));
    assert_memory_equal(k.public_key, want, SIGN_PUBLIC_BYTES);
    assert_true(
        digest_from_hex(want, SIGN_BYTES,
                        "ed104a8edd9cd27e728dc8c092ea6986b3fb0f60c3ff50508c31d45fe83851e0"
                        "5f6a48e4d0ad8a29427ddca74b1f30d2b0c70c70593362d709e6234aa0ab140b"));
    assert_int_equal(sign_make(sig, &k, "vfl/hello/1", "abc", 3), STATUS_OK);
    assert_memory_equal(sig, want, SIGN_BYTES);
    assert_int_equal(sign_check(sig, k.public_key, "vfl/hello/1", "abc", 3), STATUS_OK);
    sign_key_deinit(&k);
    sign_key_deinit(&k); /* safe twice */
}

static void test_any_flipped_bit_of_a_signature_is_refused(void **state)
{
    struct sign_key k = rfc_key();
    uint8_t sig[SIGN_BYTES];

    (void)state;
    assert_int_equal(sign_make(sig, &k, "vfl/hello/1", "abc", 3), STATUS_OK);
    for (size_t bit = 0; bit < 8 * SIGN_BYTES; bit += 3) {
        sig[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(sign_check(sig, k.public_key, "vfl/hello/1", "abc", 3), STATUS_AUTH);
        sig[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(sign_check(sig, k.public_key, "vfl/hello/1", "abc", 3), STATUS_OK);
    sign_key_deinit(&k);
}

/* The library has one word for both. */
static void test_a_shortage_is_not_taken_for_a_wrong_signature(void **state)
{
    struct sign_key k = rfc_key();
    uint8_t sig[SIGN_BYTES];
    enum status s = STATUS_CRYPTO;
    unsigned failed = 0;

    (void)state;
    assert_int_equal(sign_make(sig, &k, "label", "text", 4), STATUS_OK);
    for (uint64_t n = 1; s != STATUS_OK || openssl_mem_fail_left() == 0; n++) {
        openssl_mem_fail_at(n);
        s = sign_check(sig, k.public_key, "label", "text", 4);
        assert_true(s == STATUS_OK || s == STATUS_CRYPTO);
        failed += s != STATUS_OK;
    }
    openssl_mem_fail_at(0);
    assert_true(failed > 0);
    sign_key_deinit(&k);
}

/* One pool of an allocator is empty, and stays so: asked again, the library says the same. */
static void test_a_lasting_shortage_is_not_taken_for_a_wrong_signature_either(void **state)
{
    struct sign_key k = rfc_key();
    uint8_t sig[SIGN_BYTES], wrong[SIGN_BYTES];
    unsigned failed = 0, told = 0;

    (void)state;
    assert_int_equal(sign_make(sig, &k, "label", "text", 4), STATUS_OK);
    memcpy(wrong, sig, sizeof wrong);
    wrong[0] ^= 1;
    for (size_t size = 1; size < 4096; size++) {
        enum status right, not_right;

        openssl_mem_fail_size(size);
        right = sign_check(sig, k.public_key, "label", "text", 4);
        not_right = sign_check(wrong, k.public_key, "label", "text", 4);
        openssl_mem_fail_size(0);
        assert_true(right == STATUS_OK || right == STATUS_CRYPTO);
        assert_int_equal(not_right, right == STATUS_OK ? STATUS_AUTH : STATUS_CRYPTO);
        failed += right == STATUS_CRYPTO;
        told += right == STATUS_OK;
    }
    assert_true(failed > 0 && told > 0);
    sign_key_deinit(&k);
}

static void test_signature_holds_for_one_label_message_and_key(void **state)
{
    struct sign_key k = rfc_key(), other;
    uint8_t sig[SIGN_BYTES];

    (void)state;
    assert_int_equal(sign_key_generate(&other), STATUS_OK);
    assert_int_equal(sign_make(sig, &k, "vfl/hello/1", "abc", 3), STATUS_OK);
    assert_int_equal(sign_check(sig, k.public_key, "vfl/confirm/1", "abc", 3), STATUS_AUTH);
    assert_int_equal(sign_check(sig, k.public_key, "vfl/hello/1", "abd", 3), STATUS_AUTH);
    assert_int_equal(sign_check(sig, k.public_key, "vfl/hello/1", "ab", 2), STATUS_AUTH);
    assert_int_equal(sign_check(sig, k.public_key, "vfl/hello/1", "abc", 4), STATUS_AUTH);
    assert_int_equal(sign_check(sig, other.public_key, "vfl/hello/1", "abc", 3), STATUS_AUTH);
    sign_key_deinit(&k);
    sign_key_deinit(&other);
}

/* What is between label and message cannot move into either. */
static void test_label_and_message_do_not_run_into_each_other(void **state)
{
    struct sign_key k = rfc_key();
    uint8_t sig[SIGN_BYTES];

    (void)state;
    assert_int_equal(sign_make(sig, &k, "vfl/hello/1", "abc", 3), STATUS_OK);
    assert_int_equal(sign_check(sig, k.public_key, "vfl/hello/1a", "bc", 2), STATUS_AUTH);
    assert_int_equal(sign_check(sig, k.public_key, "vfl/hello/", "1abc", 4), STATUS_AUTH);
    assert_int_equal(sign_check(sig, k.public_key, "", "vfl/hello/1\0abc", 15), STATUS_AUTH);
    sign_key_deinit(&k);
}

static void test_longest_message_is_signed(void **state)
{
    struct sign_key k = rfc_key();
    static uint8_t message[SIGN_MESSAGE_MAX];
    uint8_t sig[SIGN_BYTES];

    (void)state;
    assert_int_equal(sign_make(sig, &k, "vfl/hello/1", message, sizeof message), STATUS_OK);
    assert_int_equal(sign_check(sig, k.public_key, "vfl/hello/1", message, sizeof message),
                     STATUS_OK);
    message[SIGN_MESSAGE_MAX - 1] = 1;
    assert_int_equal(sign_check(sig, k.public_key, "vfl/hello/1", message, sizeof message),
                     STATUS_AUTH);
    sign_key_deinit(&k);
}

static void sign_too_long(void *key)
{
    static uint8_t message[SIGN_MESSAGE_MAX + 1];
    uint8_t sig[SIGN_BYTES];

    (void)!sign_make(sig, key, "vfl/hello/1", message, sizeof message);
}

static void test_longer_message_is_a_programmers_mistake(void **state)
{
    struct sign_key k = rfc_key();

    (void)state;
    assert_true(aborts(sign_too_long, &k));
    sign_key_deinit(&k);
}

static void expect_refused(const char *path, const char *reason)
{
    struct error err = {0};
    struct sign_key k;

    assert_int_equal(sign_key_load(&k, path, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, reason));
    assert_null(k.pkey);
}

static void test_key_file_that_others_may_read_is_refused(void **state)
{
    struct error err = {0};
    struct sign_key k;

    (void)state;
    expect_refused(key_file("group.key", RFC_KEY, 0640), "readable by others");
    expect_refused(key_file("world.key", RFC_KEY, 0604), "readable by others");
    assert_int_equal(sign_key_load(&k, key_file("own.key", RFC_KEY, 0400), &err), STATUS_OK);
    sign_key_deinit(&k);
}

static void test_anything_but_an_ed25519_private_key_is_refused(void **state)
{
    (void)state;
    expect_refused(key_file("p256.key", P256_KEY, 0600), "Ed25519");
    expect_refused(key_file("x25519.key", X25519_KEY, 0600), "Ed25519");
    expect_refused(key_file("public.key", RFC_PUBLIC, 0600), "Ed25519");
    expect_refused(key_file("empty.key", "", 0600), "Ed25519");
    expect_refused(key_file("words.key", "no key at all\n", 0600), "Ed25519");
    expect_refused(scratch_path("absent.key"), "No such file");
}

/* SHA-256 of the key's SubjectPublicKeyInfo. */
static void test_spki_digest_is_that_of_the_der_encoding(void **state)
{
    struct sign_key k = rfc_key();
    uint8_t digest[SIGN_SPKI_DIGEST_BYTES], want[SIGN_SPKI_DIGEST_BYTES];

    (void)state;
    assert_true(digest_from_hex(
        want, sizeof want, "06e3fd8fda29bb60ab59557de61edb0aecdb231134be30e75b455f8e1b792fa9"));
    sign_spki_digest(digest, k.public_key);
    assert_memory_equal(digest, want, sizeof want);
    sign_key_deinit(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signature_is_that_of_label_zero_message),
        cmocka_unit_test(test_any_flipped_bit_of_a_signature_is_refused),
        cmocka_unit_test(test_a_shortage_is_not_taken_for_a_wrong_signature),
        cmocka_unit_test(test_a_lasting_shortage_is_not_taken_for_a_wrong_signature_either),
        cmocka_unit_test(test_signature_holds_for_one_label_message_and_key),
        cmocka_unit_test(test_label_and_message_do_not_run_into_each_other),
        cmocka_unit_test(test_longest_message_is_signed),
        cmocka_unit_test(test_longer_message_is_a_programmers_mistake),
        cmocka_unit_test(test_key_file_that_others_may_read_is_refused),
        cmocka_unit_test(test_anything_but_an_ed25519_private_key_is_refused),
        cmocka_unit_test(test_spki_digest_is_that_of_the_der_encoding),
    };

    openssl_mem_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
