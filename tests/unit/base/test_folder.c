/* test_folder.c -- nobody but its user and root can put anything into a state folder.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/folder.h"

#include "tests/lib/scratch.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { NOBODY = 65534 };

static char top[PATH_MAX], sub[PATH_MAX], state_dir[PATH_MAX];

/* top/sub, and top/sub/state which there is not yet. */
static int make(void **state)
{
    (void)state;
    snprintf(top, sizeof top, "%s", scratch_path("top"));
    snprintf(sub, sizeof sub, "%.2000s/sub", top);
    snprintf(state_dir, sizeof state_dir, "%.3000s/state", sub);
    return mkdir(top, 0755) == 0 && mkdir(sub, 0755) == 0 ? 0 : -1;
}

static int unmake(void **state)
{
    (void)state;
    (void)!rmdir(state_dir);
    (void)!unlink(state_dir);
    return rmdir(sub) == 0 && rmdir(top) == 0 ? 0 : -1;
}

static void refused(const char *path, const char *words)
{
    struct error err = {0};

    assert_int_equal(folder_check(path, &err), STATUS_CONFIG);
    if (strstr(err.text, words) == NULL)
        fail_msg("%s", err.text);
    assert_int_equal(folder_make(path, &err), STATUS_CONFIG);
}

static void accepted(const char *path)
{
    struct error err = {0};

    if (folder_check(path, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static void test_a_folder_is_made_for_its_user_alone(void **state)
{
    struct error err = {0};
    struct stat st;

    (void)state;
    accepted(state_dir);
    assert_int_equal(folder_make(state_dir, &err), STATUS_OK);
    assert_int_equal(stat(state_dir, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    accepted(state_dir);
    assert_int_equal(folder_make(state_dir, &err), STATUS_OK);
}

static void test_others_may_not_write_to_it(void **state)
{
    (void)state;
    assert_int_equal(mkdir(state_dir, 0700), 0);
    assert_int_equal(chmod(state_dir, 0770), 0);
    refused(state_dir, "chmod go-w");
    assert_int_equal(chmod(state_dir, 0702), 0);
    refused(state_dir, "chmod go-w");
    assert_int_equal(chmod(state_dir, 01777), 0);
    refused(state_dir, "chmod go-w");
    assert_int_equal(chmod(state_dir, 0755), 0);
    accepted(state_dir);
}

/* As /tmp is, where one's own folder cannot be moved away. */
static void test_everybody_may_write_above_it_only_where_that_is_sticky(void **state)
{
    (void)state;
    assert_int_equal(mkdir(state_dir, 0700), 0);
    assert_int_equal(chmod(top, 0777), 0);
    refused(state_dir, "writable by everybody");
    assert_int_equal(chmod(top, 01777), 0);
    accepted(state_dir);
    assert_int_equal(chmod(top, 0775), 0);
    accepted(state_dir);
    assert_int_equal(chmod(top, 0755), 0);
}

/* Root, too, leaves another user's folders alone, at whatever height: its owner could put a link
 * there at any moment. */
static void test_a_folder_of_another_user_is_refused_at_every_height(void **state)
{
    char link[PATH_MAX];

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(state_dir, 0700), 0);
    assert_int_equal(chown(state_dir, NOBODY, NOBODY), 0);
    refused(state_dir, "belongs to user 65534");
    assert_int_equal(chown(state_dir, 0, 0), 0);
    accepted(state_dir);
    assert_int_equal(chown(top, NOBODY, NOBODY), 0);
    refused(state_dir, "belongs to user 65534");
    refused(sub, "belongs to user 65534");
    assert_int_equal(chown(top, 0, 0), 0);
    snprintf(link, sizeof link, "%s", scratch_path("way"));
    assert_int_equal(symlink(sub, link), 0);
    accepted(link);
    assert_int_equal(lchown(link, NOBODY, NOBODY), 0);
    refused(link, "belongs to user 65534");
    assert_int_equal(unlink(link), 0);
}

/* A link leads to a link: who can turn the second one elsewhere, or put another in its place? */
static void test_links_behind_a_link_are_looked_at_too(void **state)
{
    char middle[PATH_MAX], second[PATH_MAX], first[PATH_MAX];

    (void)state;
    snprintf(middle, sizeof middle, "%s", scratch_path("middle"));
    snprintf(second, sizeof second, "%.2000s/second", middle);
    snprintf(first, sizeof first, "%s", scratch_path("first"));
    assert_int_equal(mkdir(middle, 0755), 0);
    assert_int_equal(symlink("../top/./sub", second), 0);
    assert_int_equal(symlink(second, first), 0);
    accepted(first);
    assert_int_equal(chmod(middle, 0777), 0);
    refused(first, "middle is writable by everybody");
    assert_int_equal(chmod(middle, 0755), 0);
    if (geteuid() == 0) {
        assert_int_equal(lchown(second, NOBODY, NOBODY), 0);
        refused(first, "second belongs to user 65534");
    }
    assert_true(unlink(second) == 0 && symlink(first, second) == 0);
    assert_int_equal(folder_check(first, &(struct error){0}), STATUS_IO); /* round and round */
    assert_true(unlink(first) == 0 && unlink(second) == 0 && rmdir(middle) == 0);
}

/* Behind what does not exist yet nothing can be looked at before it is made. */
static void test_what_was_made_is_looked_at_again(void **state)
{
    struct error err = {0};
    char missing[PATH_MAX], path[PATH_MAX];

    (void)state;
    snprintf(missing, sizeof missing, "%.2000s/missing", top);
    snprintf(path, sizeof path, "%.3000s/../sub/state", missing);
    assert_int_equal(chmod(sub, 0777), 0);
    accepted(path);
    assert_int_equal(folder_make(path, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "sub is writable by everybody"));
    assert_int_equal(chmod(sub, 0755), 0);
    assert_int_equal(folder_make(path, &err), STATUS_OK);
    assert_int_equal(rmdir(missing), 0);
}

static void test_what_is_no_folder_is_an_error(void **state)
{
    struct error err = {0};

    (void)state;
    assert_int_equal(folder_check(scratch_write_text("plain", "x"), &err), STATUS_IO);
    assert_int_equal(folder_check("", &err), STATUS_IO);
    accepted("/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_folder_is_made_for_its_user_alone, make, unmake),
        cmocka_unit_test_setup_teardown(test_others_may_not_write_to_it, make, unmake),
        cmocka_unit_test_setup_teardown(test_everybody_may_write_above_it_only_where_that_is_sticky,
                                        make, unmake),
        cmocka_unit_test_setup_teardown(test_a_folder_of_another_user_is_refused_at_every_height,
                                        make, unmake),
        cmocka_unit_test_setup_teardown(test_links_behind_a_link_are_looked_at_too, make, unmake),
        cmocka_unit_test_setup_teardown(test_what_was_made_is_looked_at_again, make, unmake),
        cmocka_unit_test(test_what_is_no_folder_is_an_error),
    };

    umask(022);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
