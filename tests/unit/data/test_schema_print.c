/* test_schema_print.c -- what is printed of a schema is what was read.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/schema_print.h"

#include "common/data/schema_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define HEAD "statistics: fit\ncolumns:\n"

static void comes_back(const char *text)
{
    struct error err = {0};
    struct schema s;
    struct buf out;

    if (schema_parse(&s, text, strlen(text), "s", &err) != STATUS_OK)
        fail_msg("%s", err.text);
    buf_init(&out, SCHEMA_TEXT_MAX);
    assert_int_equal(schema_print(&s, &out), STATUS_OK);
    assert_int_equal(buf_append(&out, "", 1), STATUS_OK);
    assert_string_equal((char *)out.data, text);
    buf_deinit(&out);
    schema_deinit(&s);
}

static void test_what_is_printed_comes_back(void **state)
{
    (void)state;
    comes_back("statistics: dp\nbudget: {epsilon: 0.5, delta: 1e-6}\ncolumns:\n"
               "  - {name: \"who\", kind: id}\n"
               "  - {name: \"a\", kind: number, missing: mean, clip: [0, 9]}\n"
               "  - {name: \"b\", kind: number, missing: own, bins: 4, indicator: true}\n");
    comes_back(HEAD "  - {name: \"a\", kind: number, missing: mean}\n");
    comes_back(HEAD "  - {name: \"who\", kind: id}\n"
                    "  - {name: \"a, \\\"b\\\"\", kind: number, missing: median, fill: -1.5, clip: "
                    "[-2, 3.25], log: true, indicator: true}\n"
                    "  - {name: \"b\", kind: category}\n"
                    "  - {name: \"c\", kind: category, levels: [\"no\", \"1\", \"\xc3\xa4 #\"], "
                    "other: true, indicator: true}\n"
                    "  - {name: \"d\", kind: ordered, levels: [\"low\", \"high\"], missing: mean}\n"
                    "  - {name: \"e\", kind: time, missing: constant, fill: 8000}\n"
                    "  - {name: \"f\", kind: ignored}\n"
                    "  - {name: \"g\", kind: label}\n");
    comes_back("statistics: given\ncolumns:\n"
               "  - {name: \"a\", kind: number, missing: mean, fill: 2}\n"
               "  - {name: \"b\", kind: number, missing: refused}\n"
               "  - {name: \"c\", kind: category, levels: [\"x\"]}\n");
    comes_back(HEAD "  - {name: \"a\", kind: number, missing: own, bins: 8, indicator: true}\n"
                    "  - {name: \"b\", kind: number, missing: mean, fill: 1, clip: [0, 9], edges: "
                    "[-1.5, 0, 1024]}\n"
                    "  - {name: \"c\", kind: number, missing: refused, edges: []}\n"
                    "  - {name: \"d\", kind: time, missing: median, parts: [days, month, hour]}\n"
                    "  - {name: \"e\", kind: category, min_rows: 5, max_levels: 10, indicator: "
                    "true}\n");
    comes_back("statistics: given\ncolumns:\n"
               "  - {name: \"a\", kind: number, missing: own, edges: [1], indicator: true}\n");
    comes_back(HEAD
               "  - {name: \"a\", kind: category, encode: embedding}\n"
               "  - {name: \"b\", kind: category, min_rows: 5, encode: embedding, width: 64}\n"
               "  - {name: \"c\", kind: category, levels: [\"x\", \"y\"], other: true, encode: "
               "embedding, width: 3, missing: refused}\n");
    /* As fitted on rows that all have another text, and as data.schema may refuse gaps. */
    comes_back(HEAD "  - {name: \"a\", kind: category, levels: [], other: true}\n"
                    "  - {name: \"b\", kind: category, levels: [\"x\"], missing: refused}\n");
}

/* It was something else, and has what it had for that: keys that an ignored column refuses. */
static void test_a_column_that_is_ignored_by_now_is_printed_as_one(void **state)
{
    static const char text[] =
        HEAD "  - {name: \"a\", kind: category, min_rows: 5, max_levels: 9, encode: embedding, "
             "missing: refused, indicator: true}\n"
             "  - {name: \"b\", kind: number, missing: own, bins: 8, indicator: true}\n"
             "  - {name: \"c\", kind: time, missing: mean, parts: [days, year]}\n"
             "  - {name: \"d\", kind: ordered, levels: [\"x\", \"y\"], missing: mean}\n"
             "  - {name: \"e\", kind: number, missing: constant, fill: 3, clip: [0, 9], "
             "log: true}\n";
    struct error err = {0};
    struct schema s, again;
    struct buf out;

    (void)state;
    if (schema_parse(&s, text, strlen(text), "s", &err) != STATUS_OK)
        fail_msg("%s", err.text);
    buf_init(&out, SCHEMA_TEXT_MAX);
    for (size_t i = 0; i < s.n; i++)
        s.column[i].kind = i % 2 == 0 ? SCHEMA_IGNORED : SCHEMA_LABEL;
    assert_int_equal(schema_print(&s, &out), STATUS_OK);
    if (schema_parse(&again, (char *)out.data, out.len, "s", &err) != STATUS_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < s.n; i++)
        assert_int_equal(again.column[i].kind, s.column[i].kind);
    schema_deinit(&again);
    schema_deinit(&s);
    buf_deinit(&out);
}

/* Not cut off. */
static void test_a_text_that_is_too_long_is_none(void **state)
{
    static const char text[] = HEAD "  - {name: \"a\", kind: number, missing: mean}\n";
    struct error err = {0};
    struct schema s;

    (void)state;
    assert_int_equal(schema_parse(&s, text, strlen(text), "s", &err), STATUS_OK);
    for (size_t most = 1; most < strlen(text); most++) {
        struct buf out;

        buf_init(&out, most);
        assert_int_equal(schema_print(&s, &out), STATUS_LIMIT);
        buf_deinit(&out);
    }
    schema_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_printed_comes_back),
        cmocka_unit_test(test_a_column_that_is_ignored_by_now_is_printed_as_one),
        cmocka_unit_test(test_a_text_that_is_too_long_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
