/* test_schema.c -- features of prepared columns, on training rows and on others.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/schema.h"

#include "common/base/mem.h"
#include "common/data/intake.h"
#include "common/data/schema_fit.h"
#include "common/data/schema_text.h"
#include "common/data/text.h"
#include "tests/lib/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const struct intake_want ANY = {.limits = &INTAKE_LIMITS};
static struct error err;
static size_t unseen, filled;

static void read_as(struct table *t, struct schema *s, const char *text)
{
    if (intake_read(t, s, scratch_write_text("t.csv", text), &ANY, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

/* Read and fitted, then applied. */
static void train(struct table *t, struct schema *s, const char *text)
{
    read_as(t, s, text);
    assert_int_equal(schema_fit(s, t, NULL, &err), STATUS_OK);
    assert_int_equal(schema_apply(s, t, &unseen, &filled, &err), STATUS_OK);
    assert_int_equal(unseen + filled, 0);
}

static void apply(struct table *t, const struct schema *s, const char *text)
{
    read_as(t, (struct schema *)s, text);
    assert_int_equal(schema_apply(s, t, &unseen, &filled, &err), STATUS_OK);
}

/* The names of the features, with blanks between them. */
static const char *names(const struct table *t)
{
    static char out[2000];

    out[0] = 0;
    for (size_t i = 0; i < t->cols; i++)
        strcat(strcat(out, i > 0 ? " " : ""), t->names + i * TABLE_NAME_MAX);
    return out;
}

static void row_is(const struct table *t, size_t row, const float *x)
{
    for (size_t i = 0; i < t->cols; i++)
        if (t->x[row * t->cols + i] != x[i])
            fail_msg("row %zu, feature %zu: %g, not %g", row, i, (double)t->x[row * t->cols + i],
                     (double)x[i]);
}

static void test_numbers_without_gaps_stay_as_they_are(void **state)
{
    struct schema s = {0};
    struct table t;
    const float *before;

    (void)state;
    read_as(&t, &s, "id,a,b\n1,1.5,-2\n2,0,7\n");
    before = t.x;
    assert_int_equal(schema_fit(&s, &t, NULL, &err), STATUS_OK);
    assert_int_equal(schema_apply(&s, &t, &unseen, &filled, &err), STATUS_OK);
    assert_ptr_equal(t.x, before); /* not even copied */
    assert_string_equal(names(&t), "a b");
    row_is(&t, 0, (const float[]){1.5f, -2});
    row_is(&t, 1, (const float[]){0, 7});
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_a_missing_number_is_the_mean_and_says_so(void **state)
{
    struct schema s = {0};
    struct table t;

    (void)state;
    train(&t, &s, "id,a,b\n1,1,5\n2,,6\n3,4,7\n");
    assert_string_equal(names(&t), "a a? b");
    row_is(&t, 0, (const float[]){1, 0, 5});
    row_is(&t, 1, (const float[]){2.5f, 1, 6});
    row_is(&t, 2, (const float[]){4, 0, 7});
    table_deinit(&t);
    /* Where none was missing in training, one is filled in all the same, and counted. */
    apply(&t, &s, "id,a,b\n1,NA,\n");
    row_is(&t, 0, (const float[]){2.5f, 1, 6});
    assert_int_equal(filled, 1);
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_the_median_and_a_constant_fill_in_too(void **state)
{
    const char *text = "id,a,b\n1,1,1\n2,2,\n3,9,\n4,,4\n";
    struct schema s = {0};
    struct table t;

    (void)state;
    read_as(&t, &s, text);
    s.column[0].missing = MISSING_MEDIAN;
    s.column[1].missing = MISSING_CONSTANT;
    s.column[1].fill = -7;
    assert_int_equal(schema_fit(&s, &t, NULL, &err), STATUS_OK);
    assert_int_equal(schema_apply(&s, &t, &unseen, &filled, &err), STATUS_OK);
    row_is(&t, 1, (const float[]){2, 0, -7, 1});
    row_is(&t, 3, (const float[]){2, 1, 4, 0});
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_each_level_is_a_feature_in_the_order_of_texts(void **state)
{
    static const char *const orders[] = {
        "id,c\n1,red\n2,blue\n3,red\n4,blue\n5,lone\n6,\n",
        "id,c\n5,lone\n4,blue\n2,blue\n6,\n3,red\n1,red\n",
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct schema s = {0};
        struct table t;

        train(&t, &s, orders[i]);
        assert_string_equal(names(&t), "c=blue c=red c=other c?");
        row_is(&t, 0, (const float[]){0, 1, 0, 0});
        row_is(&t, 1, (const float[]){1, 0, 0, 0});
        row_is(&t, 4, (const float[]){0, 0, 1, 0}); /* a level of one row alone is rare */
        row_is(&t, 5, (const float[]){0, 0, 0, 1});
        table_deinit(&t);
        apply(&t, &s, "id,c\n1,green\n2,lone\n3,blue\n4,\n");
        row_is(&t, 0, (const float[]){0, 0, 1, 0});
        row_is(&t, 1, (const float[]){0, 0, 1, 0});
        row_is(&t, 2, (const float[]){1, 0, 0, 0});
        row_is(&t, 3, (const float[]){0, 0, 0, 1});
        assert_int_equal(unseen, 1);
        table_deinit(&t);
        schema_deinit(&s);
    }
}

/* Names are cut off between characters, the column's first. */
static void test_long_names_stay_names(void **state)
{
    char text[2000], name[128] = "", level[LEVELS_TEXT_MAX + 1] = "";
    struct schema s = {0};
    struct table t;

    (void)state;
    for (int i = 0; i < 62; i++)
        strcat(name, "\xc3\xa4");
    for (int i = 0; i < 80; i++)
        strcat(level, "\xe2\x82\xac");
    snprintf(text, sizeof text, "id,%s\n1,%s\n2,b\n3,%s\n4,b\n5,\n", name, level, level);
    train(&t, &s, text);
    assert_int_equal(t.cols, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(text_is_name(t.names + i * TABLE_NAME_MAX, strlen(t.names + i * TABLE_NAME_MAX),
                                 TABLE_NAME_MAX - 1));
    assert_int_equal(strlen(t.names + TABLE_NAME_MAX), 66 + 1 + 19 * 3);
    assert_string_equal(t.names + 2 * TABLE_NAME_MAX + 124, "?");
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_an_unseen_level_is_none_where_no_level_was_rare(void **state)
{
    struct schema s = {0};
    struct table t;

    (void)state;
    train(&t, &s, "id,c\n1,red\n2,blue\n3,red\n4,blue\n");
    assert_string_equal(names(&t), "c=blue c=red");
    table_deinit(&t);
    apply(&t, &s, "id,c\n1,green\n2,\n");
    row_is(&t, 0, (const float[]){0, 0});
    row_is(&t, 1, (const float[]){0, 0});
    assert_int_equal(unseen, 1);
    assert_int_equal(filled, 1);
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_the_most_frequent_levels_are_kept(void **state)
{
    enum { LEVELS = SCHEMA_LEVELS_KEPT + 10 };
    static char text[LEVELS * 3 * 24 + 64];
    struct schema s = {0};
    struct table t;
    size_t n = (size_t)sprintf(text, "id,c\n"), id = 0;

    (void)state;
    for (int i = 0; i < LEVELS; i++)
        for (int j = 0; j < (i < 10 ? 2 : 3); j++)
            n += (size_t)sprintf(text + n, "%zu,v%03d\n", id++, i);
    train(&t, &s, text);
    assert_int_equal(t.cols, SCHEMA_LEVELS_KEPT + 1);
    assert_string_equal(t.names, "c=v010");
    assert_true(t.x[SCHEMA_LEVELS_KEPT] == 1 && t.x[20 * t.cols] == 1);
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_what_tells_who_a_row_is_is_ignored(void **state)
{
    static char text[100 * 40];
    struct schema s = {0};
    struct table t;
    size_t n = (size_t)sprintf(text, "id,name,none,a\n");

    (void)state;
    for (int i = 0; i < 100; i++)
        n += (size_t)sprintf(text + n, "%d,person %d,,%d\n", i, i, i % 7);
    train(&t, &s, text);
    assert_string_equal(names(&t), "a");
    assert_int_equal(s.column[0].kind, SCHEMA_IGNORED);
    assert_int_equal(s.column[1].kind, SCHEMA_IGNORED);
    assert_true(t.x[8] == 1);
    table_deinit(&t);
    /* What is in an ignored column no longer matters. */
    apply(&t, &s, "id,name,none,a\n1,7,\xff,2\n");
    row_is(&t, 0, (const float[]){2});
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_a_table_of_ignored_columns_alone_is_refused(void **state)
{
    struct schema s = {0};
    struct table t;

    (void)state;
    read_as(&t, &s, "id,a\n1,\n2,?\n");
    assert_int_equal(schema_fit(&s, &t, NULL, &err), STATUS_OK);
    assert_int_equal(schema_apply(&s, &t, &unseen, &filled, &err), STATUS_DATA);
    assert_string_equal(err.text, "no column is left: all are ignored");
    table_deinit(&t);
    schema_deinit(&s);
}

/* A file, the first rows of it, and what others may be like. */
struct part {
    const char *first, *rest;
    size_t first_rows, rest_unseen, rest_filled;
};

static const struct part parts[] = {
    /* Levels of the rest alone, or of one row of the first and more of the rest; a level fewer. */
    {"id,c,n\n1,red,1\n2,red,2\n3,blue,3\n4,blue,4\n", "5,lone,5\n6,grey,6\n7,grey,70\n", 4, 3, 0},
    {"id,c,n\n1,red,1\n2,red,2\n3,blue,3\n", "4,blue,4\n5,grey,5\n", 3, 1, 0},
    {"id,c,n\n1,,1\n2,red,2\n3,red,3\n", "4,blue,4\n5,blue,500\n", 3, 2, 0},
    /* Gaps, what stands in for them, and a column that has values in the rest alone. */
    {"id,a,b\n1,1,5\n2,4,6\n", "3,,7\n4,100,\n", 2, 0, 2},
    {"id,a,b\n1,1,5\n2,,6\n3,4,7\n", "4,,\n5,1e6,2\n", 3, 0, 1},
    {"id,a,b\n1,1,\n2,2,\n", "3,3,3\n4,4,4\n", 2, 0, 0},
    {"id,a,b\n1,1,\n2,2,\n", "3,3,word\n4,4,word\n", 2, 0, 0},
};

static void test_rows_that_are_not_fitted_to_decide_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct schema alone = {0}, whole = {0};
        struct table a, w, part;
        char text[400];

        train(&a, &alone, parts[i].first);
        snprintf(text, sizeof text, "%s%s", parts[i].first, parts[i].rest);
        read_as(&w, &whole, text);
        part = w;
        part.rows = parts[i].first_rows;
        assert_int_equal(schema_fit(&whole, &part, NULL, &err), STATUS_OK);
        assert_int_equal(schema_apply(&whole, &w, &unseen, &filled, &err), STATUS_OK);
        assert_int_equal(a.cols, w.cols);
        assert_memory_equal(a.x, w.x, a.rows * a.cols * sizeof *a.x);
        assert_string_equal(names(&a), names(&w));
        assert_int_equal(parts[i].rest_unseen, unseen);
        assert_int_equal(parts[i].rest_filled, filled);
        table_deinit(&a);
        table_deinit(&w);
        schema_deinit(&alone);
        schema_deinit(&whole);
    }
}

static void test_times_are_days(void **state)
{
    struct schema s = {0};
    struct table t;

    (void)state;
    train(&t, &s, "id,d\n1,2000-01-03\n2,\n3,2000-01-05T12:00\n");
    assert_string_equal(names(&t), "d d?");
    row_is(&t, 0, (const float[]){2, 0});
    row_is(&t, 1, (const float[]){3.25f, 1});
    row_is(&t, 2, (const float[]){4.5f, 0});
    table_deinit(&t);
    schema_deinit(&s);
}

/* A schema as a person wrote it, fitted on a table, and applied to it. */
static void train_by(struct table *t, struct schema *s, const char *schema, const char *text)
{
    if (schema_parse(s, schema, strlen(schema), "s.yaml", &err) != STATUS_OK)
        fail_msg("%s", err.text);
    read_as(t, s, text);
    assert_int_equal(schema_fit(s, t, NULL, &err), STATUS_OK);
    assert_int_equal(schema_apply(s, t, &unseen, &filled, &err), STATUS_OK);
}

#define COLUMNS "statistics: fit\ncolumns:\n  - {name: \"a\", "

static void test_bins_hold_equal_shares_of_the_training_rows(void **state)
{
    struct schema s = {0}, back;
    struct scale scale;
    struct table t, u;

    (void)state;
    train_by(&t, &s, COLUMNS "kind: number, bins: 4, missing: own}\n",
             "id,a\n1,10\n2,20\n3,30\n4,40\n5,50\n6,60\n7,70\n8,80\n9,\n");
    assert_string_equal(names(&t), "a<30 a[30;50) a[50;70) a>=70 a?");
    row_is(&t, 0, (const float[]){1, 0, 0, 0, 0});
    row_is(&t, 2, (const float[]){0, 1, 0, 0, 0});
    row_is(&t, 7, (const float[]){0, 0, 0, 1, 0});
    row_is(&t, 8, (const float[]){0, 0, 0, 0, 1});
    assert_int_equal(scale_fit(&scale, &t), STATUS_OK);
    schema_spare_levels(&s, &scale);
    for (size_t i = 0; i < 5; i++)
        assert_true(scale.mean[i] == 0 && scale.sd[i] == 1);
    scale_deinit(&scale);
    /* As a package has it. */
    assert_int_equal(schema_copy(&back, &s, &err), STATUS_OK);
    apply(&u, &back, "id,a\n1,-1e9\n2,30\n3,49.9\n4,1e9\n5,\n");
    assert_string_equal(names(&u), "a<30 a[30;50) a[50;70) a>=70 a?");
    row_is(&u, 0, (const float[]){1, 0, 0, 0, 0});
    row_is(&u, 1, (const float[]){0, 1, 0, 0, 0});
    row_is(&u, 2, (const float[]){0, 1, 0, 0, 0});
    row_is(&u, 3, (const float[]){0, 0, 0, 1, 0});
    row_is(&u, 4, (const float[]){0, 0, 0, 0, 1});
    table_deinit(&t);
    table_deinit(&u);
    schema_deinit(&s);
    schema_deinit(&back);
}

static void test_equal_values_are_in_one_bin(void **state)
{
    struct schema s = {0};
    struct table t;

    (void)state;
    train_by(&t, &s, COLUMNS "kind: number, bins: 8}\n",
             "id,a\n1,0\n2,0\n3,0\n4,0\n5,0\n6,7\n7,7\n8,9\n");
    assert_string_equal(names(&t), "a<7 a[7;9) a>=9");
    row_is(&t, 4, (const float[]){1, 0, 0});
    row_is(&t, 6, (const float[]){0, 1, 0});
    table_deinit(&t);
    schema_deinit(&s);
    train_by(&t, &s, COLUMNS "kind: number, bins: 8}\n", "id,a\n1,3\n2,3\n");
    assert_string_equal(names(&t), "a=any");
    row_is(&t, 1, (const float[]){1});
    table_deinit(&t);
    schema_deinit(&s);
    /* What stands in for a gap has its bin; what is cut off is cut off before. */
    train_by(&t, &s,
             COLUMNS "kind: number, edges: [5], clip: [0, 4], missing: constant, fill: 9}\n",
             "id,a\n1,100\n2,\n");
    row_is(&t, 0, (const float[]){1, 0});
    row_is(&t, 1, (const float[]){1, 0});
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_rare_levels_are_others_as_a_schema_says(void **state)
{
    const char *rows = "id,a\n1,x\n2,x\n3,x\n4,y\n5,y\n6,z\n7,\n";
    struct schema s = {0};
    struct table t;

    (void)state;
    train_by(&t, &s, COLUMNS "kind: category, missing: own}\n", rows);
    assert_string_equal(names(&t), "a=x a=y a=other a?");
    row_is(&t, 6, (const float[]){0, 0, 0, 1});
    table_deinit(&t);
    schema_deinit(&s);
    train_by(&t, &s, COLUMNS "kind: category, min_rows: 3, indicator: true}\n", rows);
    assert_string_equal(names(&t), "a=x a=other a?");
    table_deinit(&t);
    schema_deinit(&s);
    train_by(&t, &s, COLUMNS "kind: category, min_rows: 1, max_levels: 3, indicator: true}\n",
             rows);
    assert_string_equal(names(&t), "a=x a=y a=z a?");
    table_deinit(&t);
    schema_deinit(&s);
    train_by(&t, &s, COLUMNS "kind: category, max_levels: 1, indicator: true}\n", rows);
    assert_string_equal(names(&t), "a=x a=other a?");
    table_deinit(&t);
    schema_deinit(&s);
}

static void test_a_time_has_parts(void **state)
{
    struct schema s = {0};
    struct scale scale;
    struct table t;

    (void)state;
    train_by(&t, &s,
             COLUMNS "kind: time, missing: constant, fill: 0, parts: [days, year, month, day, "
                     "weekday, hour], indicator: true}\n",
             "id,a\n1,2000-01-02\n2,2024-02-29 13:00\n3,\n");
    assert_string_equal(names(&t), "a.days a.year a.month a.day a.weekday a.hour a?");
    row_is(&t, 0, (const float[]){1, 2000, 1, 2, 6, 0, 0});
    row_is(&t, 1, (const float[]){8825 + 13.0f / 24, 2024, 2, 29, 3, 13, 0});
    row_is(&t, 2, (const float[]){0, 2000, 1, 1, 5, 0, 1});
    assert_int_equal(scale_fit(&scale, &t), STATUS_OK);
    schema_spare_levels(&s, &scale);
    assert_true(scale.mean[1] > 2000 && scale.mean[6] == 0 && scale.sd[6] == 1);
    table_deinit(&t);
    scale_deinit(&scale);
    schema_deinit(&s);
}

static void test_each_failing_allocation_is_reported(void **state)
{
    const char *path = scratch_write_text("t.csv", "id,a,b\n1,x,\n2,x,3\n3,y,4\n");
    enum status status = STATUS_MEMORY;
    uint64_t n;

    (void)state;
    for (n = 1; n < 100 && status == STATUS_MEMORY; n++) {
        struct schema s = {0};
        struct table t;

        mem_fail_at(n);
        status = intake_read(&t, &s, path, &ANY, &err);
        if (status == STATUS_OK)
            status = schema_fit(&s, &t, NULL, &err);
        if (status == STATUS_OK)
            status = schema_apply(&s, &t, &unseen, &filled, &err);
        table_deinit(&t);
        schema_deinit(&s);
    }
    mem_fail_at(0);
    assert_int_equal(status, STATUS_OK);
    assert_in_range(n, 20, 40);
}

/* Read, embedded or not, fitted and applied; then another table. */
static void two_tables(struct table t[2], struct schema *s, bool embedded, bool gaps)
{
    read_as(&t[0], s,
            gaps ? "id,c,n\n1,red,5\n2,blue,6\n3,red,7\n4,blue,8\n5,lone,9\n6,,1\n"
                 : "id,c,n\n1,red,5\n2,blue,6\n3,red,7\n4,blue,8\n");
    s->column[0].embedded = embedded;
    assert_int_equal(schema_fit(s, &t[0], NULL, &err), STATUS_OK);
    assert_int_equal(schema_apply(s, &t[0], &unseen, &filled, &err), STATUS_OK);
    apply(&t[1], s, "id,c,n\n1,green,1\n2,lone,2\n3,blue,3\n4,,4\n5,red,5\n");
}

static void test_an_embedded_level_is_the_place_that_its_one_would_have(void **state)
{
    (void)state;
    for (int gaps = 0; gaps < 2; gaps++) {
        struct schema hot = {0}, dense = {0};
        struct table of_hot[2], of_dense[2];
        size_t counts[2];

        two_tables(of_hot, &hot, false, gaps);
        counts[0] = unseen, counts[1] = filled;
        two_tables(of_dense, &dense, true, gaps);
        assert_true(counts[0] == unseen && counts[1] == filled);
        assert_string_equal(names(&of_dense[0]), "c n");
        assert_int_equal(dense.column[0].vector, 3); /* 2 x 2^(1/4), and 2 x 4^(1/4) */
        assert_int_equal(schema_levels(&dense.column[0]), gaps ? 4 : 2);
        for (size_t k = 0; k < 2; k++) {
            for (size_t r = 0; r < of_hot[k].rows; r++) {
                const size_t levels = of_hot[k].cols - 1;
                const float *x = of_hot[k].x + r * (levels + 1);
                size_t place = 0;

                while (place < levels && !(x[place] > 0))
                    place++;
                row_is(&of_dense[k], r,
                       (const float[]){place < levels ? (float)place + 1 : 0, x[levels]});
            }
            table_deinit(&of_hot[k]);
            table_deinit(&of_dense[k]);
        }
        schema_deinit(&hot);
        schema_deinit(&dense);
    }
}

static void test_an_embedded_column_has_all_its_levels_and_is_not_standardised(void **state)
{
    enum { LEVELS = SCHEMA_LEVELS_KEPT + 10 };
    static char text[LEVELS * 3 * 24 + 64];
    struct scale scale = {0};
    struct schema s = {0};
    struct table t;
    size_t n = (size_t)sprintf(text, "id,c\n");

    (void)state;
    for (int i = 0; i < 3 * LEVELS; i++)
        n += (size_t)sprintf(text + n, "%d,l%d\n", i, i % LEVELS);
    read_as(&t, &s, text);
    s.column[0].embedded = true;
    assert_int_equal(schema_fit(&s, &t, NULL, &err), STATUS_OK);
    assert_int_equal(schema_levels(&s.column[0]), LEVELS);
    assert_int_equal(schema_apply(&s, &t, &unseen, &filled, &err), STATUS_OK);
    assert_int_equal(scale_fit(&scale, &t), STATUS_OK);
    assert_false(schema_is_spared(&s, &scale));
    schema_spare_levels(&s, &scale);
    assert_true(schema_is_spared(&s, &scale));
    table_deinit(&t);
    scale_deinit(&scale);
    schema_deinit(&s);
}

static void parse_as(struct schema *s, const char *columns)
{
    char text[1000];

    snprintf(text, sizeof text, "statistics: fit\ncolumns:\n%s", columns);
    if (schema_parse(s, text, strlen(text), "s", &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

/* Weights of the one are weights of the other. */
static void test_two_schemas_embed_alike_or_not(void **state)
{
#define C(levels, rest) "  - {name: \"c\", kind: category, levels: " levels ", encode: " rest "}\n"
    static const char *const others[] = {
        C("[a, b, c]", "embedding, width: 4"),
        C("[b, a]", "embedding, width: 4"),
        C("[a, c]", "embedding, width: 4"),
        C("[a, b]", "embedding, width: 5"),
        C("[a, b]", "one-hot"),
        C("[a, b]", "embedding, width: 4, other: true"),
        C("[a, b]", "embedding, width: 4, indicator: true"),
        "  - {name: \"d\", kind: category, levels: [a, b], encode: embedding, width: 4}\n",
        C("[a, b]", "embedding, width: 4") "  - {name: \"d\", kind: category, levels: [a], encode: "
                                           "embedding}\n",
    };
    struct schema one, same, other;

    (void)state;
    parse_as(&one, C("[a, b]", "embedding, width: 4"));
    parse_as(&same,
             "  - {name: \"n\", kind: number, missing: mean}\n" C("[a, b]", "embedding, width: 4"));
    assert_true(schema_embeds_as(&one, &same) && schema_embeds_as(&same, &one));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        parse_as(&other, others[i]);
        assert_false(schema_embeds_as(&one, &other));
        assert_false(schema_embeds_as(&other, &one));
        schema_deinit(&other);
    }
    schema_deinit(&one);
    schema_deinit(&same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_embedded_level_is_the_place_that_its_one_would_have),
        cmocka_unit_test(test_an_embedded_column_has_all_its_levels_and_is_not_standardised),
        cmocka_unit_test(test_two_schemas_embed_alike_or_not),
        cmocka_unit_test(test_numbers_without_gaps_stay_as_they_are),
        cmocka_unit_test(test_a_missing_number_is_the_mean_and_says_so),
        cmocka_unit_test(test_the_median_and_a_constant_fill_in_too),
        cmocka_unit_test(test_each_level_is_a_feature_in_the_order_of_texts),
        cmocka_unit_test(test_long_names_stay_names),
        cmocka_unit_test(test_an_unseen_level_is_none_where_no_level_was_rare),
        cmocka_unit_test(test_the_most_frequent_levels_are_kept),
        cmocka_unit_test(test_what_tells_who_a_row_is_is_ignored),
        cmocka_unit_test(test_a_table_of_ignored_columns_alone_is_refused),
        cmocka_unit_test(test_rows_that_are_not_fitted_to_decide_nothing),
        cmocka_unit_test(test_times_are_days),
        cmocka_unit_test(test_bins_hold_equal_shares_of_the_training_rows),
        cmocka_unit_test(test_equal_values_are_in_one_bin),
        cmocka_unit_test(test_rare_levels_are_others_as_a_schema_says),
        cmocka_unit_test(test_a_time_has_parts),
        cmocka_unit_test(test_each_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
