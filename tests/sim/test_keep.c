/* test_keep.c -- checkpoints: what is durable before what is said, and what may be forgotten since.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/expect.h"
#include "tests/sim/sim.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
#define SECOND_US 1000000ull

enum { PARTIES = 3, EVERY = 2, STEPS = 12 };

static struct sim_options three(void)
{
    return (struct sim_options){.parties = PARTIES,
                                .train_rows = 18,
                                .checkpoint_rounds = EVERY,
                                .sets = {"training.epochs=2", "training.evaluate_every=0",
                                         "protocol.patience_ms=2000", "protocol.straggler=wait"}};
}

/* --- the first checkpoint --- */

struct hello {
    struct sim *sim;
    char model[2][65];
    uint32_t n;
};

/* A model whose embeddings anybody will have seen is on the disk. */
static void at_hello(struct wire_msg *m, void *owner)
{
    struct hello *h = owner;

    (void)m;
    assert_true(h->sim->party[1].disk.saved.len > 0);
    assert_true(h->n < 2);
    sim_model(h->sim, 1, h->model[h->n++]);
}

static struct sim *listening_to_hellos(struct hello *h)
{
    struct sim_options o = three();
    struct sim *s;

    o.unseeded = true;
    o.keep_us = 50000;
    s = sim_new(&o);
    *h = (struct hello){.sim = s};
    sim_rule(s,
             (struct sim_rule){
                 .act = SIM_ALTER, .from = 1, .kind = WIRE_HELLO, .alter = at_hello, .owner = h});
    return s;
}

/* Nothing can bring this model back but the disk: it is drawn from the system's generator. */
static void test_a_model_is_durable_before_its_first_hello(void **state)
{
    struct hello h;
    struct sim *s = listening_to_hellos(&h);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_KILL, .from = 1, .kind = WIRE_CONFIRM, .nth = 1});
    sim_run(s, HOUR_US);
    expect_completed(s);
    assert_int_equal(h.n, 2);
    assert_string_equal(h.model[0], h.model[1]);
    sim_free(s);
}

/* The negative twin: killed before it is durable, another model is drawn, and nobody knew the
 * first.
 */
static void test_a_model_that_was_not_durable_yet_was_never_heard_of(void **state)
{
    struct hello h;
    struct sim *s = listening_to_hellos(&h);
    char first[65];

    (void)state;
    expect_until(s, "server: offer 1\n", 1);
    sim_run(s, 20000);
    sim_model(s, 1, first);
    assert_int_equal(expect_count(s, "p2: hello\n"), 0);
    sim_kill_at(s, 1, sim_now_us(s) + 1);
    sim_run(s, HOUR_US);
    expect_completed(s);
    assert_int_equal(h.n, 1);
    assert_string_not_equal(first, h.model[0]);
    sim_free(s);
}

/* --- another run --- */

/* p2 has applied so many steps of a run with another plan, when it is killed and its server's next
 * run begins. */
static struct sim *after_another_run(uint64_t steps, const char *straggler)
{
    struct sim_options o = three();
    struct sim *was, *s;

    o.sets[3] = straggler;
    o.sets[4] = "training.seed=11";
    was = sim_new(&o);
    expect_until(was, "p2: upload\n", steps + 1);
    assert_true(was->party[1].disk.saved.len > 0);
    o.sets[4] = "training.seed=12";
    s = sim_new(&o);
    assert_int_equal(buf_append(&s->party[1].disk.saved, was->party[1].disk.saved.data,
                                was->party[1].disk.saved.len),
                     STATUS_OK);
    s->party[1].disk.ledger = was->party[1].disk.ledger;
    sim_free(was);
    sim_kill_at(s, 1, 1);
    sim_run(s, HOUR_US);
    return s;
}

static const char *const stragglers[] = {"protocol.straggler=wait", "protocol.straggler=drop"};

/* Its server ended before the first step and kept nothing; the party was killed and has its first
 * checkpoint still. */
static void test_a_first_checkpoint_of_another_run_gives_way(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sim *s = after_another_run(0, stragglers[i]);

        expect_completed(s);
        assert_true(sim_party_report(s, 1)->progress.final);
        assert_int_equal(expect_count(s, "server: offer 2\n"), 0);
        sim_free(s);
    }
}

/* The negative twin: what has learned something is not thrown away. */
static void test_a_model_with_steps_of_another_run_does_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sim *s = after_another_run(EVERY + 1, stragglers[i]);
        const struct sim_end *end = sim_party_end(s, 1);

        assert_true(end->over);
        assert_int_equal(end->outcome, OUTCOME_FAILED);
        assert_int_equal(status_exit_code(end->error.status), 2);
        sim_free(s);
    }
}

/* --- what the journal forgets --- */

static void old_news(struct wire_msg *m, void *owner)
{
    static const uint8_t trail[WIRE_DIGEST_BYTES] = {1};
    const uint64_t *applied = owner;

    m->join.applied = *applied;
    m->join.trail = trail;
}

enum { NOBODY = 0, P3 = 1 << 2, ALL = (1 << PARTIES) - 1 };

/* Whether the server still has what a party would need that had applied so many steps: one that
 * dies in step 10 says when it joins again that it has, and is refused in other words.  The
 * checkpoints of `whose` parties are said otherwise. */
static bool remembered(uint64_t applied, enum sim_act how, unsigned whose)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);
    const struct sim_end *end = sim_party_end(s, 1);
    bool forgotten;

    for (int i = 0; i < PARTIES; i++) {
        if (whose >> i & 1)
            sim_rule(s, (struct sim_rule){.act = how, .from = i, .kind = WIRE_KEPT});
    }
    sim_rule(s, (struct sim_rule){.act = SIM_KILL, .from = 1, .kind = WIRE_UPLOAD, .nth = 11});
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = 1,
                                  .kind = WIRE_JOIN,
                                  .nth = 2,
                                  .alter = old_news,
                                  .owner = &applied});
    sim_run(s, HOUR_US);
    assert_true(end->over);
    assert_int_equal(end->outcome, OUTCOME_FAILED);
    forgotten = strstr(end->error.text, "is further back than this server remembers") != NULL;
    if (!forgotten && strstr(end->error.text, "another run") == NULL)
        fail_msg("applied %llu: %s", (unsigned long long)applied, end->error.text);
    sim_free(s);
    return !forgotten;
}

/* All have kept step 8 and before it step 6, when p2 is killed in step 10: from 6 on is needed. */
static void test_what_everybody_has_kept_is_forgotten(void **state)
{
    (void)state;
    for (uint64_t applied = 1; applied < 6; applied++)
        assert_false(remembered(applied, SIM_REPEAT, NOBODY));
    for (uint64_t applied = 7; applied < 10; applied++)
        assert_true(remembered(applied, SIM_REPEAT, NOBODY));
}

/* The negative twin: of one party it was never heard that it has kept anything. */
static void test_what_one_party_may_need_is_remembered(void **state)
{
    (void)state;
    for (uint64_t applied = 1; applied < 10; applied++)
        assert_true(remembered(applied, SIM_SWALLOW, P3));
}

/* Under drop nobody is sent what it has missed: the server's own checkpoint counts alone. */
static void test_under_drop_nothing_is_remembered_for_a_party(void **state)
{
    static const char *const policies[] = {"protocol.straggler=wait", "protocol.straggler=drop"};

    (void)state;
    for (int drop = 0; drop < 2; drop++) {
        struct sim_options o = three();
        struct sim *s;

        o.sets[3] = policies[drop];
        s = sim_new(&o);
        sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = 2, .kind = WIRE_KEPT});
        expect_until(s, "p2: upload\n", 10);
        assert_int_equal(s->disk.journal.record[0].r.place, drop ? 8 : 0);
        sim_free(s);
    }
}

/* A checkpoint that is said twice is not the last two. */
static void test_a_checkpoint_said_twice_is_one(void **state)
{
    (void)state;
    assert_false(remembered(5, SIM_REPEAT, ALL));
    assert_true(remembered(7, SIM_REPEAT, ALL));
}

/* --- disks that fail --- */

static void test_a_checkpoint_that_fails_ends_the_party(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);
    struct error full = {STATUS_IO, "state: no space left"};

    (void)state;
    expect_until(s, "p2: upload\n", EVERY + 1);
    assert_true(s->party[1].disk.durable_us > 0);
    s->party[1].disk.durable_us = 0;
    world_kept(s, 1, &full);
    assert_true(sim_party_end(s, 1)->over);
    assert_int_equal(sim_party_end(s, 1)->outcome, OUTCOME_FAILED);
    assert_int_equal(status_kind(sim_party_end(s, 1)->error.status), STATUS_KIND_LOCAL);
    assert_int_equal(status_exit_code(sim_party_end(s, 1)->error.status), 6);
    assert_string_equal(sim_party_end(s, 1)->error.text, "state: no space left");
    sim_run(s, HOUR_US);
    /* The others need it: their ends name it. */
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    assert_non_null(strstr(sim_server_end(s)->error.text, "p2"));
    assert_int_equal(sim_party_end(s, 0)->outcome, OUTCOME_FAILED);
    assert_int_equal(status_exit_code(sim_party_end(s, 0)->error.status), 4);
    sim_free(s);
}

static void test_a_checkpoint_that_fails_ends_the_server(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);
    struct error full = {STATUS_IO, "state: no space left"};

    (void)state;
    expect_until(s, "p2: upload\n", EVERY + 1);
    assert_true(s->disk.durable_us > 0);
    s->disk.durable_us = 0;
    world_kept(s, SIM_SERVER, &full);
    assert_true(sim_server_end(s)->over);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 6);
    sim_run(s, HOUR_US);
    for (uint32_t i = 0; i < PARTIES; i++) {
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_FAILED);
        assert_int_equal(status_exit_code(sim_party_end(s, i)->error.status), 4);
        assert_non_null(strstr(sim_party_end(s, i)->error.text, "no space left"));
    }
    sim_free(s);
}

/* Nothing of a sum that is not in the journal is sent, and no checkpoint has its step. */
static void test_a_journal_that_is_full_ends_the_server_before_it_says_more(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);
    uint32_t said;

    (void)state;
    expect_until(s, "p2: upload\n", 2);
    s->disk.full = true;
    said = sim_sent(s, SIM_SERVER, WIRE_BROADCAST);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_sent(s, SIM_SERVER, WIRE_BROADCAST), said);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 6);
    assert_string_equal(sim_server_end(s)->error.text, "journal: no space left");
    assert_false(server_session_sound(s->server));
    assert_int_equal(sim_party_end(s, 1)->outcome, OUTCOME_FAILED);
    sim_free(s);
}

/* --- the end --- */

static uint64_t said_at(struct sim *s, const char *line, size_t times)
{
    expect_until(s, line, times);
    return sim_now_us(s);
}

static void test_the_run_ends_when_every_final_model_is_durable(void **state)
{
    struct sim_options o = three();
    struct sim *s;
    uint64_t last_us, end_us;

    (void)state;
    o.keep_us = 300000;
    s = sim_new(&o);
    last_us = said_at(s, "server: broadcast last\n", 1);
    assert_int_equal(expect_count(s, "finish"), 0);
    end_us = said_at(s, "server: finish completed\n", 1);
    /* A final checkpoint of each, and then the server's own. */
    assert_true(end_us >= last_us + 2 * 300000);
    sim_run(s, HOUR_US);
    expect_completed(s);
    sim_free(s);
}

static void not_the_last(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->kept.final = false;
}

/* Neither silence nor an older checkpoint is a final model. */
static void test_a_final_model_that_is_not_heard_of_is_waited_for(void **state)
{
    static const enum sim_act acts[] = {SIM_SWALLOW, SIM_ALTER};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sim_options o = three();
        struct sim *s = sim_new(&o);

        expect_until(s, "server: broadcast last\n", 1);
        sim_rule(s, (struct sim_rule){
                        .act = acts[i], .from = 2, .kind = WIRE_KEPT, .alter = not_the_last});
        sim_run(s, HOUR_US);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
        assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 4);
        assert_non_null(strstr(sim_server_end(s)->error.text, "phase close"));
        assert_non_null(strstr(sim_server_end(s)->error.text, "waiting for p3"));
        sim_free(s);
    }
}

static void test_drop_waits_for_it_until_the_deadline(void **state)
{
    struct sim_options o = three();
    struct sim *s;
    uint64_t last_us, end_us;

    (void)state;
    o.sets[3] = "protocol.straggler=drop";
    o.sets[4] = "protocol.deadline_ms=500";
    s = sim_new(&o);
    last_us = said_at(s, "server: broadcast last\n", 1);
    sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = 2, .kind = WIRE_KEPT});
    end_us = said_at(s, "server: finish completed\n", 1);
    assert_in_range(end_us - last_us, 500000 - 100, 600000);
    sim_run(s, HOUR_US);
    expect_completed(s);
    sim_free(s);
}

static void test_a_party_lost_before_the_last_broadcast_comes_back_for_it(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);
    char want[PARTIES][65], got[65];

    (void)state;
    sim_run(s, HOUR_US);
    expect_completed(s);
    for (int i = 0; i < PARTIES; i++)
        sim_model(s, i, want[i]);
    sim_free(s);
    s = sim_new(&o);
    expect_until(s, "p2: upload\n", STEPS + 1); /* the evaluation */
    sim_rule(s, (struct sim_rule){
                    .act = SIM_CUT_BEFORE, .from = SIM_SERVER, .party = 1, .kind = WIRE_BROADCAST});
    sim_run(s, 4000);
    assert_false(sim_party_report(s, 1)->progress.final);
    s->rules_n = 0;
    sim_run(s, HOUR_US);
    expect_completed(s);
    for (int i = 0; i < PARTIES; i++) {
        assert_true(sim_party_report(s, (uint32_t)i)->progress.final);
        sim_model(s, i, got);
        assert_string_equal(got, want[i]);
    }
    sim_free(s);
}

/* What was on the server's disk when it first said that the run is over. */
struct last_word {
    struct sim *sim;
    uint8_t saved[1 << 14];
    size_t n;
};

static void at_finish(struct wire_msg *m, void *owner)
{
    struct last_word *w = owner;
    const struct buf *saved = &w->sim->disk.saved;

    (void)m;
    assert_true(saved->len > 0 && saved->len <= sizeof w->saved);
    memcpy(w->saved, saved->data, saved->len);
    w->n = saved->len;
}

/* A server of that disk has nothing to do but to say so again. */
static void test_a_server_that_has_said_the_end_knows_it_after_a_restart(void **state)
{
    static struct last_word word;
    struct sim_options o = three();
    struct sim *s = sim_new(&o);

    (void)state;
    word = (struct last_word){.sim = s};
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = SIM_ANY,
                                  .kind = WIRE_FINISH,
                                  .nth = 1,
                                  .alter = at_finish,
                                  .owner = &word});
    sim_run(s, HOUR_US);
    expect_completed(s);
    assert_true(word.n > 0);
    s->disk.saved.len = 0;
    assert_int_equal(buf_append(&s->disk.saved, word.saved, word.n), STATUS_OK);
    s->server_end = (struct sim_end){0};
    world_new_server(s);
    world_tell_server(s, &(struct event){.kind = EVENT_START});
    assert_true(sim_server_end(s)->over);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_server_report(s)->steps, STEPS);
    sim_free(s);
}

/* The negative twin: killed while that is being written, it asks everybody once more. */
static void test_a_server_killed_before_it_knows_comes_back_to_the_close(void **state)
{
    struct sim_options o = three();
    struct sim *s;

    (void)state;
    o.keep_us = 100000;
    s = sim_new(&o);
    expect_until(s, "p3: kept\n", 2); /* its first and its final one */
    sim_run(s, 1500);
    assert_true(s->disk.durable_us > 0); /* finals are durable, the server's word is not */
    assert_int_equal(expect_count(s, "finish"), 0);
    sim_kill_at(s, SIM_SERVER, sim_now_us(s) + 1);
    sim_run(s, HOUR_US);
    expect_completed(s);
    assert_int_equal(expect_count(s, "server: offer 2\n"), 1);
    assert_int_equal(expect_count(s, "server: broadcast last\n"), 2);
    assert_int_equal(expect_count(s, "open train"), STEPS); /* nothing is released again */
    sim_free(s);
}

/* Its model is final and durable, and nobody is left to tell it that the run is over. */
static void test_a_party_with_its_final_model_needs_no_server_to_end(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){
                    .act = SIM_CUT_BEFORE, .from = SIM_SERVER, .party = 1, .kind = WIRE_FINISH});
    sim_run(s, 10 * SECOND_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_false(sim_party_end(s, 1)->over); /* the server may come back yet */
    sim_run(s, HOUR_US);
    expect_completed(s);
    sim_free(s);
}

/* Nor does its next process. */
static void test_nor_does_a_process_that_finds_the_final_model_on_its_disk(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){
                    .act = SIM_CUT_BEFORE, .from = SIM_SERVER, .party = 1, .kind = WIRE_FINISH});
    expect_until(s, "server: finish completed\n", 1);
    world_new_party(s, 1);
    world_tell_party(s, 1, &(struct event){.kind = EVENT_START});
    assert_true(sim_party_report(s, 1)->progress.final);
    sim_run(s, HOUR_US);
    expect_completed(s);
    sim_free(s);
}

/* The negative twin: without it, no server is no run. */
static void test_a_party_without_its_final_model_does_need_one(void **state)
{
    struct sim_options o = three();
    struct sim *s;

    (void)state;
    o.reconnect_us = 10 * HOUR_US;
    s = sim_new(&o);
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 1, .kind = WIRE_UPLOAD, .nth = 5});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_party_end(s, 1)->outcome, OUTCOME_FAILED);
    assert_int_equal(status_exit_code(sim_party_end(s, 1)->error.status), 4);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_model_is_durable_before_its_first_hello),
        cmocka_unit_test(test_a_model_that_was_not_durable_yet_was_never_heard_of),
        cmocka_unit_test(test_a_first_checkpoint_of_another_run_gives_way),
        cmocka_unit_test(test_a_model_with_steps_of_another_run_does_not),
        cmocka_unit_test(test_what_everybody_has_kept_is_forgotten),
        cmocka_unit_test(test_what_one_party_may_need_is_remembered),
        cmocka_unit_test(test_under_drop_nothing_is_remembered_for_a_party),
        cmocka_unit_test(test_a_checkpoint_said_twice_is_one),
        cmocka_unit_test(test_a_checkpoint_that_fails_ends_the_party),
        cmocka_unit_test(test_a_checkpoint_that_fails_ends_the_server),
        cmocka_unit_test(test_a_journal_that_is_full_ends_the_server_before_it_says_more),
        cmocka_unit_test(test_the_run_ends_when_every_final_model_is_durable),
        cmocka_unit_test(test_a_final_model_that_is_not_heard_of_is_waited_for),
        cmocka_unit_test(test_drop_waits_for_it_until_the_deadline),
        cmocka_unit_test(test_a_party_lost_before_the_last_broadcast_comes_back_for_it),
        cmocka_unit_test(test_a_server_that_has_said_the_end_knows_it_after_a_restart),
        cmocka_unit_test(test_a_server_killed_before_it_knows_comes_back_to_the_close),
        cmocka_unit_test(test_a_party_with_its_final_model_needs_no_server_to_end),
        cmocka_unit_test(test_nor_does_a_process_that_finds_the_final_model_on_its_disk),
        cmocka_unit_test(test_a_party_without_its_final_model_does_need_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
