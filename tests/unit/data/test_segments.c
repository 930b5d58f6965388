/* test_segments.c -- coded rows stand for rows: all of them once, the padding always behind.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/segments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { ROWS_MAX = 40, PLACES_MAX = 2 * ROWS_MAX + 16 };

static void test_rows_are_cut_in_segments_of_the_ceiling(void **unused)
{
    static const struct {
        uint32_t rows, k, len;
    } cases[] = {{10, 1, 10}, {10, 2, 5},  {10, 3, 4}, {10, 10, 1},
                 {10, 11, 1}, {1, 256, 1}, {0, 4, 0},  {UINT32_MAX, 2, UINT32_C(1) << 31}};
    struct segments s;

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        segments_init(&s, cases[i].rows, cases[i].k);
        assert_int_equal(s.rows, cases[i].rows);
        assert_int_equal(s.k, cases[i].k);
        assert_int_equal(s.len, cases[i].len);
    }
}

static void test_a_list_is_written_segment_by_segment(void **unused)
{
    static const uint32_t coded[] = {0, 2, 3}, expected[] = {0, 2, 3, 4, 6, 7, 8};
    uint32_t row[9] = {0};
    struct segments s;

    (void)unused;
    segments_init(&s, 10, 3); /* 0 1 2 3 | 4 5 6 7 | 8 9 - - */
    assert_int_equal(segments_rows(&s, row, coded, 3), 7);
    assert_memory_equal(row, expected, sizeof expected);
    assert_int_equal(segments_rows(&s, row, coded + 1, 2), 4);
    assert_int_equal(row[3], 7);
    assert_int_equal(segments_rows(&s, row, coded, 0), 0);
}

/* The K n places of a list, padding as UINT32_MAX, computed place by place. */
static uint32_t places(const struct segments *s, uint32_t *out, const uint32_t *coded, uint32_t n)
{
    uint32_t at = 0;

    for (uint32_t k = 0; k < s->k; k++) {
        for (uint32_t i = 0; i < n; i++) {
            uint64_t row = (uint64_t)k * s->len + coded[i];

            out[at++] = row < s->rows ? (uint32_t)row : UINT32_MAX;
        }
    }
    return at;
}

/* Every shape up to ROWS_MAX rows, every list that skips and starts regularly. */
static void test_the_real_rows_are_a_prefix_of_the_places(void **unused)
{
    (void)unused;
    for (uint32_t rows = 1; rows <= ROWS_MAX; rows++) {
        for (uint32_t k = 1; k <= rows + 3; k++) {
            struct segments s;

            segments_init(&s, rows, k);
            for (uint32_t first = 0; first < s.len; first++) {
                for (uint32_t skip = 1; skip <= 3; skip++) {
                    uint32_t coded[ROWS_MAX], row[PLACES_MAX], all[PLACES_MAX], n = 0, real, total;

                    for (uint32_t r = first; r < s.len; r += skip)
                        coded[n++] = r;
                    real = segments_rows(&s, row, coded, n);
                    total = places(&s, all, coded, n);
                    assert_true(real >= n && real <= total);
                    assert_memory_equal(row, all, real * sizeof *row);
                    for (uint32_t i = real; i < total; i++)
                        assert_int_equal(all[i], UINT32_MAX);
                }
            }
        }
    }
}

static void test_all_coded_rows_are_all_rows_once_in_order(void **unused)
{
    (void)unused;
    for (uint32_t k = 1; k <= ROWS_MAX; k++) {
        uint32_t coded[ROWS_MAX], row[PLACES_MAX];
        struct segments s;

        segments_init(&s, ROWS_MAX, k);
        for (uint32_t r = 0; r < s.len; r++)
            coded[r] = r;
        assert_int_equal(segments_rows(&s, row, coded, s.len), ROWS_MAX);
        for (uint32_t i = 0; i < ROWS_MAX; i++)
            assert_int_equal(row[i], i);
    }
}

static void test_the_last_row_of_the_largest_table_does_not_wrap(void **unused)
{
    static const uint32_t coded[] = {0, (UINT32_C(1) << 31) - 1};
    uint32_t row[4];
    struct segments s;

    (void)unused;
    segments_init(&s, UINT32_MAX, 2);
    assert_int_equal(segments_rows(&s, row, coded, 2), 3);
    assert_int_equal(row[2], UINT32_C(1) << 31);
}

/* A run of coded rows is a list of them. */
static void test_a_range_is_the_list_of_its_coded_rows(void **unused)
{
    uint32_t coded[ROWS_MAX], list[PLACES_MAX], range[PLACES_MAX];
    size_t ranges = 0;
    struct segments s;

    (void)unused;
    for (uint32_t rows = 0; rows <= ROWS_MAX; rows += 3) {
        for (uint32_t k = 1; k <= 8; k++) {
            segments_init(&s, rows, k);
            for (uint32_t first = 0; first <= s.len; first++) {
                for (uint32_t n = 0; n <= s.len - first; n++, ranges++) {
                    uint32_t want, got;

                    for (uint32_t i = 0; i < n; i++)
                        coded[i] = first + i;
                    want = segments_rows(&s, list, coded, n);
                    got = segments_range(&s, range, first, n);
                    assert_int_equal(got, want);
                    assert_memory_equal(range, list, want * sizeof *list);
                    assert_int_equal(segments_range(&s, NULL, first, n), want);
                }
            }
        }
    }
    assert_true(ranges > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_cut_in_segments_of_the_ceiling),
        cmocka_unit_test(test_a_list_is_written_segment_by_segment),
        cmocka_unit_test(test_the_real_rows_are_a_prefix_of_the_places),
        cmocka_unit_test(test_all_coded_rows_are_all_rows_once_in_order),
        cmocka_unit_test(test_the_last_row_of_the_largest_table_does_not_wrap),
        cmocka_unit_test(test_a_range_is_the_list_of_its_coded_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
