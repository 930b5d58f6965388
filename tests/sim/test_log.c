/* test_log.c -- what the log says does not depend on anybody's records, nor on keys, masks and
 * noise: line for line it is the same with others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/base/log.h"
#include "server/parts.h"
#include "tests/sim/standing.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t HOUR_US = 3600000000ull;
enum { TEXT_MAX = 1 << 20 };

struct said {
    char text[TEXT_MAX];
};

/* Every line without its time. */
static void read_back(struct said *out, FILE *from)
{
    char line[4096];
    size_t n = 0;

    rewind(from);
    out->text[0] = 0;
    while (fgets(line, sizeof line, from) != NULL) {
        const char *words = strchr(line, ' ');

        CHECK(words != NULL && n + strlen(words) < TEXT_MAX);
        n += (size_t)sprintf(out->text + n, "%s", words);
    }
}

static void other_records(struct sim *s, float by)
{
    for (uint32_t i = 0; i < 3; i++) {
        struct table *t = sim_party_train(s, i);

        for (size_t k = 0; k < t->rows * t->cols; k++)
            t->x[k] = 0.9f * t->x[k] + by;
    }
}

/* What goes to stderr from ear_open() to ear_close(). */
struct ear {
    FILE *log;
    int terminal;
};

static struct ear ear_open(void)
{
    struct ear e = {tmpfile(), dup(STDERR_FILENO)};

    CHECK(e.log != NULL && e.terminal >= 0);
    setenv("SIM_LOG", "1", 1);
    fflush(stderr);
    CHECK(dup2(fileno(e.log), STDERR_FILENO) >= 0);
    return e;
}

static void ear_close(const struct ear *e, struct said *out)
{
    fflush(stderr);
    CHECK(dup2(e->terminal, STDERR_FILENO) >= 0);
    close(e->terminal);
    read_back(out, e->log);
    fclose(e->log);
}

/* All that a run says at level debug; p3 is lost once on the way. */
static void run(struct said *out, const struct sim_options *o, float by)
{
    const struct ear e = ear_open();
    struct sim *s = sim_new(o);

    if (by != 0)
        other_records(s, by);
    sim_rule(s,
             (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_CONFIRM, .nth = 1});
    sim_run(s, HOUR_US);
    sim_free(s);
    ear_close(&e, out);
}

static void says_the_same(struct sim_options o)
{
    static struct said once, again, others;

    o.parties = 3;
    o.train_rows = 12;
    o.quiet = o.unseeded = true;
    run(&once, &o, 0);
    run(&again, &o, 0);
    run(&others, &o, 0.05f);
    assert_non_null(strstr(once.text, "p3 lost in phase confirm"));
    assert_non_null(strstr(once.text, "rows leave (train)"));
    assert_string_equal(once.text, again.text);
    assert_string_equal(once.text, others.text);
}

/* Somebody of the roster who comes and goes all the time. */
static void come_and_go(bool refused)
{
    enum { TIMES = LOG_FEW_MAX + 50 };
    static struct said out;
    const struct sim_options o = {.parties = 3, .train_rows = 12, .quiet = true};
    const struct ear ear = ear_open();
    struct sim *s = sim_new(&o);
    struct error why = {.status = STATUS_NET};
    struct wire_msg m = {
        .kind = WIRE_JOIN,
        .join = {.version = WIRE_VERSION, .roster_digest = s->roster.digest, .min_parties = 1}};
    const struct event comes = {.kind = EVENT_JOINED, .peer = 1, .msg = &m};
    const struct event goes = {.kind = EVENT_LOST, .peer = 1, .error = &why};
    const struct server_peer *p = &s->server->fed.peer[1];
    struct actions a;
    size_t lines = 0;

    m.join.version += refused; /* or one that is always refused */
    server_session_step(s->server, 1, &(struct event){.kind = EVENT_START}, &a);
    for (int i = 0; i < TIMES; i++) {
        server_session_step(s->server, 1, &comes, &a);
        assert_int_equal(p->present, !refused);
        server_session_step(s->server, 1, &goes, &a);
        assert_false(p->present);
    }
    sim_free(s);
    ear_close(&ear, &out);
    for (const char *at = out.text; (at = strstr(at, refused ? "p2: speaks" : "p2 joined")) != NULL;
         at++)
        lines++;
    assert_int_equal(lines, LOG_FEW_MAX);
}

static void test_a_member_that_comes_and_goes_does_not_fill_the_log(void **state)
{
    (void)state;
    come_and_go(false);
    come_and_go(true);
}

static void test_the_log_says_nothing_of_records_and_keys(void **state)
{
    (void)state;
    says_the_same((struct sim_options){.sets = {"protocol.aggregation=masked"}});
    says_the_same((struct sim_options){.sets = {"protocol.aggregation=coded"}});
    says_the_same((struct sim_options){.sets = {"protocol.aggregation=clear"}});
    says_the_same(
        (struct sim_options){.sets = {"protocol.aggregation=fedvs", "training.batch=2"},
                             .party_sets = {"model.layers=[]", "model.polynomial.degree=1"}});
}

/* --- versions --- */

static void other_version(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->join.version = WIRE_VERSION + 1;
}

/* A line that has all these words, one behind the other. */
static bool has_line(const struct said *log, const char *first, const char *then)
{
    const char *at = strstr(log->text, first), *end = at == NULL ? NULL : strchr(at, '\n');
    const char *found = at == NULL ? NULL : strstr(at, then);

    return found != NULL && found < end;
}

/* Whoever stands comes again and again, is never let in, and the others play on with it once it is
 * of their version. */
static void test_a_side_of_another_version_is_refused_in_a_line_that_names_both(void **state)
{
    static struct said out;
    const struct sim_options o = {.parties = 3,
                                  .train_rows = 12,
                                  .quiet = true,
                                  .stands = true,
                                  .reconnect_us = 30000000,
                                  .checkpoint_rounds = 1};
    const struct ear ear = ear_open();
    struct sim *s = sim_new(&o);
    const struct standing_job job = {.kind = STANDING_TRAIN, .plan = s->plan};
    char both[64];

    (void)state;
    sim_rule(s, (struct sim_rule){
                    .act = SIM_ALTER, .from = 1, .kind = WIRE_JOIN, .alter = other_version});
    standing_play(s, &job);
    sim_run(s, HOUR_US);
    assert_false(standing_plays(s));
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    assert_int_equal(sim_server_report(s)->presence.joined[1], 0);
    assert_false(s->server->fed.peer[1].present);
    s->rules_n = 0; /* it was replaced by one of the server's version */
    sim_run(s, HOUR_US);
    standing_play(s, &job);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (int who = SIM_SERVER; who < 3; who++)
        assert_false((who < 0 ? sim_server_end(s) : sim_party_end(s, (uint32_t)who))->over);
    sim_free(s);
    ear_close(&ear, &out);
    snprintf(both, sizeof both, "speaks protocol version %d, this server %d", WIRE_VERSION + 1,
             WIRE_VERSION);
    assert_true(has_line(&out, "warn: p2: ", both));
    assert_true(has_line(&out, "the server refuses: p2: ", both));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_member_that_comes_and_goes_does_not_fill_the_log),
        cmocka_unit_test(test_the_log_says_nothing_of_records_and_keys),
        cmocka_unit_test(test_a_side_of_another_version_is_refused_in_a_line_that_names_both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
