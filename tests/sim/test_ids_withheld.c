/* test_ids_withheld.c -- whoever keeps confirmations back, or leaves before its own, breaks
 * generations off as often as it likes, and turns no two neighbours against each other: a guess is
 * a list, and theirs are the same ones again.  Who comes with other lists has had its number soon.
 *
 * Signatures, keys and elements are real here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/misbehave.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

enum { PARTIES = 4, WITHHELD = 200 };

static const struct sim_options four = {
    .parties = PARTIES, .quiet = true, .sets = {"protocol.patience_ms=2000"}};

/* No two honest ends have counted more than the one list that the other has. */
static uint64_t most_counted(const struct sim *s)
{
    uint64_t most = 0;

    for (int who = SIM_SERVER; who < PARTIES; who++) {
        for (int other = SIM_SERVER; other < PARTIES; other++) {
            if (compared_between(s, who, other) > most)
                most = compared_between(s, who, other);
        }
    }
    return most;
}

static uint32_t generations(const struct sim *s)
{
    return sim_sent(s, SIM_SERVER, WIRE_OFFER) / PARTIES;
}

/* Two more generations, with which a server still has patience; then its process is another one,
 * and now and then everybody's, since a party has none for the 65th in vain. */
static void go_on(struct sim *s, uint32_t life)
{
    const uint32_t before = generations(s);

    for (uint64_t us = 1000; us < 1000000 && generations(s) < before + 2; us += 1000)
        sim_run(s, us); /* the clock stands where the last thing happened */
    s->breaks_n = 0;    /* the earlier ones have happened */
    sim_kill_at(s, SIM_SERVER, sim_now_us(s));
    for (int who = 0; who < PARTIES && life % 16 == 15; who++)
        sim_kill_at(s, who, sim_now_us(s));
}

static void expect_nobody_ended(const struct sim *s)
{
    for (uint32_t i = 0; i < PARTIES; i++) {
        if (sim_party_end(s, i)->over)
            fail_msg("p%u ended after %u generations: %s", i + 1, generations(s),
                     sim_party_end(s, i)->error.text);
    }
}

/* Generations end as the rule says, processes come and go; then it is over. */
static void expect_trained_afterwards(struct sim_rule withheld)
{
    struct sim *s = sim_new(&four);

    sim_rule(s, withheld);
    for (uint32_t life = 0; generations(s) < WITHHELD && life < WITHHELD; life++) {
        go_on(s, life);
        expect_nobody_ended(s);
    }
    assert_true(generations(s) >= WITHHELD);
    assert_int_equal(most_counted(s), 1);
    for (uint32_t i = 0; i < PARTIES; i++)
        assert_int_equal(sim_uploaded(s, i), 0);
    s->rules_n = 0;
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 0; i < PARTIES; i++)
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(most_counted(s), 0);
    sim_free(s);
}

static void test_a_server_that_withholds_confirmations_turns_nobody_against_another(void **state)
{
    (void)state;
    expect_trained_afterwards((struct sim_rule){
        .act = SIM_CUT_BEFORE, .from = SIM_SERVER, .party = SIM_ANY, .kind = WIRE_CONFIRMS});
}

static void test_a_member_that_leaves_before_its_confirm_turns_nobody_against_another(void **state)
{
    (void)state;
    for (int who = 0; who < PARTIES; who += PARTIES - 1)
        expect_trained_afterwards(
            (struct sim_rule){.act = SIM_CUT_BEFORE, .from = who, .kind = WIRE_CONFIRM});
}

/* The same member, but with another list for each generation. */
static void another_list(struct sim *s, struct flight *f, void *owner)
{
    char *id = sim_party_train(s, 2)->id_text;
    struct wire_msg msg;

    (void)owner;
    if (f->up || f->end || f->party != 2)
        return;
    msg = mis_unpack(&f->frame);
    if (msg.kind == WIRE_OFFER)
        (*id)++;
}

static void test_who_withholds_and_guesses_gets_as_many_answers_as_it_may_have(void **state)
{
    const uint32_t most = 64;
    struct sim *s = sim_new(&four);

    (void)state;
    s->tap = (struct sim_tap){another_list, NULL};
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_CONFIRM});
    for (uint32_t life = 0; !sim_party_end(s, 1)->over && life < WITHHELD; life++)
        go_on(s, life);
    assert_int_equal(sim_sent(s, 1, WIRE_CONFIRM), most);
    assert_int_equal(compared_between(s, 1, 2), most);
    assert_int_equal(status_exit_code(sim_party_end(s, 1)->error.status), 5);
    assert_non_null(strstr(sim_party_end(s, 1)->error.text, "p3 comes with yet another list"));
    assert_int_equal(compared_between(s, 1, 0), 1);
    assert_int_equal(compared_between(s, 0, 1), 1);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_server_that_withholds_confirmations_turns_nobody_against_another),
        cmocka_unit_test(test_a_member_that_leaves_before_its_confirm_turns_nobody_against_another),
        cmocka_unit_test(test_who_withholds_and_guesses_gets_as_many_answers_as_it_may_have),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
