/* test_checkpoint_label.c -- a party takes up no checkpoint of another one, neither the last nor
 * the one before it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/file.h"
#include "common/crypto/secret.h"
#include "common/daemon/checkpoint.h"
#include "party/checkpoint.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static struct party_inputs in; /* of party p1 */

static int set_up(void **state)
{
    const char *key = scratch_write_text("state.key", "00112233445566778899aabbccddeeff"
                                                      "00112233445566778899aabbccddeeff\n");

    (void)state;
    snprintf(in.config.state, sizeof in.config.state, "%s", scratch_dir());
    snprintf(in.config.state_key, sizeof in.config.state_key, "%s", key);
    in.roster.n = 2;
    strcpy(in.roster.party[0].name, "p1");
    strcpy(in.roster.party[1].name, "p2");
    return chmod(key, 0600);
}

/* What stands there after `before` and then `last` were kept under these names. */
static void keep(const char *before, const char *last)
{
    const struct checkpoint_place at = {in.config.state, in.config.state_key};
    struct error err = {0};

    assert_int_equal(checkpoint_remove(&at, &err), STATUS_OK);
    assert_int_equal(checkpoint_save(&at, before, "b", 1, &err), STATUS_OK);
    assert_int_equal(checkpoint_save(&at, last, "l", 1, &err), STATUS_OK);
}

static void expect(bool before, enum status want, const char *bytes)
{
    struct error err = {0};
    struct buf out;
    enum status s = before ? party_checkpoint_load_before(&in, in.config.state, &out, &err)
                           : party_checkpoint_load(&in, in.config.state, &out, &err);

    assert_int_equal(s, want);
    if (s == STATUS_OK) {
        assert_int_equal(out.len, strlen(bytes));
        assert_memory_equal(out.data, bytes, out.len);
    } else {
        assert_non_null(strstr(err.text, bytes));
    }
    secret_buf_deinit(&out);
}

static void test_both_own_checkpoints_are_taken_up(void **state)
{
    (void)state;
    keep("vfl-party/1 p1", "vfl-party/1 p1");
    expect(true, STATUS_OK, "b");
    expect(false, STATUS_OK, "l");
}

static void test_neither_of_another_party_is(void **state)
{
    (void)state;
    keep("vfl-party/1 p2", "vfl-party/1 p1");
    expect(true, STATUS_CONFIG, "the checkpoint of \"vfl-party/1 p2\"");
    expect(false, STATUS_OK, "l");
    keep("vfl-party/1 p1", "vfl-party/1 p2");
    expect(true, STATUS_OK, "b");
    expect(false, STATUS_CONFIG, "the checkpoint of \"vfl-party/1 p2\"");
    keep("vfl-server/1", "vfl-party/1 p1");
    expect(true, STATUS_CONFIG, "vfl-server");
}

static void test_without_one_there_is_nothing_to_refuse(void **state)
{
    const struct checkpoint_place at = {in.config.state, in.config.state_key};
    struct error err = {0};
    struct buf out;

    (void)state;
    assert_int_equal(checkpoint_remove(&at, &err), STATUS_OK);
    assert_int_equal(party_checkpoint_load_before(&in, in.config.state, &out, &err), STATUS_OK);
    assert_int_equal(out.len, 0);
    secret_buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_own_checkpoints_are_taken_up),
        cmocka_unit_test(test_neither_of_another_party_is),
        cmocka_unit_test(test_without_one_there_is_nothing_to_refuse),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
