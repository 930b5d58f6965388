/* test_dropout.c -- training.party_dropout: steps that do without some parties, whose stand-ins the
 * head learns, and what nobody can tell from outside.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/dropout.h"
#include "server/parts.h"
#include "tests/sim/deaths.h"
#include "tests/sim/expect.h"
#include "tests/sim/mirror.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

enum { PARTIES = 4, STEPS = 16, FUSION = 4 /* which set says it */, DROPOUT };

/* Four epochs of four rounds in clear, as a mirror can follow them. */
static struct sim_options four(const char *fusion)
{
    return (struct sim_options){
        .parties = PARTIES,
        .train_rows = 12,
        .sets = {"protocol.aggregation=clear", "protocol.encoding=float32",
                 "training.learning_rate=0.5",
                 "training.epochs=4", [FUSION] = fusion, [DROPOUT] = "training.party_dropout=0.4",
                 "training.seed=5"},
        .party_sets = {"model.layers=[]", "policy.max_learning_rate=1"}};
}

static const char *const fusions[] = {"model.fusion=sum", "model.fusion=mean",
                                      "model.fusion=concat"};

static void test_a_run_is_that_of_the_mirror_with_stand_ins(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof fusions / sizeof *fusions; f++) {
        struct sim_options o = four(fusions[f]);
        struct sim *s = sim_new(&o);
        struct mirror m;

        mirror_init(&m, s);
        sim_run(s, HOUR_US);
        expect_completed(s);
        mirror_compare(&m);
        assert_string_equal(m.wrong, "");
        assert_int_equal(m.arrivals, STEPS);
        assert_true(m.left_out > STEPS); /* 0.4 of 64 */
        mirror_deinit(&m);
        sim_free(s);
    }
}

/* The negative twin: a mirror whose stand-in of one party is another one sees a difference. */
static void test_the_mirror_sees_another_stand_in(void **state)
{
    struct sim_options o = four(fusions[0]);
    struct sim *s = sim_new(&o);
    struct mirror m;

    (void)state;
    mirror_init(&m, s);
    m.stand_in[2][1] = 0.25;
    sim_run(s, HOUR_US);
    assert_non_null(strstr(m.wrong, "a gradient"));
    mirror_deinit(&m);
    sim_free(s);
}

/* --- from outside --- */

static const char *const of_sums[][3] = {
    {"protocol.aggregation=masked", "protocol.encoding=pbm", "training.optimizer=adam"},
    {"protocol.aggregation=coded", "protocol.encoding=gaussian", "model.fusion=mean"},
    {"protocol.aggregation=clear", "protocol.encoding=pbm", "model.fusion=concat"},
    {"protocol.aggregation=masked", "protocol.encoding=gaussian",
     "protocol.gradient.form=factored"},
    {"protocol.aggregation=clear", "protocol.encoding=fixed", "protocol.local_iterations=3"},
};
enum { SUMS = sizeof of_sums / sizeof *of_sums };

static struct sim_options hidden(size_t i, const char *dropout)
{
    return (struct sim_options){
        .parties = 3,
        .train_rows = 10,
        .checkpoint_rounds = 3,
        .quiet = true,
        .watch = true,
        .sets = {"training.epochs=2", "training.batch=4", of_sums[i][0], of_sums[i][1],
                 of_sums[i][2], "training.seed=3", dropout},
        .party_sets = {"policy.encodings=[pbm, fixed, gaussian]"},
    };
}

/* What a step does without is in no message: as many of each kind, of the same bytes, for which
 * everybody is charged the same. */
static void test_who_is_left_out_sends_and_pays_like_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUMS; i++) {
        uint64_t charged[2], uploaded[2], sent[2];

        for (int k = 0; k < 2; k++) {
            struct sim_options o =
                hidden(i, k == 0 ? "training.party_dropout=0" : "training.party_dropout=0.5");
            struct sim *s = sim_new(&o);

            sim_run(s, HOUR_US);
            expect_completed(s);
            charged[k] = sim_charged(s, 1);
            uploaded[k] = sim_uploaded(s, 1);
            sent[k] = sim_sent(s, 1, WIRE_UPLOAD);
            sim_free(s);
        }
        assert_true(charged[0] > 0);
        assert_int_equal(charged[0], charged[1]);
        assert_int_equal(uploaded[0], uploaded[1]);
        assert_int_equal(sent[0], sent[1]);
    }
}

/* Checkpoints hold stand-ins with what the optimiser keeps of them, and a journal's steps move them
 * again: `watch` compares every sum, and the head's digest has them in it. */
static void test_whoever_dies_the_stand_ins_are_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUMS; i++) {
        const struct sim_options o = hidden(i, "training.party_dropout=0.5");

        deaths_at_every_message(&o, of_sums[i][0]);
        deaths_whenever(&o, of_sums[i][0]);
    }
}

/* The law above says nothing of stand-ins that never move. */
static void test_stand_ins_of_who_was_left_out_have_moved(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUMS; i++) {
        struct sim_options o = hidden(i, "training.party_dropout=0.5");
        struct sim *s = sim_new(&o);
        bool out[PLAN_PARTIES_MAX], ever[3] = {false};
        const struct nn_net *head;
        const float *table;

        sim_run(s, HOUR_US);
        expect_completed(s);
        for (uint64_t step = 0; step < s->server->train.trainer.steps_done; step++)
            for (uint32_t p = 0; dropout_of(out, &s->plan, step) && p < 3; p++)
                ever[p] |= out[p];
        head = server_session_head(s->server);
        table = head->layer[head->spec.layers].w;
        assert_true(ever[0] || ever[1] || ever[2]);
        for (uint32_t p = 0; p < 3; p++) {
            bool moved = false;

            for (uint32_t k = 0; k < s->plan.model.embedding; k++)
                moved |= table[p * s->plan.model.embedding + k] != 0;
            assert_int_equal(moved, ever[p]);
        }
        sim_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_is_that_of_the_mirror_with_stand_ins),
        cmocka_unit_test(test_the_mirror_sees_another_stand_in),
        cmocka_unit_test(test_who_is_left_out_sends_and_pays_like_all),
        cmocka_unit_test(test_whoever_dies_the_stand_ins_are_the_same),
        cmocka_unit_test(test_stand_ins_of_who_was_left_out_have_moved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
