/* test_accused.c -- shares that do not open, under drop: the dealer sits out, the receiver goes
 * on, and who has that happen with too many, or too often, is shut out.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/parts.h"
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

/* What is for the first `*owner` of the others does not open. */
static void damage(struct wire_msg *m, void *owner)
{
    static uint8_t other[4096];
    const size_t each = m->share.sealed.n / ALL;

    assert_true(m->share.sealed.n > 0 && m->share.sealed.n <= sizeof other);
    memcpy(other, m->share.sealed.data, m->share.sealed.n);
    for (size_t i = 0; i < *(const size_t *)owner && i * each < m->share.sealed.n; i++)
        other[i * each] ^= 1;
    m->share.sealed.data = other;
}

static void lie(struct sim *s, uint32_t nth, const size_t *to)
{
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = LIAR,
                                  .kind = WIRE_SHARE,
                                  .nth = nth,
                                  .alter = damage,
                                  .owner = (void *)to});
}

/* What it would upload is an accusation instead. */
static void accuse(struct wire_msg *m, void *owner)
{
    m->kind = WIRE_REFUSE;
    m->refuse = (struct wire_refuse){
        .kind = STATUS_KIND_PEER, .text = "it did not open", .accused = *(const uint32_t *)owner};
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

static void test_who_deals_a_share_that_does_not_open_sits_out_and_who_says_so_stays(void **state)
{
    static const size_t one = 1;
    struct sim *s = five("protocol.coded.privacy=1");
    const char *at;

    (void)state;
    lie(s, 2, &one);
    sim_run(s, HOUR_US);
    assert_honest_end_well(s, 1);
    at = strstr(sim_transcript(s), "p1: refuse");
    assert_non_null(at);
    assert_non_null(at = strstr(at, "server: offer 2 -> p1 p2 p3 p4\n"));
    assert_non_null(strstr(at, "server: offer 3\n"));
    assert_false(peer(s, LIAR)->barred);
    assert_int_equal(sim_party_end(s, LIAR)->outcome, OUTCOME_COMPLETED);
    sim_free(s);
}

static void test_a_liar_to_all_at_once_is_shut_out_and_all_others_go_on(void **state)
{
    static const size_t all = ALL;
    struct sim *s = five("protocol.coded.privacy=1");

    (void)state;
    lie(s, 0, &all);
    sim_run(s, HOUR_US);
    assert_honest_end_well(s, 1);
    assert_non_null(strstr(sim_transcript(s), "server: offer 2 -> p1 p2 p3 p4\n"));
    assert_null(strstr(sim_transcript(s), "server: offer 3"));
    assert_true(peer(s, LIAR)->barred);
    sim_free(s);
}

static void test_who_accuses_one_after_another_is_shut_out(void **state)
{
    static const uint32_t first = 1, second = 2;
    struct sim *s = five("protocol.coded.privacy=1");

    (void)state;
    lie_about(s, LIAR, 2, &first);
    lie_about(s, LIAR, 3, &second);
    sim_run(s, HOUR_US);
    assert_honest_end_well(s, 1);
    assert_true(peer(s, LIAR)->barred);
    sim_free(s);
}

static void test_a_pair_that_is_at_odds_again_and_again_is_shut_out(void **state)
{
    static const size_t one = 1;
    struct sim *s = five("protocol.coded.privacy=1");

    (void)state;
    lie(s, 0, &one);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_true(peer(s, LIAR)->barred);
    assert_true(sim_sent(s, 0, WIRE_REFUSE) == 1 + SERVER_LOSSES_MAX);
    for (uint32_t i = 1; i < LIAR; i++) {
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
        assert_false(peer(s, i)->barred);
    }
    sim_free(s);
}

/* As many as can collude have nobody shut out by accusing the same one. */
static void test_two_who_collude_shut_nobody_out(void **state)
{
    static const uint32_t victim = 1;
    struct sim *s = five("protocol.coded.privacy=2");

    (void)state;
    lie_about(s, LIAR, 2, &victim);
    lie_about(s, LIAR - 1, 2, &victim);
    sim_run(s, HOUR_US);
    assert_honest_end_well(s, 2);
    assert_int_equal(peer(s, 0)->odds, 2);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_deals_a_share_that_does_not_open_sits_out_and_who_says_so_stays),
        cmocka_unit_test(test_a_liar_to_all_at_once_is_shut_out_and_all_others_go_on),
        cmocka_unit_test(test_who_accuses_one_after_another_is_shut_out),
        cmocka_unit_test(test_a_pair_that_is_at_odds_again_and_again_is_shut_out),
        cmocka_unit_test(test_two_who_collude_shut_nobody_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
