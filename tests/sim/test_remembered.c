/* test_remembered.c -- who is shut out of a run, and who is at odds, the server knows when it has
 * been killed and started again; a checkpoint that says what cannot be is none.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/le.h"
#include "server/parts.h"
#include "server/seats.h"
#include "tests/sim/liars.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t HOUR_US = 3600000000ull;

enum { PARTIES = 5, LIAR = 4, DOWN_US = 20000, PATIENCE_MS = 60000, STEPS = 18 };

/* Checkpoints are due so seldom that only what has to be remembered calls for one. */
static struct sim *five(const char *aggregation, void (*alter)(struct wire_msg *, void *),
                        enum wire_kind kind, uint32_t nth)
{
    struct sim_options o = {.parties = PARTIES,
                            .train_rows = 9,
                            .checkpoint_rounds = 1000,
                            .sets = {aggregation, "protocol.straggler=drop",
                                     "protocol.deadline_ms=2000", "protocol.patience_ms=60000",
                                     "training.epochs=6"}};
    struct sim *s = sim_new(&o);

    sim_rule(s, (struct sim_rule){
                    .act = SIM_ALTER, .from = LIAR, .kind = kind, .nth = nth, .alter = alter});
    return s;
}

/* Of the first party, once: it is but a suspicion, and both stay. */
static void accuse_first(struct wire_msg *m, void *owner)
{
    (void)owner;
    liars_accuse(m, 0, STATUS_KIND_PEER, 0);
}

/* What is for anybody does not open. */
static void spoil_all(struct wire_msg *m, void *owner)
{
    (void)owner;
    liars_spoil_shares(m, PARTIES - 1, UINT64_MAX);
}

static const struct server_federation *fed(const struct sim *s)
{
    return &s->server->fed;
}

static void kill_server(struct sim *s, bool put_back)
{
    sim_break_at(s, (struct sim_break){.what = SIM_DEATH,
                                       .who = SIM_SERVER,
                                       .at_us = sim_now_us(s) + 1,
                                       .down_us = DOWN_US,
                                       .put_back = put_back});
}

/* How many sets after `from` in the transcript have both the first and the last party. */
static size_t sets_of_both(const char *from)
{
    static const char offer[] = "server: offer ";
    size_t n = 0;

    for (const char *at = strstr(from, offer); at != NULL; at = strstr(at + 1, offer)) {
        const char *to = strstr(at, "->"), *end = strchr(at, '\n');
        const bool all = to == NULL || to > end;

        n += all || (memcmp(to, "-> p1", 5) == 0 && memcmp(end - 2, "p5", 2) == 0);
    }
    return n;
}

static void expect_honest_complete(const struct sim *s)
{
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 0; i < LIAR; i++) {
        if (sim_party_end(s, i)->outcome != OUTCOME_COMPLETED || fed(s)->peer[i].barred)
            fail_msg("p%u: %s", i + 1, sim_party_end(s, i)->error.text);
    }
}

/* --- a server is killed --- */

static const char *const aggregations[] = {"protocol.aggregation=masked",
                                           "protocol.aggregation=clear"};

static void test_a_killed_server_knows_who_is_at_odds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof aggregations / sizeof *aggregations; i++) {
        struct sim *s = five(aggregations[i], accuse_first, WIRE_UPLOAD, 2);
        size_t told;

        sim_run_to_step(s, 4);
        assert_true(odds_between(&fed(s)->odds, 0, LIAR));
        told = strlen(sim_transcript(s));
        kill_server(s, false);
        sim_run(s, HOUR_US);
        expect_honest_complete(s);
        assert_int_equal(sim_party_end(s, LIAR)->outcome, OUTCOME_COMPLETED);
        assert_true(odds_between(&fed(s)->odds, 0, LIAR));
        assert_int_equal(sets_of_both(sim_transcript(s) + told), 0);
        sim_free(s);
    }
}

/* Its word is durable with the next step: from then on it does not matter when. */
static void test_whenever_it_is_killed_after_the_next_step(void **state)
{
    (void)state;
    for (uint64_t step = 3; step < STEPS; step++) {
        struct sim *s = five(aggregations[0], accuse_first, WIRE_UPLOAD, 2);
        size_t told;

        sim_run_to_step(s, step);
        told = strlen(sim_transcript(s));
        kill_server(s, false);
        sim_run(s, HOUR_US);
        expect_honest_complete(s);
        assert_int_equal(sets_of_both(sim_transcript(s) + told), 0);
        sim_free(s);
    }
}

/* Nor is it waited for: all others are there. */
static void test_a_killed_server_knows_who_is_shut_out(void **state)
{
    struct sim *s = five("protocol.aggregation=coded", spoil_all, WIRE_SHARE, 2);
    uint64_t killed_us;

    (void)state;
    sim_run_to_step(s, 4);
    assert_true(fed(s)->peer[LIAR].barred);
    killed_us = sim_now_us(s);
    kill_server(s, false);
    sim_run(s, HOUR_US);
    expect_honest_complete(s);
    assert_true(fed(s)->peer[LIAR].barred);
    assert_true(sim_now_us(s) < killed_us + 1000 * PATIENCE_MS);
    sim_free(s);
}

/* What the state says is what is known: where somebody puts it back, the lies since are forgotten,
 * and the run goes on. */
static void test_a_checkpoint_that_was_put_back_knows_what_was_known_then(void **state)
{
    struct sim *s = five(aggregations[0], accuse_first, WIRE_UPLOAD, 4);

    (void)state;
    sim_run_to_step(s, 2);
    sim_break_at(
        s, (struct sim_break){.what = SIM_COPY, .who = SIM_SERVER, .at_us = sim_now_us(s) + 1});
    sim_run_to_step(s, 6);
    assert_int_equal(server_marks(fed(s)), 2);
    kill_server(s, true);
    sim_run(s, HOUR_US);
    expect_honest_complete(s);
    assert_int_equal(server_marks(fed(s)), 0);
    sim_free(s);
}

/* --- what a checkpoint says --- */

static void copy_of(struct buf *to, const struct buf *from)
{
    buf_init(to, 1 << 24);
    assert_int_equal(buf_append(to, from->data, from->len), STATUS_OK);
}

static void test_a_checkpoint_of_an_earlier_version_is_none(void **state)
{
    struct sim *s = five(aggregations[0], accuse_first, WIRE_UPLOAD, 2);
    struct buf saved;

    (void)state;
    sim_run_to_step(s, 6);
    copy_of(&saved, &s->disk.saved);
    world_new_server(s);
    assert_int_equal(server_session_restore(s->server, saved.data, saved.len), STATUS_OK);
    assert_int_equal(server_marks(fed(s)), 2);
    assert_int_equal(saved.data[0], 12);
    saved.data[0] = 9;
    world_new_server(s);
    assert_int_equal(server_session_restore(s->server, saved.data, saved.len), STATUS_DATA);
    buf_deinit(&saved);
    sim_free(s);
}

/* p5 has let a round come to nothing, and sits out; and it has kept the others waiting before. */
static void test_what_a_party_owes_is_kept(void **state)
{
    struct sim *s = five(aggregations[0], NULL, WIRE_NONE, 0);
    struct buf saved;

    (void)state;
    sim_rule(s,
             (struct sim_rule){.act = SIM_CUT_BEFORE, .from = LIAR, .kind = WIRE_UPLOAD, .nth = 1});
    sim_run_to_step(s, 1);
    assert_int_equal(fed(s)->peer[LIAR].owed, 2);
    server_stalled(world_federation(s), LIAR);
    server_stalled(world_federation(s), LIAR);
    buf_init(&saved, 1 << 24);
    assert_int_equal(server_session_save(s->server, &saved), STATUS_OK);
    world_new_server(s);
    assert_int_equal(fed(s)->peer[LIAR].owed + fed(s)->peer[LIAR].stalled, 0);
    assert_int_equal(server_session_restore(s->server, saved.data, saved.len), STATUS_OK);
    assert_int_equal(fed(s)->peer[LIAR].owed, 2);
    assert_int_equal(fed(s)->peer[LIAR].stalled, 4);
    buf_deinit(&saved);
    sim_free(s);
}

enum { OF = 6, SAYING_BYTES = 12 };

static struct odds some_odds(uint32_t from)
{
    struct odds o = {0};

    for (uint32_t i = 0; i < OF * OF; i++) {
        from = from * 1664525u + 1013904223u;
        if (i / OF != i % OF && from >> 30 == 0)
            (void)odds_add(&o, i / OF, i % OF, from >> 29 & 1 ? ODDS_IDS : ODDS_SHARES);
        o.turns[i % OF] = from >> 20;
    }
    return o;
}

static enum status read_back(const struct buf *b, size_t len, struct odds *o)
{
    size_t used = 0;
    enum status st;

    *o = (struct odds){0};
    st = odds_parse(o, OF, b->data, len, &used);
    if (st == STATUS_OK)
        assert_int_equal(used, len);
    return st;
}

static void test_odds_come_back_as_they_were_and_not_by_halves(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 50; seed++) {
        const struct odds o = some_odds(seed);
        struct odds back;
        struct buf b;

        buf_init(&b, 1 << 16);
        assert_int_equal(odds_print(&o, OF, &b), STATUS_OK);
        assert_int_equal(read_back(&b, b.len, &back), STATUS_OK);
        assert_memory_equal(&o, &back, sizeof o);
        for (size_t n = 0; n < b.len; n++)
            assert_int_equal(read_back(&b, n, &back), STATUS_DATA);
        buf_deinit(&b);
    }
}

static void test_odds_that_cannot_be_are_refused(void **state)
{
    static const uint32_t good[3] = {1, 2, ODDS_IDS};
    static const struct {
        size_t word;
        uint32_t value;
    } bad[] = {{0, 2}, {0, OF}, {1, OF}, {1, UINT32_MAX}, {2, ODDS_IDS + 1}};
    struct odds o = {0}, back;
    struct buf b;
    uint8_t *first;

    (void)state;
    buf_init(&b, 1 << 16);
    assert_true(odds_add(&o, 1, 2, ODDS_IDS) && odds_add(&o, 3, 2, ODDS_IDS));
    assert_int_equal(odds_print(&o, OF, &b), STATUS_OK);
    first = b.data + OF * sizeof(uint32_t);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        le_put(first + 4 * bad[i].word, bad[i].value, 4);
        assert_int_equal(read_back(&b, b.len, &back), STATUS_DATA);
        le_put(first + 4 * bad[i].word, good[bad[i].word], 4);
        assert_int_equal(read_back(&b, b.len, &back), STATUS_OK);
    }
    memcpy(first + SAYING_BYTES, first, SAYING_BYTES); /* said twice */
    assert_int_equal(read_back(&b, b.len, &back), STATUS_DATA);
    buf_deinit(&b);
}

/* The marks of a run in which the last `barred` parties are shut out, as a later process reads
 * them. */
static void expect_barred_after_restart(uint32_t barred, uint32_t expected)
{
    struct sim *s = five(aggregations[0], accuse_first, WIRE_UPLOAD, 2);
    struct server_federation *f = &s->server->fed;
    struct buf marks;
    size_t used = 0;
    uint32_t n = 0;

    buf_init(&marks, 1 << 16);
    sim_run_to_step(s, 1);
    for (uint32_t i = 0; i < PARTIES; i++)
        f->peer[i].barred = i >= PARTIES - barred;
    assert_int_equal(server_marks_print(f, &marks), STATUS_OK);
    assert_int_equal(server_marks_parse(f, marks.data, marks.len, &used), STATUS_OK);
    assert_int_equal(used, marks.len);
    for (uint32_t i = 0; i < PARTIES; i++)
        n += f->peer[i].barred;
    assert_int_equal(n, expected);
    buf_deinit(&marks);
    sim_free(s);
}

/* Whoever starts it again wants it to go on, and it can go on with all of them only. */
static void test_all_are_let_in_again_where_too_few_are_left(void **state)
{
    struct sim *s = five(aggregations[0], accuse_first, WIRE_UPLOAD, 2);
    const uint32_t most = PARTIES - fed(s)->terms.smallest;

    (void)state;
    sim_free(s);
    for (uint32_t barred = 0; barred <= PARTIES; barred++)
        expect_barred_after_restart(barred, barred <= most ? barred : 0);
}

/* --- that the job has begun --- */

static void show_another_mark(struct wire_msg *m, void *owner)
{
    liars_show_mark(m, owner, IDS_AFTER);
}

static void refuse(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->kind = WIRE_REFUSE;
    m->refuse = (struct wire_refuse){.kind = STATUS_KIND_CONFIG, .text = "no"};
}

/* p3 says this of the first generation, or of the first one after a restart. */
static struct sim *first_generation(bool again, struct sim_rule rule)
{
    struct sim_options o = {.parties = PARTIES,
                            .train_rows = 9,
                            .checkpoint_rounds = 1,
                            .quiet = true,
                            .sets = {"protocol.straggler=drop", "protocol.deadline_ms=500",
                                     "protocol.patience_ms=2000", "training.epochs=6"}};
    struct sim *s = sim_new(&o);

    if (again) {
        sim_kill_at(s, SIM_SERVER, 40000);
        sim_run(s, 39000);
        assert_true(sim_server_report(s)->steps > 0);
    }
    rule.from = 2;
    rule.owner = &s->party[2].key;
    sim_rule(s, rule);
    sim_run(s, HOUR_US);
    return s;
}

/* Of a fresh run it is the end; of one that goes on it costs one party, or two that are at odds
 * their turns. */
static void test_a_killed_server_knows_that_it_can_do_without(void **state)
{
    const struct sim_rule rules[] = {
        {.act = SIM_ALTER, .kind = WIRE_CONFIRM, .alter = show_another_mark},
        {.act = SIM_ALTER, .kind = WIRE_CONFIRM, .alter = refuse},
        {.act = SIM_ALTER, .kind = WIRE_HELLO, .alter = refuse},
        {.act = SIM_SWALLOW, .kind = WIRE_HELLO},
        {.act = SIM_SWALLOW, .kind = WIRE_CONFIRM},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        struct sim *fresh = first_generation(false, rules[i]), *s;

        assert_int_equal(sim_server_report(fresh)->steps, 0);
        assert_int_not_equal(sim_server_end(fresh)->outcome, OUTCOME_COMPLETED);
        sim_free(fresh);
        s = first_generation(true, rules[i]);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        assert_int_equal(sim_server_report(s)->steps, STEPS);
        for (uint32_t p = 0; p < PARTIES; p++) {
            if (p != 2)
                assert_int_equal(sim_party_end(s, p)->outcome, OUTCOME_COMPLETED);
        }
        sim_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_killed_server_knows_who_is_at_odds),
        cmocka_unit_test(test_whenever_it_is_killed_after_the_next_step),
        cmocka_unit_test(test_a_killed_server_knows_who_is_shut_out),
        cmocka_unit_test(test_a_checkpoint_that_was_put_back_knows_what_was_known_then),
        cmocka_unit_test(test_a_checkpoint_of_an_earlier_version_is_none),
        cmocka_unit_test(test_what_a_party_owes_is_kept),
        cmocka_unit_test(test_odds_come_back_as_they_were_and_not_by_halves),
        cmocka_unit_test(test_odds_that_cannot_be_are_refused),
        cmocka_unit_test(test_all_are_let_in_again_where_too_few_are_left),
        cmocka_unit_test(test_a_killed_server_knows_that_it_can_do_without),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
