/* test_coalitions.c -- sets of parties and orders of them: which are asked for, each once.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/coalitions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct coalition list[COALITIONS_MAX];

static size_t find(size_t n, const struct coalition *c)
{
    for (size_t i = 0; i < n; i++)
        if (coalition_equal(&list[i], c))
            return i;
    return n;
}

static void expect_distinct(size_t n, uint32_t parties)
{
    const struct coalition none = coalition_none(parties), all = {{0}};

    assert_true(coalition_equal(&list[0], &all));
    for (size_t i = 0; i < n; i++) {
        assert_false(coalition_equal(&list[i], &none));
        assert_int_equal(find(n, &list[i]), i);
    }
}

static void test_few_parties_are_asked_in_all_sets_but_the_empty_one(void **state)
{
    (void)state;
    for (uint32_t parties = 1; parties <= COALITIONS_WHOLE_MAX; parties++) {
        size_t n;

        assert_int_equal(coalitions_list(list, &n, parties, 0), STATUS_OK);
        assert_int_equal(n, (1u << parties) - 1);
        expect_distinct(n, parties);
    }
}

/* Each order has its way from nobody to all in the list, and so has each that leaves out one. */
static void test_the_ways_of_orders_are_in_the_list(void **state)
{
    static const uint32_t sizes[] = {2, 6, 7, 12, 65, 256};
    uint32_t order[PLAN_PARTIES_MAX];

    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const uint32_t parties = sizes[k], orders = parties < 100 ? 6 : 2;
        size_t n;

        assert_int_equal(coalitions_list(list, &n, parties, orders), STATUS_OK);
        expect_distinct(n, parties);
        for (uint32_t o = 0; o < orders; o++) {
            struct coalition c = {{0}};

            assert_int_equal(coalitions_order(order, parties, o), STATUS_OK);
            for (uint32_t i = parties; i-- > 1;) {
                coalition_remove(&c, order[i]);
                assert_true(find(n, &c) < n);
            }
        }
        for (uint32_t i = 0; i < parties; i++) {
            struct coalition c = {{0}};

            coalition_remove(&c, i);
            assert_true(coalition_lacks(&c, i) && find(n, &c) < n);
        }
        assert_true(n <= parties + 1 + orders * (parties - 1));
    }
}

static void test_orders_are_permutations_in_pairs_that_reverse_each_other(void **state)
{
    uint32_t first[PLAN_PARTIES_MAX], second[PLAN_PARTIES_MAX], before[PLAN_PARTIES_MAX] = {0};

    (void)state;
    for (uint32_t n = 7; n <= 9; n++) {
        for (uint32_t k = 0; k < 8; k += 2) {
            uint32_t seen = 0;

            assert_int_equal(coalitions_order(first, n, k), STATUS_OK);
            assert_int_equal(coalitions_order(second, n, k + 1), STATUS_OK);
            for (uint32_t i = 0; i < n; i++) {
                assert_int_equal(first[i], second[n - 1 - i]);
                seen |= 1u << first[i];
            }
            assert_int_equal(seen, (1u << n) - 1);
            assert_true(k == 0 || memcmp(first, before, n * sizeof *first) != 0);
            memcpy(before, first, n * sizeof *first);
        }
    }
}

/* Whoever asks for more asks for what there was, and more. */
static void test_more_orders_have_all_sets_of_fewer(void **state)
{
    static struct coalition fewer[COALITIONS_MAX];
    size_t n, more;

    (void)state;
    assert_int_equal(coalitions_list(fewer, &n, 9, 4), STATUS_OK);
    assert_int_equal(coalitions_list(list, &more, 9, 8), STATUS_OK);
    assert_true(more > n);
    for (size_t i = 0; i < n; i++)
        assert_true(find(more, &fewer[i]) < more);
}

static void test_more_sets_than_there_may_be_are_refused(void **state)
{
    size_t n;

    (void)state;
    assert_int_equal(coalitions_list(list, &n, 256, 8), STATUS_LIMIT);
    assert_true(n <= COALITIONS_MAX);
}

/* As anybody can repeat it, and by each of its arguments another one. */
static void test_a_shuffle_is_a_permutation_by_all_that_names_it(void **state)
{
    uint32_t list_of[5][64];

    (void)state;
    for (uint32_t k = 0; k < 5; k++) {
        uint64_t seen = 0;

        for (uint32_t i = 0; i < 64; i++)
            list_of[k][i] = i;
        assert_int_equal(coalitions_shuffle(list_of[k], 64, 7 + (k == 1), k == 2,
                                            k == 3 ? "mixed" : "orders", k == 4),
                         STATUS_OK);
        for (uint32_t i = 0; i < 64; i++)
            seen |= UINT64_C(1) << list_of[k][i];
        assert_true(seen == UINT64_MAX);
        for (uint32_t j = 0; j < k; j++)
            assert_memory_not_equal(list_of[j], list_of[k], sizeof list_of[k]);
    }
    assert_int_equal(coalitions_shuffle(list_of[1], 0, 7, 0, "mixed", 0), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_parties_are_asked_in_all_sets_but_the_empty_one),
        cmocka_unit_test(test_the_ways_of_orders_are_in_the_list),
        cmocka_unit_test(test_orders_are_permutations_in_pairs_that_reverse_each_other),
        cmocka_unit_test(test_more_orders_have_all_sets_of_fewer),
        cmocka_unit_test(test_more_sets_than_there_may_be_are_refused),
        cmocka_unit_test(test_a_shuffle_is_a_permutation_by_all_that_names_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
