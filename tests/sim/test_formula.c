/* test_formula.c -- the papers' bytes of a round against numbers computed by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/formula.h"

#include "common/field/field.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/* Five parties, batches of 100 rows, P = 16: 1600 values a party. */
enum { MEMBERS = 5, ROWS = 100, VALUES = 1600 };

static struct plan plan;

static int set_up(void **state)
{
    (void)state;
    plan_defaults(&plan);
    plan.shape.parties = MEMBERS;
    plan.shape.train_rows = 1000;
    plan.shape.outputs = 3;
    return 0;
}

static void clear(enum plan_encoding encoding)
{
    set_up(NULL);
    plan.protocol.aggregation = AGGREGATION_CLEAR;
    plan.protocol.encoding = encoding;
}

static void expect(double up, double down)
{
    struct server_formula f;

    assert_int_equal(plan_check(&plan, NULL), STATUS_OK);
    server_formula(&f, &plan, MEMBERS, ROWS, NULL);
    assert_true(fabs(f.up - up) < 1e-6);
    assert_true(fabs(f.down - down) < 1e-6);
}

static void test_pbm_costs_the_bits_of_its_sum_up_and_floats_down(void **state)
{
    (void)state;
    plan.protocol.pbm.trials = 16;
    expect(MEMBERS * VALUES * log2(16 * MEMBERS) / 8, MEMBERS * VALUES * 4);
    plan.protocol.aggregation = AGGREGATION_CLEAR; /* which sends no less */
    expect(MEMBERS * VALUES * log2(16 * MEMBERS) / 8, MEMBERS * VALUES * 4);
    plan.model.embedding = 32;
    expect(MEMBERS * 2 * VALUES * log2(16 * MEMBERS) / 8, MEMBERS * 2 * VALUES * 4);
}

static void test_what_no_paper_encodes_costs_floats_both_ways(void **state)
{
    static const enum plan_encoding encodings[] = {ENCODING_FIXED, ENCODING_FLOAT32,
                                                   ENCODING_GAUSSIAN};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        clear(encodings[i]);
        expect(32000, 32000);
        plan.protocol.gradient.type = GRADIENT_INT8; /* not the paper's */
        expect(32000, 32000);
        plan.protocol.bits = 1; /* not of these */
        expect(32000, 32000);
    }
}

static void test_compressed_uploads_cost_their_bits_and_stale_gradients_floats(void **state)
{
    (void)state;
    for (int e = ENCODING_SCALAR; e <= ENCODING_TOPK; e++) {
        clear((enum plan_encoding)e);
        expect(2000, 32000); /* 2 bits */
        plan.protocol.bits = 3;
        expect(3000, 32000);
        plan.protocol.local_iterations = 10; /* of one round */
        expect(3000, 32000);
    }
}

/* C-VFL, Algorithm 1: 5 x 1600 values and the head's weights to each of 5. */
static void test_refreshed_sends_all_embeddings_and_the_head_to_all(void **state)
{
    (void)state;
    for (int fusion = FUSION_SUM; fusion <= FUSION_CONCAT; fusion++) {
        const double head = (fusion == FUSION_CONCAT ? 80 : 16) * 3 + 3;

        clear(ENCODING_FLOAT32);
        plan.model.fusion = (enum plan_fusion)fusion;
        plan.protocol.local_view = VIEW_REFRESHED;
        expect(32000, 5 * (8000 + head) * 4);
        plan.protocol.encoding = ENCODING_LATTICE;
        expect(2000, 5 * (8000 + head) * 2 / 8);
        plan.protocol.bits = 4;
        plan.protocol.head_bits = 8; /* ours: the paper has one number of bits */
        expect(4000, 5 * (8000 + head) * 4 / 8);
    }
}

static void test_refreshed_without_a_head_sends_embeddings_alone(void **state)
{
    (void)state;
    clear(ENCODING_FLOAT32);
    plan.protocol.local_view = VIEW_REFRESHED;
    plan.model.output = OUTPUT_IDENTITY;
    plan.model.embedding = 3;
    expect(5 * 300 * 4, 5 * 5 * 300 * 4);
}

/* FedBCD: the label holder gets the others' sum, the others their gradient. */
static void test_a_label_holder_costs_as_much_as_the_others(void **state)
{
    (void)state;
    clear(ENCODING_FLOAT32);
    plan.protocol.local_view = VIEW_REFRESHED;
    plan.protocol.label_holders = 1;
    expect(32000, 32000);
}

static void test_a_turn_costs_one_party(void **state)
{
    (void)state;
    clear(ENCODING_FLOAT32);
    plan.protocol.local_order = ORDER_SEQUENTIAL;
    expect(6400, 6400);
    plan.protocol.encoding = ENCODING_E8;
    expect(400, 6400);
}

static void test_shares_of_codes_go_up_and_down(void **state)
{
    (void)state;
    plan.protocol.aggregation = AGGREGATION_CODED;
    plan.protocol.coded.segments = 3; /* 534 elements of 7 bits: the prime is 83 */
    plan.protocol.pbm.trials = 16;
    expect(25 * 534 * 7 / 8.0, 20 * 534 * 7 / 8.0 + 32000);
    plan.protocol.encoding = ENCODING_FIXED;
    plan.protocol.fixed.bits = 10; /* 5 x 1023 = 5115, the prime 5119 */
    expect(25 * 534 * 13 / 8.0, 20 * 534 * 13 / 8.0 + 32000);
}

static void test_shares_of_fedvs_are_those_of_weights(void **state)
{
    const struct fedvs_terms terms = {
        .field = &field_31, .parties = MEMBERS, .width = 16, .segments = 2, .inputs_n = 30};
    struct server_formula f;

    (void)state;
    plan.protocol.aggregation = AGGREGATION_FEDVS;
    plan.protocol.encoding = ENCODING_FIXED;
    plan.protocol.fedvs.segments = 2;
    server_formula(&f, &plan, MEMBERS, ROWS, &terms);
    assert_true(fabs(f.up - (4 * 30 * 16 + 5 * 800) * 31 / 8.0) < 1e-6);
    assert_true(fabs(f.down - (4 * 30 * 16 * 31 / 8.0 + 32000)) < 1e-6);
}

#define TEST(f) cmocka_unit_test_setup(f, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pbm_costs_the_bits_of_its_sum_up_and_floats_down),
        TEST(test_what_no_paper_encodes_costs_floats_both_ways),
        TEST(test_compressed_uploads_cost_their_bits_and_stale_gradients_floats),
        TEST(test_refreshed_sends_all_embeddings_and_the_head_to_all),
        TEST(test_refreshed_without_a_head_sends_embeddings_alone),
        TEST(test_a_label_holder_costs_as_much_as_the_others),
        TEST(test_a_turn_costs_one_party),
        TEST(test_shares_of_codes_go_up_and_down),
        TEST(test_shares_of_fedvs_are_those_of_weights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
