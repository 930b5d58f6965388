/* test_factored.c -- gradients that go down as two factors are the gradients that they are of: the
 * same models, bit for bit, in every form of fusion, with missed steps and after deaths.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/expect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

enum { PARTIES = 3, WIDTH = 4, CLASSES = 2, BATCH = 3 };

static void models(struct sim *s, char out[PARTIES + 1][65])
{
    expect_completed(s);
    for (int who = SIM_SERVER; who < PARTIES; who++)
        sim_model(s, who, out[who + 1]);
}

static void run_once(const struct sim_options *o, char out[PARTIES + 1][65])
{
    struct sim *s = sim_new(o);

    sim_run(s, HOUR_US);
    models(s, out);
    sim_free(s);
}

static const char factored[] = "protocol.gradient.form=factored";

/* 7 rows: the last batch of an epoch is shorter. */
static struct sim_options three(const char *a, const char *b, const char *c)
{
    return (struct sim_options){
        .parties = PARTIES, .train_rows = 7, .sets = {"training.epochs=3", a, b, c}};
}

static void same_in_both_forms(const char *a, const char *b)
{
    struct sim_options full = three("protocol.gradient.form=full", a, b),
                       product = three(factored, a, b);
    char want[PARTIES + 1][65], got[PARTIES + 1][65];

    run_once(&full, want);
    run_once(&product, got);
    assert_memory_equal(want, got, sizeof want);
}

static void test_factors_make_the_models_of_full_gradients(void **state)
{
    (void)state;
    same_in_both_forms(NULL, NULL);
    same_in_both_forms("model.head=[3]", NULL);
    same_in_both_forms("model.head=[9, 2]", "protocol.local_iterations=3");
    same_in_both_forms("model.binary_loss=sigmoid", "protocol.aggregation=coded");
}

/* Every party has rows of W of its own. */
static void test_under_concat_each_gets_its_own_factor(void **state)
{
    struct sim_options full = three("protocol.gradient.form=full", "model.fusion=concat",
                                    "protocol.aggregation=clear"),
                       product =
                           three(factored, "model.fusion=concat", "protocol.aggregation=clear");
    char want[PARTIES + 1][65], got[PARTIES + 1][65];

    (void)state;
    run_once(&full, want);
    run_once(&product, got);
    assert_memory_equal(want, got, sizeof want);
}

/* A party that dies goes on from an old checkpoint: gradients in replays are factors too. */
static void test_missed_steps_are_replayed_as_factors(void **state)
{
    struct sim_options o = three(factored, NULL, NULL);
    char want[PARTIES + 1][65], got[PARTIES + 1][65];
    struct sim *s;

    (void)state;
    run_once(&o, want);
    o.checkpoint_rounds = 4;
    s = sim_new(&o);
    sim_kill_at(s, 1, 30000);
    sim_kill_at(s, SIM_SERVER, 60000);
    sim_run(s, HOUR_US);
    models(s, got);
    assert_true(sim_server_report(s)->degraded.replayed > 0);
    assert_memory_equal(want, got, sizeof want);
    sim_free(s);
}

/* The gradient of the first step: D of 3 x 2 and W of 4 x 2. */
static void see_size(struct wire_msg *m, void *owner)
{
    if (m->broadcast.closes)
        *(size_t *)owner = m->broadcast.gradient.n;
}

static void test_two_factors_take_rows_plus_width_times_classes(void **state)
{
    struct sim_options o = three(factored, NULL, NULL);
    struct sim *s = sim_new(&o);
    size_t bytes = 0;

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = 0,
                                  .kind = WIRE_BROADCAST,
                                  .nth = 2,
                                  .alter = see_size,
                                  .owner = &bytes});
    sim_run(s, HOUR_US);
    assert_int_equal(bytes, (BATCH + WIDTH) * CLASSES * sizeof(float));
    sim_free(s);
}

static uint8_t longer[sizeof(float) * BATCH * WIDTH];

static void give_another_size(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->broadcast.gradient = (struct wire_bytes){longer, sizeof longer};
}

static void test_a_full_gradient_where_factors_are_due_is_the_servers_fault(void **state)
{
    struct sim_options o = three(factored, NULL, NULL);
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = 0,
                                  .kind = WIRE_BROADCAST,
                                  .nth = 2,
                                  .alter = give_another_size});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_party_end(s, 0)->error.status, STATUS_PROTOCOL);
    assert_non_null(strstr(sim_party_end(s, 0)->error.text, "gradient of the wrong size"));
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_factors_make_the_models_of_full_gradients),
        cmocka_unit_test(test_under_concat_each_gets_its_own_factor),
        cmocka_unit_test(test_missed_steps_are_replayed_as_factors),
        cmocka_unit_test(test_two_factors_take_rows_plus_width_times_classes),
        cmocka_unit_test(test_a_full_gradient_where_factors_are_due_is_the_servers_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
