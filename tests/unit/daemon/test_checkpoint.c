/* test_checkpoint.c -- what is kept of an unfinished run, and when it is not.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/log.h"
#include "common/crypto/secret.h"
#include "common/daemon/checkpoint.h"

static char dir[64], key[96], file[96];

static int set_up(void **state)
{
    static const char hex[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n";
    struct error err = {0};

    (void)state;
    log_init("test", LOG_LEVEL_ERROR, false);
    strcpy(dir, "/tmp/colonnade-checkpoint.XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(key, sizeof key, "%s/state.key", dir);
    snprintf(file, sizeof file, "%s/checkpoint.sealed", dir);
    return file_write_atomic(key, hex, sizeof hex - 1, 0600, &err) == STATUS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(key);
    unlink(file);
    return rmdir(dir);
}

static void test_it_is_kept_under_the_key_and_then_removed(void **state)
{
    struct checkpoint_place at = {dir, key}, no_key = {dir, ""};
    char label[SEALED_LABEL_MAX];
    struct error err = {0};
    struct buf in, out;

    (void)state;
    buf_init(&in, 64);
    assert_int_equal(buf_append(&in, "half a model", 12), STATUS_OK);
    assert_int_equal(checkpoint_save(&at, "run 7", in.data, in.len, &err), STATUS_OK);
    assert_int_equal(checkpoint_load(&at, label, &out, &err), STATUS_OK);
    assert_string_equal(label, "run 7");
    assert_int_equal(out.len, 12);
    assert_memory_equal(out.data, "half a model", 12);
    secret_buf_deinit(&out);
    assert_int_equal(checkpoint_load(&no_key, label, &out, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "state_key"));
    secret_buf_deinit(&out);
    assert_int_equal(checkpoint_remove(&at, &err), STATUS_OK);
    assert_int_equal(checkpoint_remove(&at, &err), STATUS_OK); /* gone already */
    assert_int_equal(checkpoint_load(&at, label, &out, &err), STATUS_OK);
    assert_int_equal(out.len, 0);
    assert_string_equal(label, "");
    secret_buf_deinit(&out);
    buf_deinit(&in);
}

/* At the start of a run, before there is anything to open, and before hours of work are lost. */
static void test_a_key_that_others_may_use_is_refused_at_once(void **state)
{
    static const mode_t modes[] = {0640, 0620, 0610, 0604, 0602, 0601, 0666, 0440};
    struct checkpoint_place at = {dir, key};
    char label[SEALED_LABEL_MAX];
    struct buf out;

    (void)state;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct error err = {0};

        assert_int_equal(chmod(key, modes[i]), 0);
        assert_int_equal(checkpoint_load(&at, label, &out, &err), STATUS_CONFIG);
        assert_non_null(strstr(err.text, key));
        secret_buf_deinit(&out);
        assert_int_equal(checkpoint_save(&at, "run 7", "x", 1, &err), STATUS_CONFIG);
        assert_int_equal(access(file, F_OK), -1);
    }
    assert_int_equal(chmod(key, 0400), 0);
    assert_int_equal(checkpoint_load(&at, label, &out, NULL), STATUS_OK);
    secret_buf_deinit(&out);
}

static void assert_holds(enum status (*load)(const struct checkpoint_place *, char *, struct buf *,
                                             struct error *),
                         const char *words)
{
    struct checkpoint_place at = {dir, key};
    char label[SEALED_LABEL_MAX];
    struct error err = {0};
    struct buf out;

    assert_int_equal(load(&at, label, &out, &err), STATUS_OK);
    assert_int_equal(out.len, strlen(words));
    if (words[0] != 0)
        assert_memory_equal(out.data, words, out.len);
    secret_buf_deinit(&out);
}

/* Whatever moment a process ends in, one of the two is whole. */
static void test_two_generations_are_kept(void **state)
{
    struct checkpoint_place at = {dir, key};
    struct error err = {0};

    (void)state;
    assert_int_equal(checkpoint_save(&at, "run 7", "first", 5, &err), STATUS_OK);
    assert_holds(checkpoint_load_before, "");
    assert_int_equal(checkpoint_save(&at, "run 7", "second", 6, &err), STATUS_OK);
    assert_holds(checkpoint_load, "second");
    assert_holds(checkpoint_load_before, "first");
    assert_int_equal(checkpoint_save(&at, "run 7", "third", 5, &err), STATUS_OK);
    assert_holds(checkpoint_load_before, "second");
    assert_int_equal(unlink(file), 0); /* as between its two moves */
    assert_holds(checkpoint_load, "second");
    assert_int_equal(checkpoint_remove(&at, &err), STATUS_OK);
    assert_holds(checkpoint_load, "");
    assert_holds(checkpoint_load_before, "");
}

static void test_one_that_stays_is_named(void **state)
{
    struct checkpoint_place at = {dir, key};
    struct error err = {0};

    (void)state;
    assert_int_equal(mkdir(file, 0700), 0); /* not even root unlinks that */
    assert_int_equal(checkpoint_remove(&at, &err), STATUS_IO);
    assert_non_null(strstr(err.text, file));
    assert_int_equal(rmdir(file), 0);
}

static void test_nothing_is_kept_without_a_key(void **state)
{
    struct checkpoint_place at = {dir, ""};
    struct error err = {0};
    struct buf in;

    (void)state;
    buf_init(&in, 64);
    assert_int_equal(buf_append(&in, "x", 1), STATUS_OK);
    assert_int_equal(checkpoint_save(&at, "run 7", in.data, in.len, &err), STATUS_OK);
    assert_int_not_equal(access(file, F_OK), 0);
    buf_deinit(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_is_kept_under_the_key_and_then_removed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_key_that_others_may_use_is_refused_at_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_two_generations_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_that_stays_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_is_kept_without_a_key, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
