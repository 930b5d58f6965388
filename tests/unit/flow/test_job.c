/* test_job.c -- what a job is called by its digest.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/job.h"

#include "common/crypto/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void expect_digest(const char *kind, const char *hex)
{
    uint8_t digest[WIRE_DIGEST_BYTES];
    char got[DIGEST_HEX_CHARS + 1];

    job_digest(digest, kind, "a=1\n", 4);
    digest_hex(got, digest, sizeof digest);
    assert_string_equal(got, hex);
}

/* printf 'a=1\n' | sha256sum, and printf 'probe\0a=1\n' | sha256sum */
static void test_a_digest_is_of_the_text_and_but_for_training_of_the_kind(void **state)
{
    (void)state;
    expect_digest(JOB_TRAIN, "fe3209d6d4f51935b391288a43df48d9ddece1a992597ae53387ca16611a9179");
    expect_digest("probe", "8653022433a425b900f90bb46c6afdd3f6f56a8961d6521f9373d22947b7879e");
}

static void test_kinds_are_told_apart_by_the_whole_word(void **state)
{
    const struct wire_job job = {"train", {NULL, 0}};

    (void)state;
    assert_true(job_is(&job, JOB_TRAIN));
    assert_false(job_is(&job, "trai"));
    assert_false(job_is(&job, "trains"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_digest_is_of_the_text_and_but_for_training_of_the_kind),
        cmocka_unit_test(test_kinds_are_told_apart_by_the_whole_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
