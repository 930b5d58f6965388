/* test_placed.c -- rows found by an alignment: which, by what number, and what they are called.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/placed.h"

#include "common/align/course.h"
#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/data/group.h"
#include "common/data/intake.h"
#include "common/data/validate.h"

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

enum { ROWS_MAX = 16 };

/* Keeps an alignment of this table: row i at places[i], -1: nowhere. */
static void keep(const char *name, const char *text, const struct config_align *as,
                 const int places[])
{
    uint32_t place[ROWS_MAX], n = 0;
    struct config_align c = *as;

    for (const char *at = strchr(text, '\n') + 1; *at != 0; n++) {
        at = strchr(at, '\n') + 1;
        place[n] = places[n] < 0 ? ALIGN_NOWHERE : (uint32_t)places[n];
    }
    strcpy(c.table, scratch_write_text("aligned.csv", text));
    kept_alignment(&c, name, (uint8_t)(name[0] + name[1]), place, 0);
}

static enum status take(struct table *t, struct schema *s, struct placed *p, const char *text,
                        struct error *err)
{
    struct intake_want want = {.kind = SCHEMA_AUTO, .limits = &INTAKE_LIMITS};
    const char *path = scratch_write_text("t.csv", text);

    want.places = placed_places(p);
    return intake_read(t, s, path, &want, err);
}

static void open_well(struct placed *p, const char *name)
{
    struct error err = {0};

    if (placed_open(p, scratch_dir(), name, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

/* Own ids and first features, in the order of the table. */
static void accept(const char *name, const char *text, const char *want, size_t left)
{
    char got[1024] = "", number[24];
    struct schema s = {0};
    struct placed p = {0};
    struct error err = {0};
    struct table t;
    size_t used = 0;

    open_well(&p, name);
    if (take(&t, &s, &p, text, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < t.rows; i++) {
        snprintf(number, sizeof number, "%zu", i);
        assert_string_equal(table_id(&t, i), number);
        assert_int_equal(table_find_own(&t, table_own_id(&t, i)), i);
        used += (size_t)snprintf(got + used, sizeof got - used, "%s=%g ", table_own_id(&t, i),
                                 (double)t.x[i * t.cols + t.cols - 1]);
    }
    assert_string_equal(got, want);
    assert_int_equal(t.own.left, left);
    table_deinit(&t);
    schema_deinit(&s);
    placed_close(&p);
}

static void refuse(const char *name, const char *text, const char *why)
{
    struct schema s = {0};
    struct placed p = {0};
    struct error err = {0};
    struct table t;

    open_well(&p, name);
    assert_int_equal(take(&t, &s, &p, text, &err), STATUS_DATA);
    if (strstr(err.text, why) == NULL)
        fail_msg("%s: not %s", err.text, why);
    schema_deinit(&s);
    placed_close(&p);
}

static const struct config_align plain = {.trim = true, .fold = true};

static void test_rows_are_those_of_the_alignment_in_its_order(void **state)
{
    static const int places[] = {2, -1, 0, 1};

    (void)state;
    keep("q", "id\nAnn\nBob\nCy\nDi\n", &plain, places);
    accept("q", "id,a\nann,1\nbob,2\ncy,3\ndi,4\neve,5\n", "cy=3 di=4 ann=1 ", 2);
    accept("q", "a,id\n5,EVE\n4,\" Di \"\n3,Cy\n1,Ann\n", "Cy=3 Di=4 Ann=1 ", 1);
    refuse("q", "id,a\nann,1\ndi,4\n",
           "t.csv: it lacks 1 of the 3 rows of alignment q, that of "
           "place 0 first");
    refuse("q", "id,a\ncy,3\n", "it lacks 2 of the 3 rows of alignment q, that of place 1 first");
    refuse("q", "id,a\nann,1\ncy,3\nANN,2\ndi,4\n",
           "t.csv:4: column 1 \"id\": an id is there twice");
    refuse("q", "name,a\nann,1\n", "no column \"id\"");
    /* What is left out is not read. */
    accept("q", "id,a\nann,1\nbob,x\nbob,y\ncy,3\ndi,4\n", "cy=3 di=4 ann=1 ", 2);
    refuse("q", "id,a\nann,1\ncy,3\ndi,x\n", "t.csv:4: column 2 \"a\": not a number");
}

/* A row of several columns is called by the column of ids, where there is one. */
static void test_a_row_keeps_the_name_that_its_side_has_for_it(void **state)
{
    static const int places[] = {1, 0};
    struct config_align c = plain;
    struct schema s = {0};
    struct placed p = {0};
    struct error err = {0};
    struct table t;
    const char *own;
    size_t n;

    (void)state;
    strcpy(c.key, "family,first");
    keep("two", "family,first\n\"Lee, jr\",Bo\nD\"ay,Cy\n", &c, places);
    accept("two", "id,first,family,a\n7,BO,\"lee, JR\",1\n9,cy,\"d\"\"ay\",2\n8,cy,lee,3\n",
           "9=2 7=1 ", 1);
    refuse("two", "id,first,family,a\n7,bo,\"lee, jr\",1\n7,cy,\"d\"\"ay\",2\n",
           "t.csv:3: id \"7\" is already on line 2");
    open_well(&p, "two");
    assert_int_equal(take(&t, &s, &p, "a,first,family\n1,bo,\"lee, jr\"\n2,cy,\"d\"\"ay\"\n", &err),
                     STATUS_OK);
    assert_int_equal(strlen(table_own_id(&t, 0)), 64);
    own = placed_own_id(&p, &t, 1, &n);
    assert_int_equal(n, 12);
    assert_memory_equal(own, "\"Lee, jr\",Bo", n);
    /* What tells rows apart is no feature, unless the schema has it as one. */
    assert_int_equal(t.cols, 3);
    assert_int_equal(s.column[0].kind, SCHEMA_NUMBER);
    assert_int_equal(s.column[1].kind, SCHEMA_IGNORED);
    assert_int_equal(s.column[2].kind, SCHEMA_IGNORED);
    table_deinit(&t);
    schema_deinit(&s);
    placed_close(&p);
}

static void test_the_second_row_of_an_id_is_what_it_was_in_the_alignment(void **state)
{
    static const char table[] = "id,a\nx,1\ny,2\nx,3\nx,4\n";
    static const int first[] = {1, 0, -1}, all[] = {3, 0, 1, 2};
    struct config_align c = plain;
    struct schema s = {0};
    struct placed p = {0};
    struct error err = {0};
    struct table t;

    (void)state;
    c.duplicates = CONFIG_DUPLICATES_FIRST;
    keep("first", "id\nx\ny\nx\n", &c, first);
    accept("first", table, "y=2 x=1 ", 2);
    c.duplicates = CONFIG_DUPLICATES_ALL;
    keep("all", "id\nx\ny\nx\nx\n", &c, all);
    open_well(&p, "all");
    assert_int_equal(take(&t, &s, &p, table, &err), STATUS_OK);
    assert_true(t.x[0] == 2 && t.x[1] == 3 && t.x[2] == 4 && t.x[3] == 1);
    assert_string_equal(table_own_id(&t, 3), "x");
    assert_int_equal(strlen(table_own_id(&t, 1)), 64); /* a record of its own in the ledger */
    assert_string_not_equal(table_own_id(&t, 1), table_own_id(&t, 2));
    table_deinit(&t);
    schema_deinit(&s);
    placed_close(&p);
    refuse("all", "id,a\nx,1\ny,2\nx,3\n",
           "it lacks 1 of the 4 rows of alignment all, that of place 2");
}

/* Whatever is changed in it: there is no row but as it was written. */
static void test_a_file_that_was_changed_is_refused(void **state)
{
    static const int places[] = {1, 0};
    struct aligned a;
    struct error err = {0};
    struct buf text;

    (void)state;
    keep("q", "id\nann\nbob\n", &plain, places);
    buf_init(&text, 4096);
    assert_int_equal(file_read_own(scratch_path("alignments/q"), &text, &err), STATUS_OK);
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len)
            text.data[i] ^= 1;
        (void)scratch_write("alignments/q", text.data, i < text.len ? text.len : text.len - 1);
        assert_int_equal(aligned_load(&a, scratch_dir(), "q", &err), STATUS_DATA);
        assert_non_null(strstr(err.text, i == strlen("alignment ") /* 3 to 2 */
                                             ? "alignments/q: of an earlier version"
                                             : "alignments/q: cut, changed, or no alignment"));
        aligned_deinit(&a);
        if (i < text.len)
            text.data[i] ^= 1;
    }
    (void)scratch_write("alignments/q", text.data, text.len);
    (void)scratch_write("alignments/r", text.data, text.len);
    assert_int_equal(aligned_load(&a, scratch_dir(), "q", &err), STATUS_OK);
    assert_int_equal(a.n, 2);
    aligned_deinit(&a);
    assert_int_equal(aligned_load(&a, scratch_dir(), "r", &err), STATUS_DATA);
    aligned_deinit(&a);
    assert_int_equal(aligned_load(&a, scratch_dir(), "none", &err), STATUS_CONFIG);
    aligned_deinit(&a);
    assert_int_equal(aligned_load(&a, scratch_dir(), "../q", &err), STATUS_CONFIG);
    aligned_deinit(&a);
    buf_deinit(&text);
}

static enum status open_pair(const char *train, const char *test, const char *file, bool by_order)
{
    const struct placed_names names = {"data", train, test, file, by_order, false, NULL};
    struct placed_pair p = {0};
    struct error err = {0};
    const enum status s = placed_open_pair(&p, scratch_dir(), &names, &err);

    assert_int_equal(placed_places(&p.test) != NULL, s == STATUS_OK && test[0] != 0);
    placed_close_pair(&p);
    return s;
}

static void test_training_and_test_rows_have_an_alignment_each_or_none(void **state)
{
    static const int places[] = {0};

    (void)state;
    keep("a", "id\nann\n", &plain, places);
    keep("b", "id\nbob\n", &plain, places);
    assert_int_equal(open_pair("", "", "t.csv", true), STATUS_OK);
    assert_int_equal(open_pair("a", "", "", false), STATUS_OK);
    assert_int_equal(open_pair("a", "b", "t.csv", false), STATUS_OK);
    assert_int_equal(open_pair("a", "", "t.csv", false), STATUS_CONFIG);
    assert_int_equal(open_pair("a", "b", "", false), STATUS_CONFIG);
    assert_int_equal(open_pair("", "b", "t.csv", false), STATUS_CONFIG);
    assert_int_equal(open_pair("a", "", "", true), STATUS_CONFIG);
}

/* Rows that are kept back join test rows whose places are the same numbers, and stay who they are.
 */
static void test_places_of_two_alignments_are_never_one_row(void **state)
{
    static const int places[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, one[] = {1, 0};
    const struct validate_rule rule = {.share = 0.5, .by = VALIDATE_ID};
    struct table train, test;
    struct schema s = {0};
    struct placed p = {0}, q = {0};
    struct validate v = {0};
    struct error err = {0};
    bool seen = false;

    (void)state;
    keep("a", "id\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", &plain, places);
    keep("b", "id\nx\ny\n", &plain, one);
    open_well(&p, "a");
    open_well(&q, "b");
    assert_int_equal(
        take(&train, &s, &p, "id,v\na,0\nb,1\nc,2\nd,3\ne,4\nf,5\ng,6\nh,7\ni,8\nj,9\n", &err),
        STATUS_OK);
    assert_int_equal(take(&test, &s, &q, "id,v\nx,101\ny,100\n", &err), STATUS_OK);
    assert_false(validate_repeats(&train, &test).shared); /* though both have a place 0 */
    assert_int_equal(validate_split(&v, &train, &test, &rule, &err), STATUS_OK);
    assert_int_equal(train.rows + test.rows, 12);
    for (size_t i = 0; i < test.rows; i++) {
        const char *own = validate_own_id(&test, i);

        if (strcmp(own, "x") == 0 || strcmp(own, "y") == 0)
            seen = memcmp(table_id(&test, i), "test-", 5) == 0;
        else
            assert_true((float)(own[0] - 'a') == test.x[i]);
    }
    assert_true(seen);
    validate_deinit(&v);
    table_deinit(&train);
    table_deinit(&test);
    schema_deinit(&s);
    placed_close(&p);
    placed_close(&q);
}

/* A column that is read later finds the same rows. */
static void test_names_and_times_are_those_of_the_rows_taken(void **state)
{
    static const char text[] = "id,v,who,when\nann,1,p1,30\nbob,2,p2,x\ncy,3,p1,20\n";
    static const int places[] = {1, -1, 0};
    struct intake_want want = {.group = "who", .time = "when", .limits = &INTAKE_LIMITS};
    struct group_from from = {.column = "who"};
    struct schema s = {0};
    struct placed p = {0};
    struct group g = {0};
    struct error err = {0};
    struct table t;
    uint32_t *place;

    (void)state;
    keep("q", "id\nann\nbob\ncy\n", &plain, places);
    open_well(&p, "q");
    want.kind = SCHEMA_NUMBER;
    want.places = from.places = placed_places(&p);
    from.path = scratch_write_text("t.csv", text);
    assert_int_equal(intake_read(&t, &s, from.path, &want, &err), STATUS_OK);
    assert_int_equal(group_read(&g, &from, &t, &err), STATUS_OK);
    assert_string_equal(group_name(&g, 0), "p1");
    assert_string_equal(group_name(&g, 1), "p1");
    from.column = "when";
    if (group_places(&place, &from, &t, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(place[0], 0);
    assert_int_equal(place[1], 1);
    mem_free(place);
    (void)scratch_write_text("t.csv", "id,v,who,when\nann,1,p1,30\nbob,2,p2,x\ncy,3,p1,21\n");
    from.column = "who";
    assert_int_equal(group_read(&g, &from, &t, &err), STATUS_DATA);
    assert_non_null(strstr(err.text, "it changed between"));
    group_deinit(&g);
    table_deinit(&t);
    schema_deinit(&s);
    placed_close(&p);
}

static int clear(void **state)
{
    static const char *const names[] = {"q", "r", "a", "b", "two", "first", "all"};
    char path[32];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "alignments/%s", names[i]);
        (void)unlink(scratch_path(path));
    }
    return rmdir(scratch_path("alignments"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_those_of_the_alignment_in_its_order),
        cmocka_unit_test(test_a_row_keeps_the_name_that_its_side_has_for_it),
        cmocka_unit_test(test_the_second_row_of_an_id_is_what_it_was_in_the_alignment),
        cmocka_unit_test(test_a_file_that_was_changed_is_refused),
        cmocka_unit_test(test_training_and_test_rows_have_an_alignment_each_or_none),
        cmocka_unit_test(test_places_of_two_alignments_are_never_one_row),
        cmocka_unit_test(test_names_and_times_are_those_of_the_rows_taken),
    };

    return cmocka_run_group_tests(tests, NULL, clear);
}
