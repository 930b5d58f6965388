/* test_classes.c -- labels by name, decided by the training rows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/classes.h"

#include "common/base/mem.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct error err;

/* The classes of the rows in the order of ids, or why there are none. */
static const char *read_text(struct classes *c, const char *text, const char *positive)
{
    static char out[600];
    const struct classes_want want = {.positive = positive};
    struct table t;

    out[0] = 0;
    err = (struct error){0};
    if (classes_read(c, &t, scratch_write_text("l.csv", text), &want, &err) != STATUS_OK) {
        assert_int_equal(err.status, STATUS_DATA);
        assert_true(t.x == NULL && t.rows == 0);
        return strstr(err.text, "l.csv");
    }
    for (size_t i = 0; i < t.rows; i++)
        sprintf(out + strlen(out), "%s%g", i > 0 ? " " : "", (double)t.x[i]);
    table_deinit(&t);
    return out;
}

static const char *once(const char *text, const char *positive)
{
    struct classes c = {0};
    const char *out = read_text(&c, text, positive);

    classes_deinit(&c);
    return out;
}

static void test_numbers_are_classes_themselves(void **state)
{
    const struct classes numbers = {0};
    char *names;

    (void)state;
    assert_int_equal(classes_print(&numbers, &names), STATUS_OK);
    assert_null(names);
    assert_string_equal(once("id,label\n1,2\n2,0\n3,2\n", ""), "2 0 2");
    assert_string_equal(once("id,label\n1,0.5\n", NULL), "0.5");
    assert_string_equal(once("id,label\n1,2\n2,x\n", ""),
                        "l.csv:3: column 2 \"label\": not a number");
    assert_string_equal(once("id,label\n1,2\n2,\n", ""), "l.csv:3: column 2 \"label\": empty cell");
}

static void test_texts_are_classes_in_their_order(void **state)
{
    struct classes c = {0};
    char name[64], *names;

    (void)state;
    assert_string_equal(read_text(&c, "id,label\n1,>50K\n2,<=50K\n3,\" mid\"\n", ""), "1 0 2");
    assert_int_equal(c.n, 3);
    classes_name(&c, 1, name, sizeof name);
    assert_string_equal(name, "\">50K\"");
    assert_int_equal(classes_print(&c, &names), STATUS_OK);
    assert_string_equal(names, "<=50K\n>50K\nmid\n");
    mem_free(names);
    /* Another file keeps to them. */
    assert_string_equal(read_text(&c, "id,label\n7,<=50K\n8,mid\n", ""), "0 2");
    assert_string_equal(read_text(&c, "id,label\n7,<=50K\n8,none\n", ""),
                        "l.csv: id \"8\": a label that no training row has");
    classes_deinit(&c);
    assert_string_equal(once("id,label\n1,no\n2,\n3,yes\n", ""),
                        "l.csv:3: column 2 \"label\": empty cell");
    assert_string_equal(once("id,label\n1,no\n2,?\n3,yes\n", ""),
                        "l.csv:3: column 2 \"label\": a missing value");
    assert_string_equal(once("id,label\n1,no\n2,no\n", ""), "l.csv: every row has the same label");
    assert_string_equal(once("id,label\n1,2020-01-01\n", ""),
                        "l.csv: column \"label\": times are no labels");
}

static void test_the_positive_label_is_class_1(void **state)
{
    struct classes c = {0};
    char name[64], *names;

    (void)state;
    assert_string_equal(once("id,label\n1,a\n2,b\n", "a"), "1 0");
    assert_string_equal(once("id,label\n1,3\n2,7\n3,3\n", "7"), "0 1 0");
    assert_string_equal(read_text(&c, "id,label\n1,a\n2,b\n3,c\n", "b"), "0 1 0");
    assert_int_equal(c.n, 2);
    classes_name(&c, 0, name, sizeof name);
    assert_string_equal(name, "\"a\", \"c\"");
    assert_int_equal(classes_print(&c, &names), STATUS_OK);
    assert_string_equal(names, "other\nb\n");
    mem_free(names);
    assert_string_equal(read_text(&c, "id,label\n1,d\n", "b"),
                        "l.csv: id \"1\": a label that no training row has");
    classes_deinit(&c);
    assert_string_equal(once("id,label\n1,a\n2,b\n", "B"),
                        "l.csv: no row has the positive label \"B\"");
    assert_string_equal(once("id,label\n1,a\n2,a\n", "a"), "l.csv: every row has the same label");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_classes_themselves),
        cmocka_unit_test(test_texts_are_classes_in_their_order),
        cmocka_unit_test(test_the_positive_label_is_class_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
