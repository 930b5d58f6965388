/* test_schema_text.c -- a schema as a person writes it, and as it comes back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/schema_text.h"

#include "common/base/mem.h"
#include "common/data/intake.h"
#include "common/data/schema_fit.h"
#include "tests/lib/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct error err;

#define HEAD "statistics: fit\ncolumns:\n"

static enum status parse(struct schema *s, const char *text)
{
    err = (struct error){0};
    return schema_parse(s, text, strlen(text), "s.yaml", &err);
}

static void refused(const char *text, const char *expected)
{
    struct schema s;

    assert_int_equal(parse(&s, text), STATUS_CONFIG);
    if (strstr(err.text, expected) == NULL)
        fail_msg("%s", err.text);
    assert_true(s.n == 0 && s.column == NULL);
}

static void test_preparations_that_do_not_go_together_are_refused(void **state)
{
#define A HEAD "  - {name: \"a\", kind: number, "
#define B HEAD "  - {name: \"b\", kind: category, "
#define T HEAD "  - {name: \"t\", kind: time, "
    (void)state;
    refused(A "bins: 0}\n", "a whole number from 1");
    refused(A "bins: 65}\n", "a whole number from 1");
    refused(A "bins: [1]}\n", "a whole number from 1");
    refused(A "bins: 4, edges: [1]}\n", "bins or edges, not both");
    refused(A "edges: [1], bins: 4}\n", "bins or edges, not both");
    refused(A "edges: [1], edges: [2]}\n", "");
    refused(A "edges: 1}\n", "a list of at most 63 numbers");
    refused(A "edges: [1, 1]}\n", "each is above the one before");
    refused(A "edges: [2, 1]}\n", "each is above the one before");
    refused(A "edges: [x]}\n", "a number expected");
    refused(A "bins: 4, log: true}\n", "one of bins, parts and log");
    refused(A "missing: own}\n", "missing: own is for categories and bins");
    refused(A "bins: 4, missing: own, indicator: false}\n", "missing: own has an indicator");
    refused(A "parts: [year]}\n", "no key of a column of this kind");
    refused(A "min_rows: 3}\n", "no key of a column of this kind");
    refused(T "parts: []}\n", "parts: a list of them");
    refused(T "parts: year}\n", "parts: a list of them");
    refused(T "parts: [month, year]}\n", "in this order");
    refused(T "parts: [year, year]}\n", "in this order");
    refused(T "parts: [year, week]}\n", "in this order");
    refused(T "parts: [year], bins: 3}\n", "one of bins, parts and log");
    refused(B "min_rows: 0}\n", "a whole number from 1");
    refused(B "max_levels: 65537}\n", "a whole number from 1");
    refused(B "levels: [\"x\"], min_rows: 3}\n", "levels that the rows decide");
    refused(B "encode: table}\n", "encode: one-hot or embedding");
    refused(B "encode: [embedding]}\n", "encode: one-hot or embedding");
    refused(B "width: 4}\n", "width is for encode: embedding");
    refused(B "encode: one-hot, width: 4}\n", "width is for encode: embedding");
    refused(B "encode: embedding, width: 0}\n", "a whole number from 1");
    refused(B "encode: embedding, width: 65}\n", "a whole number from 1");
    refused(B "levels: [], encode: embedding}\n", "needs other: true");
    refused(A "encode: embedding}\n", "no key of a column of this kind");
    refused(T "width: 4}\n", "no key of a column of this kind");
    refused(B "bins: 3}\n", "no key of a column of this kind");
    refused(HEAD "  - {name: \"o\", kind: ordered, levels: [\"x\"], bins: 3}\n",
            "no key of a column of this kind");
    refused("statistics: given\ncolumns:\n  - {name: \"a\", kind: number, missing: own, bins: 3}\n",
            "the edges of this column's bins are not");
#undef A
#undef B
#undef T
}

/* As fitted on a table: what a package could not be read with again is refused before a run. */
static void test_a_schema_that_could_not_be_read_again_is_not_copied(void **state)
{
    static const char *const levels[] = {"plain", "\xe2\x80\xae", "a\nb"};
    struct schema s, to;

    (void)state;
    assert_int_equal(parse(&s, HEAD "  - {name: \"a\", kind: category, levels: [\"plain\"]}\n"),
                     STATUS_OK);
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        memcpy(s.column[0].levels.text.data, levels[i], strlen(levels[i]) + 1);
        assert_int_equal(schema_copy(&to, &s, &err), i == 0 ? STATUS_OK : STATUS_DATA);
        assert_int_equal(to.n, i == 0 ? 1 : 0);
        schema_deinit(&to);
    }
    schema_deinit(&s);
}

static void test_a_mistake_is_named_with_its_line(void **state)
{
    (void)state;
    refused("", "s.yaml:1: a schema has the keys statistics and columns");
    refused("statistics: some\ncolumns: [{name: a, kind: number}]\n",
            "s.yaml:1: statistics: fit, given");
    refused("columns: []\nstatistics: fit\n", "s.yaml:1: a schema has the keys");
    refused("statistics: fit\ncolumns: []\n", "s.yaml:1: a schema has the keys");
    refused(HEAD "  - {kind: number, name: a}\n", "s.yaml:3: a column is {name: ..., kind: ...");
    refused(HEAD "  - {name: a, kind: text}\n", "s.yaml:3: kind: number, category");
    refused(HEAD "  - {name: a, kind: auto}\n", "s.yaml:3: kind: number, category");
    refused(HEAD "  - {name: a, kind: number}\n  - {name: a, kind: time}\n",
            "s.yaml:4: two columns of one name");
    refused(HEAD "  - {name: a, kind: id}\n  - {name: b, kind: time}\n  - {name: a, kind: time}\n",
            "s.yaml:5: two columns of one name");
    refused(HEAD "  - {name: a, kind: id}\n  - {name: b, kind: id}\n",
            "s.yaml:4: one column is the id");
    refused(HEAD "  - {name: a, kind: number, levels: [x]}\n", "s.yaml:3: no key of a column");
    refused(HEAD "  - {name: a, kind: category, clip: [0, 1]}\n", "s.yaml:3: no key of a column");
    refused(HEAD "  - {name: a, kind: ignored, indicator: true}\n", "s.yaml:3: no key of a column");
    refused(HEAD "  - {name: a, kind: number, clip: [1, 0]}\n", "s.yaml:3: clip: runs backwards");
    refused(HEAD "  - {name: a, kind: number, clip: [1]}\n", "s.yaml:3: clip: [lowest, highest]");
    refused(HEAD "  - {name: a, kind: number, clip: [1, 1e99]}\n", "s.yaml:3: a number expected");
    refused(HEAD "  - {name: a, kind: number, log: 1}\n", "s.yaml:3: true or false expected");
    refused(HEAD "  - {name: a, kind: number, missing: zero}\n", "s.yaml:3: missing: mean, median");
    refused(HEAD "  - {name: a, kind: number, missing: constant}\n",
            "missing: constant needs fill");
    refused(HEAD "  - {name: a, kind: ordered}\n", "s.yaml:3: an ordered column needs its levels");
    refused(HEAD "  - {name: a, kind: category, levels: []}\n", "s.yaml:3: levels: a list");
    refused(HEAD "  - {name: a, kind: category, levels: [x, y, x]}\n",
            "levels: one stands there twice");
    refused("statistics: given\ncolumns: [{name: a, kind: number}]\n", "this column's fill is not");
    refused("statistics: given\ncolumns: [{name: a, kind: category}]\n",
            "this column's levels are not");
    refused(HEAD "  - {name: a, kind: &x number}\n", "s.yaml:3");
}

/* Read for the schema, and fitted where it leaves something open, by the rows of a list, or all. */
static void prepare_by(struct table *t, struct schema *s, const char *text,
                       const struct validate *list)
{
    const struct intake_want any = {.limits = &INTAKE_LIMITS};
    size_t unseen, filled;

    err = (struct error){0};
    if (intake_read(t, s, scratch_write_text("t.csv", text), &any, &err) != STATUS_OK ||
        schema_fit(s, t, list, &err) != STATUS_OK ||
        schema_apply(s, t, &unseen, &filled, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static void prepare(struct table *t, struct schema *s, const char *text)
{
    prepare_by(t, s, text, NULL);
}

static void test_rows_on_a_list_decide_wherever_they_stand(void **state)
{
    const struct validate list = {.from = (uint32_t[]){1, 2, 3}, .left = 3};
    struct schema alone = {0}, whole = {0};
    struct table a, w;

    (void)state;
    prepare(&a, &alone, "id,c,n\n2,red,4\n3,blue,6\n4,red,\n");
    prepare_by(&w, &whole, "id,c,n\n1,grey,100\n2,red,4\n3,blue,6\n4,red,\n5,grey,200\n", &list);
    assert_int_equal(a.cols, w.cols);
    assert_memory_equal(a.names, w.names, a.cols * TABLE_NAME_MAX);
    assert_memory_equal(a.x, w.x + w.cols, a.rows * a.cols * sizeof *a.x);
    table_deinit(&a);
    table_deinit(&w);
    schema_deinit(&alone);
    schema_deinit(&whole);
}

static void test_what_is_written_stands_and_the_rest_is_fitted(void **state)
{
    /* a, b, b?, c=z, c=y, d, e=u, e=v */
    static const float expected[3][8] = {
        {0, 3, 0, 0, 1, 1, 1, 0},
        {10, 3, 1, 1, 0, 2, 0, 1},
        {-1, 5, 0, 0, 0, 0, 1, 0},
    };
    struct schema s;
    struct table t;

    (void)state;
    assert_int_equal(parse(&s,
                           HEAD "  - {name: who, kind: id}\n"
                                "  - {name: a, kind: number, clip: [-1, 10]}\n"
                                "  - {name: b, kind: number, missing: median, indicator: true}\n"
                                "  - {name: c, kind: category, levels: [z, y]}\n"
                                "  - {name: d, kind: ordered, levels: [low, mid, high]}\n"
                                "  - {name: e, kind: category}\n"
                                "  - {name: gone, kind: ignored}\n"),
                     STATUS_OK);
    prepare(&t, &s,
            "e,a,b,c,d,who\n"
            "u,0,3,y,mid,1\nv,12,,z,high,2\nu,-7,5,?,low,3\nv,0,3,x,low,4\nu,0,3,x,low,5\n");
    assert_int_equal(t.cols, 8);
    assert_string_equal(t.names + 3 * TABLE_NAME_MAX, "c=z");
    assert_string_equal(t.names + 6 * TABLE_NAME_MAX, "e=u");
    assert_memory_equal(t.x, expected, sizeof expected);
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_log_and_an_unknown_column(void **state)
{
    const struct intake_want any = {.limits = &INTAKE_LIMITS};
    struct schema s;
    struct table t;

    (void)state;
    assert_int_equal(parse(&s, HEAD "  - {name: a, kind: number, log: true}\n"), STATUS_OK);
    prepare(&t, &s, "id,a\n1,0\n2,-3\n3,3\n");
    assert_true(t.x[0] == 0 && t.x[2] == log1pf(3) && t.x[1] == -t.x[2]);
    table_deinit(&t);
    assert_int_equal(
        intake_read(&t, &s, scratch_write_text("t.csv", "id,a,b\n1,2,3\n"), &any, &err),
        STATUS_DATA);
    assert_non_null(strstr(err.text, "t.csv:1: column 3 \"b\": not in the schema"));
    assert_int_equal(intake_read(&t, &s, scratch_write_text("t.csv", "id,b\n1,2\n"), &any, &err),
                     STATUS_DATA);
    assert_non_null(strstr(err.text, "t.csv:1: no column \"a\", which the schema has"));
    schema_deinit(&s);
}

static void test_each_failing_allocation_is_reported(void **state)
{
    const char *text = HEAD "  - {name: a, kind: category, levels: [x, y]}\n"
                            "  - {name: b, kind: ordered, levels: [x, y]}\n";
    enum status status = STATUS_MEMORY;
    struct schema s;

    (void)state;
    for (uint64_t n = 1; n < 100 && status == STATUS_MEMORY; n++) {
        mem_fail_at(n);
        status = parse(&s, text);
    }
    mem_fail_at(0);
    assert_int_equal(status, STATUS_OK);
    schema_deinit(&s);
}

/* As many as a table may have: each held against all others it would be two thousand million
 * comparisons. */
static void test_many_columns_have_names_of_their_own(void **state)
{
    struct buf text;
    struct schema s;

    (void)state;
    buf_init(&text, SCHEMA_TEXT_MAX);
    assert_int_equal(buf_printf(&text, HEAD), STATUS_OK);
    for (int i = 0; i < TABLE_COLUMNS_MAX; i++)
        assert_int_equal(buf_printf(&text, "  - {name: c%d, kind: number}\n", i), STATUS_OK);
    assert_int_equal(schema_parse(&s, (char *)text.data, text.len, "s.yaml", &err), STATUS_OK);
    assert_int_equal(s.n, TABLE_COLUMNS_MAX);
    schema_deinit(&s);
    memcpy(strstr((char *)text.data, "c65535"), "c4321 ", 6);
    assert_int_equal(schema_parse(&s, (char *)text.data, text.len, "s.yaml", &err), STATUS_CONFIG);
    assert_string_equal(err.text, "s.yaml:65538: two columns of one name");
    buf_deinit(&text);
}

static void test_a_budget_is_for_dp_and_is_small(void **state)
{
    static const char tail[] = "columns:\n  - {name: \"a\", kind: number, missing: refused}\n";
    static const struct {
        const char *head, *expected;
    } wrong[] = {
        {"statistics: dp\n", "s.yaml:1: statistics: dp has a budget behind it"},
        {"statistics: fit\nbudget: {epsilon: 1, delta: 1e-6}\n", "nothing else has"},
        {"statistics: raw\n", "statistics: fit, given or dp expected"},
        {"statistics: dp\nbudget: 1\n", "s.yaml:2: budget: {epsilon: ..., delta: ...}"},
        {"statistics: dp\nbudget: {epsilon: 0, delta: 1e-6}\n", "budget: {"},
        {"statistics: dp\nbudget: {epsilon: 20.5, delta: 1e-6}\n", "budget: {"},
        {"statistics: dp\nbudget: {epsilon: nan, delta: 1e-6}\n", "budget: {"},
        {"statistics: dp\nbudget: {epsilon: 1, delta: 0.01}\n", "budget: {"},
        {"statistics: dp\nbudget: {epsilon: 1}\n", "budget: {"},
        {"statistics: dp\nbudget: {delta: 1e-6, epsilon: 1}\n", "budget: {"},
        {"statistics: dp\nbudget: {epsilon: 1, delta: 1e-6, rho: 1}\n", "budget: {"},
    };
    char text[256];

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(text, sizeof text, "%s%s", wrong[i].head, tail);
        refused(text, wrong[i].expected);
    }
}

static void vector_is(const char *column, uint32_t length)
{
    char text[512];
    struct schema s;

    snprintf(text, sizeof text, HEAD "  - {name: \"a\", kind: category, %s}\n", column);
    assert_int_equal(parse(&s, text), STATUS_OK);
    assert_int_equal(s.column[0].vector, length);
    schema_deinit(&s);
}

static void test_a_vector_is_as_long_as_its_levels_want_unless_it_says(void **state)
{
    (void)state;
    vector_is("levels: [x], encode: embedding", 2);
    vector_is("levels: [x], other: true, indicator: true, encode: embedding", 3);
    vector_is("levels: [x], encode: embedding, width: 9", 9);
    vector_is("levels: [x], encode: one-hot", 0);
    vector_is("encode: embedding", 0);
}

static void test_more_than_may_be_embedded_is_refused_by_the_file(void **state)
{
    struct schema s;
    struct buf text;

    (void)state;
    buf_init(&text, SCHEMA_TEXT_MAX);
    for (int columns = SCHEMA_EMBEDDED_MAX; columns < SCHEMA_EMBEDDED_MAX + 2; columns++) {
        text.len = 0;
        assert_int_equal(buf_printf(&text, HEAD), STATUS_OK);
        for (int i = 0; i < columns; i++)
            assert_int_equal(buf_printf(&text,
                                        "  - {name: \"c%d\", kind: category, levels: [x], "
                                        "encode: embedding}\n",
                                        i),
                             STATUS_OK);
        err = (struct error){0};
        assert_int_equal(schema_parse(&s, (char *)text.data, text.len, "s.yaml", &err),
                         columns > SCHEMA_EMBEDDED_MAX ? STATUS_CONFIG : STATUS_OK);
        assert_true((strstr(err.text, "s.yaml: encode: embedding: at most 64 columns") != NULL) ==
                    (columns > SCHEMA_EMBEDDED_MAX));
        schema_deinit(&s);
    }
    buf_deinit(&text);
}

/* Of two columns, whose levels are counted alone: a file of so many would be long. */
static void test_the_values_of_all_vectors_are_bounded(void **state)
{
    struct schema_column column[2] = {{.kind = SCHEMA_CATEGORY, .embedded = true, .vector = 64},
                                      {.kind = SCHEMA_CATEGORY, .embedded = true, .vector = 32}};
    const struct schema s = {.column = column, .n = 2};

    (void)state;
    column[0].kept = SCHEMA_VECTORS_MAX / 64 - 1;
    column[1].kept = 2;
    err = (struct error){0};
    assert_int_equal(schema_check_vectors(&s, &err), STATUS_OK);
    column[1].other = true;
    assert_int_equal(schema_check_vectors(&s, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "16777216 values in all their vectors"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_vector_is_as_long_as_its_levels_want_unless_it_says),
        cmocka_unit_test(test_more_than_may_be_embedded_is_refused_by_the_file),
        cmocka_unit_test(test_the_values_of_all_vectors_are_bounded),
        cmocka_unit_test(test_a_budget_is_for_dp_and_is_small),
        cmocka_unit_test(test_preparations_that_do_not_go_together_are_refused),
        cmocka_unit_test(test_a_schema_that_could_not_be_read_again_is_not_copied),
        cmocka_unit_test(test_a_mistake_is_named_with_its_line),
        cmocka_unit_test(test_rows_on_a_list_decide_wherever_they_stand),
        cmocka_unit_test(test_what_is_written_stands_and_the_rest_is_fitted),
        cmocka_unit_test(test_log_and_an_unknown_column),
        cmocka_unit_test(test_many_columns_have_names_of_their_own),
        cmocka_unit_test(test_each_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
