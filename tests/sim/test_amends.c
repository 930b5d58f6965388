/* test_amends.c -- what recovery must not open to whoever abuses it, and whom it must not cost the
 * run.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/expect.h"
#include "tests/sim/sim.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

static int exit_of(const struct sim_end *end)
{
    assert_true(end->over);
    return status_exit_code(end->error.status);
}

static void alter_hello_to_behind(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->kind = WIRE_BEHIND;
    m->behind = (struct wire_behind){2, 1};
}

/* A member that was there all the time says that it is far behind: with a journal and without. */
static void test_who_is_not_behind_cannot_ask_for_a_replay(void **state)
{
    (void)state;
    for (uint32_t rounds = 0; rounds <= 2; rounds += 2) {
        struct sim_options o = {
            .parties = 3, .train_rows = 60, .quiet = true, .checkpoint_rounds = rounds};
        struct sim *s = sim_new(&o);

        sim_rule(
            s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_UPLOAD, .nth = 15});
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = 1,
                                      .kind = WIRE_HELLO,
                                      .nth = 2,
                                      .alter = alter_hello_to_behind});
        sim_run(s, HOUR_US);
        assert_int_equal(exit_of(sim_party_end(s, 1)), 3);
        assert_non_null(strstr(sim_party_end(s, 1)->error.text, "p2: is behind"));
        assert_int_equal(sim_server_report(s)->degraded.replayed, 0);
        sim_free(s);
    }
}

/* Three of five lose their connection for 10 ms; all want at least three: they are waited for. */
static void test_drop_makes_no_set_that_its_members_must_refuse(void **state)
{
    struct sim_options o = {.parties = 5,
                            .train_rows = 30,
                            .quiet = true,
                            .sets = {"protocol.straggler=drop", "training.epochs=3"},
                            .party_sets = {"policy.min_parties=3"}};
    struct sim *s = sim_new(&o);

    (void)state;
    for (int i = 0; i < 3; i++)
        sim_rule(
            s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = i, .kind = WIRE_UPLOAD, .nth = 4});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(exit_of(sim_party_end(s, i)), 0);
    sim_free(s);
}

/* A server that "loses" its last records again and again would average the noise away. */
static void test_a_server_cannot_go_back_for_ever(void **state)
{
    struct sim_options o = {.parties = 3,
                            .train_rows = 30,
                            .quiet = true,
                            .checkpoint_rounds = 50,
                            .unseeded = true,
                            .sets = {"training.epochs=20"}};
    struct sim *s = sim_new(&o);
    int deaths = 0;

    (void)state;
    sim_run(s, 30000);
    while (!sim_party_end(s, 0)->over && deaths < 200) {
        sim_lose_records(s, 2);
        sim_kill_at(s, SIM_SERVER, sim_now_us(s) + 1);
        sim_run(s, 25000);
        deaths++;
    }
    assert_true(deaths <= PARTY_STALLED_MAX + 1);
    assert_true(sim_party_end(s, 0)->over);
    sim_free(s);
}

static void alter_generation(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->join.generation = (uint64_t)1 << 48;
}

static void test_a_lie_about_generations_costs_the_liar_alone(void **state)
{
    struct sim_options o = {.parties = 4,
                            .train_rows = 30,
                            .quiet = true,
                            .sets = {"protocol.straggler=drop", "training.epochs=3"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 3, .kind = WIRE_UPLOAD, .nth = 2});
    sim_rule(
        s,
        (struct sim_rule){
            .act = SIM_ALTER, .from = 3, .kind = WIRE_JOIN, .nth = 2, .alter = alter_generation});
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 0, .kind = WIRE_UPLOAD, .nth = 6});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(exit_of(sim_party_end(s, 0)), 0);
    assert_int_equal(exit_of(sim_party_end(s, 3)), 3);
    sim_free(s);
}

/* Connected, but its uploads never come: async goes on without it once patience has ended. */
static void test_async_waits_for_a_silent_party_once(void **state)
{
    struct sim_options o = {.parties = 4,
                            .train_rows = 30,
                            .quiet = true,
                            .sets = {"protocol.aggregation=clear", "protocol.encoding=float32",
                                     "protocol.straggler=async", "training.epochs=3"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = 3, .kind = WIRE_UPLOAD});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(exit_of(sim_party_end(s, i)), 0);
    assert_true(sim_server_report(s)->degraded.unseen > 0);
    sim_free(s);
}

static uint8_t zeros[4096];

/* The upload of the last round once more, in place of the word that the final model is kept. */
static void alter_kept_to_upload(struct wire_msg *m, void *owner)
{
    struct wire_upload *last = owner;

    m->kind = WIRE_UPLOAD;
    m->upload = *last;
    m->upload.generation = 2;
    m->upload.payload.data = m->upload.check.data = zeros;
}

static void alter_remember(struct wire_msg *m, void *owner)
{
    *(struct wire_upload *)owner = m->upload;
}

static void test_an_upload_does_not_stand_for_a_final_model(void **state)
{
    struct sim_options o = {.parties = 3, .train_rows = 6, .quiet = true};
    struct wire_upload last = {0};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_KEPT, .nth = 1});
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = 1,
                                  .kind = WIRE_UPLOAD,
                                  .alter = alter_remember,
                                  .owner = &last});
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = 1,
                                  .kind = WIRE_KEPT,
                                  .nth = 2,
                                  .alter = alter_kept_to_upload,
                                  .owner = &last});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_report(s)->void_rounds, 0);
    assert_int_equal(sim_server_report(s)->integrity_failures, 0);
    assert_int_equal(exit_of(sim_party_end(s, 1)), 3);
    sim_free(s);
}

/* The server comes back behind parties whose checkpoints are still being written: those may be the
 * ones to go back to. */
static void test_a_checkpoint_on_its_way_is_waited_for(void **state)
{
    struct sim_options o = {
        .parties = 3, .train_rows = 60, .quiet = true, .checkpoint_rounds = 4, .keep_us = 40000};

    (void)state;
    for (uint64_t us = 16000; us < 60000; us += 1000) {
        struct sim *s = sim_new(&o);

        sim_lose_records(s, 1);
        sim_kill_at(s, SIM_SERVER, us);
        sim_run(s, HOUR_US);
        if (sim_server_end(s)->outcome != OUTCOME_COMPLETED)
            fail_msg("server dead at %llu us: %s", (unsigned long long)us,
                     sim_server_end(s)->error.text);
        sim_free(s);
    }
}

/* The server dies in CLOSE and is away for longer than anybody waits: each ends well with what it
 * has, and so does the server when it is back. */
static void test_a_server_that_was_long_away_at_the_end_completes_alone(void **state)
{
    struct sim_options o = {.parties = 3,
                            .train_rows = 6,
                            .checkpoint_rounds = 3,
                            .sets = {"protocol.patience_ms=1000"}};
    struct sim *s = sim_new(&o);

    (void)state;
    for (int i = 0; i < 3; i++)
        sim_rule(s, (struct sim_rule){.act = SIM_DELAY, .from = i, .kind = WIRE_KEPT, .us = 90000});
    expect_until(s, " last\n", 1);
    sim_run(s, 20000);
    assert_false(sim_server_end(s)->over);
    sim_break_at(s, (struct sim_break){.what = SIM_DEATH,
                                       .who = SIM_SERVER,
                                       .at_us = sim_now_us(s) + 1,
                                       .down_us = HOUR_US / 60});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
        assert_true(sim_party_report(s, i)->progress.final);
        assert_false(sim_party_report(s, i)->dismissed);
    }
    sim_free(s);
}

/* Whenever it died: if all have ended with their final models, so does the server. */
static void test_so_does_one_that_had_not_heard_of_the_final_models(void **state)
{
    struct sim_options o = {.parties = 3,
                            .train_rows = 6,
                            .quiet = true,
                            .checkpoint_rounds = 3,
                            .sets = {"protocol.patience_ms=1000"}};
    struct sim *s = sim_new(&o);
    uint64_t length_us;
    int alone = 0;

    (void)state;
    sim_run(s, HOUR_US);
    length_us = sim_now_us(s);
    sim_free(s);
    for (uint64_t before_us = 8000; before_us >= 250; before_us -= 250) {
        int well = 0;

        s = sim_new(&o);
        sim_break_at(s, (struct sim_break){.what = SIM_DEATH,
                                           .who = SIM_SERVER,
                                           .at_us = length_us - before_us,
                                           .down_us = HOUR_US / 60});
        sim_run(s, HOUR_US);
        for (uint32_t i = 0; i < 3; i++)
            well += sim_party_end(s, i)->outcome == OUTCOME_COMPLETED;
        if (well == 3)
            assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        alone += well == 3;
        sim_free(s);
    }
    assert_true(alone > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_not_behind_cannot_ask_for_a_replay),
        cmocka_unit_test(test_drop_makes_no_set_that_its_members_must_refuse),
        cmocka_unit_test(test_a_server_cannot_go_back_for_ever),
        cmocka_unit_test(test_a_lie_about_generations_costs_the_liar_alone),
        cmocka_unit_test(test_async_waits_for_a_silent_party_once),
        cmocka_unit_test(test_an_upload_does_not_stand_for_a_final_model),
        cmocka_unit_test(test_a_checkpoint_on_its_way_is_waited_for),
        cmocka_unit_test(test_a_server_that_was_long_away_at_the_end_completes_alone),
        cmocka_unit_test(test_so_does_one_that_had_not_heard_of_the_final_models),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
