/* test_csv.c -- what a CSV file may be, and the line that says why another is refused.
 *
 * Each refusal stands beside the smallest file that is accepted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/data/csv.h"
#include "tests/lib/scratch.h"

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

static const struct table_want FEATURES = {.labels = false}, LABELS = {.labels = true};
static struct error err;

static enum status read_file(struct table *t, const char *path, const struct table_want *want,
                             const struct csv_limits *limits)
{
    err = (struct error){0};
    return csv_read(t, path, want, limits, &err);
}

/* The error text without the folder. */
static const char *said(void)
{
    size_t n = strlen(scratch_dir()) + 1;

    return strlen(err.text) > n ? err.text + n : err.text;
}

static void assert_zeroed(const struct table *t)
{
    assert_true(t->x == NULL && t->id_text == NULL && t->id_at == NULL && t->names == NULL);
    assert_int_equal(t->rows + t->cols, 0);
}

static void accept_as(const char *text, const struct table_want *want, size_t rows, size_t cols)
{
    struct table t;

    if (read_file(&t, scratch_write_text("t.csv", text), want, &CSV_LIMITS) != STATUS_OK)
        fail_msg("refused: %s", err.text);
    assert_int_equal(t.rows, rows);
    assert_int_equal(t.cols, cols);
    table_deinit(&t);
}

static void refuse_as(const char *text, const struct table_want *want, const char *expected)
{
    struct table t;

    assert_int_equal(read_file(&t, scratch_write_text("t.csv", text), want, &CSV_LIMITS),
                     STATUS_DATA);
    assert_int_equal(err.status, STATUS_DATA);
    assert_string_equal(said(), expected);
    assert_zeroed(&t);
}

static void accept(const char *text, size_t rows, size_t cols)
{
    accept_as(text, &FEATURES, rows, cols);
}

static void refuse(const char *text, const char *expected)
{
    refuse_as(text, &FEATURES, expected);
}

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
    assert_int_equal(read_file(&t, scratch_write_text("t.csv", text), &FEATURES, &CSV_LIMITS), 0);
    check_small(&t);
    table_deinit(&t);
}

static void test_gzip_reads_as_plain_does(void **unused)
{
    struct table t;
    const char *text = "id,age,net income\n1,1.5,-2\nb2,.25,1e3\n10-x,+7,0\n";

    (void)unused;
    assert_int_equal(
        read_file(&t, scratch_write_gzip("t.csv.gz", text, strlen(text)), &FEATURES, &CSV_LIMITS),
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
        assert_int_equal(read_file(&t, path, &FEATURES, &CSV_LIMITS), STATUS_DATA);
        assert_zeroed(&t);
    }
    assert_string_equal(said(), "cut.csv.gz: gzip data ends too early");
    path = scratch_write("cut.csv.gz", packed, size);
    assert_int_equal(read_file(&t, path, &FEATURES, &CSV_LIMITS), STATUS_OK);
    assert_int_equal(t.rows, 200);
    table_deinit(&t);

    packed[size - 6] ^= 1; /* a bit of the checksum */
    path = scratch_write("cut.csv.gz", packed, size);
    assert_int_equal(read_file(&t, path, &FEATURES, &CSV_LIMITS), STATUS_DATA);
    assert_string_equal(said(), "cut.csv.gz: damaged gzip data");
}

static void test_lines_end_in_lf_or_crlf_and_the_last_in_nothing(void **unused)
{
    (void)unused;
    accept("id,a\n1,2\n3,4\n", 2, 1);
    accept("id,a\n1,2\n3,4", 2, 1);
    accept("id,a\r\n1,2\r\n3,4\r\n", 2, 1);
    accept("id,a\r\n1,2\n3,4\r", 2, 1);
    refuse("id,a\r1,2\r3,4", "t.csv:1: column 2 \"a?1\": a name is 1 to 127 printable ASCII bytes "
                             "without quotes or outer spaces");
    refuse("id,a\n1,2\r\r\n", "t.csv:2: column 2 \"a\": not a number");
    refuse("id,a\n1,2\n\n", "t.csv:3: empty line");
    refuse("id,a\n\n1,2\n", "t.csv:2: empty line");
}

/* --- what is refused -----------------------------------------------------------------------------
 */

static void test_the_header_begins_with_id(void **unused)
{
    (void)unused;
    accept("id,a\n1,2\n", 1, 1);
    refuse("a,id\n1,2\n", "t.csv:1: column 1 \"a\": the first column must be id");
    refuse("ID,a\n1,2\n", "t.csv:1: column 1 \"ID\": the first column must be id");
    refuse("1,2\n3,4\n", "t.csv:1: column 1 \"1\": the first column must be id");
    refuse("id;a\n1;2\n", "t.csv:1: column 1 \"id;a\": the first column must be id");
    refuse("\n1,2\n", "t.csv:1: column 1 \"\": the first column must be id");
    refuse("\xef\xbb\xbfid,a\n1,2\n",
           "t.csv:1: the file begins with a byte order mark: save it without one");
    refuse("id\n1\n", "t.csv:1: no column besides id");
    refuse("id,a,id\n1,2,3\n", "t.csv:1: column 3 \"id\": only the first column is called id");
    refuse("", "t.csv: empty file");
}

static void test_column_names_are_plain_and_unique(void **unused)
{
    char text[400], name[TABLE_NAME_MAX + 1];

    (void)unused;
    accept("id,a,b,A\n1,2,3,4\n", 1, 3);
    refuse("id,a,b,a\n1,2,3,4\n", "t.csv:1: columns 2 and 4 are both \"a\"");
    refuse("id,aaaaaaaa,b,aaaaaaaa\n1,2,3,4\n", "t.csv:1: columns 2 and 4 are both \"aaaaaaaa\"");
    accept("id,aaaaaaaa,b,aaaaaaab\n1,2,3,4\n", 1, 3);
    refuse("id,a,\n1,2,3\n", "t.csv:1: column 3 \"\": a name is 1 to 127 printable ASCII bytes "
                             "without quotes or outer spaces");
    refuse("id,\"a\"\n1,2\n",
           "t.csv:1: column 2 \"\"a\"\": a name is 1 to 127 printable ASCII bytes "
           "without quotes or outer spaces");
    refuse("id, a\n1,2\n", "t.csv:1: column 2 \" a\": a name is 1 to 127 printable ASCII bytes "
                           "without quotes or outer spaces");
    memset(name, 'n', sizeof name);
    snprintf(text, sizeof text, "id,%.*s\n1,2\n", TABLE_NAME_MAX - 1, name);
    accept(text, 1, 1);
    snprintf(text, sizeof text, "id,%.*s\n1,2\n", TABLE_NAME_MAX, name);
    refuse(text,
           "t.csv:1: column 2 \"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...\": a name is 1 to "
           "127 printable ASCII bytes without quotes or outer spaces");
}

static void test_every_line_has_the_cells_of_the_header(void **unused)
{
    (void)unused;
    accept("id,a,b\n1,2,3\n4,5,6\n", 2, 2);
    refuse("id,a,b\n1,2,3\n4,5\n", "t.csv:3: 2 cells, but the header has 3");
    refuse("id,a,b\n1,2,3\n4,5,6,7\n", "t.csv:3: 4 cells, but the header has 3");
    refuse("id,a,b\n1,2,3,\n4,5,6\n", "t.csv:2: 4 cells, but the header has 3");
    refuse("id,a,b\n1\n4,5,6\n", "t.csv:2: 1 cells, but the header has 3");
    refuse("id,a,b\n", "t.csv: no rows below the header");
    refuse("id,a,b", "t.csv: no rows below the header");
}

static void test_every_cell_is_a_finite_number(void **unused)
{
    (void)unused;
    accept("id,a,age\n1,2,3\n4,5,6e3\n", 2, 2);
    refuse("id,a,age\n1,2,3\n4,5,abc\n", "t.csv:3: column 3 \"age\": not a number");
    refuse("id,a,age\n1,2,3\n4,,6\n", "t.csv:3: column 2 \"a\": empty cell");
    refuse("id,a,age\n1,2,\n4,5,6\n", "t.csv:2: column 3 \"age\": empty cell");
    refuse("id,a,age\n1,2,nan\n", "t.csv:2: column 3 \"age\": not a number");
    refuse("id,a,age\n1,NaN,2\n", "t.csv:2: column 2 \"a\": not a number");
    refuse("id,a,age\n1,2,-inf\n", "t.csv:2: column 3 \"age\": not a number");
    refuse("id,a,age\n1,2,1e999\n", "t.csv:2: column 3 \"age\": too large a number");
    refuse("id,a,age\n1,-4e38,1\n", "t.csv:2: column 2 \"a\": too large a number");
    refuse("id,a,age\n1,2,0x1f\n", "t.csv:2: column 3 \"age\": not a number");
    refuse("id,a,age\n1,2,3 \n", "t.csv:2: column 3 \"age\": not a number");
    refuse("id,a,age\n1, 2,3\n", "t.csv:2: column 2 \"a\": not a number");
    refuse("id,a,age\n1,2,1e999x\n", "t.csv:2: column 3 \"age\": not a number");
    refuse("id,a,age\n1,\"2\",3\n", "t.csv:2: column 2 \"a\": quotes are not allowed");
    refuse("id,a,age\n1,2,\x1b[31m\xc3\xa4\n", "t.csv:2: column 3 \"age\": not a number");
    refuse("id,a,age\n1,2,xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
           "t.csv:2: column 3 \"age\": not a number");
}

static void test_the_first_wrong_line_is_named(void **unused)
{
    (void)unused;
    refuse("id,a\n1,x\n2\n3,4\n", "t.csv:2: column 2 \"a\": not a number");
    refuse("id,a\n1,2\n2\n3,x\n", "t.csv:3: 1 cells, but the header has 2");
}

static void test_ids_are_plain_and_short(void **unused)
{
    char text[400], id[TABLE_ID_MAX + 2];

    (void)unused;
    accept("id,a\nMr. O'Neil-7/x,2\n", 1, 1);
    refuse("id,a\n,2\n",
           "t.csv:2: column 1 \"id\": an id is printable ASCII without quotes or outer "
           "spaces: \"\"");
    refuse("id,a\n\"1\",2\n",
           "t.csv:2: column 1 \"id\": an id is printable ASCII without quotes or "
           "outer spaces: \"\"1\"\"");
    refuse("id,a\n1 ,2\n",
           "t.csv:2: column 1 \"id\": an id is printable ASCII without quotes or outer "
           "spaces: \"1 \"");
    refuse("id,a\n\xc3\xa4,2\n",
           "t.csv:2: column 1 \"id\": an id is printable ASCII without quotes or "
           "outer spaces: \"\?\?\"");
    memset(id, '7', sizeof id);
    snprintf(text, sizeof text, "id,a\n%.*s,2\n", TABLE_ID_MAX, id);
    accept(text, 1, 1);
    snprintf(text, sizeof text, "id,a\n%.*s,2\n", TABLE_ID_MAX + 1, id);
    refuse(text, "t.csv:2: id over 64 bytes");
}

static void test_a_repeated_id_names_both_lines(void **unused)
{
    (void)unused;
    accept("id,a\n1,2\n01,3\n10,4\n", 3, 1);
    refuse("id,a\n7,2\n8,3\n7,4\n", "t.csv:4: id \"7\" is already on line 2");
    refuse("id,a\n1,2\n1,3\n", "t.csv:3: id \"1\" is already on line 2");
    accept("id,a\ncustomer-000001,2\ncustomer-000002,3\n", 2, 1);
    refuse("id,a\ncustomer-000002,2\ncustomer-000001,3\ncustomer-000002,3\n",
           "t.csv:4: id \"customer-000002\" is already on line 2");
}

static void test_labels_have_a_file_of_their_own(void **unused)
{
    (void)unused;
    accept_as("id,label\n1,0\n", &LABELS, 1, 1);
    refuse_as("id,a\n1,0\n", &LABELS, "t.csv:1: a label file has exactly the columns id,label");
    refuse_as("id,a,label\n1,0,1\n", &LABELS,
              "t.csv:1: a label file has exactly the columns id,label");
    refuse_as("id,label,label\n1,0,1\n", &LABELS,
              "t.csv:1: a label file has exactly the columns id,label");
    refuse("id,label\n1,0\n",
           "t.csv:1: column 2 \"label\": labels belong to the server, in a file of their own");
    refuse("id,a,label\n1,0,1\n",
           "t.csv:1: column 3 \"label\": labels belong to the server, in a file of their own");
    accept("id,a,Label\n1,0,1\n", 1, 2);
}

static void test_a_byte_0_is_refused(void **unused)
{
    struct table t;
    static const char text[] = "id,a\n1,2\0\n";

    (void)unused;
    assert_int_equal(
        read_file(&t, scratch_write("t.csv", text, sizeof text - 1), &FEATURES, &CSV_LIMITS),
        STATUS_DATA);
    assert_string_equal(said(), "t.csv:2: byte 0 in the line: not a text file");
}

static void test_only_regular_files_are_read(void **unused)
{
    const char *missing = scratch_path("missing.csv"), *pipe = scratch_path("pipe.csv");
    struct table t;

    (void)unused;
    assert_int_equal(read_file(&t, missing, &FEATURES, &CSV_LIMITS), STATUS_DATA);
    assert_string_equal(said(), "missing.csv: No such file or directory");
    assert_int_equal(read_file(&t, scratch_dir(), &FEATURES, &CSV_LIMITS), STATUS_DATA);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(read_file(&t, pipe, &FEATURES, &CSV_LIMITS), STATUS_DATA);
    assert_string_equal(said(), "pipe.csv: not a regular file");
}

/* --- limits --------------------------------------------------------------------------------------
 */

static enum status read_limited(const char *text, struct csv_limits limits)
{
    struct table t;
    enum status s = read_file(&t, scratch_write_text("t.csv", text), &FEATURES, &limits);

    table_deinit(&t);
    return s;
}

static void test_limits_hold_exactly(void **unused)
{
    const char *text = "id,a\r\n1,2\r\n3,45";

    (void)unused;
    assert_int_equal(read_limited(text, (struct csv_limits){4, 2, 2}), STATUS_OK);
    assert_int_equal(read_limited(text, (struct csv_limits){3, 2, 2}), STATUS_DATA);
    assert_string_equal(said(), "t.csv:1: line over 3 bytes");
    assert_int_equal(read_limited("id,a\n1,234\n", (struct csv_limits){4, 2, 2}), STATUS_DATA);
    assert_string_equal(said(), "t.csv:2: line over 4 bytes");
    assert_int_equal(read_limited(text, (struct csv_limits){4, 1, 2}), STATUS_DATA);
    assert_string_equal(said(), "t.csv: more than 1 rows");
    assert_int_equal(read_limited(text, (struct csv_limits){4, 2, 1}), STATUS_DATA);
    assert_string_equal(said(), "t.csv: 2 rows of 1 columns are too large a table");
}

/* A line without end is refused when the limit is reached, not when memory is. */
static void test_an_endless_line_is_refused_at_the_limit(void **unused)
{
    enum { LONG = 4 << 20 };
    char *text = malloc(LONG);
    struct csv_limits limits = {.line_max = 200000, .rows_max = 9, .values_max = 9};
    struct table t;
    uint64_t before = mem_count();

    (void)unused;
    assert_non_null(text);
    memset(text, '1', LONG);
    memcpy(text, "id,a\n1,", 7);
    assert_int_equal(read_file(&t, scratch_write_gzip("t.csv.gz", text, LONG), &FEATURES, &limits),
                     STATUS_DATA);
    assert_string_equal(said(), "t.csv.gz:2: line over 200000 bytes");
    assert_int_equal(mem_count() - before, 5); /* the buffer grown to 128 and 256 KiB, the names */
    free(text);
}

/* Rows of few bytes in a gzip of few bytes: refused before the table is allocated. */
static void test_a_gzip_bomb_meets_the_row_limit(void **unused)
{
    enum { ROWS = 300000 };
    struct csv_limits limits = CSV_LIMITS;
    char *text = malloc(4 * ROWS + 8);
    size_t n = 5;
    const char *path;
    struct table t;
    struct stat st;
    uint64_t before;

    (void)unused;
    assert_non_null(text);
    memcpy(text, "id,a\n", n);
    for (int i = 0; i < ROWS; i++, n += 4)
        memcpy(text + n, "1,1\n", 4);
    path = scratch_write_gzip("bomb.csv.gz", text, n);
    assert_int_equal(stat(path, &st), 0);
    assert_in_range(st.st_size, 1, 4096);
    limits.rows_max = ROWS - 1;
    before = mem_count();
    assert_int_equal(read_file(&t, path, &FEATURES, &limits), STATUS_DATA);
    assert_string_equal(said(), "bomb.csv.gz: more than 299999 rows");
    assert_in_range(mem_count() - before, 1, 3); /* one buffer, the names, the check of the names */
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
    assert_int_equal(read_file(&t, scratch_write("t.csv", text, n), &FEATURES, &CSV_LIMITS), 0);
    assert_int_equal(t.cols, TABLE_COLUMNS_MAX);
    assert_true(t.x[65535] == 5 && t.x[65530] == 0);
    table_deinit(&t);
    free(text);

    text = many_columns(TABLE_COLUMNS_MAX + 1, &n);
    assert_int_equal(read_file(&t, scratch_write("t.csv", text, n), &FEATURES, &CSV_LIMITS),
                     STATUS_DATA);
    assert_string_equal(said(), "t.csv:1: 65537 columns, at most 65536");
    free(text);
}

/* A header of many columns over many empty lines asks for one row, not for all. */
static void test_empty_lines_claim_no_memory(void **unused)
{
    struct csv_limits limits = CSV_LIMITS;
    size_t n;
    char *text = many_columns(1000, &n);
    struct table t;

    (void)unused;
    text = realloc(text, n + 1001);
    assert_non_null(text);
    memset(text + n, '\n', 1001);
    limits.values_max = 1000;
    assert_int_equal(read_file(&t, scratch_write("t.csv", text, n + 1001), &FEATURES, &limits),
                     STATUS_DATA);
    assert_string_equal(said(), "t.csv:2: empty line");
    free(text);
}

/* --- order ---------------------------------------------------------------------------------------
 */

enum { MANY = 20000 };

/* Many rows (some chunks of the reader) whose values tell their id. */
static char *many_rows(size_t step, const char *prefix, size_t *n)
{
    char *text = malloc(64 * MANY);

    assert_non_null(text);
    *n = (size_t)sprintf(text, "id,a,b\n");
    for (size_t i = 0; i < MANY; i++) {
        size_t id = i * step % MANY;

        *n += (size_t)sprintf(text + *n, "%s%zu,%zu,%g\n", prefix, id, id, -0.5 * (double)id);
    }
    return text;
}

static void check_many(const struct table *t, const char *prefix)
{
    char id[TABLE_ID_MAX];

    assert_int_equal(t->rows, MANY);
    for (size_t i = 0; i < MANY; i++) {
        sprintf(id, "%s%zu", prefix, i);
        assert_string_equal(table_id(t, i), id);
        assert_true(t->x[2 * i] == (float)i && t->x[2 * i + 1] == -0.5f * (float)i);
    }
    assert_ptr_equal(table_id(t, 0), t->id_text);
    assert_ptr_equal(table_id(t, 1), t->id_text + strlen(table_id(t, 0)) + 1);
}

static void test_rows_come_in_the_order_of_ids(void **unused)
{
    static const char *const prefixes[] = {"", "a-long-prefix-of-ids-"};
    static const size_t steps[] = {1, 7919, MANY - 1};
    struct table t;
    size_t n;

    (void)unused;
    for (size_t p = 0; p < 2; p++) {
        for (size_t s = 0; s < 3; s++) {
            char *text = many_rows(steps[s], prefixes[p], &n);
            const char *path = scratch_write("t.csv", text, n);

            assert_int_equal(read_file(&t, path, &FEATURES, &CSV_LIMITS), STATUS_OK);
            check_many(&t, prefixes[p]);
            table_deinit(&t);
            free(text);
        }
    }
}

static void test_sorted_input_costs_no_sort(void **unused)
{
    struct table t;
    uint64_t before;
    size_t n;
    char *text = many_rows(1, "", &n);

    (void)unused;
    before = mem_count();
    assert_int_equal(read_file(&t, scratch_write("t.csv", text, n), &FEATURES, &CSV_LIMITS), 0);
    assert_int_equal(mem_count() - before,
                     6); /* buffer, names, their check, values, ids, offsets */
    table_deinit(&t);
    free(text);
    text = many_rows(7919, "", &n);
    before = mem_count();
    assert_int_equal(read_file(&t, scratch_write("t.csv", text, n), &FEATURES, &CSV_LIMITS), 0);
    assert_int_equal(mem_count() - before, 9);
    table_deinit(&t);
    free(text);
}

/* --- memory --------------------------------------------------------------------------------------
 */

static void test_each_failing_allocation_is_reported(void **unused)
{
    const char *path = scratch_write_text("t.csv", "id,a,b\n3,1,2\n1,3,4\n2,5,6\n");
    struct table t;
    enum status s = STATUS_MEMORY;
    uint64_t n;

    (void)unused;
    for (n = 1; n < 100 && s == STATUS_MEMORY; n++) {
        mem_fail_at(n);
        s = read_file(&t, path, &FEATURES, &CSV_LIMITS);
        if (s != STATUS_OK) {
            assert_int_equal(s, STATUS_MEMORY);
            assert_string_equal(strstr(said(), ": ") != NULL ? "says" : "mute", "says");
            assert_zeroed(&t);
        }
    }
    mem_fail_at(0);
    assert_int_equal(s, STATUS_OK);
    assert_int_equal(n - 1, 10); /* nine allocations, so the tenth did not fail */
    assert_true(t.x[0] == 3 && t.x[2] == 5 && t.x[4] == 1);
    table_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_ids_and_values_are_read),
        cmocka_unit_test(test_gzip_reads_as_plain_does),
        cmocka_unit_test(test_gzip_cut_anywhere_is_refused),
        cmocka_unit_test(test_lines_end_in_lf_or_crlf_and_the_last_in_nothing),
        cmocka_unit_test(test_the_header_begins_with_id),
        cmocka_unit_test(test_column_names_are_plain_and_unique),
        cmocka_unit_test(test_every_line_has_the_cells_of_the_header),
        cmocka_unit_test(test_every_cell_is_a_finite_number),
        cmocka_unit_test(test_the_first_wrong_line_is_named),
        cmocka_unit_test(test_ids_are_plain_and_short),
        cmocka_unit_test(test_a_repeated_id_names_both_lines),
        cmocka_unit_test(test_labels_have_a_file_of_their_own),
        cmocka_unit_test(test_a_byte_0_is_refused),
        cmocka_unit_test(test_only_regular_files_are_read),
        cmocka_unit_test(test_limits_hold_exactly),
        cmocka_unit_test(test_an_endless_line_is_refused_at_the_limit),
        cmocka_unit_test(test_a_gzip_bomb_meets_the_row_limit),
        cmocka_unit_test(test_the_most_columns_are_read_and_no_more),
        cmocka_unit_test(test_empty_lines_claim_no_memory),
        cmocka_unit_test(test_rows_come_in_the_order_of_ids),
        cmocka_unit_test(test_sorted_input_costs_no_sort),
        cmocka_unit_test(test_each_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
