/* test_ledger_key.c -- where the key is, and that it is made once.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_key.h"

#include "tests/unit/privacy/ledgers.h"

#include <unistd.h>

static const char HEX[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";

static void forget_all(void)
{
    static const char *const names[] = {"ledger.db", "ledger.begun", "ledger.key", "state.key"};

    for (size_t i = 0; i < 4; i++)
        (void)unlink(scratch_path(names[i]));
}

static enum status load(uint8_t key[LEDGER_KEY_BYTES], const char *state_key, struct error *err)
{
    return ledger_key_load(key, scratch_path("ledger.db"), state_key, err);
}

static void test_a_key_is_made_once_and_is_its_owners_alone(void **state)
{
    uint8_t key[LEDGER_KEY_BYTES], again[LEDGER_KEY_BYTES], other[LEDGER_KEY_BYTES];
    struct error err = {0};
    struct stat is;

    (void)state;
    forget_all();
    assert_int_equal(load(key, "", &err), STATUS_OK);
    assert_int_equal(stat(scratch_path("ledger.key"), &is), 0);
    assert_int_equal(is.st_mode & 0777, 0600);
    assert_int_equal(load(again, "", &err), STATUS_OK);
    assert_memory_equal(key, again, sizeof key);
    unlink(scratch_path("ledger.key")); /* there is no ledger yet: another one */
    assert_int_equal(load(other, "", &err), STATUS_OK);
    assert_memory_not_equal(key, other, sizeof key);
    /* What the own file holds does as a state_key. */
    assert_int_equal(load(again, scratch_path("ledger.key"), &err), STATUS_OK);
    assert_memory_equal(other, again, sizeof key);
}

static void test_a_missing_key_beside_a_ledger_is_never_made_anew(void **state)
{
    uint8_t key[LEDGER_KEY_BYTES];
    struct error err = {0};
    struct ledger *l;

    (void)state;
    forget_all();
    assert_int_equal(load(key, "", &err), STATUS_OK);
    assert_int_equal(ledger_open(&l, scratch_path("ledger.db"), key, &err), STATUS_OK);
    ledger_close(l);
    unlink(scratch_path("ledger.key"));
    assert_int_equal(load(key, "", &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "its key is missing"));
    assert_int_equal(access(scratch_path("ledger.key"), F_OK), -1);
    unlink(scratch_path("ledger.db"));
    unlink(scratch_path("ledger.begun"));
    assert_int_equal(symlink("/nonexistent", scratch_path("ledger.db")), 0); /* anything there */
    assert_int_equal(load(key, "", &err), STATUS_CONFIG);
    assert_int_equal(access(scratch_path("ledger.key"), F_OK), -1);
}

static void test_a_state_key_goes_first_and_makes_no_file(void **state)
{
    uint8_t key[LEDGER_KEY_BYTES];
    struct error err = {0};

    (void)state;
    forget_all();
    private_file("state.key", HEX, strlen(HEX));
    assert_int_equal(load(key, scratch_path("state.key"), &err), STATUS_OK);
    for (uint8_t i = 0; i < LEDGER_KEY_BYTES; i++)
        assert_int_equal(key[i], i);
    assert_int_equal(access(scratch_path("ledger.key"), F_OK), -1);
}

static void test_a_state_key_beside_another_key_is_refused(void **state)
{
    uint8_t key[LEDGER_KEY_BYTES];
    struct error err = {0};

    (void)state;
    forget_all();
    assert_int_equal(load(key, "", &err), STATUS_OK);
    private_file("state.key", HEX, strlen(HEX));
    assert_int_equal(load(key, scratch_path("state.key"), &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "begun under"));
    private_file("ledger.key", HEX, strlen(HEX)); /* the same one twice */
    assert_int_equal(load(key, scratch_path("state.key"), &err), STATUS_OK);
}

static void test_a_key_that_others_may_read_or_that_is_none_is_refused(void **state)
{
    uint8_t key[LEDGER_KEY_BYTES];
    struct error err = {0};

    (void)state;
    forget_all();
    assert_int_equal(chmod(private_file("ledger.key", HEX, strlen(HEX)), 0640), 0);
    assert_int_equal(load(key, "", &err), STATUS_CONFIG);
    private_file("ledger.key", HEX, 63);
    assert_int_equal(load(key, "", &err), STATUS_CONFIG);
    private_file("ledger.key", "", 0);
    assert_int_equal(load(key, "", &err), STATUS_CONFIG);
    assert_int_equal(load(key, scratch_path("state.key"), &err), STATUS_CONFIG); /* not there */
    unlink(scratch_path("ledger.key"));
    assert_int_equal(symlink("/nonexistent", scratch_path("ledger.key")), 0);
    assert_int_not_equal(load(key, "", &err), STATUS_OK);
}

static void test_another_key_opens_nothing(void **state)
{
    const char *path = make_ledger("locked.db");
    uint8_t other[LEDGER_KEY_BYTES];
    struct error err = {0};
    struct ledger *l;

    (void)state;
    memcpy(other, KEY, sizeof other);
    other[31] ^= 1;
    assert_int_equal(ledger_open(&l, path, other, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "not made with this key"));
    ledger_close(open_at(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_key_is_made_once_and_is_its_owners_alone),
        cmocka_unit_test(test_a_missing_key_beside_a_ledger_is_never_made_anew),
        cmocka_unit_test(test_a_state_key_goes_first_and_makes_no_file),
        cmocka_unit_test(test_a_state_key_beside_another_key_is_refused),
        cmocka_unit_test(test_a_key_that_others_may_read_or_that_is_none_is_refused),
        cmocka_unit_test(test_another_key_opens_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
