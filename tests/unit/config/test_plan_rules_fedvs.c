/* test_plan_rules_fedvs.c -- the rules of fedvs and its segments, each with a plan it refuses and
 * the nearest one it lets pass; and the numbers that a refusal gives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_rules.h"

#include "tests/unit/config/refused.h"

static void fedvs(uint32_t parties, uint32_t segments, uint32_t privacy)
{
    start();
    p.protocol.aggregation = AGGREGATION_FEDVS;
    p.protocol.encoding = ENCODING_FIXED;
    p.shape.parties = parties;
    p.training.batch = 60;
    p.protocol.fedvs.segments = segments;
    p.protocol.fedvs.privacy = privacy;
}

static void test_fedvs_has_one_encoding(void **state)
{
    (void)state;
    fedvs(3, 1, 1);
    pass();
    p.protocol.encoding = ENCODING_PBM;
    refuse("protocol.encoding: fedvs multiplies in a field");
    p.protocol.encoding = ENCODING_FLOAT32;
    refuse("protocol.encoding: float32 and what");
    p.protocol.encoding = ENCODING_GAUSSIAN;
    refuse("protocol.encoding: fedvs multiplies in a field");
    p.protocol.encoding = ENCODING_PBM;
    p.protocol.aggregation = AGGREGATION_MASKED;
    pass();
}

static void test_fedvs_waits_for_all_and_adds_them(void **state)
{
    (void)state;
    fedvs(3, 1, 1);
    p.protocol.straggler = STRAGGLER_DROP;
    refuse("protocol.straggler: the sum of fedvs has the embedding of every party");
    p.protocol.straggler = STRAGGLER_ASYNC;
    refuse("protocol.straggler: async takes each party's embedding");
    p.protocol.straggler = STRAGGLER_WAIT;
    p.model.fusion = FUSION_MEAN;
    pass();
    p.model.fusion = FUSION_CONCAT;
    refuse("model.fusion: under masks and from shares");
}

static void test_fedvs_decodes_from_parties_that_exist(void **state)
{
    (void)state;
    fedvs(11, 4, 2); /* 2 (4 + 2 - 1) + 1 = 11 */
    pass();
    p.shape.parties = 10;
    refuse("protocol.fedvs.segments: a sum is decoded from 2 (segments + privacy - 1) + 1 results, "
           "so there must be that many parties (11 results with segments 4 and privacy 2, 10 "
           "parties)");
    fedvs(11, 5, 2);
    refuse("protocol.fedvs.segments: a sum is decoded");
    fedvs(11, 4, 3);
    refuse("protocol.fedvs.segments: a sum is decoded");
    fedvs(2, 1, 1);
    refuse("protocol.fedvs.segments: a sum is decoded");
    fedvs(3, 1, 1);
    pass();
    fedvs(0, 60, 200); /* not yet known */
    pass();
    p.shape.parties = PLAN_PARTIES_MAX;
    refuse("protocol.fedvs.segments: a sum is decoded");
}

static void test_fedvs_deals_no_more_keys_than_it_may(void **state)
{
    (void)state;
    fedvs(12, 1, 4); /* C(11, 4) = 330 */
    pass();
    fedvs(13, 1, 4); /* C(12, 4) = 495 */
    pass();
    fedvs(14, 1, 4); /* C(13, 4) = 715 */
    refuse("protocol.fedvs.privacy: one key for each choice of `privacy` among the other parties "
           "keeps openings apart: there may be 512 of them at most (privacy 4 among 13)");
    fedvs(33, 1, 2); /* C(32, 2) = 496 */
    pass();
    fedvs(34, 1, 2); /* C(33, 2) = 528 */
    refuse("protocol.fedvs.privacy: one key");
    fedvs(34, 1, 1);
    pass();
    fedvs(PLAN_PARTIES_MAX, 60, 1); /* C(255, 1) */
    pass();
    fedvs(PLAN_PARTIES_MAX, 1, 127); /* C(255, 127) is beyond 64 bits */
    refuse("protocol.fedvs.privacy: one key");
    p.shape.parties = 0; /* not yet known */
    pass();
    fedvs(34, 1, 2);
    p.protocol.aggregation = AGGREGATION_CLEAR;
    pass();
}

static void test_segments_divide_the_batch(void **state)
{
    (void)state;
    fedvs(20, 6, 1);
    pass();
    p.training.batch = 61;
    refuse("training.batch: must be a multiple of protocol.fedvs.segments (batch 61, segments 6)");
    p.training.batch = 3;
    refuse("training.batch: must be a multiple");
    p.protocol.fedvs.segments = 3;
    pass();
    p.protocol.aggregation = AGGREGATION_CLEAR;
    p.protocol.fedvs.segments = 2;
    refuse("training.batch: must be a multiple");
}

static void test_rows_are_cut_under_fedvs_and_clear_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < HIDDEN_N; i++) {
        start();
        p.protocol.aggregation = HIDDEN[i];
        p.protocol.fedvs.segments = 2;
        refuse("protocol.fedvs.segments: rows are cut for aggregation fedvs");
        p.protocol.aggregation = AGGREGATION_CLEAR;
        pass();
        p.protocol.aggregation = HIDDEN[i];
        p.protocol.fedvs.segments = 1;
        pass();
    }
    fedvs(20, 2, 1);
    pass();
}

static void test_fedvs_does_not_read_the_bits_of_fixed(void **state)
{
    (void)state;
    fedvs(200, 1, 1);
    p.protocol.fixed.bits = 24;
    pass();
    p.protocol.aggregation = AGGREGATION_MASKED;
    refuse("protocol.fixed.bits: the sum over all parties must stay within 2^31");
}

static void test_other_rules_count_nothing(void **state)
{
    char numbers[PLAN_RULES_NUMBERS_MAX];
    const struct plan_rule *r;
    size_t number;

    (void)state;
    start();
    p.protocol.encoding = ENCODING_FLOAT32;
    r = plan_rules_broken(&p, &number);
    assert_non_null(r);
    memset(numbers, 'x', sizeof numbers);
    plan_rules_numbers(r, &p, numbers);
    assert_string_equal(numbers, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fedvs_has_one_encoding),
        cmocka_unit_test(test_fedvs_waits_for_all_and_adds_them),
        cmocka_unit_test(test_fedvs_decodes_from_parties_that_exist),
        cmocka_unit_test(test_fedvs_deals_no_more_keys_than_it_may),
        cmocka_unit_test(test_segments_divide_the_batch),
        cmocka_unit_test(test_rows_are_cut_under_fedvs_and_clear_only),
        cmocka_unit_test(test_fedvs_does_not_read_the_bits_of_fixed),
        cmocka_unit_test(test_other_rules_count_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
