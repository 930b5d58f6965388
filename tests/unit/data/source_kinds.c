/* source_kinds.c -- rows as text, packed text, and tables of databases.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/data/source_kinds.h"

#include "tests/lib/odbc_driver.h"
#include "tests/lib/postgres_server.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <postgresql/libpq-fe.h>
#include <zstd.h>
#include <cmocka.h>

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

static char *as_csv(const struct source_rows *r, size_t *n)
{
    size_t cap = 0;
    char *text = NULL;

    *n = 0;
    for (size_t i = 0; i <= r->n; i++)
        for (size_t k = 0; k < SOURCE_COLS; k++) {
            const char *cell = i == 0 ? r->name[k] : r->cell[i - 1][k];

            if (cell != NULL)
                quoted(&text, n, &cap, cell, '"');
            append(&text, n, &cap, k + 1 < SOURCE_COLS ? "," : "\n", 1);
        }
    return text;
}

static const char *put_csv(const struct source_rows *r)
{
    size_t n;
    char *text = as_csv(r, &n);
    const char *path = scratch_write("t.csv", text, n);

    free(text);
    return path;
}

static const char *put_gzip(const struct source_rows *r)
{
    size_t n;
    char *text = as_csv(r, &n);
    const char *path = scratch_write_gzip("t.csv.gz", text, n);

    free(text);
    return path;
}

static const char *put_zstd(const struct source_rows *r)
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
static char *as_sql(const struct source_rows *r)
{
    size_t used = 0, cap = 0;
    char *text = NULL;

#define ADD(words) append(&text, &used, &cap, words, strlen(words))
    ADD("DROP TABLE IF EXISTS ");
    quoted(&text, &used, &cap, r->table, '"');
    ADD("; CREATE TABLE ");
    quoted(&text, &used, &cap, r->table, '"');
    for (size_t k = 0; k < SOURCE_COLS; k++) {
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
        for (size_t k = 0; k < SOURCE_COLS; k++) {
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

static const char *put_sqlite(const struct source_rows *r)
{
    char *text = as_sql(r);
    const char *path = scratch_write_sqlite("t.db", text);

    free(text);
    return path;
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

static const char *put_odbc(const struct source_rows *r)
{
    put_sqlite(r);
    return path_of("odbc:trial", r->table);
}

static bool postgres_is_there(void)
{
    return postgres_server() != NULL;
}

void source_run_postgres(const char *statements)
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

static const char *put_postgres(const struct source_rows *r)
{
    char *text = as_sql(r);

    source_run_postgres(text);
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

const struct source_kind source_kinds[SOURCE_KINDS] = {
    {"csv", always, put_csv, vanish_file},
    {"csv.gz", always, put_gzip, vanish_file},
    {"csv.zst", always, put_zstd, vanish_file},
    {"sqlite", always, put_sqlite, vanish_file},
    {"odbc", odbc_is_there, put_odbc, vanish_odbc},
    {"postgres", postgres_is_there, put_postgres, vanish_postgres},
};
