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
    for (int i = 0; i < 3; i++) {
        assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 3, &err), STATUS_OK);
        assert_int_equal(aligned_tell(scratch_dir(), 3, &err), STATUS_OK);
    }
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 3, &err), STATUS_POLICY);
    assert_non_null(strstr(err.text, "policy.align.max_alignments: there were 3"));
    assert_int_equal(aligned_tell(scratch_dir(), 3, &err), STATUS_POLICY);
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 4, &err), STATUS_OK);
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 0, &err), STATUS_POLICY);
}

/* Who breaks alignments off early uses up what may begin, and not what may be told. */
static void test_those_that_were_broken_off_count_apart(void **state)
{
    struct error err = {0};

    (void)state;
    (void)unlink(scratch_path("alignments/asked"));
    for (int i = 0; i < 2 * ALIGNED_BEGUN; i++)
        assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 2, &err), STATUS_OK);
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 2, &err), STATUS_POLICY);
    assert_non_null(strstr(err.text, "32 have begun"));
    assert_int_equal(aligned_tell(scratch_dir(), 2, &err), STATUS_OK);
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 3, &err), STATUS_OK);
    /* An older count is one of alignments that all may have told something. */
    (void)scratch_write_text("alignments/asked", "3\n");
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 3, &err), STATUS_POLICY);
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 4, &err), STATUS_OK);
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
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 100, &err), STATUS_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        (void)scratch_write_text("alignments/asked", bad[i]);
        assert_int_not_equal(aligned_begin(scratch_dir(), "q3", false, 100, &err), STATUS_OK);
    }
    (void)scratch_write_text("alignments/asked", "0\n");
}

static void test_a_result_is_kept_in_the_common_order(void **state)
{
    static const uint8_t transcript[32] = {0xab};
    static const uint32_t places[] = {1, ALIGN_NOWHERE, 0};
    const struct aligned_result r = {"q3", transcript, places};
    struct config_align c = {.trim = true};
    struct error err = {0};
    struct idlist l;
    struct buf text;

    (void)state;
    strcpy(c.table, scratch_write_text("ids.csv", "id\none\ntwo\n\" three\"\n"));
    assert_int_equal(idlist_read(&l, &c, &err), STATUS_OK);
    assert_int_equal(aligned_keep(scratch_dir(), &l, &r, &err), STATUS_OK);
    buf_init(&text, 1000);
    assert_int_equal(file_read_own(scratch_path("alignments/q3"), &text, &err), STATUS_OK);
    assert_int_equal(buf_append(&text, "", 1), STATUS_OK);
    assert_string_equal((const char *)text.data,
                        "alignment 2\nname q3\ntranscript "
                        "ab00000000000000000000000000000000000000000000000000000000000000\n"
                        "common 2\nkey id\nform columns=1 trim=1 fold=0 unicode=0 duplicates=0\n"
                        "sum 421f943a369864d02fe92bee2f1b25a2ba6d330149649f11bdd1db05630af0d1\n\n"
                        " three\none\n");
    buf_deinit(&text);
    idlist_deinit(&l);
    /* Its name is taken, and no other begins by it unless it is to be replaced. */
    assert_int_equal(aligned_begin(scratch_dir(), "q3", false, 100, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "replace: true"));
    assert_int_equal(aligned_begin(scratch_dir(), "q3", true, 100, &err), STATUS_OK);
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
    };

    return cmocka_run_group_tests(tests, NULL, clear);
}
