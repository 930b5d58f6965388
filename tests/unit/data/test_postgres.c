/* test_postgres.c -- a table of a PostgreSQL server: types, refusals, and that nothing waits for
 * ever, nothing is believed without TLS or a Unix socket, and no cell is in a line of errors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/postgres.h"

#include "common/data/intake.h"
#include "tests/lib/postgres_server.h"
#include "tests/lib/scratch.h"

#include <math.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <postgresql/libpq-fe.h>
#include <cmocka.h>

static struct error err;

/* Statements of the server's owner. */
static void sql(const char *statements)
{
    PGconn *c = PQconnectdb("service=trial");
    PGresult *r;

    PQclear(PQexec(c, "SET client_min_messages = error"));
    r = PQexec(c, statements);

    if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
        fail_msg("%s", PQerrorMessage(c));
    PQclear(r);
    PQfinish(c);
}

static int set_up(void **state)
{
    (void)state;
    if (postgres_server() != NULL)
        sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    return 0;
}

#define NEEDS_SERVER()                                                                             \
    if (postgres_server() == NULL)                                                                 \
    skip()

static enum status read_path(struct table *t, struct schema *s, const char *path)
{
    const struct intake_want any = {.limits = &INTAKE_LIMITS};

    err = (struct error){0};
    return intake_read(t, s, path, &any, &err);
}

static void refused(const char *statements, const char *path, const char *expected)
{
    struct schema s = {0};
    struct table t;
    enum status status;

    if (statements != NULL)
        sql(statements);
    status = read_path(&t, &s, path);
    if ((status != STATUS_DATA && status != STATUS_CONFIG) || strstr(err.text, expected) == NULL)
        fail_msg("%d %s", status, err.text);
    assert_null(strchr(err.text, '\n'));
    assert_int_equal(strncmp(err.text, path, strlen(path)), 0);
    assert_true(t.x == NULL && s.n == 0);
}

static void test_each_type_becomes_what_it_is(void **state)
{
    struct schema s = {0};
    struct table t;

    (void)state;
    NEEDS_SERVER();
    sql("CREATE TABLE a (id bigint, i2 smallint, i4 int, f4 real, f8 float8, n numeric, b bool, d "
        "date, ts timestamp, tz timestamptz, v varchar(9), c char(9), t text, u uuid);"
        "INSERT INTO a VALUES (9007199254740993, 1, -2, 0.1, 2.5, 1e3, true, '2000-01-02', "
        "'2000-01-02 12:00:00.25', '2000-01-02 14:00:00+02', 'v', 'c', 'x, \"y\"', "
        "'00000000-0000-0000-0000-000000000001'), (7, NULL, 0, 'NaN', 0, 0, false, NULL, NULL, "
        "NULL, NULL, NULL, '', NULL)");
    if (read_path(&t, &s, "postgres:trial/a") != STATUS_OK)
        fail_msg("%s", err.text);
    assert_true(t.rows == 2 && t.cols == 13);
    assert_string_equal(table_id(&t, 0), "7");
    assert_string_equal(table_id(&t, 1), "9007199254740993");
    const float *x = t.x + t.cols;
    assert_true(x[0] == 1 && x[1] == -2 && x[2] == 0.1F && x[3] == 2.5F && x[4] == 1000);
    assert_true(x[5] == 1 && x[6] == 1 && x[7] == 1.5F + 0.25F / 86400 && x[8] == 1.5F);
    assert_true(isnan(t.x[0]) && isnan(t.x[2]) && t.x[5] == 0 && isnan(t.x[6]) && isnan(t.x[11]));
    for (size_t i = 0; i < 13; i++)
        assert_int_equal(s.column[i].kind, i < 6   ? SCHEMA_NUMBER
                                           : i < 9 ? SCHEMA_TIME
                                                   : SCHEMA_CATEGORY);
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_a_schema_and_data_table_may_say_which(void **state)
{
    const struct intake_want want = {.source.table = "a", .limits = &INTAKE_LIMITS};
    struct schema s = {0};
    struct table t;

    (void)state;
    NEEDS_SERVER();
    sql("CREATE TABLE a (id int, x int); INSERT INTO a VALUES (1, 2); DROP SCHEMA IF EXISTS other "
        "CASCADE; CREATE SCHEMA other; CREATE VIEW other.a AS SELECT id, x + 1 AS x FROM a");
    assert_int_equal(intake_read(&t, &s, "postgres:trial", &want, &err), STATUS_OK);
    assert_true(t.x[0] == 2);
    table_deinit(&t);
    schema_deinit(&s);
    assert_int_equal(read_path(&t, &s, "postgres:trial/other/a"), STATUS_OK);
    assert_true(t.x[0] == 3);
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_what_is_no_place_is_refused(void **state)
{
    static const char *const paths[] = {
        "postgres:",           "postgres:/a",   "postgres:a b/t",   "postgres:s/",
        "postgres:s//t",       "postgres:s/a/", "postgres:s/a/b/c", "postgres:a'b/t",
        "postgres:x host=y/t", "postgres:s/ t", "postgres:s/t\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct schema s = {0};
        struct table t;

        assert_int_equal(read_path(&t, &s, paths[i]), STATUS_CONFIG);
    }
    refused(NULL, "postgres:trial", "which table?");
    refused(NULL, "postgres:trial/a234567890123456789012345678901234567890123456789012345678901234",
            "a name of PostgreSQL has at most 63 bytes");
}

static void test_what_is_not_there_is_one_line(void **state)
{
    (void)state;
    NEEDS_SERVER();
    refused(NULL, "postgres:nobody_s/a", "definition of service \"nobody_s\" not found");
    refused(NULL, "postgres:trial/ghost", "relation \"ghost\" does not exist");
    refused(NULL, "postgres:trial/ghost/a", "relation \"ghost.a\" does not exist");
    refused("CREATE TABLE a ()", "postgres:trial/a", "a table without columns");
    refused("CREATE TABLE b (id int, x int)", "postgres:trial/b", "no rows below the header");
}

static void test_what_is_no_cell_is_refused_with_its_row(void **state)
{
    (void)state;
    NEEDS_SERVER();
    refused("CREATE VIEW a AS SELECT 1 AS id, '{}'::jsonb AS x", "postgres:trial/a",
            "postgres:trial/a: column 2 \"x\": no number, text, time, boolean or uuid");
    refused("CREATE VIEW b AS SELECT 1 AS id, '\\x00'::bytea AS x", "postgres:trial/b",
            "column 2 \"x\": no number, text");
    refused("CREATE TABLE c (id int, x float8); INSERT INTO c VALUES (1, 2), (2, 'Infinity')",
            "postgres:trial/c", "postgres:trial/c:2: column 2 \"x\": an infinite number");
    refused("CREATE TABLE d (id int, x date); INSERT INTO d VALUES (1, 'infinity')",
            "postgres:trial/d", "postgres:trial/d:1: column 2 \"x\": a time outside");
    refused("CREATE TABLE e (id int, x date); INSERT INTO e VALUES (1, '0044-03-15 BC')",
            "postgres:trial/e", "postgres:trial/e:1: column 2 \"x\": a time outside");
    refused("CREATE TABLE f (id int, \"x\ny\" int)", "postgres:trial/f",
            "postgres:trial/f: column 2 \"x?y\": a name is");
}

/* What a view makes of a cell, and what a function says, may be what stands in it. */
static void test_no_cell_is_in_a_line_of_errors(void **state)
{
    (void)state;
    NEEDS_SERVER();
    refused("CREATE TABLE a (id int, x text); INSERT INTO a VALUES (1, '2'), (2, 'secret');"
            "CREATE VIEW b AS SELECT id, x::int AS x FROM a",
            "postgres:trial/b", "SQLSTATE: 22P02");
    assert_null(strstr(err.text, "secret"));
    refused("CREATE FUNCTION f(text) RETURNS int LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION "
            "''oh %'', $1; END'; CREATE VIEW c AS SELECT id, f(x) AS x FROM a",
            "postgres:trial/c", "SQLSTATE: P0001");
    assert_null(strstr(err.text, "secret"));
}

static void test_names_are_names_and_no_statements(void **state)
{
    struct schema s = {0};
    struct table t;

    (void)state;
    NEEDS_SERVER();
    sql("CREATE TABLE keep (id int, x int); INSERT INTO keep VALUES (1, 2);"
        "CREATE TABLE \"a\"\"; DROP TABLE keep; --\" (id int, \"x\"\" FROM keep; DELETE FROM "
        "keep; --\" text, \"$1 %s \\\" int, \"SELECT\" int); INSERT INTO \"a\"\"; DROP TABLE keep; "
        "--\" VALUES (1, 'x', 3, 4)");
    if (read_path(&t, &s, "postgres:trial/a\"; DROP TABLE keep; --") != STATUS_OK)
        fail_msg("%s", err.text);
    assert_true(t.cols == 3 && t.x[1] == 3 && t.x[2] == 4);
    table_deinit(&t);
    schema_deinit(&s);
    assert_int_equal(read_path(&t, &s, "postgres:trial/keep"), STATUS_OK);
    assert_true(t.rows == 1);
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_nothing_is_written(void **state)
{
    (void)state;
    NEEDS_SERVER();
    refused(
        "CREATE TABLE log (x int); CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'INSERT INTO "
        "log VALUES (1) RETURNING x'; CREATE VIEW a AS SELECT 1 AS id, f() AS x",
        "postgres:trial/a", "cannot execute INSERT in a read-only transaction");
}

/* All rows are of the moment at which the first was asked for. */
static void test_what_others_write_meanwhile_is_not_seen(void **state)
{
    const struct source_options o = {0};
    struct source s;
    bool more = true;
    size_t rows = 0;

    (void)state;
    NEEDS_SERVER();
    sql("CREATE TABLE a (id int, x text); INSERT INTO a SELECT i, repeat('x', 1000) FROM "
        "generate_series(1, 5000) AS i");
    assert_int_equal(source_open(&s, "postgres:trial/a", &o, &err), STATUS_OK);
    sql("DELETE FROM a WHERE id > 10; INSERT INTO a VALUES (6000, 'y')");
    while (source_next(&s, &more, &err) == STATUS_OK && more)
        rows++;
    assert_true(!more && rows == 5000);
    source_close(&s);
}

static void test_a_server_that_ends_the_session_is_one_line(void **state)
{
    const struct source_options o = {0};
    struct source s;
    bool more = true;
    enum status status;

    (void)state;
    NEEDS_SERVER();
    sql("CREATE TABLE a (id int, x text); INSERT INTO a SELECT i, repeat('x', 5000) FROM "
        "generate_series(1, 20000) AS i");
    assert_int_equal(source_open(&s, "postgres:trial/a", &o, &err), STATUS_OK);
    assert_int_equal(source_next(&s, &more, &err), STATUS_OK);
    sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
        "application_name = 'colonnade'");
    while ((status = source_next(&s, &more, &err)) == STATUS_OK && more)
        ;
    assert_int_equal(status, STATUS_DATA);
    assert_non_null(strstr(err.text, "PostgreSQL: "));
    assert_null(strchr(err.text, '\n'));
    source_close(&s);
}

static void test_a_view_that_never_yields_is_given_up(void **state)
{
    const struct source_options o = {.wait_ms = 300};
    struct source s;
    bool more;

    (void)state;
    NEEDS_SERVER();
    sql("CREATE VIEW a AS SELECT 1 AS id, count(*) AS x FROM generate_series(1, 1000000) AS i, "
        "generate_series(1, 1000000) AS j");
    assert_int_equal(source_open(&s, "postgres:trial/a", &o, &err), STATUS_OK);
    assert_int_equal(source_next(&s, &more, &err), STATUS_DATA);
    assert_non_null(strstr(err.text, "no answer, or no further row, in 300 ms"));
    source_close(&s);
}

static void test_a_locked_table_is_given_up(void **state)
{
    const struct source_options o = {.wait_ms = 300};
    PGconn *c;
    struct source s;

    (void)state;
    NEEDS_SERVER();
    sql("CREATE TABLE a (id int, x int)");
    c = PQconnectdb("service=trial");
    PQclear(PQexec(c, "BEGIN; LOCK TABLE a"));
    assert_int_equal(source_open(&s, "postgres:trial/a", &o, &err), STATUS_DATA);
    assert_null(strchr(err.text, '\n'));
    PQfinish(c);
}

/* --- servers that are none --- */

/* A port of this machine where a child says `words` to whoever comes (or nothing), and counts on
 * nothing. */
static int port_of(const char *words, size_t n, pid_t *child)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const int listening = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(listening, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&at, &size), 0);
    *child = fork();
    if (*child == 0) {
        char heard[64];
        const int peer = accept(listening, NULL, NULL);

        while (read(peer, heard, sizeof heard) > 0)
            if (write(peer, words, n) < 0)
                break;
        _exit(0);
    }
    close(listening);
    return ntohs(at.sin_port);
}

static void without_tls(const char *words, size_t n, const char *expected)
{
    const struct source_options o = {.wait_ms = 500};
    char entry[128];
    struct source s;
    pid_t child;

    snprintf(entry, sizeof entry,
             "[tcp]\nhost=127.0.0.1\nport=%d\nuser=u\ndbname=d\nsslmode=disable\nsslrootcert=%s\n",
             port_of(words, n, &child), "/etc/ssl/certs/ca-certificates.crt");
    setenv("PGSERVICEFILE", scratch_write_text("service", entry), 1);
    setenv("PGSSLMODE", "allow", 1);
    err = (struct error){0};
    assert_int_equal(source_open(&s, "postgres:tcp/a", &o, &err), STATUS_DATA);
    if (strstr(err.text, expected) == NULL)
        fail_msg("%s", err.text);
    assert_null(strchr(err.text, '\n'));
    waitpid(child, NULL, 0);
}

static void test_over_tcp_there_is_tls_or_nothing(void **state)
{
    char before[512] = "";

    (void)state;
    if (getenv("PGSERVICEFILE") != NULL)
        snprintf(before, sizeof before, "%s", getenv("PGSERVICEFILE"));
    if (access("/etc/ssl/certs/ca-certificates.crt", R_OK) == 0) {
        without_tls("N", 1, "server does not support SSL, but SSL was required");
        without_tls("", 0, "no connection in time");
    }
    unsetenv("PGSSLMODE");
    if (before[0] != 0)
        setenv("PGSERVICEFILE", before, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_type_becomes_what_it_is, set_up),
        cmocka_unit_test_setup(test_a_schema_and_data_table_may_say_which, set_up),
        cmocka_unit_test(test_what_is_no_place_is_refused),
        cmocka_unit_test_setup(test_what_is_not_there_is_one_line, set_up),
        cmocka_unit_test_setup(test_what_is_no_cell_is_refused_with_its_row, set_up),
        cmocka_unit_test_setup(test_no_cell_is_in_a_line_of_errors, set_up),
        cmocka_unit_test_setup(test_names_are_names_and_no_statements, set_up),
        cmocka_unit_test_setup(test_nothing_is_written, set_up),
        cmocka_unit_test_setup(test_what_others_write_meanwhile_is_not_seen, set_up),
        cmocka_unit_test_setup(test_a_server_that_ends_the_session_is_one_line, set_up),
        cmocka_unit_test_setup(test_a_view_that_never_yields_is_given_up, set_up),
        cmocka_unit_test_setup(test_a_locked_table_is_given_up, set_up),
        cmocka_unit_test(test_over_tcp_there_is_tls_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
