/* test_columns.c -- what a column specification gives to whom, and which ones are refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/data/columns.h"
#include "common/data/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { TEXT_MAX = 4096 };

/* "0 1 2|7" for three columns of the first party and one of the second; the error's words on
 * refusal. */
static const char *assigned(const char *spec, uint32_t parties, uint32_t features)
{
    static char text[TEXT_MAX];
    struct columns_want want = {.spec = spec, .parties = parties, .features = features};
    struct error err = {0};
    struct columns c;
    size_t n = 0;

    if (columns_assign(&c, &want, &err) != STATUS_OK) {
        assert_int_equal(err.status, STATUS_CONFIG);
        assert_null(c.column);
        snprintf(text, sizeof text, "%s", err.text);
        return text;
    }
    text[0] = 0;
    for (uint32_t p = 0; p < c.parties; p++)
        for (uint32_t i = c.first[p]; i < c.first[p + 1]; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%u",
                                  i > c.first[p] ? " "
                                  : p > 0        ? "|"
                                                 : "",
                                  c.column[i]);
    columns_deinit(&c);
    return text;
}

static void test_columns_run_contiguously_and_the_first_parties_get_one_more(void **state)
{
    (void)state;
    assert_string_equal(assigned(NULL, 3, 8), "0 1 2|3 4 5|6 7");
    assert_string_equal(assigned(NULL, 1, 3), "0 1 2");
    assert_string_equal(assigned(NULL, 4, 4), "0|1|2|3");
    assert_string_equal(assigned(NULL, 5, 4), "5 parties, but only 4 columns");
}

static void test_columns_follow_a_list(void **state)
{
    (void)state;
    assert_string_equal(assigned("1-3+8,4-7", 0, 8), "0 1 2 7|3 4 5 6");
    assert_string_equal(assigned("1-3+8,4-7", 2, 8), "0 1 2 7|3 4 5 6");
    assert_string_equal(assigned("5,1", 0, 8), "4|0"); /* some stay with nobody */
    assert_string_equal(assigned("8+1", 0, 8), "7 0");
}

static void test_columns_refuse_a_list_with_its_reason(void **state)
{
    static const char *const bad[][2] = {
        {"", "a column number from 1 is missing"},
        {"0-3", "a column number from 1 is missing"},
        {"1-3,", "a column number from 1 is missing"},
        {"1-", "a range has no end"},
        {"3-1", "a range runs backwards"},
        {"1-3 ,4", "a column number from 1 is missing"},
        {"1-3,3", "column 3 is given twice"},
        {"1,1", "column 1 is given twice"},
        {"1-9", "column 9, but there are 8"},
        {"99999999999999999999", "a column number from 1 is missing"},
        {"-1", "a column number from 1 is missing"},
        {"a", "a column number from 1 is missing"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_non_null(strstr(assigned(bad[i][0], 0, 8), bad[i][1]));
    assert_string_equal(assigned("1-4,5-8", 3, 8),
                        "columns 1-4,5-8: these are 2 parties, 3 are asked for");
}

static void test_columns_cut_an_image_in_blocks(void **state)
{
    const struct columns_want wide = {.spec = "grid:1x2", .features = 6, .height = 2, .width = 3};
    struct error err = {0};
    struct columns c;

    (void)state;
    assert_string_equal(assigned("grid:2x2", 0, 16), "0 1 4 5|2 3 6 7|8 9 12 13|10 11 14 15");
    assert_string_equal(assigned("grid:1x1", 0, 4), "0 1 2 3");
    assert_string_equal(assigned("grid:2x1", 0, 9), "0 1 2 3 4 5|6 7 8"); /* first rows: one more */
    assert_int_equal(columns_assign(&c, &wide, &err), STATUS_OK);
    assert_int_equal(c.first[1], 4);
    assert_int_equal(c.column[3], 4);
    assert_int_equal(c.column[4], 2);
    columns_deinit(&c);
    assert_non_null(strstr(assigned("grid:2x2", 0, 15), "no square image"));
    assert_non_null(strstr(assigned("grid:5x1", 0, 16), "only 4 x 4"));
    assert_non_null(strstr(assigned("grid:2", 0, 16), "expected grid:RxC"));
    assert_non_null(strstr(assigned("grid:2x2x2", 0, 16), "expected grid:RxC"));
    assert_non_null(strstr(assigned("grid:0x2", 0, 16), "expected grid:RxC"));
}

static void test_columns_end_at_the_largest_federation(void **state)
{
    const struct columns_want most = {.parties = PLAN_PARTIES_MAX, .features = TABLE_COLUMNS_MAX};
    struct error err = {0};
    struct columns c;

    (void)state;
    assert_int_equal(columns_assign(&c, &most, &err), STATUS_OK);
    assert_int_equal(c.first[PLAN_PARTIES_MAX], TABLE_COLUMNS_MAX);
    columns_deinit(&c);
    assert_non_null(strstr(assigned("grid:17x17", 0, 400), "more than 256 parties"));
}

static void test_columns_survive_each_failing_allocation(void **state)
{
    const struct columns_want want = {.parties = 2, .features = 4};

    (void)state;
    for (uint64_t n = 1; n <= 3; n++) {
        struct error err = {0};
        struct columns c;
        enum status s;

        mem_fail_at(n);
        s = columns_assign(&c, &want, &err);
        mem_fail_at(0);
        assert_int_equal(s, n <= 2 ? STATUS_MEMORY : STATUS_OK);
        columns_deinit(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_run_contiguously_and_the_first_parties_get_one_more),
        cmocka_unit_test(test_columns_follow_a_list),
        cmocka_unit_test(test_columns_refuse_a_list_with_its_reason),
        cmocka_unit_test(test_columns_cut_an_image_in_blocks),
        cmocka_unit_test(test_columns_end_at_the_largest_federation),
        cmocka_unit_test(test_columns_survive_each_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
