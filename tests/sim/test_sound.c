/* test_sound.c -- bottoms for which a claim holds for one record: frozen, dp; and every record
 * released once.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/core.h"
#include "tests/sim/deaths.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
#define ONCE "training.releases=once"
#define FROZEN "model.train=frozen"
#define DP "model.train=dp"
enum { PARTIES = 3, TRAIN = 10, TEST = 3, SETS = 8 };

static struct sim_options options_of(const char *train, const char *const sets[SETS])
{
    struct sim_options o = {
        .parties = PARTIES,
        .train_rows = TRAIN,
        .test_rows = TEST,
        .checkpoint_rounds = 2,
        .quiet = true,
        .watch = true,
        .sets = {"training.epochs=3", "training.batch=4", "protocol.local_iterations=2"},
        .party_sets = {"policy.encodings=[pbm, fixed, float32, gaussian]", train},
    };

    if (strcmp(train, DP) == 0) {
        o.party_sets[2] = "model.noise=0.5";
        o.party_sets[3] = "model.clip=0.1";
    }
    for (size_t i = 0; i < SETS && sets[i] != NULL; i++)
        o.sets[3 + i] = sets[i];
    return o;
}

static struct deaths_models models_of(const struct sim_options *o)
{
    return deaths_calm(o).models;
}

static const char *const clear[SETS] = {"protocol.aggregation=clear", "protocol.encoding=float32"};
static const char *const masked[SETS] = {"protocol.aggregation=masked", "protocol.encoding=pbm"};
static const char *const coded[SETS] = {"protocol.aggregation=coded", "protocol.encoding=pbm"};
static const char *const refreshed[SETS] = {"protocol.local_view=refreshed"};

/* --- frozen --- */

static void test_a_frozen_bottom_keeps_its_weights_and_a_raw_one_does_not(void **state)
{
    const char *const *const all[] = {clear, masked, coded, refreshed};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct sim_options o = options_of(FROZEN, all[i]),
                           raw = options_of("model.train=raw", all[i]);
        struct deaths_models three = models_of(&o), one, trained = models_of(&raw);

        o.sets[0] = "training.epochs=1";
        one = models_of(&o);
        assert_string_not_equal(three.of[0], one.of[0]); /* the head goes on */
        for (int p = 1; p <= PARTIES; p++) {
            assert_string_equal(three.of[p], one.of[p]);
            assert_string_not_equal(three.of[p], trained.of[p]);
        }
    }
}

/* --- dp --- */

static void test_dp_is_another_model_and_the_seed_tells_which(void **state)
{
    const char *const *const all[] = {clear, masked, coded, refreshed};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct sim_options o = options_of(DP, all[i]), raw = options_of("model.train=raw", all[i]);
        struct deaths_models once = models_of(&o), again = models_of(&o), trained = models_of(&raw);

        assert_memory_equal(&once, &again, sizeof once);
        o.unseeded = true;
        again = models_of(&o);
        for (int p = 1; p <= PARTIES; p++) {
            assert_string_not_equal(once.of[p], trained.of[p]);
            assert_string_not_equal(once.of[p], again.of[p]);
        }
    }
}

static void test_whoever_dies_the_models_are_the_same(void **state)
{
    const char *const *const all[] = {clear, masked, coded, refreshed};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct sim_options dp = options_of(DP, all[i]), frozen = options_of(FROZEN, all[i]);

        deaths_at_every_message(&dp, "dp");
        deaths_at_every_message(&frozen, "frozen");
    }
}

/* A step that is taken again is a step more on the same records.  The party dies instead of its
 * fifth training upload (the fourth upload is an evaluation's): of the reserved epoch 6 rows are
 * left and spent, and 4 steps of 4, 4, 2 and 4 rows are replayed. */
static void test_a_replay_is_charged_under_dp_and_under_nothing_else(void **state)
{
    static const char *const trains[] = {DP, FROZEN, "model.train=raw"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct sim_options o = options_of(trains[i], masked);
        const uint64_t rest = 6, replayed = i == 0 ? 4 + 4 + 2 + 4 : 0;
        uint64_t calm;
        struct sim *s;

        o.checkpoint_rounds = 100; /* back to the first step */
        s = sim_new(&o);
        sim_run(s, HOUR_US);
        (void)deaths_models(s, PARTIES, "calm");
        calm = sim_charged(s, 1);
        sim_free(s);
        s = sim_new(&o);
        sim_rule(s, (struct sim_rule){.act = SIM_KILL,
                                      .from = 1,
                                      .party = SIM_ANY,
                                      .kind = WIRE_UPLOAD,
                                      .nth = 6,
                                      .how = {.down_us = 700}});
        sim_run(s, HOUR_US);
        (void)deaths_models(s, PARTIES, "a death");
        assert_int_equal(sim_charged(s, 1), calm + rest + replayed);
        sim_free(s);
    }
}

/* --- once --- */

static void test_under_once_every_row_is_released_once_however_long_the_head_trains(void **state)
{
    const char *const *const all[] = {clear, masked, coded};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct sim_options o = options_of(FROZEN, all[i]);
        struct sim *s;

        o.sets[5] = ONCE;
        s = sim_new(&o);
        sim_run(s, HOUR_US);
        (void)deaths_models(s, PARTIES, "once");
        for (uint32_t p = 0; p < PARTIES; p++) {
            assert_int_equal(sim_charged(s, p), TRAIN + TEST);
            assert_int_equal(sim_uploaded(s, p), TRAIN + TEST);
        }
        assert_int_equal(sim_server_report(s)->rounds, 3);
        assert_true(sim_server_report(s)->epochs == 3);
        assert_int_equal(sim_server_report(s)->measured.sweeps, 3);
        assert_true(sim_server_report(s)->measured.scored.test.has[SCORE_LOSS]);
        sim_free(s);
    }
}

/* Sums without noise are the same in every epoch, so it makes no difference who keeps them. */
static void test_without_noise_the_head_is_that_of_rows_released_in_every_epoch(void **state)
{
    static const char *const heads[] = {"model.head=[]",           "model.head=[5]",
                                        "training.optimizer=adam", "model.fusion=mean",
                                        "model.fusion=concat",     "training.epochs=2.5"};

    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct sim_options o = options_of(FROZEN, clear);
        struct deaths_models every, once;

        o.sets[5] = heads[i];
        every = models_of(&o);
        o.sets[6] = ONCE;
        once = models_of(&o);
        assert_memory_equal(&every, &once, sizeof once);
    }
}

static void test_under_once_nothing_goes_down_and_no_one_else_is_let_in(void **state)
{
    static const char *const others[] = {"model.train=raw", DP};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sim_options o = options_of(others[i], masked);
        struct sim *s;

        o.sets[5] = ONCE;
        s = sim_new(&o);
        sim_run(s, HOUR_US);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
        assert_int_equal(sim_server_end(s)->error.status, STATUS_POLICY);
        assert_non_null(strstr(sim_server_end(s)->error.text, "model.train"));
        assert_int_equal(sim_uploaded(s, 0), 0);
        sim_free(s);
    }
}

static void grow(struct wire_msg *m, void *owner)
{
    static const uint8_t four[4];

    (void)owner;
    m->broadcast.gradient = (struct wire_bytes){four, sizeof four};
}

static void test_under_once_a_gradient_is_the_servers_fault(void **state)
{
    struct sim_options o = options_of(FROZEN, masked);
    struct sim *s;

    (void)state;
    o.sets[5] = ONCE;
    s = sim_new(&o);
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = 1,
                                  .kind = WIRE_BROADCAST,
                                  .nth = 2,
                                  .alter = grow});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_party_end(s, 1)->outcome, OUTCOME_FAILED);
    assert_int_equal(sim_party_end(s, 1)->error.status, STATUS_PROTOCOL);
    sim_free(s);
}

static void test_under_once_the_head_stops_at_its_target(void **state)
{
    struct sim_options o = options_of(FROZEN, clear);
    struct sim *s;

    (void)state;
    o.sets[5] = ONCE;
    o.sets[6] = "training.stop.metric=loss";
    o.sets[7] = "training.stop.value=100";
    s = sim_new(&o);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_TARGET);
    assert_int_equal(sim_server_report(s)->measured.sweeps, 1);
    assert_true(sim_server_report(s)->measured.reached.epoch == 1);
    for (uint32_t p = 0; p < PARTIES; p++)
        assert_int_equal(sim_party_end(s, p)->outcome, OUTCOME_COMPLETED);
    sim_free(s);
}

static void test_under_once_whoever_dies_the_models_are_the_same(void **state)
{
    static const char *const sets[][SETS] = {
        {"protocol.aggregation=clear", "protocol.encoding=float32", ONCE},
        {"protocol.aggregation=masked", "protocol.encoding=pbm", ONCE},
        {"protocol.aggregation=coded", "protocol.encoding=pbm", ONCE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct sim_options o = options_of(FROZEN, sets[i]);

        deaths_at_every_message(&o, sets[i][0]);
        deaths_whenever(&o, sets[i][0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_frozen_bottom_keeps_its_weights_and_a_raw_one_does_not),
        cmocka_unit_test(test_dp_is_another_model_and_the_seed_tells_which),
        cmocka_unit_test(test_whoever_dies_the_models_are_the_same),
        cmocka_unit_test(test_a_replay_is_charged_under_dp_and_under_nothing_else),
        cmocka_unit_test(test_under_once_every_row_is_released_once_however_long_the_head_trains),
        cmocka_unit_test(test_without_noise_the_head_is_that_of_rows_released_in_every_epoch),
        cmocka_unit_test(test_under_once_nothing_goes_down_and_no_one_else_is_let_in),
        cmocka_unit_test(test_under_once_a_gradient_is_the_servers_fault),
        cmocka_unit_test(test_under_once_the_head_stops_at_its_target),
        cmocka_unit_test(test_under_once_whoever_dies_the_models_are_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
