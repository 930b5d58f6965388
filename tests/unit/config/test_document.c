/* test_document.c -- which YAML is read, which is refused, and on which line.
 *
 * The sink here knows a section `s` (and s.s) with values `v` and `w`, and a top-level value `v`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/document.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

struct seen {
    char text[512]; /* "path@line=value;" in the order of the file */
};

static enum document_kind kind(void *ctx, const char *path, struct document_fault *f)
{
    const char *dot = strrchr(path, '.'), *last = dot == NULL ? path : dot + 1;

    (void)ctx;
    if (strcmp(last, "s") == 0)
        return DOCUMENT_SECTION;
    if (strcmp(last, "v") == 0 || strcmp(last, "w") == 0)
        return DOCUMENT_VALUE;
    snprintf(f->reason, sizeof f->reason, "unknown key");
    return DOCUMENT_UNKNOWN;
}

static bool value(void *ctx, const char *path, const struct key_value *v, struct document_fault *f)
{
    struct seen *seen = ctx;
    size_t used = strlen(seen->text);
    char shown[64];

    key_value_show(v, shown, sizeof shown);
    if (!v->list && strcmp(v->item[0].text, "bad") == 0) {
        snprintf(f->reason, sizeof f->reason, "is bad");
        return false;
    }
    snprintf(seen->text + used, sizeof seen->text - used, "%s@%d=%s;", path, f->line, shown);
    return true;
}

static bool read_text(const char *text, size_t n, struct seen *seen, struct document_fault *f)
{
    const struct document_sink sink = {seen, kind, value};

    memset(seen, 0, sizeof *seen);
    return document_read(text, n, &sink, f);
}

static void expect(const char *text, const char *seen_text)
{
    struct document_fault f;
    struct seen seen;

    if (!read_text(text, strlen(text), &seen, &f))
        fail_msg("%s\nline %d: %s: %s", text, f.line, f.key, f.reason);
    assert_string_equal(seen.text, seen_text);
}

static void refuse(const char *text, int line, const char *key, const char *reason)
{
    struct document_fault f;
    struct seen seen;

    if (read_text(text, strlen(text), &seen, &f))
        fail_msg("passed:\n%s", text);
    if (f.line != line || strcmp(f.key, key) != 0 || strncmp(f.reason, reason, strlen(reason)) != 0)
        fail_msg("%s\ngave line %d: '%s': %s", text, f.line, f.key, f.reason);
}

static void test_document_gives_path_line_and_value(void **state)
{
    (void)state;
    expect("# a comment\nv: 1\ns:\n  v: 'x'\n  s:\n    w: [a, \"b\"]\n  w:\n  - c\n  - d\n",
           "v@2=1;s.v@4=\"x\";s.s.w@6=[a, \"b\"];s.w@8=[c, d];");
    expect("{v: 1, s: {v: 2}}", "v@1=1;s.v@1=2;");
    expect("---\nv: 1\n...\n", "v@2=1;");
    expect("v: \"\"\n", "v@1=\"\";");
    expect("s: {}\n", "");
    expect("v: []\n", "v@1=[];");
}

static void test_document_may_be_empty(void **state)
{
    (void)state;
    expect("", "");
    expect("# nothing\n", "");
    expect("---\n", "");
}

static void test_document_refuses_what_a_configuration_does_not_need(void **state)
{
    (void)state;
    refuse("v: &a 1\n", 1, "v", "anchors are not accepted");
    refuse("v: 1\ns: &a {v: 1}\n", 2, "s", "anchors are not accepted");
    refuse("v: 1\nw: &a [1]\n", 2, "w", "anchors are not accepted");
    refuse("v: *a\n", 1, "v", "aliases are not accepted");
    refuse("v: !!int 1\n", 1, "v", "tags are not accepted");
    refuse("v: !x [1]\n", 1, "v", "tags are not accepted");
    refuse("!!map\nv: 1\n", 1, "", "tags are not accepted");
    refuse("v: 1\n<<: {w: 1}\n", 2, "", "merge keys are not accepted");
    refuse("%YAML 1.1\n---\nv: 1\n", 1, "", "directives are not accepted");
    refuse("%TAG ! tag:x,2000:\n---\nv: 1\n", 1, "", "directives are not accepted");
    refuse("v: 1\n---\nw: 1\n", 2, "", "a second document is not accepted");
    refuse("- v\n", 1, "", "not a list of");
    refuse("v\n", 1, "", "not a list of");
    refuse("[v]: 1\n", 1, "", "a key is a single name");
    refuse("? {v: 1}\n: 2\n", 1, "", "a key is a single name");
    refuse("\"v \": 1\n", 1, "", "a key is a name of");
    refuse("\"v\\0\": 1\n", 1, "", "a key is a name of");
    refuse("s.v: 1\n", 1, "", "a key is a name of");
    refuse("w: [[1]]\n", 1, "w", "a list here holds single values only");
    refuse("w: [{v: 1}]\n", 1, "w", "a list here holds single values only");
}

static void test_document_refuses_repetition_at_its_line(void **state)
{
    (void)state;
    refuse("v: 1\nw: 2\nv: 3\n", 3, "v", "repeated, first on line 1");
    refuse("s:\n  v: 1\nv: 1\ns:\n  w: 1\n", 4, "s", "repeated, first on line 1");
    expect("v: 1\ns:\n  v: 1\n", "v@1=1;s.v@3=1;");
}

static void test_document_tells_sections_from_values(void **state)
{
    (void)state;
    refuse("s: 1\n", 1, "s", "is a section: it takes keys of its own");
    refuse("s: [1]\n", 1, "s", "is a section: it takes keys of its own");
    refuse("v: 1\ns:\n# v: 2\n", 2, "s", "is a section without keys");
    refuse("v: {w: 1}\n", 1, "v", "takes a value, not keys of its own");
    refuse("v:\n", 1, "v", "has no value");
    refuse("s:\n  v: 1\n  x: 1\n", 3, "s.x", "unknown key");
    refuse("s:\n  v: bad\n", 2, "s.v", "is bad");
}

static void test_document_names_the_line_of_bad_yaml(void **state)
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
    expect("v: 1\r\n#\twords\r\ns: {v: 2} # \xc3\xa9t\xc3\xa9 \xe2\x80\x94 \xe2\x82\xac\n",
           "v@1=1;s.v@3=2;");
    expect("\xef\xbb\xbfv: 1\n", "v@1=1;");
}

static void test_document_holds_no_nul(void **state)
{
    struct document_fault f;
    struct seen seen;

    (void)state;
    refuse("v: \"a\\0b\"\n", 1, "v", "too long");
    assert_false(read_text("v: a\0b\n", 7, &seen, &f));
}

static void test_document_limits_size_length_and_depth(void **state)
{
    static char text[DOCUMENT_BYTES_MAX + 1];
    struct document_fault f;
    struct seen seen;

    (void)state;
    memset(text, '#', sizeof text);
    assert_true(read_text(text, DOCUMENT_BYTES_MAX, &seen, &f));
    assert_false(read_text(text, sizeof text, &seen, &f));
    assert_string_equal(f.reason, "larger than 65536 bytes");

    memset(text, 'a', sizeof text);
    memcpy(text, "v: ", 3);
    assert_false(read_text(text, DOCUMENT_BYTES_MAX, &seen, &f));
    assert_int_equal(f.line, 1);
    memset(text, '[', sizeof text);
    assert_false(read_text(text, DOCUMENT_BYTES_MAX, &seen, &f));
    memset(text, '{', sizeof text);
    assert_false(read_text(text, DOCUMENT_BYTES_MAX, &seen, &f));

    expect("{s: {s: {s: {v: 1}}}}", "s.s.s.v@1=1;");
    refuse("{s: {s: {s: {s: {v: 1}}}}}", 1, "s.s.s.s", "nested too deeply");
}

static void test_a_list_has_at_most_16_items(void **state)
{
    (void)state;
    expect("v: [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
           "v@1=[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1];");
    refuse("v: [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,\n1]", 2, "v", "too long, too many items");
}

static void test_a_lone_value_is_a_scalar_or_a_list(void **state)
{
    struct key_value v = {0};
    struct document_fault f;

    (void)state;
    assert_true(document_read_value("[64, 32]", 8, &v, &f));
    assert_true(v.list && v.n == 2);
    memset(&v, 0, sizeof v);
    assert_true(document_read_value("0.25", 4, &v, &f));
    assert_true(!v.list && !v.item[0].quoted);
    assert_string_equal(v.item[0].text, "0.25");
    memset(&v, 0, sizeof v);
    assert_false(document_read_value("{a: 1}", 6, &v, &f));
    assert_false(document_read_value("a: 1", 4, &v, &f));
    assert_false(document_read_value("[1", 2, &v, &f));
    assert_false(document_read_value("&a 1", 4, &v, &f));
    assert_false(document_read_value("1\n---\n2", 7, &v, &f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document_gives_path_line_and_value),
        cmocka_unit_test(test_document_may_be_empty),
        cmocka_unit_test(test_document_refuses_what_a_configuration_does_not_need),
        cmocka_unit_test(test_document_refuses_repetition_at_its_line),
        cmocka_unit_test(test_document_tells_sections_from_values),
        cmocka_unit_test(test_document_names_the_line_of_bad_yaml),
        cmocka_unit_test(test_a_comment_hides_no_keys),
        cmocka_unit_test(test_document_holds_no_nul),
        cmocka_unit_test(test_document_limits_size_length_and_depth),
        cmocka_unit_test(test_a_list_has_at_most_16_items),
        cmocka_unit_test(test_a_lone_value_is_a_scalar_or_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
