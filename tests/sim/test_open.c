/* test_open.c -- an open job of predictions: rounds of what waits when one begins, an end between
 * two of them, and nothing that is asked for in vain, whoever is lost, refuses or dies.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/limits.h"
#include "party/core.h"
#include "server/serve/waiting.h"
#include "tests/sim/standing.h"
#include "tests/lib/instrumented.h"
#include "tests/sim/world.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECOND_US 1000000ull

enum { PARTIES = 3, ROWS = 12, BATCH = 4, OUTPUTS_MAX = 2, IDLE_MS = 5000, SOON_US = 2000000 };

enum { ONE_OF = INSTRUMENTED ? 7 : 1 };

static const char *const fixed[] = {"protocol.encoding=fixed", NULL};
static const char *const coded[] = {"protocol.encoding=fixed", "protocol.aggregation=coded",
                                    "protocol.fixed.bits=12", NULL};
static const char *const pbm[] = {"protocol.encoding=pbm", NULL};

static struct play {
    struct sim *s;
    struct plan plan;
    struct waiting waiting;
    struct server_feed feed;
    bool others; /* a job of the queue waits */
    uint32_t over, rows, faults[FAULT_STOPPED + 1], rounds;
    uint32_t said, at, charges;
    int who; /* dies at message `at` */
    float score[ROWS][OUTPUTS_MAX];
    bool known[ROWS];
    uint64_t missing;
} play;

/* --- who asks --- */

static const float *nothing_kept(void *owner, const char *id, size_t n)
{
    (void)owner, (void)id, (void)n;
    return NULL;
}

static void note_scores(void *owner, const char *id, size_t n, const float *scores,
                        const bool *missing)
{
    struct play *p = owner;
    unsigned row = 0;

    for (size_t i = 0; i < n; i++)
        row = 10 * row + (unsigned)(id[i] - '0');
    assert_true(row < ROWS && !p->known[row]); /* nothing is answered twice */
    p->known[row] = true;
    memcpy(p->score[row], scores, p->waiting.kind.outputs * sizeof *scores);
    for (uint32_t i = 0; i < PARTIES; i++)
        p->missing |= (uint64_t)missing[i] << i;
}

static void note_over(void *owner, struct waiting_call *c)
{
    struct play *p = owner;

    p->over++;
    p->rows += c->n;
    for (uint32_t i = 0; i < c->n; i++)
        p->faults[c->row[i].fault]++;
}

static uint32_t take(void *owner, uint32_t most, struct wire_bytes *ids)
{
    struct play *p = owner;

    return waiting_take(&p->waiting, most, ids);
}

static bool again(void *owner)
{
    return waiting_again(&((struct play *)owner)->waiting);
}

static void scored(void *owner, const float *scores, const bool *missing)
{
    struct play *p = owner;

    p->rounds++;
    waiting_scored(&p->waiting, scores, missing);
}

static bool closes(void *owner)
{
    return ((struct play *)owner)->others;
}

static void begins(void *owner)
{
    waiting_ends(&((struct play *)owner)->waiting, false);
}

/* Rows first .. first + n, in one call. */
static void ask_until(size_t client, uint32_t first, uint32_t n, uint64_t until_us)
{
    struct waiting_call *c = waiting_call_new(n, (size_t)n * 12);
    char *text = waiting_call_text(c);

    c->client = client;
    c->until_us = until_us;
    for (uint32_t i = 0; i < n; i++) {
        c->row[i].id = text;
        c->row[i].n = (size_t)sprintf(text, "%u", first + i);
        text += c->row[i].n;
    }
    assert_false(waiting_add(&play.waiting, c, true,
                             (struct waiting_kind){NN_LOSS_SOFTMAX, play.plan.shape.outputs}));
    standing_asked(play.s);
}

static void ask(uint32_t first, uint32_t n)
{
    ask_until(0, first, n, UINT64_MAX);
}

/* --- the federation --- */

static void said(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    (void)who, (void)to, (void)m, (void)owner;
    if (++play.said == play.at)
        sim_break_at(
            s, (struct sim_break){.what = SIM_DEATH, .who = play.who, .at_us = sim_now_us(s)});
}

static void charged(struct sim *s, uint32_t party, const struct action_charge *c, void *owner)
{
    (void)s, (void)owner;
    play.charges += party == 0 && c->rounds > 0;
}

static void ended(struct sim *s, int who, void *owner)
{
    (void)s, (void)who, (void)owner;
}

static void begin(const char *const *sets, uint32_t at, int who)
{
    const struct waiting_calls calls = {&play, nothing_kept, NULL, note_scores, note_over};
    struct sim_options o = {.parties = PARTIES,
                            .train_rows = 12,
                            .checkpoint_rounds = 1,
                            .predicted = ROWS - 1, /* the last one nobody has */
                            .stands = true,
                            .quiet = true};

    memset(&play, 0, sizeof play);
    for (size_t i = 0; sets[i] != NULL; i++)
        o.sets[i] = sets[i];
    play.s = sim_new(&o);
    play.plan = play.s->plan;
    play.at = at;
    play.who = who;
    play.s->ear = (struct sim_ear){said, charged, ended, &play};
    play.feed = (struct server_feed){&play, take, again, scored, closes};
    assert_int_equal(waiting_init(&play.waiting, &calls, 100), STATUS_OK);
}

static void open_job(uint32_t rows)
{
    const struct standing_job job = {.kind = STANDING_PREDICT,
                                     .plan = play.plan,
                                     .asked = {.rows = rows,
                                               .batch = BATCH,
                                               .feed = &play.feed,
                                               .begins = begins,
                                               .idle_ms = IDLE_MS}};

    waiting_begins(&play.waiting);
    standing_play(play.s, &job);
}

static void run(uint64_t us)
{
    sim_run(play.s, us);
}

static void run_into_a_round(void)
{
    uint64_t us = 10, before;

    while (play.charges == 0 && us < SECOND_US) {
        before = sim_now_us(play.s); /* which stands where something last happened */
        run(us);
        us = sim_now_us(play.s) == before ? us + 10 : 10;
    }
    assert_true(play.charges > 0);
}

static void end(void)
{
    const char *broken;

    run(100 * SECOND_US);
    assert_false(standing_plays(play.s));
    waiting_ends(&play.waiting, false);
    waiting_fail(&play.waiting, NULL, FAULT_STOPPED);
    waiting_deinit(&play.waiting);
    for (uint32_t i = 0; i < PARTIES; i++) {
        assert_int_equal(sim_party_report(play.s, i)->phase, PHASE_GATHER);
        assert_false(sim_party_end(play.s, i)->over);
        assert_true(sim_charged(play.s, i) >= sim_uploaded(play.s, i));
    }
    broken = sim_broken(play.s);
    if (broken != NULL)
        fail_msg("%s", broken);
    sim_free(play.s);
}

static enum wire_outcome outcome(void)
{
    return sim_server_end(play.s)->outcome;
}

/* What a job whose rows are known says of the same rows. */
static void expect_scores_of_a_closed_job(uint32_t rows, double most)
{
    const struct standing_job job = {.kind = STANDING_PREDICT,
                                     .plan = play.plan,
                                     .asked = {.rows = rows, .batch = BATCH, .anew = true}};

    standing_play(play.s, &job);
    run(10 * SECOND_US);
    assert_int_equal(outcome(), OUTCOME_COMPLETED);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t k = 0; k < play.plan.shape.outputs; k++)
            assert_true(fabs((double)(standing_score(play.s, r)[k] - play.score[r][k])) <= most);
}

/* --- rounds --- */

static void
test_a_lone_row_is_asked_at_once_and_those_that_come_meanwhile_share_a_round(void **state)
{
    static const char *const *const how[] = {fixed, coded};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        begin(how[i], 0, 0);
        ask(0, 1);
        open_job(100);
        run(SOON_US);
        assert_true(play.over == 1 && play.rounds == 1 && standing_plays(play.s));
        ask(1, 1); /* is in a round; the rest comes while that is under way */
        ask(2, 1);
        ask(3, 2);
        ask(4, 1);
        run(SOON_US);
        assert_int_equal(play.over, 5);
        assert_int_equal(play.rounds, 3);
        ask(5, 6); /* more than a round has room for */
        run(SOON_US);
        assert_int_equal(play.rounds, 5);
        assert_int_equal(play.faults[FAULT_NONE], play.rows);
        for (uint32_t k = 0; k < PARTIES; k++)
            assert_int_equal(sim_charged(play.s, k), ROWS - 1); /* one row was asked for twice */
        run(IDLE_MS * 1000);
        assert_false(standing_plays(play.s));
        assert_int_equal(outcome(), OUTCOME_COMPLETED);
        expect_scores_of_a_closed_job(ROWS - 1, i == 0 ? 1e-4 : 5e-3);
        end();
    }
}

static void test_it_ends_when_it_was_idle_and_not_before(void **state)
{
    (void)state;
    begin(pbm, 0, 0);
    open_job(100); /* with nobody who asks */
    for (uint32_t row = 0; row < 4; row++) {
        run(IDLE_MS * 800);
        assert_true(standing_plays(play.s));
        ask(row, 1);
    }
    run(SOON_US);
    standing_asked(play.s); /* by somebody who asks for nothing */
    run(IDLE_MS * 1000 - 100000);
    assert_true(standing_plays(play.s));
    run(IDLE_MS * 1000 + 100000);
    assert_false(standing_plays(play.s));
    assert_int_equal(play.over, 4);
    end();
}

static void test_it_ends_between_two_rounds_when_others_wait(void **state)
{
    (void)state;
    begin(fixed, 0, 0);
    ask(0, BATCH + 1);
    open_job(100);
    play.others = true;
    standing_asked(play.s); /* in the midst of agreeing, where there is nothing to wait for */
    run(SOON_US);
    assert_false(standing_plays(play.s));
    play.others = false;
    open_job(100);
    run_into_a_round();
    play.others = true; /* in the midst of a round */
    standing_asked(play.s);
    run(SOON_US);
    assert_false(standing_plays(play.s));
    assert_true(play.rounds == 1 && play.over == 0);
    play.others = false;
    open_job(100);
    run(SOON_US);
    assert_true(play.over == 1 && play.rounds == 2);
    for (uint32_t k = 0; k < PARTIES; k++)
        assert_int_equal(sim_charged(play.s, k), BATCH + 1);
    play.others = true; /* at rest */
    standing_asked(play.s);
    run(1000);
    assert_false(standing_plays(play.s));
    end();
}

static void test_it_asks_for_as_many_rows_as_it_has_said(void **state)
{
    (void)state;
    begin(fixed, 0, 0);
    ask(0, 6);
    open_job(5);
    run(SOON_US);
    assert_false(standing_plays(play.s));
    assert_int_equal(outcome(), OUTCOME_COMPLETED);
    assert_true(play.over == 0 && play.known[4] && !play.known[5]);
    open_job(5);
    run(SOON_US);
    assert_true(play.over == 1 && play.known[5]);
    end();
}

/* --- losses --- */

static void cut(int who)
{
    sim_break_at(play.s,
                 (struct sim_break){.what = SIM_CUT, .who = who, .at_us = sim_now_us(play.s)});
}

static void test_a_lost_party_costs_the_round_under_way(void **state)
{
    (void)state;
    begin(fixed, 0, 0);
    ask(0, 3);
    open_job(100);
    run_into_a_round();
    cut(1);
    run(10 * SECOND_US);
    assert_true(play.over == 1 && play.faults[FAULT_NONE] == 3);
    assert_int_equal(sim_charged(play.s, 0), 6); /* a party that is lost begins anew */
    expect_scores_of_a_closed_job(3, 1e-4);
    end();
}

static void test_a_party_that_is_lost_at_rest_costs_nothing(void **state)
{
    (void)state;
    begin(fixed, 0, 0);
    ask(0, 3);
    open_job(100);
    run(SOON_US);
    cut(1);
    run(SOON_US);
    ask(3, 1);
    run(SOON_US);
    assert_int_equal(play.over, 2);
    for (uint32_t k = 0; k < PARTIES; k++)
        assert_int_equal(sim_charged(play.s, k), 4);
    end();
}

/* Its place is used up, and the next rows have the one behind it. */
static void test_a_round_that_nobody_waits_for_is_not_asked_again(void **state)
{
    (void)state;
    begin(fixed, 0, 0);
    ask_until(0, 0, 3, 7);
    open_job(6);
    run_into_a_round();
    cut(1);
    waiting_expire(&play.waiting, 7, FAULT_LATE);
    assert_true(play.over == 1 && play.faults[FAULT_LATE] == 3);
    run(SOON_US);
    ask(5, 2);
    run(SOON_US);
    assert_true(play.over == 2 && play.faults[FAULT_NONE] == 2);
    assert_int_equal(sim_charged(play.s, 0), 5);
    ask(7, 2); /* of which there is room for one */
    run(SOON_US);
    assert_false(standing_plays(play.s));
    assert_true(play.known[7] && !play.known[8] && !play.known[0]);
    end();
}

/* --- one that is no row here --- */

static void test_where_sums_are_exact_one_unknown_id_costs_no_other(void **state)
{
    (void)state;
    begin(fixed, 0, 0);
    ask(ROWS - 3, 3); /* of which the last one is nobody's */
    ask(0, 1);
    open_job(100);
    for (int i = 0; i < 8 && play.over < 2; i++) {
        run(SOON_US);
        if (standing_plays(play.s))
            continue;
        assert_int_equal(outcome(), OUTCOME_FAILED);
        assert_int_equal(sim_server_end(play.s)->error.status, STATUS_DATA);
        waiting_ends(&play.waiting, true);
        open_job(100);
    }
    assert_int_equal(play.over, 2);
    assert_true(play.faults[FAULT_NONE] == 3 && play.faults[FAULT_REFUSED] == 1);
    end();
}

/* Not in their rounds, nor while each of them is asked for alone. */
static void test_many_that_nobody_answers_for_keep_no_other_waiting(void **state)
{
    static const struct {
        uint32_t unknown, jobs; /* until the other is answered */
        size_t client;
    } cases[] = {{BATCH - 1, 3, 1}, {BATCH - 1, 3, 0}, {5 * BATCH, 11, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(fixed, 0, 0);
        ask(ROWS - 1, cases[i].unknown);
        ask_until(cases[i].client, 0, 1, UINT64_MAX);
        for (uint32_t k = 0; k < cases[i].jobs; k++) {
            assert_int_equal(play.over, 0);
            waiting_ends(&play.waiting, true);
            open_job(100);
            run(SOON_US);
        }
        assert_true(play.rows == 1 && play.faults[FAULT_NONE] == 1);
        end();
    }
}

static void test_where_there_is_noise_an_unknown_id_is_answered(void **state)
{
    (void)state;
    begin(pbm, 0, 0);
    ask(ROWS - 3, 3);
    open_job(100);
    run(SOON_US);
    assert_true(play.over == 1 && play.faults[FAULT_NONE] == 3);
    end();
}

/* --- deaths --- */

/* Calls at three moments; each is answered in the end, whoever dies at which message. */
static uint32_t play_all(const char *const *sets, uint32_t at, int who)
{
    uint32_t messages;

    begin(sets, at, who);
    ask(0, 2);
    open_job(100);
    run(SOON_US);
    ask(2, 5);
    run(1500);
    ask(7, 1);
    ask(8, 2);
    for (int i = 0; i < 10 && play.over < 4; i++) {
        run(10 * SECOND_US);
        if (!standing_plays(play.s))
            open_job(100);
    }
    assert_int_equal(play.over, 4);
    assert_int_equal(play.faults[FAULT_NONE], 10);
    run(10 * SECOND_US);
    messages = play.said;
    end();
    return messages;
}

static void test_a_death_at_any_message_loses_no_call_and_sends_nothing_uncharged(void **state)
{
    static const char *const *const how[] = {coded, pbm};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const uint32_t messages = play_all(how[i], 0, 0);

        assert_true(messages > 30);
        for (uint32_t at = 1; at <= messages; at += ONE_OF)
            for (int who = SIM_SERVER; who < PARTIES; who++)
                (void)play_all(how[i], at, who);
    }
}

/* --- a server that lies --- */

static void say_none(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->broadcast.ids.n = 0;
}

static void say_too_many(struct wire_msg *m, void *owner)
{
    static const uint8_t five[] = "0\n1\n2\n3\n4\n";

    (void)owner;
    m->broadcast.ids = (struct wire_bytes){five, sizeof five - 1};
}

static void say_further(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->broadcast.place++;
}

static void say_before(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->broadcast.place--;
}

static void say_beyond(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->broadcast.place = 100;
}

static void test_a_party_answers_no_round_that_is_none_of_the_job(void **state)
{
    void (*const lies[])(struct wire_msg *, void *) = {say_none, say_too_many, say_further,
                                                       say_before, say_beyond};

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        begin(fixed, 0, 0);
        sim_rule(play.s, (struct sim_rule){.act = SIM_ALTER,
                                           .from = SIM_SERVER,
                                           .party = 1,
                                           .kind = WIRE_BROADCAST,
                                           .nth = 2,
                                           .alter = lies[i]});
        ask(0, 2);
        open_job(100);
        run(SOON_US);
        ask(2, 2);
        run(SOON_US);
        assert_int_equal(sim_uploaded(play.s, 1), 2);
        assert_int_equal(sim_charged(play.s, 1), 2);
        assert_true(play.over == 1 && !standing_plays(play.s));
        assert_int_equal(outcome(), OUTCOME_FAILED);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_a_lone_row_is_asked_at_once_and_those_that_come_meanwhile_share_a_round),
        cmocka_unit_test(test_it_ends_when_it_was_idle_and_not_before),
        cmocka_unit_test(test_it_ends_between_two_rounds_when_others_wait),
        cmocka_unit_test(test_it_asks_for_as_many_rows_as_it_has_said),
        cmocka_unit_test(test_a_lost_party_costs_the_round_under_way),
        cmocka_unit_test(test_a_party_that_is_lost_at_rest_costs_nothing),
        cmocka_unit_test(test_a_round_that_nobody_waits_for_is_not_asked_again),
        cmocka_unit_test(test_where_sums_are_exact_one_unknown_id_costs_no_other),
        cmocka_unit_test(test_many_that_nobody_answers_for_keep_no_other_waiting),
        cmocka_unit_test(test_where_there_is_noise_an_unknown_id_is_answered),
        cmocka_unit_test(test_a_death_at_any_message_loses_no_call_and_sends_nothing_uncharged),
        cmocka_unit_test(test_a_party_answers_no_round_that_is_none_of_the_job),
    };

    sim_keep_pages();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
