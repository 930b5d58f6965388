/* test_idlist.c -- which rows of a table are ids, what their digests are, and how they are spelt.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/idlist.h"

#include "common/align/member.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/golden/align.h"
#include "tests/lib/scratch.h"

static struct config_align rule(const char *path)
{
    struct config_align c = {.trim = true, .unicode = CONFIG_UNICODE_NFC};

    snprintf(c.table, sizeof c.table, "%s", path);
    return c;
}

static struct idlist read_well(const struct config_align *c)
{
    struct error err = {0};
    struct idlist l;

    if (idlist_read(&l, c, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return l;
}

static void expect_text(const struct idlist *l, const char *want)
{
    assert_int_equal(l->text.len, strlen(want));
    assert_memory_equal(l->text.data, want, l->text.len);
    assert_int_equal(l->at[0], 0);
    assert_int_equal(l->at[l->n], l->text.len);
}

static const uint8_t *row(const struct idlist *l, uint32_t i)
{
    assert_true(i < l->n);
    return l->rows + (size_t)i * ALIGN_ROW_BYTES;
}

static void test_spellings_of_one_id_have_one_digest(void **state)
{
    struct config_align a = rule(scratch_write_text("a.csv", "id,x\n\"  7b \",1\nZoe\xcc\x88,2\n")),
                        b = rule(scratch_write_text("b.csv", "x;id\n1;Zo\xc3\xab\n2;7b\n"));
    struct idlist of_a = read_well(&a), of_b = read_well(&b);

    (void)state;
    assert_memory_equal(row(&of_a, 0), row(&of_b, 1), ALIGN_ROW_BYTES);
    assert_memory_equal(row(&of_a, 1), row(&of_b, 0), ALIGN_ROW_BYTES);
    assert_memory_not_equal(row(&of_a, 0), row(&of_a, 1), ALIGN_ROW_BYTES);
    expect_text(&of_a, "  7b \nZoe\xcc\x88\n");
    expect_text(&of_b, "Zo\xc3\xab\n7b\n");
    idlist_deinit(&of_a);
    idlist_deinit(&of_b);
}

/* Where one cell ends and the next begins is part of the digest; and the second of its kind is that
 * of an independent program. */
static void test_several_columns_make_one_id(void **state)
{
    struct config_align c = rule(scratch_write_text(
        "two.csv", "street,x,town\nStra\xc3\x9f\x65 1,0,\"a,b\"\nStra\xc3\x9f\x65 1,1,\"a,b\"\n"
                   "Stra\xc3\x9f\x65 1a,1,\",b\"\n"));
    struct idlist l;

    (void)state;
    strcpy(c.key, "street,town");
    c.duplicates = CONFIG_DUPLICATES_ALL;
    l = read_well(&c);
    assert_int_equal(l.columns, 2);
    assert_int_equal(l.n, 3);
    assert_memory_equal(row(&l, 1), GOLDEN_ROW, ALIGN_ROW_BYTES);
    assert_memory_not_equal(row(&l, 0), row(&l, 1), ALIGN_ROW_BYTES);
    assert_memory_not_equal(row(&l, 2), row(&l, 0), ALIGN_ROW_BYTES);
    expect_text(&l, "Stra\xc3\x9f\x65 1,\"a,b\"\nStra\xc3\x9f\x65 1,\"a,b\"\n"
                    "Stra\xc3\x9f\x65 1a,\",b\"\n");
    idlist_deinit(&l);
}

static void test_an_id_twice_is_refused_or_taken_by_rule(void **state)
{
    struct config_align c = rule(scratch_write_text("twice.csv", "id\nb\na\nb\nB\nb\n"));
    struct error err = {0};
    struct idlist first, all, refused;

    (void)state;
    assert_int_equal(idlist_read(&refused, &c, &err), STATUS_DATA);
    assert_non_null(strstr(err.text, "there twice"));
    idlist_deinit(&refused);
    c.duplicates = CONFIG_DUPLICATES_FIRST;
    first = read_well(&c);
    expect_text(&first, "b\na\nB\n");
    assert_int_equal(first.left, 2);
    c.duplicates = CONFIG_DUPLICATES_ALL;
    c.fold = true;
    all = read_well(&c);
    expect_text(&all, "b\na\nb\nB\nb\n");
    assert_memory_equal(row(&all, 0), row(&first, 0), ALIGN_ROW_BYTES);
    for (uint32_t i = 0; i < all.n; i++) {
        for (uint32_t j = 0; j < i; j++)
            assert_memory_not_equal(row(&all, i), row(&all, j), ALIGN_ROW_BYTES);
    }
    idlist_deinit(&first);
    idlist_deinit(&all);
}

static void test_what_is_no_list_is_refused_with_its_place(void **state)
{
    static const char *const cases[][2] = {
        {"id\na\n \n", ":3: "},
        {"id\n\"a\nb\"\n", "line break"},
        {"x\n1\n", "no column \"id\""},
        {"id\n", "no ids"},
        {"id\na\x07\n", ":2: "},
        /* A result has one id a line: white space that does not count may not end one. */
        {"id\nb\n\"a\n\"\n", ":3: "},
        {"id\n\"a\n \"\n", "line break"},
        {"id\n\" \na\"\n", "line break"},
        {"id\n\"a\r\"\n", "line break"},
        {"id\na\x0b\n", "line break"},
        {"id\na\xc2\x85\n", "line break"},
        {"id\na\xe2\x80\xa8z\n", "line break"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct config_align c = rule(scratch_write_text("bad.csv", cases[i][0]));
        struct error err = {0};
        struct idlist l;

        assert_int_equal(idlist_read(&l, &c, &err), STATUS_DATA);
        if (strstr(err.text, cases[i][1]) == NULL)
            fail_msg("%s", err.text);
        idlist_deinit(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings_of_one_id_have_one_digest),
        cmocka_unit_test(test_several_columns_make_one_id),
        cmocka_unit_test(test_an_id_twice_is_refused_or_taken_by_rule),
        cmocka_unit_test(test_what_is_no_list_is_refused_with_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
