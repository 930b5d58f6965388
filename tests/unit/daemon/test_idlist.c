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
    const struct idlist_key *k = &l->key[0];

    assert_int_equal(k->text.len, strlen(want));
    assert_memory_equal(k->text.data, want, k->text.len);
    assert_int_equal(k->at[0], 0);
    assert_int_equal(k->at[l->n], k->text.len);
}

/* As an alignment lists it, that one of its id. */
static const uint8_t *numbered(const struct idlist *l, uint32_t i, uint32_t occurrence)
{
    static uint8_t rows[4][ALIGN_ROW_BYTES];
    static unsigned now;
    uint8_t *out = rows[now++ % 4];

    assert_true(i < l->n);
    memcpy(out, l->key[0].ids + (size_t)i * ALIGN_ROW_BYTES, ALIGN_ROW_BYTES);
    idlist_number(out, occurrence);
    return out;
}

static const uint8_t *row(const struct idlist *l, uint32_t i)
{
    return numbered(l, i, 0);
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
    assert_int_equal(l.key[0].form.columns, 2);
    assert_int_equal(l.n, 3);
    assert_memory_equal(numbered(&l, 1, 1), GOLDEN_ROW, ALIGN_ROW_BYTES);
    assert_memory_equal(row(&l, 0), row(&l, 1), ALIGN_ROW_BYTES);
    assert_memory_not_equal(row(&l, 2), row(&l, 0), ALIGN_ROW_BYTES);
    expect_text(&l, "Stra\xc3\x9f\x65 1,\"a,b\"\nStra\xc3\x9f\x65 1,\"a,b\"\n"
                    "Stra\xc3\x9f\x65 1a,\",b\"\n");
    idlist_deinit(&l);
}

static void test_an_id_twice_is_refused_or_taken_by_rule(void **state)
{
    struct config_align c = rule(scratch_write_text("twice.csv", "id\nb\na\nb\nB\nb\n"));
    struct error err = {0};
    struct idlist refused, all;
    uint32_t rows[5] = {0, 1, 2, 3, 4}, order[5], occurrence[5];
    const uint32_t want[5] = {0, 0, 1, 2, 3};

    (void)state;
    assert_int_equal(idlist_read(&refused, &c, &err), STATUS_DATA);
    assert_non_null(strstr(err.text, "there twice"));
    idlist_deinit(&refused);
    c.duplicates = CONFIG_DUPLICATES_ALL;
    c.fold = true;
    all = read_well(&c);
    expect_text(&all, "b\na\nb\nB\nb\n");
    assert_true(idlist_occurrences(&all, 0, rows, 5, order, occurrence));
    assert_memory_equal(occurrence, want, sizeof want);
    rows[0] = 1; /* of those that are asked for alone */
    assert_false(idlist_occurrences(&all, 0, rows + 1, 2, order, occurrence));
    idlist_deinit(&all);
}

static void test_several_keys_have_names_and_a_row_one_of_them(void **state)
{
    static const char table[] = "nr,family,born\n7,Lee,1\n,Day,2\n8,,3\n";
    static const char *const bad[] = {"no:",          "no: nr; no: born", "no: nr; No: born",
                                      "no: nr; born", "no: nr;; x: born", "a234567890123456x: nr"};
    struct config_align c = rule(scratch_write_text("keys.csv", table));
    struct error err = {0};
    struct idlist l;

    (void)state;
    strcpy(c.key, "no: nr; who:family,born");
    l = read_well(&c);
    assert_int_equal(l.keys_n, 2);
    assert_string_equal(l.key[0].name, "no");
    assert_string_equal(l.key[1].columns, "family,born");
    expect_text(&l, "7\n\n8\n");
    assert_true(idlist_has(&l, 0, 0) && !idlist_has(&l, 0, 1) && idlist_has(&l, 0, 2));
    assert_true(idlist_has(&l, 1, 0) && idlist_has(&l, 1, 1) && !idlist_has(&l, 1, 2));
    idlist_deinit(&l);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        strcpy(c.key, bad[i]);
        assert_int_equal(idlist_read(&l, &c, &err), STATUS_CONFIG);
        assert_non_null(strstr(err.text, "keys.csv: align.key: "));
        idlist_deinit(&l);
    }
    /* A row has one id at least, and none is there twice by any key. */
    c = rule(scratch_write_text("keys.csv", "nr,family\n7,Lee\n,\n"));
    strcpy(c.key, "no: nr; who: family");
    assert_int_equal(idlist_read(&l, &c, &err), STATUS_DATA);
    assert_non_null(strstr(err.text, ":3: "));
    idlist_deinit(&l);
    c = rule(scratch_write_text("keys.csv", "nr,family\n7,Lee\n8,Lee\n"));
    strcpy(c.key, "no: nr; who: family");
    assert_int_equal(idlist_read(&l, &c, &err), STATUS_DATA);
    assert_non_null(strstr(err.text, "an id is there twice by key who"));
    idlist_deinit(&l);
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
        cmocka_unit_test(test_several_keys_have_names_and_a_row_one_of_them),
        cmocka_unit_test(test_what_is_no_list_is_refused_with_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
