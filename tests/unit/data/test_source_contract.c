/* test_source_contract.c -- what holds for every kind of source alike: the same rows are the same
 * table, and what is wrong is one line with its place, whatever the rows come out of.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/group.h"
#include "common/data/intake.h"
#include "common/data/source.h"
#include "tests/lib/instrumented.h"
#include "tests/lib/postgres_server.h"
#include "tests/lib/scratch.h"
#include "tests/unit/data/source_kinds.h"

#include <math.h>
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
#include <cmocka.h>

enum { CELL_HUGE = 100000000 };
/* More than before, of which a row has 16 MB at most, and the cell would have 100; instrumented
 * code takes several times the memory, and a driver of ODBC may hold the cell that it has read. */
enum { KB_MAX = INSTRUMENTED ? 600 << 10 : 80 << 10, DRIVER_KB_MAX = KB_MAX + (200 << 10) };

static struct error err;

static bool is_text(const struct source_kind *k)
{
    return strncmp(k->word, "csv", 3) == 0;
}

/* --- the laws --- */

static struct intake_want want_of(const struct source_rows *r)
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
static void check_line(const struct source_kind *k, const char *path, const char *expected)
{
    if (strncmp(err.text, path, strlen(path)) != 0 || strchr(err.text, '\n') != NULL ||
        strstr(err.text, expected) == NULL)
        fail_msg("%s: %s", k->word, err.text);
}

static void refused(const struct source_rows *r, const char *text, const char *database)
{
    const struct intake_want want = want_of(r);

    for (size_t i = 0; i < SOURCE_KINDS; i++) {
        const struct source_kind *k = &source_kinds[i];
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

static const char *small[][SOURCE_COLS] = {
    {"9007199254740993", "1.5", "x, \"y\"", "2024-02-29"},
    {"7", "-2e3", "Côte d'Ivoire", NULL},
    {"12", NULL, NULL, "2024-03-01 12:00:00"},
    {"8", "NaN", "x, \"y\"", ""},
};
static const struct source_rows SMALL = {"people", {"id", "a b", "text", "since"}, small, 4};

static void test_the_same_rows_are_the_same_table(void **state)
{
    struct intake_want want = want_of(&SMALL);
    struct schema first = {0};
    struct table t;

    (void)state;
    assert_int_equal(read_rows(&t, &first, source_kinds[0].put(&SMALL), &want), STATUS_OK);
    want.mapped = scratch_dir();
    for (size_t i = 0; i < SOURCE_KINDS; i++) { /* in a file, those of the first kind, too */
        struct schema s = {0};
        struct table u;

        if (!source_kinds[i].there())
            continue;
        if (read_rows(&u, &s, source_kinds[i].put(&SMALL), &want) != STATUS_OK)
            fail_msg("%s: %s", source_kinds[i].word, err.text);
        assert_true(u.values.file.n == sizeof(float[12]));
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
    const char *cell[][SOURCE_COLS] = {
        {"7", "1", "a", ""}, {"8", "1", "a", ""}, {"7", "2", "b", ""}};
    const struct source_rows r = {"people", {"id", "a", "b", "c"}, cell, 3};

    (void)state;
    refused(&r, ":4: id \"7\" is already on line 2", ":3: id \"7\" is already on line 1");
}

static void test_another_type_in_a_late_row_has_its_place(void **state)
{
    enum { ROWS = 20000 };
    const char *(*cell)[SOURCE_COLS] = calloc(ROWS, sizeof *cell);
    const struct source_rows r = {"people", {"id", "a", "b", "c"}, cell, ROWS};
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
static void check_vanishing(const struct source_kind *k, const struct source_rows *r)
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
    const char *(*cell)[SOURCE_COLS] = calloc(ROWS, sizeof *cell);
    const struct source_rows r = {"people", {"id", "a", "b", "c"}, cell, ROWS};
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
    for (size_t i = 0; i < SOURCE_KINDS; i++)
        if (source_kinds[i].there())
            check_vanishing(&source_kinds[i], &r);
    free(cell);
    free(text);
}

static const char *put_huge(const struct source_kind *k)
{
    char *huge = malloc(CELL_HUGE + 1);
    const char *cell[][SOURCE_COLS] = {{"1", "1", "a", ""}, {"2", "1", huge, ""}}, *path;
    const struct source_rows r = {"people", {"id", "a", "b", "c"}, cell, 2};

    memset(huge, 'x', CELL_HUGE);
    huge[CELL_HUGE] = 0;
    path = k->put(&r);
    free(huge);
    return path;
}

static long largest(void)
{
    struct rusage used;

    assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
    return used.ru_maxrss;
}

/* In a process of its own, which says how much memory it has taken: kB; 0 where it is not so. */
static long refused_in(const struct source_kind *k, const char *path, const char *expected)
{
    const struct intake_want want = {.source.table = "people", .limits = &INTAKE_LIMITS};
    int ends[2], status;
    long kb = 0;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const long before = largest();
        struct schema s = {0};
        struct table t;
        const enum status got = read_rows(&t, &s, path, &want);
        const bool good = got == STATUS_DATA && strncmp(err.text, path, strlen(path)) == 0 &&
                          strchr(err.text, '\n') == NULL && strstr(err.text, expected) != NULL;

        if (!good)
            fprintf(stderr, "%s: %s\n", k->word, err.text);
        kb = good ? 1 + largest() - before : 0;
        _exit(write(ends[1], &kb, sizeof kb) == (ssize_t)sizeof kb ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], &kb, sizeof kb), sizeof kb);
    close(ends[0]);
    close(ends[1]);
    return kb;
}

static void test_a_cell_of_a_hundred_million_characters_is_refused_in_bounded_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < SOURCE_KINDS; i++) {
        const struct source_kind *k = &source_kinds[i];
        const bool driver = strcmp(k->word, "odbc") == 0;
        long kb;

        if (!k->there())
            continue;
        kb = refused_in(k, put_huge(k),
                        is_text(k)                       ? ":3: line over 16777216 bytes"
                        : strcmp(k->word, "sqlite") == 0 ? ":2: string or blob too big"
                        : driver                         ? ":2: a row over 16777216 bytes"
                                                         : ":2: column 3 \"b\": a text longer");
        assert_in_range(kb, 1, driver ? DRIVER_KB_MAX : KB_MAX);
    }
    if (postgres_server() != NULL)
        source_run_postgres("DROP TABLE people");
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
        for (size_t k = 0; k < SOURCE_KINDS; k++) {
            const char *cell[][SOURCE_COLS] = {{"1", "2", "x", "y"}, {"2", "3", "z", "y"}};
            const struct source_rows r = {names[i], {"id", names[i], "b", "c"}, cell, 2};
            const struct intake_want want = want_of(&r);
            struct schema s = {0};
            struct table t;

            /* SQLite's driver takes what stands before a dot for a table. */
            if (!source_kinds[k].there() ||
                (strcmp(source_kinds[k].word, "odbc") == 0 && strchr(names[i], '.') != NULL))
                continue;
            if (read_rows(&t, &s, source_kinds[k].put(&r), &want) != STATUS_OK)
                fail_msg("%s: %s", source_kinds[k].word, err.text);
            assert_true(t.rows == 2 && t.cols == 3 && t.x[0] == 2);
            assert_string_equal(t.names, names[i]);
            table_deinit(&t);
            schema_deinit(&s);
        }
}

static void test_two_columns_of_one_name_are_refused(void **state)
{
    const char *cell[][SOURCE_COLS] = {{"1", "2", "x", "y"}};
    const struct source_rows r = {"people", {"id", "a", "b", "a"}, cell, 1};

    (void)state;
    for (size_t i = 0; i < 3; i++) { /* no database has such a table */
        const struct intake_want want = want_of(&r);
        struct schema s = {0};
        struct table t;
        const char *path = source_kinds[i].put(&r);

        assert_int_equal(read_rows(&t, &s, path, &want), STATUS_DATA);
        check_line(&source_kinds[i], path, "columns 2 and 4 are both \"a\"");
    }
}

static void test_names_and_texts_that_are_none_are_refused(void **state)
{
    const char *cell[][SOURCE_COLS] = {{"1", "2", "x\x01y", "y"}};
    const struct source_rows texts = {"people", {"id", "a", "b", "c"}, cell, 1};
    const struct source_rows names = {"people", {"id", "a\tb", "b", "c"}, cell, 1};

    (void)state;
    refused(&texts, ":2: column 3 \"b\": a text that is no UTF-8, or has control characters",
            ":1: column 3 \"b\": a text that is no UTF-8, or has control characters");
    refused(&names, "column 2 \"a?b\": a name is", "column 2 \"a?b\": a name is");
}

/* PostgreSQL keeps no such text; the others hand it over as it is. */
static void test_bytes_that_are_no_utf8_are_refused(void **state)
{
    const char *cell[][SOURCE_COLS] = {{"1", "2", "x", "y"}, {"2", "2", "x\xff\xfe", "y"}};
    const struct source_rows r = {"people", {"id", "a", "b", "c"}, cell, 2};
    const struct intake_want want = want_of(&r);

    (void)state;
    for (size_t i = 0; i < SOURCE_KINDS; i++) {
        const struct source_kind *k = &source_kinds[i];
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
static void changes(const struct source_rows *before, const struct source_rows *after, bool seen)
{
    for (size_t i = 0; i < SOURCE_KINDS; i++) {
        struct intake_want want = want_of(before);
        struct group_from from = {.source.table = before->table, .column = "c"};
        struct group g = {0};
        struct schema s = {0};
        struct table t;
        char path[512];
        enum status status;

        if (!source_kinds[i].there())
            continue;
        want.group = "c";
        snprintf(path, sizeof path, "%s", source_kinds[i].put(before));
        if (read_rows(&t, &s, path, &want) != STATUS_OK)
            fail_msg("%s: %s", source_kinds[i].word, err.text);
        source_kinds[i].put(after);
        from.path = path;
        status = group_read(&g, &from, &t, &err);
        assert_int_equal(status, seen ? STATUS_DATA : STATUS_OK);
        if (seen)
            check_line(&source_kinds[i], path, "it changed between two times that it was read");
        group_deinit(&g);
        table_deinit(&t);
        schema_deinit(&s);
    }
}

static void test_what_changes_between_two_reads_is_refused(void **state)
{
    const char *cell[][SOURCE_COLS] = {
        {"1", "2", "x", "p"}, {"2", "3", "y", "q"}, {"3", "4", "z", "q"}};
    const char *moved[][SOURCE_COLS] = {
        {"3", "4", "z", "q"}, {"1", "2", "x", "p"}, {"2", "3", "y", "q"}};
    const char *value[][SOURCE_COLS] = {
        {"1", "2", "x", "p"}, {"2", "9", "y", "q"}, {"3", "4", "z", "q"}};
    const char *whose[][SOURCE_COLS] = {
        {"1", "2", "x", "p"}, {"2", "3", "y", "p"}, {"3", "4", "z", "q"}};
    const char *other[][SOURCE_COLS] = {
        {"1", "2", "x", "p"}, {"2", "3", "y", "q"}, {"4", "4", "z", "q"}};
    const char *swapped[][SOURCE_COLS] = {
        {"2", "2", "x", "p"}, {"1", "3", "y", "q"}, {"3", "4", "z", "q"}};
    const struct source_rows r = {"people", {"id", "a", "b", "c"}, cell, 3};
    struct source_rows to = r;

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
        cmocka_unit_test(test_a_cell_of_a_hundred_million_characters_is_refused_in_bounded_memory),
        cmocka_unit_test(test_names_are_names),
        cmocka_unit_test(test_two_columns_of_one_name_are_refused),
        cmocka_unit_test(test_names_and_texts_that_are_none_are_refused),
        cmocka_unit_test(test_bytes_that_are_no_utf8_are_refused),
        cmocka_unit_test(test_what_changes_between_two_reads_is_refused),
    };
    unsetenv("ODBCINI");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
