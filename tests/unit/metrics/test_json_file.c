/* test_json_file.c -- what a run wrote is read again, and nothing else is waited for.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/json_file.h"

#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static void test_a_document_is_read(void **state)
{
    json_error_t where;
    json_t *o = json_file_load(scratch_write_text("good", "{\"rounds\": 3}"), 0, &where);

    (void)state;
    assert_int_equal(json_integer_value(json_object_get(o, "rounds")), 3);
    json_decref(o);
}

static void test_what_is_none_is_told_with_its_place(void **state)
{
    json_error_t where;

    (void)state;
    assert_null(json_file_load(scratch_write_text("bad", "{\n\"rounds\": }"), 0, &where));
    assert_int_equal(where.line, 2);
    assert_null(json_file_load(scratch_write_text("empty", ""), 0, &where));
    assert_null(json_file_load(scratch_path("none"), 0, &where));
    assert_non_null(strstr(where.text, "No such file"));
    assert_null(json_file_load(scratch_path("none"), 0, NULL));
}

static void test_a_pipe_is_not_waited_for(void **state)
{
    const char *pipe = scratch_path("pipe");
    json_error_t where;

    (void)state;
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_null(json_file_load(pipe, 0, &where));
    assert_non_null(strstr(where.text, "not a regular file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_document_is_read),
        cmocka_unit_test(test_what_is_none_is_told_with_its_place),
        cmocka_unit_test(test_a_pipe_is_not_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
