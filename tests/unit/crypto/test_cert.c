/* test_cert.c -- what is taken for a certificate of a CA, a role and a name, and what is not.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/cert.h"

#include "common/crypto/digest.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test_pki.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { HOUR = 3600, DAY = 86400 };

static struct test_pki pki, other;

static int set_up(void **state)
{
    (void)state;
    test_pki_init(&pki, scratch_dir(), "ca");
    test_pki_init(&other, scratch_dir(), "other");
    test_pki_crl(&pki, NULL, 0, DAY);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_pki_deinit(&pki);
    test_pki_deinit(&other);
    return 0;
}

static struct cert issued(struct test_pki *by, const struct test_cert *how)
{
    struct error err = {0};
    struct cert c;

    test_pki_issue(by, how);
    if (cert_load(&c, test_pki_path(by, how->name, "pem"), &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return c;
}

/* What there is to say of it: "" when it is taken, and its name. */
static const char *judged(struct test_pki *by, const struct test_cert *how, enum cert_role role)
{
    static char words[ERROR_TEXT_MAX];
    struct cert_authority a;
    struct error err = {0};
    char name[CERT_NAME_MAX + 1];
    struct cert c = issued(by, how);
    enum status s;

    assert_int_equal(cert_authority_load(&a, pki.ca, pki.crl, &err), STATUS_OK);
    s = cert_check(&a, &c, role, &err);
    if (s == STATUS_OK)
        s = cert_name(name, &c, &err);
    assert_int_equal(s, s == STATUS_OK ? STATUS_OK : STATUS_CONFIG);
    snprintf(words, sizeof words, "%s", s == STATUS_OK ? "" : err.text);
    if (s == STATUS_OK)
        assert_string_equal(name, how->san != NULL ? how->san : how->name);
    cert_deinit(&c);
    cert_authority_deinit(&a);
    return words;
}

static void test_a_certificate_of_the_ca_has_its_role_name_and_key(void **state)
{
    struct cert c = issued(&pki, &(struct test_cert){.name = "p1"});
    uint8_t key[CERT_KEY_BYTES], again[CERT_KEY_BYTES];
    struct cert renewed =
        issued(&pki, &(struct test_cert){.name = "p1b", .san = "p1", .reuse_key_of = "p1"});
    int64_t from, until;

    (void)state;
    assert_string_equal(judged(&pki, &(struct test_cert){.name = "p2"}, CERT_PARTY), "");
    assert_string_equal(
        judged(&pki, &(struct test_cert){.name = "srv", .eku = TEST_EKU_SERVER}, CERT_SERVER), "");
    assert_true(cert_has_role(&c, CERT_PARTY) && !cert_has_role(&c, CERT_SERVER));
    assert_int_equal(cert_key(key, &c), STATUS_OK);
    assert_int_equal(cert_key(again, &renewed), STATUS_OK);
    assert_memory_equal(key, again, sizeof key);
    assert_true(cert_dates(&from, &until, &c));
    assert_int_equal(until - from, DAY + HOUR);
    assert_false(cert_is_ca(&c));
    cert_deinit(&c);
    cert_deinit(&renewed);
}

static void test_a_certificate_of_another_ca_is_refused(void **state)
{
    (void)state;
    assert_string_equal(judged(&other, &(struct test_cert){.name = "p1"}, CERT_PARTY),
                        "not signed by this CA");
    assert_string_equal(
        judged(&pki, &(struct test_cert){.name = "p1", .self_signed = true}, CERT_PARTY),
        "not signed by this CA");
    assert_string_equal(judged(&pki, &(struct test_cert){.name = "p1", .forged = true}, CERT_PARTY),
                        "not signed by this CA");
}

static void test_roles_are_not_swapped(void **state)
{
    const struct test_cert party = {.name = "p1"};
    const struct test_cert server = {.name = "srv", .eku = TEST_EKU_SERVER};
    const struct test_cert neither = {.name = "no", .eku = TEST_EKU_NONE};
    const struct test_cert seals = {.name = "no", .usage = "critical,keyAgreement"};

    (void)state;
    assert_string_equal(judged(&pki, &party, CERT_SERVER), "not a certificate for a server");
    assert_string_equal(judged(&pki, &server, CERT_PARTY), "not a certificate for a party");
    assert_string_equal(judged(&pki, &neither, CERT_PARTY), "not a certificate for a party");
    assert_string_equal(judged(&pki, &neither, CERT_SERVER), "not a certificate for a server");
    assert_string_equal(judged(&pki, &seals, CERT_PARTY), "not a certificate for a party");
}

static void test_dates_count(void **state)
{
    (void)state;
    assert_string_equal(judged(&pki,
                               &(struct test_cert){.name = "p1", .from_s = -9 * DAY, .until_s = -1},
                               CERT_PARTY),
                        "expired");
    assert_string_equal(
        judged(&pki, &(struct test_cert){.name = "p1", .from_s = HOUR, .until_s = DAY}, CERT_PARTY),
        "not yet valid");
}

static void test_who_is_revoked_is_refused_and_an_old_list_is_none(void **state)
{
    const long serial = test_pki_issue(&pki, &(struct test_cert){.name = "gone"});
    struct cert_authority a;
    struct error err = {0};
    struct cert c;

    (void)state;
    test_pki_crl(&pki, &serial, 1, DAY);
    assert_int_equal(cert_load(&c, test_pki_path(&pki, "gone", "pem"), &err), STATUS_OK);
    assert_int_equal(cert_authority_load(&a, pki.ca, pki.crl, &err), STATUS_OK);
    assert_int_equal(cert_check(&a, &c, CERT_PARTY, &err), STATUS_CONFIG);
    assert_string_equal(err.text, "revoked");
    assert_true(cert_revoked(&a, &c) && cert_signed_by(&a, &c));
    cert_authority_deinit(&a);
    test_pki_crl(&pki, NULL, 0, -60);
    assert_string_equal(judged(&pki, &(struct test_cert){.name = "p1"}, CERT_PARTY),
                        "cannot be judged: the CA's revocation list has expired (vfl pki crl)");
    test_pki_crl(&pki, NULL, 0, DAY);
    assert_int_equal(cert_authority_load(&a, pki.ca, "/nonexistent.crl", &err), STATUS_CONFIG);
    assert_int_equal(cert_authority_load(&a, pki.ca, pki.ca, &err), STATUS_CONFIG);
    cert_deinit(&c);
}

/* OpenSSL looks a serial number up before it looks at the signature. */
static void test_the_serial_number_of_a_revoked_one_makes_nobody_a_member(void **state)
{
    const long serial = test_pki_issue(&pki, &(struct test_cert){.name = "copy", .forged = true});
    struct cert_authority a;
    struct error err = {0};
    struct cert c;

    (void)state;
    test_pki_crl(&pki, &serial, 1, DAY);
    assert_int_equal(cert_load(&c, test_pki_path(&pki, "copy", "pem"), &err), STATUS_OK);
    assert_int_equal(cert_authority_load(&a, pki.ca, pki.crl, &err), STATUS_OK);
    test_pki_crl(&pki, NULL, 0, DAY);
    assert_false(cert_signed_by(&a, &c));
    assert_false(cert_revoked(&a, &c));
    assert_int_equal(cert_check(&a, &c, CERT_PARTY, &err), STATUS_CONFIG);
    assert_string_equal(err.text, "not signed by this CA");
    cert_deinit(&c);
    cert_authority_deinit(&a);
}

static void test_other_keys_and_cas_are_no_members(void **state)
{
    (void)state;
    assert_string_equal(
        judged(&pki, &(struct test_cert){.name = "p1", .key = TEST_KEY_P256}, CERT_PARTY),
        "its key is not Ed25519");
    assert_string_equal(
        judged(&pki,
               &(struct test_cert){.name = "p1",
                                   .constraints = "critical,CA:TRUE",
                                   .usage = "critical,keyCertSign,digitalSignature"},
               CERT_PARTY),
        "is the certificate of a CA");
}

static void test_exactly_one_name_that_follows_the_rule_is_a_name(void **state)
{
    static const char none[] = "its name is none: " CERT_NAME_RULE;
    static const char one[] = "not exactly one name in its subjectAltName";
    static const char dns[] = "the name in its subjectAltName is no DNS name";
    static const char *const bad[] = {
        "x//;e touch PWNED #",
        "$(touch PWNED)",
        "`id`",
        "{name: p1}",
        "a b",
        "a\nb",
        "a'b",
        "a\"b",
        "a\\\\b",
        "..",
        "-p1",
        ".p1",
        "p1;x",
        "*.p1",
        "p1|x",
        "p1&",
        "h\xc3\xb6",
        "p1:x",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_string_equal(
            judged(&pki, &(struct test_cert){.name = "odd", .san = bad[i]}, CERT_PARTY), none);
    assert_string_equal(judged(&pki, &(struct test_cert){.name = "odd", .alt = ""}, CERT_PARTY),
                        one);
    assert_string_equal(
        judged(&pki, &(struct test_cert){.name = "odd", .alt = "DNS:p1,DNS:p2"}, CERT_PARTY), one);
    assert_string_equal(
        judged(&pki, &(struct test_cert){.name = "odd", .alt = "DNS:p1,IP:10.0.0.1"}, CERT_PARTY),
        one);
    assert_string_equal(
        judged(&pki, &(struct test_cert){.name = "odd", .alt = "IP:10.0.0.1"}, CERT_PARTY), dns);
    assert_string_equal(
        judged(&pki, &(struct test_cert){.name = "odd", .alt = "URI:p1"}, CERT_PARTY), dns);
}

static void test_a_file_with_a_key_or_without_a_certificate_is_refused(void **state)
{
    static char vast[CERT_FILE_MAX + 2];
    struct error err = {0};
    struct cert c;

    (void)state;
    assert_int_equal(cert_load(&c, test_pki_path(&pki, "p1", "key"), &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "holds a private key"));
    assert_int_equal(cert_load(&c, "/nonexistent.crt", &err), STATUS_CONFIG);
    assert_int_equal(cert_load(&c, pki.crl, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "no certificate"));
    assert_int_equal(cert_parse(&c, "", 0, &err), STATUS_CONFIG);
    memset(vast, '-', sizeof vast - 1);
    assert_int_equal(cert_parse(&c, vast, sizeof vast - 1, &err), STATUS_CONFIG);
    assert_null(c.x509);
    cert_deinit(&c);
}

static void test_subjects_are_shown_as_printable_ascii(void **state)
{
    struct cert c =
        issued(&pki, &(struct test_cert){.name = "odd", .subject = "a\x1b[31m\nb\xc3\xb6"});
    struct buf text;

    (void)state;
    buf_init(&text, 1024);
    assert_int_equal(cert_print_subject(&text, &c), STATUS_OK);
    assert_int_equal(cert_print_issuer(&text, &c), STATUS_OK);
    for (size_t i = 0; i < text.len; i++)
        assert_true(text.data[i] >= 0x20 && text.data[i] < 0x7f);
    buf_deinit(&text);
    cert_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_certificate_of_the_ca_has_its_role_name_and_key),
        cmocka_unit_test(test_a_certificate_of_another_ca_is_refused),
        cmocka_unit_test(test_roles_are_not_swapped),
        cmocka_unit_test(test_dates_count),
        cmocka_unit_test(test_who_is_revoked_is_refused_and_an_old_list_is_none),
        cmocka_unit_test(test_the_serial_number_of_a_revoked_one_makes_nobody_a_member),
        cmocka_unit_test(test_other_keys_and_cas_are_no_members),
        cmocka_unit_test(test_exactly_one_name_that_follows_the_rule_is_a_name),
        cmocka_unit_test(test_a_file_with_a_key_or_without_a_certificate_is_refused),
        cmocka_unit_test(test_subjects_are_shown_as_printable_ascii),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
