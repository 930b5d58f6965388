/* test_predict.c -- predictions between a server and three parties: scores are those of the
 * packages, each row is charged before it leaves, who is lost costs a round, who refuses the job.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/flow/job.h"
#include "common/flow/prediction.h"
#include "party/core.h"
#include "party/predict/parts.h"
#include "server/parts.h"
#include "server/predict/predict.h"
#include "tests/sim/predictions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_scores_are_those_of_the_packages(void **state)
{
    const char *const *const how[] = {predictions_clear, predictions_fixed, predictions_coded};
    const double most[] = {1e-6, 1e-4, 5e-3};
    static struct play p;

    (void)state;
    for (int i = 0; i < 3; i++) {
        predictions_begin(&p, how[i]);
        predictions_play(&p);
        predictions_complete(&p);
        assert_true(predictions_apart(&p) < most[i]);
        for (int k = 0; k < PARTIES; k++) {
            assert_int_equal(p.player[k].charges, 3); /* rounds of 1024 rows at most */
            assert_int_equal(p.player[k].charged, ROWS);
        }
        predictions_end(&p);
    }
}

/* Zeros for who is absent, or what the head has learned to put there; all are charged, as ever. */
static void test_who_is_absent_has_a_stand_in_where_the_head_has_one(void **state)
{
    static struct play p;

    (void)state;
    for (uint32_t absent = 0; absent < 7; absent++) {
        for (int dropout = 0; dropout < 2; dropout++) {
            predictions_begin_absent(&p, dropout ? predictions_dropout : predictions_clear, absent);
            predictions_play(&p);
            predictions_complete(&p);
            assert_true(predictions_apart(&p) < 1e-6);
            for (int k = 0; k < PARTIES; k++)
                assert_int_equal(p.player[k].charged, ROWS);
            p.asked.absent[0] ^= true; /* the negative twin: another one absent */
            assert_true(predictions_apart(&p) > 1e-3);
            predictions_end(&p);
        }
    }
}

static void test_noise_shows_in_the_scores(void **state)
{
    static struct play p;

    (void)state;
    predictions_begin(&p, predictions_pbm);
    predictions_play(&p);
    predictions_complete(&p);
    assert_true(predictions_apart(&p) > 0.01);
    predictions_end(&p);
}

/* Lost at each upload in turn: the round is asked and charged again, and what was scored stays. */
static void test_a_lost_party_costs_the_round_under_way(void **state)
{
    static struct play p;

    (void)state;
    for (uint32_t at = 1; at <= 3 * PARTIES; at++) {
        const uint32_t rows = at <= 2 * PARTIES ? 1024 : ROWS - 2 * 1024;

        predictions_begin(&p, predictions_fixed);
        p.lose_at = at;
        predictions_play(&p);
        predictions_complete(&p);
        assert_true(predictions_apart(&p) < 1e-4);
        for (int k = 0; k < PARTIES; k++)
            assert_int_equal(p.player[k].charged, ROWS + rows);
        predictions_end(&p);
    }
}

/* Twice a round, of which each is asked three times and has an end: six times in all. */
static void test_losses_with_whole_rounds_between_end_nothing(void **state)
{
    static struct play p;

    (void)state;
    for (uint32_t but = 2; but <= 3; but++) {
        predictions_begin(&p, predictions_fixed);
        p.lose_who = 2;
        p.lose_but = but;
        predictions_play(&p);
        predictions_complete(&p);
        assert_true(predictions_apart(&p) < 1e-4);
        assert_int_equal(p.player[2].uploads, 3 * but);
        for (int k = 0; k < PARTIES; k++)
            assert_int_equal(p.player[k].charged, but * ROWS);
        predictions_end(&p);
    }
}

static void test_three_losses_in_one_round_end_the_job(void **state)
{
    static struct play p;

    (void)state;
    predictions_begin(&p, predictions_fixed);
    p.lose_who = 2;
    p.lose_but = 4;
    predictions_play(&p);
    assert_true(p.ended && p.outcome == OUTCOME_FAILED);
    assert_non_null(strstr(p.error.text, "p3 was lost 3 times in a row"));
    for (int k = 0; k < PARTIES; k++)
        assert_int_equal(p.player[k].charged, 3 * 1024);
    predictions_end(&p);
}

/* Rows that all have answered are asked for no more; others stay the same ids, and are asked for 64
 * times more than there were rounds, or in 64 generations without one that was new. */
static void test_rows_are_not_asked_for_again_without_end(void **state)
{
    static const struct {
        int manner;
        uint32_t but, charges;
        const char *says;
    } how[] = {
        {SERVER_FORGETS, 40, WIRE_AGAIN_MAX + 4, "67 rounds were opened again, and 2 once"},
        {SERVER_FORGETS, 1000, PARTY_STALLED_MAX + 1, "64 generations without a step forward"},
        {SERVER_REPEATS, 2, 3, "asks again for rows that all have answered: place 0"},
        {SERVER_CHANGES, 1000, 1, "asks for other rows than before: place 0"},
    };
    static struct play p;

    (void)state;
    for (size_t i = 0; i < sizeof how / sizeof how[0]; i++) {
        predictions_begin(&p, predictions_fixed);
        p.manner = how[i].manner;
        p.lose_who = 2;
        p.lose_but = how[i].but;
        predictions_play(&p);
        assert_true(p.ended && p.outcome == OUTCOME_FAILED);
        if (strstr(p.error.text, how[i].says) == NULL)
            fail_msg("%s", p.error.text);
        for (int k = 0; k < PARTIES; k++)
            assert_true(p.player[k].charges <= how[i].charges);
        predictions_end(&p);
    }
}

/* One that is lost over and over has nobody's limit used up: each unknown id is counted once. */
static void test_an_unknown_id_that_is_asked_for_again_is_counted_once(void **state)
{
    static struct play p;

    (void)state;
    predictions_begin(&p, predictions_pbm);
    p.player[1].rows.id_text[0] = '0'; /* of the last round */
    p.manner = SERVER_FORGETS;
    p.lose_who = 2;
    p.lose_but = 3;
    predictions_play(&p);
    predictions_complete(&p);
    assert_int_equal(p.player[1].unknown, 1);
    assert_true(p.player[1].charges > 3);
    predictions_end(&p);
}

/* Before each letter in turn, each party: the job goes on with the next process, every byte that
 * leaves is charged before (party_asks looks), and a round that was lost is charged once more. */
static void test_a_party_killed_at_any_message_sends_nothing_uncharged(void **state)
{
    static struct play p;
    uint32_t letters;

    (void)state;
    predictions_begin(&p, predictions_coded);
    predictions_play(&p);
    letters = p.delivered;
    predictions_end(&p);
    assert_true(letters > 40);
    for (uint32_t at = 1; at <= letters; at++) {
        predictions_begin(&p, predictions_coded);
        p.kill_at = at;
        p.kill_who = at % PARTIES;
        predictions_play(&p);
        predictions_complete(&p);
        assert_true(predictions_apart(&p) < 5e-3);
        for (int k = 0; k < PARTIES; k++) {
            assert_true(p.player[k].charged >= ROWS && p.player[k].charged <= ROWS + 2 * 1024);
            assert_true(p.player[k].sent <= p.player[k].charges);
        }
        predictions_end(&p);
    }
}

static void test_a_charge_that_fails_ends_the_job_and_nothing_leaves(void **state)
{
    static struct play p;

    (void)state;
    predictions_begin(&p, predictions_pbm);
    p.player[1].fail_at = 2;
    predictions_play(&p);
    assert_true(p.ended && p.outcome == OUTCOME_BUDGET);
    assert_int_equal(p.player[1].sent, 1);
    assert_int_equal(p.player[1].charged, 1024);
    assert_true(p.player[0].ended && p.player[2].ended);
    predictions_end(&p);
}

/* The first row of all that party 2 has is another's; its id is asked for in the last round. */
static void forget_a_row(struct play *p)
{
    memcpy(p->player[2].rows.id_text, "0999", 5);
}

static void test_an_unknown_id_is_counted_and_answered_where_there_is_noise(void **state)
{
    static struct play p;

    (void)state;
    predictions_begin(&p, predictions_pbm);
    forget_a_row(&p);
    predictions_play(&p);
    predictions_complete(&p);
    assert_int_equal(p.player[2].unknown, 1);
    assert_int_equal(p.player[2].charged, ROWS - 1);
    assert_int_equal(p.player[0].unknown, 0);
    predictions_end(&p);
}

static void test_an_unknown_id_is_counted_and_refused_where_sums_are_exact(void **state)
{
    static struct play p;

    (void)state;
    predictions_begin(&p, predictions_fixed);
    forget_a_row(&p);
    predictions_play(&p);
    assert_true(p.ended && p.outcome == OUTCOME_FAILED);
    assert_int_equal(p.player[2].unknown, 1);
    assert_int_equal(p.player[2].sent, 2); /* nothing of the round that asks for it */
    assert_int_equal(p.player[2].charged, 2 * 1024);
    predictions_end(&p);
}

static void expect_refused(const char *const *sets, void (*change)(struct play *p))
{
    static struct play p;

    predictions_begin(&p, sets);
    change(&p);
    predictions_play(&p);
    assert_true(p.ended && p.outcome == OUTCOME_FAILED);
    for (int k = 0; k < PARTIES; k++)
        assert_int_equal(p.player[k].charges + p.player[k].sent, 0);
    predictions_end(&p);
}

/* The text of the job, as it is by now. */
static void say_again(struct play *p)
{
    struct server_predict *s = p->server->predict;

    s->text.len = 0;
    assert_int_equal(prediction_print(&s->about, &s->text), STATUS_OK);
    job_digest(s->digest, JOB_PREDICT, s->text.data, s->text.len);
    p->server->fed.terms.text = (struct wire_bytes){s->text.data, s->text.len};
}

static void other_steps(struct play *p)
{
    p->player[1].model.trail[0] ^= 1;
}

/* As one wrote them that knew no number of a playing: on all sides the same, of any run. */
static void no_trail(struct play *p)
{
    memset(p->head.trail, 0, sizeof p->head.trail);
    for (int k = 0; k < PARTIES; k++)
        memset(p->player[k].model.trail, 0, sizeof p->player[k].model.trail);
    memset(p->server->predict->about.trail, 0, sizeof p->server->predict->about.trail);
    say_again(p);
}

static void other_plan(struct play *p)
{
    p->player[1].model.plan_sha256[0] ^= 1;
}

static void no_rows(struct play *p)
{
    p->player[1].session->setup.answers.rows = NULL;
}

static void small_limit(struct play *p)
{
    p->s->party[1].config.policy.releases_total = ROWS - 1;
}

static void too_many(struct play *p)
{
    p->s->party[1].config.policy.predict_rows = ROWS - 1;
}

static void another_asks(struct play *p)
{
    p->s->party[1].config.policy.predict_by = (struct config_names){1, {"hospital"}};
}

static void another_model(struct play *p)
{
    p->s->party[1].config.policy.predict_models = (struct config_names){2, {"other", "plan:"}};
}

static void overasked(struct play *p)
{
    p->s->party[1].overasked = true;
}

/* A server that does not ask itself whether it may. */
static void leave_out(struct play *p)
{
    p->server->predict->about.absent[2] = true;
    say_again(p);
}

/* A side that has kept more runs of the plan calls it otherwise. */
static void test_a_model_is_known_by_its_plan_and_trail_not_by_its_name(void **state)
{
    static struct play p;

    (void)state;
    predictions_begin(&p, predictions_pbm);
    snprintf(p.player[1].model.run, sizeof p.player[1].model.run, "abc-2");
    predictions_play(&p);
    predictions_complete(&p);
    predictions_end(&p);
}

static void test_a_policy_names_models_and_who_may_ask(void **state)
{
    char of_plan[CONFIG_NAME_MAX];
    static struct play p;

    (void)state;
    predictions_begin(&p, predictions_pbm);
    digest_hex(of_plan + 5, p.head.plan_sha256, 8);
    memcpy(of_plan, "plan:", 5);
    for (int k = 0; k < 2; k++)
        p.s->party[k].config.policy.predict_by = (struct config_names){2, {"bank", "clinic"}};
    p.s->party[0].config.policy.predict_models = (struct config_names){.n = 1};
    strcpy(p.s->party[0].config.policy.predict_models.name[0], of_plan);
    snprintf(p.player[1].model.run, sizeof p.player[1].model.run,
             "abc-2"); /* as it is called here */
    p.s->party[1].config.policy.predict_models = (struct config_names){1, {"abc-2"}};
    predictions_play(&p);
    predictions_complete(&p);
    predictions_end(&p);
}

static void test_a_bottom_costs_what_its_package_says_it_was_made_with(void **state)
{
    static struct play p;
    const struct party_predict *job;

    (void)state;
    predictions_begin(&p, predictions_pbm);
    p.s->party[1].config.train = TRAIN_FROZEN;
    strcpy(p.s->party[1].config.scale, "none");
    p.player[1].model.made = ACCOUNT_DP;
    p.player[1].model.noise = 50;
    predictions_play(&p);
    job = p.player[1].session->state;
    assert_int_equal(job->mechanism.bottom, ACCOUNT_DP);
    assert_true(job->mechanism.step_noise == 50 && p.player[1].charges > 0);
    predictions_end(&p);
}

/* Every fifth row of party 1's is one person's, and it sells `releases` of each. */
static void play_persons(struct play *p, uint64_t releases)
{
    static struct persons persons;
    struct group g = {.rows = ROWS};
    struct error err = {0};

    g.at = mem_alloc(g.rows, sizeof *g.at);
    CHECK(g.at != NULL);
    buf_init(&g.text, 1 << 16);
    for (size_t i = 0; i < ROWS; i++) {
        char name[16];

        snprintf(name, sizeof name, "who-%zu", i % 5 == 0 ? 0 : i);
        g.at[i] = (uint32_t)g.text.len;
        assert_int_equal(buf_append(&g.text, name, strlen(name) + 1), STATUS_OK);
    }
    assert_int_equal(group_number(&g, &err), STATUS_OK);
    assert_int_equal(persons_init(&persons, &g, 0, &err), STATUS_OK);
    predictions_begin(p, predictions_pbm);
    p->player[1].session->setup.answers.persons = &persons;
    p->s->party[1].config.policy.releases_record = releases;
    predictions_play(p);
    predictions_end(p);
    persons_deinit(&persons);
}

static void test_all_rows_of_a_person_are_priced_at_the_offer(void **state)
{
    static struct play p;

    (void)state;
    play_persons(&p, ROWS / 5);
    assert_true(p.outcome == OUTCOME_COMPLETED && p.player[1].charges > 0);
    play_persons(&p, ROWS / 5 - 1);
    assert_true(p.ended && p.outcome == OUTCOME_FAILED);
    assert_int_equal(p.player[1].charges, 0);
}

static void test_what_a_party_does_not_answer_is_refused_at_the_offer(void **state)
{
    (void)state;
    expect_refused(predictions_pbm, other_steps);
    expect_refused(predictions_pbm, no_trail);
    expect_refused(predictions_pbm, other_plan);
    expect_refused(predictions_pbm, no_rows);
    expect_refused(predictions_pbm, small_limit);
    expect_refused(predictions_pbm, too_many);
    expect_refused(predictions_pbm, overasked);
    expect_refused(predictions_pbm, another_asks);
    expect_refused(predictions_pbm, another_model);
    expect_refused(predictions_fixed, leave_out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores_are_those_of_the_packages),
        cmocka_unit_test(test_who_is_absent_has_a_stand_in_where_the_head_has_one),
        cmocka_unit_test(test_noise_shows_in_the_scores),
        cmocka_unit_test(test_a_lost_party_costs_the_round_under_way),
        cmocka_unit_test(test_losses_with_whole_rounds_between_end_nothing),
        cmocka_unit_test(test_three_losses_in_one_round_end_the_job),
        cmocka_unit_test(test_rows_are_not_asked_for_again_without_end),
        cmocka_unit_test(test_an_unknown_id_that_is_asked_for_again_is_counted_once),
        cmocka_unit_test(test_a_party_killed_at_any_message_sends_nothing_uncharged),
        cmocka_unit_test(test_a_charge_that_fails_ends_the_job_and_nothing_leaves),
        cmocka_unit_test(test_an_unknown_id_is_counted_and_answered_where_there_is_noise),
        cmocka_unit_test(test_an_unknown_id_is_counted_and_refused_where_sums_are_exact),
        cmocka_unit_test(test_a_model_is_known_by_its_plan_and_trail_not_by_its_name),
        cmocka_unit_test(test_a_policy_names_models_and_who_may_ask),
        cmocka_unit_test(test_a_bottom_costs_what_its_package_says_it_was_made_with),
        cmocka_unit_test(test_all_rows_of_a_person_are_priced_at_the_offer),
        cmocka_unit_test(test_what_a_party_does_not_answer_is_refused_at_the_offer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
