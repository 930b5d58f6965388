/* test_pem.c -- nobody is asked for the pass phrase of what somebody sent.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/cert_make.h"
#include "common/crypto/crl.h"
#include "common/crypto/sign.h"

#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include <openssl/ui.h>

enum { PEM_MAX = 512 };

static size_t asked;

static int ask(UI *ui)
{
    (void)ui;
    asked++;
    return 0;
}

/* As OpenSSL writes it under a pass phrase. */
static const char *encrypted(const char *kind)
{
    static char pem[PEM_MAX];

    snprintf(pem, sizeof pem,
             "-----BEGIN %s-----\nProc-Type: 4,ENCRYPTED\n"
             "DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n"
             "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n-----END %s-----\n",
             kind, kind);
    return pem;
}

static void test_nobody_is_asked_for_a_pass_phrase(void **state)
{
    UI_METHOD *terminal = UI_create_method("nobody");
    uint8_t key[SIGN_PUBLIC_BYTES];
    struct error err = {0};
    struct crl_facts f;
    struct sign_key k;
    struct buf pem;
    struct cert c;
    const char *text, *path;

    (void)state;
    assert_int_equal(UI_method_set_opener(terminal, ask), 0);
    UI_set_default_method(terminal);
    buf_init(&pem, CERT_FILE_MAX);
    text = encrypted("CERTIFICATE");
    assert_int_equal(cert_parse(&c, text, strlen(text), &err), STATUS_CONFIG);
    text = encrypted("CERTIFICATE REQUEST");
    assert_int_equal(cert_request_read(key, &pem, text, strlen(text), &err), STATUS_CONFIG);
    text = encrypted("PUBLIC KEY");
    assert_int_equal(cert_public_read(key, text, strlen(text), &err), STATUS_CONFIG);
    text = encrypted("X509 CRL");
    assert_int_equal(crl_read(&f, &pem, text, strlen(text), &err), STATUS_CONFIG);
    text = encrypted("RSA PRIVATE KEY");
    path = scratch_write("encrypted.key", text, strlen(text));
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(sign_key_load(&k, path, &err), STATUS_CONFIG);
    assert_int_equal(asked, 0);
    buf_deinit(&pem);
    UI_set_default_method(NULL);
    UI_destroy_method(terminal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_is_asked_for_a_pass_phrase),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
