/* test_roll.c -- which rows a job lists, pass by pass, what stands in for the others, and what is
 * kept.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/roll.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/scratch.h"
#include "tests/unit/daemon/kept.h"

static struct config_align table(const char *key, enum config_duplicates rule, const char *text)
{
    struct config_align c = {.trim = true, .duplicates = rule};

    strcpy(c.key, key);
    strcpy(c.table, scratch_write_text("ids.csv", text));
    return c;
}

static void expect_rows(const char *name, const char *want)
{
    struct error err = {0};
    struct aligned a;

    if (aligned_load(&a, scratch_dir(), name, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_string_equal((const char *)a.text.data + a.lines, want);
    aligned_deinit(&a);
}

static const uint8_t *entry(const struct kept *k, uint32_t e)
{
    return k->roll.rows + (size_t)e * ALIGN_ROW_BYTES;
}

/* Several keys, and an alignment that adds to another: the rows of each stand behind the others. */
static void test_each_key_that_has_found_rows_makes_a_section(void **state)
{
    static const uint32_t first[] = {1, ALIGN_NOWHERE, 0, ALIGN_NOWHERE},
                          then[] = {ALIGN_NOWHERE, 0}, added[] = {0, ALIGN_NOWHERE};
    struct config_align c = {.trim = true, .key = "no: nr; who: name,born"};
    struct error err = {0};
    struct aligned a;
    struct kept k;

    (void)state;
    strcpy(c.table,
           scratch_write_text("ids.csv", "nr,name,born\n7,Ann,1\n8,Bo,2\n9,Cy,3\n,Di,4\n"));
    kept_open(&k, &c, "q3", "", 0);
    kept_pass(&k, 0, first, 2);
    assert_int_equal(k.roll.n, 2);
    kept_pass(&k, 1, then, 1);
    kept_close(&k, 0xab);
    expect_rows("q3", "9\n7\nDi,4\n");
    /* Five has been there all along; of Di there is a number now, and it stays what it is. */
    strcpy(c.table, scratch_write_text("ids.csv", "nr,name,born\n5,Ed,5\n8,Bo,2\n7,Ann,1\n6,Di,4\n"
                                                  "9,Cy,3\n"));
    kept_open(&k, &c, "q4", "q3", 0);
    assert_int_equal(k.roll.n, 2);
    kept_pass(&k, 0, added, 1);
    kept_close(&k, 0xcd);
    assert_int_equal(aligned_load(&a, scratch_dir(), "q4", &err), STATUS_OK);
    assert_int_equal(a.n, 4);
    assert_int_equal(a.sections_n, 3);
    assert_int_equal(a.section[2].from, 3);
    assert_int_equal(a.text.data[a.at[3]], '5');
    aligned_deinit(&a);
    assert_int_equal(unlink(scratch_path("alignments/q4")), 0);
}

/* Of as many rows there are as many entries, whichever have an id: the rest is noise, and another
 * one each time. */
static void test_a_row_without_an_id_by_this_key_is_padding(void **state)
{
    static const uint32_t nowhere[] = {ALIGN_NOWHERE, ALIGN_NOWHERE, ALIGN_NOWHERE};
    const struct config_align c =
        table("no: nr; who: name", CONFIG_DUPLICATES_REFUSE, "nr,name\n1,\n2,\n,Cy\n");
    uint8_t before[3][ALIGN_ROW_BYTES];
    struct error err = {0};
    struct kept k;

    (void)state;
    kept_open(&k, &c, "pads", "", 0);
    kept_pass(&k, 0, nowhere, 0);
    for (uint32_t pass = 1; pass < 2; pass++) {
        assert_int_equal(roll_pass(&k.roll, pass, &err), STATUS_OK);
        assert_int_equal(k.roll.n, 3);
        for (uint32_t e = 0; e < 3; e++)
            memcpy(before[e], entry(&k, e), ALIGN_ROW_BYTES);
        assert_memory_not_equal(before[0], before[1], ALIGN_ROW_BYTES);
        assert_int_equal(roll_pass(&k.roll, pass, &err), STATUS_OK);
        assert_memory_not_equal(entry(&k, 0), before[0], ALIGN_ROW_BYTES);
        assert_memory_equal(entry(&k, 2), before[2], ALIGN_ROW_BYTES);
    }
    kept_close(&k, 1);
}

/* A place that another side has moved to padding spoils the result, and is seen by nobody: it goes
 * to the first row that has none, which is listed no more.  Where there is none it stays empty. */
static void test_a_place_of_padding_goes_to_a_row_that_has_none(void **state)
{
    static const uint32_t moved[] = {1, ALIGN_NOWHERE, ALIGN_NOWHERE, 0}, all[] = {1, 0};
    struct config_align c =
        table("no: nr; who: name", CONFIG_DUPLICATES_REFUSE, "nr,name\n,An\n1,Bo\n2,Cy\n3,Di\n");
    struct placed p = {0};
    struct error err = {0};
    struct kept k;

    (void)state;
    kept_open(&k, &c, "moved", "", 0);
    kept_pass(&k, 0, moved, 2);
    assert_int_equal(k.roll.n, 2);
    assert_int_equal(k.roll.entry[0], 0); /* who has no number may be found by name */
    kept_close(&k, 1);
    expect_rows("moved", "3\n1\n");
    assert_int_equal(placed_open(&p, scratch_dir(), "moved", &err), STATUS_OK);
    placed_close(&p);
    strcpy(c.table, scratch_write_text("ids.csv", "nr,name\n,An\n1,Bo\n"));
    kept_open(&k, &c, "moved", "", 0);
    kept_pass(&k, 0, all, 2);
    kept_close(&k, 1);
    expect_rows("moved", "1\n\n");
    assert_int_equal(placed_open(&p, scratch_dir(), "moved", &err), STATUS_DATA);
    assert_non_null(strstr(err.text, "place 1 has no id"));
    placed_close(&p);
}

/* Among those that count alone, whatever stands between them. */
static void test_rows_that_do_not_count_are_not_numbered(void **state)
{
    static const uint32_t first[] = {0, ALIGN_NOWHERE, ALIGN_NOWHERE, ALIGN_NOWHERE, ALIGN_NOWHERE},
                          then[] = {ALIGN_NOWHERE, ALIGN_NOWHERE, 1, 0};
    const struct config_align c =
        table("no: nr; who: name", CONFIG_DUPLICATES_ALL, "nr,name\n1,Ann\n2,\n3,\n4,Ann\n5,Ann\n");
    struct kept k;

    (void)state;
    kept_open(&k, &c, "first", "", 0);
    kept_pass(&k, 0, first, 1);
    kept_pass(&k, 1, then, 2);
    kept_close(&k, 1);
    expect_rows("first", "0\t1\n1\tAnn\n0\tAnn\n");
}

static void refuse_open(const struct idlist *ids, const struct alignment *about, const char *words)
{
    struct error err = {0};
    struct roll r;

    assert_int_equal(roll_open(&r, ids, scratch_dir(), about, false, &err), STATUS_CONFIG);
    if (strstr(err.text, words) == NULL)
        fail_msg("%s", err.text);
    roll_close(&r);
}

/* The first of those that are left takes part; the others do when it was not found. */
static void test_second_rows_of_what_is_in_common_are_left_out_for_good(void **state)
{
    static const uint32_t first[] = {0, ALIGN_NOWHERE, ALIGN_NOWHERE, ALIGN_NOWHERE},
                          then[] = {ALIGN_NOWHERE, 0, 1};
    const struct config_align c =
        table("no: nr; who: name", CONFIG_DUPLICATES_FIRST, "nr,name\n1,Ann\n1,Bo\n2,Cy\n2,Di\n");
    struct kept k;

    (void)state;
    kept_open(&k, &c, "first", "", 0);
    kept_pass(&k, 0, first, 1);
    kept_pass(&k, 1, then, 2);
    kept_close(&k, 1);
    expect_rows("first", "1\nCy\nDi\n");
}

static void test_what_is_extended_is_the_one_that_the_job_names(void **state)
{
    static const uint32_t places[] = {0, ALIGN_NOWHERE};
    struct config_align c = table("nr", CONFIG_DUPLICATES_REFUSE, "nr,x\n1,2\n2,3\n");
    struct alignment about = {.name = "new", .extends = "old", .keys_n = 1, .key = {{"id", 1}}};
    struct error err = {0};
    struct idlist ids;
    struct roll r;

    (void)state;
    kept_alignment(&c, "old", 7, places, 0);
    assert_int_equal(idlist_read(&ids, &c, &err), STATUS_OK);
    about.extended[0] = 7;
    assert_int_equal(roll_open(&r, &ids, scratch_dir(), &about, false, &err), STATUS_OK);
    assert_int_equal(r.listed, 1);
    assert_int_equal(roll_rows(&r), 1);
    roll_close(&r);
    about.extended[0] = 8;
    refuse_open(&ids, &about, "alignment old is another one here");
    about.extended[0] = 7;
    about.ids = ALIGN_IDS_MAX;
    refuse_open(&ids, &about, "it may have more rows than");
    about.ids = ALIGN_IDS_MAX - 1;
    assert_int_equal(roll_open(&r, &ids, scratch_dir(), &about, false, &err), STATUS_OK);
    roll_close(&r);
    idlist_deinit(&ids);
    c = table("x", CONFIG_DUPLICATES_REFUSE, "nr,x\n1,2\n2,3\n");
    assert_int_equal(idlist_read(&ids, &c, &err), STATUS_OK);
    refuse_open(&ids, &about, "alignment old: a key of it is gone");
    idlist_deinit(&ids);
}

/* The second of an id here need not be the second of those that are new at the server. */
static void test_labelled_rows_are_not_extended_where_an_id_may_stand_twice(void **state)
{
    static const uint32_t places[] = {0, ALIGN_NOWHERE};
    struct config_align c = table("nr", CONFIG_DUPLICATES_ALL, "nr,x\n1,2\n2,3\n");
    struct alignment about = {.name = "new",
                              .extends = "old",
                              .ids = 1,
                              .rows = CONFIG_ROWS_LABELLED,
                              .keys_n = 1,
                              .key = {{"id", 1}}};
    struct error err = {0};
    struct idlist ids;
    struct roll r;

    (void)state;
    about.extended[0] = 7;
    kept_alignment(&c, "old", 7, places, 1);
    assert_int_equal(idlist_read(&ids, &c, &err), STATUS_OK);
    refuse_open(&ids, &about, "align.duplicates: all: labelled rows are not extended so");
    idlist_deinit(&ids);
    c.duplicates = CONFIG_DUPLICATES_FIRST;
    assert_int_equal(idlist_read(&ids, &c, &err), STATUS_OK);
    assert_int_equal(roll_open(&r, &ids, scratch_dir(), &about, false, &err), STATUS_OK);
    roll_close(&r);
    idlist_deinit(&ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_key_that_has_found_rows_makes_a_section),
        cmocka_unit_test(test_a_row_without_an_id_by_this_key_is_padding),
        cmocka_unit_test(test_a_place_of_padding_goes_to_a_row_that_has_none),
        cmocka_unit_test(test_rows_that_do_not_count_are_not_numbered),
        cmocka_unit_test(test_second_rows_of_what_is_in_common_are_left_out_for_good),
        cmocka_unit_test(test_what_is_extended_is_the_one_that_the_job_names),
        cmocka_unit_test(test_labelled_rows_are_not_extended_where_an_id_may_stand_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
