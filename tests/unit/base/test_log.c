/* test_log.c -- one line per event, whatever a peer has written into it.
 *
 * Standard error goes into a pipe that keeps each write apart (O_DIRECT), so that a line which is
 * written in several pieces is seen as several.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/log.h"

#include <fcntl.h>
#include <jansson.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { LINE_MAX_BYTES = 4096 };

static int real_stderr, ends[2];

static void open_ear(void)
{
    assert_int_equal(pipe2(ends, O_DIRECT | O_NONBLOCK), 0);
    real_stderr = dup(STDERR_FILENO);
    assert_true(real_stderr >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
}

static void close_ear(void)
{
    fflush(stderr);
    assert_true(dup2(real_stderr, STDERR_FILENO) >= 0);
    close(real_stderr);
    close(ends[1]);
}

/* What the next single write put there; the empty text when there was none. */
static const char *heard(void)
{
    static char line[LINE_MAX_BYTES];
    ssize_t n = read(ends[0], line, sizeof line - 1);

    line[n > 0 ? n : 0] = 0;
    return line;
}

static void expect_match(const char *line, const char *pattern)
{
    regex_t r;

    assert_int_equal(regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB), 0);
    if (regexec(&r, line, 0, NULL, 0) != 0)
        fail_msg("%s does not match %s", line, pattern);
    regfree(&r);
}

static void test_a_plain_line_says_when_who_how_bad_and_what(void **state)
{
    (void)state;
    open_ear();
    log_init("p1", LOG_LEVEL_INFO, false);
    log_warn("lost %d of %s", 3, "them");
    close_ear();
    expect_match(heard(), "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z p1 "
                          "warn: lost 3 of them\n$");
    assert_string_equal(heard(), "");
    close(ends[0]);
}

static void test_only_what_is_bad_enough_is_said(void **state)
{
    (void)state;
    for (int max = LOG_LEVEL_ERROR; max <= LOG_LEVEL_DEBUG; max++) {
        open_ear();
        log_init("p1", (enum log_level)max, false);
        log_error("e");
        log_warn("w");
        log_info("i");
        log_debug("d");
        close_ear();
        expect_match(heard(), " error: e\n$");
        for (int level = LOG_LEVEL_WARN; level <= max; level++)
            expect_match(heard(), " (warn: w|info: i|debug: d)\n$");
        assert_string_equal(heard(), "");
        close(ends[0]);
    }
}

static void test_no_byte_of_a_message_breaks_the_line_or_reaches_the_terminal(void **state)
{
    (void)state;
    for (int c = 1; c < 256; c++) {
        char text[4] = {'<', (char)c, '>', 0}, expected[16];

        open_ear();
        log_init("p1", LOG_LEVEL_INFO, false);
        log_info("%s", text);
        close_ear();
        snprintf(expected, sizeof expected, ": <%c>\n", c < 0x20 || c >= 0x7f ? '?' : c);
        assert_string_equal(strrchr(heard(), ':'), c == ':' ? ":>\n" : expected);
        close(ends[0]);
    }
}

static void test_every_json_line_is_json_and_gives_the_printable_message_back(void **state)
{
    (void)state;
    for (int c = 1; c < 256; c++) {
        char text[4] = {'<', (char)c, '>', 0}, expected[4] = {'<', '?', '>', 0};
        json_error_t why;
        json_t *line;

        if (c >= 0x20 && c < 0x7f)
            expected[1] = (char)c;
        open_ear();
        log_init("p\"\\1", LOG_LEVEL_INFO, true);
        log_info("%s", text);
        close_ear();
        line = json_loads(heard(), JSON_REJECT_DUPLICATES, &why);
        if (line == NULL)
            fail_msg("byte %d: %s", c, why.text);
        assert_string_equal(json_string_value(json_object_get(line, "message")), expected);
        assert_string_equal(json_string_value(json_object_get(line, "who")), "p\"\\1");
        assert_string_equal(json_string_value(json_object_get(line, "level")), "info");
        assert_int_equal(strlen(json_string_value(json_object_get(line, "time"))), 24);
        assert_int_equal(json_object_size(line), 4);
        json_decref(line);
        assert_string_equal(heard(), "");
        close(ends[0]);
    }
}

static void test_a_message_without_end_is_cut_and_stays_one_line(void **state)
{
    char longer[3000];

    (void)state;
    memset(longer, '"', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    for (int json = 0; json < 2; json++) {
        const char *line;

        open_ear();
        log_init("p1", LOG_LEVEL_INFO, json != 0);
        log_info("%s", longer);
        close_ear();
        line = heard();
        assert_true(strlen(line) > 1000);
        assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
        if (json) {
            json_t *read = json_loads(line, 0, NULL);
            assert_non_null(read);
            json_decref(read);
        }
        close(ends[0]);
    }
}

enum { MINUTE_US = 60000000 };

static void test_of_lines_that_anybody_can_cause_few_are_said_in_a_minute(void **state)
{
    struct log_few f = {0};
    uint64_t now = UINT64_C(7) * MINUTE_US;

    (void)state;
    for (int minute = 0; minute < 3; minute++, now += MINUTE_US) {
        for (int i = 0; i < LOG_FEW_MAX; i++)
            assert_true(log_few_more(&f, now + (uint64_t)i));
        if (minute > 0)
            continue;
        assert_false(log_few_more(&f, now + MINUTE_US - 2));
        assert_false(log_few_more(&f, now + MINUTE_US - 1));
        now += 100 * (uint64_t)MINUTE_US; /* nobody came */
    }
}

static void test_the_number_of_those_left_out_is_said_once(void **state)
{
    struct log_few f = {0}, members = {.about = "members"};

    (void)state;
    open_ear();
    log_init("p1", LOG_LEVEL_INFO, false);
    for (int i = 0; i < LOG_FEW_MAX + 3; i++)
        (void)!log_few_more(&f, MINUTE_US);
    assert_true(log_few_more(&f, 2 * MINUTE_US));
    assert_true(log_few_more(&f, 3 * (uint64_t)MINUTE_US));
    for (uint64_t minute = 1; minute <= 3; minute++)
        for (uint64_t i = 0; i < LOG_FEW_MAX + minute; i++)
            (void)!log_few_more(&members, minute * MINUTE_US);
    close_ear();
    expect_match(heard(), " p1 warn: 3 lines about strangers were left out");
    expect_match(heard(), " p1 warn: 1 lines about members were left out");
    expect_match(heard(), " p1 warn: 2 lines about members were left out");
    assert_string_equal(heard(), "");
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plain_line_says_when_who_how_bad_and_what),
        cmocka_unit_test(test_only_what_is_bad_enough_is_said),
        cmocka_unit_test(test_no_byte_of_a_message_breaks_the_line_or_reaches_the_terminal),
        cmocka_unit_test(test_every_json_line_is_json_and_gives_the_printable_message_back),
        cmocka_unit_test(test_a_message_without_end_is_cut_and_stays_one_line),
        cmocka_unit_test(test_of_lines_that_anybody_can_cause_few_are_said_in_a_minute),
        cmocka_unit_test(test_the_number_of_those_left_out_is_said_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
