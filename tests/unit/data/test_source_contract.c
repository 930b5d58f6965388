/* test_source_contract.c -- what holds for every kind of source alike: the same rows are the same
 * table, and what is wrong is one line with its place, whatever the rows come out of.
 *
 * ODBC is tried with SQLite's driver; PostgreSQL and ODBC are left out where they are not here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/group.h"
#include "common/data/intake.h"
#include "common/data/source.h"
#include "tests/lib/odbc_driver.h"
#include "tests/lib/postgres_server.h"
#include "tests/lib/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <postgresql/libpq-fe.h>
#include <sqlite3.h>
#include <zstd.h>
#include <cmocka.h>

enum { COLS = 4, CELL_HUGE = 100000000 };

static struct error err;

/* Rows of four texts, NULL being nothing; `table` where a kind can say so. */
struct rows {
    const char *table, *name[COLS];
    const char *(*cell)[COLS];
    size_t n;
};

struct kind {
    const char *word;
    bool (*there)(void);
    const char *(*put)(const struct rows *r); /* its path */
    void (*vanish)(const char *path);         /* half of it, for whoever reads it now */
};

static bool always(void)
{
    return true;
}

/* --- text --- */

static void append(char **text, size_t *used, size_t *cap, const char *bytes, size_t n)
{
    while (*used + n + 1 > *cap)
        *text = realloc(*text, *cap = 2 * *cap + n + 1);
    memcpy(*text + *used, bytes, n);
    *used += n;
    (*text)[*used] = 0;
}

/* In quotes, each of which is doubled inside. */
static void quoted(char **text, size_t *used, size_t *cap, const char *cell, char quote)
{
    append(text, used, cap, &quote, 1);
    for (; *cell != 0; cell++) {
        if (*cell == quote)
            append(text, used, cap, cell, 1);
        append(text, used, cap, cell, 1);
    }
    append(text, used, cap, &quote, 1);
}

static char *as_csv(const struct rows *r, size_t *n)
{
    size_t cap = 0;
    char *text = NULL;

    *n = 0;
    for (size_t i = 0; i <= r->n; i++)
        for (size_t k = 0; k < COLS; k++) {
            const char *cell = i == 0 ? r->name[k] : r->cell[i - 1][k];

            if (cell != NULL)
                quoted(&text, n, &cap, cell, '"');
            append(&text, n, &cap, k + 1 < COLS ? "," : "\n", 1);
        }
    return text;
}

static const char *put_csv(const struct rows *r)
{
    size_t n;
    char *text = as_csv(r, &n);
    const char *path = scratch_write("t.csv", text, n);

    free(text);
    return path;
}

static const char *put_gzip(const struct rows *r)
{
    size_t n;
    char *text = as_csv(r, &n);
    const char *path = scratch_write_gzip("t.csv.gz", text, n);

    free(text);
    return path;
}

static const char *put_zstd(const struct rows *r)
{
    size_t n, room;
    char *text = as_csv(r, &n), *packed = malloc(room = ZSTD_compressBound(n));
    const char *path = scratch_write("t.csv.zst", packed, ZSTD_compress(packed, room, text, n, 3));

    free(text);
    free(packed);
    return path;
}

/* --- databases --- */

/* The table, made anew. */
static char *as_sql(const struct rows *r)
{
    size_t used = 0, cap = 0;
    char *text = NULL;

#define ADD(words) append(&text, &used, &cap, words, strlen(words))
    ADD("DROP TABLE IF EXISTS ");
    quoted(&text, &used, &cap, r->table, '"');
    ADD("; CREATE TABLE ");
    quoted(&text, &used, &cap, r->table, '"');
    for (size_t k = 0; k < COLS; k++) {
        ADD(k == 0 ? " (" : ", ");
        quoted(&text, &used, &cap, r->name[k], '"');
        ADD(" text");
    }
    ADD(");");
    for (size_t i = 0; i < r->n; i++) {
        ADD(i == 0 ? " INSERT INTO " : "), (");
        if (i == 0) {
            quoted(&text, &used, &cap, r->table, '"');
            ADD(" VALUES (");
        }
        for (size_t k = 0; k < COLS; k++) {
            ADD(k == 0 ? "" : ", ");
            if (r->cell[i][k] != NULL)
                quoted(&text, &used, &cap, r->cell[i][k], '\'');
            else
                ADD("NULL");
        }
    }
    ADD(r->n > 0 ? ")" : "");
#undef ADD
    return text;
}

static void run_sqlite(const char *statements)
{
    sqlite3 *db;
    char *why = NULL;

    assert_int_equal(sqlite3_open(scratch_path("t.db"), &db), SQLITE_OK);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 1 << 30);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 30);
    if (sqlite3_exec(db, statements, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s", why);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static const char *put_sqlite(const struct rows *r)
{
    char *text = as_sql(r);

    unlink(scratch_path("t.db"));
    run_sqlite(text);
    free(text);
    return scratch_path("t.db");
}

static const char *path_of(const char *kind, const char *table)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s", kind, table);
    return path;
}

static bool odbc_is_there(void)
{
    const char *driver = odbc_driver();
    char text[1024];

    if (driver == NULL || getenv("ODBCINI") != NULL)
        return driver != NULL;
    snprintf(text, sizeof text, "[trial]\nDriver=%s\nDatabase=%s\nTimeout=1000\n", driver,
             scratch_path("t.db"));
    setenv("ODBCINI", scratch_write_text("odbc.ini", text), 1);
    return true;
}

static const char *put_odbc(const struct rows *r)
{
    put_sqlite(r);
    return path_of("odbc:trial", r->table);
}

static bool postgres_is_there(void)
{
    return postgres_server() != NULL;
}

static void run_postgres(const char *statements)
{
    PGconn *c = PQconnectdb("service=trial");
    PGresult *r;

    PQclear(PQexec(c, "SET client_min_messages = error"));
    r = PQexec(c, statements);
    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        fail_msg("%s", PQerrorMessage(c));
    PQclear(r);
    PQfinish(c);
}

static const char *put_postgres(const struct rows *r)
{
    char *text = as_sql(r);

    run_postgres(text);
    free(text);
    return path_of("postgres:trial", r->table);
}

/* Cut off where a line ends, where there are lines. */
static void vanish_file(const char *path)
{
    FILE *f = fopen(path, "r");
    struct stat st;
    long at;

    assert_true(f != NULL && fstat(fileno(f), &st) == 0);
    at = (long)st.st_size / 2;
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    for (int c = 0; c != '\n' && c != EOF; at++)
        c = fgetc(f);
    fclose(f);
    assert_int_equal(truncate(path, at), 0);
}

static void vanish_odbc(const char *path)
{
    (void)path;
    vanish_file(scratch_path("t.db"));
}

static void vanish_postgres(const char *path)
{
    PGconn *c = PQconnectdb("service=trial");
    PGresult *r = PQexec(c, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
                            "pg_backend_pid() AND usename = current_user");

    (void)path;
    assert_int_equal(PQresultStatus(r), PGRES_TUPLES_OK);
    PQclear(r);
    PQfinish(c);
}

static const struct kind kinds[] = {
    {"csv", always, put_csv, vanish_file},
    {"csv.gz", always, put_gzip, vanish_file},
    {"csv.zst", always, put_zstd, vanish_file},
    {"sqlite", always, put_sqlite, vanish_file},
    {"odbc", odbc_is_there, put_odbc, vanish_odbc},
    {"postgres", postgres_is_there, put_postgres, vanish_postgres},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool is_text(const struct kind *k)
{
    return strncmp(k->word, "csv", 3) == 0;
}

/* --- the laws --- */

static struct intake_want want_of(const struct rows *r)
{
    return (struct intake_want){.source.table = r->table, .limits = &INTAKE_LIMITS};
}

static enum status read_rows(struct table *t, struct schema *s, const char *path,
                             const struct intake_want *want)
{
    err = (struct error){0};
    return intake_read(t, s, path, want, &err);
}

/* One line that begins with the path, and then says that. */
static void check_line(const struct kind *k, const char *path, const char *expected)
{
    if (strncmp(err.text, path, strlen(path)) != 0 || strchr(err.text, '\n') != NULL ||
        strstr(err.text, expected) == NULL)
        fail_msg("%s: %s", k->word, err.text);
}

static void refused(const struct rows *r, const char *text, const char *database)
{
    const struct intake_want want = want_of(r);

    for (size_t i = 0; i < KINDS; i++) {
        const struct kind *k = &kinds[i];
        struct schema s = {0};
        struct table t;
        const char *path;

        if (!k->there())
            continue;
        path = k->put(r);
        assert_int_equal(read_rows(&t, &s, path, &want), STATUS_DATA);
        check_line(k, path, is_text(k) ? text : database);
        assert_true(t.x == NULL && s.n == 0);
    }
}

static const char *small[][COLS] = {
    {"9007199254740993", "1.5", "x, \"y\"", "2024-02-29"},
    {"7", "-2e3", "Côte d'Ivoire", NULL},
    {"12", NULL, NULL, "2024-03-01 12:00:00"},
    {"8", "NaN", "x, \"y\"", ""},
};
static const struct rows SMALL = {"people", {"id", "a b", "text", "since"}, small, 4};

static void test_the_same_rows_are_the_same_table(void **state)
{
    const struct intake_want want = want_of(&SMALL);
    struct schema first = {0};
    struct table t;

    (void)state;
    assert_int_equal(read_rows(&t, &first, put_csv(&SMALL), &want), STATUS_OK);
    for (size_t i = 1; i < KINDS; i++) {
        struct schema s = {0};
        struct table u;

        if (!kinds[i].there())
            continue;
        if (read_rows(&u, &s, kinds[i].put(&SMALL), &want) != STATUS_OK)
            fail_msg("%s: %s", kinds[i].word, err.text);
        assert_true(u.rows == 4 && u.cols == 3);
        assert_memory_equal(u.id_text, t.id_text, table_ids_bytes(&t));
        assert_memory_equal(u.names, t.names, 3 * TABLE_NAME_MAX);
        for (size_t k = 0; k < 12; k++)
            assert_true(u.x[k] == t.x[k] || (isnan(u.x[k]) && isnan(t.x[k])));
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(s.column[k].kind, first.column[k].kind);
        table_deinit(&u);
        schema_deinit(&s);
    }
    table_deinit(&t);
    schema_deinit(&first);
}

static void test_an_id_that_comes_twice_has_its_place(void **state)
{
    const char *cell[][COLS] = {{"7", "1", "a", ""}, {"8", "1", "a", ""}, {"7", "2", "b", ""}};
    const struct rows r = {"people", {"id", "a", "b", "c"}, cell, 3};

    (void)state;
    refused(&r, ":4: id \"7\" is already on line 2", ":3: id \"7\" is already on line 1");
}

static void test_another_type_in_a_late_row_has_its_place(void **state)
{
    enum { ROWS = 20000 };
    const char *(*cell)[COLS] = calloc(ROWS, sizeof *cell);
    const struct rows r = {"people", {"id", "a", "b", "c"}, cell, ROWS};
    char(*id)[8] = calloc(ROWS, sizeof *id);

    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        snprintf(id[i], sizeof id[i], "%zu", i);
        cell[i][0] = id[i];
        cell[i][1] = i + 1 < ROWS ? "1.5" : "secret";
        cell[i][2] = "x";
        cell[i][3] = "2024-01-01";
    }
    refused(&r, ":20001: column 2 \"a\": not a number", ":20000: column 2 \"a\": not a number");
    assert_null(strstr(err.text, "secret"));
    cell[ROWS - 1][1] = "1";
    cell[ROWS - 1][3] = "secret";
    refused(&r, ":20001: column 4 \"c\": not a time", ":20000: column 4 \"c\": not a time");
    assert_null(strstr(err.text, "secret"));
    free(cell);
    free(id);
}

/* Of a source whose rest goes away after some rows. */
static void check_vanishing(const struct kind *k, const struct rows *r)
{
    const struct source_options options = {.table = r->table};
    const char *path = k->put(r);
    struct source s;
    bool more = true;
    size_t rows = 0;
    enum status status;

    err = (struct error){0};
    assert_int_equal(source_open(&s, path, &options, &err), STATUS_OK);
    for (; rows < 100; rows++)
        assert_true(source_next(&s, &more, &err) == STATUS_OK && more);
    k->vanish(path);
    while ((status = source_next(&s, &more, &err)) == STATUS_OK && more)
        rows++;
    source_close(&s);
    if (status == STATUS_OK && rows == r->n && strcmp(k->word, "odbc") == 0)
        return; /* SQLite's driver has fetched all of it before */
    if (status == STATUS_OK)
        fail_msg("%s: %zu of %zu rows are taken for all", k->word, rows, r->n);
    assert_true(status == STATUS_DATA || status == STATUS_IO);
    check_line(k, path, "");
}

/* Never for a shorter table, though what is left of it ends in a whole row. */
static void test_one_that_disappears_in_the_middle_is_one_line(void **state)
{
    enum { ROWS = 40000 };
    const char *(*cell)[COLS] = calloc(ROWS, sizeof *cell);
    const struct rows r = {"people", {"id", "a", "b", "c"}, cell, ROWS};
    char(*text)[2][24] = calloc(ROWS, sizeof *text);
    uint32_t dice = 1;

    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        dice = dice * 1664525 + 1013904223;
        snprintf(text[i][0], sizeof text[i][0], "%zu", i);
        snprintf(text[i][1], sizeof text[i][1], "%08x%08x", dice, dice * 2654435761U);
        cell[i][0] = text[i][0];
        cell[i][1] = "1.5";
        cell[i][2] = text[i][1];
        cell[i][3] = "2024-01-01";
    }
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].there())
            check_vanishing(&kinds[i], &r);
    free(cell);
    free(text);
}

static void test_a_cell_of_a_hundred_million_characters_is_refused(void **state)
{
    char *huge = malloc(CELL_HUGE + 1);
    const char *cell[][COLS] = {{"1", "1", "a", ""}, {"2", "1", huge, ""}};
    const struct rows r = {"people", {"id", "a", "b", "c"}, cell, 2};

    (void)state;
    memset(huge, 'x', CELL_HUGE);
    huge[CELL_HUGE] = 0;
    for (size_t i = 0; i < KINDS; i++) {
        const struct intake_want want = want_of(&r);
        struct schema s = {0};
        struct table t;
        const char *path;

        if (!kinds[i].there())
            continue;
        path = kinds[i].put(&r);
        assert_int_equal(read_rows(&t, &s, path, &want), STATUS_DATA);
        check_line(&kinds[i], path,
                   is_text(&kinds[i])                     ? ":3: line over 16777216 bytes"
                   : strcmp(kinds[i].word, "sqlite") == 0 ? "string or blob too big"
                   : strcmp(kinds[i].word, "odbc") == 0   ? ":2: a row over 16777216 bytes"
                                                          : ":2: column 3 \"b\": a text longer");
    }
    free(huge);
    if (postgres_is_there())
        run_postgres("DROP TABLE people");
}

/* What SQL would take for more than a name. */
static void test_names_are_names(void **state)
{
    static const char *const names[] = {"a\"; DROP TABLE keep; --",
                                        "x' OR '1'='1",
                                        "$1",
                                        "%s%n",
                                        "SELECT",
                                        "a.b",
                                        "a\\",
                                        "ä€",
                                        "[x]",
                                        "`y`",
                                        "; --"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < KINDS; k++) {
            const char *cell[][COLS] = {{"1", "2", "x", "y"}, {"2", "3", "z", "y"}};
            const struct rows r = {names[i], {"id", names[i], "b", "c"}, cell, 2};
            const struct intake_want want = want_of(&r);
            struct schema s = {0};
            struct table t;

            /* SQLite's driver takes what stands before a dot for a table. */
            if (!kinds[k].there() ||
                (strcmp(kinds[k].word, "odbc") == 0 && strchr(names[i], '.') != NULL))
                continue;
            if (read_rows(&t, &s, kinds[k].put(&r), &want) != STATUS_OK)
                fail_msg("%s: %s", kinds[k].word, err.text);
            assert_true(t.rows == 2 && t.cols == 3 && t.x[0] == 2);
            assert_string_equal(t.names, names[i]);
            table_deinit(&t);
            schema_deinit(&s);
        }
}

static void test_two_columns_of_one_name_are_refused(void **state)
{
    const char *cell[][COLS] = {{"1", "2", "x", "y"}};
    const struct rows r = {"people", {"id", "a", "b", "a"}, cell, 1};

    (void)state;
    for (size_t i = 0; i < 3; i++) { /* no database has such a table */
        const struct intake_want want = want_of(&r);
        struct schema s = {0};
        struct table t;
        const char *path = kinds[i].put(&r);

        assert_int_equal(read_rows(&t, &s, path, &want), STATUS_DATA);
        check_line(&kinds[i], path, "columns 2 and 4 are both \"a\"");
    }
}

static void test_names_and_texts_that_are_none_are_refused(void **state)
{
    const char *cell[][COLS] = {{"1", "2", "x\x01y", "y"}};
    const struct rows texts = {"people", {"id", "a", "b", "c"}, cell, 1};
    const struct rows names = {"people", {"id", "a\tb", "b", "c"}, cell, 1};

    (void)state;
    refused(&texts, ":2: column 3 \"b\": a text that is no UTF-8, or has control characters",
            ":1: column 3 \"b\": a text that is no UTF-8, or has control characters");
    refused(&names, "column 2 \"a?b\": a name is", "column 2 \"a?b\": a name is");
}

/* PostgreSQL keeps no such text; the others hand it over as it is. */
static void test_bytes_that_are_no_utf8_are_refused(void **state)
{
    const char *cell[][COLS] = {{"1", "2", "x", "y"}, {"2", "2", "x\xff\xfe", "y"}};
    const struct rows r = {"people", {"id", "a", "b", "c"}, cell, 2};
    const struct intake_want want = want_of(&r);

    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        const struct kind *k = &kinds[i];
        struct schema s = {0};
        struct table t;
        const char *path;

        if (!k->there() || strcmp(k->word, "postgres") == 0)
            continue;
        path = k->put(&r);
        assert_int_equal(read_rows(&t, &s, path, &want), STATUS_DATA);
        check_line(k, path,
                   is_text(k) ? ":3: column 3 \"b\": a text that is no UTF-8"
                              : ":2: column 3 \"b\": a text that is no UTF-8");
    }
}

/* Between two reads, of which the second looks at one column more. */
static void changes(const struct rows *before, const struct rows *after, bool seen)
{
    for (size_t i = 0; i < KINDS; i++) {
        struct intake_want want = want_of(before);
        struct group_from from = {.source.table = before->table, .column = "c"};
        struct group g = {0};
        struct schema s = {0};
        struct table t;
        char path[512];
        enum status status;

        if (!kinds[i].there())
            continue;
        want.group = "c";
        snprintf(path, sizeof path, "%s", kinds[i].put(before));
        if (read_rows(&t, &s, path, &want) != STATUS_OK)
            fail_msg("%s: %s", kinds[i].word, err.text);
        kinds[i].put(after);
        from.path = path;
        status = group_read(&g, &from, &t, &err);
        assert_int_equal(status, seen ? STATUS_DATA : STATUS_OK);
        if (seen)
            check_line(&kinds[i], path, "it changed between two times that it was read");
        group_deinit(&g);
        table_deinit(&t);
        schema_deinit(&s);
    }
}

static void test_what_changes_between_two_reads_is_refused(void **state)
{
    const char *cell[][COLS] = {{"1", "2", "x", "p"}, {"2", "3", "y", "q"}, {"3", "4", "z", "q"}};
    const char *moved[][COLS] = {{"3", "4", "z", "q"}, {"1", "2", "x", "p"}, {"2", "3", "y", "q"}};
    const char *value[][COLS] = {{"1", "2", "x", "p"}, {"2", "9", "y", "q"}, {"3", "4", "z", "q"}};
    const char *whose[][COLS] = {{"1", "2", "x", "p"}, {"2", "3", "y", "p"}, {"3", "4", "z", "q"}};
    const char *other[][COLS] = {{"1", "2", "x", "p"}, {"2", "3", "y", "q"}, {"4", "4", "z", "q"}};
    const char *swapped[][COLS] = {
        {"2", "2", "x", "p"}, {"1", "3", "y", "q"}, {"3", "4", "z", "q"}};
    const struct rows r = {"people", {"id", "a", "b", "c"}, cell, 3};
    struct rows to = r;

    (void)state;
    to.cell = moved;
    changes(&r, &r, false);
    changes(&r, &to, false);
    to.cell = value;
    changes(&r, &to, true);
    to.cell = whose;
    changes(&r, &to, true);
    to.cell = other;
    changes(&r, &to, true);
    to.cell = swapped;
    changes(&r, &to, true);
    to = r;
    to.n = 2;
    changes(&r, &to, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_rows_are_the_same_table),
        cmocka_unit_test(test_an_id_that_comes_twice_has_its_place),
        cmocka_unit_test(test_another_type_in_a_late_row_has_its_place),
        cmocka_unit_test(test_one_that_disappears_in_the_middle_is_one_line),
        cmocka_unit_test(test_a_cell_of_a_hundred_million_characters_is_refused),
        cmocka_unit_test(test_names_are_names),
        cmocka_unit_test(test_two_columns_of_one_name_are_refused),
        cmocka_unit_test(test_names_and_texts_that_are_none_are_refused),
        cmocka_unit_test(test_bytes_that_are_no_utf8_are_refused),
        cmocka_unit_test(test_what_changes_between_two_reads_is_refused),
    };
    unsetenv("ODBCINI");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
