/* test_sign.c -- Ed25519 under labels, beside what the openssl command line says
 * (tests/golden/gen_sign.py; the key is RFC 8032's TEST 1), and key files that must not be used.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/sign.h"

#include <string.h>
#include <sys/stat.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/golden/sign.h"
#include "tests/lib/scratch.h"
#include "tests/unit/crypto/hex.h"

enum { MESSAGE_N = sizeof golden_sign_message - 1 };

static const char *private_file(const char *name, const char *text)
{
    const char *path = scratch_write_text(name, text);

    assert_int_equal(chmod(path, 0600), 0);
    return path;
}

static struct sign_key golden_key(void)
{
    struct sign_key k;
    struct error err = {0};

    if (sign_key_load(&k, private_file("golden.pem", golden_sign_pem), &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return k;
}

static void test_a_key_file_gives_the_public_key_of_rfc_8032(void **state)
{
    struct sign_key k = golden_key();
    uint8_t spki[SIGN_SPKI_DIGEST_BYTES];

    (void)state;
    assert_hex(k.public_key, SIGN_PUBLIC_BYTES,
               "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    assert_memory_equal(k.public_key, golden_sign_public, SIGN_PUBLIC_BYTES);
    sign_spki_digest(spki, k.public_key);
    assert_memory_equal(spki, golden_sign_spki_sha256, sizeof spki);
    sign_key_deinit(&k);
    sign_key_deinit(&k);
}

static void test_signatures_are_those_of_the_openssl_program(void **state)
{
    struct sign_key k = golden_key();
    uint8_t sig[SIGN_BYTES];

    (void)state;
    assert_int_equal(sign_make(sig, &k, golden_sign_label, golden_sign_message, MESSAGE_N),
                     STATUS_OK);
    assert_memory_equal(sig, golden_sign_signature, SIGN_BYTES);
    assert_int_equal(
        sign_check(sig, k.public_key, golden_sign_label, golden_sign_message, MESSAGE_N),
        STATUS_OK);
    sign_key_deinit(&k);
}

static void test_a_signature_holds_for_its_label_only(void **state)
{
    struct sign_key k;
    uint8_t sig[SIGN_BYTES];

    (void)state;
    assert_int_equal(sign_key_generate(&k), STATUS_OK);
    assert_int_equal(sign_make(sig, &k, "vfl/hello/1", "body", 4), STATUS_OK);
    assert_int_equal(sign_check(sig, k.public_key, "vfl/hello/1", "body", 4), STATUS_OK);
    assert_int_equal(sign_check(sig, k.public_key, "vfl/confirm/1", "body", 4), STATUS_AUTH);
    assert_int_equal(sign_check(sig, k.public_key, "", "body", 4), STATUS_AUTH);
    /* The zero byte keeps label and message apart. */
    assert_int_equal(sign_check(sig, k.public_key, "vfl/hello/1b", "ody", 3), STATUS_AUTH);
    assert_int_equal(sign_check(sig, k.public_key, "vfl/hello/", "1body", 5), STATUS_AUTH);
    sign_key_deinit(&k);
}

static void test_one_flipped_bit_anywhere_is_refused(void **state)
{
    struct sign_key k, other;
    uint8_t sig[SIGN_BYTES], message[20] = "nineteen characters";

    (void)state;
    assert_int_equal(sign_key_generate(&k), STATUS_OK);
    assert_int_equal(sign_key_generate(&other), STATUS_OK);
    assert_int_equal(sign_make(sig, &k, "label", message, sizeof message), STATUS_OK);
    for (size_t i = 0; i < 8 * sizeof sig; i++) {
        sig[i / 8] ^= (uint8_t)(1U << i % 8);
        assert_int_equal(sign_check(sig, k.public_key, "label", message, sizeof message),
                         STATUS_AUTH);
        sig[i / 8] ^= (uint8_t)(1U << i % 8);
    }
    for (size_t i = 0; i < 8 * sizeof message; i++) {
        message[i / 8] ^= (uint8_t)(1U << i % 8);
        assert_int_equal(sign_check(sig, k.public_key, "label", message, sizeof message),
                         STATUS_AUTH);
        message[i / 8] ^= (uint8_t)(1U << i % 8);
    }
    assert_int_equal(sign_check(sig, other.public_key, "label", message, sizeof message),
                     STATUS_AUTH);
    assert_int_equal(sign_check(sig, k.public_key, "label", message, sizeof message - 1),
                     STATUS_AUTH);
    assert_int_equal(sign_check(sig, k.public_key, "label", message, sizeof message), STATUS_OK);
    sign_key_deinit(&k);
    sign_key_deinit(&other);
}

static void check_refused(const char *path, const char *reason)
{
    struct sign_key k;
    struct error err = {0};

    assert_int_not_equal(sign_key_load(&k, path, &err), STATUS_OK);
    assert_int_equal(status_kind(err.status), STATUS_KIND_CONFIG);
    if (strstr(err.text, reason) == NULL)
        fail_msg("no \"%s\" in \"%s\"", reason, err.text);
    assert_null(k.pkey);
}

static void test_a_key_that_others_may_read_is_refused(void **state)
{
    const char *path = private_file("open.pem", golden_sign_pem);

    (void)state;
    assert_int_equal(chmod(path, 0640), 0);
    check_refused(path, "open.pem");
    assert_int_equal(chmod(path, 0604), 0);
    check_refused(path, "open.pem");
}

static void test_a_file_that_is_no_ed25519_key_is_refused(void **state)
{
    /* The same file with the identifier of X25519 (1.3.101.110) in its third group. */
    static const char x25519[] =
        "-----BEGIN PRIVATE KEY-----\n"
        "MC4CAQAwBQYDK2VuBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
        "-----END PRIVATE KEY-----\n";

    (void)state;
    check_refused(private_file("x25519.pem", x25519), "not an Ed25519 private key");
    check_refused(private_file("noise.pem", "no key at all\n"), "not an Ed25519 private key");
    check_refused(private_file("empty.pem", ""), "not an Ed25519 private key");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_key_file_gives_the_public_key_of_rfc_8032),
        cmocka_unit_test(test_signatures_are_those_of_the_openssl_program),
        cmocka_unit_test(test_a_signature_holds_for_its_label_only),
        cmocka_unit_test(test_one_flipped_bit_anywhere_is_refused),
        cmocka_unit_test(test_a_key_that_others_may_read_is_refused),
        cmocka_unit_test(test_a_file_that_is_no_ed25519_key_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
