/* test_alignment.c -- the text of a job of alignment has one form.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/alignment.h"

#include "common/config/key_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char good[] = "name=q3-2026\nextends=.\nextended=0\nids=120\nkeys=no:2\n"
                           "min_result=7\nreplace=1\ntrim=1\nfold=0\nunicode=1\nrows=1\n"
                           "chunk=500\npatience_ms=60000\n";
#define DIGEST "00ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e"
static const char several[] = "name=q4\nextends=q3\nextended=" DIGEST "\nids=7\n"
                              "keys=no:1,who:3,e-mail:1\nmin_result=7\nreplace=0\ntrim=1\n"
                              "fold=0\nunicode=0\nrows=0\nchunk=500\npatience_ms=60000\n";

static enum status parse(struct alignment *a, const char *text)
{
    return alignment_parse(a, (const uint8_t *)text, strlen(text), NULL);
}

static void test_a_text_is_read_as_it_is_written(void **state)
{
    struct alignment a;
    struct buf out;

    (void)state;
    assert_int_equal(parse(&a, good), STATUS_OK);
    assert_string_equal(a.name, "q3-2026");
    assert_int_equal(a.ids, 120);
    assert_int_equal(a.keys_n, 1);
    assert_string_equal(a.key[0].name, "no");
    assert_int_equal(a.key[0].columns, 2);
    assert_string_equal(a.extends, "");
    assert_int_equal(a.result_min, 7);
    assert_true(a.replace);
    assert_true(a.trim && !a.fold && a.unicode == CONFIG_UNICODE_NFKC);
    assert_int_equal(a.rows, CONFIG_ROWS_LABELLED);
    assert_int_equal(alignment_labelled(&a), 120);
    assert_int_equal(a.chunk, 500);
    assert_int_equal(a.patience_ms, 60000);
    buf_init(&out, 256);
    assert_int_equal(alignment_print(&a, &out), STATUS_OK);
    assert_int_equal(out.len, strlen(good));
    assert_memory_equal(out.data, good, out.len);
    buf_deinit(&out);
}

static void test_several_keys_and_what_is_extended_are_in_it(void **state)
{
    static const char *const changes[][2] = {
        {"extends=q3", "extends=q4"}, /* itself */
        {"extends=q3", "extends=asked"},
        {"extends=q3", "extends=."},
        {"1d1e\n", "1d1\n"},
        {"1d1e\n", "1D1E\n"},
        {"keys=no:1,", "keys=no:1,a:1,b:1,c:1,d:1,e:1,f:1,"},
    };
    struct alignment a;
    struct buf out;

    (void)state;
    assert_int_equal(parse(&a, several), STATUS_OK);
    assert_int_equal(a.keys_n, 3);
    assert_string_equal(a.key[2].name, "e-mail");
    assert_int_equal(a.key[1].columns, 3);
    assert_string_equal(a.extends, "q3");
    assert_int_equal(a.extended[1], 0xff);
    buf_init(&out, 512);
    assert_int_equal(alignment_print(&a, &out), STATUS_OK);
    assert_int_equal(out.len, strlen(several));
    assert_memory_equal(out.data, several, out.len);
    buf_deinit(&out);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const char *at = strstr(several, changes[i][0]);
        char text[512];

        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - several), several, changes[i][1],
                 at + strlen(changes[i][0]));
        assert_int_equal(parse(&a, text), STATUS_PROTOCOL);
    }
}

static void test_anything_else_is_refused(void **state)
{
    static const char *const changes[][2] = {
        {"q3-2026", ""},
        {"q3-2026", "Q3"},
        {"q3-2026", "../x"},
        {"ids=120", "ids=0"},
        {"ids=120", "ids=0120"},
        {"ids=120", "ids=16777217"},
        {"ids=120", "ids=+1"},
        {"ids=120", "ids= 1"},
        {"no:2", "no:0"},
        {"no:2", "no:17"},
        {"no:2", "no:02"},
        {"no:2", "no:2,"},
        {"no:2", "no:2,no:1"},
        {"no:2", "no"},
        {"no:2", ""},
        {"no:2", "no:2,who:1"}, /* of labelled rows */
        {"no:2", "a2345678901234567:2"},
        {"extends=.", "extends=q3"}, /* no digest */
        {"extends=.", "extends=.."},
        {"extends=.", "extends="},
        {"extended=0", "extended=" DIGEST},
        {"min_result=7", "min_result=16777217"},
        {"replace=1", "replace=2"},
        {"trim=1", "trim=2"},
        {"chunk=500", "chunk=0"},
        {"chunk=500", "chunk=16385"},
        {"unicode=1", "unicode=3"},
        {"rows=1", "rows=2"},
        {"rows=1\n", ""},
        {"60000", "999"},
        {"60000", "604800001"},
        {"60000\n", "60000"},
        {"60000\n", "60000\n\n"},
        {"q3-2026", "a234567890123456789012345678901234567890x"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const char *at = strstr(good, changes[i][0]);
        char text[512];
        struct alignment a;

        assert_non_null(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, changes[i][1],
                 at + strlen(changes[i][0]));
        assert_int_equal(parse(&a, text), STATUS_PROTOCOL);
    }
}

static void test_a_name_is_no_path(void **state)
{
    (void)state;
    assert_true(key_text_is_alignment("a-1"));
    assert_false(key_text_is_alignment(""));
    assert_false(key_text_is_alignment("a/b"));
    assert_false(key_text_is_alignment("."));
    assert_false(key_text_is_alignment("asked")); /* the file that counts */
    assert_true(key_text_is_alignment("asked-2"));
    assert_false(key_text_is_alignment("A"));
}

static void test_what_is_asked_for_is_one_name_and_whether_it_is_replaced(void **state)
{
    static const struct {
        const char *text, *name; /* NULL: refused */
        int rows;                /* -1: not said */
        bool replace;
    } cases[] = {
        {"name: q3\nreplace: true\n", "q3", -1, true},
        {"replace: false\nname: q3\n", NULL, -1, false},
        {"replace: true\nname: q3\nreplace: true\n", NULL, -1, false},
        {"replace: true\n", NULL, -1, false},
        {"name: q3\nreplace: truely\n", NULL, -1, false},
        {"name: q3", "q3", -1, false},
        {"extends: q2\nname: q3", "q3", -1, false},
        {"extends: q3\nname: q3", NULL, -1, false},
        {"extends: ../q\nname: q3", NULL, -1, false},
        {"extends: a\nextends: b\nname: q3", NULL, -1, false},
        {"# ids\n\n name:q3-a \r\n", "q3-a", -1, false},
        {"name: q3\nrows: common\n", "q3", CONFIG_ROWS_COMMON, false},
        {"rows:labelled\nname: q3\nreplace: true", "q3", CONFIG_ROWS_LABELLED, true},
        {"rows: labelled\n", NULL, -1, false},
        {"name: a\nrows: all\n", NULL, -1, false},
        {"name: a\nrows: labelle\n", NULL, -1, false},
        {"name: a\nrows:\n", NULL, -1, false},
        {"name: a\nrows: common\nrows: labelled\n", NULL, -1, false},
        {"", NULL, -1, false},
        {"name:\n", NULL, -1, false},
        {"name: a\nname: b\n", NULL, -1, false},
        {"name: ../x\n", NULL, -1, false},
        {"name: A\n", NULL, -1, false},
        {"other: a\n", NULL, -1, false},
        {"name: a b\n", NULL, -1, false},
        {"q3\n", NULL, -1, false},
        {"name: a234567890123456789012345678901234567890x\n", NULL, -1, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct alignment_order o;
        const enum status s =
            alignment_asked(&o, (const uint8_t *)cases[i].text, strlen(cases[i].text), NULL);

        assert_int_equal(s, cases[i].name != NULL ? STATUS_OK : STATUS_DATA);
        if (s != STATUS_OK)
            continue;
        assert_string_equal(o.name, cases[i].name);
        assert_int_equal(o.replace, cases[i].replace);
        assert_int_equal(o.rows_given ? (int)o.rows : -1, cases[i].rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_text_is_read_as_it_is_written),
        cmocka_unit_test(test_several_keys_and_what_is_extended_are_in_it),
        cmocka_unit_test(test_anything_else_is_refused),
        cmocka_unit_test(test_a_name_is_no_path),
        cmocka_unit_test(test_what_is_asked_for_is_one_name_and_whether_it_is_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
