/* test_idlist_hostile.c -- tables of ids that somebody made to do harm: whatever is in them, they
 * are read or refused in one line with its place, in bounded memory, and nothing in them is done.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/idlist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "tests/lib/scratch.h"
#include "tests/lib/instrumented.h"

enum {
    CELL = 100000000,
    MORE = 20 << 20 /* than a row has */,
    COLUMNS = 10000000,
    BLOCK = 1 << 16
};

/* Instrumented code takes several times the memory. */
enum { KB_MAX = INSTRUMENTED ? 600 << 10 : 80 << 10 }; /* a row has 16 MB at most */

static struct config_align rule(const char *path)
{
    struct config_align c = {.trim = true, .unicode = CONFIG_UNICODE_NFC};

    snprintf(c.table, sizeof c.table, "%s", path);
    return c;
}

static void expect_refused(const struct config_align *c, const char *words)
{
    struct error err = {0};
    struct idlist l;
    const enum status s = idlist_read(&l, c, &err);

    if (status_kind(s) != STATUS_KIND_CONFIG || strstr(err.text, words) == NULL ||
        strchr(err.text, '\n') != NULL)
        fail_msg("\"%s\" where \"%s\" was expected", err.text, words);
    assert_non_null(strrchr(c->table, '/'));
    assert_non_null(strstr(err.text, strrchr(c->table, '/') + 1));
    idlist_deinit(&l);
}

/* In a process of its own, whose memory can be looked at. */
static void expect_refused_small(const struct config_align *c, const char *words)
{
    struct rusage used;
    int status;
    const pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        struct error err = {0};
        struct idlist l;
        const enum status s = idlist_read(&l, c, &err);
        const bool good = status_kind(s) == STATUS_KIND_CONFIG && strstr(err.text, words) != NULL;

        if (!good)
            fprintf(stderr, "%s: %s\n", status_words(s), err.text);
        _exit(good ? 0 : 1);
    }
    assert_int_equal(wait4(child, &status, 0, &used), child);
    assert_int_equal(status, 0);
    assert_in_range(used.ru_maxrss, 1, KB_MAX);
}

/* --- text --- */

static const char *write_long(const char *before, const char *piece, size_t bytes,
                              const char *behind)
{
    const char *path = scratch_write_text("long.csv", before);
    const size_t piece_n = strlen(piece);
    char block[BLOCK];
    FILE *f = fopen(path, "a");

    assert_non_null(f);
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = piece[i % piece_n];
    for (size_t n = 0; n < bytes; n += sizeof block)
        assert_int_equal(fwrite(block, 1, sizeof block, f), sizeof block);
    assert_true(fputs(behind, f) >= 0);
    assert_int_equal(fclose(f), 0);
    return path;
}

static void test_a_cell_without_end_is_refused_in_bounded_memory(void **state)
{
    const struct {
        const char *before, *piece, *behind, *words;
        size_t bytes;
    } tables[] = {
        {"id\na\n", "x", "\n", "long.csv:3: ", CELL},
        {"id\na\n\"", "x", "\"\n", "long.csv:3: ", CELL},
        {"id\na\n\"", "x\n", "\"\n", "long.csv:3: ", MORE}, /* of many lines */
        {"id\na\n\"", "\"\"", "\"\n", "long.csv:3: ", MORE},
        {"id\na\n", "x", "", "long.csv:3: ", MORE},
        {"", "x", "\n1\n", "long.csv:1: ", MORE},                          /* a name of a column */
        {"id", ",c", "\n1\n", "long.csv", 2 * (size_t)COLUMNS},            /* so many columns */
        {"id,x\na,1\nb", ",1", "\n", "long.csv:3: ", 2 * (size_t)COLUMNS}, /* cells of one row */
    };

    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const struct config_align c =
            rule(write_long(tables[i].before, tables[i].piece, tables[i].bytes, tables[i].behind));

        expect_refused_small(&c, tables[i].words);
        unlink(c.table);
    }
}

static void test_what_is_no_text_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text;
        size_t n;
    } ids[] = {
        {"a\0b", 3},             /* byte 0 */
        {"\xff", 1},             /* never in UTF-8 */
        {"a\xc3", 2},            /* cut off */
        {"\xc0\xaf", 2},         /* longer than it has to be */
        {"\xed\xa0\x80", 3},     /* half of a pair */
        {"\xf4\x90\x80\x80", 4}, /* beyond the last */
        {"\x80", 1},             /* behind nothing */
        {"a\x1b[2Jb", 6},        /* what a terminal would do */
        {"a\x7f", 2},
        {"", 0},
        {"\xc2\xa0", 2}, /* white space alone */
    };

    (void)state;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        char text[64] = "id,x\na,1\n";
        const size_t before = strlen(text);
        struct config_align c;

        memcpy(text + before, ids[i].text, ids[i].n);
        memcpy(text + before + ids[i].n, ",2\n", 3);
        c = rule(scratch_write("bad.csv", text, before + ids[i].n + 3));
        expect_refused(&c, "bad.csv:3: ");
    }
}

static void test_an_id_has_256_bytes_and_no_more(void **state)
{
    char text[300] = "id\n";
    struct config_align c;
    struct error err = {0};
    struct idlist l;

    (void)state;
    memset(text + 3, 'y', 256);
    c = rule(scratch_write_text("size.csv", text));
    assert_int_equal(idlist_read(&l, &c, &err), STATUS_OK);
    assert_int_equal(l.n, 1);
    idlist_deinit(&l);
    text[3 + 256] = 'y';
    c = rule(scratch_write_text("size.csv", text));
    expect_refused(&c, "size.csv:2: ");
}

/* --- statements --- */

static uint64_t digest_of(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint64_t sum = UINT64_C(14695981039346656037);

    assert_non_null(f);
    for (int c = getc(f); c != EOF; c = getc(f))
        sum = (sum ^ (uint64_t)c) * UINT64_C(1099511628211);
    assert_int_equal(fclose(f), 0);
    return sum;
}

#define EVIL "x\"; DROP TABLE t; --'); DELETE FROM t; /*"

/* Names and cells that are statements are names and cells. */
static void test_statements_in_names_and_cells_are_not_done(void **state)
{
    const char *path = scratch_write_sqlite(
        "ids.db", "CREATE TABLE \"x\"\"; DROP TABLE t; --'); DELETE FROM t; /*\" ("
                  "\"x\"\"; DROP TABLE t; --'); DELETE FROM t; /*\" TEXT, z);"
                  "INSERT INTO \"x\"\"; DROP TABLE t; --'); DELETE FROM t; /*\" "
                  "VALUES ('''; DROP TABLE t; --', 1), ('\"); --', 2)");
    struct config_align c = rule(path);
    const uint64_t before = digest_of(path);
    struct error err = {0};
    struct idlist l;

    (void)state;
    strcpy(c.key, EVIL);
    if (idlist_read(&l, &c, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(l.n, 2);
    assert_int_equal(l.columns, 1);
    assert_memory_equal(l.text.data, "'; DROP TABLE t; --\n\"); --\n", l.text.len);
    idlist_deinit(&l);
    strcpy(c.key, "z\"; DROP TABLE t; --");
    expect_refused(&c, "no column \"z\"; DROP TABLE t; --\"");
    assert_true(digest_of(path) == before);
}

static void test_cells_that_are_no_ids_are_refused_with_their_row(void **state)
{
    static const struct {
        const char *statements, *words;
    } tables[] = {
        {"CREATE TABLE t (id); INSERT INTO t VALUES ('a'), (x'00ff')", "ids.db:2: "},
        {"CREATE TABLE t (id); INSERT INTO t VALUES ('a'), ('b' || char(0) || 'c')", "ids.db:2: "},
        {"CREATE TABLE t (id); INSERT INTO t VALUES ('a'), (NULL)", "ids.db:2: "},
        {"CREATE TABLE t (id); INSERT INTO t VALUES ('a'), (CAST(x'c3' AS TEXT))", "ids.db:2: "},
        {"CREATE TABLE t (id)", "no ids"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const struct config_align c = rule(scratch_write_sqlite("ids.db", tables[i].statements));

        expect_refused(&c, tables[i].words);
    }
}

/* A cell that is there, and one that only a view makes. */
static void test_a_cell_of_a_database_without_end_is_refused_in_bounded_memory(void **state)
{
    static const char *const tables[] = {
        "CREATE TABLE t (id); INSERT INTO t VALUES ('a'), (hex(zeroblob(50000000)))",
        "CREATE VIEW t AS SELECT 'a' AS id UNION ALL SELECT hex(zeroblob(50000000))",
    };

    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const struct config_align c = rule(scratch_write_sqlite("ids.db", tables[i]));

        sqlite3_release_memory(INT32_MAX);
        expect_refused_small(&c, "ids.db");
        unlink(c.table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cell_without_end_is_refused_in_bounded_memory),
        cmocka_unit_test(test_what_is_no_text_is_refused_with_its_line),
        cmocka_unit_test(test_an_id_has_256_bytes_and_no_more),
        cmocka_unit_test(test_statements_in_names_and_cells_are_not_done),
        cmocka_unit_test(test_cells_that_are_no_ids_are_refused_with_their_row),
        cmocka_unit_test(test_a_cell_of_a_database_without_end_is_refused_in_bounded_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
