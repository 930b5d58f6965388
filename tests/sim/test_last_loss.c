/* test_last_loss.c -- a member whose next loss ends the job: what it is told, and that it is let in
 * when it comes again in the same moment.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/flow/job.h"
#include "party/core.h"
#include "tests/sim/probe_server.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { PARTIES = 3, GUILTY = 1 };

/* A server in AGREE, and what it asked for last. */
struct last {
    struct sim *s;
    struct server_federation fed;
    struct probe_server probe;
    uint8_t digest[WIRE_DIGEST_BYTES];
    struct actions asked;
};

static void tell(struct last *l, struct event e)
{
    l->asked.n = 0;
    server_federation_step(&l->fed, 1000, &e, &l->asked);
}

static void joins(struct last *l, uint32_t party)
{
    struct wire_msg join = {.kind = WIRE_JOIN};

    party_join(&l->s->party[party].session->fed, &join.join);
    tell(l, (struct event){.kind = EVENT_JOINED, .peer = party, .msg = &join});
}

static void begin(struct last *l)
{
    static const struct sim_options three = {.parties = PARTIES, .quiet = true};
    struct server_terms terms;

    *l = (struct last){.s = sim_new(&three)};
    job_digest(l->digest, PROBE, "8", 1);
    terms = (struct server_terms){
        .roster = &l->s->roster,
        .kind = PROBE,
        .text = {(const uint8_t *)"8", 1},
        .digest = l->digest,
        .straggler = STRAGGLER_WAIT,
        .patience_ms = 5000,
        .deadline_ms = 5000,
        .smallest = 2,
        .train_rows = l->s->plan.shape.train_rows,
        .test_rows = l->s->plan.shape.test_rows,
        .train = &l->s->train,
        .test = &l->s->test,
        .counts = compared_counts(&l->s->disk.compared),
        .id_mismatches = 9,
    };
    l->probe = (struct probe_server){.fed = &l->fed, .values = 8};
    CHECK(server_federation_init(&l->fed, &terms, &probe_server_job, &l->probe) == STATUS_OK);
    tell(l, (struct event){.kind = EVENT_START});
    for (uint32_t i = 0; i < PARTIES; i++)
        joins(l, i);
    assert_int_equal(l->fed.sm.phase, PHASE_AGREE);
    l->fed.peer[GUILTY].losses = SERVER_LOSSES_MAX - 1;
}

static const struct action *asked_for(const struct last *l, enum action_kind kind)
{
    for (size_t i = 0; i < l->asked.n; i++) {
        if (l->asked.item[i].kind == kind)
            return &l->asked.item[i];
    }
    return NULL;
}

static void end(struct last *l)
{
    const struct action *finish = asked_for(l, ACTION_FINISH);

    assert_non_null(finish);
    assert_int_equal(finish->outcome, OUTCOME_FAILED);
    assert_non_null(strstr(finish->error.text, "p2 was lost 3 times in a row"));
    secagg_server_free(l->probe.sum);
    server_federation_deinit(&l->fed);
    sim_free(l->s);
}

static void test_a_connection_that_replaces_one_whose_loss_ends_the_job_is_let_in(void **state)
{
    static struct last l;

    (void)state;
    begin(&l);
    joins(&l, GUILTY);
    assert_true(l.fed.peer[GUILTY].present);
    assert_null(asked_for(&l, ACTION_DROP));
    end(&l);
}

/* Though that ends the job, and for another reason, in the same step. */
static void test_who_is_dropped_is_told_what_it_did(void **state)
{
    static struct last l;
    struct wire_msg m = {.kind = WIRE_UPLOAD};

    (void)state;
    begin(&l);
    m.upload.generation = l.fed.set.generation;
    tell(&l, (struct event){.kind = EVENT_MESSAGE, .peer = GUILTY, .msg = &m});
    assert_non_null(asked_for(&l, ACTION_DROP));
    assert_int_equal(asked_for(&l, ACTION_DROP)->error.status, STATUS_PROTOCOL);
    assert_string_equal(asked_for(&l, ACTION_DROP)->error.text, "p2: upload in phase agree");
    end(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_connection_that_replaces_one_whose_loss_ends_the_job_is_let_in),
        cmocka_unit_test(test_who_is_dropped_is_told_what_it_did),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
