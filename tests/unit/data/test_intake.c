/* test_intake.c -- what rows make a table, what columns come out as, and what is refused.
 *
 * Each refusal stands beside the smallest file that is accepted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/intake.h"

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/data/schema_text.h"
#include "tests/lib/scratch.h"
#include "tests/unit/data/reading.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void test_every_cell_is_a_finite_number(void **unused)
{
    (void)unused;
    reading_accept("id,a,age\n1,2,3\n4,5,6e3\n", 2, 2);
    reading_refuse("id,a,age\n1,2,3\n4,5,abc\n", "t.csv:3: column 3 \"age\": not a number");
    reading_refuse("id,a,age\n1,2,3\n4,,6\n", "t.csv:3: column 2 \"a\": empty cell");
    reading_refuse("id,a,age\n1,2,\n4,5,6\n", "t.csv:2: column 3 \"age\": empty cell");
    reading_refuse("id,a,age\n1,2,nan\n", "t.csv:2: column 3 \"age\": not a number");
    reading_refuse("id,a,age\n1,NaN,2\n", "t.csv:2: column 2 \"a\": not a number");
    reading_refuse("id,a,age\n1,2,-inf\n", "t.csv:2: column 3 \"age\": not a number");
    reading_refuse("id,a,age\n1,2,1e999\n", "t.csv:2: column 3 \"age\": too large a number");
    reading_refuse("id,a,age\n1,-4e38,1\n", "t.csv:2: column 2 \"a\": too large a number");
    reading_refuse("id,a,age\n1,2,0x1f\n", "t.csv:2: column 3 \"age\": not a number");
    reading_accept("id,a,age\n1, 2,\"3\" \n", 1, 2);
    reading_refuse("id,a,age\n1,2 2,3\n", "t.csv:2: column 2 \"a\": not a number");
    reading_refuse("id,a,age\n1,\" 2\",3\n", "t.csv:2: column 2 \"a\": not a number");
    reading_refuse("id,a,age\n1,2,?\n", "t.csv:2: column 3 \"age\": not a number");
    reading_refuse("id,a,age\n1,2,1e999x\n", "t.csv:2: column 3 \"age\": not a number");
    reading_refuse("id,a,age\n1,2,\x1b[31m\xc3\xa4\n", "t.csv:2: column 3 \"age\": not a number");
    reading_refuse("id,a,age\n1,2,xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
                   "t.csv:2: column 3 \"age\": not a number");
}

static void test_the_first_wrong_line_is_named(void **unused)
{
    (void)unused;
    reading_refuse("id,a\n1,x\n2\n3,4\n", "t.csv:2: column 2 \"a\": not a number");
    reading_refuse("id,a\n1,2\n2\n3,x\n", "t.csv:3: 1 cells, but the header has 2");
}

static void test_ids_are_plain_and_short(void **unused)
{
    char text[400], id[TABLE_ID_MAX + 2];

    (void)unused;
    reading_accept("id,a\nMr. O'Neil-7/x,2\n", 1, 1);
    reading_accept("id,a\n\"1\",2\n", 1, 1);
    reading_refuse("id,a\n,2\n", "t.csv:2: column 1 \"id\": " READING_AN_ID);
    reading_refuse("id,a\n\"1 \",2\n", "t.csv:2: column 1 \"id\": " READING_AN_ID);
    reading_refuse("id,a\n\"1,5\",2\n", "t.csv:2: column 1 \"id\": " READING_AN_ID);
    reading_refuse("id,a\n\xc3\xa4,2\n", "t.csv:2: column 1 \"id\": " READING_AN_ID);
    memset(id, '7', sizeof id);
    snprintf(text, sizeof text, "id,a\n%.*s,2\n", TABLE_ID_MAX, id);
    reading_accept(text, 1, 1);
    snprintf(text, sizeof text, "id,a\n%.*s,2\n", TABLE_ID_MAX + 1, id);
    reading_refuse(text, "t.csv:2: column 1 \"id\": " READING_AN_ID);
}

static void test_a_repeated_id_names_both_lines(void **unused)
{
    (void)unused;
    reading_accept("id,a\n1,2\n01,3\n10,4\n", 3, 1);
    reading_refuse("id,a\n7,2\n8,3\n7,4\n", "t.csv:4: id \"7\" is already on line 2");
    reading_refuse("id,a\n1,2\n1,3\n", "t.csv:3: id \"1\" is already on line 2");
    reading_accept("id,a\ncustomer-000001,2\ncustomer-000002,3\n", 2, 1);
    reading_refuse("id,a\ncustomer-000002,2\ncustomer-000001,3\ncustomer-000002,3\n",
                   "t.csv:4: id \"customer-000002\" is already on line 2");
}

#define OTHER_LABELS                                                                               \
    "t.csv:1: a label file has exactly the columns id,label (those of an alignment's key go with " \
    "the name of the alignment)"

static void test_labels_have_a_file_of_their_own(void **unused)
{
    (void)unused;
    reading_accept_labels("id,label\n1,0\n", 1);
    reading_refuse_labels("id,a\n1,0\n", OTHER_LABELS);
    reading_refuse_labels("id,a,label\n1,0,1\n", OTHER_LABELS);
    reading_refuse_labels("id,label,label\n1,0,1\n", "t.csv:1: columns 2 and 3 are both \"label\"");
    reading_refuse(
        "id,label\n1,0\n",
        "t.csv:1: column 2 \"label\": labels belong to the server, in a file of their own");
    reading_refuse(
        "id,a,label\n1,0,1\n",
        "t.csv:1: column 3 \"label\": labels belong to the server, in a file of their own");
    reading_accept("id,a,Label\n1,0,1\n", 1, 2);
}

/* --- columns that are no numbers --- */

static const struct intake_want ANY = {.limits = &INTAKE_LIMITS};

static void read_any(struct table *t, struct schema *s, const char *text)
{
    reading_error = (struct error){0};
    if (intake_read(t, s, scratch_write_text("t.csv", text), &ANY, &reading_error) != STATUS_OK)
        fail_msg("%s", reading_error.text);
}

static void refuse_any(const char *text, const char *expected)
{
    struct schema s = {0};
    struct table t;

    reading_error = (struct error){0};
    assert_int_equal(intake_read(&t, &s, scratch_write_text("t.csv", text), &ANY, &reading_error),
                     STATUS_DATA);
    assert_string_equal(reading_said(), expected);
    reading_zeroed(&t);
    assert_true(s.n == 0 && s.column == NULL);
}

static void test_a_column_is_what_its_first_cell_is_that_is_not_missing(void **unused)
{
    struct schema s = {0};
    struct table t;

    (void)unused;
    read_any(&t, &s,
             "a,b,c,d,id\n"
             ",NA,?,,1\n"
             "?,red,2000-01-02,,2\n"
             "2.5,7,null,,3\n"
             "-1,red,2000-02-01T12:00,,4\n");
    assert_int_equal(s.n, 4);
    assert_int_equal(s.column[0].kind, SCHEMA_NUMBER);
    assert_int_equal(s.column[1].kind, SCHEMA_CATEGORY);
    assert_int_equal(s.column[2].kind, SCHEMA_TIME);
    assert_int_equal(s.column[3].kind, SCHEMA_AUTO);
    for (size_t c = 0; c < 4; c++)
        assert_true(isnan(t.x[c]) && isnan(t.x[4 * c + 3]));
    assert_true(isnan(t.x[4]) && t.x[8] == 2.5f && t.x[12] == -1);
    assert_true(t.x[5] == 0 && t.x[9] == 1 && t.x[13] == 0);
    assert_true(t.x[6] == 1 && isnan(t.x[10]) && t.x[14] == 31.5f);
    assert_int_equal(s.column[1].levels.n, 2);
    assert_string_equal(levels_text(&s.column[1].levels, 1), "7");
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_what_comes_later_is_of_the_same_type(void **unused)
{
    (void)unused;
    refuse_any("id,a\n1,2\n2,x\n", "t.csv:3: column 2 \"a\": not a number");
    refuse_any("id,a\n1,2020-01-01\n2,3\n",
               "t.csv:3: column 2 \"a\": not a time (YYYY-MM-DD HH:MM:SS)");
    refuse_any("id,a\n1,2020-01-01\n2,2020-02-30\n",
               "t.csv:3: column 2 \"a\": not a time (YYYY-MM-DD HH:MM:SS)");
    refuse_any("id,a\n1,x\n2,\xff\n",
               "t.csv:3: column 2 \"a\": a text that is no UTF-8, or has control characters");
    refuse_any("id,a\n1,x\n2,\"\x1b[0m\"\n",
               "t.csv:3: column 2 \"a\": a text that is no UTF-8, or has control characters");
}

/* What names a level is one line; a long text is no level and says so by its number. */
static void test_line_ends_in_a_text_are_blanks_and_a_long_one_is_no_level(void **unused)
{
    char text[600], much[LEVELS_TEXT_MAX + 2];
    struct schema s = {0};
    struct table t;

    (void)unused;
    memset(much, 'm', sizeof much);
    much[sizeof much - 1] = 0;
    snprintf(text, sizeof text, "id,a\n1,\"two\r\nlines\"\n2,%s\n3,\" \n\"\n4,%s\n", much,
             much + 1);
    read_any(&t, &s, text);
    assert_string_equal(levels_text(&s.column[0].levels, 0), "two  lines");
    assert_true(t.x[0] == 0 && t.x[1] == LEVELS_MAX && isnan(t.x[2]) && t.x[3] == 1);
    assert_int_equal(s.column[0].free_text, 1);
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_a_second_table_keeps_to_the_first_ones_schema(void **unused)
{
    struct schema s = {0};
    struct table t;

    (void)unused;
    read_any(&t, &s, "id,a,b\n1,x,1\n2,y,2\n");
    s.column[0].open = false; /* as schema_fit leaves it */
    table_deinit(&t);
    read_any(&t, &s, "a,id,b\ny,1,5\nz,2,\n,3,7\n");
    assert_true(t.x[0] == 1 && t.x[1] == 5);
    assert_true(t.x[2] == 2 && isnan(t.x[3])); /* z is no level: their number */
    assert_true(isnan(t.x[4]) && t.x[5] == 7);
    assert_int_equal(s.column[0].levels.n, 2);
    table_deinit(&t);
    reading_error = (struct error){0};
    assert_int_equal(
        intake_read(&t, &s, scratch_write_text("t.csv", "id,a,c\n1,x,1\n"), &ANY, &reading_error),
        STATUS_DATA);
    assert_string_equal(reading_said(), "t.csv:1: no column \"b\", which the training table has");
    assert_int_equal(intake_read(&t, &s, scratch_write_text("t.csv", "id,b,c,a\n1,1,1,x\n"), &ANY,
                                 &reading_error),
                     STATUS_DATA);
    assert_string_equal(reading_said(), "t.csv:1: column 3 \"c\": not in the training table");
    assert_int_equal(
        intake_read(&t, &s, scratch_write_text("t.csv", "id,a\n1,x\n"), &ANY, &reading_error),
        STATUS_DATA);
    assert_string_equal(reading_said(), "t.csv:1: no column \"b\", which the training table has");
    assert_int_equal(
        intake_read(&t, &s, scratch_write_text("t.csv", "id,a,b\n1,x,y\n"), &ANY, &reading_error),
        STATUS_DATA);
    assert_string_equal(reading_said(), "t.csv:2: column 3 \"b\": not a number");
    assert_int_equal(s.n, 2); /* and is left as it was */
    schema_deinit(&s);
}

/* --- a schema that somebody has written --- */

static enum status read_by(struct table *t, struct schema *s, const char *columns,
                           const char *group, const char *text)
{
    const struct intake_want want = {.group = group, .limits = &INTAKE_LIMITS};
    char yaml[1024];

    snprintf(yaml, sizeof yaml, "statistics: fit\ncolumns:\n%s", columns);
    reading_error = (struct error){0};
    if (schema_parse(s, yaml, strlen(yaml), "s.yaml", &reading_error) != STATUS_OK)
        fail_msg("%s", reading_error.text);
    return intake_read(t, s, scratch_write_text("t.csv", text), &want, &reading_error);
}

static void refuse_by(const char *columns, const char *group, const char *text,
                      const char *expected)
{
    struct schema s;
    struct table t;

    assert_int_equal(read_by(&t, &s, columns, group, text), STATUS_DATA);
    assert_string_equal(reading_said(), expected);
    schema_deinit(&s);
}

#define A "  - {name: a, kind: number}\n"

static void test_a_column_that_no_schema_has_is_refused(void **unused)
{
    static const char stray[] = "t.csv:1: column 4 \"b\": not in the schema",
                      *const text = "id,who,a,b\n1,x,1,2\n";
    struct schema s;
    struct table t;

    (void)unused;
    refuse_by(A, "who", text, stray);
    refuse_by(A "  - {name: who, kind: ignored}\n", "who", text, stray);
    refuse_by(A "  - {name: id, kind: ignored}\n", "who", text, stray);
    assert_int_equal(read_by(&t, &s,
                             A "  - {name: who, kind: ignored}\n  - {name: b, kind: ignored}\n",
                             "who", text),
                     STATUS_OK);
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_ids_are_no_feature(void **unused)
{
    static const char *const kinds[] = {"number", "category", "time"};
    char columns[80];

    (void)unused;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(columns, sizeof columns, A "  - {name: id, kind: %s}\n", kinds[i]);
        refuse_by(columns, NULL, "id,a\n1,2\n",
                  "t.csv:1: column 1 \"id\": the ids, which are no feature: in the schema it is of "
                  "kind id, or ignored");
    }
}

/* Its rank is that of any other text that is not in the order. */
static void test_a_long_text_is_no_further_off_than_another(void **unused)
{
    char text[400];
    struct schema s;
    struct table t;

    (void)unused;
    snprintf(text, sizeof text, "id,a\n1,low\n2,high\n3,other\n4,%0300d\n", 0);
    assert_int_equal(
        read_by(&t, &s, "  - {name: a, kind: ordered, levels: [low, high]}\n", NULL, text),
        STATUS_OK);
    assert_true(t.x[0] == 0 && t.x[1] == 1 && t.x[2] == 2 && t.x[3] == 2);
    table_deinit(&t);
    schema_deinit(&s);
}

/* Both ways round: each name looked for among all others would be two thousand million
 * comparisons. */
static void test_many_columns_are_found_wherever_they_stand(void **unused)
{
    enum { COLS = TABLE_COLUMNS_MAX };
    struct schema s = {0};
    struct table t;
    struct buf text;

    (void)unused;
    for (int back = 0; back < 2; back++) {
        buf_init(&text, 1 << 24);
        assert_int_equal(buf_printf(&text, "id"), STATUS_OK);
        for (int i = 0; i < COLS; i++)
            assert_int_equal(buf_printf(&text, ",c%d", back ? COLS - 1 - i : i), STATUS_OK);
        assert_int_equal(buf_printf(&text, "\n1"), STATUS_OK);
        for (int i = 0; i < COLS; i++)
            assert_int_equal(buf_printf(&text, ",%d", back ? COLS - 1 - i : i), STATUS_OK);
        assert_int_equal(buf_append(&text, "\n", 2), STATUS_OK);
        read_any(&t, &s, (char *)text.data);
        for (int i = 0; i < COLS; i++)
            assert_true(t.x[i] == (float)i);
        table_deinit(&t);
        buf_deinit(&text);
    }
    schema_deinit(&s);
}

/* --- order --- */

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

            assert_int_equal(reading_file(&t, path, false, &READING_LIMITS), STATUS_OK);
            check_many(&t, prefixes[p]);
            table_deinit(&t);
            free(text);
        }
    }
}

static void test_sorted_input_costs_no_sort(void **unused)
{
    struct table t;
    uint64_t before, sorted;
    size_t n;
    char *text = many_rows(1, "", &n);

    (void)unused;
    before = mem_count();
    assert_int_equal(reading_file(&t, scratch_write("t.csv", text, n), false, &READING_LIMITS), 0);
    sorted = mem_count() - before;
    table_deinit(&t);
    free(text);
    text = many_rows(7919, "", &n);
    before = mem_count();
    assert_int_equal(reading_file(&t, scratch_write("t.csv", text, n), false, &READING_LIMITS), 0);
    assert_int_equal(mem_count() - before, sorted + 3);
    table_deinit(&t);
    free(text);
}

/* --- memory --- */

static void test_each_failing_allocation_is_reported(void **unused)
{
    const char *path = scratch_write_text("t.csv", "id,a,b\n3,1,2\n1,3,4\n2,5,6\n");
    struct table t;
    enum status s = STATUS_MEMORY;
    uint64_t n;

    (void)unused;
    for (n = 1; n < 100 && s == STATUS_MEMORY; n++) {
        mem_fail_at(n);
        s = reading_file(&t, path, false, &READING_LIMITS);
        if (s != STATUS_OK) {
            assert_int_equal(s, STATUS_MEMORY);
            assert_string_equal(strstr(reading_said(), ": ") != NULL ? "says" : "mute", "says");
            reading_zeroed(&t);
        }
    }
    mem_fail_at(0);
    assert_int_equal(s, STATUS_OK);
    assert_int_equal(n - 1, 16); /* fifteen allocations, so the sixteenth did not fail */
    assert_true(t.x[0] == 3 && t.x[2] == 5 && t.x[4] == 1);
    table_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_cell_is_a_finite_number),
        cmocka_unit_test(test_the_first_wrong_line_is_named),
        cmocka_unit_test(test_ids_are_plain_and_short),
        cmocka_unit_test(test_a_repeated_id_names_both_lines),
        cmocka_unit_test(test_labels_have_a_file_of_their_own),
        cmocka_unit_test(test_a_column_is_what_its_first_cell_is_that_is_not_missing),
        cmocka_unit_test(test_what_comes_later_is_of_the_same_type),
        cmocka_unit_test(test_line_ends_in_a_text_are_blanks_and_a_long_one_is_no_level),
        cmocka_unit_test(test_a_second_table_keeps_to_the_first_ones_schema),
        cmocka_unit_test(test_a_column_that_no_schema_has_is_refused),
        cmocka_unit_test(test_ids_are_no_feature),
        cmocka_unit_test(test_a_long_text_is_no_further_off_than_another),
        cmocka_unit_test(test_many_columns_are_found_wherever_they_stand),
        cmocka_unit_test(test_rows_come_in_the_order_of_ids),
        cmocka_unit_test(test_sorted_input_costs_no_sort),
        cmocka_unit_test(test_each_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
