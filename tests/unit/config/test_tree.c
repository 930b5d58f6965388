/* test_tree.c -- which YAML is read, which is refused, on which line and below which names; how
 * deep, how many, how long.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/tree.h"

#include "common/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const struct tree_limits wide = {
    .bytes = 65536, .depth = 8, .nodes = 2000, .text_max = 65536};
static const struct tree_limits narrow = {.bytes = 64, .depth = 2, .nodes = 6, .text_max = 4};

/* The tree as it was understood: `name@its line:value@its line`, texts that were quoted in quotes.
 */
static void show(const struct tree *t, char *out, size_t size)
{
    size_t n = 0;

    if (t->name != NULL)
        n += (size_t)snprintf(out, size, "%s@%d:", t->name, t->line);
    else
        assert_int_equal(t->line, t->value_line);
    if (t->kind == TREE_SCALAR) {
        assert_int_equal(t->n, 0);
        snprintf(out + n, size - n, t->quoted ? "'%s'@%d" : "%s@%d", t->text, t->value_line);
    } else {
        size_t items = 0;

        n += (size_t)snprintf(out + n, size - n, "%c", t->kind == TREE_MAP ? '{' : '[');
        for (const struct tree *e = t->first; e != NULL; e = e->next, items++) {
            show(e, out + n, size - n);
            n += strlen(out + n);
            n += (size_t)snprintf(out + n, size - n, "%s", e->next == NULL ? "" : " ");
        }
        assert_int_equal(items, t->n);
        snprintf(out + n, size - n, "%c@%d", t->kind == TREE_MAP ? '}' : ']', t->value_line);
    }
}

static void expect(const char *text, const struct tree_limits *limits, const char *shown)
{
    char out[512] = "none";
    const struct tree *root;
    struct tree_fault f;
    struct arena a;

    if (tree_read(&root, &a, text, strlen(text), limits, &f) != STATUS_OK)
        fail_msg("%s\nline %d: %s: %s", text, f.line, f.path, f.reason);
    if (root != NULL)
        show(root, out, sizeof out);
    assert_string_equal(out, shown);
    arena_deinit(&a);
}

static void refuse_bytes(const char *text, size_t n, const struct tree_limits *limits, int line,
                         const char *path, const char *reason)
{
    const struct tree *root;
    struct tree_fault f;
    struct arena a;

    if (tree_read(&root, &a, text, n, limits, &f) != STATUS_CONFIG)
        fail_msg("passed:\n%s", text);
    if (f.line != line || strcmp(f.path, path) != 0 ||
        strncmp(f.reason, reason, strlen(reason)) != 0)
        fail_msg("%s\ngave line %d: '%s': %s", text, f.line, f.path, f.reason);
    assert_null(root);
    arena_deinit(&a);
}

static void refuse(const char *text, int line, const char *path, const char *reason)
{
    refuse_bytes(text, strlen(text), &wide, line, path, reason);
}

static void test_a_text_is_read_with_the_line_of_everything(void **state)
{
    (void)state;
    expect("# a comment\nv: 1\ns:\n  v: 'x'\n  s:\n    w: [a, \"b\"]\n  w:\n  - c\n  - d\n", &wide,
           "{v@2:1@2 s@3:{v@4:'x'@4 s@5:{w@6:[a@6 'b'@6]@6}@6 w@7:[c@8 d@9]@8}@4}@2");
    expect("{v: 1, s: {v: 2}}", &wide, "{v@1:1@1 s@1:{v@1:2@1}@1}@1");
    expect("---\nv:\n   1\n...\n", &wide, "{v@2:1@3}@2");
    expect("- [a, {b: c}]\n- []\n- {}\n- \"\"\n", &wide, "[[a@1 {b@1:c@1}@1]@1 []@2 {}@3 ''@4]@1");
    expect("two words\n", &wide, "two words@1");
    expect("é: \xe2\x82\xac\n", &wide, "{é@1:\xe2\x82\xac@1}@1");
}

static void test_nothing_is_no_document_or_an_empty_text(void **state)
{
    (void)state;
    expect("", &wide, "none");
    expect("# nothing\n", &wide, "none");
    expect("---\n", &wide, "@2");
    expect("v:\n", &wide, "{v@1:@1}@1");
}

static void test_only_what_is_empty_and_not_quoted_is_empty(void **state)
{
    const struct tree none = {.text = ""}, quoted = {.text = "", .quoted = true};
    const struct tree text = {.text = "x"}, list = {.kind = TREE_LIST}, map = {.kind = TREE_MAP};

    (void)state;
    assert_true(tree_is_empty(&none));
    assert_false(tree_is_empty(&quoted) || tree_is_empty(&text));
    assert_false(tree_is_empty(&list) || tree_is_empty(&map));
}

static void test_what_refers_to_elsewhere_is_refused(void **state)
{
    (void)state;
    refuse("v: &a 1\n", 1, "v", "anchors are not accepted");
    refuse("v: 1\ns: &a {v: 1}\n", 2, "s", "anchors are not accepted");
    refuse("v: 1\ns:\n  w: &a [1]\n", 3, "s.w", "anchors are not accepted");
    refuse("&a v: 1\n", 1, "", "anchors are not accepted");
    refuse("v:\n  *a\n", 2, "v", "aliases are not accepted");
    refuse("v: !!int 1\n", 1, "v", "tags are not accepted");
    refuse("v: !x [1]\n", 1, "v", "tags are not accepted");
    refuse("!!map\nv: 1\n", 1, "", "tags are not accepted");
    refuse("v: 1\n<<: {w: 1}\n", 2, "", "merge keys are not accepted");
    refuse("%YAML 1.1\n---\nv: 1\n", 1, "", "directives are not accepted");
    refuse("%TAG ! tag:x,2000:\n---\nv: 1\n", 1, "", "directives are not accepted");
    refuse("v: 1\n---\nw: 1\n", 2, "", "a second document is not accepted");
    refuse("v: 1\n---\n[\n", 2, "", "a second document is not accepted");
}

static void test_a_name_is_one_text_and_there_once(void **state)
{
    (void)state;
    refuse("[v]: 1\n", 1, "", "a key is a single name");
    refuse("w: {? {v: 1} : 2}\n", 1, "w", "a key is a single name");
    refuse("v: 1\n'': 2\n", 2, "", "a key without a name");
    refuse("v: 1\nw: 2\nv: 3\n", 3, "v", "repeated, first on line 1");
    refuse("v: 1\nw: 2\n'v': 3\n", 3, "v", "repeated, first on line 1");
    refuse("s:\n  v: 1\nv: 1\ns:\n  w: 1\n", 4, "s", "repeated, first on line 1");
    refuse("s:\n- a\n- v: 1\n  v: 2\n", 4, "s.v", "repeated, first on line 3");
    expect("v: 1\ns:\n  v: 1\n", &wide, "{v@1:1@1 s@2:{v@3:1@3}@3}@1");
}

static void test_a_text_is_one_line_of_printable_characters(void **state)
{
    (void)state;
    refuse("v: \"a\\0b\"\n", 1, "v", "a text of several lines, or with control characters");
    refuse("v: \"a\\nb\"\n", 1, "v", "a text of several lines");
    refuse("v: |\n  a\n", 1, "v", "a text of several lines");
    refuse("v: \"\\e[31m\"\n", 1, "v", "a text of several lines");
    refuse("v: \"\\L\"\n", 1, "v", "a text of several lines");
    refuse("v: [a, \"\\x7f\"]\n", 1, "v", "a text of several lines");
    refuse("s: {\"v\\0\": 1}\n", 1, "s", "a text of several lines");
    refuse_bytes("v: a\0b\n", 7, &wide, 1, "", "a control character");
    expect("v: a\n  b\n", &wide, "{v@1:a b@1}@1");
}

static void test_a_path_is_cut_and_shows_no_character_that_is_none(void **state)
{
    char text[600], path[TREE_PATH_MAX];

    (void)state;
    refuse("é: {v: *a}\n", 1, "?\?.v", "aliases are not accepted");
    memset(text, 'n', sizeof text);
    memcpy(text + 300, ": {v: *a}", 10);
    memset(path, 'n', sizeof path);
    path[sizeof path - 1] = 0;
    refuse(text, 1, path, "aliases are not accepted");
}

static void test_what_is_no_yaml_has_a_line_and_no_path(void **state)
{
    (void)state;
    refuse("v: 1\ns:\n\tv: 1\n", 3, "", "found character that cannot start any token");
    refuse("v: 1\nw: [1, 2\n", 3, "", "did not find expected ',' or ']'");
    refuse("v: 1\n   w: 2\n", 2, "", "mapping values are not allowed");
    refuse("v: \"abc\n", 2, "", "found unexpected end of stream");
    refuse("v: \xff\n", 0, "", "byte 3: ");
}

/* What stands behind # in an editor would be a line of its own for YAML. */
static void test_a_comment_hides_no_keys(void **state)
{
    static const char *const ends[] = {"\r", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9",
                                       /* no ends of lines, and still not what they look like */
                                       "\x1b[1A", "\x0b", "\x0c", "\x7f", "\xc2\x9b",
                                       "\xe2\x80\xae", "\xe2\x81\xa6"};

    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char text[64];

        snprintf(text, sizeof text, "v: 1\r\n# words%ss: {v: 2}\n", ends[i]);
        refuse(text, 2, "", "a control character");
    }
    refuse("v: 1 # words\r", 1, "", "a control character");
    expect("v: 1\r\n#\twords\r\ns: {v: 2} # \xc3\xa9t\xc3\xa9 \xe2\x80\x94 \xe2\x82\xac\n", &wide,
           "{v@1:1@1 s@3:{v@3:2@3}@3}@1");
    expect("\xef\xbb\xbfv: 1\n", &wide, "{v@1:1@1}@1");
}

static void refuse_narrow(const char *text, int line, const char *reason)
{
    refuse_bytes(text, strlen(text), &narrow, line, "", reason);
}

static void test_what_is_too_deep_too_many_or_too_long_is_named(void **state)
{
    (void)state;
    refuse_bytes("a:\n  b:\n    c: d\n", 17, &narrow, 3, "a.b", "nested too deeply");
    refuse_narrow("[[[", 1, "nested too deeply");
    refuse_narrow("- - - x\n", 1, "nested too deeply");
    expect("[[a]]", &narrow, "[[a@1]@1]@1");
    refuse_narrow("[a, b,\n c, d,\n e, f]", 3, "more entries than there may be");
    refuse_bytes("{a: b,\n c: d,\n e: f}", 20, &narrow, 3, "e", "more entries than there may be");
    expect("[a, b,\n c, d,\n e]", &narrow, "[a@1 b@1 c@2 d@2 e@3]@1");
    refuse_bytes("a:\n  bcdef\n", 11, &narrow, 2, "a", "a text too long");
    expect("a: 'bcde'\n", &narrow, "{a@1:'bcde'@1}@1");
}

static void test_a_text_has_as_many_bytes_as_it_may(void **state)
{
    static char text[65536 + 1];

    (void)state;
    memset(text, '#', 65536);
    expect(text, &wide, "none");
    text[65536] = '\r'; /* of what is larger no byte is looked at */
    refuse_bytes(text, sizeof text, &wide, 0, "", "larger than 65536 bytes");
}

/* What is refused has been read no further than what is accepted: libyaml alone takes seconds. */
static void test_brackets_end_at_the_first_that_is_too_deep(void **state)
{
    static const char *const units[] = {"[", "{", "{a: ", "- ", "? "};
    static const char *const said[] = {"nested too deeply", "a key is a single name",
                                       "nested too deeply", "nested too deeply",
                                       "a key is a single name"};
    static char text[65536];

    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        const size_t n = strlen(units[i]);

        for (size_t at = 0; at + n < sizeof text; at += n)
            memcpy(text + at, units[i], n + 1);
        refuse(text, 1, strcmp(units[i], "{a: ") == 0 ? "a.a.a.a.a.a.a.a" : "", said[i]);
    }
}

static void test_any_text_within_the_limits_has_room(void **state)
{
    static const struct tree_limits one = {.bytes = 65536, .nodes = 1, .text_max = 65536};
    static char items[2 * 2000], spaces[65536];
    const struct tree *root;
    struct tree_fault f;
    struct arena a;

    (void)state;
    for (size_t i = 0; i < sizeof items; i++)
        items[i] = i % 2 == 1 ? 'a' : ',';
    items[0] = '[';
    items[2 * 1999 + 1] = ']';
    items[2 * 1999] = ' ';
    assert_int_equal(tree_read(&root, &a, items, sizeof items, &wide, &f), STATUS_OK);
    assert_int_equal(1 + root->n, wide.nodes);
    arena_deinit(&a);

    for (size_t i = 1; i < sizeof spaces - 1; i++)
        spaces[i] = i % 2 == 1 ? '\\' : '_'; /* U+00A0: as many bytes as its escape */
    spaces[0] = spaces[sizeof spaces - 1] = '"';
    assert_int_equal(tree_read(&root, &a, spaces, sizeof spaces, &one, &f), STATUS_OK);
    assert_int_equal(strlen(root->text), sizeof spaces - 2);
    arena_deinit(&a);
}

static void test_memory_that_is_short_is_said(void **state)
{
    static const char text[] = "v: [1, 2]\n";

    (void)state;
    for (uint64_t n = 1;; n++) {
        const struct tree *root;
        struct tree_fault f;
        struct arena a;
        enum status s;
        bool failed;

        mem_fail_at(n);
        s = tree_read(&root, &a, text, sizeof text - 1, &wide, &f);
        failed = mem_fail_left() == 0;
        mem_fail_at(0);
        arena_deinit(&a);
        if (!failed) {
            assert_int_equal(s, STATUS_OK);
            assert_true(n > 1);
            break;
        }
        assert_int_equal(s, STATUS_MEMORY);
        assert_string_equal(f.reason, status_words(STATUS_MEMORY));
        assert_null(root);
    }
}

/* Each is held against all before it, so a mapping ends at the first that is too many: 10^5 of them
 * would be five thousand million comparisons, and here two hundred thousand nodes are allowed. */
static void test_a_mapping_has_as_many_names_as_it_may(void **state)
{
    enum { MANY = 100000, EACH = 12 };
    static char text[MANY * EACH + 1];
    const struct tree_limits limits = {
        .bytes = sizeof text, .depth = 8, .nodes = 2 * MANY + 1, .text_max = 16};
    const struct tree *root;
    struct tree_fault f;
    struct arena a;

    (void)state;
    for (int i = 0; i < MANY; i++)
        snprintf(text + i * EACH, EACH + 1, "v%06d: 1 \n", i);
    refuse_bytes(text, sizeof text - 1, &limits, TREE_NAMES_MAX + 1, "",
                 "more than 256 names in one mapping");
    assert_int_equal(tree_read(&root, &a, text, TREE_NAMES_MAX * EACH, &limits, &f), STATUS_OK);
    assert_int_equal(root->n, TREE_NAMES_MAX);
    arena_deinit(&a);
}

static void test_a_fault_is_one_line(void **state)
{
    struct tree_fault f = {.line = 3, .path = "a.b", .reason = "no"};
    struct error err = {0};

    (void)state;
    assert_int_equal(tree_refuse("f", STATUS_CONFIG, &f, &err), STATUS_CONFIG);
    assert_string_equal(err.text, "f:3: a.b: no");
    f.path[0] = 0;
    tree_refuse("f", STATUS_CONFIG, &f, &err);
    assert_string_equal(err.text, "f:3: no");
    f.line = 0;
    assert_int_equal(tree_refuse("f", STATUS_MEMORY, &f, &err), STATUS_MEMORY);
    assert_string_equal(err.text, "f: no");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_text_is_read_with_the_line_of_everything),
        cmocka_unit_test(test_nothing_is_no_document_or_an_empty_text),
        cmocka_unit_test(test_only_what_is_empty_and_not_quoted_is_empty),
        cmocka_unit_test(test_what_refers_to_elsewhere_is_refused),
        cmocka_unit_test(test_a_name_is_one_text_and_there_once),
        cmocka_unit_test(test_a_text_is_one_line_of_printable_characters),
        cmocka_unit_test(test_a_path_is_cut_and_shows_no_character_that_is_none),
        cmocka_unit_test(test_what_is_no_yaml_has_a_line_and_no_path),
        cmocka_unit_test(test_a_comment_hides_no_keys),
        cmocka_unit_test(test_what_is_too_deep_too_many_or_too_long_is_named),
        cmocka_unit_test(test_a_text_has_as_many_bytes_as_it_may),
        cmocka_unit_test(test_a_mapping_has_as_many_names_as_it_may),
        cmocka_unit_test(test_brackets_end_at_the_first_that_is_too_deep),
        cmocka_unit_test(test_any_text_within_the_limits_has_room),
        cmocka_unit_test(test_memory_that_is_short_is_said),
        cmocka_unit_test(test_a_fault_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
