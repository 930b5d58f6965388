/* test_key_value.c -- scalars, lists, their limits, and how they look in a message.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/key_value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void split(struct key_value *v, const char *text)
{
    memset(v, 0, sizeof *v);
    assert_true(key_value_split(v, text, strlen(text)));
}

static void test_key_value_split_knows_scalars_from_lists(void **state)
{
    struct key_value v;

    (void)state;
    split(&v, "sum");
    assert_false(v.list);
    assert_int_equal(v.n, 1);
    assert_string_equal(v.item[0].text, "sum");
    split(&v, "[64, 32]");
    assert_true(v.list);
    assert_int_equal(v.n, 2);
    assert_string_equal(v.item[1].text, "32");
    split(&v, "[]");
    assert_true(v.list);
    assert_int_equal(v.n, 0);
    split(&v, "[1");
    assert_false(v.list);
}

/* As plans print them, and no other way. */
static void test_key_value_split_takes_maps_in_lists(void **state)
{
    static const char *const no[] = {
        "[{a: {b: 1}]",
        "[{a: {b: 1}} ]x]",
        "[{a: 1}]",
        "[{a}]",
        "[{}]",
        "[{{}}]",
        "[{a: {b: {c: 1}}}]",
        "[{a: {b:1}}]",
        "[{a:{b: 1}}]",
        "[{a: {b: 1,c: 2}}]",
        "[{a: {b: 1}, c: {d: 1}}]",
        "[{a b: {c: 1}}]",
        "[{a=1: {c: 1}}]",
        "[{a: {b: 1}},{]",
        "[{,1]",
    };
    struct key_value v;

    (void)state;
    split(&v, "[64,{a: {b: 1, c: 2}}, {d: {e: 3}} ,relu]");
    assert_true(v.list);
    assert_int_equal(v.n, 4);
    assert_string_equal(v.item[1].text, "a b=1 c=2");
    assert_true(v.item[1].map && v.item[2].map && !v.item[0].map && !v.item[3].map);
    assert_string_equal(v.item[2].text, "d e=3");
    assert_string_equal(v.item[3].text, "relu");
    split(&v, "{a: {b: 1}}"); /* no list: as it stands */
    assert_true(!v.list && !v.item[0].map);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        memset(&v, 0, sizeof v);
        if (key_value_split(&v, no[i], strlen(no[i])))
            fail_msg("%s is taken", no[i]);
    }
}

static void test_a_map_in_a_list_has_a_longest_text(void **state)
{
    char text[KEY_VALUE_MAP_MAX + 16] = "[{a: {b: ";
    struct key_value v = {0};

    (void)state;
    memset(text + 9, '1', KEY_VALUE_MAP_MAX - 1);
    strcpy(text + 9 + KEY_VALUE_MAP_MAX - 1, "}}]");
    assert_false(key_value_split(&v, text, strlen(text)));
}

static void test_key_value_add_refuses_more_than_fits(void **state)
{
    struct key_value v = {0};
    char big[KEY_VALUE_POOL];

    (void)state;
    memset(big, 'a', sizeof big);
    assert_false(key_value_add(&v, big, sizeof big, false, 1));
    assert_true(key_value_add(&v, big, sizeof big - 1, false, 1));
    assert_false(key_value_add(&v, "", 0, false, 1));
    memset(&v, 0, sizeof v);
    for (int i = 0; i < KEY_VALUE_ITEMS_MAX; i++)
        assert_true(key_value_add(&v, "x", 1, false, 1));
    assert_false(key_value_add(&v, "x", 1, false, 1));
}

static void test_key_value_add_refuses_a_nul(void **state)
{
    struct key_value v = {0};

    (void)state;
    assert_false(key_value_add(&v, "a\0b", 3, false, 1));
    assert_true(key_value_add(&v, "a b", 3, false, 1));
}

static void test_a_node_is_a_text_or_a_list_of_texts(void **state)
{
    struct tree last = {.text = "b", .quoted = true, .value_line = 3};
    struct tree first = {.text = "a", .value_line = 2, .next = &last};
    const struct tree list = {.kind = TREE_LIST, .value_line = 1, .n = 2, .first = &first};
    const struct tree map = {.kind = TREE_MAP, .value_line = 7};
    struct key_value v = {0};
    const char *why;
    int line;

    (void)state;
    assert_true(key_value_read(&v, &last, &line, &why));
    assert_true(!v.list && v.n == 1 && v.item[0].quoted && v.item[0].line == 3);
    memset(&v, 0, sizeof v);
    assert_true(key_value_read(&v, &list, &line, &why));
    assert_true(v.list && v.n == 2 && !v.item[0].quoted && v.item[1].quoted);
    assert_string_equal(v.item[0].text, "a");
    assert_int_equal(v.item[0].line, 2);

    memset(&v, 0, sizeof v);
    assert_false(key_value_read(&v, &map, &line, &why));
    assert_int_equal(line, 7);
    assert_string_equal(why, "takes a value, not keys of its own");
    memset(&v, 0, sizeof v);
    last.kind = TREE_LIST;
    assert_false(key_value_read(&v, &list, &line, &why));
    assert_int_equal(line, 3);
    assert_string_equal(why, "a list here holds single values only");
}

static void test_key_value_show_is_printable_and_fits(void **state)
{
    struct key_value v;
    char out[12];

    (void)state;
    split(&v, "a\x1b[31m");
    key_value_show(&v, out, sizeof out);
    assert_string_equal(out, "a?[31m");
    split(&v, "\xff\x7f");
    key_value_show(&v, out, sizeof out);
    assert_string_equal(out, "??");
    split(&v, "[64,32]");
    key_value_show(&v, out, sizeof out);
    assert_string_equal(out, "[64, 32]");
    split(&v, "abcdefghijk");
    key_value_show(&v, out, sizeof out);
    assert_string_equal(out, "abcdefghijk");
    split(&v, "abcdefghijkl");
    key_value_show(&v, out, sizeof out);
    assert_string_equal(out, "abcdefgh...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_key_value_split_knows_scalars_from_lists),
        cmocka_unit_test(test_key_value_split_takes_maps_in_lists),
        cmocka_unit_test(test_a_map_in_a_list_has_a_longest_text),
        cmocka_unit_test(test_key_value_add_refuses_more_than_fits),
        cmocka_unit_test(test_key_value_add_refuses_a_nul),
        cmocka_unit_test(test_a_node_is_a_text_or_a_list_of_texts),
        cmocka_unit_test(test_key_value_show_is_printable_and_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
