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

static void test_no_more_are_counted_than_the_policy_has(void **state)
{
    struct error err = {0};

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(aligned_count(scratch_dir(), 3, &err), STATUS_OK);
    assert_int_equal(aligned_count(scratch_dir(), 3, &err), STATUS_POLICY);
    assert_non_null(strstr(err.text, "policy.align.max_alignments: there were 3"));
    assert_int_equal(aligned_count(scratch_dir(), 4, &err), STATUS_OK);
    assert_int_equal(aligned_count(scratch_dir(), 0, &err), STATUS_POLICY);
}

/* Nothing is counted anew in the place of a count that cannot be read. */
static void test_a_count_that_cannot_be_read_ends_it(void **state)
{
    static const char *const bad[] = {"", "x\n", "3", "3\nx", "-1\n"};
    struct error err = {0};

    (void)state;
    assert_int_equal(aligned_count(scratch_dir(), 100, &err), STATUS_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        (void)scratch_write_text("alignments/asked", bad[i]);
        assert_int_not_equal(aligned_count(scratch_dir(), 100, &err), STATUS_OK);
    }
    (void)scratch_write_text("alignments/asked", "0\n");
}

static void expect_kept(const uint32_t *places, uint32_t labelled, const char *want)
{
    static const uint8_t transcript[32] = {0xab};
    const struct aligned_result r = {"q3", transcript, places, labelled};
    struct config_align c = {.trim = true};
    struct error err = {0};
    struct idlist l;
    struct buf text;

    strcpy(c.table, scratch_write_text("ids.csv", "id\none\ntwo\n\" three\"\n"));
    assert_int_equal(idlist_read(&l, &c, &err), STATUS_OK);
    assert_int_equal(aligned_keep(scratch_dir(), &l, &r, &err), STATUS_OK);
    buf_init(&text, 1000);
    assert_int_equal(file_read_own(scratch_path("alignments/q3"), &text, &err), STATUS_OK);
    assert_int_equal(buf_append(&text, "", 1), STATUS_OK);
    assert_string_equal(strchr(strstr((const char *)text.data, "transcript ab0000"), '\n'), want);
    assert_memory_equal(text.data, "alignment 1\nname q3\n", 20);
    buf_deinit(&text);
    idlist_deinit(&l);
}

static void test_a_result_is_kept_in_the_common_order(void **state)
{
    static const uint32_t places[] = {1, ALIGN_NOWHERE, 0};

    (void)state;
    expect_kept(places, 0, "\ncommon 2\n\n three\none\n");
}

/* As many lines as there are labelled rows, whichever of them this side has. */
static void test_a_labelled_row_that_is_not_here_is_an_empty_line(void **state)
{
    static const uint32_t places[] = {3, ALIGN_NOWHERE, 0},
                          nowhere[] = {ALIGN_NOWHERE, ALIGN_NOWHERE, ALIGN_NOWHERE};

    (void)state;
    expect_kept(places, 5, "\nlabelled 5\n\n three\n\n\none\n\n");
    expect_kept(nowhere, 2, "\nlabelled 2\n\n\n\n");
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
        cmocka_unit_test(test_a_count_that_cannot_be_read_ends_it),
        cmocka_unit_test(test_a_result_is_kept_in_the_common_order),
        cmocka_unit_test(test_a_labelled_row_that_is_not_here_is_an_empty_line),
    };

    return cmocka_run_group_tests(tests, NULL, clear);
}
