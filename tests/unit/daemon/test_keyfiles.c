/* test_keyfiles.c -- a check without a run asks what the run asks.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/keyfiles.h"

#include "common/base/file.h"
#include "common/crypto/sign.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test_pki.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct test_pki pki;

static struct config_identity identity(const char *name)
{
    struct config_identity c = {0};

    snprintf(c.cert, sizeof c.cert, "%s", test_pki_path(&pki, name, "pem"));
    snprintf(c.key, sizeof c.key, "%s", test_pki_path(&pki, name, "key"));
    snprintf(c.ca, sizeof c.ca, "%s", pki.ca);
    return c;
}

static const char *state_key(const char *name, const char *digits, mode_t mode)
{
    const char *path = scratch_write_text(name, digits);

    assert_int_equal(chmod(path, mode), 0);
    return path;
}

#define HEX "00112233445566778899aabbccddeeff"
#define LONG HEX HEX "\n" HEX HEX

static int set_up(void **state)
{
    (void)state;
    test_pki_init(&pki, scratch_dir(), "ca");
    test_pki_issue(&pki, &(struct test_cert){.name = "party"});
    test_pki_issue(&pki, &(struct test_cert){.name = "server", .eku = TEST_EKU_SERVER});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_pki_deinit(&pki);
    return 0;
}

static void refuse(const struct config_identity *c, bool server, const char *key,
                   enum status status, const char *words)
{
    struct error err = {0};

    assert_int_equal(keyfiles_check(c, server, key, &err), status);
    assert_int_equal(err.status, status);
    if (strstr(err.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void test_good_keys_pass_with_and_without_a_state_key(void **state)
{
    struct config_identity party = identity("party"), server = identity("server");
    struct error err = {0};

    (void)state;
    assert_int_equal(keyfiles_check(&party, false, "", &err), STATUS_OK);
    assert_int_equal(keyfiles_check(&server, true, "", &err), STATUS_OK);
    assert_int_equal(keyfiles_check(&party, false, state_key("good", HEX HEX, 0600), &err),
                     STATUS_OK);
    refuse(&party, true, "", STATUS_IDENTITY, "extendedKeyUsage");
    refuse(&server, false, "", STATUS_IDENTITY, "extendedKeyUsage");
}

static void test_a_check_refuses_the_keys_that_a_run_refuses(void **state)
{
    struct config_identity c = identity("party");
    const char *pipe;

    (void)state;
    refuse(&c, false, state_key("loose", HEX HEX, 0644), STATUS_CONFIG, "readable by others");
    refuse(&c, false, state_key("short", HEX, 0600), STATUS_CONFIG, "hexadecimal");
    refuse(&c, false, scratch_path("absent"), STATUS_CONFIG, "No such file");
    refuse(&c, false, state_key("long", LONG, 0600), STATUS_CONFIG, "larger than 128 bytes");
    pipe = scratch_path("pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    refuse(&c, false, pipe, STATUS_CONFIG, "not a regular file");
    assert_int_equal(chmod(c.key, 0644), 0);
    refuse(&c, false, "", STATUS_IDENTITY, "readable by others");
    snprintf(c.key, sizeof c.key, "%s", pipe);
    refuse(&c, false, "", STATUS_IDENTITY, "not a regular file");
    c = identity("server");
    snprintf(c.key, sizeof c.key, "%s", test_pki_path(&pki, "party", "key"));
    assert_int_equal(chmod(c.key, 0600), 0);
    refuse(&c, true, "", STATUS_IDENTITY, "identity.key");
}

/* The daemon's own key, and exit 2: not a peer's fault. */
static void test_a_key_file_over_the_limit_is_its_owners_fault(void **state)
{
    struct config_identity c = identity("server");
    static char text[SIGN_KEY_FILE_MAX + 1];
    struct sign_key k;
    struct error err = {0};
    struct buf key;

    (void)state;
    buf_init(&key, sizeof text);
    assert_int_equal(file_read(c.key, &key, &err), STATUS_OK);
    memset(text, '\n', sizeof text);
    memcpy(text, key.data, key.len);
    buf_deinit(&key);
    snprintf(c.key, sizeof c.key, "%s", scratch_write("padded", text, sizeof text - 1));
    assert_int_equal(chmod(c.key, 0600), 0);
    assert_int_equal(keyfiles_check(&c, true, "", &err), STATUS_OK);
    assert_int_equal(sign_key_load(&k, c.key, &err), STATUS_OK);
    sign_key_deinit(&k);
    snprintf(c.key, sizeof c.key, "%s", scratch_write("over", text, sizeof text));
    assert_int_equal(chmod(c.key, 0600), 0);
    refuse(&c, true, "", STATUS_IDENTITY, "identity.key: ");
    refuse(&c, true, "", STATUS_IDENTITY, "larger than 65536 bytes");
    assert_int_equal(sign_key_load(&k, c.key, &err), STATUS_CONFIG);
    assert_int_equal(status_exit_code(STATUS_IDENTITY), 2);
    assert_int_equal(status_exit_code(STATUS_CONFIG), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_keys_pass_with_and_without_a_state_key),
        cmocka_unit_test(test_a_check_refuses_the_keys_that_a_run_refuses),
        cmocka_unit_test(test_a_key_file_over_the_limit_is_its_owners_fault),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
