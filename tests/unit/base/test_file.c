/* test_file.c -- whole files: all of them or an error, the old one or the new one.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/file.h"

#include "common/base/mem.h"
#include "tests/lib/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

enum { BIG = 200000 };

static uint8_t content[BIG];

static int fill(void **state)
{
    (void)state;
    for (size_t i = 0; i < BIG; i++)
        content[i] = (uint8_t)(i * 2654435761u >> 13);
    return 0;
}

/* Reads a file of n bytes into a buffer of `max` bytes that already holds `before`. */
static void read_one(size_t n, size_t max, size_t before)
{
    const char *path = scratch_write("read", content, n);
    struct error err = {0};
    struct buf b;
    enum status s;

    buf_init(&b, max);
    assert_int_equal(buf_append(&b, content + 1, before), STATUS_OK);
    s = file_read(path, &b, &err);
    if (before + n > max) {
        assert_int_equal(s, STATUS_LIMIT);
        assert_non_null(strstr(err.text, path));
        assert_non_null(strstr(err.text, "larger than"));
    } else {
        if (s != STATUS_OK)
            fail_msg("%zu bytes after %zu of at most %zu: %s", n, before, max, err.text);
        assert_int_equal(b.len, before + n);
        assert_memory_equal(b.data, content + 1, before);
        assert_memory_equal(b.data + before, content, n);
    }
    buf_deinit(&b);
}

static void test_a_file_is_read_whole_when_it_fits_and_refused_when_it_does_not(void **state)
{
    static const size_t sizes[] = {0,     1,     2,     100,    65535,  65536,
                                   65537, 80000, 90000, 131071, 131072, 131073};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        read_one(sizes[i], sizes[i], 0);
        read_one(sizes[i], sizes[i] + 1, 0);
        read_one(sizes[i], sizes[i] + 70, 3);
        read_one(sizes[i], sizes[i] + 70000, 0);
        read_one(sizes[i] + 1, sizes[i], 0);
        read_one(sizes[i] + 60000, sizes[i], 0);
        read_one(sizes[i], sizes[i] + 2, 3 < sizes[i] + 2 ? 3 : 0);
    }
}

static void test_a_file_that_cannot_be_read_names_itself_and_the_reason(void **state)
{
    struct error err = {0};
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    assert_int_equal(file_read("/nonexistent/x", &b, &err), STATUS_IO);
    assert_string_equal(err.text, "/nonexistent/x: No such file or directory");
    assert_int_equal(file_read(scratch_dir(), &b, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "Is a directory"));
    buf_deinit(&b);
    buf_init(&b, 100);
    mem_fail_at(1);
    assert_int_equal(file_read(scratch_write("short", "x", 1), &b, NULL), STATUS_MEMORY);
    buf_deinit(&b);
}

static void expect_file(const char *path, const void *bytes, size_t n, unsigned mode)
{
    char tmp[PATH_MAX + 8];
    struct stat st;
    struct buf b;

    buf_init(&b, BIG);
    assert_int_equal(file_read(path, &b, NULL), STATUS_OK);
    assert_int_equal(b.len, n);
    assert_memory_equal(b.data, bytes, n);
    buf_deinit(&b);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, mode);
    snprintf(tmp, sizeof tmp, "%s.tmp", path);
    assert_int_equal(access(tmp, F_OK), -1);
}

static void test_a_file_is_written_whole_with_its_mode_and_nothing_beside_it(void **state)
{
    const char *path = scratch_path("written");

    (void)state;
    assert_int_equal(file_write_atomic(path, content, 70000, 0600, NULL), STATUS_OK);
    expect_file(path, content, 70000, 0600);
    assert_int_equal(file_write_atomic(path, "new", 3, 0640, NULL), STATUS_OK);
    expect_file(path, "new", 3, 0640);
    assert_int_equal(file_write_atomic(path, "", 0, 0600, NULL), STATUS_OK);
    expect_file(path, "", 0, 0600);
}

static void test_what_a_crash_left_behind_decides_neither_mode_nor_place(void **state)
{
    const char *path = scratch_path("secret"), *left = scratch_write_text("secret.tmp", "old");
    const char *aim = scratch_write_text("aim", "untouched");

    (void)state;
    assert_int_equal(chmod(left, 0644), 0);
    assert_int_equal(file_write_atomic(path, "key", 3, 0600, NULL), STATUS_OK);
    expect_file(path, "key", 3, 0600);
    assert_int_equal(symlink(aim, left), 0);
    assert_int_equal(file_write_atomic(path, "two", 3, 0600, NULL), STATUS_OK);
    expect_file(path, "two", 3, 0600);
    expect_file(aim, "untouched", 9, 0644);
}

static void test_a_write_that_fails_leaves_the_old_file(void **state)
{
    const char *dir = scratch_path("in-the-way");
    char longer[PATH_MAX];
    struct error err = {0};

    (void)state;
    assert_int_equal(file_write_atomic("/nonexistent/x", "a", 1, 0600, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "No such file"));
    /* A folder cannot be replaced by a file: rename fails, and the temporary file goes. */
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(file_write_atomic(dir, "a", 1, 0600, &err), STATUS_IO);
    assert_int_equal(access(scratch_path("in-the-way.tmp"), F_OK), -1);
    assert_int_equal(rmdir(dir), 0);
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    longer[sizeof longer - 3] = 0;
    assert_int_equal(file_write_atomic(longer, "a", 1, 0600, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "path too long"));
}

static enum status read_private(const char *path, const char *text, struct error *err)
{
    struct buf out;
    enum status s;

    buf_init(&out, 8);
    s = file_read_private(path, &out, err);
    assert_int_equal(out.len, s == STATUS_OK ? strlen(text) : 0);
    if (out.len > 0)
        assert_memory_equal(out.data, text, out.len);
    buf_deinit(&out);
    return s;
}

static void test_a_private_file_is_the_owners_alone(void **state)
{
    const char *path = scratch_write_text("private", "x");
    struct error err = {0};

    (void)state;
    for (unsigned mode = 0; mode < 0100; mode++) {
        assert_int_equal(chmod(path, 0600 | mode), 0);
        assert_int_equal(read_private(path, "x", &err), mode == 0 ? STATUS_OK : STATUS_CONFIG);
    }
    assert_non_null(strstr(err.text, "mode 677"));
    assert_non_null(strstr(err.text, path));
    assert_int_equal(read_private("/nonexistent/x", "", &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "No such file"));
    if (geteuid() == 0) {
        assert_int_equal(chmod(path, 0600), 0);
        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_int_equal(read_private(path, "x", &err), STATUS_CONFIG);
        assert_non_null(strstr(err.text, "another user"));
    }
}

/* A link to a good file is one: systemd and secret stores make them. */
static void test_a_private_file_is_a_regular_one_and_never_waited_for(void **state)
{
    const char *good = scratch_write_text("good", "abc");
    char pipe[PATH_MAX], link[PATH_MAX];
    struct error err = {0};

    (void)state;
    snprintf(pipe, sizeof pipe, "%s", scratch_path("pipe"));
    snprintf(link, sizeof link, "%s", scratch_path("link"));
    assert_int_equal(chmod(good, 0600), 0);
    assert_int_equal(symlink(good, link), 0);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(read_private(good, "abc", &err), STATUS_OK);
    assert_int_equal(read_private(link, "abc", &err), STATUS_OK);
    assert_int_equal(read_private(pipe, "", &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "not a regular file"));
    assert_int_equal(read_private(scratch_dir(), "", &err), STATUS_CONFIG);
    assert_int_equal(read_private("/dev/null", "", &err), STATUS_CONFIG);
}

/* It is one's own: no peer is at fault. */
static void test_a_private_file_over_its_limit_is_a_wrong_setting(void **state)
{
    const char *path = scratch_write_text("long", "123456789");
    struct error err = {0};
    struct buf out;

    (void)state;
    assert_int_equal(chmod(path, 0600), 0);
    buf_init(&out, 8);
    assert_int_equal(file_read_private(path, &out, &err), STATUS_CONFIG);
    assert_int_equal(err.status, STATUS_CONFIG);
    assert_non_null(strstr(err.text, "larger than 8 bytes"));
    buf_deinit(&out);
    buf_init(&out, 8);
    assert_int_equal(file_read_private(path, &out, NULL), STATUS_CONFIG);
    buf_deinit(&out);
    assert_int_equal(read_private(scratch_write_text("long", "12345678"), "12345678", &err),
                     STATUS_OK);
}

static void expect_made(const char *path)
{
    struct error err = {0};
    struct stat st;

    if (file_make_dir(path, 0700, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
}

static void test_folders_are_made_with_their_parents_and_again(void **state)
{
    char path[PATH_MAX];

    (void)state;
    snprintf(path, sizeof path, "%s/made/a/b/", scratch_dir());
    expect_made(path);
    expect_made(path);
    for (int up = 0; up < 3; up++) {
        path[strlen(path) - 1] = 0;
        assert_int_equal(rmdir(path), 0);
        *(strrchr(path, '/') + 1) = 0;
    }
    expect_made("/");
    expect_made(".");
}

static void test_a_file_in_the_place_of_a_folder_is_an_error(void **state)
{
    struct error err = {0};
    char path[PATH_MAX];

    (void)state;
    assert_int_equal(file_make_dir(scratch_write_text("plain", "x"), 0700, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "Not a directory"));
    snprintf(path, sizeof path, "%s/plain/below", scratch_dir());
    assert_int_equal(file_make_dir(path, 0700, &err), STATUS_IO);
    assert_int_equal(file_make_dir("", 0700, &err), STATUS_IO);
}

static void test_a_folder_has_one_process_at_work_in_it(void **state)
{
    const char *path = scratch_write("lock", "", 0);
    struct error err = {0};
    int first, second;

    (void)state;
    assert_int_equal(file_lock(&first, path, &err), STATUS_OK);
    assert_int_equal(file_lock(&second, path, &err), STATUS_CONFIG);
    assert_int_equal(second, -1);
    assert_non_null(strstr(err.text, "another process"));
    file_unlock(second);
    file_unlock(first);
    assert_int_equal(file_lock(&second, path, &err), STATUS_OK);
    file_unlock(second);
    assert_int_equal(file_lock(&first, "/nonexistent/lock", &err), STATUS_IO);
    assert_int_equal(first, -1);
}

/* --- what stands where a file should --- */

enum trap { LINK, DANGLING, LOOP, PIPE, SOCKET, FOLDER, HARD_LINK, TRAPS };

/* The name stays, however many others are made meanwhile. */
static const char *write_good(const char *text)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof path, "%s", scratch_write_text("good", text));
    return path;
}

/* Puts the trap at scratch "trap"; `good` is what it leads to. */
static const char *lay(enum trap what, const char *good)
{
    static char path[PATH_MAX];
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd;

    snprintf(path, sizeof path, "%s", scratch_path("trap"));
    if (unlink(path) != 0)
        (void)!rmdir(path);
    switch (what) {
    case LINK: assert_int_equal(symlink(good, path), 0); break;
    case DANGLING: assert_int_equal(symlink(scratch_path("nowhere"), path), 0); break;
    case LOOP: assert_int_equal(symlink(path, path), 0); break;
    case PIPE: assert_int_equal(mkfifo(path, 0600), 0); break;
    case FOLDER: assert_int_equal(mkdir(path, 0700), 0); break;
    case HARD_LINK: assert_int_equal(link(good, path), 0); break;
    case SOCKET:
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(fd >= 0 && strlen(path) < sizeof at.sun_path);
        memcpy(at.sun_path, path, strlen(path) + 1);
        assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
        close(fd);
        break;
    case TRAPS: break;
    }
    return path;
}

static void clear(void)
{
    const char *path = scratch_path("trap");

    if (unlink(path) != 0)
        (void)!rmdir(path);
}

static void expect_text(const char *path, const char *text)
{
    struct buf b;

    buf_init(&b, 100);
    assert_int_equal(file_read(path, &b, NULL), STATUS_OK);
    assert_int_equal(b.len, strlen(text));
    assert_memory_equal(b.data, text, b.len);
    buf_deinit(&b);
}

/* Whatever it is opened for, and what it leads to stays as it was. */
static void test_what_a_program_keeps_is_never_opened_through_a_trap(void **state)
{
    static const int flags[] = {O_RDONLY, O_RDWR, O_WRONLY | O_CREAT | O_APPEND,
                                O_WRONLY | O_CREAT | O_TRUNC, O_RDWR | O_CREAT};
    const char *good = write_good("as it was");
    struct error err = {0};
    int fd;

    (void)state;
    for (int t = 0; t < TRAPS; t++) {
        const char *path = lay((enum trap)t, good);

        for (size_t f = 0; f < sizeof flags / sizeof *flags; f++) {
            assert_int_equal(file_open_own(&fd, path, flags[f], 0600, &err), STATUS_IO);
            assert_int_equal(fd, -1);
            assert_non_null(strstr(err.text, path));
        }
        assert_int_equal(access(scratch_path("nowhere"), F_OK), -1);
        expect_text(good, "as it was");
        clear();
    }
}

/* A user may name a link, and gets what it leads to; not a pipe, which would be waited for. */
static void test_what_a_user_names_may_be_a_link_and_is_never_waited_for(void **state)
{
    static const bool fine[TRAPS] = {[LINK] = true, [HARD_LINK] = true};
    const char *good = write_good("named");
    struct error err = {0};
    char to_pipe[PATH_MAX];
    struct buf b;

    (void)state;
    for (int t = 0; t < TRAPS; t++) {
        const char *path = lay((enum trap)t, good);

        buf_init(&b, 100);
        assert_int_equal(file_read(path, &b, &err), fine[t] ? STATUS_OK : STATUS_IO);
        assert_int_equal(b.len, fine[t] ? 5 : 0);
        buf_deinit(&b);
        clear();
    }
    snprintf(to_pipe, sizeof to_pipe, "%s", scratch_path("to-pipe"));
    assert_int_equal(symlink(lay(PIPE, good), to_pipe), 0);
    buf_init(&b, 100);
    assert_int_equal(file_read(to_pipe, &b, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "not a regular file"));
    assert_int_equal(file_read("/dev/zero", &b, &err), STATUS_IO);
    buf_deinit(&b);
    clear();
}

static void test_a_lock_is_no_way_around(void **state)
{
    const char *good = write_good("as it was");
    struct error err = {0};
    int lock;

    (void)state;
    for (int t = 0; t < TRAPS; t++) {
        assert_int_equal(file_lock(&lock, lay((enum trap)t, good), &err), STATUS_IO);
        assert_int_equal(lock, -1);
        clear();
    }
    expect_text(good, "as it was");
}

static void test_a_new_file_replaces_an_old_one_and_no_trap(void **state)
{
    const char *good = write_good("as it was");
    struct error err = {0};
    FILE *to;

    (void)state;
    for (int t = 0; t < TRAPS; t++) {
        assert_int_equal(file_create(&to, lay((enum trap)t, good), 0600, &err), STATUS_IO);
        assert_null(to);
        clear();
    }
    expect_text(good, "as it was");
    assert_int_equal(file_create(&to, good, 0600, &err), STATUS_OK);
    assert_true(fputs("new", to) >= 0);
    assert_int_equal(fclose(to), 0);
    expect_text(good, "new");
}

/* The atomic way takes the name away from whatever has it, and leaves what that led to alone. */
/* What is for its owner alone does not go to whoever could read the old file; what is for all is
 * left to those whom its owner had chosen. */
static void test_what_replaces_an_old_file_is_for_no_more_than_a_new_one(void **state)
{
    static const struct {
        unsigned old, mode, after;
    } rows[] = {{0644, 0600, 0600}, {0640, 0600, 0600}, {0600, 0600, 0600},
                {0200, 0600, 0200}, {0640, 0666, 0640}, {0644, 0666, 0644}};
    const char *path = scratch_path("old");

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error err = {0};
        struct stat st;
        FILE *f;

        scratch_write_text("old", "what was there");
        assert_int_equal(chmod(path, rows[i].old), 0);
        assert_int_equal(file_create(&f, path, rows[i].mode, &err), STATUS_OK);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, rows[i].after);
        assert_int_equal(st.st_size, 0);
        assert_int_equal(unlink(path), 0);
    }
}

static void test_a_file_written_whole_takes_the_place_of_a_trap(void **state)
{
    const char *good = write_good("as it was");
    struct error err = {0};

    (void)state;
    for (int t = 0; t < TRAPS; t++) {
        const char *path = lay((enum trap)t, good);

        assert_int_equal(file_write_atomic(path, "new", 3, 0600, &err),
                         t == FOLDER ? STATUS_IO : STATUS_OK);
        if (t != FOLDER)
            expect_text(path, "new");
        expect_text(good, "as it was");
        clear();
    }
}

/* /dev/full stands for a full disk; nothing else that is no file is written to. */
static void test_an_output_of_the_command_line_may_be_a_device(void **state)
{
    const char *good = write_good("as it was");
    struct error err = {0};
    int fd;

    (void)state;
    assert_int_equal(file_open_output(&fd, "/dev/full", O_WRONLY | O_APPEND, 0600, &err),
                     STATUS_OK);
    close(fd);
    assert_int_equal(file_open_own(&fd, "/dev/full", O_WRONLY | O_APPEND, 0600, &err), STATUS_IO);
    for (int t = 0; t < TRAPS; t++) {
        assert_int_equal(file_open_output(&fd, lay((enum trap)t, good),
                                          O_WRONLY | O_CREAT | O_APPEND, 0600, &err),
                         STATUS_IO);
        clear();
    }
    expect_text(good, "as it was");
}

static void test_a_file_of_another_user_is_not_taken_for_ones_own(void **state)
{
    const char *path = scratch_write_text("others", "as it was");
    struct error err = {0};
    int fd;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_int_equal(file_open_own(&fd, path, O_RDWR | O_TRUNC, 0600, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "another user"));
    expect_text(path, "as it was");
    assert_int_equal(chown(path, 0, 0), 0);
    assert_int_equal(file_open_own(&fd, path, O_RDWR | O_TRUNC, 0600, &err), STATUS_OK);
    close(fd);
    expect_text(path, "");
}

static void test_a_file_is_another_one_whole_or_not_at_all(void **state)
{
    const char *path = scratch_path("whole");
    struct error err = {0};
    struct buf b;
    FILE *f;

    (void)state;
    assert_int_equal(file_write_atomic(path, "old", 3, 0600, &err), STATUS_OK);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(file_begin(&f, path, 0600, &err), STATUS_OK);
        fputs("new", f);
        if (k == 0)
            file_give_up(f, path);
        else
            assert_int_equal(file_end(f, path, &err), STATUS_OK);
        buf_init(&b, 16);
        assert_int_equal(file_read_own(path, &b, &err), STATUS_OK);
        assert_int_equal(b.len, 3);
        assert_memory_equal(b.data, k == 0 ? "old" : "new", 3);
        assert_int_equal(access(scratch_path("whole.tmp"), F_OK), -1);
        buf_deinit(&b);
    }
    assert_int_equal(file_remove(path, &err), STATUS_OK);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(file_remove(path, &err), STATUS_OK);
    assert_int_equal(file_remove(scratch_dir(), &err), STATUS_IO);
    assert_int_equal(file_begin(&f, scratch_path("nowhere/whole"), 0600, &err), STATUS_IO);
    assert_null(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_is_another_one_whole_or_not_at_all),
        cmocka_unit_test(test_a_file_is_read_whole_when_it_fits_and_refused_when_it_does_not),
        cmocka_unit_test(test_a_file_that_cannot_be_read_names_itself_and_the_reason),
        cmocka_unit_test(test_a_file_is_written_whole_with_its_mode_and_nothing_beside_it),
        cmocka_unit_test(test_what_a_crash_left_behind_decides_neither_mode_nor_place),
        cmocka_unit_test(test_a_write_that_fails_leaves_the_old_file),
        cmocka_unit_test(test_a_private_file_is_the_owners_alone),
        cmocka_unit_test(test_a_private_file_is_a_regular_one_and_never_waited_for),
        cmocka_unit_test(test_a_private_file_over_its_limit_is_a_wrong_setting),
        cmocka_unit_test(test_a_folder_has_one_process_at_work_in_it),
        cmocka_unit_test(test_folders_are_made_with_their_parents_and_again),
        cmocka_unit_test(test_a_file_in_the_place_of_a_folder_is_an_error),
        cmocka_unit_test(test_what_a_program_keeps_is_never_opened_through_a_trap),
        cmocka_unit_test(test_what_a_user_names_may_be_a_link_and_is_never_waited_for),
        cmocka_unit_test(test_a_lock_is_no_way_around),
        cmocka_unit_test(test_a_new_file_replaces_an_old_one_and_no_trap),
        cmocka_unit_test(test_what_replaces_an_old_file_is_for_no_more_than_a_new_one),
        cmocka_unit_test(test_a_file_written_whole_takes_the_place_of_a_trap),
        cmocka_unit_test(test_an_output_of_the_command_line_may_be_a_device),
        cmocka_unit_test(test_a_file_of_another_user_is_not_taken_for_ones_own),
    };

    umask(022);
    return cmocka_run_group_tests(tests, fill, NULL);
}
