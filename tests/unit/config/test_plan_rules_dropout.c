/* test_plan_rules_dropout.c -- the rules of training.party_dropout, each beside the nearest plan
 * that passes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_rules.h"

#include "tests/unit/config/refused.h"

static void dropped(void)
{
    start();
    p.training.party_dropout = 0.2;
}

static void test_steps_without_a_party_need_noise_and_all_else_whole(void **state)
{
    (void)state;
    dropped();
    pass();
    for (size_t i = 0; i < HIDDEN_N; i++) {
        dropped();
        p.protocol.aggregation = HIDDEN[i];
        p.protocol.encoding = ENCODING_FIXED;
        p.protocol.fixed.bits = 12;
        refuse("training.party_dropout: fixed has no noise");
        p.training.party_dropout = 0;
        pass();
        p.training.party_dropout = 0.2;
        p.protocol.encoding = ENCODING_GAUSSIAN;
        pass();
    }
    p.protocol.aggregation = AGGREGATION_CLEAR;
    p.protocol.encoding = ENCODING_FIXED;
    pass();
    p.protocol.encoding = ENCODING_SCALAR;
    refuse("training.party_dropout: what compresses");
    dropped();
    p.protocol.aggregation = AGGREGATION_FEDVS;
    p.protocol.encoding = ENCODING_FIXED;
    refuse("training.party_dropout: under fedvs");
    dropped();
    p.protocol.straggler = STRAGGLER_DROP;
    refuse("training.party_dropout: who is left out must be in the set");
    dropped();
    p.protocol.local_view = VIEW_REFRESHED;
    refuse("training.party_dropout: stand-ins are the server's");
    dropped();
    p.protocol.aggregation = AGGREGATION_CLEAR;
    p.protocol.local_order = ORDER_SEQUENTIAL;
    refuse("training.party_dropout: stand-ins are the server's");
    dropped();
    p.training.releases = RELEASES_ONCE;
    refuse("training.party_dropout: a row that is released once");
    dropped();
    p.model.output = OUTPUT_IDENTITY;
    p.model.embedding = 2;
    refuse("training.party_dropout: stand-ins belong to the head");
}

static void head_dropped(void)
{
    start();
    p.model.head = (struct config_layers){1, {{LAYERS_UNITS, {8}}}};
    p.model.head_dropout = 0.5;
}

static void test_units_of_a_head_are_dropped_where_the_server_alone_has_them(void **state)
{
    (void)state;
    head_dropped();
    pass();
    p.protocol.aggregation = AGGREGATION_CODED;
    pass();
    head_dropped();
    p.model.head.n = 0;
    refuse("model.head_dropout: it is of hidden layers");
    p.model.head = (struct config_layers){1, {{.word = LAYERS_BATCHNORM}}};
    refuse("model.head_dropout: it is of hidden layers");
    head_dropped();
    p.protocol.local_view = VIEW_REFRESHED;
    refuse("model.head_dropout: a party that computes the loss itself");
    p.model.head_dropout = 0;
    pass();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_of_a_head_are_dropped_where_the_server_alone_has_them),
        cmocka_unit_test(test_steps_without_a_party_need_noise_and_all_else_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
