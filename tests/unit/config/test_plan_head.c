/* test_plan_head.c -- what a head may list, and how many parameters that makes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_head.h"

#include "common/config/key_value.h"

#include "tests/unit/config/refused.h"

#include <stdlib.h>

enum { P = 6, OUTPUTS = 2 };

/* Into p.model.head, as plans say it. */
static void list(const char *text)
{
    struct key_value v = {0};
    char want[256];

    assert_true(key_value_split(&v, text, strlen(text)));
    p.model.head = (struct config_layers){.n = v.n};
    for (size_t i = 0; i < v.n; i++)
        assert_true(layers_read(&p.model.head.item[i], &v.item[i], want, sizeof want));
}

static void begin(const char *text)
{
    start();
    p.model.embedding = P;
    p.model.task = TASK_MULTICLASS;
    p.shape.outputs = OUTPUTS;
    list(text);
}

static void test_parameters_are_those_of_all_items(void **state)
{
    static const struct {
        const char *list;
        size_t params;
    } cases[] = {
        {"[]", 7 * 2},
        {"[5]", 7 * 5 + 6 * 2},
        {"[5,4]", 7 * 5 + 6 * 4 + 5 * 2},
        {"[batchnorm]", 4 * 6 + 7 * 2},
        {"[5,batchnorm,relu]", 7 * 5 + 4 * 5 + 6 * 2},
        {"[{groupnorm: {groups: 3}},5]", 2 * 6 + 7 * 5 + 6 * 2},
        {"[tanh,sigmoid,flatten]", 7 * 2},
        {"[residual,6,relu,add]", 7 * 6 + 7 * 2},
        {"[residual,5,relu,4,shortcut,4,batchnorm,add]", 7 * 5 + 6 * 4 + 7 * 4 + 4 * 4 + 5 * 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(cases[i].list);
        pass();
        assert_int_equal(plan_head_params(&p), cases[i].params);
        p.training.party_dropout = 0.5; /* stand-ins of three parties */
        assert_int_equal(plan_head_params(&p), cases[i].params + 3 * (size_t)P);
        p.model.output = OUTPUT_IDENTITY;
        assert_int_equal(plan_head_params(&p), 0);
    }
    begin("[batchnorm]");
    p.model.fusion = FUSION_CONCAT;
    assert_int_equal(plan_head_params(&p), 4 * 18 + 19 * 2);
}

static void test_an_item_that_does_not_take_what_comes_is_named_with_both_shapes(void **state)
{
    static const struct {
        const char *list, *why;
    } cases[] = {
        {"[{conv2d: {out: 2, kernel: 3}}]",
         "(item 1, conv2d: it takes an image or a series, and 6 values come to it)"},
        {"[5,{lstm: {units: 2}}]",
         "(item 2, lstm: it takes an image or a series, and 5 values come to it)"},
        {"[globalpool]",
         "(item 1, globalpool: it takes an image or a series, and 6 values come to it)"},
        {"[5,{groupnorm: {groups: 2}}]",
         "(item 2, groupnorm: it takes values of which 2 groups of two or more can be made, and 5 "
         "values come to it)"},
        {"[residual,5,add]", "(item 3, add: it takes twice the same, of which one is 6 values, and "
                             "5 values come to it)"},
        {"[residual,5,shortcut,4,add]", "(item 5, add: it takes twice the same, of which one is 5 "
                                        "values, and 4 values come to it)"},
        {"[add]", "(item 1, add: no block has begun (residual))"},
        {"[shortcut]", "(item 1, shortcut: no block has begun (residual))"},
        {"[residual,add]", "(item 2, add: this way through the block has no layer)"},
        {"[residual,5,residual]",
         "(item 3, residual: a block ends (add) before the next one begins)"},
        {"[residual,5,shortcut,5,shortcut]", "(item 5, shortcut: the block has two ways already)"},
        {"[residual,5]", "(item 3, the last layer: the block before it does not end (add))"},
    };
    char all[256];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(cases[i].list);
        snprintf(all, sizeof all, "model.head: each item must take what comes to it %s",
                 cases[i].why);
        refuse(all);
    }
    begin("[residual,6,add,residual,6,shortcut,6,add,{groupnorm: {groups: 3}}]");
    pass();
}

/* Before it is known how many parties there are, a head under concat is looked at as far as it
 * goes. */
static void test_a_width_that_is_not_known_yet_refuses_nothing(void **state)
{
    (void)state;
    begin("[{groupnorm: {groups: 4}},residual,5,add]");
    p.model.fusion = FUSION_CONCAT;
    p.protocol.aggregation = AGGREGATION_CLEAR;
    memset(&p.shape, 0, sizeof p.shape);
    pass();
    start();
    begin("[{groupnorm: {groups: 4}},residual,18,add]");
    p.model.fusion = FUSION_CONCAT;
    p.protocol.aggregation = AGGREGATION_CLEAR;
    refuse("model.head: each item must take what comes to it (item 1, groupnorm: it takes values "
           "of which 4 groups of two or more can be made, and 18 values come to it)");
}

static void test_parties_that_compute_the_loss_have_no_batch_norm(void **state)
{
    (void)state;
    begin("[5,batchnorm,relu]");
    pass();
    p.protocol.local_view = VIEW_REFRESHED;
    refuse("model.head: a party that computes the loss itself would have batchnorm tie");
    list("[5,{groupnorm: {groups: 1}},relu]");
    pass();
    list("[5,{groupnorm: {groups: 5}},relu]");
    refuse(
        "model.head: each item must take what comes to it (item 2, groupnorm: it takes values of "
        "which 5 groups of two or more can be made, and 5 values come to it)");
    begin("[5,batchnorm,relu]");
    p.training.batch = 2;
    pass();
    p.training.batch = 1;
    refuse("training.batch: batchnorm makes the same of any row that is alone");
    begin("[8192,relu,relu,relu,relu,relu,relu,relu]");
    p.shape.train_rows = 5000;
    p.training.batch = 4096;
    pass();
    p.training.batch = 4097;
    refuse("model.head: what a batch makes behind all items must stay within 2^28 values "
           "(268500992 values)");
}

static void test_a_factored_gradient_wants_units_first(void **state)
{
    (void)state;
    begin("[5,batchnorm,relu]");
    p.protocol.gradient.form = GRADIENT_FACTORED;
    pass();
    assert_int_equal(plan_head_width(&p), 5);
    list("[]");
    pass();
    assert_int_equal(plan_head_width(&p), OUTPUTS);
    list("[batchnorm,5]");
    refuse("protocol.gradient.form: factored is of a first layer of units");
    list("[residual,6,add]");
    refuse("protocol.gradient.form: factored is of a first layer of units");
    p.protocol.gradient.form = GRADIENT_FULL;
    pass();
}

static void test_what_is_absent_is_said_where_it_has_to_be(void **state)
{
    (void)state;
    start();
    p.protocol.aggregation = AGGREGATION_CLEAR;
    p.protocol.straggler = STRAGGLER_DROP;
    for (int f = FUSION_SUM; f <= FUSION_MAX; f++) {
        p.model.fusion = (enum plan_fusion)f;
        p.protocol.absent = ABSENT_ZERO;
        pass();
        p.protocol.absent = ABSENT_IGNORE;
        if (f == FUSION_CONCAT)
            refuse("protocol.straggler: with concat each party has its own inputs of the head");
        else
            pass();
    }
    p.protocol.absent = ABSENT_ZERO;
    p.protocol.straggler = STRAGGLER_ASYNC;
    refuse("protocol.absent: has a meaning only with straggler drop");
    p.protocol.straggler = STRAGGLER_WAIT;
    refuse("protocol.absent: has a meaning only with straggler drop");
}

static void test_the_largest_is_of_embeddings_one_by_one(void **state)
{
    (void)state;
    start();
    p.model.fusion = FUSION_MAX;
    for (size_t i = 0; i < HIDDEN_N; i++) {
        p.protocol.aggregation = HIDDEN[i];
        refuse("model.fusion: under masks and from shares the server has only sums");
    }
    p.protocol.aggregation = AGGREGATION_CLEAR;
    pass();
    assert_true(plan_shows_each(&p));
    p.protocol.gradient.form = GRADIENT_FACTORED;
    refuse("protocol.gradient.form: with max each party's gradient");
    p.protocol.gradient.form = GRADIENT_FULL;
    p.model.output = OUTPUT_IDENTITY;
    p.model.embedding = 2;
    refuse("model.output: identity needs a sum for each output");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters_are_those_of_all_items),
        cmocka_unit_test(test_an_item_that_does_not_take_what_comes_is_named_with_both_shapes),
        cmocka_unit_test(test_a_width_that_is_not_known_yet_refuses_nothing),
        cmocka_unit_test(test_parties_that_compute_the_loss_have_no_batch_norm),
        cmocka_unit_test(test_a_factored_gradient_wants_units_first),
        cmocka_unit_test(test_what_is_absent_is_said_where_it_has_to_be),
        cmocka_unit_test(test_the_largest_is_of_embeddings_one_by_one),
    };

    return cmocka_run_group_tests_name("plan_head", tests, NULL, NULL);
}
