/* test_aligned.c -- alignments are counted before they are played, and kept in their order.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/aligned.h"

#include "common/align/course.h"
#include "common/base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/scratch.h"
#include "tests/unit/daemon/kept.h"

static void test_no_more_are_counted_than_the_policy_has(void **state)
{
    struct error err = {0};

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 1, 3, &err), STATUS_OK);
        assert_int_equal(aligned_tell(scratch_dir(), 3, &err), STATUS_OK);
    }
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 1, 3, &err), STATUS_POLICY);
    assert_non_null(strstr(err.text, "policy.align.max_alignments: there were 3"));
    assert_int_equal(aligned_tell(scratch_dir(), 3, &err), STATUS_POLICY);
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 1, 4, &err), STATUS_OK);
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 1, 0, &err), STATUS_POLICY);
}

/* Who breaks alignments off early uses up what may begin, and not what may be told. */
static void test_those_that_were_broken_off_count_apart(void **state)
{
    struct error err = {0};

    (void)state;
    (void)unlink(scratch_path("alignments/asked"));
    for (int i = 0; i < 2 * ALIGNED_BEGUN; i++)
        assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 1, 2, &err), STATUS_OK);
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 1, 2, &err), STATUS_POLICY);
    assert_non_null(strstr(err.text, "32 have begun"));
    assert_int_equal(aligned_tell(scratch_dir(), 2, &err), STATUS_OK);
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 1, 3, &err), STATUS_OK);
    /* An older count is one of alignments that all may have told something. */
    (void)scratch_write_text("alignments/asked", "3\n");
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 1, 3, &err), STATUS_POLICY);
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 1, 4, &err), STATUS_OK);
}

/* Nothing is counted anew in the place of a count that cannot be read. */
static void test_a_count_that_cannot_be_read_ends_it(void **state)
{
    static const char *const bad[] = {"",
                                      "x\n",
                                      "3",
                                      "3\nx",
                                      "-1\n",
                                      "begun 3\n",
                                      "begun 03\ntold 1\n",
                                      "begun 3\ntold 4\n",
                                      "begun 3\ntold 1\n\n"};
    struct error err = {0};

    (void)state;
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 1, 100, &err), STATUS_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        (void)scratch_write_text("alignments/asked", bad[i]);
        assert_int_not_equal(aligned_begin(scratch_dir(), "q3", false, 1, 100, &err), STATUS_OK);
    }
    (void)scratch_write_text("alignments/asked", "0\n");
}

static void expect_file(const char *head, const char *rows)
{
    struct error err = {0};
    struct buf text;
    const char *at;

    buf_init(&text, 1000);
    assert_int_equal(file_read_own(scratch_path("alignments/q3"), &text, &err), STATUS_OK);
    assert_int_equal(buf_append(&text, "", 1), STATUS_OK);
    assert_memory_equal(text.data, "alignment 3\nname q3\ntranscript ab0000", 37);
    at = strchr(strstr((const char *)text.data, "transcript"), '\n') + 1;
    assert_memory_equal(at, head, strlen(head));
    assert_string_equal(strstr(at, "\n\n") + 2, rows);
    buf_deinit(&text);
}

static void expect_kept(const uint32_t *places, uint32_t labelled, const char *head,
                        const char *rows)
{
    struct config_align c = {.trim = true};
    struct error err = {0};

    strcpy(c.table, scratch_write_text("ids.csv", "id\none\ntwo\n\" three\"\n"));
    kept_alignment(&c, "q3", 0xab, places, labelled);
    expect_file(head, rows);
    /* Its name is taken, and no other begins by it unless it is to be replaced. */
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 1, 100, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "replace: true"));
    assert_int_equal(aligned_begin(scratch_dir(), "q3", true, 1, 100, &err), STATUS_OK);
}

#define SECTION(n, columns, key)                                                                   \
    "section " n " columns=" columns " trim=1 fold=0 unicode=0 duplicates=0 key " key "\n"

static void test_a_result_is_kept_in_the_common_order(void **state)
{
    static const uint32_t places[] = {1, ALIGN_NOWHERE, 0};

    (void)state;
    expect_kept(places, 0, "common 2\n" SECTION("2", "1", "id") "sum ", " three\none\n");
}

/* As many lines as there are labelled rows, whichever of them this side has. */
static void test_a_labelled_row_that_is_not_here_is_an_empty_line(void **state)
{
    static const uint32_t places[] = {3, ALIGN_NOWHERE, 0},
                          nowhere[] = {ALIGN_NOWHERE, ALIGN_NOWHERE, ALIGN_NOWHERE},
                          sizes[] = {6, 0, 0, 3, 0};
    struct error err = {0};
    struct aligned a;

    (void)state;
    expect_kept(places, 5, "labelled 5\n" SECTION("5", "1", "id"), " three\n\n\none\n\n");
    assert_int_equal(aligned_load(&a, scratch_dir(), "q3", &err), STATUS_OK);
    assert_true(a.labelled);
    assert_int_equal(a.n, 5);
    for (uint32_t p = 0; p < 5; p++)
        assert_int_equal(a.size[p], sizes[p]);
    aligned_deinit(&a);
    expect_kept(nowhere, 2, "labelled 2\n" SECTION("2", "1", "id"), "\n\n");
}

static void test_a_file_of_an_earlier_version_is_named_as_one(void **state)
{
    struct error err = {0};
    struct aligned a;

    (void)state;
    (void)scratch_write_text("alignments/q3", "alignment 2\nname q3\n");
    assert_int_equal(aligned_load(&a, scratch_dir(), "q3", &err), STATUS_DATA);
    assert_non_null(strstr(err.text, "of an earlier version: let all sides align again"));
    aligned_deinit(&a);
}

/* One by several keys counts as several, and does not begin where the last ones would be too many.
 */
static void test_each_pass_counts_as_an_alignment(void **state)
{
    const struct aligned_counts c = {.begun = 6, .told = 6};
    struct error err = {0};

    (void)state;
    assert_int_equal(aligned_judge(&c, false, 2, 8, &err), STATUS_OK);
    assert_int_equal(aligned_judge(&c, false, 3, 8, &err), STATUS_POLICY);
    assert_non_null(
        strstr(err.text, "there were 6, one by 3 keys counts as 3, and 8 are the most"));
}

static int clear(void **state)
{
    (void)state;
    (void)unlink(scratch_path("alignments/asked"));
    (void)unlink(scratch_path("alignments/q3"));
    return rmdir(scratch_path("alignments"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_more_are_counted_than_the_policy_has),
        cmocka_unit_test(test_those_that_were_broken_off_count_apart),
        cmocka_unit_test(test_a_count_that_cannot_be_read_ends_it),
        cmocka_unit_test(test_a_result_is_kept_in_the_common_order),
        cmocka_unit_test(test_a_labelled_row_that_is_not_here_is_an_empty_line),
        cmocka_unit_test(test_a_file_of_an_earlier_version_is_named_as_one),
        cmocka_unit_test(test_each_pass_counts_as_an_alignment),
    };

    return cmocka_run_group_tests(tests, NULL, clear);
}
