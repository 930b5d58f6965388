/* test_cert_make.c -- what is made is what is taken, and a request brings its key and nothing else.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/cert_make.h"

#include "common/crypto/secret.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <cmocka.h>

enum { HOUR = 3600, DAY = 86400 };

static struct cert_terms for_a_day(void)
{
    const int64_t now = (int64_t)time(NULL);

    return (struct cert_terms){now - HOUR, now + DAY};
}

static struct cert_signer make_signer(void)
{
    const struct cert_terms t = for_a_day();
    struct cert_signer ca;

    assert_int_equal(sign_key_generate(&ca.key), STATUS_OK);
    assert_int_equal(cert_make_ca(&ca.cert, &ca.key, "Some CA", &t), STATUS_OK);
    return ca;
}

static struct cert_authority authority_of(const struct cert_signer *ca)
{
    struct cert_authority a;
    struct buf pem;

    buf_init(&pem, CERT_FILE_MAX);
    assert_int_equal(cert_print(&pem, &ca->cert), STATUS_OK);
    assert_int_equal(
        cert_authority_load(&a, scratch_write("made.crt", pem.data, pem.len), NULL, NULL),
        STATUS_OK);
    buf_deinit(&pem);
    return a;
}

static void test_an_issued_certificate_is_accepted_for_its_role_alone(void **state)
{
    const struct cert_terms t = for_a_day();
    struct cert_signer ca = make_signer();
    struct cert_authority a = authority_of(&ca);
    uint8_t key[CERT_KEY_BYTES], expected[CERT_KEY_BYTES];
    char name[CERT_NAME_MAX + 1];
    struct error err = {0};
    struct sign_key k;
    int64_t from, until;

    (void)state;
    assert_int_equal(sign_key_generate(&k), STATUS_OK);
    for (int role = 0; role < 2; role++) {
        struct cert c;

        assert_int_equal(cert_issue(&c, &ca, k.public_key, "bank-1.x", (enum cert_role)role, &t),
                         STATUS_OK);
        assert_int_equal(cert_check(&a, &c, (enum cert_role)role, &err), STATUS_OK);
        assert_int_equal(cert_check(&a, &c, (enum cert_role) !role, &err), STATUS_CONFIG);
        assert_int_equal(cert_name(name, &c, &err), STATUS_OK);
        assert_string_equal(name, "bank-1.x");
        assert_true(cert_dates(&from, &until, &c) && from == t.from && until == t.until);
        assert_int_equal(cert_key(key, &c), STATUS_OK);
        sign_spki_digest(expected, k.public_key);
        assert_memory_equal(key, expected, sizeof key);
        cert_deinit(&c);
    }
    assert_true(cert_is_ca(&a.self));
    assert_int_equal(cert_path_len(&a.self), 0);
    sign_key_deinit(&k);
    cert_authority_deinit(&a);
    cert_signer_deinit(&ca);
}

static void test_serial_numbers_differ(void **state)
{
    const struct cert_terms t = for_a_day();
    struct cert_signer ca = make_signer();
    char one[CERT_SERIAL_HEX_MAX + 1], two[CERT_SERIAL_HEX_MAX + 1];
    struct cert c;

    (void)state;
    assert_int_equal(cert_issue(&c, &ca, ca.key.public_key, "p", CERT_PARTY, &t), STATUS_OK);
    assert_true(cert_serial(one, &c));
    cert_deinit(&c);
    assert_int_equal(cert_issue(&c, &ca, ca.key.public_key, "p", CERT_PARTY, &t), STATUS_OK);
    assert_true(cert_serial(two, &c));
    cert_deinit(&c);
    assert_string_not_equal(one, two);
    assert_true(strlen(one) > 30);
    cert_signer_deinit(&ca);
}

static void test_a_key_is_written_as_it_is_read(void **state)
{
    struct sign_key k, read;
    struct buf pem;
    const char *path;

    (void)state;
    buf_init(&pem, SIGN_KEY_FILE_MAX);
    assert_int_equal(cert_make_key(&k, &pem), STATUS_OK);
    path = scratch_write("new.key", pem.data, pem.len);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(sign_key_load(&read, path, NULL), STATUS_OK);
    assert_memory_equal(read.public_key, k.public_key, SIGN_PUBLIC_BYTES);
    secret_buf_deinit(&pem);
    sign_key_deinit(&k);
    sign_key_deinit(&read);
}

static void test_a_request_is_read_for_its_key_and_a_changed_one_is_refused(void **state)
{
    uint8_t key[SIGN_PUBLIC_BYTES];
    struct error err = {0};
    struct buf pem, out;
    struct sign_key k;
    size_t refused = 0, n = 0;

    (void)state;
    buf_init(&pem, CERT_FILE_MAX);
    buf_init(&out, 64 * CERT_FILE_MAX);
    assert_int_equal(sign_key_generate(&k), STATUS_OK);
    assert_int_equal(cert_make_request(&pem, &k, "bank"), STATUS_OK);
    assert_int_equal(cert_request_read(key, &out, pem.data, pem.len, &err), STATUS_OK);
    assert_memory_equal(key, k.public_key, sizeof key);
    assert_int_equal(out.len, pem.len);
    /* Every letter of its base64, turned into another one: the last may have bits that nobody
     * reads. */
    for (size_t i = 40; i + 40 < pem.len; i++) {
        const uint8_t was = pem.data[i];

        if (was == '\n' || was == '=')
            continue;
        pem.data[i] = was == 'A' ? 'B' : 'A';
        refused += cert_request_read(key, &out, pem.data, pem.len, &err) == STATUS_CONFIG;
        n++;
        pem.data[i] = was;
    }
    assert_true(n > 150 && refused + 1 >= n);
    assert_int_equal(cert_request_read(key, &out, "x", 1, &err), STATUS_CONFIG);
    assert_int_equal(cert_public_read(key, pem.data, pem.len, &err), STATUS_CONFIG);
    sign_key_deinit(&k);
    buf_deinit(&pem);
    buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_issued_certificate_is_accepted_for_its_role_alone),
        cmocka_unit_test(test_serial_numbers_differ),
        cmocka_unit_test(test_a_key_is_written_as_it_is_read),
        cmocka_unit_test(test_a_request_is_read_for_its_key_and_a_changed_one_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
