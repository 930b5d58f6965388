/* test_printed.c -- what programs print, in the log.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/program/printed.h"

#include "common/base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static size_t printed(char *said, size_t max, const char *text, size_t times)
{
    struct printed p = {0};
    FILE *to = tmpfile();
    size_t n;

    assert_non_null(to);
    log_also(to);
    for (size_t i = 0; i < times; i++)
        printed_take(&p, text, strlen(text), 0);
    printed_end(&p, 0);
    log_also(NULL);
    rewind(to);
    n = fread(said, 1, max - 1, to);
    said[n] = 0;
    fclose(to);
    return n;
}

static void test_what_is_printed_is_marked_and_bounded_in_a_minute(void **state)
{
    static char said[1 << 20];
    static const char forged[] = "x\n2026-01-01T00:00:00.000Z p1 error: all is lost\nlast";

    (void)state;
    printed(said, sizeof said, forged, 1);
    assert_non_null(strstr(said, "info: program: x\n"));
    assert_non_null(
        strstr(said, "info: program: 2026-01-01T00:00:00.000Z p1 error: all is lost\n"));
    assert_non_null(strstr(said, "info: program: last\n"));
    assert_in_range(printed(said, sizeof said, "a line of thirty-two characters\n", 100000),
                    PRINTED_MINUTE_MAX, 3 * PRINTED_MINUTE_MAX);
    assert_non_null(strstr(said, "bytes of what it has printed were left out"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_printed_is_marked_and_bounded_in_a_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
