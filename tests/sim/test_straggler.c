/* test_straggler.c -- slow and silent parties: `wait` waits, `drop` goes on, patience ends.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "tests/sim/expect.h"
#include "tests/sim/sim.h"
#include "tests/sim/world.h"

static const uint64_t HOUR_US = 3600000000ull;

static void test_wait_waits_for_a_slow_party_and_says_for_whom(void **state)
{
    struct sim_options o = {.parties = 3, .quiet = true};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_DELAY, .from = 2, .kind = WIRE_UPLOAD, .us = 2000000});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_server_report(s)->void_rounds, 0);
    assert_int_equal(sim_server_report(s)->uploads.times[2], 3);
    assert_true(sim_server_report(s)->uploads.us[2] >= 3 * 2000000);
    assert_true(sim_server_report(s)->uploads.us[0] < 100000);
    sim_free(s);
}

static void test_drop_goes_on_without_a_late_party_and_ignores_its_late_upload(void **state)
{
    struct sim_options o = {
        .parties = 4,
        .train_rows = 12,
        .sets = {"protocol.straggler=drop", "protocol.deadline_ms=100", "training.epochs=2"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){
                    .act = SIM_DELAY, .from = 1, .kind = WIRE_UPLOAD, .nth = 2, .us = 150000});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_server_report(s)->void_rounds, 1);
    assert_int_equal(sim_server_report(s)->presence.stale_messages, 1);
    assert_non_null(strstr(sim_transcript(s), "server: offer 2 -> p1 p3 p4\n"));
    assert_non_null(
        strstr(sim_transcript(s), "server: offer 3\n")); /* all four again, from the next epoch */
    assert_int_equal(sim_party_end(s, 1)->outcome, OUTCOME_COMPLETED);
    sim_free(s);
}

/* Who sits out when a run comes to its end has a part of its model, too: that of its last step. */
static void test_who_is_left_out_at_the_end_has_its_part_of_the_model(void **state)
{
    struct sim_options o = {
        .parties = 4,
        .train_rows = 12,
        .sets = {"protocol.straggler=drop", "protocol.deadline_ms=100", "training.epochs=2"}};
    struct sim *s = sim_new(&o);
    const struct party_report *late, *other;

    (void)state;
    for (int k = 0; k < 2; k++) /* of the last step, and of the evaluation after it */
        sim_rule(s, (struct sim_rule){
                        .act = SIM_DELAY, .from = 1, .kind = WIRE_UPLOAD, .nth = 9, .us = 150000});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    late = party_session_report(s->party[1].session);
    other = party_session_report(s->party[0].session);
    assert_true(late->progress.left_out && !late->progress.final);
    assert_true(late->progress.applied > 0);
    assert_true(other->progress.final && !other->progress.left_out);
    assert_memory_equal(late->trail, other->trail, WIRE_DIGEST_BYTES);
    assert_memory_equal(late->trail, sim_server_report(s)->trail, WIRE_DIGEST_BYTES);
    sim_free(s);
}

/* Whoever is killed when its model is final comes back to a server that may offer nothing more:
 * what its package says of itself is what it would have said. */
static void dies_near_the_end(const char *straggler)
{
    struct sim_options o = {.parties = 3,
                            .train_rows = 12,
                            .checkpoint_rounds = 1,
                            .quiet = true,
                            .sets = {"training.epochs=1", straggler},
                            .party_sets = {"model.train=frozen", "data.scale=none"}};
    struct sim *s = sim_new(&o);
    const struct party_report *r;
    uint64_t end, came_back = 0;

    sim_run(s, HOUR_US);
    end = sim_now_us(s);
    assert_int_equal(party_session_report(s->party[1].session)->mechanism.bottom, ACCOUNT_FROZEN);
    sim_free(s);
    for (uint64_t us = end - 6000; us < end; us += 250) {
        s = sim_new(&o);
        sim_break_at(
            s, (struct sim_break){.what = SIM_DEATH, .who = 1, .at_us = us, .down_us = 30000});
        sim_run(s, HOUR_US);
        r = party_session_report(s->party[1].session);
        if (r->progress.final || r->progress.left_out) {
            came_back++;
            assert_int_equal(r->mechanism.bottom, ACCOUNT_FROZEN);
            assert_memory_equal(r->trail, sim_server_report(s)->trail, WIRE_DIGEST_BYTES);
        }
        sim_free(s);
    }
    assert_true(came_back > 0);
}

static void test_a_process_after_the_last_one_knows_what_its_model_is(void **state)
{
    (void)state;
    dies_near_the_end("protocol.straggler=drop");
    dies_near_the_end("protocol.straggler=wait");
}

static void test_wait_gives_up_at_its_patience(void **state)
{
    struct sim_options o = {.parties = 3, .quiet = true, .sets = {"protocol.patience_ms=5000"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = 0, .kind = WIRE_UPLOAD, .nth = 2});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 4);
    assert_non_null(strstr(sim_server_end(s)->error.text, "p1"));
    assert_int_equal(status_exit_code(sim_party_end(s, 2)->error.status), 4);
    assert_true(sim_now_us(s) < 6000000);
    sim_free(s);
}

static void test_a_party_that_never_joins_is_named(void **state)
{
    struct sim_options o = {.parties = 3, .quiet = true, .sets = {"protocol.straggler=drop"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_late(s, 1, 10 * HOUR_US);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    assert_non_null(strstr(sim_server_end(s)->error.text, "p2"));
    sim_free(s);
}

/* Fewer than two members cannot hide in each other's masks. */
static void test_drop_waits_when_only_one_party_is_left(void **state)
{
    struct sim_options o = {
        .parties = 2, .quiet = true, .reconnect_us = 1000000, .sets = {"protocol.straggler=drop"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 1, .kind = WIRE_UPLOAD, .nth = 1});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_server_report(s)->presence.members_n, 2);
    sim_free(s);
}

/* p3 never says that its final model is durable, though its connection stays. */
static void test_drop_closes_without_a_silent_member(void **state)
{
    struct sim_options o = {.parties = 4,
                            .quiet = true,
                            .checkpoint_rounds = 1,
                            .sets = {"protocol.straggler=drop", "protocol.deadline_ms=100"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = 2, .kind = WIRE_KEPT, .nth = 3});
    sim_run(s, HOUR_US);
    assert_true(sim_server_end(s)->over);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_true(sim_now_us(s) > 100000 && sim_now_us(s) < 1000000);
    sim_free(s);
}

static void test_a_stopped_server_ends_everybody_in_order(void **state)
{
    struct sim_options o = {.parties = 3, .train_rows = 300, .quiet = true};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_stop_at(s, SIM_SERVER, 50000);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_STOPPED);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_STOPPED);
        assert_int_equal(sim_party_end(s, i)->error.status, STATUS_OK);
    }
    sim_free(s);
}

static void models(const struct sim *s, char head[65], char bottom[65])
{
    sim_model(s, SIM_SERVER, head);
    sim_model(s, 1, bottom);
}

/* Stopped at every moment of a run, in turn, and started again: the models are those of a calm run.
 */
static void test_a_stopped_run_goes_on_to_the_same_models(void **state)
{
    struct sim_options o = {
        .parties = 3,
        .train_rows = 20,
        .quiet = true,
        .sets = {"training.epochs=2", "training.optimizer=adam", "training.evaluate_every=0.5"}};
    char head[65], bottom[65], head2[65], bottom2[65];
    struct sim *calm = sim_new(&o);

    (void)state;
    sim_run(calm, HOUR_US);
    models(calm, head, bottom);
    for (uint64_t us = 6500; us < sim_now_us(calm); us += 700) {
        struct sim *first = sim_new(&o), *then;
        sim_stop_at(first, us % 3 == 0 ? SIM_SERVER : 1, us);
        sim_run(first, 2000 + us);
        then = sim_resume(first);
        sim_run(then, HOUR_US);
        assert_int_equal(sim_server_end(then)->outcome, OUTCOME_COMPLETED);
        models(then, head2, bottom2);
        assert_string_equal(head, head2);
        assert_string_equal(bottom, bottom2);
        sim_free(then);
        sim_free(first);
    }
    sim_free(calm);
}

static void test_unsent_reservations_are_given_back(void **state)
{
    struct sim_options o = {.parties = 3, .train_rows = 300, .quiet = true};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_stop_at(s, SIM_SERVER, 50000);
    sim_run(s, HOUR_US);
    assert_true(sim_uploaded(s, 0) > 0 && sim_uploaded(s, 0) < 300);
    assert_int_equal(sim_charged(s, 0), sim_uploaded(s, 0));
    sim_free(s);
}

/* --- async --- */

static struct sim_options async_options(void)
{
    return (struct sim_options){
        .parties = 3,
        .train_rows = 20,
        .sets = {"protocol.straggler=async", "protocol.aggregation=clear", "training.epochs=4",
                 "training.batch=5"},
        .party_sets = {"policy.aggregations=[clear]"},
    };
}

/* Whoever stayed goes on at its own step, and so does who comes back; the evaluation in between is
 * over the smaller set from its first question on. */
static void test_async_goes_on_without_a_lost_party_and_takes_it_back(void **state)
{
    struct sim_options o = async_options();
    struct sim *s = sim_new(&o);
    const char *t;

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 1, .kind = WIRE_UPLOAD, .nth = 3});
    sim_run(s, HOUR_US);
    expect_completed(s);
    t = strstr(sim_transcript(s), "-- lost p2\n");
    assert_non_null(t);
    t = strstr(t, "server: broadcast close 5 -> p1\nserver: offer 2 -> p1 p3\n");
    assert_non_null(t);
    t = strstr(t, "server: broadcast open evaluate test 0 -> p1 p3\n");
    assert_non_null(t);
    t = strstr(t, "server: broadcast open train 6 -> p1\nserver: broadcast open train 5 -> p3\n");
    assert_non_null(t);
    t = strstr(t, "server: offer 3\n");
    assert_non_null(t);
    assert_non_null(strstr(t, "server: broadcast open train 2 -> p2\n"));
    assert_int_equal(sim_server_report(s)->void_rounds, 0);
    sim_free(s);
}

/* A server that lost the arrivals since its checkpoint takes each party where that party is. */
static void test_async_outlives_a_killed_server(void **state)
{
    (void)state;
    for (uint32_t nth = 1; nth < 30; nth++) {
        struct sim_options o = async_options();
        struct sim *s;

        o.checkpoint_rounds = 2;
        o.quiet = true;
        s = sim_new(&o);
        sim_rule(s, (struct sim_rule){.act = SIM_KILL,
                                      .from = SIM_SERVER,
                                      .party = SIM_ANY,
                                      .kind = WIRE_BROADCAST,
                                      .nth = nth});
        sim_run(s, HOUR_US);
        expect_completed(s);
        sim_free(s);
    }
}

/* The server's death forgets arrivals, and no party a step of its own: p1, which had done nearly
 * all of them, has soon come to its end. */
static void test_async_asks_no_party_beyond_its_agenda(void **state)
{
    struct sim_options o = {.parties = 3,
                            .train_rows = 4,
                            .quiet = true,
                            .checkpoint_rounds = 4,
                            .sets = {"protocol.straggler=async", "protocol.aggregation=clear",
                                     "training.batch=4", "training.epochs=2"}};
    struct sim *s = sim_new(&o);

    (void)state;
    for (int i = 1; i < 3; i++)
        sim_rule(s,
                 (struct sim_rule){.act = SIM_DELAY, .from = i, .kind = WIRE_UPLOAD, .us = 30000});
    sim_rule(
        s, (struct sim_rule){
               .act = SIM_KILL, .from = SIM_SERVER, .party = 0, .kind = WIRE_BROADCAST, .nth = 6});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_party_report(s, 0)->progress.applied, 6);
    sim_free(s);
}

/* --- whoever comes back is on the clock at once (G10) --- */

enum { DEADLINE_MS = 100, PATIENCE_MS = 60000 };

/* What one member's silence cost the others: how long the whole run took, and how often it was kept
 * waiting for. */
static struct sim *with_a_silent_one(const struct sim_rule *rules, size_t n,
                                     const char *aggregation)
{
    struct sim_options o = {.parties = 4,
                            .train_rows = 12,
                            .sets = {"protocol.straggler=drop", "protocol.deadline_ms=100",
                                     "protocol.patience_ms=60000", "training.epochs=8",
                                     aggregation}};
    struct sim *s = sim_new(&o);

    for (size_t i = 0; i < n; i++)
        sim_rule(s, rules[i]);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 0; i < 4; i++) {
        if (i != 1)
            assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
    }
    return s;
}

/* p2 is lost in a round, comes back, and from then on says nothing of this kind.  Each epoch offers
 * it a place; three times it costs the others a deadline, and never more. */
static void expect_silence_bounded(enum wire_kind kind, const char *aggregation)
{
    struct sim_rule rules[8] = {
        {.act = SIM_CUT_BEFORE, .from = 1, .kind = WIRE_UPLOAD, .nth = 2},
    };
    struct sim *s;

    for (uint32_t i = 1; i < 8; i++) /* each swallows the one behind that of the rule before */
        rules[i] = (struct sim_rule){.act = SIM_SWALLOW, .from = 1, .kind = kind, .nth = 2};
    s = with_a_silent_one(rules, 8, aggregation);
    assert_true(sim_now_us(s) < 1000ull * PATIENCE_MS);
    assert_true(sim_server_report(s)->uploads.us[1] < 4000ull * DEADLINE_MS);
    assert_non_null(strstr(sim_transcript(s), "server: offer 4"));
    assert_true(sim_server_report(s)->presence.generation <= 7);
    sim_free(s);
}

static void test_who_comes_back_and_says_no_hello_costs_a_deadline_three_times(void **state)
{
    (void)state;
    expect_silence_bounded(WIRE_HELLO, NULL);
    expect_silence_bounded(WIRE_HELLO, "protocol.aggregation=coded");
}

static void test_who_comes_back_and_confirms_nothing_costs_no_more(void **state)
{
    (void)state;
    expect_silence_bounded(WIRE_CONFIRM, NULL);
    expect_silence_bounded(WIRE_CONFIRM, "protocol.aggregation=coded");
}

/* Late with the hello by most of the deadline, and then silent: keys and confirmation have a
 * deadline each, and no more (what the others need theirs for: test_slow.c). */
static void test_keys_and_their_confirmation_have_a_deadline_each(void **state)
{
    struct sim_rule rules[] = {
        {.act = SIM_CUT_BEFORE, .from = 1, .kind = WIRE_UPLOAD, .nth = 2},
        {.act = SIM_DELAY, .from = 1, .kind = WIRE_HELLO, .nth = 2, .us = 90000},
        {.act = SIM_SWALLOW, .from = 1, .kind = WIRE_CONFIRM, .nth = 2},
    };
    struct sim *s = with_a_silent_one(rules, 3, NULL);
    struct sim *prompt = with_a_silent_one(rules, 1, NULL);

    (void)state;
    assert_true(sim_now_us(s) - sim_now_us(prompt) > 90000ull + 1000ull * (DEADLINE_MS - 10));
    assert_true(sim_now_us(s) - sim_now_us(prompt) < 2000ull * DEADLINE_MS + 30000);
    sim_free(prompt);
    sim_free(s);
}

/* Before a first generation has trained nobody can be done without, and patience is what there is:
 * the same silence at the start is waited for. */
static void test_a_first_hello_may_be_later_than_a_deadline(void **state)
{
    struct sim_rule rule = {
        .act = SIM_DELAY, .from = 1, .kind = WIRE_HELLO, .nth = 1, .us = 20 * 1000 * DEADLINE_MS};
    struct sim *s = with_a_silent_one(&rule, 1, NULL);

    (void)state;
    assert_int_equal(sim_party_end(s, 1)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_server_report(s)->void_rounds, 0);
    sim_free(s);
}

/* They are two and need each other: gathered again at once, it is silent again, and the third time
 * shut out; then the one that is left waits for others, once. */
static void test_who_is_needed_and_silent_is_shut_out_all_the_same(void **state)
{
    struct sim_options o = {.parties = 2,
                            .train_rows = 12,
                            .sets = {"protocol.straggler=drop", "protocol.deadline_ms=100",
                                     "protocol.patience_ms=60000", "training.epochs=8"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 1, .kind = WIRE_UPLOAD, .nth = 2});
    for (uint32_t i = 0; i < 8; i++)
        sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = 1, .kind = WIRE_HELLO, .nth = 2});
    sim_run(s, HOUR_US);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 4);
    assert_true(sim_now_us(s) < 1000ull * (PATIENCE_MS + 5 * DEADLINE_MS));
    sim_free(s);
}

/* Five, of whom p5 is lost in a round and comes back after so long. */
static struct sim *five_without_p5(const char *straggler, const char *aggregation, uint64_t away_us)
{
    struct sim_options o = {.parties = 5,
                            .train_rows = 12,
                            .sets = {straggler, "protocol.deadline_ms=100",
                                     "protocol.patience_ms=60000", "training.epochs=8",
                                     aggregation},
                            .party_sets = {"policy.aggregations=[clear, masked]"}};
    struct sim *s = sim_new(&o);

    sim_break_at(s, (struct sim_break){.what = SIM_CUT,
                                       .who = 4,
                                       .at_us = 25000,
                                       .unheard_us = away_us,
                                       .party_unaware = true});
    return s;
}

/* p4 takes part among five alone, and p5 is gone: the three others go on at once. */
static void test_who_asks_for_more_than_there_are_keeps_nobody_waiting(void **state)
{
    static const char *const how[][2] = {
        {"protocol.straggler=drop", "protocol.aggregation=masked"},
        {"protocol.straggler=async", "protocol.aggregation=clear"},
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sim *s = five_without_p5(how[i][0], how[i][1], 10 * HOUR_US);

        s->party[3].config.policy.min_parties = 5;
        sim_run(s, 500ull * PATIENCE_MS);
        assert_true(sim_server_end(s)->over);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        assert_non_null(strstr(sim_transcript(s), "server: offer 2 -> p1 p2 p3\n"));
        assert_null(strstr(sim_transcript(s), "server: offer 3"));
        sim_free(s);
    }
}

/* The same, and p5 comes back: now the set is large enough for p4, and has all five again. */
static void test_who_asks_for_many_is_let_in_again_when_there_are_as_many(void **state)
{
    struct sim *s = five_without_p5("protocol.straggler=drop", NULL, 0);

    (void)state;
    s->party[3].config.policy.min_parties = 5;
    sim_run(s, HOUR_US);
    expect_completed(s);
    assert_true(sim_now_us(s) < 1000ull * PATIENCE_MS);
    assert_non_null(strstr(sim_transcript(s), "server: offer 2 -> p1 p2 p3\n"));
    assert_non_null(strstr(sim_transcript(s), "server: offer 3\n"));
    sim_free(s);
}

/* p5 comes back with a policy that no set of this roster can meet: not let in at all. */
static void test_who_asks_for_more_than_the_roster_is_refused(void **state)
{
    struct sim *s = five_without_p5("protocol.straggler=drop", NULL, 0);

    (void)state;
    sim_run(s, 24000);
    s->party[4].config.policy.min_parties = 6;
    sim_run(s, 500ull * PATIENCE_MS);
    assert_true(sim_server_end(s)->over);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_server_report(s)->presence.joined[4], 1);
    assert_null(strstr(sim_transcript(s), "server: offer 3"));
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait_waits_for_a_slow_party_and_says_for_whom),
        cmocka_unit_test(test_drop_goes_on_without_a_late_party_and_ignores_its_late_upload),
        cmocka_unit_test(test_who_is_left_out_at_the_end_has_its_part_of_the_model),
        cmocka_unit_test(test_a_process_after_the_last_one_knows_what_its_model_is),
        cmocka_unit_test(test_wait_gives_up_at_its_patience),
        cmocka_unit_test(test_a_party_that_never_joins_is_named),
        cmocka_unit_test(test_drop_waits_when_only_one_party_is_left),
        cmocka_unit_test(test_drop_closes_without_a_silent_member),
        cmocka_unit_test(test_a_stopped_server_ends_everybody_in_order),
        cmocka_unit_test(test_a_stopped_run_goes_on_to_the_same_models),
        cmocka_unit_test(test_unsent_reservations_are_given_back),
        cmocka_unit_test(test_async_goes_on_without_a_lost_party_and_takes_it_back),
        cmocka_unit_test(test_async_outlives_a_killed_server),
        cmocka_unit_test(test_async_asks_no_party_beyond_its_agenda),
        cmocka_unit_test(test_who_comes_back_and_says_no_hello_costs_a_deadline_three_times),
        cmocka_unit_test(test_who_comes_back_and_confirms_nothing_costs_no_more),
        cmocka_unit_test(test_keys_and_their_confirmation_have_a_deadline_each),
        cmocka_unit_test(test_a_first_hello_may_be_later_than_a_deadline),
        cmocka_unit_test(test_who_is_needed_and_silent_is_shut_out_all_the_same),
        cmocka_unit_test(test_who_asks_for_more_than_there_are_keeps_nobody_waiting),
        cmocka_unit_test(test_who_asks_for_many_is_let_in_again_when_there_are_as_many),
        cmocka_unit_test(test_who_asks_for_more_than_the_roster_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
