/* test_odbc.c -- what is ODBC's own: data sources, drivers and their types.  The laws of all
 * sources are in test_source_contract.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/odbc.h"

#include "common/data/intake.h"
#include "tests/lib/odbc_driver.h"
#include "tests/lib/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct error err;
static bool there;

static int find_driver(void **state)
{
    const char *driver = odbc_driver();
    char text[1024];

    (void)state;
    there = driver != NULL;
    if (!there)
        driver = "";
    snprintf(text, sizeof text,
             "[trial]\nDriver=%s\nDatabase=%s\n[ghost]\nDriver=/nowhere.so\n[away]\nDriver=%s\n"
             "Database=/nowhere/x.db\n",
             driver, scratch_path("t.db"), driver);
    setenv("ODBCINI", scratch_write_text("odbc.ini", text), 1);
    return 0;
}

static enum status read_path(struct table *t, struct schema *s, const char *path)
{
    const struct intake_want any = {.limits = &INTAKE_LIMITS};

    err = (struct error){0};
    return intake_read(t, s, path, &any, &err);
}

static void refused(const char *path, const char *expected)
{
    struct schema s = {0};
    struct table t;
    const enum status status = read_path(&t, &s, path);

    if ((status != STATUS_DATA && status != STATUS_CONFIG) || strstr(err.text, expected) == NULL)
        fail_msg("%d %s", status, err.text);
    assert_null(strchr(err.text, '\n'));
    assert_int_equal(strncmp(err.text, path, strlen(path)), 0);
    assert_true(t.x == NULL && s.n == 0);
}

static void test_numbers_texts_and_times_are_read(void **state)
{
    struct schema s = {0};
    struct table t;

    (void)state;
    if (!there)
        skip();
    (void)scratch_write_sqlite(
        "t.db",
        "CREATE TABLE a (id bigint, r real, d date, ts timestamp, v varchar(9)); INSERT INTO a "
        "VALUES (9007199254740993, 0.1, '2000-01-02', '2000-01-02 12:00:00', 'v'), (7, NULL, NULL, "
        "NULL, NULL)");
    if (read_path(&t, &s, "odbc:trial/a") != STATUS_OK)
        fail_msg("%s", err.text);
    assert_true(t.rows == 2 && t.cols == 4 && isnan(t.x[0]) && isnan(t.x[3]));
    assert_string_equal(table_id(&t, 1), "9007199254740993");
    assert_true(t.x[4] == 0.1F && t.x[5] == 1 && t.x[6] == 1.5F);
    assert_true(s.column[1].kind == SCHEMA_TIME && s.column[2].kind == SCHEMA_TIME);
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_what_is_not_there_is_one_line(void **state)
{
    (void)state;
    refused("odbc:", "must be odbc:NAME");
    refused("odbc:trial", "which table?");
    refused("odbc:trial;PWD=x/a", "must be odbc:NAME");
    refused("odbc:unknown/a", "ODBC: ");
    refused("odbc:ghost/a", "ODBC: ");
    if (!there)
        skip();
    refused("odbc:away/a", "ODBC: ");
    (void)scratch_write_sqlite("t.db", "CREATE TABLE a (id int, x int)");
    refused("odbc:trial/b", "odbc:trial/b: ODBC");
    refused("odbc:trial/a", "no rows below the header");
}

static void test_what_is_no_cell_is_refused_with_its_row(void **state)
{
    (void)state;
    if (!there)
        skip();
    (void)scratch_write_sqlite("t.db",
                               "CREATE TABLE a (id int, x blob); INSERT INTO a VALUES (1, x'00')");
    refused("odbc:trial/a", "column 2 \"x\": binary data");
    (void)scratch_write_sqlite(
        "t.db",
        "CREATE TABLE a (id int, x date); INSERT INTO a VALUES (1, '2000-01-01'), (2, 'never')");
    refused("odbc:trial/a", "odbc:trial/a:2: column 2 \"x\": ");
    assert_null(strstr(err.text, "never"));
}

static void test_a_row_has_a_limit_and_up_to_it_comes_whole(void **state)
{
    const struct source_options o = {.line_max = 8192};
    struct source s;
    bool more;

    (void)state;
    if (!there)
        skip();
    (void)scratch_write_sqlite(
        "t.db",
        "CREATE TABLE a (id int, x text, y text); INSERT INTO a VALUES (1, printf('%.4000c', 'p'), "
        "printf('%.4000c', 'q')), (2, '', NULL), (3, printf('%.9000c', 'p'), 'y')");
    assert_int_equal(source_open(&s, "odbc:trial/a", &o, &err), STATUS_OK);
    assert_int_equal(source_next(&s, &more, &err), STATUS_OK);
    assert_true(s.cell[1].n == 4000 && s.cell[2].n == 4000);
    assert_true(s.cell[1].text[3999] == 'p' && s.cell[2].text[0] == 'q');
    assert_int_equal(source_next(&s, &more, &err), STATUS_OK);
    assert_true(s.cell[1].kind == CELL_TEXT && s.cell[1].n == 0 && s.cell[2].kind == CELL_NONE);
    assert_int_equal(source_next(&s, &more, &err), STATUS_DATA);
    assert_non_null(strstr(err.text, "odbc:trial/a:3: a row over 8192 bytes"));
    source_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_texts_and_times_are_read),
        cmocka_unit_test(test_what_is_not_there_is_one_line),
        cmocka_unit_test(test_what_is_no_cell_is_refused_with_its_row),
        cmocka_unit_test(test_a_row_has_a_limit_and_up_to_it_comes_whole),
    };
    return cmocka_run_group_tests(tests, find_driver, NULL);
}
