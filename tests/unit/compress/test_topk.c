/* test_topk.c -- which columns stay, and payloads that are none.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/topk.h"

#include "common/base/bits.h"
#include "common/config/plan.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { WIDTH = 20, ROWS = 3, BITS = 5, K = 3, INDEX_BYTES = (K * 5 + 7) / 8 };

static void test_as_many_columns_as_the_bits_pay_for_and_at_least_one(void **state)
{
    (void)state;
    assert_int_equal(topk_columns(16, 1), 1); /* half a column, rounded up */
    assert_int_equal(topk_columns(16, 2), 1);
    assert_int_equal(topk_columns(16, 8), 4);
    assert_int_equal(topk_columns(1, 1), 1);
    assert_int_equal(topk_columns(7, 1), 1);
    assert_int_equal(topk_columns(WIDTH, BITS), K);
    assert_int_equal(topk_columns(PLAN_WIDTH_MAX, 8), PLAN_WIDTH_MAX / 4);
    assert_int_equal(topk_bytes(WIDTH, BITS, ROWS), INDEX_BYTES + 4 * K * ROWS);
    assert_int_equal(topk_bytes(1, 8, 4), 16);
}

static void draw(float *x)
{
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)sin(1.0 + (double)i * (double)i);
}

/* y is x in the columns given and 0 elsewhere. */
static void keeps(const float *y, const float *x, const uint32_t column[K])
{
    for (uint32_t i = 0; i < ROWS * WIDTH; i++) {
        const uint32_t c = i % WIDTH;
        const bool kept = c == column[0] || c == column[1] || c == column[2];

        assert_true(y[i] == (kept ? x[i] : 0));
    }
}

static void round_trip(float *y, const float *x, const float *importance)
{
    uint8_t out[256];

    memset(out, 0xee, sizeof out);
    topk_pack(out, x, ROWS, WIDTH, BITS, importance);
    assert_int_equal(out[topk_bytes(WIDTH, BITS, ROWS)], 0xee);
    assert_true(topk_unpack(y, out, ROWS, WIDTH, BITS));
}

static void test_the_most_important_columns_stay_as_they_are(void **state)
{
    float x[ROWS * WIDTH], y[ROWS * WIDTH], importance[WIDTH] = {0};

    (void)state;
    draw(x);
    importance[19] = 2;
    importance[0] = 1;
    importance[7] = 1e-30F;
    round_trip(y, x, importance);
    keeps(y, x, (const uint32_t[]){0, 7, 19});
}

static void test_of_equals_the_first_stay(void **state)
{
    float x[ROWS * WIDTH], y[ROWS * WIDTH], importance[WIDTH] = {0};

    (void)state;
    draw(x);
    round_trip(y, x, importance);
    keeps(y, x, (const uint32_t[]){0, 1, 2});
    importance[11] = importance[13] = importance[17] = importance[18] = 4;
    round_trip(y, x, importance);
    keeps(y, x, (const uint32_t[]){11, 13, 17});
}

static void test_without_importance_the_largest_on_average_stay(void **state)
{
    float x[ROWS * WIDTH] = {0}, y[ROWS * WIDTH];

    (void)state;
    x[0 * WIDTH + 3] = FLT_MAX; /* once; the sum below overflows in float32 */
    for (size_t r = 0; r < ROWS; r++) {
        x[r * WIDTH + 9] = -FLT_MAX;
        x[r * WIDTH + 12] = r == 1 ? -0.5F : 0.5F;
        x[r * WIDTH + 15] = 0.4F;
    }
    round_trip(y, x, NULL);
    keeps(y, x, (const uint32_t[]){3, 9, 12});
}

/* Against sorting by counting, over the widths around a tile's. */
static void test_the_choice_is_that_of_sorting(void **state)
{
    static const uint32_t widths[] = {1, 2, 63, 64, 65, 127, 128, 129, 300};
    static float x[300], y[300];
    static uint8_t out[4 * 300];

    (void)state;
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        const uint32_t width = widths[w];

        for (uint32_t c = 0; c < width; c++)
            x[c] = (float)(1 + c * 7919 % 41) * (c % 2 == 0 ? 1 : -1);
        for (uint32_t bits = 1; bits <= 8; bits++) {
            topk_pack(out, x, 1, width, bits, NULL);
            assert_true(topk_unpack(y, out, 1, width, bits));
            for (uint32_t c = 0; c < width; c++) {
                uint32_t before = 0;

                for (uint32_t o = 0; o < width; o++)
                    before += fabsf(x[o]) > fabsf(x[c]) || (fabsf(x[o]) == fabsf(x[c]) && o < c);
                assert_true(y[c] == (before < topk_columns(width, bits) ? x[c] : 0));
            }
        }
    }
}

static void refused(const uint32_t column[K], const float *values, uint8_t spare)
{
    uint8_t in[INDEX_BYTES + 4 * K * ROWS];
    float y[ROWS * WIDTH];

    bits_pack32(in, column, K, 5);
    in[INDEX_BYTES - 1] |= spare;
    memcpy(in + INDEX_BYTES, values, 4 * K * ROWS);
    assert_false(topk_unpack(y, in, ROWS, WIDTH, BITS));
}

static void test_malformed_payloads_are_refused(void **state)
{
    float values[K * ROWS] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, y[ROWS * WIDTH];
    uint8_t in[INDEX_BYTES + 4 * K * ROWS];

    (void)state;
    bits_pack32(in, (const uint32_t[]){0, 18, 19}, K, 5);
    memcpy(in + INDEX_BYTES, values, sizeof values);
    assert_true(topk_unpack(y, in, ROWS, WIDTH, BITS)); /* as it should be; from here on not */
    refused((const uint32_t[]){0, 18, 20}, values, 0);
    refused((const uint32_t[]){0, 18, 31}, values, 0);
    refused((const uint32_t[]){0, 18, 18}, values, 0);
    refused((const uint32_t[]){0, 19, 18}, values, 0);
    refused((const uint32_t[]){5, 4, 18}, values, 0);
    refused((const uint32_t[]){0, 18, 19}, values, 0x80);
    for (size_t i = 0; i < K * ROWS; i++) {
        const float good = values[i];

        values[i] = i % 2 == 0 ? NAN : -INFINITY;
        refused((const uint32_t[]){0, 18, 19}, values, 0);
        values[i] = good;
    }
}

static void test_the_widest_embedding_passes(void **state)
{
    static float x[PLAN_WIDTH_MAX], y[PLAN_WIDTH_MAX];
    static uint8_t out[PLAN_WIDTH_MAX * 2];
    size_t kept = 0;

    (void)state;
    for (size_t c = 0; c < PLAN_WIDTH_MAX; c++)
        x[c] = (float)(c * 40503 % 65536) + 1;
    assert_true(topk_bytes(PLAN_WIDTH_MAX, 8, 1) <= sizeof out);
    topk_pack(out, x, 1, PLAN_WIDTH_MAX, 8, NULL);
    assert_true(topk_unpack(y, out, 1, PLAN_WIDTH_MAX, 8));
    for (size_t c = 0; c < PLAN_WIDTH_MAX; c++) {
        kept += y[c] > 0;
        assert_true(y[c] == (x[c] > 49152 ? x[c] : 0));
    }
    assert_int_equal(kept, PLAN_WIDTH_MAX / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_many_columns_as_the_bits_pay_for_and_at_least_one),
        cmocka_unit_test(test_the_most_important_columns_stay_as_they_are),
        cmocka_unit_test(test_of_equals_the_first_stay),
        cmocka_unit_test(test_without_importance_the_largest_on_average_stay),
        cmocka_unit_test(test_the_choice_is_that_of_sorting),
        cmocka_unit_test(test_malformed_payloads_are_refused),
        cmocka_unit_test(test_the_widest_embedding_passes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
