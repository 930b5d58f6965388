/* test_options.c -- the command line both daemons share.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/daemon/options.h"

static const struct options_about about = {
    .program = "vfl-test",
    .usage = "usage\n",
    .own = {"first", "second"},
    .own_value = {"here", "there"},
};

/* Words up to NULL after the program's name. */
static int parse(struct options *o, const char *const *words)
{
    static char text[16][64];
    char *argv[17] = {NULL};
    int argc = 1;

    strcpy(text[0], "vfl-test");
    argv[0] = text[0];
    for (; words[argc - 1] != NULL; argc++) {
        strcpy(text[argc], words[argc - 1]);
        argv[argc] = text[argc];
    }
    return options_parse(o, &about, argc, argv);
}

static void test_every_option_is_read(void **state)
{
    static const char *const words[] = {"-c",
                                        "f.yaml",
                                        "--set",
                                        "a=1",
                                        "--set",
                                        "b=2",
                                        "--log-json",
                                        "-v",
                                        "--insecure-seed",
                                        "18446744073709551615",
                                        "--export",
                                        "m",
                                        "--second",
                                        "--there",
                                        "t",
                                        NULL};
    struct options o;

    (void)state;
    assert_int_equal(parse(&o, words), -1);
    assert_string_equal(o.file, "f.yaml");
    assert_int_equal(o.sets_n, 2);
    assert_string_equal(o.sets[1], "b=2");
    assert_true(o.log_json && o.seeded && !o.check_only);
    assert_int_equal(o.level, LOG_LEVEL_DEBUG);
    assert_true(o.seed == UINT64_MAX);
    assert_string_equal(o.export_file, "m");
    assert_true(!o.own[0] && o.own[1]);
    assert_null(o.own_value[0]);
    assert_string_equal(o.own_value[1], "t");
}

static void test_help_and_version_end_well_and_mistakes_with_2(void **state)
{
    static const struct {
        const char *words[6];
        int code;
    } cases[] = {
        {{"-h", NULL}, 0},
        {{"--version", NULL}, 0},
        {{NULL}, 2}, /* no configuration */
        {{"-c", "f", "stray", NULL}, 2},
        {{"-c", "f", "--third", NULL}, 2},
        {{"-c", "f", "--here", NULL}, 2},
        {{"-c", "f", "--insecure-seed", "x", NULL}, 2},
        {{"-c", "f", "--insecure-seed", "-1", NULL}, 2},
        {{"-c", "f", "--insecure-seed", "18446744073709551616", NULL}, 2},
        {{"-c", NULL}, 2},
        {{"-c", "f", "-n", NULL}, -1},
    };
    struct options o;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(parse(&o, cases[i].words), cases[i].code);
    assert_true(o.check_only);
}

static void test_too_many_sets_are_refused(void **state)
{
    static char set[] = "a=1", flag[] = "--set", name[] = "vfl-test";
    char *argv[2 * OPTIONS_SETS_MAX + 5];
    int argc = 0;
    struct options o;

    (void)state;
    argv[argc++] = name;
    for (int i = 0; i <= OPTIONS_SETS_MAX; i++) {
        argv[argc++] = flag;
        argv[argc++] = set;
    }
    argv[argc] = NULL;
    assert_int_equal(options_parse(&o, &about, argc, argv), 2);
    assert_int_equal(o.sets_n, OPTIONS_SETS_MAX);
}

static volatile sig_atomic_t hung_up;

static void count(int number)
{
    hung_up += number == SIGHUP;
}

static void test_a_reload_that_comes_too_early_comes_later(void **state)
{
    struct options o = {.level = LOG_LEVEL_ERROR};

    (void)state;
    assert_ptr_not_equal(signal(SIGHUP, count), SIG_ERR);
    assert_int_equal(options_begin(&o, "test", NULL), STATUS_OK);
    raise(SIGHUP);
    assert_int_equal(hung_up, 0);
    options_heed_reload();
    assert_int_equal(hung_up, 1);
    raise(SIGHUP);
    assert_int_equal(hung_up, 2);
}

static bool is_ended_by(int order, bool heeds)
{
    struct options o = {.level = LOG_LEVEL_ERROR};
    pid_t child = fork();
    int how;

    assert_int_not_equal(child, -1);
    if (child == 0) {
        signal(order, SIG_DFL);
        if (options_begin(&o, "test", NULL) != STATUS_OK)
            _exit(1);
        options_heed_reload();
        if (!heeds)
            options_heed_nothing();
        raise(order);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    if (WIFSIGNALED(how)) {
        assert_int_equal(WTERMSIG(how), order);
        return true;
    }
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    return false;
}

static void test_no_order_cuts_the_end_short(void **state)
{
    static const int orders[] = {SIGTERM, SIGINT, SIGHUP};

    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        assert_true(is_ended_by(orders[i], true));
        assert_false(is_ended_by(orders[i], false));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_option_is_read),
        cmocka_unit_test(test_help_and_version_end_well_and_mistakes_with_2),
        cmocka_unit_test(test_too_many_sets_are_refused),
        cmocka_unit_test(test_a_reload_that_comes_too_early_comes_later),
        cmocka_unit_test(test_no_order_cuts_the_end_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
