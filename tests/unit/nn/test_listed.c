/* test_listed.c -- lists of layers to nets, for heads: what a plan admits is a net, and nothing
 * else is.  (Of bottoms: tests/sim/test_layers.c.)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/listed.h"

#include "common/config/plan_head.h"
#include "common/nn/layer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { CASES = 20000, OUTPUTS = 3 };

static uint32_t draw(uint32_t n)
{
    static uint64_t state = 5;

    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % n;
}

static void draw_list(struct config_layers *l)
{
    *l = (struct config_layers){.n = draw(7)};
    if (draw(50) == 0)
        l->n = PLAN_HEAD_ITEMS_MAX;
    for (size_t i = 0; i < l->n; i++) {
        struct config_layer *item = &l->item[i];

        item->word = (enum layers_word)(draw(3) == 0 ? LAYERS_UNITS : draw(LAYERS_WORDS));
        for (size_t k = 0; k < LAYERS_ARGUMENTS_MAX; k++)
            item->argument[k] = 1 + draw(4);
    }
}

/* The two walks over one list, of a plan and of a net, are of one mind: a plan that is admitted
 * aborts nobody, and one that is refused is no net. */
static void test_what_a_plan_admits_is_a_net_of_as_many_parameters(void **state)
{
    size_t taken = 0;

    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        struct nn_spec spec = {.out_scale = 1, .rows_max = 2};
        struct listed of = {.key = "model.head"};
        struct error err = {0};
        struct plan p;
        char why[128];
        bool good;

        plan_defaults(&p);
        p.model.embedding = spec.width[0] = 1 + draw(4);
        p.shape.parties = 2;
        p.shape.outputs = OUTPUTS;
        p.model.task = TASK_MULTICLASS;
        draw_list(&p.model.head);
        of.layers = &p.model.head;
        good = !plan_head_fault(&p, why, sizeof why);
        if ((listed_layers(&spec, &of, OUTPUTS, &err) == STATUS_OK) != good)
            fail_msg("case %zu: %s; %s", i, good ? "a plan takes it" : why, err.text);
        if (!good)
            continue;
        taken++;
        assert_true(nn_spec_fits(&spec));
        assert_int_equal(nn_spec_params(&spec), plan_head_params(&p));
        assert_int_equal(layer_that_mixes(&spec) != NULL, plan_head_mixes(&p));
    }
    assert_true(taken > CASES / 10 && taken < CASES - CASES / 10);
}

static void test_each_value_without_an_order_is_a_channel(void **state)
{
    const struct config_layers l = {
        3, {{LAYERS_UNITS, {6}}, {.word = LAYERS_BATCHNORM}, {LAYERS_GROUPNORM, {2}}}};
    const struct listed of = {.key = "model.head", .layers = &l, .activation = ACTIVATION_NONE};
    struct nn_spec spec = {.out_scale = 1, .rows_max = 2, .width = {4}};
    struct error err = {0};

    (void)state;
    assert_int_equal(listed_layers(&spec, &of, OUTPUTS, &err), STATUS_OK);
    assert_int_equal(spec.layers, 4);
    assert_int_equal(spec.layer[1].kind, NN_BATCH_NORM);
    assert_int_equal(spec.layer[2].kind, NN_GROUP_NORM);
    assert_int_equal(spec.layer[2].groups, 2);
    for (size_t i = 1; i < 3; i++)
        assert_true(spec.layer[i].shape.channels == 6 && spec.layer[i].shape.height == 1 &&
                    spec.layer[i].shape.width == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_plan_admits_is_a_net_of_as_many_parameters),
        cmocka_unit_test(test_each_value_without_an_order_is_a_channel),
    };

    return cmocka_run_group_tests_name("listed", tests, NULL, NULL);
}
