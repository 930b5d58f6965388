/* test_survey.c -- what is said of a table and the alignments that there are: numbers, and whose
 * job it is.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/survey.h"

#include "common/align/course.h"
#include "common/daemon/aligned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/scratch.h"
#include "tests/unit/daemon/kept.h"

static void expect(const struct table *t, const char *name, const char *want)
{
    const struct survey s = {scratch_dir(), "data.alignment", name, scratch_path("t.csv"), t},
                        none = {.name = ""};
    struct buf out;

    buf_init(&out, 4096);
    assert_int_equal(survey_print(&s, &none, &out), STATUS_OK);
    assert_int_equal(out.len == 0, want[0] == 0);
    assert_int_equal(buf_append(&out, "", 1), STATUS_OK);
    if (strstr((const char *)out.data, want) == NULL || strstr((const char *)out.data, "Ann"))
        fail_msg("%s: not %s", (const char *)out.data, want);
    buf_deinit(&out);
}

static void keep(const char *name, const char *key, const char *text)
{
    static const uint32_t places[] = {1, ALIGN_NOWHERE, 0};
    struct config_align c = {.fold = true};

    strcpy(c.key, key);
    strcpy(c.table, scratch_write_text("ids.csv", text));
    kept_alignment(&c, name, 1, places, 0);
}

static void test_it_says_how_many_rows_are_in_an_alignment(void **state)
{
    struct table t = {.own = {.any = true, .left = 7}};

    (void)state;
    (void)scratch_write_text("t.csv", "id,a\nAnn,1\nbob,2\neve,3\nzoe,4\n");
    keep("q3", "", "id\nann\nbob\nCy\n");
    keep("q4", "name", "name\nann\nbob\nCy\n");
    expect(&t, "q3", "# alignment q3 (data.alignment): 7 rows of ");
    expect(&t, "q3", "left out; the server's operator can have them aligned, too (vfl job submit");
    t.own.left = 0;
    expect(&t, "q3", ": 0 rows of ");
    expect(&t, "q3", "are left out\n");
    t.own.any = false;
    expect(&t, "", "# alignment q3 is not used (data.alignment): 1 of its 2 rows are in ");
    expect(&t, "",
           "t.csv, and 3 rows there are not in it; the server's operator has all sides aligned "
           "anew (vfl job submit align), since 1 of its rows are gone here\n");
    expect(&t, "", "# alignment q4 is not used, and fits no table here: ");
    expect(&t, "", "no column \"name\"");
    (void)scratch_write_text("alignments/asked", "3\n");
    expect(&t, "", "# alignment q3 ");
}

/* Nobody's rows are gone: it is for whoever runs this side to go by it. */
static void test_it_says_whose_job_an_alignment_is_that_is_not_used(void **state)
{
    static const uint32_t places[] = {2, ALIGN_NOWHERE, 0};
    struct config_align c = {.fold = true};
    struct table t = {.rows = 4};

    (void)state;
    (void)scratch_write_text("t.csv", "id,a\nAnn,1\nbob,2\ncy,3\nzoe,4\n");
    keep("q3", "", "id\nann\nbob\nCy\n");
    expect(&t, "", "2 of its 2 rows are in ");
    expect(&t, "",
           "2 rows there are not in it; whoever runs this side goes by it with "
           "data.alignment: q3\n");
    /* Of labelled rows: a row that is gone is one that is not here, and nobody's job. */
    strcpy(c.table, scratch_write_text("ids.csv", "id\nann\nbob\neve\n"));
    kept_alignment(&c, "q4", 1, places, 3);
    expect(&t, "", "alignment q4 is not used (data.alignment): 1 of its 3 rows are in ");
    expect(&t, "", "whoever runs this side goes by it with data.alignment: q4\n");
}

static void test_without_one_it_says_whose_job_one_is(void **state)
{
    struct table t = {.rows = 4};

    (void)state;
    expect(&t, "", "# alignment: none, so all sides need the ids of ");
    expect(&t, "", "the server's operator has them aligned (vfl job submit align)");
    t.counted = true; /* of images: there is nothing to align */
    expect(&t, "", "");
}

static int clear(void **state)
{
    (void)state;
    (void)unlink(scratch_path("alignments/asked"));
    (void)unlink(scratch_path("alignments/q3"));
    (void)unlink(scratch_path("alignments/q4"));
    (void)rmdir(scratch_path("alignments"));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_it_says_how_many_rows_are_in_an_alignment, clear),
        cmocka_unit_test_teardown(test_it_says_whose_job_an_alignment_is_that_is_not_used, clear),
        cmocka_unit_test(test_without_one_it_says_whose_job_one_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
