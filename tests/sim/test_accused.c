/* test_accused.c -- shares that do not open, under drop: dealer and receiver sit out, and who has
 * that happen with a second one is shut out.
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

enum { LIAR = 4 };

static struct sim *five(void)
{
    struct sim_options o = {.parties = 5,
                            .train_rows = 9,
                            .sets = {"protocol.aggregation=coded", "protocol.straggler=drop",
                                     "protocol.deadline_ms=2000", "training.epochs=4"}};

    return sim_new(&o);
}

/* What is for the first of the others does not open. */
static void damage(struct wire_msg *m, void *owner)
{
    static uint8_t other[4096];

    (void)owner;
    assert_true(m->share.sealed.n > 0 && m->share.sealed.n <= sizeof other);
    memcpy(other, m->share.sealed.data, m->share.sealed.n);
    other[0] ^= 1;
    m->share.sealed.data = other;
}

static void lie(struct sim *s, uint32_t nth)
{
    sim_rule(s,
             (struct sim_rule){
                 .act = SIM_ALTER, .from = LIAR, .kind = WIRE_SHARE, .nth = nth, .alter = damage});
}

static const struct server_peer *peer(const struct sim *s, uint32_t i)
{
    return &s->server->fed.peer[i];
}

static void test_who_deals_a_share_that_does_not_open_sits_out_too(void **state)
{
    struct sim *s = five();
    const char *at;

    (void)state;
    lie(s, 2);
    sim_run(s, HOUR_US);
    assert_int_equal(status_exit_code(sim_party_end(s, 0)->error.status), 3);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    at = strstr(sim_transcript(s), "p1: refuse");
    assert_non_null(at);
    assert_non_null(at = strstr(at, "server: offer 2 -> p2 p3 p4\n"));
    assert_non_null(strstr(at, "server: offer 3 -> p2 p3 p4 p5\n"));
    assert_false(peer(s, LIAR)->barred);
    assert_int_equal(sim_party_end(s, LIAR)->outcome, OUTCOME_COMPLETED);
    sim_free(s);
}

static void test_who_is_at_odds_with_two_is_shut_out(void **state)
{
    struct sim *s = five();

    (void)state;
    lie(s, 2);
    lie(s, 4);
    sim_run(s, HOUR_US);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(status_exit_code(sim_party_end(s, i)->error.status), 3);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_true(peer(s, LIAR)->barred);
    for (uint32_t i = 0; i < LIAR; i++)
        assert_false(peer(s, i)->barred);
    for (uint32_t i = 2; i < LIAR; i++)
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_deals_a_share_that_does_not_open_sits_out_too),
        cmocka_unit_test(test_who_is_at_odds_with_two_is_shut_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
