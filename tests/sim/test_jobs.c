/* test_jobs.c -- parties play one job after another: probes, between them jobs that somebody
 * refuses, and then training.  The server is played by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/flow/job.h"
#include "party/core.h"
#include "party/train/train.h"
#include "tests/sim/inside.h"
#include "tests/sim/probe_party.h"
#include "tests/sim/world.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PARTIES = 3, FRAME_MAX = 1 << 16 };

/* A server, of which the parties have nothing to fear. */
struct play {
    struct sim *s;
    struct party_session *party[PARTIES];
    struct wire_unpacker unpacker;
    struct buf frame;
    uint64_t generation;
    uint8_t job[WIRE_DIGEST_BYTES], list[WIRE_DIGEST_BYTES], sid[WIRE_DIGEST_BYTES];
    struct ids_pair ids;
    struct agree_hello hellos[PARTIES];
    struct actions actions; /* of the last step */
    bool holds;             /* its work is not done yet */
};

static const struct party_job *const both[] = {&party_train_job, &probe_party_job, NULL};
static const uint8_t secret[IDS_SECRET_BYTES] = {1};

static void tell(struct play *p, uint32_t i, struct event e)
{
    p->actions.n = 0;
    party_session_step(p->party[i], 0, &e, &p->actions);
    for (size_t k = 0; k < p->actions.n && !p->holds; k++) {
        if (p->actions.item[k].kind != ACTION_WORK)
            continue;
        party_session_work(p->party[i]);
        tell(p, i, (struct event){.kind = EVENT_DONE});
        return;
    }
}

static void deliver(struct play *p, uint32_t i, const struct wire_msg *m)
{
    tell(p, i, (struct event){.kind = EVENT_MESSAGE, .msg = m});
}

static const struct action *asked(const struct play *p, enum action_kind kind)
{
    for (size_t k = 0; k < p->actions.n; k++) {
        if (p->actions.item[k].kind == kind)
            return &p->actions.item[k];
    }
    return NULL;
}

/* As it comes off the wire; until the next. */
static void through(struct play *p, struct wire_msg *m)
{
    struct error err = {0};

    assert_int_equal(wire_pack(&p->frame, m), STATUS_OK);
    assert_int_equal(wire_unpack(m, &p->unpacker, p->frame.data, p->frame.len, &err), STATUS_OK);
}

/* Of this kind the last one told has sent. */
static struct wire_msg said(struct play *p, enum wire_kind kind)
{
    struct wire_msg m = {.kind = WIRE_NONE};

    for (size_t k = 0; k < p->actions.n && m.kind != kind; k++) {
        if (p->actions.item[k].kind == ACTION_SEND)
            m = p->actions.item[k].msg;
    }
    assert_int_equal(m.kind, kind);
    through(p, &m);
    return m;
}

static enum phase phase_of(const struct play *p, uint32_t i)
{
    return party_session_report(p->party[i])->phase;
}

static void begin(struct play *p, const struct sim_options *o)
{
    *p = (struct play){.s = sim_new(o)};
    buf_init(&p->frame, FRAME_MAX);
    assert_int_equal(wire_unpacker_init(&p->unpacker, FRAME_MAX), STATUS_OK);
    ids_list(p->list, &p->s->party[0].train, &p->s->party[0].test);
    for (uint32_t i = 0; i < PARTIES; i++) {
        p->party[i] = p->s->party[i].session;
        p->party[i]->setup.jobs = both;
        tell(p, i, (struct event){.kind = EVENT_START});
        tell(p, i, (struct event){.kind = EVENT_JOINED});
        said(p, WIRE_JOIN);
    }
}

static void stop(struct play *p)
{
    ids_forget(&p->ids);
    wire_unpacker_deinit(&p->unpacker);
    buf_deinit(&p->frame);
    sim_free(p->s);
}

/* --- a set comes together --- */

static void offer(struct play *p, uint32_t i, const char *kind, const void *text, size_t n)
{
    static const uint8_t members[PARTIES] = {0, 1, 2};
    struct wire_msg m = {.kind = WIRE_OFFER};

    snprintf(m.offer.job.kind, sizeof m.offer.job.kind, "%s", kind);
    m.offer.generation = p->generation;
    m.offer.job.text = (struct wire_bytes){text, n};
    m.offer.members = (struct wire_bytes){members, PARTIES};
    m.offer.element = m.offer.playing = p->ids.own.element;
    through(p, &m);
    deliver(p, i, &m);
}

static void next_generation(struct play *p, const char *kind, const void *text, size_t n)
{
    const struct roster *r = &p->s->roster;
    const struct ids_own own = {p->list, secret};

    p->generation++;
    job_digest(p->job, kind, text, n);
    ids_forget(&p->ids);
    assert_int_equal(ids_begin(&p->ids, &own, r->server.key, r->party[0].key, IDS_AFTER),
                     STATUS_OK);
}

static void relay_hellos(struct play *p)
{
    const struct agree_terms terms = {p->job, p->generation, p->ids.own.element,
                                      p->ids.own.element};
    struct wire_hello show[PARTIES];
    struct wire_msg m = {.kind = WIRE_HELLOS, .hellos = {p->generation, PARTIES, show}};

    for (uint32_t i = 0; i < PARTIES; i++)
        show[i] = agree_show_hello(&p->hellos[i]);
    agree_sid(p->sid, &terms, p->hellos, PARTIES);
    assert_int_equal(ids_end(&p->ids, p->hellos[0].elements, p->sid), STATUS_OK);
    for (uint32_t i = 0; i < PARTIES; i++) {
        struct wire_msg copy = m;

        through(p, &copy);
        deliver(p, i, &copy);
        assert_int_equal(phase_of(p, i), PHASE_CONFIRM);
    }
}

/* All agree on this job. */
static void agree(struct play *p, const char *kind, const void *text, size_t n)
{
    struct agree_confirm kept[PARTIES];
    struct wire_confirm show[PARTIES];
    struct wire_msg m = {.kind = WIRE_CONFIRMS,
                         .confirms = {p->generation + 1, PARTIES, show, p->ids.shown}};

    next_generation(p, kind, text, n);
    for (uint32_t i = 0; i < PARTIES; i++) {
        struct wire_msg hello;

        offer(p, i, kind, text, n);
        hello = said(p, WIRE_HELLO);
        agree_keep_hello(&p->hellos[i], &hello.hello);
    }
    relay_hellos(p);
    for (uint32_t i = 0; i < PARTIES; i++)
        kept[i] = p->party[i]->fed.own_confirm; /* as it was sent */
    for (uint32_t i = 0; i < PARTIES; i++) {
        struct wire_msg copy = m;

        for (uint32_t k = 0; k < PARTIES; k++)
            show[k] = agree_show_confirm(&kept[k], p->generation);
        through(p, &copy);
        deliver(p, i, &copy);
    }
}

/* --- it is played --- */

static void dismiss(struct play *p, enum wire_outcome outcome)
{
    struct wire_msg m = {.kind = WIRE_FINISH, .finish.outcome = outcome};

    for (uint32_t i = 0; i < PARTIES; i++) {
        deliver(p, i, &m);
        assert_non_null(asked(p, ACTION_FINISH));
        assert_int_equal(asked(p, ACTION_FINISH)->outcome, outcome);
        assert_int_equal(phase_of(p, i), PHASE_GATHER);
    }
}

/* The masks go, and nothing is left. */
static void play_probe(struct play *p, uint32_t n, const char *text)
{
    struct wire_msg m = {.kind = WIRE_BROADCAST};
    struct secagg_server *sum = NULL;
    struct secagg_shape shape;
    struct error err = {0};
    float out[PROBE_VALUES_MAX], step;

    agree(p, PROBE, text, strlen(text));
    probe_shape(&shape, n, PARTIES, 0);
    step = 2 * shape.encode.clip / (float)shape.encode.value_max;
    assert_int_equal(secagg_server_new(&sum, AGGREGATION_MASKED, &shape), STATUS_OK);
    secagg_begin(sum, n);
    m.broadcast = (struct wire_broadcast){
        .generation = p->generation, .opens = true, .purpose = PURPOSE_TRAIN, .round = 1};
    for (uint32_t i = 0; i < PARTIES; i++) {
        struct wire_msg copy = m;

        through(p, &copy);
        deliver(p, i, &copy);
        copy = said(p, WIRE_UPLOAD);
        assert_int_equal(secagg_add(sum, i, copy.upload.payload.data, copy.upload.check.data, &err),
                         STATUS_OK);
    }
    assert_int_equal(secagg_combine(sum, out, n, &err), STATUS_OK);
    for (uint32_t k = 0; k < n; k++)
        assert_true(fabsf(out[k]) <= PARTIES * step); /* each is cut to a code */
    secagg_server_free(sum);
    dismiss(p, OUTCOME_COMPLETED);
}

static const struct sim_options three = {.parties = PARTIES, .quiet = true};

static void test_a_federation_plays_one_probe_after_another(void **state)
{
    struct play p;

    (void)state;
    begin(&p, &three);
    play_probe(&p, 8, "8");
    play_probe(&p, 5, "5");
    play_probe(&p, 5, "5");
    stop(&p);
}

/* Who refuses one is ready for the next, be it of a kind it has never heard of or one that its own
 * rules keep it from. */
static void test_a_job_that_is_refused_costs_that_job_alone(void **state)
{
    struct play p;

    (void)state;
    begin(&p, &three);
    next_generation(&p, "dance", "waltz", 5);
    for (uint32_t i = 0; i < PARTIES; i++) {
        offer(&p, i, "dance", "waltz", 5);
        assert_int_equal(said(&p, WIRE_REFUSE).refuse.kind, STATUS_KIND_CONFIG);
        assert_null(asked(&p, ACTION_FINISH));
        assert_int_equal(phase_of(&p, i), PHASE_GATHER);
    }
    play_probe(&p, 3, "3");
    next_generation(&p, PROBE, "0", 1);
    for (uint32_t i = 0; i < PARTIES; i++) {
        offer(&p, i, PROBE, "0", 1);
        assert_int_equal(said(&p, WIRE_REFUSE).refuse.kind, STATUS_KIND_POLICY);
        assert_int_equal(asked(&p, ACTION_FINISH)->error.status, STATUS_POLICY);
        assert_int_equal(phase_of(&p, i), PHASE_GATHER);
    }
    play_probe(&p, 4, "4");
    stop(&p);
}

/* Generations are the federation's: what was one job's does not come back in the next. */
static void test_a_generation_of_the_job_before_is_refused(void **state)
{
    struct play p;

    (void)state;
    begin(&p, &three);
    play_probe(&p, 8, "8");
    offer(&p, 0, PROBE, "8", 1);
    assert_int_equal(said(&p, WIRE_REFUSE).refuse.kind, STATUS_KIND_PEER);
    assert_non_null(asked(&p, ACTION_FINISH));
    stop(&p);
}

/* Offered to the first party alone. */
static void next_plan(struct play *p, const struct plan *plan)
{
    struct buf text;

    buf_init(&text, PLAN_TEXT_MAX);
    assert_int_equal(plan_print(plan, &text), STATUS_OK);
    next_generation(p, JOB_TRAIN, text.data, text.len);
    offer(p, 0, JOB_TRAIN, text.data, text.len);
    buf_deinit(&text);
}

static void train(struct play *p, const struct plan *plan)
{
    struct buf text;

    buf_init(&text, PLAN_TEXT_MAX);
    assert_int_equal(plan_print(plan, &text), STATUS_OK);
    agree(p, JOB_TRAIN, text.data, text.len);
    for (uint32_t i = 0; i < PARTIES; i++) {
        assert_int_equal(phase_of(p, i), PHASE_ROUND);
        assert_int_equal(party_session_report(p->party[i])->plan.training.seed,
                         plan->training.seed);
        assert_int_equal(party_session_report(p->party[i])->progress.applied, 0);
    }
    dismiss(p, OUTCOME_STOPPED);
    buf_deinit(&text);
}

/* And after training another run, which has nothing of the first. */
static void test_training_comes_after_a_probe_and_after_training(void **state)
{
    struct play p;
    struct plan other;

    (void)state;
    begin(&p, &three);
    play_probe(&p, 8, "8");
    train(&p, &p.s->plan);
    other = p.s->plan;
    other.training.seed++;
    train(&p, &other);
    play_probe(&p, 2, "2");
    stop(&p);
}

/* --- what was on its way when a job ended here --- */

static void refuses(struct play *p, const char *kind, const char *text, enum status_kind why)
{
    next_generation(p, kind, text, strlen(text));
    offer(p, 0, kind, text, strlen(text));
    assert_int_equal(said(p, WIRE_REFUSE).refuse.kind, why);
    assert_non_null(asked(p, ACTION_FINISH));
    assert_int_equal(phase_of(p, 0), PHASE_GATHER);
}

static void test_what_the_server_says_of_a_job_that_was_refused_is_not_heard(void **state)
{
    struct wire_msg late[] = {
        {.kind = WIRE_BROADCAST, .broadcast = {.generation = 1, .round = 1}},
        {.kind = WIRE_FINISH, .finish.outcome = OUTCOME_FAILED},
        {.kind = WIRE_REFUSE, .refuse.kind = STATUS_KIND_PEER},
    };
    struct play p;

    (void)state;
    begin(&p, &three);
    refuses(&p, PROBE, "0", STATUS_KIND_POLICY);
    for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
        deliver(&p, 0, &late[i]);
        assert_int_equal(p.actions.n, 0);
    }
    play_probe(&p, 4, "4");
    stop(&p);
}

static void test_a_probe_of_no_number_is_refused(void **state)
{
    struct play p;

    (void)state;
    begin(&p, &three);
    refuses(&p, PROBE, "twelve", STATUS_KIND_PEER);
    refuses(&p, PROBE, "65", STATUS_KIND_PEER);
    refuses(&p, PROBE, "99999999999999999999999999", STATUS_KIND_PEER);
    play_probe(&p, 64, "64");
    stop(&p);
}

/* One job at a time. */
static void test_another_job_in_the_middle_of_one_is_refused(void **state)
{
    struct play p;

    (void)state;
    begin(&p, &three);
    next_plan(&p, &p.s->plan);
    said(&p, WIRE_HELLO);
    refuses(&p, PROBE, "8", STATUS_KIND_PEER);
    play_probe(&p, 8, "8");
    stop(&p);
}

/* --- where a party is in a job --- */

static const struct action *first_said(const struct play *p)
{
    return asked(p, ACTION_SEND);
}

/* To the first offer of a job, before anything else; until hellos show that the server knows. */
static void test_a_party_that_stays_says_where_it_is_in_the_next_job(void **state)
{
    struct play p;

    (void)state;
    begin(&p, &three);
    play_probe(&p, 8, "8");
    for (int k = 0; k < 2; k++) {
        next_generation(&p, PROBE, "5", 1);
        offer(&p, 0, PROBE, "5", 1);
        assert_int_equal(first_said(&p)->msg.kind, WIRE_JOIN);
        assert_int_equal(said(&p, WIRE_JOIN).join.generation, p.generation);
        assert_false(said(&p, WIRE_JOIN).join.between_jobs);
        said(&p, WIRE_HELLO);
    }
    agree(&p, PROBE, "5", 1);
    next_generation(&p, PROBE, "5", 1);
    offer(&p, 0, PROBE, "5", 1);
    assert_int_equal(first_said(&p)->msg.kind, WIRE_HELLO);
    next_generation(&p, PROBE, "0", 1);
    offer(&p, 0, PROBE, "0", 1); /* a set of the same job, with another text */
    assert_int_equal(first_said(&p)->msg.kind, WIRE_REFUSE);
    next_generation(&p, "dance", "waltz", 5);
    offer(&p, 0, "dance", "waltz", 5); /* what is refused, too, is of a job that it has met */
    assert_int_equal(first_said(&p)->msg.kind, WIRE_JOIN);
    said(&p, WIRE_REFUSE);
    stop(&p);
}

static void test_between_two_jobs_a_join_says_so(void **state)
{
    const struct error why = {.status = STATUS_NET};
    struct play p;

    (void)state;
    begin(&p, &three);
    play_probe(&p, 8, "8");
    tell(&p, 0, (struct event){.kind = EVENT_LOST, .error = &why});
    tell(&p, 0, (struct event){.kind = EVENT_JOINED});
    assert_true(said(&p, WIRE_JOIN).join.between_jobs);
    next_generation(&p, PROBE, "5", 1);
    offer(&p, 0, PROBE, "5", 1);
    tell(&p, 0, (struct event){.kind = EVENT_LOST, .error = &why});
    tell(&p, 0, (struct event){.kind = EVENT_JOINED}); /* in the middle of one it is in that */
    assert_false(said(&p, WIRE_JOIN).join.between_jobs);
    stop(&p);
}

/* --- what is kept of jobs --- */

static struct {
    uint8_t digest[WIRE_DIGEST_BYTES];
    struct buf bytes;
    uint32_t asked;
} shelf;

static enum status recall(void *owner, const struct wire_job *job,
                          const uint8_t digest[WIRE_DIGEST_BYTES], struct party_setup *setup,
                          struct error *err)
{
    (void)owner;
    (void)job;
    (void)err;
    shelf.asked++;
    if (memcmp(digest, shelf.digest, sizeof shelf.digest) == 0)
        setup->saved = (struct party_saved){.last = shelf.bytes.data, .last_n = shelf.bytes.len};
    return STATUS_OK;
}

/* A run that was stopped goes on, after others, from what was kept of it, and from nothing else. */
static void test_a_run_goes_on_after_other_jobs(void **state)
{
    struct play p;
    struct plan other;

    (void)state;
    begin(&p, &three);
    buf_init(&shelf.bytes, 1 << 20);
    shelf.asked = 0;
    p.party[0]->setup.recall = recall;
    train(&p, &p.s->plan);
    inside(p.party[0])->learner.applied = 1; /* it had done a step */
    assert_int_equal(party_session_save(p.party[0], &shelf.bytes), STATUS_OK);
    memcpy(shelf.digest, p.job, sizeof shelf.digest);
    other = p.s->plan;
    other.training.seed++;
    train(&p, &other);
    assert_int_equal(party_session_report(p.party[0])->progress.applied, 0);
    play_probe(&p, 3, "3");
    assert_false(party_session_report(p.party[0])->planned); /* nothing of a plan in a probe */
    assert_null(party_session_bottom(p.party[0]));
    next_plan(&p, &p.s->plan);
    assert_int_equal(said(&p, WIRE_JOIN).join.applied, 1);
    assert_true(said(&p, WIRE_JOIN).join.resumes);
    assert_int_equal(shelf.asked, 3);
    assert_non_null(asked(&p, ACTION_FINISH)); /* by this offer no step is done */
    other.training.seed++;
    next_plan(&p, &other);
    assert_int_equal(said(&p, WIRE_JOIN).join.applied, 0);
    assert_false(said(&p, WIRE_JOIN).join.resumes); /* though by now it has a plan */
    buf_deinit(&shelf.bytes);
    stop(&p);
}

/* It may take as long as a database does: what is asked for is work, and nothing is said before it
 * is done.  The message that the offer came in may be another one by then. */
static void test_what_a_party_has_of_a_job_is_read_while_nothing_else_is_told(void **state)
{
    struct wire_msg other = {.kind = WIRE_REFUSE, .refuse.kind = STATUS_KIND_PEER};
    struct play p;

    (void)state;
    begin(&p, &three);
    buf_init(&shelf.bytes, 0);
    shelf.asked = 0;
    p.party[0]->setup.recall = recall;
    p.party[0]->ended = true;
    p.holds = true;
    next_plan(&p, &p.s->plan);
    assert_int_equal(p.actions.n, 1);
    assert_int_equal(p.actions.item[0].kind, ACTION_WORK);
    assert_true(p.actions.item[0].flops > 1e12); /* on a thread, whatever it takes */
    assert_int_equal(shelf.asked, 0);
    memset(other.refuse.text, 'x', WIRE_TEXT_MAX);
    through(&p, &other);
    party_session_work(p.party[0]);
    assert_int_equal(shelf.asked, 1);
    p.holds = false;
    tell(&p, 0, (struct event){.kind = EVENT_DONE});
    said(&p, WIRE_HELLO);
    assert_memory_equal(p.party[0]->fed.job, p.job, sizeof p.job);
    stop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_federation_plays_one_probe_after_another),
        cmocka_unit_test(test_a_job_that_is_refused_costs_that_job_alone),
        cmocka_unit_test(test_a_generation_of_the_job_before_is_refused),
        cmocka_unit_test(test_what_a_party_has_of_a_job_is_read_while_nothing_else_is_told),
        cmocka_unit_test(test_training_comes_after_a_probe_and_after_training),
        cmocka_unit_test(test_what_the_server_says_of_a_job_that_was_refused_is_not_heard),
        cmocka_unit_test(test_a_probe_of_no_number_is_refused),
        cmocka_unit_test(test_another_job_in_the_middle_of_one_is_refused),
        cmocka_unit_test(test_a_party_that_stays_says_where_it_is_in_the_next_job),
        cmocka_unit_test(test_between_two_jobs_a_join_says_so),
        cmocka_unit_test(test_a_run_goes_on_after_other_jobs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
