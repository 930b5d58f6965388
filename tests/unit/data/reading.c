/* reading.c -- files of a test's own folder.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/data/reading.h"

#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

const struct reading_limits READING_LIMITS = {0, TABLE_ROWS_MAX, TABLE_VALUES_MAX};
struct error reading_error;

enum status reading_file(struct table *t, const char *path, bool labels,
                         const struct reading_limits *limits)
{
    const struct intake_limits most = {limits->rows_max, limits->values_max};
    const struct intake_want numbers = {.source = {.line_max = limits->line_max},
                                        .labels = labels,
                                        .kind = SCHEMA_NUMBER,
                                        .complete = true,
                                        .limits = &most};
    struct schema schema = {0};
    enum status s;

    reading_error = (struct error){0};
    s = intake_read(t, &schema, path, &numbers, &reading_error);
    schema_deinit(&schema);
    return s;
}

const char *reading_said(void)
{
    size_t n = strlen(scratch_dir()) + 1;

    return strlen(reading_error.text) > n ? reading_error.text + n : reading_error.text;
}

void reading_zeroed(const struct table *t)
{
    assert_true(t->x == NULL && t->id_text == NULL && t->id_at == NULL && t->names == NULL);
    assert_int_equal(t->rows + t->cols, 0);
}

static void accept(const char *text, bool labels, size_t rows, size_t cols)
{
    struct table t;

    if (reading_file(&t, scratch_write_text("t.csv", text), labels, &READING_LIMITS) != STATUS_OK)
        fail_msg("refused: %s", reading_error.text);
    assert_int_equal(t.rows, rows);
    assert_int_equal(t.cols, cols);
    table_deinit(&t);
}

static void refuse(const char *text, bool labels, const char *expected)
{
    struct table t;

    assert_int_equal(reading_file(&t, scratch_write_text("t.csv", text), labels, &READING_LIMITS),
                     STATUS_DATA);
    assert_int_equal(reading_error.status, STATUS_DATA);
    assert_string_equal(reading_said(), expected);
    reading_zeroed(&t);
}

void reading_accept(const char *text, size_t rows, size_t cols)
{
    accept(text, false, rows, cols);
}

void reading_refuse(const char *text, const char *expected)
{
    refuse(text, false, expected);
}

void reading_accept_labels(const char *text, size_t rows)
{
    accept(text, true, rows, 1);
}

void reading_refuse_labels(const char *text, const char *expected)
{
    refuse(text, true, expected);
}
