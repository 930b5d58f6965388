/* test_crl.c -- who is on a list is revoked, and nobody else.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/crl.h"

#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

enum { HOUR = 3600, DAY = 86400 };

static void test_who_is_on_the_list_is_revoked_and_others_are_not(void **state)
{
    const int64_t now = (int64_t)time(NULL);
    const struct cert_terms t = {now - HOUR, now + DAY};
    struct crl_entry entry = {.when = now - 60};
    struct cert_signer ca;
    struct cert gone, here;
    struct cert_authority a;
    struct crl_facts f;
    struct error err = {0};
    struct buf ca_pem, pem, again;
    const char *path;

    (void)state;
    buf_init(&ca_pem, CERT_FILE_MAX);
    buf_init(&pem, CERT_CRL_MAX);
    buf_init(&again, CERT_CRL_MAX);
    assert_int_equal(sign_key_generate(&ca.key), STATUS_OK);
    assert_int_equal(cert_make_ca(&ca.cert, &ca.key, "CA", &t), STATUS_OK);
    assert_int_equal(cert_issue(&gone, &ca, ca.key.public_key, "gone", CERT_PARTY, &t), STATUS_OK);
    assert_int_equal(cert_issue(&here, &ca, ca.key.public_key, "here", CERT_PARTY, &t), STATUS_OK);
    assert_true(cert_serial(entry.serial, &gone));
    assert_int_equal(crl_make(&pem, &ca, 7, &entry, 1, &t), STATUS_OK);
    assert_int_equal(crl_read(&f, &again, pem.data, pem.len, &err), STATUS_OK);
    assert_int_equal(f.revoked, 1);
    assert_int_equal(f.from, t.from);
    assert_int_equal(f.until, t.until);
    assert_int_equal(again.len, pem.len);
    assert_int_equal(cert_print(&ca_pem, &ca.cert), STATUS_OK);
    path = scratch_write("ca.pem", ca_pem.data, ca_pem.len);
    assert_int_equal(
        cert_authority_load(&a, path, scratch_write("crl.pem", pem.data, pem.len), &err),
        STATUS_OK);
    assert_int_equal(cert_check(&a, &here, CERT_PARTY, &err), STATUS_OK);
    assert_int_equal(cert_check(&a, &gone, CERT_PARTY, &err), STATUS_CONFIG);
    assert_string_equal(err.text, "revoked");
    cert_authority_deinit(&a);
    cert_deinit(&gone);
    cert_deinit(&here);
    cert_signer_deinit(&ca);
    buf_deinit(&ca_pem);
    buf_deinit(&pem);
    buf_deinit(&again);
}

static void test_what_is_no_list_is_refused(void **state)
{
    static const char *const texts[] = {"", "x",
                                        "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n"};
    struct error err = {0};
    struct crl_facts f;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(crl_read(&f, NULL, texts[i], strlen(texts[i]), &err), STATUS_CONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_on_the_list_is_revoked_and_others_are_not),
        cmocka_unit_test(test_what_is_no_list_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
