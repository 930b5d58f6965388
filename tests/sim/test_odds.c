/* test_odds.c -- under drop nobody's word alone ends an honest party, nor shuts it out: ids that
 * differ, proofs that are wrong, ledgers that were put back, and liars who do all of it at random.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "server/parts.h"
#include "tests/sim/inside.h"
#include "tests/sim/liars.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t HOUR_US = 3600000000ull;

enum { PARTIES = 5, EPOCHS = 5 };

static struct sim_options dropping(void)
{
    return (struct sim_options){.parties = PARTIES,
                                .train_rows = 12,
                                .sets = {"protocol.straggler=drop", "protocol.deadline_ms=500",
                                         "protocol.patience_ms=2000", "training.epochs=5"}};
}

static const struct server_federation *fed(const struct sim *s)
{
    return &s->server->fed;
}

/* All but `guilty` (bits) come to the end, and have never been shut out. */
static void expect_others_complete(const struct sim *s, uint64_t guilty)
{
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 0; i < s->options.parties; i++) {
        if (guilty >> i & 1)
            continue;
        if (sim_party_end(s, i)->outcome != OUTCOME_COMPLETED || fed(s)->peer[i].barred)
            fail_msg("p%u: %s", i + 1, sim_party_end(s, i)->error.text);
    }
}

/* --- whose turn it is --- */

/* One in the middle of so many, over as many turns: each has its own. */
static void test_nobody_sits_out_for_ever_and_the_more_it_is_against_the_longer(void **state)
{
    (void)state;
    for (uint32_t against = 1; against < 6; against++) {
        static struct odds o;
        const uint32_t rounds = 12 * (against + 1);
        uint32_t in_middle = 0;

        o = (struct odds){0};
        for (uint32_t i = 1; i <= against; i++)
            assert_true(odds_add(&o, i, 0, ODDS_SHARES));
        for (uint32_t r = 0; r < rounds; r++) {
            bool in[WIRE_MEMBERS_MAX] = {false};

            for (uint32_t i = 0; i <= against; i++)
                in[i] = true;
            odds_part(&o, in, against + 1, true);
            in_middle += in[0];
            for (uint32_t i = 0; i <= against; i++)
                o.turns[i] += !in[i];
            for (uint32_t i = 1; i <= against; i++)
                assert_true(in[i] != in[0]);
        }
        assert_in_range(in_middle, rounds / (against + 1) - 1, rounds / (against + 1) + 1);
    }
}

static void test_a_pair_is_at_odds_once_whoever_says_so(void **state)
{
    static struct odds o;

    (void)state;
    assert_false(odds_between(&o, 1, 2));
    assert_true(odds_add(&o, 1, 2, ODDS_SHARES));
    assert_true(odds_between(&o, 1, 2) && odds_between(&o, 2, 1));
    assert_false(odds_add(&o, 2, 1, ODDS_IDS));
    assert_false(odds_add(&o, 1, 2, ODDS_SHARES));
    assert_int_equal(o.others[1], 1);
    assert_int_equal(o.others[2], 1);
    assert_int_equal(odds_about(&o, 2), ODDS_SHARES);
    assert_int_equal(odds_about(&o, 0), ODDS_NONE);
}

/* --- ids --- */

struct other_list {
    uint32_t party;
    uint32_t cut; /* who is lost, so that there is another generation */
};

/* While the third upload of `cut` gets lost, somebody changes the file. */
static void another_id(struct sim *s, struct flight *f, void *owner)
{
    const struct other_list *l = owner;

    if (f->up && f->party == l->cut && !f->end && sim_sent(s, (int)l->cut, WIRE_UPLOAD) == 2)
        sim_party_train(s, l->party)->id_text[0] = '9';
}

static struct sim *with_another_list(struct other_list *l)
{
    struct sim_options o = dropping();
    struct sim *s = sim_new(&o);

    sim_rule(s, (struct sim_rule){
                    .act = SIM_CUT_BEFORE, .from = (int)l->cut, .kind = WIRE_UPLOAD, .nth = 3});
    s->tap = (struct sim_tap){another_id, l};
    sim_run(s, HOUR_US);
    return s;
}

/* The one in the middle differs from two, and so goes at once; the last differs from one first. */
static void test_a_member_with_another_list_costs_itself_alone(void **state)
{
    (void)state;
    for (uint32_t who = 0; who < PARTIES; who++) {
        for (uint32_t cut = 0; cut < PARTIES; cut++) {
            struct other_list l = {who, cut};
            struct sim *s = with_another_list(&l);
            char words[40];

            snprintf(words, sizeof words, "the ids of p%u are not", who + 1);
            expect_others_complete(s, 1u << who);
            assert_int_equal(status_exit_code(sim_party_end(s, who)->error.status), 2);
            assert_non_null(strstr(sim_party_end(s, who)->error.text, words));
            sim_free(s);
        }
    }
}

static void test_the_last_and_its_neighbour_sit_out_in_turn_until_it_is_known(void **state)
{
    struct other_list l = {PARTIES - 1, 0};
    struct sim *s = with_another_list(&l);

    (void)state;
    assert_int_equal(fed(s)->odds.others[PARTIES - 1], 2);
    assert_int_equal(fed(s)->odds.others[PARTIES - 2], 1);
    assert_true(fed(s)->odds.turns[PARTIES - 2] <= 1 && fed(s)->odds.turns[PARTIES - 1] <= 1);
    sim_free(s);
}

/* --- proofs --- */

struct liar {
    struct sim *s;
    uint32_t self, side;
    uint64_t number;
};

static void wrong_proof(struct wire_msg *m, void *owner)
{
    const struct liar *l = owner;

    liars_show_proof(m, &l->s->party[l->self].key, l->side);
}

static void wrong_mark(struct wire_msg *m, void *owner)
{
    const struct liar *l = owner;

    liars_show_mark(m, &l->s->party[l->self].key, l->side);
}

static void lies(struct sim *s, struct liar *l, uint32_t nth,
                 void (*alter)(struct wire_msg *m, void *owner))
{
    l->s = s;
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = (int)l->self,
                                  .kind = WIRE_CONFIRM,
                                  .nth = nth,
                                  .alter = alter,
                                  .owner = l});
}

/* Always: the second time it is known to be it. */
static void test_a_wrong_proof_ends_nobody_who_is_shown_it(void **state)
{
    (void)state;
    for (uint32_t side = IDS_BEFORE; side < IDS_SIDES; side++) {
        struct sim_options o = dropping();
        struct sim *s = sim_new(&o);
        struct liar l = {.self = 2, .side = side};

        lies(s, &l, 0, wrong_proof);
        sim_run(s, HOUR_US);
        expect_others_complete(s, 1u << 2);
        assert_true(fed(s)->peer[2].barred);
        assert_int_equal(status_exit_code(sim_party_end(s, 2)->error.status), 2);
        assert_non_null(strstr(sim_transcript(s), "server: offer 2 -> p1 p2 p4 p5\n"));
        assert_int_equal(sim_server_report(s)->void_rounds, 2);
        sim_free(s);
    }
}

/* Once: it is only a suspicion, for both. */
static void test_a_wrong_proof_keeps_two_apart_in_turn(void **state)
{
    struct sim_options o = dropping();
    struct sim *s = sim_new(&o);
    struct liar l = {.self = 2, .side = IDS_AFTER};

    (void)state;
    lies(s, &l, 1, wrong_proof);
    sim_run(s, HOUR_US);
    expect_others_complete(s, 0);
    assert_non_null(strstr(sim_transcript(s), "server: offer 2 -> p1 p2 p4 p5\n"));
    assert_non_null(strstr(sim_transcript(s), "server: offer 3 -> p1 p2 p3 p5\n"));
    assert_int_equal(sim_sent(s, 3, WIRE_REFUSE), 1);
    sim_free(s);
}

/* A wrong mark is seen by the server alone. */
static void test_a_wrong_mark_ends_nobody_else(void **state)
{
    (void)state;
    for (uint32_t side = IDS_BEFORE; side < IDS_SIDES; side++) {
        struct sim_options o = dropping();
        struct sim *s = sim_new(&o);
        struct liar l = {.self = 2, .side = side};

        sim_rule(
            s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 0, .kind = WIRE_UPLOAD, .nth = 3});
        lies(s, &l, 2, wrong_mark);
        sim_run(s, HOUR_US);
        expect_others_complete(s, 0);
        assert_int_equal(fed(s)->odds.others[2], 1);
        sim_free(s);
    }
}

/* And under wait everything is as it was: one that differs ends the run. */
static void test_under_wait_a_wrong_proof_ends_the_run(void **state)
{
    struct sim_options o = {.parties = PARTIES};
    struct sim *s = sim_new(&o);
    struct liar l = {.self = 2, .side = IDS_AFTER};

    (void)state;
    lies(s, &l, 0, wrong_proof);
    sim_run(s, HOUR_US);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 2);
    assert_int_equal(status_exit_code(sim_party_end(s, 3)->error.status), 2);
    sim_free(s);
}

/* --- witnesses --- */

static void see_too_much(struct wire_msg *m, void *owner)
{
    const struct liar *l = owner;

    liars_see(m, &l->s->party[l->self].key, UINT32_MAX, WIRE_LEDGER_MAX);
}

static struct sim *with_witnesses(const char *set, const char *another, struct liar *l, size_t n)
{
    struct sim_options o = dropping();
    struct sim *s;

    o.sets[4] = set;
    o.sets[5] = another;
    s = sim_new(&o);
    for (size_t i = 0; i < n; i++)
        lies(s, &l[i], 0, see_too_much);
    sim_run(s, HOUR_US);
    return s;
}

static void test_as_many_as_may_lie_stop_nobody_by_what_they_have_seen(void **state)
{
    struct liar one[] = {{.self = 4}}, two[] = {{.self = 4}, {.self = 1}};
    struct sim *s = with_witnesses(NULL, NULL, one, 1);

    (void)state;
    expect_others_complete(s, 0);
    sim_free(s);
    s = with_witnesses("protocol.aggregation=coded", "protocol.coded.privacy=2", two, 2);
    expect_others_complete(s, 0);
    sim_free(s);
}

static void test_one_more_stops_whom_they_have_seen(void **state)
{
    struct liar two[] = {{.self = 4}, {.self = 1}};
    struct sim *s = with_witnesses(NULL, NULL, two, 2);

    (void)state;
    assert_int_equal(status_exit_code(sim_party_end(s, 0)->error.status), 5);
    assert_non_null(strstr(sim_party_end(s, 0)->error.text, "ledger: p2 has seen"));
    assert_int_equal(sim_charged(s, 0), 0);
    sim_free(s);
}

/* It hears of nothing, and so says nothing: a liar would do the same. */
static void test_who_was_put_back_and_does_not_say_so_keeps_nobody_waiting(void **state)
{
    enum { AT_US = 20000 };
    struct sim_options o = dropping();
    struct sim *s;
    uint64_t generation;

    (void)state;
    o.checkpoint_rounds = 3;
    s = sim_new(&o);
    sim_break_at(s, (struct sim_break){.what = SIM_DEATH,
                                       .who = 2,
                                       .at_us = AT_US,
                                       .down_us = 1000,
                                       .lose_ledger = true,
                                       .lose_saved = true});
    sim_run(s, AT_US - 1);
    generation = sim_server_report(s)->presence.generation;
    sim_rule(s, (struct sim_rule){
                    .act = SIM_SWALLOW, .from = SIM_SERVER, .party = 2, .kind = WIRE_CONFIRMS});
    sim_run(s, HOUR_US);
    expect_others_complete(s, 1u << 2);
    assert_int_equal(status_exit_code(sim_party_end(s, 2)->error.status), 5);
    assert_non_null(strstr(sim_party_end(s, 2)->error.text, "more of the ledger of p3 than there"));
    /* One without it, one in which it is seen, one without it. */
    assert_int_equal(sim_server_report(s)->presence.generation, generation + 3);
    sim_free(s);
}

/* --- lies that make sets small --- */

static void accuse_first(struct wire_msg *m, void *owner)
{
    (void)owner;
    liars_accuse(m, 0, STATUS_KIND_PEER, 0);
}

/* The last party accuses the first, and asks for all: it would make room for nobody. */
static void test_who_accuses_and_asks_for_more_than_there_are_ends_nobody(void **state)
{
    static const struct {
        uint32_t parties, honest;
        const char *set[3];
    } runs[] = {
        {3, 2, {NULL}},
        {4, 3, {NULL}},
        {4, 3, {"protocol.aggregation=coded", "protocol.coded.segments=2"}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const uint32_t n = runs[i].parties;
        struct sim_options o = dropping();
        char least[40];
        struct sim *s;

        o.parties = n;
        memcpy(o.sets + 4, runs[i].set, sizeof runs[i].set);
        snprintf(least, sizeof least, "policy.min_parties=%u", runs[i].honest);
        o.party_sets[0] = least;
        s = sim_new(&o);
        s->party[n - 1].config.policy.min_parties = n;
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = (int)n - 1,
                                      .kind = WIRE_UPLOAD,
                                      .nth = 2,
                                      .alter = accuse_first});
        sim_run(s, HOUR_US);
        expect_others_complete(s, UINT64_C(1) << (n - 1));
        sim_free(s);
    }
}

/* In the set of two that its accusation leaves it is "all others", and no more than may lie. */
static void test_in_a_set_that_a_liar_made_small_its_word_stops_nobody(void **state)
{
    struct sim_options o = dropping();
    struct sim *s;
    struct liar l;

    (void)state;
    o.parties = 3;
    o.party_sets[0] = "policy.min_parties=2";
    s = sim_new(&o);
    l = (struct liar){.s = s, .self = 2, .number = WIRE_LEDGER_MAX};
    sim_rule(
        s, (struct sim_rule){
               .act = SIM_ALTER, .from = 2, .kind = WIRE_UPLOAD, .nth = 2, .alter = accuse_first});
    sim_rule(
        s,
        (struct sim_rule){
            .act = SIM_ALTER, .from = 2, .kind = WIRE_CONFIRM, .alter = see_too_much, .owner = &l});
    sim_run(s, HOUR_US);
    expect_others_complete(s, UINT64_C(1) << 2);
    sim_free(s);
}

/* --- anything --- */

/* A liar says, each time that it has something to say, one of all that messages allow. */
struct fuzz {
    struct sim *s;
    uint32_t self;
    uint64_t state;
};

static uint32_t draw(struct fuzz *f, uint32_t n)
{
    f->state = f->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(f->state >> 33) % n;
}

/* Of its ids from the second generation on: before that a job needs everybody. */
static void lie_in_a_confirmation(struct wire_msg *m, void *owner)
{
    struct fuzz *f = owner;
    const struct sign_key *key = &f->s->party[f->self].key;

    switch (draw(f, 8) | (m->confirm.generation == 1 ? 3 : 0)) {
    case 0: liars_show_proof(m, key, IDS_BEFORE); break;
    case 1: liars_show_proof(m, key, IDS_AFTER); break;
    case 2: liars_show_mark(m, key, IDS_BEFORE); break;
    case 3: liars_see(m, key, draw(f, f->s->options.parties), WIRE_LEDGER_MAX); break;
    case 4: liars_see(m, key, UINT32_MAX, WIRE_LEDGER_MAX); break;
    default: break;
    }
}

static void lie_in_a_share(struct wire_msg *m, void *owner)
{
    struct fuzz *f = owner;
    const size_t others = m->share.tags.n / WIRE_TAG_BYTES;

    if (draw(f, 3) == 0 && m->share.sealed.n > 0)
        liars_spoil_shares(m, others, 1u << draw(f, (uint32_t)others));
}

/* Of an honest party, in this generation or the one before: of whom it was with none knows. */
static void lie_about_somebody(struct wire_msg *m, void *owner)
{
    struct fuzz *f = owner;

    if (draw(f, 3) > 0)
        return;
    liars_accuse(m, draw(f, f->s->options.parties),
                 draw(f, 2) ? STATUS_KIND_PEER : STATUS_KIND_CONFIG, draw(f, 4) == 0);
}

static void lies_at_random(struct sim *s, struct fuzz *f)
{
    static const struct {
        enum wire_kind kind;
        void (*alter)(struct wire_msg *, void *);
    } what[] = {{WIRE_CONFIRM, lie_in_a_confirmation},
                {WIRE_SHARE, lie_in_a_share},
                {WIRE_UPLOAD, lie_about_somebody}};

    f->s = s;
    for (size_t i = 0; i < sizeof what / sizeof *what; i++)
        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = (int)f->self,
                                      .kind = what[i].kind,
                                      .alter = what[i].alter,
                                      .owner = f});
}

static uint32_t edges_of(const struct sim *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->options.parties; i++)
        n += fed(s)->odds.others[i];
    return n / 2;
}

static uint32_t play_liars(uint64_t seed, uint32_t parties, uint32_t t, const char *const *sets)
{
    struct sim_options o = dropping();
    struct fuzz liar[2];
    struct sim *s;
    uint64_t liars = 0;
    uint32_t edges;

    o.parties = parties;
    o.quiet = true;
    for (size_t i = 0; sets[i] != NULL; i++)
        o.sets[4 + i] = sets[i];
    s = sim_new(&o);
    for (uint32_t i = 0; i < t; i++) {
        liar[i] =
            (struct fuzz){.self = (uint32_t)((seed + i * (1 + seed % (parties - 1))) % parties),
                          .state = seed * 977 + i};
        liars |= UINT64_C(1) << liar[i].self;
        lies_at_random(s, &liar[i]);
    }
    sim_run(s, HOUR_US);
    if (sim_server_end(s)->outcome != OUTCOME_COMPLETED)
        print_error("seed %llu, %s: %s\n", (unsigned long long)seed, sets[0],
                    sim_server_end(s)->error.text);
    expect_others_complete(s, liars);
    edges = edges_of(s);
    for (uint32_t i = 0; i < parties; i++) {
        for (uint32_t j = 0; j < i; j++)
            assert_true(!odds_between(&fed(s)->odds, i, j) || ((liars >> i | liars >> j) & 1));
    }
    /* For each liar T + 1 void ones; each epoch one, and one that it was late in. */
    assert_true(sim_server_report(s)->presence.generation <= 1 + t * (t + 1) + EPOCHS + t * EPOCHS);
    sim_free(s);
    return edges;
}

static void test_whatever_liars_say_no_honest_party_is_shut_out_or_ended(void **state)
{
    static const char *const masked[] = {"protocol.aggregation=masked", NULL},
                             *const clear[] = {"protocol.aggregation=clear", NULL},
                             *const one[] = {"protocol.aggregation=coded", NULL},
                             *const two[] = {"protocol.aggregation=coded",
                                             "protocol.coded.privacy=2",
                                             "protocol.coded.segments=1", NULL},
                             *const async[] = {"protocol.aggregation=clear",
                                               "protocol.straggler=async", NULL};
    uint32_t edges = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        edges += play_liars(seed, 5, 1, masked);
        edges += play_liars(seed, 5, 1, clear);
        edges += play_liars(seed, 5, 1, async);
        edges += play_liars(seed, 5, 1, one);
        edges += play_liars(seed, 7, 2, two);
    }
    assert_true(edges > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_sits_out_for_ever_and_the_more_it_is_against_the_longer),
        cmocka_unit_test(test_a_pair_is_at_odds_once_whoever_says_so),
        cmocka_unit_test(test_a_member_with_another_list_costs_itself_alone),
        cmocka_unit_test(test_the_last_and_its_neighbour_sit_out_in_turn_until_it_is_known),
        cmocka_unit_test(test_a_wrong_proof_ends_nobody_who_is_shown_it),
        cmocka_unit_test(test_a_wrong_proof_keeps_two_apart_in_turn),
        cmocka_unit_test(test_a_wrong_mark_ends_nobody_else),
        cmocka_unit_test(test_under_wait_a_wrong_proof_ends_the_run),
        cmocka_unit_test(test_as_many_as_may_lie_stop_nobody_by_what_they_have_seen),
        cmocka_unit_test(test_one_more_stops_whom_they_have_seen),
        cmocka_unit_test(test_who_was_put_back_and_does_not_say_so_keeps_nobody_waiting),
        cmocka_unit_test(test_who_accuses_and_asks_for_more_than_there_are_ends_nobody),
        cmocka_unit_test(test_in_a_set_that_a_liar_made_small_its_word_stops_nobody),
        cmocka_unit_test(test_whatever_liars_say_no_honest_party_is_shut_out_or_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
