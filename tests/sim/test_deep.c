/* test_deep.c -- bottoms of convolutions and of memories: whoever dies, they go on from their disks
 * to the same bits, and nobody outside can tell of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/deaths.h"
#include "tests/sim/expect.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

static const struct {
    const char *shape, *layers, *sets[4], *augment;
} runs[] = {
    {"data.shape=[2,3,4]",
     "model.layers=[{conv2d: {out: 4, kernel: 3, padding: 1}}, {groupnorm: 2}, relu, {maxpool: 2}, "
     "flatten, 3]",
     {"protocol.aggregation=masked", "protocol.encoding=pbm", "training.optimizer=adam"},
     "data.augment.crop=1"},
    {"data.shape=[6,4]",
     "model.layers=[{lstm: {units: 3, whole: 1}}, {conv1d: {out: 2, kernel: 3}}, tanh, {lstm: 3}, "
     "3]",
     {"protocol.aggregation=masked", "protocol.encoding=fixed", "protocol.local_iterations=3"},
     NULL},
    {"data.shape=[2,4,3]",
     "model.layers=[residual, {conv2d: {out: 3, kernel: 3, stride: 2, padding: 1, bias: 0}}, "
     "{groupnorm: 1}, shortcut, {conv2d: {out: 3, kernel: 1, stride: 2}}, add, relu, flatten, "
     "residual, 6, 12, add]",
     {"protocol.aggregation=masked", "protocol.encoding=fixed", "training.optimizer=adam"},
     NULL},
    {"data.shape=[2,4,3]",
     "model.layers=[{conv2d: {out: 3, kernel: 3}}, batchnorm, tanh, flatten, 4]",
     {"protocol.aggregation=masked", "protocol.encoding=fixed", "protocol.local_iterations=2"},
     "data.augment.flip=true"},
    {"data.shape=[6,4]",
     "model.layers=[{gru: {units: 3, whole: 1}}, {lstm: 2}, 3]",
     {"protocol.aggregation=masked", "protocol.encoding=pbm", "training.optimizer=momentum"},
     NULL},
    {"data.shape=[1,4,6]",
     "model.layers=[{conv2d: {out: 2, kernel: 3, stride: 2}}, {avgpool: {size: 1}}, sigmoid, "
     "globalpool, flatten, 4]",
     {"protocol.aggregation=coded", "protocol.encoding=gaussian", "training.optimizer=momentum"},
     NULL},
    {"data.shape=[8,3]",
     "model.layers=[{conv1d: {out: 4, kernel: 3}}, {groupnorm: 2}, relu, {gru: {units: 2, whole: "
     "1}}, "
     "flatten, 4]",
     {"protocol.aggregation=clear", "protocol.encoding=topk", "protocol.local_view=refreshed",
      "protocol.local_iterations=2"},
     NULL},
};
enum { RUNS = sizeof runs / sizeof *runs, COLUMNS = 24 };

/* Units, or what runs[i] says. */
static struct sim_options options_of(size_t i, bool deep)
{
    return (struct sim_options){
        .parties = 3,
        .columns = COLUMNS,
        .train_rows = 10,
        .checkpoint_rounds = 3,
        .quiet = true,
        .watch = true,
        .sets = {"training.epochs=2", "training.batch=4", "training.weight_decay=0.01",
                 runs[i].sets[0], runs[i].sets[1], runs[i].sets[2], runs[i].sets[3]},
        .party_sets = {"model.dropout=0.2",
                       "policy.encodings=[pbm, fixed, float32, gaussian, topk]",
                       deep ? runs[i].shape : NULL, runs[i].layers, deep ? runs[i].augment : NULL},
    };
}

static void test_whoever_dies_the_models_are_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUNS; i++) {
        const struct sim_options o = options_of(i, true);

        deaths_at_every_message(&o, runs[i].layers);
    }
}

/* As many messages of the same bytes, for which everybody is charged the same. */
static void test_layers_send_and_cost_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUNS; i++) {
        uint64_t charged[2], uploaded[2];

        for (int k = 0; k < 2; k++) {
            struct sim_options o = options_of(i, k == 1);
            struct sim *s = sim_new(&o);

            sim_run(s, HOUR_US);
            expect_completed(s);
            charged[k] = sim_charged(s, 1);
            uploaded[k] = sim_uploaded(s, 1);
            sim_free(s);
        }
        assert_int_equal(charged[0], charged[1]);
        assert_int_equal(uploaded[0], uploaded[1]);
    }
}

static void other_activation(struct config_party *c)
{
    c->activation = ACTIVATION_TANH;
}

static void other_pool(struct config_party *c)
{
    c->layers.item[1].word = LAYERS_AVGPOOL;
}

static void the_same(struct config_party *c)
{
    (void)c;
}

/* A checkpoint has as many bytes of either. */
static void test_a_bottom_that_has_become_another_does_not_go_on(void **state)
{
    static void (*const change[])(struct config_party *) = {the_same, other_activation, other_pool};

    (void)state;
    for (size_t k = 0; k < sizeof change / sizeof *change; k++) {
        struct sim_options o = options_of(0, true);
        const struct sim_end *end;
        struct sim *s;

        o.party_sets[3] = "model.layers=[{conv2d: {out: 2, kernel: 3}}, {maxpool: 1}, flatten, 3]";
        s = sim_new(&o);
        sim_run_to_step(s, 4);
        change[k](&s->party[1].config);
        sim_kill_at(s, 1, sim_now_us(s) + 1);
        sim_run(s, HOUR_US);
        end = sim_party_end(s, 1);
        assert_true(end->over);
        assert_int_equal(end->outcome, k == 0 ? OUTCOME_COMPLETED : OUTCOME_FAILED);
        if (k > 0)
            assert_non_null(strstr(end->error.text, "state: the saved model does not fit"));
        sim_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whoever_dies_the_models_are_the_same),
        cmocka_unit_test(test_a_bottom_that_has_become_another_does_not_go_on),
        cmocka_unit_test(test_layers_send_and_cost_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
