/* test_federation.c -- a server's federation and parties play probes one after another, with
 * nothing of training at the server: what it sums, who refuses, who comes and goes in between.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/flow/job.h"
#include "party/core.h"
#include "tests/sim/compared.h"
#include "tests/sim/probe_server.h"
#include "tests/sim/world.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PARTIES = 3, FRAME_MAX = 1 << 16, MAIL_MAX = 64 };

struct mail {
    bool up;
    uint32_t party;
    struct buf frame;
};

struct play {
    struct sim *s;
    struct party_session *party[PARTIES];
    bool away[PARTIES], joined[PARTIES]; /* joined: the server knows of its connection */
    struct server_federation fed;
    struct probe_server probe;
    uint8_t digest[WIRE_DIGEST_BYTES];
    struct mail mail[MAIL_MAX];
    size_t first, mails;
    struct wire_unpacker unpacker;
    struct actions to_do;
    enum wire_outcome outcome; /* of the last job that has ended, at the server, and ... */
    struct error error;        /* ... why */
    uint32_t ended, parties_ended, dropped;
};

static const struct party_job *const known[] = {&probe_party_job, NULL};

static void post(struct play *p, bool up, uint32_t party, const struct wire_msg *m)
{
    struct mail *l = &p->mail[p->mails % MAIL_MAX];

    CHECK(p->mails - p->first < MAIL_MAX);
    *l = (struct mail){.up = up, .party = party};
    buf_init(&l->frame, FRAME_MAX);
    assert_int_equal(wire_pack(&l->frame, m), STATUS_OK);
    p->mails++;
}

/* --- what each side asks for --- */

static void tell_server(struct play *p, struct event e);

static void do_server(struct play *p, const struct actions *a)
{
    static struct actions written;
    static const struct error none;
    bool works = false;

    for (size_t k = 0; k < a->n; k++) {
        const struct action *act = &a->item[k];

        for (size_t i = 0; act->kind == ACTION_SEND && i < act->to_n; i++)
            post(p, false, act->to[i], &act->msg);
        works |= act->kind == ACTION_WORK;
        p->dropped += act->kind == ACTION_DROP;
        if (act->kind != ACTION_FINISH)
            continue;
        p->ended++;
        p->outcome = act->outcome;
        p->error = act->error;
    }
    if (!works)
        return;
    written.n = 0;
    server_federation_work(&p->fed, &written);
    assert_int_equal(written.n, 0);
    tell_server(p, (struct event){.kind = EVENT_DONE, .error = &none});
}

static void tell_server(struct play *p, struct event e)
{
    struct actions a = {.n = 0};

    server_federation_step(&p->fed, 1000, &e, &a);
    do_server(p, &a);
}

static void tell_party(struct play *p, uint32_t i, struct event e)
{
    struct actions *a = &p->to_do;
    bool works = false;

    a->n = 0;
    party_session_step(p->party[i], 1000, &e, a);
    for (size_t k = 0; k < a->n; k++) {
        if (a->item[k].kind == ACTION_SEND)
            post(p, true, i, &a->item[k].msg);
        works |= a->item[k].kind == ACTION_WORK;
        p->parties_ended += a->item[k].kind == ACTION_FINISH;
    }
    if (!works)
        return;
    party_session_work(p->party[i]);
    tell_party(p, i, (struct event){.kind = EVENT_DONE});
}

/* Until nobody has anything to say. */
static void deliver_all(struct play *p)
{
    while (p->first < p->mails) {
        struct mail l = p->mail[p->first++ % MAIL_MAX];
        struct error err = {0};
        struct wire_msg m;

        assert_int_equal(wire_unpack(&m, &p->unpacker, l.frame.data, l.frame.len, &err), STATUS_OK);
        if (!p->away[l.party]) {
            struct event e = {.kind = EVENT_MESSAGE, .peer = l.party, .msg = &m};

            if (l.up && m.kind == WIRE_JOIN && !p->joined[l.party])
                e.kind = EVENT_JOINED;
            p->joined[l.party] |= l.up;
            if (l.up)
                tell_server(p, e);
            else
                tell_party(p, l.party, e);
        }
        buf_deinit(&l.frame);
    }
}

/* --- a federation --- */

static struct server_terms terms_of(struct play *p, const char *text)
{
    job_digest(p->digest, PROBE, text, strlen(text));
    return (struct server_terms){
        .roster = &p->s->roster,
        .kind = PROBE,
        .text = {(const uint8_t *)text, strlen(text)},
        .digest = p->digest,
        .straggler = STRAGGLER_WAIT,
        .patience_ms = 5000,
        .deadline_ms = 5000,
        .smallest = 2,
        .train_rows = p->s->plan.shape.train_rows,
        .test_rows = p->s->plan.shape.test_rows,
        .train = &p->s->train,
        .test = &p->s->test,
        .counts = compared_counts(&p->s->disk.compared),
        .id_mismatches = 9,
    };
}

static void comes(struct play *p, uint32_t i)
{
    p->away[i] = false;
    tell_party(p, i, (struct event){.kind = EVENT_JOINED});
}

static void goes(struct play *p, uint32_t i)
{
    const struct error why = {.status = STATUS_NET};

    p->away[i] = true;
    p->joined[i] = false;
    tell_server(p, (struct event){.kind = EVENT_LOST, .peer = i, .error = &why});
    tell_party(p, i, (struct event){.kind = EVENT_LOST, .error = &why});
}

/* With a first job, for which all come. */
static void begin(struct play *p, const char *text, uint32_t values)
{
    static const struct sim_options three = {.parties = PARTIES, .quiet = true};
    struct server_terms terms;

    *p = (struct play){.s = sim_new(&three)};
    assert_int_equal(wire_unpacker_init(&p->unpacker, FRAME_MAX), STATUS_OK);
    terms = terms_of(p, text);
    p->probe = (struct probe_server){.fed = &p->fed, .values = values};
    assert_int_equal(server_federation_init(&p->fed, &terms, &probe_server_job, &p->probe),
                     STATUS_OK);
    tell_server(p, (struct event){.kind = EVENT_START});
    for (uint32_t i = 0; i < PARTIES; i++) {
        p->party[i] = p->s->party[i].session;
        p->party[i]->setup.jobs = known;
        tell_party(p, i, (struct event){.kind = EVENT_START});
        comes(p, i);
    }
    deliver_all(p);
}

/* And another. */
static void next_job(struct play *p, const char *text, uint32_t values)
{
    struct server_terms terms = terms_of(p, text);

    secagg_server_free(p->probe.sum);
    p->probe = (struct probe_server){.fed = &p->fed, .values = values};
    server_federation_play(&p->fed, &terms, &probe_server_job, &p->probe);
    tell_server(p, (struct event){.kind = EVENT_START});
    deliver_all(p);
}

static void end(struct play *p)
{
    for (; p->first < p->mails; p->first++)
        buf_deinit(&p->mail[p->first % MAIL_MAX].frame);
    secagg_server_free(p->probe.sum);
    server_federation_deinit(&p->fed);
    wire_unpacker_deinit(&p->unpacker);
    sim_free(p->s);
}

/* The masks have gone, nothing is left, and all are where they were before. */
static void expect_played(struct play *p, uint32_t values, uint32_t jobs)
{
    float step = 2 * p->probe.shape.encode.clip / (float)p->probe.shape.encode.value_max;

    assert_int_equal(p->ended, jobs);
    assert_string_equal(p->error.text, "");
    assert_int_equal(p->parties_ended, PARTIES * jobs);
    assert_int_equal(p->outcome, OUTCOME_COMPLETED);
    assert_int_equal(p->fed.sm.phase, PHASE_GATHER);
    assert_int_equal(p->dropped, 0);
    for (uint32_t k = 0; k < values; k++)
        assert_true(fabsf(p->probe.out[k]) <= PARTIES * step); /* each is cut to a code */
    for (uint32_t i = 0; i < PARTIES; i++)
        assert_int_equal(party_session_report(p->party[i])->phase, PHASE_GATHER);
}

static void test_both_sides_play_one_job_after_another(void **state)
{
    static struct play p;

    (void)state;
    begin(&p, "8", 8);
    expect_played(&p, 8, 1);
    next_job(&p, "5", 5);
    expect_played(&p, 5, 2);
    next_job(&p, "5", 5);
    expect_played(&p, 5, 3);
    assert_int_equal(p.fed.set.generation, 3);
    end(&p);
}

/* It is over for all; whoever was there is there for the next. */
static void test_a_job_that_a_party_refuses_costs_that_job_alone(void **state)
{
    static struct play p;

    (void)state;
    begin(&p, "8", 8);
    next_job(&p, "0", 0);
    assert_int_equal(p.ended, 2);
    assert_int_equal(p.outcome, OUTCOME_FAILED);
    assert_int_equal(p.error.status, STATUS_POLICY);
    assert_non_null(strstr(p.error.text, " refuses: "));
    assert_int_equal(p.fed.sm.phase, PHASE_GATHER);
    assert_int_equal(p.dropped, 0);
    next_job(&p, "4", 4);
    assert_int_equal(p.ended, 3);
    assert_int_equal(p.outcome, OUTCOME_COMPLETED);
    end(&p);
}

/* Between two jobs nobody is waited for, and the next waits for everybody. */
static void test_who_goes_between_two_jobs_is_waited_for_in_the_next(void **state)
{
    static struct play p;

    (void)state;
    begin(&p, "8", 8);
    goes(&p, 1);
    assert_int_equal(p.ended, 1);
    next_job(&p, "6", 6);
    assert_int_equal(p.ended, 1);
    assert_int_equal(p.fed.sm.phase, PHASE_GATHER);
    comes(&p, 1);
    deliver_all(&p);
    assert_int_equal(p.ended, 2);
    assert_int_equal(p.outcome, OUTCOME_COMPLETED);
    goes(&p, 2);
    comes(&p, 2);
    deliver_all(&p);
    next_job(&p, "7", 7);
    assert_int_equal(p.ended, 3);
    assert_int_equal(p.outcome, OUTCOME_COMPLETED);
    end(&p);
}

/* A member that goes in the middle: the round is void, and a generation with it ends the job. */
static void test_a_job_goes_on_when_a_member_has_come_back(void **state)
{
    static struct play p;

    (void)state;
    begin(&p, "8", 8);
    p.away[0] = true; /* its answers are lost with its connection */
    next_job(&p, "6", 6);
    assert_int_equal(p.fed.sm.phase, PHASE_AGREE);
    goes(&p, 0);
    assert_int_equal(p.fed.sm.phase, PHASE_GATHER);
    comes(&p, 0);
    deliver_all(&p);
    assert_int_equal(p.ended, 2);
    assert_int_equal(p.outcome, OUTCOME_COMPLETED);
    end(&p);
}

/* --- what parties say of themselves, job by job --- */

static struct {
    uint32_t asked, told;
    int unfit; /* whose join does not fit; -1: nobody's */
} joins;

static enum status fits(void *state, uint32_t peer, const struct wire_join *j)
{
    struct probe_server *p = state;

    assert_false(j->between_jobs);
    joins.asked++;
    return (int)peer == joins.unfit ? error_set(&p->fed->error, STATUS_DATA, "it does not fit")
                                    : STATUS_OK;
}

static void told(void *state, uint32_t peer, const struct wire_join *j)
{
    (void)state;
    (void)peer;
    (void)j;
    joins.told++;
}

/* A probe that asks where parties are, before it begins. */
static void play_asking(struct play *p, const char *text, uint32_t values)
{
    static struct server_job asking;
    struct server_terms terms = terms_of(p, text);

    asking = probe_server_job;
    asking.fits = fits;
    asking.joined = told;
    joins.asked = joins.told = 0;
    joins.unfit = -1;
    secagg_server_free(p->probe.sum);
    p->probe = (struct probe_server){.fed = &p->fed, .values = values};
    server_federation_play(&p->fed, &terms, &asking, &p->probe);
}

/* Begun as far as its offers are on their way. */
static void begin_asking(struct play *p, const char *text, uint32_t values)
{
    play_asking(p, text, values);
    tell_server(p, (struct event){.kind = EVENT_START});
}

/* Who stayed says so to the offer, who came in between has said it, and each is asked of once. */
static void test_each_job_hears_where_every_party_is(void **state)
{
    static struct play p;

    (void)state;
    begin(&p, "8", 8);
    goes(&p, 1);
    comes(&p, 1);
    deliver_all(&p);
    begin_asking(&p, "5", 5);
    deliver_all(&p);
    assert_int_equal(joins.asked, PARTIES);
    assert_int_equal(joins.told, PARTIES);
    expect_played(&p, 5, 2);
    for (uint32_t i = 0; i < PARTIES; i++)
        assert_int_equal(p.fed.counts.joined[i], 1); /* of this job */
    end(&p);
}

/* It has met no job, and says where it is in the next before that is offered. */
static void test_a_new_process_is_heard_before_the_next_job(void **state)
{
    static struct play p;

    (void)state;
    for (int unfit = 0; unfit < 2; unfit++) {
        begin(&p, "8", 8);
        goes(&p, 1);
        world_new_party(p.s, 1);
        p.party[1] = p.s->party[1].session;
        p.party[1]->setup.jobs = known;
        tell_party(&p, 1, (struct event){.kind = EVENT_START});
        comes(&p, 1);
        deliver_all(&p);
        play_asking(&p, "5", 5);
        joins.unfit = unfit ? 1 : -1;
        tell_server(&p, (struct event){.kind = EVENT_START});
        assert_int_equal(joins.asked, 1);
        assert_int_equal(p.dropped, unfit);
        deliver_all(&p);
        assert_int_equal(p.ended, 1 + !unfit); /* or it is waited for */
        end(&p);
    }
}

static void test_a_join_that_does_not_fit_ends_that_job_alone(void **state)
{
    static struct play p;

    (void)state;
    begin(&p, "8", 8);
    begin_asking(&p, "5", 5);
    joins.unfit = 1;
    deliver_all(&p);
    assert_int_equal(joins.told, 1); /* of the one before it; the next was not heard any more */
    assert_int_equal(p.ended, 2);
    assert_int_equal(p.outcome, OUTCOME_FAILED);
    assert_int_equal(p.error.status, STATUS_DATA);
    assert_int_equal(p.parties_ended, 2 * PARTIES);
    next_job(&p, "4", 4);
    assert_int_equal(p.outcome, OUTCOME_COMPLETED);
    end(&p);
}

/* --- what was on its way when a job ended --- */

static struct wire_msg refusal(void)
{
    return (struct wire_msg){.kind = WIRE_REFUSE,
                             .refuse = {STATUS_KIND_POLICY, "no more of this", 0}};
}

static void from_party(struct play *p, uint32_t i, struct wire_msg m)
{
    tell_server(p, (struct event){.kind = EVENT_MESSAGE, .peer = i, .msg = &m});
}

static void test_what_a_party_said_of_one_job_is_not_heard_in_the_next(void **state)
{
    const struct wire_msg kept = {.kind = WIRE_KEPT, .kept = {7, true}};
    static struct play p;

    (void)state;
    begin(&p, "8", 8);
    begin_asking(&p, "5", 5);
    from_party(&p, 1, refusal());
    from_party(&p, 2, kept); /* or else it would be an unheard-of message to a probe */
    from_party(&p, 0, (struct wire_msg){.kind = WIRE_UPLOAD, .upload = {.generation = 1}});
    assert_int_equal(p.fed.counts.stale_messages, 0);
    deliver_all(&p);
    expect_played(&p, 5, 2);
    end(&p);
}

/* The same behind its join. */
static void test_what_it_says_of_this_one_is(void **state)
{
    static struct play p;

    (void)state;
    begin(&p, "8", 8);
    begin_asking(&p, "5", 5);
    p.away[0] = true; /* so that the others wait in AGREE */
    deliver_all(&p);
    assert_int_equal(joins.told, PARTIES - 1);
    from_party(&p, 1, refusal());
    assert_int_equal(p.ended, 2);
    assert_int_equal(p.outcome, OUTCOME_FAILED);
    assert_non_null(strstr(p.error.text, "no more of this"));
    end(&p);
}

/* Where it is in a job it says once to each offer, not of a generation to come, and before it says
 * hello.  It costs nobody where the loss of another has undone that offer: it is said again of the
 * next. */
static void test_a_join_too_many_or_too_few_costs_its_party(void **state)
{
    static const uint8_t trail[WIRE_DIGEST_BYTES];
    static struct play p;
    struct wire_msg m = {.kind = WIRE_JOIN};

    (void)state;
    for (int k = 0; k < 5; k++) {
        begin(&p, "8", 8);
        begin_asking(&p, "5", 5);
        if (k == 4)
            goes(&p, 2);
        m.join = (struct wire_join){.version = WIRE_VERSION,
                                    .roster_digest = p.s->roster.digest,
                                    .trail = trail,
                                    .generation = k == 1 ? 3 : 2,
                                    .between_jobs = k == 2};
        if (k == 3)
            m = (struct wire_msg){.kind = WIRE_HELLO, .hello.generation = 2};
        from_party(&p, 1, m);
        assert_int_equal(p.dropped, k > 0 && k < 4);
        if (k < 4)
            from_party(&p, 1, m);
        assert_int_equal(p.dropped, k < 4);
        end(&p);
    }
}

/* A stop ends who stands between two jobs, too; nobody is told of a job. */
static void test_an_order_to_stop_is_answered_between_two_jobs(void **state)
{
    static struct play p;

    (void)state;
    begin(&p, "8", 8);
    tell_server(&p, (struct event){.kind = EVENT_STOP});
    assert_int_equal(p.ended, 2);
    assert_int_equal(p.outcome, OUTCOME_STOPPED);
    assert_int_equal(p.mails, p.first);
    end(&p);
}

/* Timers that ran out as the job ended, or a message that could not be packed: of no job. */
static void test_between_two_jobs_nothing_else_is_answered(void **state)
{
    static const struct error none;
    static struct play p;

    (void)state;
    begin(&p, "8", 8);
    tell_server(&p, (struct event){.kind = EVENT_TIMER});
    tell_server(&p, (struct event){.kind = EVENT_UNSENT, .error = &none});
    tell_server(&p, (struct event){.kind = EVENT_KEPT, .error = &none});
    from_party(&p, 0, refusal());
    assert_int_equal(p.ended, 1);
    assert_int_equal(p.mails, p.first);
    next_job(&p, "5", 5);
    expect_played(&p, 5, 2);
    end(&p);
}

/* Who was shut out of a job, or sat out, or was lost in it, is in the next as anybody is. */
static void test_marks_end_with_the_job(void **state)
{
    static struct play p;

    (void)state;
    begin(&p, "8", 8);
    begin_asking(&p, "6", 6);
    for (uint32_t i = 0; i < PARTIES; i++) {
        struct server_peer *peer = &p.fed.peer[i];

        peer->excluded = peer->barred = peer->spoken = true;
        peer->losses = peer->owed = SERVER_LOSSES_MAX;
    }
    assert_true(odds_add(&p.fed.odds, 0, 1, ODDS_SHARES));
    tell_server(&p, (struct event){.kind = EVENT_STOP});
    goes(&p, 1); /* and comes back, though it was shut out */
    comes(&p, 1);
    deliver_all(&p);
    assert_int_equal(p.dropped, 0);
    play_asking(&p, "5", 5);
    assert_false(odds_between(&p.fed.odds, 0, 1));
    for (uint32_t i = 0; i < PARTIES; i++) {
        const struct server_peer *peer = &p.fed.peer[i];

        assert_false(peer->excluded || peer->barred || peer->spoken);
        assert_int_equal(peer->losses + peer->owed, 0);
        assert_int_equal(peer->member, -1);
        assert_int_equal(p.fed.odds.others[i], 0);
    }
    tell_server(&p, (struct event){.kind = EVENT_START});
    deliver_all(&p);
    expect_played(&p, 5, 3);
    end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_sides_play_one_job_after_another),
        cmocka_unit_test(test_a_job_that_a_party_refuses_costs_that_job_alone),
        cmocka_unit_test(test_who_goes_between_two_jobs_is_waited_for_in_the_next),
        cmocka_unit_test(test_a_job_goes_on_when_a_member_has_come_back),
        cmocka_unit_test(test_each_job_hears_where_every_party_is),
        cmocka_unit_test(test_a_new_process_is_heard_before_the_next_job),
        cmocka_unit_test(test_a_join_that_does_not_fit_ends_that_job_alone),
        cmocka_unit_test(test_what_a_party_said_of_one_job_is_not_heard_in_the_next),
        cmocka_unit_test(test_what_it_says_of_this_one_is),
        cmocka_unit_test(test_a_join_too_many_or_too_few_costs_its_party),
        cmocka_unit_test(test_an_order_to_stop_is_answered_between_two_jobs),
        cmocka_unit_test(test_between_two_jobs_nothing_else_is_answered),
        cmocka_unit_test(test_marks_end_with_the_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
