/* test_own_party.c -- the server's operator loses its own party, and has it back, in mid epoch:
 * every round is paid under the noise that it is sent with.
 *
 * How many parties count, and how many may collude, is the same with it and without; the noise that
 * each adds is not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/inside.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { PARTIES = 4, OWN = PARTIES - 1, MECHANISMS = 2 };

/* Of one party: rounds that are paid and not sent, under each mechanism there has been. */
static struct purse {
    struct account_entry mechanism[MECHANISMS];
    int left[MECHANISMS], sent[MECHANISMS];
    size_t n;
} purses[PARTIES];

static size_t place_of(struct purse *p, const struct account_entry *m)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->mechanism[i].sigma == m->sigma)
            return i;
    }
    assert_true(p->n < MECHANISMS);
    p->mechanism[p->n] = *m;
    return p->n++;
}

static void charged(struct sim *s, uint32_t party, const struct action_charge *c, void *owner)
{
    struct purse *p = &purses[party];
    int *left = &p->left[place_of(p, &c->mechanism)];

    (void)s;
    (void)owner;
    *left += c->give_back ? -(int)c->rounds : (int)c->rounds;
    assert_true(*left >= 0); /* less was spent than is given back */
}

static void said(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    struct purse *p = &purses[who < 0 ? 0 : who];
    size_t at;

    (void)to;
    (void)owner;
    if (who < 0 || m->kind != WIRE_UPLOAD)
        return;
    at = place_of(p, &inside(s->party[who].session)->purse.mechanism);
    p->sent[at]++;
    assert_true(--p->left[at] >= 0); /* sent, and not paid under this noise */
}

static void ended(struct sim *s, int who, void *owner)
{
    (void)s;
    (void)who;
    (void)owner;
}

static void test_noise_that_changes_with_the_servers_own_party_is_paid_as_it_is(void **state)
{
    struct sim_options o = {.parties = PARTIES,
                            .train_rows = 12,
                            .quiet = true,
                            .servers_own = true,
                            .sets = {"protocol.encoding=gaussian", "protocol.straggler=drop",
                                     "protocol.deadline_ms=100", "training.epochs=2"},
                            .party_sets = {"policy.encodings=[gaussian]"}};
    struct sim *s = sim_new(&o);

    (void)state;
    s->ear = (struct sim_ear){said, charged, ended, NULL};
    sim_rule(s, (struct sim_rule){
                    .act = SIM_DELAY, .from = OWN, .kind = WIRE_UPLOAD, .nth = 2, .us = 150000});
    sim_run(s, 3600000000ull);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_server_report(s)->whose.absent[OWN], 3);
    for (uint32_t i = 0; i < PARTIES - 1; i++) {
        const struct account_entry *m = purses[i].mechanism;

        assert_int_equal(purses[i].n, 2);
        assert_true(m[0].sigma != m[1].sigma && purses[i].sent[0] > 1 && purses[i].sent[1] > 1);
        assert_int_equal(m[0].parties, m[1].parties);
        assert_int_equal(m[0].colluders, m[1].colluders);
    }
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise_that_changes_with_the_servers_own_party_is_paid_as_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
