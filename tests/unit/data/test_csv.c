/* test_csv.c -- what a CSV file may be, and the line that says why another is refused.
 *
 * Each refusal stands beside the smallest file that is accepted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/data/csv.h"
#include "common/data/intake.h"
#include "tests/lib/scratch.h"
#include "tests/unit/data/reading.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* --- what is read --------------------------------------------------------------------------------
 */

static void check_small(const struct table *t)
{
    static const float x[] = {1.5f, -2, 0.25f, 1000, 7, 0};

    assert_int_equal(t->rows, 3);
    assert_int_equal(t->cols, 2);
    assert_memory_equal(t->x, x, sizeof x);
    assert_string_equal(t->names, "age");
    assert_string_equal(t->names + TABLE_NAME_MAX, "net income");
    assert_string_equal(table_id(t, 0), "1");
    assert_string_equal(table_id(t, 1), "b2");
    assert_string_equal(table_id(t, 2), "10-x");
    assert_memory_equal(t->id_text,
                        "1\0b2\0"
                        "10-x",
                        10);
}

static void test_names_ids_and_values_are_read(void **unused)
{
    struct table t;
    const char *text = "id,age,net income\n1,1.5,-2\nb2,.25,1e3\n10-x,+7,0\n";

    (void)unused;
    assert_int_equal(reading_file(&t, scratch_write_text("t.csv", text), false, &READING_LIMITS),
                     0);
    check_small(&t);
    table_deinit(&t);
}

static void test_gzip_reads_as_plain_does(void **unused)
{
    struct table t;
    const char *text = "id,age,net income\n1,1.5,-2\nb2,.25,1e3\n10-x,+7,0\n";

    (void)unused;
    assert_int_equal(reading_file(&t, scratch_write_gzip("t.csv.gz", text, strlen(text)), false,
                                  &READING_LIMITS),
                     0);
    check_small(&t);
    table_deinit(&t);
}

static void test_gzip_cut_anywhere_is_refused(void **unused)
{
    char text[4000] = "id,age\n", packed[4000];
    size_t n = strlen(text), size;
    const char *path;
    struct table t;
    FILE *f;

    (void)unused;
    for (int i = 0; i < 200; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%d,%d\n", i, i * 7919 % 1000);
    f = fopen(scratch_write_gzip("t.csv.gz", text, n), "rb");
    assert_non_null(f);
    size = fread(packed, 1, sizeof packed, f);
    fclose(f);
    assert_in_range(size, 200, sizeof packed - 1);
    for (size_t cut = 0; cut < size; cut++) {
        path = scratch_write("cut.csv.gz", packed, cut);
        assert_int_equal(reading_file(&t, path, false, &READING_LIMITS), STATUS_DATA);
        reading_zeroed(&t);
    }
    assert_string_equal(reading_said(), "cut.csv.gz: gzip data ends too early");
    path = scratch_write("cut.csv.gz", packed, size);
    assert_int_equal(reading_file(&t, path, false, &READING_LIMITS), STATUS_OK);
    assert_int_equal(t.rows, 200);
    table_deinit(&t);

    packed[size - 6] ^= 1; /* a bit of the checksum */
    path = scratch_write("cut.csv.gz", packed, size);
    assert_int_equal(reading_file(&t, path, false, &READING_LIMITS), STATUS_DATA);
    assert_string_equal(reading_said(), "cut.csv.gz: damaged gzip data");
}

static void test_lines_end_in_lf_or_crlf_and_the_last_in_nothing(void **unused)
{
    (void)unused;
    reading_accept("id,a\n1,2\n3,4\n", 2, 1);
    reading_accept("id,a\n1,2\n3,4", 2, 1);
    reading_accept("id,a\r\n1,2\r\n3,4\r\n", 2, 1);
    reading_accept("id,a\r\n1,2\n3,4\r", 2, 1);
    reading_refuse("id,a\r1,2\r3,4", "t.csv:1: column 2 \"a?1\": " READING_A_NAME);
    reading_refuse("id,a\n1,2\r\r\n", "t.csv:2: column 2 \"a\": not a number");
    reading_accept("id,a\n1,2\n\n\r\n\n", 1, 1);
    reading_refuse("id,a\n1,2\n\n\n3,4\n", "t.csv:3: empty line");
    reading_refuse("id,a\n\n1,2\n", "t.csv:2: empty line");
}

/* --- what is refused -----------------------------------------------------------------------------
 */

static void test_one_column_is_the_id(void **unused)
{
    (void)unused;
    reading_accept("id,a\n1,2\n", 1, 1);
    reading_accept("a,id\n1,2\n", 1, 1);
    reading_refuse("ID,a\n1,2\n", "t.csv:1: no column \"id\"");
    reading_refuse("1,2\n3,4\n", "t.csv:1: no column \"id\"");
    reading_refuse("\n1,2\n", "t.csv:1: column 1 \"\": " READING_A_NAME);
    reading_refuse("id\n1\n", "t.csv:1: no column besides id");
    reading_refuse("id,a,id\n1,2,3\n", "t.csv:1: columns 1 and 3 are both \"id\"");
    reading_refuse("", "t.csv: empty file");
    reading_refuse("\xef\xbb\xbf", "t.csv: empty file");
}

static void test_a_byte_order_mark_is_skipped_at_the_start_alone(void **unused)
{
    (void)unused;
    reading_accept("\xef\xbb\xbfid,a\n1,2\n", 1, 1);
    reading_accept("\xef\xbb\xbf\"id\",\"a,b\"\n1,2\n", 1, 1);
    reading_refuse("\xef\xbb\xbf\xef\xbb\xbfid,a\n1,2\n",
                   "t.csv:1: column 1 \"???id\": " READING_A_NAME);
    reading_refuse("id,a\n\xef\xbb\xbf"
                   "1,2\n",
                   "t.csv:2: column 1 \"id\": " READING_AN_ID);
}

static void test_the_most_frequent_delimiter_of_the_header_is_taken(void **unused)
{
    static const char *const texts[] = {"id,a,b\n1,2,3\n", "id;a;b\n1;2;3\n", "id\ta\tb\n1\t2\t3\n",
                                        "id|a|b\n1|2|3\n", "id;\"a,b,c,d\";b\n1;2;3\n"};
    const struct intake_want bars = {.source = {.delimiter = '|'},
                                     .kind = SCHEMA_NUMBER,
                                     .complete = true,
                                     .limits = &INTAKE_LIMITS};
    struct schema schema = {0};
    struct table t;

    (void)unused;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        reading_accept(texts[i], 1, 2);
    reading_refuse("id;a\n1,2\n", "t.csv:2: 1 cells, but the header has 2");
    reading_refuse("id;a\n1;2,5\n", "t.csv:2: column 2 \"a\": not a number");
    /* What is said stands, whatever the header would say. */
    assert_int_equal(intake_read(&t, &schema, scratch_write_text("t.csv", "id|a;,b\n1|2\n"), &bars,
                                 &reading_error),
                     0);
    assert_string_equal(t.names, "a;,b");
    table_deinit(&t);
    schema_deinit(&schema);
}

/* The cells of the one row below the header, with '/' between them. */
static const char *cells(const char *text)
{
    static char out[400];
    struct source s;
    bool more;

    out[0] = 0;
    reading_error = (struct error){0};
    if (source_open(&s, scratch_write_text("t.csv", text), &(struct source_options){0},
                    &reading_error) == 0 &&
        source_next(&s, &more, &reading_error) == 0 && more) {
        for (size_t i = 0; i < s.cols; i++) {
            assert_int_equal(s.cell[i].n, strlen(s.cell[i].text));
            strcat(strcat(out, i > 0 ? "/" : ""), s.cell[i].text);
        }
    }
    source_close(&s);
    return reading_error.text[0] != 0 ? reading_said() : out;
}

static void test_quotes_hold_delimiters_line_ends_and_quotes(void **unused)
{
    (void)unused;
    assert_string_equal(cells("a,b,c\n1,2,3"), "1/2/3");
    assert_string_equal(cells("a,b,c\n\"1\",\"2\",\"3\"\n"), "1/2/3");
    assert_string_equal(cells("a,b,c\n\"x,y\",\"say \"\"no\"\"\",\"\"\n"), "x,y/say \"no\"/");
    assert_string_equal(cells("a,b,c\n1,\"two\nlines\",3\n"), "1/two\nlines/3");
    assert_string_equal(cells("a,b,c\r\n1,\"two\r\n\r\nlines\",3\r\n"), "1/two\r\n\r\nlines/3");
    assert_string_equal(cells("a,b,c\n  x  y ,\t\" z \" ,\"\"\"\"\n"), "x  y/ z /\"");
    assert_string_equal(cells("a,b,c\n5\" pipe,2,3\n"),
                        "5\" pipe/2/3"); /* no quote begins a cell */
    assert_string_equal(cells("a,\"b\nb\",c\n1,2,3\n"),
                        "t.csv:1: column 2 \"b?b\": " READING_A_NAME);
    assert_string_equal(cells("a,b,c\n1,\"2\"x,3\n"),
                        "t.csv:2: a cell in quotes goes on behind them");
    assert_string_equal(cells("a,b,c\n1,2,\"3\n4,5,6\n"), "t.csv:2: a cell in quotes does not end");
    assert_string_equal(cells("a,b,c\n1,2,\"3"), "t.csv:2: a cell in quotes does not end");
    /* The line of a row is its first one, and those behind it are counted. */
    reading_refuse("id,a\n1,\"\n\n2\"\n3,4\n", "t.csv:2: column 2 \"a\": not a number");
    reading_refuse("id,a,b\n1,2,\"3\"\n4,\"5\",\"6\n7\"\n",
                   "t.csv:3: column 3 \"b\": not a number");
    reading_refuse("\"id\n\nx\",id,a\n1,2,3,4\n", "t.csv:1: column 1 \"id??x\": " READING_A_NAME);
}

/* Many joins of many lines, across the ends of what is read at once. */
static void test_a_cell_of_many_lines_is_one(void **unused)
{
    enum { LINES = 60000 };
    char *text = malloc(4 * LINES + 64);
    size_t n = (size_t)sprintf(text, "id,a,b\n1,2,\"");
    struct source s;
    bool more;

    (void)unused;
    for (int i = 0; i < LINES; i++, n += 4)
        memcpy(text + n, "x\"\"\n", 4);
    n += (size_t)sprintf(text + n, "\"\n2,3,4\n");
    assert_int_equal(source_open(&s, scratch_write("t.csv", text, n), &(struct source_options){0},
                                 &reading_error),
                     STATUS_OK);
    assert_int_equal(source_next(&s, &more, &reading_error), STATUS_OK);
    assert_true(more && s.row == 2 && s.cell[2].n == 3 * LINES);
    assert_int_equal(source_next(&s, &more, &reading_error), STATUS_OK);
    assert_true(more && strcmp(s.cell[2].text, "4") == 0);
    assert_int_equal(source_next(&s, &more, &reading_error), STATUS_OK);
    assert_false(more);
    source_close(&s);
    free(text);
}

static void test_column_names_are_unique(void **unused)
{
    char text[400], name[TABLE_NAME_MAX + 1];

    (void)unused;
    reading_accept("id,a,b,A\n1,2,3,4\n", 1, 3);
    reading_refuse("id,a,b,a\n1,2,3,4\n", "t.csv:1: columns 2 and 4 are both \"a\"");
    reading_refuse("id,aaaaaaaa,b,aaaaaaaa\n1,2,3,4\n",
                   "t.csv:1: columns 2 and 4 are both \"aaaaaaaa\"");
    reading_accept("id,aaaaaaaa,b,aaaaaaab\n1,2,3,4\n", 1, 3);
    reading_refuse("id,a,\n1,2,3\n", "t.csv:1: column 3 \"\": " READING_A_NAME);
    reading_accept("id,\"a\", \"b, c\",\"d \"\"e\"\"\"\n1,2,3,4\n", 1, 3);
    reading_accept("id,Gr\xc3\xb6\xc3\x9f"
                   "e\n1,2\n",
                   1, 1);
    reading_refuse("id,Gr\xf6\xdf"
                   "e\n1,2\n",
                   "t.csv:1: column 2 \"Gr??e\": " READING_A_NAME);
    reading_refuse("id,\" a\"\n1,2\n", "t.csv:1: column 2 \" a\": " READING_A_NAME);
    memset(name, 'n', sizeof name);
    snprintf(text, sizeof text, "id,%.*s\n1,2\n", TABLE_NAME_MAX - 1, name);
    reading_accept(text, 1, 1);
    snprintf(text, sizeof text, "id,%.*s\n1,2\n", TABLE_NAME_MAX, name);
    reading_refuse(
        text, "t.csv:1: column 2 \"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...\": " READING_A_NAME);
}

static void test_every_line_has_the_cells_of_the_header(void **unused)
{
    (void)unused;
    reading_accept("id,a,b\n1,2,3\n4,5,6\n", 2, 2);
    reading_refuse("id,a,b\n1,2,3\n4,5\n", "t.csv:3: 2 cells, but the header has 3");
    reading_refuse("id,a,b\n1,2,3\n4,5,6,7\n", "t.csv:3: 4 cells, but the header has 3");
    reading_refuse("id,a,b\n1,2,3,\n4,5,6\n", "t.csv:2: 4 cells, but the header has 3");
    reading_refuse("id,a,b\n1\n4,5,6\n", "t.csv:2: 1 cells, but the header has 3");
    reading_refuse("id,a,b\n", "t.csv: no rows below the header");
    reading_refuse("id,a,b", "t.csv: no rows below the header");
}

static void test_a_byte_0_is_refused(void **unused)
{
    struct table t;
    static const char text[] = "id,a\n1,2\0\n";

    (void)unused;
    assert_int_equal(
        reading_file(&t, scratch_write("t.csv", text, sizeof text - 1), false, &READING_LIMITS),
        STATUS_DATA);
    assert_string_equal(reading_said(), "t.csv:2: byte 0 in the line: not a text file");
}

static void test_only_regular_files_are_read(void **unused)
{
    const char *missing = scratch_path("missing.csv"), *pipe = scratch_path("pipe.csv");
    struct table t;

    (void)unused;
    assert_int_equal(reading_file(&t, missing, false, &READING_LIMITS), STATUS_DATA);
    assert_string_equal(reading_said(), "missing.csv: No such file or directory");
    assert_int_equal(reading_file(&t, scratch_dir(), false, &READING_LIMITS), STATUS_DATA);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(reading_file(&t, pipe, false, &READING_LIMITS), STATUS_DATA);
    assert_string_equal(reading_said(), "pipe.csv: not a regular file");
}

/* --- limits --------------------------------------------------------------------------------------
 */

static enum status read_limited(const char *text, struct reading_limits limits)
{
    struct table t;
    enum status s = reading_file(&t, scratch_write_text("t.csv", text), false, &limits);

    table_deinit(&t);
    return s;
}

static void test_limits_hold_exactly(void **unused)
{
    const char *text = "id,a\r\n1,2\r\n3,45";

    (void)unused;
    assert_int_equal(read_limited(text, (struct reading_limits){4, 2, 2}), STATUS_OK);
    assert_int_equal(read_limited(text, (struct reading_limits){3, 2, 2}), STATUS_DATA);
    assert_string_equal(reading_said(), "t.csv:1: line over 3 bytes");
    assert_int_equal(read_limited("id,a\n1,234\n", (struct reading_limits){4, 2, 2}), STATUS_DATA);
    assert_string_equal(reading_said(), "t.csv:2: line over 4 bytes");
    assert_int_equal(read_limited(text, (struct reading_limits){4, 1, 2}), STATUS_DATA);
    assert_string_equal(reading_said(), "t.csv: more than 1 rows");
    assert_int_equal(read_limited(text, (struct reading_limits){4, 2, 1}), STATUS_DATA);
    assert_string_equal(reading_said(), "t.csv: 2 rows of 1 columns are too large a table");
}

/* A line without end is refused when the limit is reached, not when memory is. */
static void test_an_endless_line_is_refused_at_the_limit(void **unused)
{
    enum { LONG = 4 << 20 };
    char *text = malloc(LONG);
    struct reading_limits limits = {.line_max = 200000, .rows_max = 9, .values_max = 9};
    struct table t;
    uint64_t before = mem_count();

    (void)unused;
    assert_non_null(text);
    memset(text, '1', LONG);
    memcpy(text, "id,a\n1,", 7);
    assert_int_equal(reading_file(&t, scratch_write_gzip("t.csv.gz", text, LONG), false, &limits),
                     STATUS_DATA);
    assert_string_equal(reading_said(), "t.csv.gz:2: line over 200000 bytes");
    /* The buffer, grown to 128 and 256 KiB, and what the header takes. */
    assert_int_equal(mem_count() - before, 10);
    free(text);
}

/* Rows of few bytes in a gzip of few bytes. */
static void test_a_gzip_bomb_meets_the_row_limit(void **unused)
{
    enum { ROWS = 300000 };
    struct reading_limits limits = READING_LIMITS;
    char *text = malloc(4 * ROWS + 8);
    size_t n = 5;
    const char *path;
    struct table t;
    struct stat st;

    (void)unused;
    assert_non_null(text);
    memcpy(text, "id,a\n", n);
    for (int i = 0; i < ROWS; i++, n += 4)
        memcpy(text + n, "1,1\n", 4);
    path = scratch_write_gzip("bomb.csv.gz", text, n);
    assert_int_equal(stat(path, &st), 0);
    assert_in_range(st.st_size, 1, 4096);
    limits.rows_max = ROWS - 1;
    assert_int_equal(reading_file(&t, path, false, &limits), STATUS_DATA);
    assert_string_equal(reading_said(), "bomb.csv.gz: more than 299999 rows");

    free(text);
}

static char *many_columns(size_t cols, size_t *n)
{
    char *text = malloc(16 * cols + 100);

    assert_non_null(text);
    *n = (size_t)sprintf(text, "id");
    for (size_t i = 0; i < cols; i++)
        *n += (size_t)sprintf(text + *n, ",c%zu", i);
    return text;
}

static void test_the_most_columns_are_read_and_no_more(void **unused)
{
    size_t n;
    char *text = many_columns(TABLE_COLUMNS_MAX, &n);
    struct table t;

    (void)unused;
    n += (size_t)sprintf(text + n, "\nx");
    for (size_t i = 0; i < TABLE_COLUMNS_MAX; i++)
        n += (size_t)sprintf(text + n, ",%zu", i % 10);
    assert_int_equal(reading_file(&t, scratch_write("t.csv", text, n), false, &READING_LIMITS), 0);
    assert_int_equal(t.cols, TABLE_COLUMNS_MAX);
    assert_true(t.x[65535] == 5 && t.x[65530] == 0);
    table_deinit(&t);
    free(text);

    text = many_columns(TABLE_COLUMNS_MAX + 1, &n);
    assert_int_equal(reading_file(&t, scratch_write("t.csv", text, n), false, &READING_LIMITS),
                     STATUS_DATA);
    assert_string_equal(reading_said(), "t.csv:1: 65537 columns, at most 65536");
    free(text);
}

/* A header of many columns over many empty lines asks for one row, not for all. */
static void test_empty_lines_claim_no_memory(void **unused)
{
    struct reading_limits limits = READING_LIMITS;
    size_t n;
    char *text = many_columns(1000, &n);
    struct table t;

    (void)unused;
    text = realloc(text, n + 1001);
    assert_non_null(text);
    memset(text + n, '\n', 1001);
    limits.values_max = 1000;
    assert_int_equal(reading_file(&t, scratch_write("t.csv", text, n + 1001), false, &limits),
                     STATUS_DATA);
    assert_string_equal(reading_said(), "t.csv: no rows below the header");
    free(text);
}

/* --- what is written ---------------------------------------------------------------------------
 */

static void test_cells_that_are_written_are_read_whatever_delimiters_they_hold(void **unused)
{
    static const char *const names[] = {"a|b|c|d", "1;2;3;4", "p,q", " outside", "say \"x\""};

    (void)unused;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = scratch_path("written.csv"), *cell = names[i];
        const char *name = cell[0] == ' ' ? "x" : cell; /* that one is no name */
        struct source s;
        struct source_options o = {.delimiter = 0};
        struct error err = {0};
        FILE *f = fopen(path, "w");
        bool more;

        assert_non_null(f);
        fputs("id,", f);
        csv_put(f, name, strlen(name));
        fputs("\n1,", f);
        csv_put(f, cell, strlen(cell));
        fputs("\n", f);
        assert_int_equal(fclose(f), 0);
        if (source_open(&s, path, &o, &err) != STATUS_OK)
            fail_msg("%s", err.text);
        assert_int_equal(s.cols, 2);
        assert_int_equal(source_next(&s, &more, &err), STATUS_OK);
        assert_true(more);
        assert_int_equal(s.cell[1].n, strlen(cell));
        assert_memory_equal(s.cell[1].text, cell, strlen(cell));
        assert_int_equal(source_column(&s, name), 1);
        source_close(&s);
    }
}

static void test_a_cell_without_them_stays_as_it_is(void **unused)
{
    char text[32] = {0};
    FILE *f = fmemopen(text, sizeof text, "w");

    (void)unused;
    assert_non_null(f);
    csv_put(f, "a b:c/d'e", 9);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(text, "a b:c/d'e");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_ids_and_values_are_read),
        cmocka_unit_test(test_gzip_reads_as_plain_does),
        cmocka_unit_test(test_gzip_cut_anywhere_is_refused),
        cmocka_unit_test(test_lines_end_in_lf_or_crlf_and_the_last_in_nothing),
        cmocka_unit_test(test_one_column_is_the_id),
        cmocka_unit_test(test_a_byte_order_mark_is_skipped_at_the_start_alone),
        cmocka_unit_test(test_the_most_frequent_delimiter_of_the_header_is_taken),
        cmocka_unit_test(test_quotes_hold_delimiters_line_ends_and_quotes),
        cmocka_unit_test(test_cells_that_are_written_are_read_whatever_delimiters_they_hold),
        cmocka_unit_test(test_a_cell_without_them_stays_as_it_is),
        cmocka_unit_test(test_a_cell_of_many_lines_is_one),
        cmocka_unit_test(test_column_names_are_unique),
        cmocka_unit_test(test_every_line_has_the_cells_of_the_header),
        cmocka_unit_test(test_a_byte_0_is_refused),
        cmocka_unit_test(test_only_regular_files_are_read),
        cmocka_unit_test(test_limits_hold_exactly),
        cmocka_unit_test(test_an_endless_line_is_refused_at_the_limit),
        cmocka_unit_test(test_a_gzip_bomb_meets_the_row_limit),
        cmocka_unit_test(test_the_most_columns_are_read_and_no_more),
        cmocka_unit_test(test_empty_lines_claim_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
