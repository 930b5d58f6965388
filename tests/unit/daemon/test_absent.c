/* test_absent.c -- rows of an alignment that are not here stand in the tables at their places, with
 * nothing in them, and are called what no record is.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/absent.h"

#include "common/align/course.h"
#include "common/data/intake.h"
#include "common/data/scale.h"
#include "common/data/schema_fit.h"
#include "common/data/validate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/scratch.h"
#include "tests/unit/daemon/kept.h"

enum { HERE = 3 };

/* Rows `a`, `b`, `c` of a table at these of `labelled` places; 0: of common rows. */
static void keep(const char *name, const uint32_t places[HERE], uint32_t labelled)
{
    struct config_align c = {.trim = true};

    strcpy(c.table, scratch_write_text("ids.csv", "id\na\nb\nc\n"));
    kept_alignment(&c, name, (uint8_t)name[0], places, labelled);
}

struct world {
    struct placed_pair p;
    struct table train, test;
};

static const char THREE[] = "id,x\nb,2\nz,9\nc,3\na,1\n";

static void take(struct table *t, struct placed *p, const char *text)
{
    const struct intake_want want = {
        .kind = SCHEMA_NUMBER, .limits = &INTAKE_LIMITS, .places = placed_places(p)};
    struct schema s = {0};
    struct error err = {0};

    if (intake_read(t, &s, scratch_write_text("t.csv", text), &want, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    schema_deinit(&s);
}

static struct world open_table(const char *train, const char *test, const char *text)
{
    const struct placed_names names = {
        .key = "data", .may_lack = true, .train = train, .test = test, .test_file = test};
    struct world w = {.train.rows = 0};
    struct error err = {0};

    if (placed_open_pair(&w.p, scratch_dir(), &names, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    take(&w.train, &w.p.train, text);
    if (test[0] != 0)
        take(&w.test, &w.p.test, text);
    return w;
}

static struct world open_tables(const char *train, const char *test)
{
    return open_table(train, test, THREE);
}

static void fill(struct world *w, double share)
{
    struct error err = {0};

    assert_int_equal(absent_fill(&w->p, &w->train, &w->test, share, &err), STATUS_OK);
}

static void close_tables(struct world *w)
{
    placed_close_pair(&w->p);
    table_deinit(&w->train);
    table_deinit(&w->test);
}

/* id=x of rows that are there, id of others. */
static void expect_rows(const struct table *t, const char *want)
{
    char got[1024] = "";
    size_t used = 0;

    for (size_t i = 0; i < t->rows; i++) {
        const float x = t->x[i * t->cols];

        assert_int_equal(table_find_own(t, table_own_id(t, i)), i);
        if (t->lacks[i] != 0) {
            assert_true(x == 0);
            assert_int_equal(strlen(table_own_id(t, i)), 64);
        }
        used += (size_t)snprintf(got + used, sizeof got - used, t->lacks[i] != 0 ? "%s " : "%s=%g ",
                                 table_id(t, i), (double)x);
    }
    assert_string_equal(got, want);
}

static void test_rows_that_are_not_here_stand_at_their_places(void **state)
{
    static const uint32_t places[HERE] = {11, 0, 4}, all[HERE] = {2, 1, 0};
    struct world w;

    (void)state;
    keep("q", places, 12);
    keep("t", all, 3);
    w = open_tables("q", "t");
    assert_null(w.train.lacks);
    fill(&w, 0);
    expect_rows(&w.train, "0=2 1 2 3 4=3 5 6 7 8 9 10 11=1 ");
    expect_rows(&w.test, "0=3 1=2 2=1 "); /* of labelled rows, though all are here */
    assert_string_equal(table_own_id(&w.train, 0), "b");
    close_tables(&w);
}

/* Whoever ends for such a row tells the others that it is labelled. */
static void test_a_labelled_row_that_is_gone_is_one_that_is_not_here(void **state)
{
    static const uint32_t places[HERE] = {3, 0, 1};
    struct world w;

    (void)state;
    keep("q", places, 4);
    w = open_table("q", "", "id,x\nc,3\nb,2\nb,7\nz,9\nz,9\n");
    fill(&w, 0);
    expect_rows(&w.train, "0=2 1=3 2 3 ");
    close_tables(&w);
}

/* As it answers for rows of which it has some: that it went would tell of each. */
static void test_a_side_without_any_labelled_row_predicts_as_others_do(void **state)
{
    static const uint32_t places[HERE] = {ALIGN_NOWHERE, ALIGN_NOWHERE, ALIGN_NOWHERE};
    struct world w = {.train.rows = 0};
    struct error err = {0};

    (void)state;
    keep("q", places, 4);
    assert_int_equal(placed_open(&w.p.test, scratch_dir(), "q", &err), STATUS_OK);
    w.p.test.asked = true;
    w.p.test.may_lack = true;
    take(&w.test, &w.p.test, "id,x\na,1\nz,9\n");
    fill(&w, 0);
    expect_rows(&w.test, "0 1 2 3 ");
    close_tables(&w);
}

/* Of predictions any of them may be gone, all, too: of common rows nothing stands there then. */
static void test_rows_to_predict_may_all_be_missing(void **state)
{
    static const uint32_t places[HERE] = {2, 0, 1};
    static const char *const texts[] = {"id,x\nz,9\n", "id,x\nc,3\nz,9\n"};
    static const char *const wants[] = {"0 1 2 3 ", "0 1=3 2 3 "};

    (void)state;
    keep("t", places, 0);
    keep("q", places, 4);
    for (int k = 0; k < 4; k++) {
        const bool labelled = k >= 2;
        struct world w = {.train.rows = 0};
        struct error err = {0};

        assert_int_equal(placed_open(&w.p.test, scratch_dir(), labelled ? "q" : "t", &err),
                         STATUS_OK);
        w.p.test.asked = true;
        w.p.test.may_lack = labelled;
        take(&w.test, &w.p.test, texts[k % 2]);
        assert_int_equal(w.test.rows, k % 2);
        fill(&w, 0);
        if (labelled)
            expect_rows(&w.test, wants[k % 2]);
        assert_int_equal(w.test.rows, labelled ? 4 : k % 2);
        assert_int_equal(w.test.lacks != NULL, labelled);
        close_tables(&w);
    }
}

/* Whatever is fitted is fitted to nothing: one feature stays, whatever stands in its column, in
 * this table and in the next. */
static void test_a_table_with_none_of_the_labelled_rows_lacks_them_all(void **state)
{
    static const uint32_t places[HERE] = {3, 0, 1};
    const struct placed_names names = {
        .key = "data", .may_lack = true, .train = "q", .test = "", .test_file = ""};
    const struct validate_rule rule = {.share = 0.5, .may_lack = true};

    (void)state;
    keep("q", places, 4);
    for (int kept_back = 0; kept_back < 2; kept_back++) {
        struct intake_want want = {.kind = SCHEMA_AUTO, .limits = &INTAKE_LIMITS};
        struct world w = {.train.rows = 0};
        struct validate v = {0};
        struct scale scale = {0};
        struct schema schema = {0};
        struct table next = {0};
        struct error err = {0};
        size_t unseen, filled;

        assert_int_equal(placed_open_pair(&w.p, scratch_dir(), &names, &err), STATUS_OK);
        want.places = placed_places(&w.p.train);
        assert_int_equal(intake_read(&w.train, &schema,
                                     scratch_write_text("t.csv", "id,x,y\nz,9,blue\n"), &want,
                                     &err),
                         STATUS_OK);
        assert_int_equal(w.train.rows, 0);
        assert_int_equal(schema_fit_some(&schema, &w.train, NULL, &err), STATUS_OK);
        if (kept_back)
            assert_int_equal(validate_split(&v, &w.train, &w.test, &rule, &err), STATUS_OK);
        assert_int_equal(schema_apply(&schema, &w.train, &unseen, &filled, &err), STATUS_OK);
        assert_int_equal(scale_fit(&scale, &w.train), STATUS_OK);
        assert_int_equal(scale.cols, 1);
        assert_true(scale.sd[0] == 1 && scale.mean[0] == 0);
        if (kept_back)
            assert_int_equal(schema_apply(&schema, &w.test, &unseen, &filled, &err), STATUS_OK);
        want.places = NULL;
        assert_int_equal(intake_read(&next, &schema,
                                     scratch_write_text("n.csv", "id,x,y\na,red,1\nb,2,\nc,,x\n"),
                                     &want, &err),
                         STATUS_OK);
        assert_int_equal(schema_apply(&schema, &next, &unseen, &filled, &err), STATUS_OK);
        assert_int_equal(next.cols, 1);
        assert_memory_equal(next.x, ((float[]){1, 1, 0}), sizeof(float[3]));
        table_deinit(&next);
        fill(&w, kept_back ? rule.share : 0);
        assert_int_equal(w.train.rows + w.test.rows, 4);
        assert_int_equal(w.test.rows > 0, kept_back);
        for (size_t i = 0; i < w.train.rows; i++)
            assert_true(w.train.lacks[i]);
        for (size_t i = 0; i < w.test.rows; i++)
            assert_true(w.test.lacks[i]);
        scale_deinit(&scale);
        schema_deinit(&schema);
        validate_deinit(&v);
        close_tables(&w);
    }
}

/* Or a plan's price, and whether it is refused, would say so. */
static void test_whether_a_row_that_may_be_lacking_is_in_both_does_not_show(void **state)
{
    static const uint32_t here[HERE] = {0, 1, 2};
    static const char *const rows[] = {"id,x\na,1\nb,2\n", "id,x\na,1\nc,3\n"};

    (void)state;
    keep("q", here, 5);
    keep("t", here, 5);
    for (int k = 0; k < 2; k++) {
        struct world w = open_table("q", "t", rows[k]), one = open_table("q", "", rows[k]);

        fill(&w, 0);
        assert_true(validate_repeats(&w.train, &w.test).shared);
        fill(&one, 0);
        assert_true(validate_repeats(&one.train, &one.test).shared);
        close_tables(&w);
        close_tables(&one);
    }
}

static void test_a_table_of_common_rows_is_as_it_was(void **state)
{
    static const uint32_t places[HERE] = {2, 0, 1};
    struct world w;

    (void)state;
    keep("q", places, 0);
    w = open_tables("q", "");
    fill(&w, 0);
    assert_null(w.train.lacks);
    assert_int_equal(w.train.rows, HERE);
    close_tables(&w);
}

/* Which of them are kept back every side finds by their ids. */
static void test_rows_that_are_not_here_are_kept_back_as_others_do(void **state)
{
    enum { ROWS = 40 };
    uint32_t places[HERE] = {0}, kept = 0;
    struct validate v = {0};
    struct validate_rule rule = {.share = 0.4, .by = VALIDATE_ID};
    struct error err = {0};
    struct world w;
    size_t in[2] = {0, 0};

    (void)state;
    for (uint32_t p = 0, n[2] = {0, 0}; p < ROWS && n[0] + n[1] < HERE; p++) {
        char id[16];
        bool back;

        snprintf(id, sizeof id, "%u", p);
        back = validate_keeps_back(id, rule.share);
        if (n[back] < (back ? 1 : 2)) { /* one that is kept back, two that are not */
            places[n[0] + n[1]] = p;
            n[back]++;
        }
    }
    keep("q", places, ROWS);
    w = open_tables("q", "");
    assert_int_equal(validate_split(&v, &w.train, &w.test, &rule, &err), STATUS_OK);
    fill(&w, rule.share);
    for (int k = 0; k < 2; k++) {
        const struct table *t = k == 0 ? &w.train : &w.test;

        for (size_t i = 0; i < t->rows; i++) {
            assert_int_equal(validate_keeps_back(table_id(t, i), rule.share), k);
            in[k] += t->lacks[i] == 0;
        }
        kept += (uint32_t)t->rows;
    }
    assert_int_equal(kept, ROWS);
    assert_int_equal(in[0], 2);
    assert_int_equal(in[1], 1);
    validate_deinit(&v);
    close_tables(&w);
}

/* Those of two alignments, and of two places, are different ones. */
static void test_no_record_is_called_like_them(void **state)
{
    static const uint32_t places[HERE] = {0, 1, 2};
    struct world a, b;

    (void)state;
    keep("q", places, 9);
    keep("t", places, 9);
    a = open_tables("q", "");
    b = open_tables("t", "");
    fill(&a, 0);
    fill(&b, 0);
    for (size_t i = HERE; i < a.train.rows; i++)
        assert_int_equal(table_find_own(&b.train, table_own_id(&a.train, i)), b.train.rows);
    close_tables(&a);
    close_tables(&b);
}

static void test_what_asks_whose_they_are_is_refused(void **state)
{
    static const uint32_t places[HERE] = {0, 1, 2};
    struct config_party c;
    struct error err = {0};

    (void)state;
    for (uint32_t labelled = 0; labelled < 6; labelled += 5) {
        const enum status want = labelled > 0 ? STATUS_CONFIG : STATUS_OK;
        struct world w;

        keep("q", places, labelled);
        w = open_tables("q", "");
        config_party_defaults(&c);
        assert_int_equal(absent_check(&w.p, &c, &err), STATUS_OK);
        strcpy(c.group, "g");
        assert_int_equal(absent_check(&w.p, &c, &err), want);
        config_party_defaults(&c);
        strcpy(c.labels_train, "y.csv");
        assert_int_equal(absent_check(&w.p, &c, &err), want);
        config_party_defaults(&c);
        c.validate = 0.1;
        assert_int_equal(absent_check(&w.p, &c, &err), STATUS_OK);
        strcpy(c.data_test, "test.csv");
        assert_int_equal(absent_check(&w.p, &c, &err), want);
        c.data_test[0] = 0;
        c.validate_by = VALIDATE_TIME;
        assert_int_equal(absent_check(&w.p, &c, &err), want);
        close_tables(&w);
    }
}

static int clear(void **state)
{
    (void)state;
    (void)unlink(scratch_path("alignments/q"));
    (void)unlink(scratch_path("alignments/t"));
    return rmdir(scratch_path("alignments"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_that_are_not_here_stand_at_their_places),
        cmocka_unit_test(test_a_labelled_row_that_is_gone_is_one_that_is_not_here),
        cmocka_unit_test(test_a_side_without_any_labelled_row_predicts_as_others_do),
        cmocka_unit_test(test_rows_to_predict_may_all_be_missing),
        cmocka_unit_test(test_a_table_with_none_of_the_labelled_rows_lacks_them_all),
        cmocka_unit_test(test_whether_a_row_that_may_be_lacking_is_in_both_does_not_show),
        cmocka_unit_test(test_a_table_of_common_rows_is_as_it_was),
        cmocka_unit_test(test_rows_that_are_not_here_are_kept_back_as_others_do),
        cmocka_unit_test(test_no_record_is_called_like_them),
        cmocka_unit_test(test_what_asks_whose_they_are_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, clear);
}
