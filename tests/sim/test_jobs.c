/* test_jobs.c -- parties play one job after another: probes, between them jobs that somebody
 * refuses, and then training.  The server is played by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/flow/job.h"
#include "party/core.h"
#include "party/train/train.h"
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
};

static const struct party_job *const both[] = {&party_train_job, &probe_party_job, NULL};
static const uint8_t secret[IDS_SECRET_BYTES] = {1};

static void tell(struct play *p, uint32_t i, struct event e)
{
    p->actions.n = 0;
    party_session_step(p->party[i], 0, &e, &p->actions);
    for (size_t k = 0; k < p->actions.n; k++) {
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

/* What the last one told has sent. */
static struct wire_msg said(struct play *p, enum wire_kind kind)
{
    const struct action *send = asked(p, ACTION_SEND);
    struct wire_msg m;

    assert_non_null(send);
    assert_int_equal(send->msg.kind, kind);
    m = send->msg;
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
    m.offer.element = p->ids.own.element;
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
    const struct agree_terms terms = {p->job, p->generation, p->ids.own.element};
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
        assert_int_equal(asked(&p, ACTION_FINISH)->error->status, STATUS_POLICY);
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
        assert_int_equal(party_session_report(p->party[i])->applied, 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_federation_plays_one_probe_after_another),
        cmocka_unit_test(test_a_job_that_is_refused_costs_that_job_alone),
        cmocka_unit_test(test_a_generation_of_the_job_before_is_refused),
        cmocka_unit_test(test_training_comes_after_a_probe_and_after_training),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
