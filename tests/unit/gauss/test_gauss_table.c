/* test_gauss_table.c -- the tables against weights that were computed otherwise.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/gauss/gauss_table.h"

#include "tests/golden/gauss.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

__extension__ typedef unsigned __int128 wide;

enum { TABLES = sizeof golden_gauss / sizeof golden_gauss[0], BITS = GAUSS_WORD_BITS };

static struct gauss fill(const struct golden_gauss *golden)
{
    struct gauss g = {.entries = golden->entries};

    gauss_table_fill(&g, golden->sigma, golden->part);
    return g;
}

/* What of all 2^62 words gives magnitude m in a table. */
static uint64_t weight(const uint64_t *t, uint32_t m)
{
    return gauss_table_entry(t, m) - (m > 0 ? gauss_table_entry(t, m - 1) : 0);
}

static void test_every_entry_of_the_main_table_is_the_upper_half_of_its_weight(void **state)
{
    (void)state;
    for (size_t i = 0; i < TABLES; i++) {
        const struct gauss g = fill(&golden_gauss[i]);

        for (uint32_t m = 0; m < g.entries; m++)
            assert_int_equal(weight(g.main, m), golden_gauss[i].weight[m][0]);
    }
}

/* Both tables together: main's units, and of what it leaves over the share that `rest` has for m.
 * In the sum over all magnitudes the law is off by less than what is stated. */
static void test_both_tables_together_have_the_law_to_the_distance_stated(void **state)
{
    (void)state;
    for (size_t i = 0; i < TABLES; i++) {
        const struct gauss g = fill(&golden_gauss[i]);
        const uint64_t left = (UINT64_C(1) << BITS) - gauss_table_entry(g.main, g.entries - 1);
        double off = 0;

        assert_true(left > 0 && left <= g.entries);
        for (uint32_t m = 0; m < g.entries; m++) {
            const wide want =
                ((wide)golden_gauss[i].weight[m][0] << BITS) + golden_gauss[i].weight[m][1];
            const wide got = ((wide)weight(g.main, m) << BITS) + (wide)left * weight(g.rest, m);

            off += got > want ? (double)(got - want) : (double)(want - got);
        }
        assert_true(ldexp(0.5 * off, -2 * BITS) < GAUSS_TABLE_DISTANCE);
    }
}

static void test_rest_always_gives_a_magnitude_of_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < TABLES; i++) {
        const struct gauss g = fill(&golden_gauss[i]);

        assert_int_equal(gauss_table_entry(g.rest, g.entries - 1), UINT64_C(1) << BITS);
    }
}

static void test_unused_entries_are_beyond_every_word(void **state)
{
    (void)state;
    for (size_t i = 0; i < TABLES; i++) {
        const struct gauss g = fill(&golden_gauss[i]);

        for (uint32_t m = g.entries; m < GAUSS_ENTRIES; m++) {
            assert_true((int64_t)gauss_table_entry(g.main, m) >= (int64_t)1 << BITS);
            assert_true((int64_t)gauss_table_entry(g.rest, m) >= (int64_t)1 << BITS);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_entry_of_the_main_table_is_the_upper_half_of_its_weight),
        cmocka_unit_test(test_both_tables_together_have_the_law_to_the_distance_stated),
        cmocka_unit_test(test_rest_always_gives_a_magnitude_of_the_table),
        cmocka_unit_test(test_unused_entries_are_beyond_every_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
