/* test_contribute.c -- contributions between a server and three parties: answers are those of the
 * packages, each is charged before it leaves, twice where a column is mixed up; who is lost costs
 * a round, who is killed goes on; and what is more than the text says is refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/flow/job.h"
#include "party/predict/parts.h"
#include "server/parts.h"
#include "tests/sim/predictions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SETS = 7, ASKS = SETS + COLS, ROUNDS = 3 * ASKS };

static uint64_t price(int party)
{
    return ROWS * (uint64_t)(ASKS + (party == MIXER ? COLS : 0));
}

static void test_answers_are_those_of_the_packages_and_each_is_charged(void **state)
{
    static struct play p;

    (void)state;
    for (int dropout = 0; dropout < 2; dropout++) {
        predictions_begin_contributions(&p, dropout ? predictions_dropout : predictions_clear);
        predictions_play(&p);
        predictions_complete(&p);
        assert_true(predictions_apart(&p) < 1e-6);
        for (int k = 0; k < PARTIES; k++) {
            assert_int_equal(p.player[k].charges, ROUNDS);
            assert_true(p.player[k].charged == price(k));
        }
        p.server->predict->asks.seed ^= 1; /* the negative twin: other rows' columns */
        assert_true(predictions_apart(&p) > 1e-3);
        predictions_end(&p);
    }
}

static void test_noise_shows_and_the_price_is_the_same(void **state)
{
    static struct play p;

    (void)state;
    predictions_begin_contributions(&p, predictions_pbm);
    predictions_play(&p);
    predictions_complete(&p);
    assert_true(predictions_apart(&p) > 0.01);
    for (int k = 0; k < PARTIES; k++)
        assert_true(p.player[k].charged == price(k));
    predictions_end(&p);
}

/* Of each round in turn: that one is asked and charged again, and what was answered stays. */
static void test_a_lost_party_costs_the_round_under_way(void **state)
{
    static struct play p;

    (void)state;
    for (uint32_t at = 1; at <= ROUNDS * PARTIES; at += 7) {
        predictions_begin_contributions(&p, predictions_clear);
        p.lose_at = at;
        predictions_play(&p);
        predictions_complete(&p);
        assert_true(predictions_apart(&p) < 1e-6);
        for (int k = 0; k < PARTIES; k++) {
            assert_int_equal(p.player[k].charges, ROUNDS + 1);
            assert_true(p.player[k].charged > price(k));
        }
        predictions_end(&p);
    }
}

/* kill -9 of one at any message: nothing leaves that is not charged, and the job has its end. */
static void test_a_killed_party_goes_on_where_the_job_is(void **state)
{
    static struct play p;

    (void)state;
    for (uint32_t at = 1; at < 150; at += 4) {
        predictions_begin_contributions(&p, predictions_clear);
        p.kill_at = at;
        p.kill_who = at % PARTIES;
        predictions_play(&p);
        predictions_complete(&p);
        assert_true(predictions_apart(&p) < 1e-6);
        for (int k = 0; k < PARTIES; k++) {
            assert_true(p.player[k].charged >= price(k));
            assert_true(p.player[k].sent <= p.player[k].charges);
        }
        predictions_end(&p);
    }
}

/* An id that one party has no row of, in the last rounds: of all questions it is counted once, and
 * those who mix up have one row less. */
static void test_an_unknown_id_is_counted_once_for_all_questions(void **state)
{
    static struct play p;

    (void)state;
    predictions_begin_contributions(&p, predictions_pbm);
    memcpy(p.player[MIXER].rows.id_text, "0999", 5);
    predictions_play(&p);
    predictions_complete(&p);
    assert_int_equal(p.player[MIXER].unknown, 1);
    assert_true(p.player[MIXER].charged == price(MIXER) - (ASKS + COLS));
    assert_true(p.player[0].charged == price(0) && p.player[0].unknown == 0);
    predictions_end(&p);
}

/* --- what is refused, before anything is charged --- */

static void expect_refused(const char *const *sets, void (*change)(struct play *p),
                           const char *words)
{
    static struct play p;

    predictions_begin_contributions(&p, sets);
    change(&p);
    predictions_play(&p);
    assert_true(p.ended && p.outcome == OUTCOME_FAILED);
    assert_non_null(strstr(p.error.text, words));
    for (int k = 0; k < PARTIES; k++)
        assert_int_equal(p.player[k].charges + p.player[k].sent, 0);
    predictions_end(&p);
}

static void takes_no_part(struct play *p)
{
    p->s->party[2].config.policy.contribute_rows = 0;
}

static void takes_fewer_rows(struct play *p)
{
    p->s->party[2].config.policy.contribute_rows = ROWS - 1;
}

static void one_column(struct play *p)
{
    p->s->party[MIXER].config.policy.contribute_columns = 1;
}

static void a_column_that_is_not_there(struct play *p)
{
    p->player[MIXER].model.schema.n = 1;
}

/* Each row can be paid for once, or as often as predictions would need. */
static void too_dear(struct play *p)
{
    p->s->party[0].config.policy.releases_record = ASKS - 1;
}

static void too_dear_with_columns(struct play *p)
{
    for (int k = 0; k < PARTIES; k++)
        p->s->party[k].config.policy.releases_record = ASKS + COLS - 1;
}

static void test_policies_refuse_before_anything_is_charged(void **state)
{
    (void)state;
    expect_refused(predictions_clear, takes_no_part, "p3 refuses");
    expect_refused(predictions_clear, takes_fewer_rows, "2500 rows are asked for, 2499");
    expect_refused(predictions_clear, one_column, "column 2 is to be mixed up, 1 are the most");
    expect_refused(predictions_clear, a_column_that_is_not_there, "the model has 1 columns");
}

static void expect_budget(void (*change)(struct play *p), const char *who)
{
    static struct play p;

    predictions_begin_contributions(&p, predictions_pbm);
    change(&p);
    predictions_play(&p);
    assert_true(p.ended && p.outcome != OUTCOME_COMPLETED);
    assert_non_null(strstr(p.error.text, who));
    for (int k = 0; k < PARTIES; k++)
        assert_int_equal(p.player[k].charges + p.player[k].sent, 0);
    predictions_end(&p);
}

static void test_all_of_it_is_priced_with_the_offer(void **state)
{
    (void)state;
    expect_budget(too_dear, "p1 ");
    expect_budget(too_dear_with_columns, "p2 "); /* who mixes pays more than the others */
}

/* --- a server that asks for more than its text says --- */

static void say_again(struct play *p)
{
    struct server_predict *s = p->server->predict;

    s->text.len = 0;
    assert_int_equal(contribution_print(&s->asks, &s->about, &s->text), STATUS_OK);
    job_digest(s->digest, JOB_CONTRIBUTE, s->text.data, s->text.len);
    p->server->fed.terms.text = (struct wire_bytes){s->text.data, s->text.len};
}

/* Its own list, longer by one question than what it has told. */
static void asks_once_more(struct play *p)
{
    struct server_predict *s = p->server->predict;

    s->asks.n--;
    say_again(p);
    s->asks.n++;
}

static void test_a_question_that_is_not_in_the_text_is_not_answered(void **state)
{
    static struct play p;

    (void)state;
    predictions_begin_contributions(&p, predictions_clear);
    asks_once_more(&p);
    predictions_play(&p);
    assert_true(p.ended && p.outcome == OUTCOME_FAILED);
    for (int k = 0; k < PARTIES; k++) /* the first rows' are, and then their places are others */
        assert_true(p.player[k].charges == ASKS - 1 || p.player[k].charges == ASKS);
    predictions_end(&p);
}

/* The second question is about other ids than the first one. */
static void test_the_same_rows_are_asked_for_in_all_questions(void **state)
{
    static struct play p;

    (void)state;
    predictions_begin_contributions(&p, predictions_clear);
    p.lose_at = 1 + PARTIES; /* the first upload of the second round */
    p.manner = SERVER_CHANGES;
    predictions_play(&p);
    assert_true(p.ended && p.outcome == OUTCOME_FAILED);
    for (int k = 0; k < PARTIES; k++)
        assert_int_equal(p.player[k].charges, 2);
    predictions_end(&p);
}

/* As if an exact sum could be asked for: what a right server refuses itself each party does. */
static void test_exact_sums_are_refused_by_each_party(void **state)
{
    static struct play p;
    struct server_predict *s;

    (void)state;
    predictions_begin(&p, predictions_fixed);
    s = p.server->predict;
    contribution_deinit(&s->asks);
    assert_int_equal(contribution_init(&s->asks, 2), STATUS_OK);
    coalition_remove(&s->asks.ask[1].of, 0);
    s->places = 2 * ROWS;
    p.server->fed.terms.kind = JOB_CONTRIBUTE;
    say_again(&p);
    predictions_play(&p);
    assert_true(p.ended && p.outcome == OUTCOME_FAILED);
    assert_non_null(strstr(p.error.text, "without noise"));
    for (int k = 0; k < PARTIES; k++)
        assert_int_equal(p.player[k].charges + p.player[k].sent, 0);
    predictions_end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_are_those_of_the_packages_and_each_is_charged),
        cmocka_unit_test(test_noise_shows_and_the_price_is_the_same),
        cmocka_unit_test(test_a_lost_party_costs_the_round_under_way),
        cmocka_unit_test(test_a_killed_party_goes_on_where_the_job_is),
        cmocka_unit_test(test_an_unknown_id_is_counted_once_for_all_questions),
        cmocka_unit_test(test_policies_refuse_before_anything_is_charged),
        cmocka_unit_test(test_all_of_it_is_priced_with_the_offer),
        cmocka_unit_test(test_a_question_that_is_not_in_the_text_is_not_answered),
        cmocka_unit_test(test_the_same_rows_are_asked_for_in_all_questions),
        cmocka_unit_test(test_exact_sums_are_refused_by_each_party),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
