/* Unit tests of common/config/aggregation.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/aggregation.h"

#include "common/config/key.h"
#include "common/config/plan_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void test_the_words_are_in_the_order_of_the_enum(void **state)
{
    (void)state;
    assert_string_equal(aggregation_names[AGGREGATION_MASKED], "masked");
    assert_string_equal(aggregation_names[AGGREGATION_CODED], "coded");
    assert_string_equal(aggregation_names[AGGREGATION_FEDVS], "fedvs");
    assert_string_equal(aggregation_names[AGGREGATION_CLEAR], "clear");
    assert_null(aggregation_names[PLAN_AGGREGATIONS]);
}

/* Whoever asks one fact alone is right only while the others follow from it. */
static void test_facts_imply_one_another(void **state)
{
    (void)state;
    for (int a = 0; a < PLAN_AGGREGATIONS; a++) {
        const struct aggregation *row = aggregation_row((enum plan_aggregation)a);

        assert_true(row->shares || !row->deals);
        assert_false(row->plaintext && row->shares);
        assert_int_equal(row->shares, row->withstands != NULL);
        assert_int_equal(row->shares, row->privacy_key != NULL && row->opens != NULL);
        if (row->shares)
            assert_true(key_find(&plan_keys_text, row->privacy_key) >= 0);
    }
}

static void test_no_sum_over_one_party_unless_all_is_shown(void **state)
{
    struct plan p;

    (void)state;
    plan_defaults(&p);
    for (int a = 0; a < PLAN_AGGREGATIONS; a++) {
        p.protocol.aggregation = (enum plan_aggregation)a;
        assert_int_equal(aggregation_of(&p)->least(&p) == 1, aggregation_of(&p)->plaintext);
    }
    p.protocol.aggregation = AGGREGATION_CODED;
    p.protocol.coded.segments = 3;
    p.protocol.coded.privacy = 2;
    p.protocol.fedvs.privacy = 4;
    assert_int_equal(aggregation_of(&p)->least(&p), 5);
    assert_int_equal(aggregation_of(&p)->withstands(&p), 2);
    p.protocol.aggregation = AGGREGATION_FEDVS;
    assert_int_equal(aggregation_of(&p)->withstands(&p), 4);
}

static void test_only_products_cut_rows(void **state)
{
    struct plan p;

    (void)state;
    plan_defaults(&p);
    p.protocol.fedvs.segments = 5;
    for (int a = 0; a < PLAN_AGGREGATIONS; a++) {
        p.protocol.aggregation = (enum plan_aggregation)a;
        assert_int_equal(aggregation_segments(&p), a == AGGREGATION_FEDVS ? 5 : 1);
    }
}

static void test_only_a_clear_round_closes_without_some(void **state)
{
    struct plan p;

    (void)state;
    plan_defaults(&p);
    for (int a = 0; a < PLAN_AGGREGATIONS; a++) {
        p.protocol.aggregation = (enum plan_aggregation)a;
        p.protocol.straggler = STRAGGLER_DROP;
        assert_int_equal(aggregation_partial(&p), a == AGGREGATION_CLEAR);
        p.protocol.straggler = STRAGGLER_WAIT;
        assert_false(aggregation_partial(&p));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_words_are_in_the_order_of_the_enum),
        cmocka_unit_test(test_facts_imply_one_another),
        cmocka_unit_test(test_no_sum_over_one_party_unless_all_is_shown),
        cmocka_unit_test(test_only_products_cut_rows),
        cmocka_unit_test(test_only_a_clear_round_closes_without_some),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
