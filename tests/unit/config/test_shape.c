/* test_shape.c -- how deep, how many, how long.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const struct shape_limits limits = {.depth = 2, .nodes = 6, .scalar_max = 4};

static void expect(const char *text, size_t line, const char *reason)
{
    const char *why = NULL;
    size_t at = 0;
    const bool within = shape_within(text, strlen(text), &limits, &at, &why);

    assert_int_equal(within, reason == NULL);
    if (reason == NULL)
        return;
    assert_string_equal(why, reason);
    assert_int_equal(at, line);
}

static void test_what_is_within_the_limits_passes(void **state)
{
    (void)state;
    expect("", 0, NULL);
    expect("a: {b: c}\n", 0, NULL);
    expect("[a, b, [c, d]]\n", 0, NULL);
    expect("a: b\n---\nc: d\n", 0, NULL); /* how many documents is another's business */
    expect("a: 'bcde'\n", 0, NULL);
}

static void test_what_is_too_deep_too_many_or_too_long_is_named(void **state)
{
    (void)state;
    expect("a:\n  b:\n    c: d\n", 3, "nested too deeply");
    expect("[[[", 1, "nested too deeply");
    expect("[a, b,\n c, d,\n e, f]", 3, "more entries than there may be");
    expect("a:\n  bcdef\n", 2, "a text too long");
    expect("- - - x\n", 1, "nested too deeply");
}

static void test_what_refers_to_elsewhere_is_refused(void **state)
{
    (void)state;
    expect("a: &b c\n", 1, "anchors are not accepted");
    expect("a: &b [c]\n", 1, "anchors are not accepted");
    expect("a:\n  *b\n", 2, "aliases are not accepted");
    expect("a: !!str b\n", 1, "tags are not accepted");
    expect("!x {a: b}\n", 1, "tags are not accepted");
}

static void test_a_comment_hides_no_entry(void **state)
{
    static const char hidden[] = "a control character, or one that ends a line or turns it round "
                                 "unseen: refused, since a comment could hide keys";

    (void)state;
    expect("a: b\n# c\xe2\x80\xa8"
           "d: e\n",
           2, hidden);
    expect("a: b # c\rd: e\n", 1, hidden);
    expect("a: b\r\n# c\r\n", 0, NULL);
}

static void test_what_is_no_yaml_is_left_to_who_says_so(void **state)
{
    (void)state;
    expect("a: [\n", 0, NULL);
    expect("\"", 0, NULL);
    expect("a: b: c\n", 0, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_within_the_limits_passes),
        cmocka_unit_test(test_what_is_too_deep_too_many_or_too_long_is_named),
        cmocka_unit_test(test_what_refers_to_elsewhere_is_refused),
        cmocka_unit_test(test_a_comment_hides_no_entry),
        cmocka_unit_test(test_what_is_no_yaml_is_left_to_who_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
