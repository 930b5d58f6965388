/* test_replay.c -- a party that is behind is sent the gradients that it missed, and comes to the
 * model of the others or to none.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/expect.h"
#include "tests/sim/sim.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
enum {
    PARTIES = 3,
    STEPS = 8 /* in two epochs */,
    EVERY = 5 /* steps from checkpoint to checkpoint */
};

static struct sim_options three(void)
{
    return (struct sim_options){
        .parties = PARTIES,
        .train_rows = 12,
        .checkpoint_rounds = EVERY,
        .sets = {"training.epochs=2", "training.evaluate_every=0", "protocol.patience_ms=2000"}};
}

struct models {
    char of[PARTIES + 1][65];
};

static struct models completed(struct sim *s)
{
    struct models m;

    sim_run(s, HOUR_US);
    expect_completed(s);
    for (int who = SIM_SERVER; who < PARTIES; who++)
        sim_model(s, who, m.of[who + 1]);
    return m;
}

/* p2 dies before the upload of step `at` (from 0): it has applied `at` steps and goes on from its
 * last checkpoint. */
static void dies_before_step(struct sim *s, uint32_t at)
{
    sim_rule(s, (struct sim_rule){.act = SIM_KILL, .from = 1, .kind = WIRE_UPLOAD, .nth = at + 1});
}

static void alter(struct sim *s, int from, enum wire_kind kind,
                  void (*how)(struct wire_msg *m, void *owner))
{
    sim_rule(s, (struct sim_rule){
                    .act = SIM_ALTER, .from = from, .party = 1, .kind = kind, .alter = how});
}

/* --- the happy path --- */

static void test_steps_that_were_missed_are_sent_in_pieces_and_end_in_the_same_model(void **state)
{
    static const struct {
        const char *sets[2];
        uint32_t missed;
    } runs[] = {
        {{NULL}, EVERY - 1},
        {{"protocol.aggregation=coded"}, EVERY}, /* that step is done without it */
        {{"protocol.aggregation=clear", "model.fusion=concat"}, EVERY - 1},
        {{"protocol.aggregation=clear", "model.fusion=max"}, EVERY - 1},
        {{"model.head=[5,batchnorm,relu]"}, EVERY - 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct sim_options o = three();
        struct models want, got;
        struct sim *s;

        o.sets[3] = runs[i].sets[0];
        o.sets[4] = runs[i].sets[1];
        s = sim_new(&o);
        want = completed(s);
        assert_int_equal(expect_count(s, "behind"), 0);
        assert_int_equal(sim_server_report(s)->degraded.replayed, 0);
        sim_free(s);
        s = sim_new(&o);
        dies_before_step(s, EVERY - 1);
        got = completed(s);
        assert_memory_equal(&want, &got, sizeof want);
        assert_int_equal(sim_server_report(s)->degraded.replayed, runs[i].missed);
        /* The simulated journal gives two at a time. */
        assert_in_range(expect_count(s, "server: replay -> p2\n"), (runs[i].missed + 1) / 2,
                        runs[i].missed);
        assert_int_equal(expect_count(s, "p2: behind\n"),
                         expect_count(s, "server: replay -> p2\n"));
        assert_int_equal(expect_count(s, "replay -> p1") + expect_count(s, "replay -> p3"), 0);
        sim_free(s);
    }
}

/* What was replayed was released before: nothing of it is charged or sent again. */
static void test_a_replay_releases_nothing(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);
    uint64_t undisturbed;

    (void)state;
    (void)completed(s);
    undisturbed = sim_uploaded(s, 1);
    sim_free(s);
    s = sim_new(&o);
    dies_before_step(s, EVERY - 1);
    (void)completed(s);
    /* Its upload of the step it died in never left; the simulation counts it as made. */
    assert_int_equal(sim_uploaded(s, 1), undisturbed + 3);
    assert_int_equal(sim_uploaded(s, 0), undisturbed + 3);
    sim_free(s);
}

/* --- a server that lies --- */

static uint8_t longer[4096];

static void other_step(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->replay.step++;
}

static void other_generation(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->replay.generation--;
}

static void cut_short(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->replay.gradient.n -= sizeof(float);
}

static void not_a_number(struct wire_msg *m, void *owner)
{
    const float nan = NAN;

    (void)owner;
    memcpy(longer, m->replay.gradient.data, m->replay.gradient.n);
    memcpy(longer + m->replay.gradient.n - sizeof nan, &nan, sizeof nan);
    m->replay.gradient.data = longer;
}

/* All steps that were offered, and one more. */
static void more_than_offered(struct wire_msg *m, void *owner)
{
    size_t step = 3 * 4 * sizeof(float);

    (void)owner;
    memset(longer, 0, sizeof longer);
    m->replay.gradient = (struct wire_bytes){longer, EVERY * step};
}

/* In place of the hellos, to a party that is not behind. */
static void unasked(struct wire_msg *m, void *owner)
{
    (void)owner;
    memset(longer, 0, sizeof longer);
    m->kind = WIRE_REPLAY;
    m->replay = (struct wire_replay){1, 0, {longer, 3 * 4 * sizeof(float)}};
}

static void test_a_replay_of_anything_else_is_refused(void **state)
{
    static const struct {
        void (*how)(struct wire_msg *m, void *owner);
        enum wire_kind kind;
        const char *words;
    } lies[] = {
        {other_step, WIRE_REPLAY, "what was not asked for, from step (1)"},
        {other_generation, WIRE_REPLAY, "what was not asked for"},
        {cut_short, WIRE_REPLAY, "what was not asked for"},
        {more_than_offered, WIRE_REPLAY, "what was not asked for"},
        {not_a_number, WIRE_REPLAY, "not finite"},
        {unasked, WIRE_HELLOS, "what was not asked for, from step (0)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct sim_options o = three();
        struct sim *s = sim_new(&o);
        const struct sim_end *end = sim_party_end(s, 1);

        dies_before_step(s, EVERY - 1);
        alter(s, SIM_SERVER, lies[i].kind, lies[i].how);
        sim_run(s, HOUR_US);
        assert_true(end->over);
        assert_int_equal(end->outcome, OUTCOME_FAILED);
        if (strstr(end->error.text, lies[i].words) == NULL)
            fail_msg("lie %zu: %s", i, end->error.text);
        assert_int_equal(status_kind(end->error.status), STATUS_KIND_PEER);
        assert_int_equal(status_exit_code(end->error.status), 3);
        assert_int_equal(sim_party_report(s, 1)->progress.applied, 0);
        sim_free(s);
    }
}

/* The gradient of the second step of a replay begins with no number. */
static void spoil_second(struct wire_msg *m, void *owner)
{
    const struct plan *p = owner;
    const float nan = NAN;
    struct down d;
    size_t step;

    down_of(&d, p);
    step = sizeof nan * down_words(&d, p->training.batch);
    assert_int_equal(m->replay.gradient.n, 2 * step);
    assert_true(2 * step <= sizeof longer && d.with_gradient);
    memcpy(longer, m->replay.gradient.data, 2 * step);
    memcpy(longer + step, &nan, sizeof nan);
    m->replay.gradient.data = longer;
}

/* The first is good, and p2 could take its step. */
static void test_no_gradient_of_a_replay_is_applied_unless_all_are_good(void **state)
{
    static const char *const runs[][3] = {
        {"protocol.gradient.form=full"},
        {"protocol.gradient.form=factored"},
        {"protocol.aggregation=clear", "protocol.local_view=refreshed", "protocol.label_holders=1"},
        {"protocol.aggregation=clear", "protocol.local_view=refreshed", "protocol.label_holders=2"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct sim_options o = three();
        struct sim *s;

        memcpy(o.sets + 3, runs[i], sizeof runs[i]);
        s = sim_new(&o);
        dies_before_step(s, EVERY - 1);
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = SIM_SERVER,
                                      .party = 1,
                                      .kind = WIRE_REPLAY,
                                      .alter = spoil_second,
                                      .owner = &s->plan});
        sim_run(s, HOUR_US);
        assert_int_equal(sim_party_end(s, 1)->outcome, OUTCOME_FAILED);
        assert_non_null(strstr(sim_party_end(s, 1)->error.text, "not finite, step (1)"));
        assert_int_equal(sim_party_report(s, 1)->progress.applied, 0);
        sim_free(s);
    }
}

/* --- two views --- */

static void other_values(struct wire_msg *m, void *owner)
{
    float g;

    (void)owner;
    memcpy(longer, m->replay.gradient.data, m->replay.gradient.n);
    memcpy(&g, longer, sizeof g);
    g += 0.25f;
    memcpy(longer, &g, sizeof g);
    m->replay.gradient.data = longer;
}

/* A gradient that only this party was given: its trail is another, so masks do not cancel. */
static void test_a_view_of_its_own_spoils_every_sum(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);

    (void)state;
    dies_before_step(s, EVERY - 1);
    alter(s, SIM_SERVER, WIRE_REPLAY, other_values);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    assert_int_equal(sim_server_end(s)->error.status, STATUS_INTEGRITY);
    assert_int_equal(sim_server_report(s)->integrity_failures, 3);
    assert_int_equal(sim_server_report(s)->steps, EVERY - 1); /* none on such a sum */
    sim_free(s);
}

/* Nor do shares open. */
static void test_a_view_of_its_own_opens_no_share(void **state)
{
    struct sim_options o = three();
    struct sim *s;

    (void)state;
    o.sets[3] = "protocol.aggregation=coded";
    s = sim_new(&o);
    dies_before_step(s, EVERY - 1);
    alter(s, SIM_SERVER, WIRE_REPLAY, other_values);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    assert_non_null(strstr(sim_server_end(s)->error.text, "the share of "));
    assert_int_equal(sim_server_report(s)->steps, EVERY); /* the one it had shared for is done */
    sim_free(s);
}

/* --- joins --- */

/* The first word of p2's second connection is altered; it ends with these words, and so does the
 * server, which waits for it in vain. */
static void assert_join_refused(void (*how)(struct wire_msg *m, void *owner), const char *words,
                                int exit_code)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);
    const struct sim_end *end = sim_party_end(s, 1);

    dies_before_step(s, EVERY + 2); /* its checkpoint of EVERY steps is durable by then */
    sim_rule(s, (struct sim_rule){
                    .act = SIM_ALTER, .from = 1, .kind = WIRE_JOIN, .nth = 2, .alter = how});
    sim_run(s, HOUR_US);
    assert_true(end->over);
    assert_int_equal(end->outcome, OUTCOME_FAILED);
    if (strstr(end->error.text, words) == NULL)
        fail_msg("%s", end->error.text);
    assert_int_equal(status_exit_code(end->error.status), exit_code);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 4);
    assert_non_null(strstr(sim_server_end(s)->error.text, "waiting for p2"));
    sim_free(s);
}

static void other_trail(struct wire_msg *m, void *owner)
{
    static const uint8_t trail[WIRE_DIGEST_BYTES] = {1};

    (void)owner;
    m->join.trail = trail;
}

static void far_generation(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->join.generation = ((uint64_t)1 << 48) + 1;
}

static void without_model(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->join.resumes = false;
    m->join.applied = 0;
}

static void of_the_future(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->join.applied = m->join.kept = m->join.kept_before = STEPS;
}

static void test_a_model_of_another_run_is_refused(void **state)
{
    (void)state;
    assert_join_refused(other_trail, "p2 brings a model of another run", 2);
}

static void test_a_generation_that_no_run_reaches_is_refused(void **state)
{
    (void)state;
    assert_join_refused(far_generation, "says it was offered generation 281474976710657", 3);
}

static void test_a_party_that_says_it_has_no_model_is_refused(void **state)
{
    (void)state;
    assert_join_refused(without_model, "comes without the model that it had in this run", 2);
}

static void test_a_party_that_is_ahead_is_refused(void **state)
{
    (void)state;
    assert_join_refused(of_the_future, "is ahead of this server", 2);
}

/* A generation that the server does not remember, but that could have been: it goes on above it. */
static void some_generation(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->join.generation = 41;
}

static void test_a_generation_above_the_servers_is_believed(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);

    (void)state;
    dies_before_step(s, EVERY + 1);
    sim_rule(
        s, (struct sim_rule){
               .act = SIM_ALTER, .from = 1, .kind = WIRE_JOIN, .nth = 2, .alter = some_generation});
    (void)completed(s);
    assert_int_equal(sim_server_report(s)->presence.generation, 42);
    sim_free(s);
}

/* Nobody has a disk, and p2 dies in the second step. */
static struct sim *without_disks(const char *straggler, const char *aggregation)
{
    struct sim_options o = three();
    struct sim *s;

    o.checkpoint_rounds = 0;
    o.sets[3] = straggler;
    o.sets[4] = aggregation;
    s = sim_new(&o);
    dies_before_step(s, 1);
    sim_run(s, HOUR_US);
    return s;
}

static void test_a_party_without_its_model_is_refused_under_wait(void **state)
{
    struct sim *s = without_disks("protocol.straggler=wait", "protocol.aggregation=masked");

    (void)state;
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    assert_non_null(strstr(sim_party_end(s, 1)->error.text,
                           "p2 comes without the model that it had in this run: it has applied 0 "
                           "training steps, this run has done 1"));
    assert_int_equal(status_exit_code(sim_party_end(s, 1)->error.status), 2);
    assert_non_null(strstr(sim_server_end(s)->error.text, "waiting for p2"));
    sim_free(s);
}

static void test_a_party_without_its_model_begins_anew_under_drop(void **state)
{
    static const char *const aggregations[] = {"protocol.aggregation=masked",
                                               "protocol.aggregation=clear"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sim *s = without_disks("protocol.straggler=drop", aggregations[i]);

        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        assert_int_equal(sim_party_end(s, 1)->outcome, OUTCOME_COMPLETED);
        assert_int_equal(sim_party_report(s, 1)->progress.applied, STEPS);
        assert_int_equal(expect_count(s, "behind"), 0);
        sim_free(s);
    }
}

/* Before the first step there is nothing to be without. */
static void test_a_party_without_a_model_may_come_before_the_first_step(void **state)
{
    struct sim_options o = three();
    struct sim *s;

    (void)state;
    o.checkpoint_rounds = 0;
    s = sim_new(&o);
    dies_before_step(s, 0);
    (void)completed(s);
    sim_free(s);
}

/* --- words of a party that is behind --- */

static void less_than_it_has(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->behind.applied--;
}

static void all_of_them(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->behind.applied = EVERY + 2;
}

/* The server sends each step once: asking for it anew, or for one that is not, is refused. */
static void test_a_party_asks_for_what_it_misses_and_nothing_else(void **state)
{
    static const struct sim_rule lies[] = {
        {.act = SIM_ALTER, .from = 1, .kind = WIRE_BEHIND, .alter = less_than_it_has},
        {.act = SIM_ALTER, .from = 1, .kind = WIRE_BEHIND, .alter = all_of_them},
        {.act = SIM_REPEAT, .from = 1, .kind = WIRE_BEHIND, .nth = 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct sim_options o = three();
        struct sim *s = sim_new(&o);

        dies_before_step(s, EVERY + 2);
        sim_rule(s, lies[i]);
        sim_run(s, HOUR_US);
        assert_int_equal(sim_party_end(s, 1)->outcome, OUTCOME_FAILED);
        assert_int_equal(status_exit_code(sim_party_end(s, 1)->error.status), 3);
        assert_non_null(strstr(sim_party_end(s, 1)->error.text, "behind by what it should have"));
        sim_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_that_were_missed_are_sent_in_pieces_and_end_in_the_same_model),
        cmocka_unit_test(test_a_replay_releases_nothing),
        cmocka_unit_test(test_a_replay_of_anything_else_is_refused),
        cmocka_unit_test(test_no_gradient_of_a_replay_is_applied_unless_all_are_good),
        cmocka_unit_test(test_a_view_of_its_own_spoils_every_sum),
        cmocka_unit_test(test_a_view_of_its_own_opens_no_share),
        cmocka_unit_test(test_a_model_of_another_run_is_refused),
        cmocka_unit_test(test_a_generation_that_no_run_reaches_is_refused),
        cmocka_unit_test(test_a_party_that_says_it_has_no_model_is_refused),
        cmocka_unit_test(test_a_party_that_is_ahead_is_refused),
        cmocka_unit_test(test_a_generation_above_the_servers_is_believed),
        cmocka_unit_test(test_a_party_without_its_model_is_refused_under_wait),
        cmocka_unit_test(test_a_party_without_its_model_begins_anew_under_drop),
        cmocka_unit_test(test_a_party_without_a_model_may_come_before_the_first_step),
        cmocka_unit_test(test_a_party_asks_for_what_it_misses_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
