/* test_sqlite.c -- a table of a database reads as the CSV of its rows does.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/sqlite.h"

#include "common/data/intake.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sqlite3.h>
#include <cmocka.h>

static struct error err;

static enum status read_from(struct table *t, struct schema *s, const char *path, const char *name)
{
    const struct intake_want any = {.source.table = name, .limits = &INTAKE_LIMITS};

    err = (struct error){0};
    return intake_read(t, s, path, &any, &err);
}

static void test_a_database_reads_as_the_csv_of_its_rows(void **state)
{
    const char *csv = "id,a,b,c\n7,1.5,x,\n9007199254740993,-2,\"y, z\",2\n3,,,1e3\n";
    struct schema first = {0}, second = {0};
    struct table t, u;

    (void)state;
    assert_int_equal(read_from(&t, &first, scratch_write_text("t.csv", csv), NULL), STATUS_OK);
    if (read_from(&u, &second,
                  scratch_write_sqlite(
                      "t.db",
                      "CREATE TABLE people (id INTEGER, a REAL, b TEXT, c);"
                      "INSERT INTO people VALUES (7, 1.5, 'x', NULL), (9007199254740993, -2, "
                      "'y, z', '2'), (3, NULL, NULL, 1000.0)"),
                  NULL) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_true(t.rows == 3 && u.rows == 3 && t.cols == 3 && u.cols == 3);
    assert_memory_equal(t.id_text, u.id_text, table_ids_bytes(&t));
    assert_memory_equal(t.names, u.names, 3 * TABLE_NAME_MAX);
    for (size_t i = 0; i < 9; i++)
        assert_true(t.x[i] == u.x[i] || (t.x[i] != t.x[i] && u.x[i] != u.x[i]));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(first.column[i].kind, second.column[i].kind);
    table_deinit(&t);
    table_deinit(&u);
    schema_deinit(&first);
    schema_deinit(&second);
}

static void refused(const char *statements, const char *table, const char *expected)
{
    struct schema s = {0};
    struct table t;

    assert_int_equal(read_from(&t, &s, scratch_write_sqlite("t.db", statements), table),
                     STATUS_DATA);
    if (strstr(err.text, expected) == NULL)
        fail_msg("%s", err.text);
    assert_true(t.x == NULL && s.n == 0);
}

#define ONE "CREATE TABLE a (id, x); INSERT INTO a VALUES (1, 2);"
#define TWO ONE "CREATE VIEW b AS SELECT id, x + 1 AS y FROM a;"

static void test_which_table_is_said_where_there_are_several(void **state)
{
    struct schema s = {0};
    struct table t;

    (void)state;
    refused("CREATE TABLE a (id, x)", NULL, "t.db: no rows below the header");
    refused("PRAGMA user_version = 7", NULL, "t.db: no table in it");
    refused(TWO, NULL, "t.db: several tables: say which one");
    refused(TWO, "c", "t.db: no table \"c\"");
    refused(TWO, "a\"; DROP TABLE a; --", "t.db: no table \"a\"; DROP TABLE a; --\"");
    assert_int_equal(read_from(&t, &s, scratch_write_sqlite("t.db", TWO), "b"), STATUS_OK);
    assert_true(t.x[0] == 3 && strcmp(t.names, "y") == 0);
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_what_is_no_cell_is_refused_with_its_row(void **state)
{
    (void)state;
    refused("CREATE TABLE a (id, x); INSERT INTO a VALUES (1, 2), (2, x'00')", NULL,
            "t.db:2: column 2 \"x\": a blob");
    refused("CREATE TABLE a (id, x); INSERT INTO a VALUES (1, 2), (2, 'a' || char(0) || 'b')", NULL,
            "t.db:2: column 2 \"x\": byte 0 in a text");
    refused("CREATE TABLE a (id, x); INSERT INTO a VALUES (1, 2), (2, 'two')", NULL,
            "t.db:2: column 2 \"x\": not a number");
    refused("CREATE TABLE a (id, x); INSERT INTO a VALUES (1, 2), (1, 3)", NULL,
            "t.db:2: id \"1\" is already on line 1");
    refused("CREATE TABLE a (id, x); INSERT INTO a VALUES (1, 1e400)", NULL,
            "t.db:1: column 2 \"x\": too large a number");
    refused("CREATE TABLE a (id, x); INSERT INTO a VALUES (NULL, 1)", NULL,
            "t.db:1: column 1 \"id\": an id is");
    refused("CREATE VIEW a AS SELECT 1 AS id, hex(zeroblob(20000000)) AS x", NULL,
            "string or blob too big");
}

static void test_half_a_database_is_refused(void **state)
{
    char bytes[40000];
    struct schema s = {0};
    struct table t;
    FILE *f =
        fopen(scratch_write_sqlite(
                  "t.db", "CREATE TABLE a (id, x); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
                          "SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO a SELECT i, i FROM n"),
              "rb");
    size_t n = fread(bytes, 1, sizeof bytes, f);

    (void)state;
    fclose(f);
    assert_in_range(n, 20000, sizeof bytes - 1);
    assert_int_equal(read_from(&t, &s, scratch_write("cut.db", bytes, n - 8192), NULL),
                     STATUS_DATA);
    assert_non_null(strstr(err.text, "malformed"));
    memset(bytes + n - 4096, 0xff, 2048);
    assert_int_equal(read_from(&t, &s, scratch_write("cut.db", bytes, n), NULL), STATUS_DATA);
}

/* --- views --- */

#define COUNTED "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"

static enum status read_view(struct table *t, struct schema *s, const char *statements)
{
    const struct intake_want any = {.source.steps_max = 1 << 20, .limits = &INTAKE_LIMITS};

    err = (struct error){0};
    return intake_read(t, s, scratch_write_sqlite("t.db", statements), &any, &err);
}

static void test_a_view_that_never_yields_is_given_up(void **state)
{
    static const char *const endless[] = {
        "CREATE VIEW a AS " COUNTED ") SELECT i AS id, i AS x FROM n WHERE i < 0",
        "CREATE VIEW a AS " COUNTED ") SELECT 1 AS id, sum(i) AS x FROM n",
        "CREATE VIEW a AS " COUNTED ") SELECT i AS id, i AS x FROM n WHERE i < 3", /* then never */
    };

    (void)state;
    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
        struct schema s = {0};
        struct table t;

        assert_int_equal(read_view(&t, &s, endless[i]), STATUS_DATA);
        assert_int_equal(status_exit_code(err.status), 2);
        if (strstr(err.text, "no further row in 1048576 steps of SQLite") == NULL)
            fail_msg("%s", err.text);
        assert_true(t.x == NULL && s.n == 0);
    }
}

/* Each row far below what may pass before one; all of them together beyond what rows give back. */
static void test_a_view_of_slow_rows_is_given_up(void **state)
{
#define SLOW(ROWS)                                                                                 \
    "CREATE VIEW a AS " COUNTED " WHERE i < " ROWS ") SELECT i AS id, (WITH RECURSIVE m(j) AS "    \
    "(SELECT 1 UNION ALL SELECT j + 1 FROM m WHERE j < 10000 + 0 * n.i) SELECT count(*) FROM m) "  \
    "AS x FROM n"
    struct schema s = {0};
    struct table t;

    (void)state;
    assert_int_equal(read_view(&t, &s, SLOW("100")), STATUS_DATA);
    assert_non_null(strstr(err.text, "far too slow?"));
    if (read_view(&t, &s, SLOW("2")) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(t.rows, 2);
    assert_true(t.x[1] == 10000);
    table_deinit(&t);
    schema_deinit(&s);
}

/* What it takes altogether is not bounded, as long as rows come soon. */
static void test_a_view_of_many_rows_is_read(void **state)
{
    struct schema s = {0};
    struct table t;

    (void)state;
    if (read_view(&t, &s,
                  "CREATE VIEW a AS " COUNTED
                  " WHERE i < 100000) SELECT i AS id, i AS x FROM n") != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(t.rows, 100000);
    table_deinit(&t);
    schema_deinit(&s);
}

/* --- WAL --- */

#define WAL "PRAGMA journal_mode = wal; CREATE TABLE a (id, x); INSERT INTO a VALUES (1, 2)"

/* Of the scratch folder's files, those of this name. */
static bool is_there(const char *name)
{
    return access(scratch_path(name), F_OK) == 0;
}

static void test_of_a_file_in_wal_mode_nothing_is_written(void **state)
{
    static const char *const names[] = {"a?b.db", "50%.db", "c#d.db", "\xc3\xa9\xff.db", "t.db"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char wal[32], shm[32];
        struct schema s = {0};
        struct table t;

        assert_int_equal(rename(scratch_write_sqlite("t.db", WAL), scratch_path(names[i])), 0);
        if (read_from(&t, &s, scratch_path(names[i]), NULL) != STATUS_OK)
            fail_msg("%s", err.text);
        assert_true(t.rows == 1 && t.x[0] == 2);
        snprintf(wal, sizeof wal, "%s-wal", names[i]);
        snprintf(shm, sizeof shm, "%s-shm", names[i]);
        assert_false(is_there(wal) || is_there(shm));
        table_deinit(&t);
        schema_deinit(&s);
    }
}

static sqlite3 *open_to_write(const char *path, const char *statements)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, statements, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    return db;
}

/* link.db -> between.db -> t.db: no log stands beside the first two, and a link is relative. */
static const char *linked(void)
{
    unlink(scratch_path("between.db"));
    unlink(scratch_path("link.db"));
    assert_int_equal(symlink("t.db", scratch_path("between.db")), 0);
    assert_int_equal(symlink("between.db", scratch_path("link.db")), 0);
    return "link.db";
}

static void test_what_is_in_a_log_only_is_read_too(void **state)
{
    const char *const names[] = {"t.db", linked()};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        sqlite3 *db =
            open_to_write(scratch_write_sqlite("t.db", WAL), "INSERT INTO a VALUES (3, 4)");
        struct schema s = {0};
        struct table t;

        assert_true(is_there("t.db-wal"));
        if (read_from(&t, &s, scratch_path(names[i]), NULL) != STATUS_OK)
            fail_msg("%s", err.text);
        assert_true(t.rows == 2 && t.x[1] == 4);
        table_deinit(&t);
        schema_deinit(&s);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
}

/* Between two rows somebody opens it and changes it; whether the log stays or is folded in. */
static void changes_meanwhile(const char *name, bool stays)
{
    const struct source_options o = {.table = NULL};
    struct source s;
    sqlite3 *db;
    bool more;

    scratch_write_sqlite("t.db", WAL);
    assert_int_equal(source_open(&s, scratch_path(name), &o, &err), STATUS_OK);
    assert_int_equal(source_next(&s, &more, &err), STATUS_OK);
    assert_true(more);
    db = open_to_write(scratch_path("t.db"), "INSERT INTO a VALUES (3, 4)");
    if (!stays)
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(source_next(&s, &more, &err), STATUS_DATA);
    assert_non_null(strstr(err.text, "it was written to while it was read"));
    assert_non_null(strstr(err.text, name));
    source_close(&s);
    if (stays)
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_a_file_in_wal_mode_that_changes_meanwhile_is_refused(void **state)
{
    (void)state;
    for (int stays = 0; stays <= 1; stays++) {
        changes_meanwhile("t.db", stays);
        changes_meanwhile(linked(), stays);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_database_reads_as_the_csv_of_its_rows),
        cmocka_unit_test(test_which_table_is_said_where_there_are_several),
        cmocka_unit_test(test_what_is_no_cell_is_refused_with_its_row),
        cmocka_unit_test(test_half_a_database_is_refused),
        cmocka_unit_test(test_a_view_that_never_yields_is_given_up),
        cmocka_unit_test(test_a_view_of_slow_rows_is_given_up),
        cmocka_unit_test(test_a_view_of_many_rows_is_read),
        cmocka_unit_test(test_of_a_file_in_wal_mode_nothing_is_written),
        cmocka_unit_test(test_what_is_in_a_log_only_is_read_too),
        cmocka_unit_test(test_a_file_in_wal_mode_that_changes_meanwhile_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
