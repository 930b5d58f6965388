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
static const char *assigned_of(struct columns_want want)
{
    static char text[TEXT_MAX];
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

static const char *assigned(const char *spec, uint32_t parties, uint32_t features)
{
    return assigned_of(
        (struct columns_want){.spec = spec, .parties = parties, .features = features});
}

/* "3x2x1 3x2x2": the shape of each party's columns, - where there is none. */
static const char *shapes(struct columns_want want)
{
    static char text[TEXT_MAX];
    struct plan_widths shape;
    struct error err = {0};
    struct columns c;
    size_t n = 0;

    assert_int_equal(columns_assign(&c, &want, &err), STATUS_OK);
    for (uint32_t p = 0; p < c.parties; p++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s", p > 0 ? " " : "");
        if (!columns_shape(&c, p, &shape))
            n += (size_t)snprintf(text + n, sizeof text - n, "-");
        else
            for (size_t i = 0; i < shape.n; i++)
                n += (size_t)snprintf(text + n, sizeof text - n, "%s%u", i > 0 ? "x" : "",
                                      shape.width[i]);
    }
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
    const struct columns_want wide = {.spec = "grid:1x2", .features = 6, .shape = {3, {1, 2, 3}}};
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

/* 2 x 2 x 3 of two channels, and 3 steps of 4 channels. */
static const struct columns_want COLOUR = {.features = 12, .shape = {3, {2, 2, 3}}};
static const struct columns_want STEPS = {.features = 12, .shape = {2, {3, 4}}};

static struct columns_want cut(struct columns_want want, const char *spec, uint32_t parties)
{
    want.spec = spec;
    want.parties = parties;
    return want;
}

static void test_columns_cut_every_channel_of_an_image_alike(void **state)
{
    (void)state;
    assert_string_equal(assigned_of(cut(COLOUR, "grid:1x2", 0)), "0 1 3 4 6 7 9 10|2 5 8 11");
    assert_string_equal(assigned_of(cut(COLOUR, NULL, 2)), "0 1 3 4 6 7 9 10|2 5 8 11");
    assert_string_equal(assigned_of(cut(COLOUR, "grid:2x1", 0)), "0 1 2 6 7 8|3 4 5 9 10 11");
    assert_string_equal(assigned_of(cut(COLOUR, NULL, 4)),
                        "columns grid:1x4: the image has only 2 x 3 pixels");
    assert_string_equal(assigned_of(cut(COLOUR, "channels:1,0", 0)), "6 7 8 9 10 11|0 1 2 3 4 5");
}

static void test_columns_cut_a_series_by_channels(void **state)
{
    static const char *const bad[][2] = {
        {"channels:", "a channel number from 0 is missing"},
        {"channels:0,", "a channel number from 0 is missing"},
        {"channels:0+,1", "a channel number from 0 is missing"},
        {"channels:0-", "a range has no end, or runs backwards"},
        {"channels:2-1", "a range has no end, or runs backwards"},
        {"channels:0 1", "expected '+', '-' or ',' behind a channel's number"},
        {"channels:0-4", "channel 4, but there are 0 to 3"},
        {"channels:0,0", "column 1 is given twice"},
    };

    (void)state;
    assert_string_equal(assigned_of(cut(STEPS, "channels:0-1,2-3", 0)),
                        "0 1 4 5 8 9|2 3 6 7 10 11");
    assert_string_equal(assigned_of(cut(STEPS, "channels:3+0,1", 0)), "3 0 7 4 11 8|1 5 9");
    assert_string_equal(assigned_of(cut(STEPS, "grid:1x2", 0)), "0 1 4 5 8 9|2 3 6 7 10 11");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_non_null(strstr(assigned_of(cut(STEPS, bad[i][0], 0)), bad[i][1]));
    assert_non_null(strstr(assigned("channels:0", 0, 12), "no series and no image"));
}

static void test_columns_with_sides_have_a_shape(void **state)
{
    (void)state;
    assert_string_equal(shapes(cut(COLOUR, "grid:1x2", 0)), "2x2x2 2x2x1");
    assert_string_equal(shapes(cut(COLOUR, "grid:2x3", 0)), "2x1x1 2x1x1 2x1x1 2x1x1 2x1x1 2x1x1");
    assert_string_equal(shapes(cut(COLOUR, "channels:0-1", 0)), "2x2x3");
    assert_string_equal(shapes(cut(COLOUR, "1-6,7-9,10-11", 0)), "1x2x3 1x1x3 1x1x2");
    assert_string_equal(shapes(cut(COLOUR, "1-5,6+9", 0)), "- -");
    assert_string_equal(shapes(cut(COLOUR, "6+12", 0)), "2x1x1");
    assert_string_equal(shapes(cut(STEPS, "channels:3+0,1", 0)), "3x2 3x1");
    assert_string_equal(shapes(cut(STEPS, "grid:1x2", 0)), "1x3x2 1x3x2");
    assert_string_equal(shapes(cut(STEPS, NULL, 3)), "1x4 1x4 1x4");
    assert_string_equal(shapes(cut(STEPS, NULL, 2)), "- -");
    assert_string_equal(shapes((struct columns_want){.spec = "grid:1x2", .features = 16}),
                        "1x4x2 1x4x2");
    assert_string_equal(shapes((struct columns_want){.parties = 2, .features = 16}), "- -");
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
        cmocka_unit_test(test_columns_cut_every_channel_of_an_image_alike),
        cmocka_unit_test(test_columns_cut_a_series_by_channels),
        cmocka_unit_test(test_columns_with_sides_have_a_shape),
        cmocka_unit_test(test_columns_end_at_the_largest_federation),
        cmocka_unit_test(test_columns_survive_each_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
