/* test_lost.c -- a party lost before or after each message, under `wait` and under `drop`.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/sim.h"

static const uint64_t HOUR_US = 3600000000ull;
static const enum wire_kind up[] = {WIRE_JOIN, WIRE_HELLO, WIRE_CONFIRM, WIRE_UPLOAD};
static const enum wire_kind down[] = {WIRE_OFFER, WIRE_HELLOS, WIRE_CONFIRMS, WIRE_BROADCAST};

static struct sim *run_with(const struct sim_rule *rule, const char *straggler)
{
    struct sim_options o = {.parties = 4,
                            .train_rows = 24,
                            .quiet = true,
                            .sets = {"training.epochs=2", "protocol.pbm.trials=64", straggler}};
    struct sim *s = sim_new(&o);

    if (rule != NULL)
        sim_rule(s, *rule);
    sim_run(s, HOUR_US);
    if (sim_server_end(s)->outcome != OUTCOME_COMPLETED && rule != NULL)
        printf("act %d from %d kind %s nth %u: server: %s; p2: %s\n", rule->act, rule->from,
               wire_kind_name(rule->kind), rule->nth, sim_server_end(s)->error.text,
               sim_party_end(s, 1)->error.text);
    return s;
}

static void models(struct sim *s, char out[5][65])
{
    sim_model(s, SIM_SERVER, out[4]);
    for (int i = 0; i < 4; i++)
        sim_model(s, i, out[i]);
}

enum { CUTS = 2 * 2 * 4 * 5 };

/* Before or after each message from or to p2; of uploads and broadcasts five. */
static struct sim_rule cut_at(unsigned w)
{
    const bool from_server = w & 1, after = w & 2;
    const enum wire_kind kind = from_server ? down[w / 4 % 4] : up[w / 4 % 4];

    return (struct sim_rule){.act = after ? SIM_CUT_AFTER : SIM_CUT_BEFORE,
                             .from = from_server ? SIM_SERVER : 1,
                             .party = 1,
                             .kind = kind,
                             .nth = kind == WIRE_UPLOAD || kind == WIRE_BROADCAST ? 1 + w / 16 * 3
                                                                                  : 1};
}

/* Under `wait` a cut costs time and a void round, never the result. */
static void test_a_cut_at_any_message_changes_no_model_under_wait(void **state)
{
    struct sim *s = run_with(NULL, NULL);
    char calm[5][65], got[5][65];
    uint64_t voids = 0;

    (void)state;
    models(s, calm);
    sim_free(s);
    for (unsigned w = 0; w < CUTS; w++) {
        const struct sim_rule r = cut_at(w);
        s = run_with(&r, NULL);
        assert_true(sim_server_end(s)->over);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        models(s, got);
        for (int i = 0; i < 5; i++)
            assert_string_equal(calm[i], got[i]);
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(sim_party_report(s, i)->progress.applied, 16);
            assert_true(sim_charged(s, i) >= sim_uploaded(s, i));
        }
        voids += sim_server_report(s)->void_rounds;
        sim_free(s);
    }
    assert_true(voids > 0);
}

/* Under `drop` the others go on, in another generation, and the lost one comes back at the next
 * epoch. */
static void test_a_cut_at_any_message_ends_in_order_under_drop(void **state)
{
    (void)state;
    for (unsigned w = 0; w < CUTS; w++) {
        const struct sim_rule r = cut_at(w);
        struct sim *s = run_with(&r, "protocol.straggler=drop");
        assert_true(sim_server_end(s)->over);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
            assert_true(sim_charged(s, i) >= sim_uploaded(s, i));
        }
        sim_free(s);
    }
}

static void test_a_party_that_never_comes_back_ends_the_run_and_is_named(void **state)
{
    struct sim_options o = {.parties = 3, .quiet = true, .reconnect_us = 1000 * HOUR_US};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_UPLOAD, .nth = 1});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 4);
    assert_non_null(strstr(sim_server_end(s)->error.text, "p3"));
    assert_null(strstr(sim_server_end(s)->error.text, "p1"));
    assert_int_equal(status_exit_code(sim_party_end(s, 0)->error.status), 4);
    sim_free(s);
}

static void test_a_restarted_party_without_its_model_is_refused_under_wait(void **state)
{
    struct sim_options o = {.parties = 3, .train_rows = 24, .quiet = true};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_KILL, .from = 1, .kind = WIRE_UPLOAD, .nth = 4});
    sim_run(s, HOUR_US);
    assert_non_null(strstr(sim_party_end(s, 1)->error.text, "model"));
    assert_int_equal(status_exit_code(sim_party_end(s, 1)->error.status), 2);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 4);
    assert_non_null(strstr(sim_server_end(s)->error.text, "p2"));
    sim_free(s);
}

static void test_a_restarted_party_joins_the_next_epoch_under_drop(void **state)
{
    struct sim_options o = {.parties = 3,
                            .train_rows = 24,
                            .quiet = true,
                            .sets = {"protocol.straggler=drop", "training.epochs=2"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_KILL, .from = 1, .kind = WIRE_UPLOAD, .nth = 4});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_party_end(s, 1)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_server_report(s)->presence.generation,
                     3); /* three, then two, then three again */
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cut_at_any_message_changes_no_model_under_wait),
        cmocka_unit_test(test_a_cut_at_any_message_ends_in_order_under_drop),
        cmocka_unit_test(test_a_party_that_never_comes_back_ends_the_run_and_is_named),
        cmocka_unit_test(test_a_restarted_party_without_its_model_is_refused_under_wait),
        cmocka_unit_test(test_a_restarted_party_joins_the_next_epoch_under_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
