/* test_accused.c -- shares that do not open, under drop: dealer and receiver are never in one set
 * again, each sits out in turn, and who has that happen with too many is shut out.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/parts.h"
#include "tests/sim/liars.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t HOUR_US = 3600000000ull;

enum { LIAR = 4, ALL = 4 };

static struct sim *five(const char *colluders)
{
    struct sim_options o = {.parties = 5,
                            .train_rows = 9,
                            .sets = {"protocol.aggregation=coded", "protocol.straggler=drop",
                                     "protocol.deadline_ms=2000", "training.epochs=6",
                                     "protocol.coded.segments=1", colluders}};

    return sim_new(&o);
}

/* What is for the first of the others, or for all, does not open. */
static void spoil_one(struct wire_msg *m, void *owner)
{
    (void)owner;
    liars_spoil_shares(m, ALL, 1);
}

static void spoil_all(struct wire_msg *m, void *owner)
{
    (void)owner;
    liars_spoil_shares(m, ALL, UINT64_MAX);
}

static void lie(struct sim *s, uint32_t nth, void (*alter)(struct wire_msg *, void *))
{
    sim_rule(s,
             (struct sim_rule){
                 .act = SIM_ALTER, .from = LIAR, .kind = WIRE_SHARE, .nth = nth, .alter = alter});
}

/* What it would upload is an accusation instead. */
static void accuse(struct wire_msg *m, void *owner)
{
    liars_accuse(m, *(const uint32_t *)owner, STATUS_KIND_PEER, 0);
}

static void lie_about(struct sim *s, int who, uint32_t nth, const uint32_t *accused)
{
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = who,
                                  .kind = WIRE_UPLOAD,
                                  .nth = nth,
                                  .alter = accuse,
                                  .owner = (void *)accused});
}

static const struct server_peer *peer(const struct sim *s, uint32_t i)
{
    return &s->server->fed.peer[i];
}

/* All but the last `liars` are there at the end, and have never been shut out. */
static void assert_honest_end_well(struct sim *s, uint32_t liars)
{
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 0; i + liars <= LIAR; i++) {
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
        assert_false(peer(s, i)->barred);
    }
}

/* The accused first; when its turn is over, the one who said so. */
static void test_who_deals_a_share_that_does_not_open_is_never_with_who_says_so_again(void **state)
{
    struct sim *s = five("protocol.coded.privacy=1");
    const char *at;

    (void)state;
    lie(s, 2, spoil_one);
    sim_run(s, HOUR_US);
    assert_honest_end_well(s, 1);
    at = strstr(sim_transcript(s), "p1: refuse");
    assert_non_null(at);
    assert_non_null(at = strstr(at, "server: offer 2 -> p1 p2 p3 p4\n"));
    assert_non_null(at = strstr(at, "server: offer 3 -> p2 p3 p4 p5\n"));
    assert_non_null(strstr(at, "server: offer 4 -> p1 p2 p3 p4\n"));
    assert_int_equal(sim_sent(s, 0, WIRE_REFUSE), 1);
    assert_int_equal(sim_server_report(s)->void_rounds, 1);
    assert_false(peer(s, LIAR)->barred);
    assert_int_equal(sim_party_end(s, LIAR)->outcome, OUTCOME_COMPLETED);
    sim_free(s);
}

static void test_a_liar_to_all_at_once_is_shut_out_and_all_others_go_on(void **state)
{
    struct sim *s = five("protocol.coded.privacy=1");

    (void)state;
    lie(s, 0, spoil_all);
    sim_run(s, HOUR_US);
    assert_honest_end_well(s, 1);
    assert_non_null(strstr(sim_transcript(s), "server: offer 2 -> p1 p2 p3 p4\n"));
    assert_null(strstr(sim_transcript(s), "server: offer 3"));
    assert_true(peer(s, LIAR)->barred);
    assert_int_equal(status_exit_code(sim_party_end(s, LIAR)->error.status), 3);
    assert_non_null(strstr(sim_party_end(s, LIAR)->error.text, "p5 is at odds with p1, p2"));
    sim_free(s);
}

static void test_who_accuses_one_after_another_is_shut_out(void **state)
{
    static const uint32_t first = 0, second = 1;
    struct sim *s = five("protocol.coded.privacy=1");

    (void)state;
    lie_about(s, LIAR, 2, &first);
    lie_about(s, LIAR, 3, &second);
    sim_run(s, HOUR_US);
    assert_honest_end_well(s, 1);
    assert_true(peer(s, LIAR)->barred);
    sim_free(s);
}

/* A pair that is at odds meets no more, so that the next to lie to is another one. */
static void test_who_always_lies_to_one_is_shut_out_by_the_second(void **state)
{
    struct sim *s = five("protocol.coded.privacy=1");

    (void)state;
    lie(s, 0, spoil_one);
    sim_run(s, HOUR_US);
    assert_honest_end_well(s, 1);
    assert_true(peer(s, LIAR)->barred);
    assert_int_equal(sim_sent(s, 0, WIRE_REFUSE), 1);
    assert_int_equal(sim_sent(s, 1, WIRE_REFUSE), 1);
    assert_int_equal(sim_server_report(s)->void_rounds, 2);
    sim_free(s);
}

/* As many as can collude have nobody shut out by accusing the same one, nor kept out for ever. */
static void test_two_who_collude_shut_nobody_out(void **state)
{
    static const uint32_t victim = 0;
    struct sim *s = five("protocol.coded.privacy=2");
    const char *at;

    (void)state;
    lie_about(s, LIAR, 2, &victim);
    lie_about(s, LIAR - 1, 2, &victim);
    sim_run(s, HOUR_US);
    assert_honest_end_well(s, 2);
    assert_int_equal(s->server->fed.odds.others[0], 2);
    assert_non_null(at = strstr(sim_transcript(s), "server: offer 2 -> p2 p3 p4 p5\n"));
    assert_non_null(strstr(at, "server: offer 3 -> p1 p2 p3\n"));
    sim_free(s);
}

/* Three are one more than can lie together: then it is the victim who is. */
static void test_who_is_at_odds_with_more_than_can_collude_is_shut_out(void **state)
{
    static const uint32_t victim = 0;
    struct sim *s = five("protocol.coded.privacy=2");

    (void)state;
    for (int who = LIAR - 2; who <= LIAR; who++)
        lie_about(s, who, 2, &victim);
    sim_run(s, HOUR_US);
    assert_true(peer(s, 0)->barred);
    assert_int_equal(status_exit_code(sim_party_end(s, 0)->error.status), 3);
    for (uint32_t i = 1; i <= LIAR; i++)
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
    sim_free(s);
}

/* --- whose word counts --- */

struct word {
    uint32_t of;
    uint64_t before; /* generations */
};

static void accuse_of_then(struct wire_msg *m, void *owner)
{
    const struct word *w = owner;

    if (m->kind == WIRE_HELLO) /* a hello says its generation in what is signed */
        *m = (struct wire_msg){.kind = WIRE_CONFIRM, .confirm.generation = 2};
    liars_accuse(m, w->of, STATUS_KIND_PEER, w->before);
}

/* p1 is cut off before its third upload, and is back in a third generation. */
static struct sim *five_and_a_word(enum wire_kind kind, uint32_t nth, const struct word *w)
{
    struct sim *s = five("protocol.coded.privacy=1");

    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 0, .kind = WIRE_SHARE, .nth = 3});
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = LIAR,
                                  .kind = kind,
                                  .nth = nth,
                                  .alter = accuse_of_then,
                                  .owner = (void *)w});
    sim_run(s, HOUR_US);
    assert_honest_end_well(s, 1);
    return s;
}

static void expect_dropped(enum wire_kind kind, uint32_t nth, struct word w)
{
    struct sim *s = five_and_a_word(kind, nth, &w);

    assert_int_equal(status_exit_code(sim_party_end(s, LIAR)->error.status), 3);
    assert_non_null(strstr(sim_party_end(s, LIAR)->error.text, "p5: accuses one that"));
    for (uint32_t i = 0; i <= LIAR; i++)
        assert_int_equal(s->server->fed.odds.others[i], 0);
    sim_free(s);
}

static void test_who_accuses_one_that_it_was_not_with_is_dropped(void **state)
{
    (void)state;
    expect_dropped(WIRE_UPLOAD, 2, (struct word){LIAR, 0}); /* itself */
    expect_dropped(WIRE_UPLOAD, 2, (struct word){7, 0});    /* of no roster */
    expect_dropped(WIRE_UPLOAD, 5, (struct word){0, 0});    /* was lost before this generation */
    expect_dropped(WIRE_HELLO, 1 + 1, (struct word){1, 0}); /* has shown it nothing yet */
}

/* Its accusation may have been on its way when the generation ended. */
static void test_an_accusation_of_the_generation_before_counts_from_the_next_on(void **state)
{
    static const struct word both = {1, 1}, one = {0, 1};
    struct sim *s = five_and_a_word(WIRE_UPLOAD, 4, &both);

    (void)state;
    assert_true(odds_between(&s->server->fed.odds, LIAR, 1));
    assert_non_null(strstr(sim_transcript(s), "server: offer 3 -> p3 p4 p5\n"));
    sim_free(s);

    s = five_and_a_word(WIRE_UPLOAD, 4, &one);
    assert_true(odds_between(&s->server->fed.odds, LIAR, 0));
    assert_int_equal(sim_server_report(s)->void_rounds, 1); /* of p1, which was lost */
    assert_non_null(strstr(sim_transcript(s), "server: offer 3 -> p1 p2 p3 p4\n"));
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_deals_a_share_that_does_not_open_is_never_with_who_says_so_again),
        cmocka_unit_test(test_a_liar_to_all_at_once_is_shut_out_and_all_others_go_on),
        cmocka_unit_test(test_who_accuses_one_after_another_is_shut_out),
        cmocka_unit_test(test_who_always_lies_to_one_is_shut_out_by_the_second),
        cmocka_unit_test(test_two_who_collude_shut_nobody_out),
        cmocka_unit_test(test_who_is_at_odds_with_more_than_can_collude_is_shut_out),
        cmocka_unit_test(test_who_accuses_one_that_it_was_not_with_is_dropped),
        cmocka_unit_test(test_an_accusation_of_the_generation_before_counts_from_the_next_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
