/* test_voided.c -- under `drop`, members that let rounds come to nothing, never three in a row: T
 * of them end nobody else, whether they go on until they are shut out or stop just before; and
 * whoever has but a poor line is not shut out for it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/limits.h"
#include "server/parts.h"
#include "tests/sim/inside.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t DAY_US = 86400000000ull;

enum { LIARS_MAX = 3, EPOCHS = 36, ROWS = 12 };

/* What each liar goes by: it knows all that the server counts of it. */
enum manner {
    RECKLESS, /* never the third time in a row */
    CAREFUL,  /* nor so often that it would be shut out */
    POOR_LINE /* no liar: lost once in 4 T rounds */
};

/* Parties of which the last lie, as one. */
struct plot {
    struct sim *s;
    const char *sets[4];
    uint32_t parties, liars, batch, epochs;
    uint32_t t; /* how many the plan withstands */
    enum wire_kind instead_of;
    enum manner manner;
    struct liar {
        struct plot *of;
        uint32_t who;
        struct sim_break how;
        uint32_t rounds;
    } liar[LIARS_MAX];
};

static const struct server_peer *peer_of(const struct liar *l)
{
    return &l->of->s->server->fed.peer[l->who];
}

static bool lets_it_fail(const struct liar *l)
{
    const struct server_peer *p = peer_of(l);
    const uint32_t one = 2 * l->of->t, most = SERVER_OWED_MAX > 3 * one ? SERVER_OWED_MAX : 3 * one;

    if (p->member < 0 || p->barred)
        return false;
    if (l->of->manner == POOR_LINE)
        return l->rounds % (4 * l->of->t) == 1;
    return p->losses + 1 < SERVER_LOSSES_MAX &&
           (l->of->manner == RECKLESS || p->owed + one <= most);
}

/* One at a time: what two let fail together is one round. */
static void let_it_fail(struct wire_msg *m, void *owner)
{
    struct liar *l = owner;

    (void)m;
    l->rounds++;
    for (const struct liar *before = l->of->liar; before < l; before++) {
        if (l->of->manner != POOR_LINE && lets_it_fail(before))
            return;
    }
    if (!lets_it_fail(l))
        return;
    l->how = (struct sim_break){.what = SIM_CUT, .who = (int)l->who};
    l->of->s->soon[l->who] = &l->how;
}

/* Rounds last longer than it takes to come back, so that nobody is missed at the end of an epoch.
 */
static void play(struct plot *p)
{
    char epochs[40], batch[40];
    struct sim_options o = {.parties = p->parties,
                            .train_rows = ROWS,
                            .quiet = true,
                            .sets = {"protocol.straggler=drop", "protocol.deadline_ms=500",
                                     "protocol.patience_ms=2000", "training.evaluate_every=0",
                                     epochs, batch, p->sets[0], p->sets[1], p->sets[2]}};

    snprintf(epochs, sizeof epochs, "training.epochs=%u", p->epochs);
    snprintf(batch, sizeof batch, "training.batch=%u", p->batch);
    p->s = sim_new(&o);
    for (uint32_t k = 0; k < p->liars; k++) {
        p->liar[k] = (struct liar){.of = p, .who = p->parties - 1 - k};
        sim_rule(p->s, (struct sim_rule){.act = SIM_ALTER,
                                         .from = (int)p->liar[k].who,
                                         .kind = p->instead_of,
                                         .alter = let_it_fail,
                                         .owner = &p->liar[k]});
    }
    sim_rule(p->s,
             (struct sim_rule){.act = SIM_DELAY, .from = 0, .kind = p->instead_of, .us = 300000});
    sim_run(p->s, DAY_US);
}

static uint64_t steps_of(const struct plot *p)
{
    return (uint64_t)p->epochs * (ROWS / p->batch);
}

static void expect_honest_complete(const struct plot *p)
{
    assert_int_equal(sim_server_end(p->s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_server_report(p->s)->steps, steps_of(p));
    for (uint32_t i = 0; i < p->parties - p->liars; i++) {
        if (sim_party_end(p->s, i)->outcome != OUTCOME_COMPLETED)
            fail_msg("%u liars, batch %u: p%u: %s", p->liars, p->batch, i + 1,
                     sim_party_end(p->s, i)->error.text);
    }
}

/* Rosters, and how many lie.  Masks withstand one that lies; two and three are withstood here. */
static const struct plot plots[] = {
    {.sets = {"protocol.aggregation=masked"},
     .parties = 5,
     .liars = 1,
     .t = 1,
     .instead_of = WIRE_UPLOAD},
    {.sets = {"protocol.aggregation=masked"},
     .parties = 7,
     .liars = 2,
     .t = 1,
     .instead_of = WIRE_UPLOAD},
    {.sets = {"protocol.aggregation=masked"},
     .parties = 7,
     .liars = 3,
     .t = 1,
     .instead_of = WIRE_UPLOAD},
    {.sets = {"protocol.aggregation=coded", "protocol.coded.segments=2",
              "protocol.coded.privacy=1"},
     .parties = 4,
     .liars = 1,
     .t = 1,
     .instead_of = WIRE_SHARE},
    {.sets = {"protocol.aggregation=coded", "protocol.coded.segments=2",
              "protocol.coded.privacy=2"},
     .parties = 7,
     .liars = 2,
     .t = 2,
     .instead_of = WIRE_SHARE},
    {.sets = {"protocol.aggregation=coded", "protocol.coded.segments=2",
              "protocol.coded.privacy=3"},
     .parties = 9,
     .liars = 3,
     .t = 3,
     .instead_of = WIRE_SHARE},
};
static const uint32_t batches[] = {12, 4};

typedef void expect(const struct plot *p);

static void each(enum manner manner, expect *as_well)
{
    for (size_t i = 0; i < sizeof plots / sizeof plots[0]; i++) {
        for (size_t b = 0; b < sizeof batches / sizeof batches[0]; b++) {
            struct plot p = plots[i];

            p.manner = manner;
            p.batch = batches[b];
            p.epochs = EPOCHS * p.batch / ROWS; /* as many steps */
            play(&p);
            expect_honest_complete(&p);
            as_well(&p);
            sim_free(p.s);
        }
    }
}

static uint64_t most_voided(const struct plot *p, uint32_t by)
{
    const uint32_t a = 12 / p->t > 3 ? 12 / p->t : 3;

    return by * (a + 1) + by * steps_of(p) / (2 * p->t);
}

/* --- until they are shut out --- */

static void expect_shut_out(const struct plot *p)
{
    for (uint32_t k = 0; k < p->liars; k++)
        assert_true(peer_of(&p->liar[k])->barred || p->batch < ROWS);
    assert_true(sim_server_report(p->s)->void_rounds <= most_voided(p, p->liars));
}

static void test_liars_that_void_rounds_are_shut_out(void **state)
{
    (void)state;
    each(RECKLESS, expect_shut_out);
}

/* Two of them in so many steps would void more than the others pay for again. */
static void test_two_end_nobody_in_a_long_run(void **state)
{
    struct plot p = plots[1];

    (void)state;
    p.batch = ROWS;
    p.epochs = 240;
    play(&p);
    expect_honest_complete(&p);
    expect_shut_out(&p);
    sim_free(p.s);
}

/* Late is as good as lost: two of three uploads come to nobody. */
static void test_who_is_late_too_often_is_shut_out(void **state)
{
    const struct sim_options o = {.parties = 5,
                                  .train_rows = ROWS,
                                  .quiet = true,
                                  .sets = {"protocol.straggler=drop", "protocol.deadline_ms=500",
                                           "training.batch=12", "training.epochs=36"}};
    struct sim *s = sim_new(&o);
    const struct server_peer *late = &s->server->fed.peer[4];

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_SWALLOW, .from = 4, .kind = WIRE_UPLOAD, .but = 3});
    sim_run(s, DAY_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_true(late->barred && late->losses < SERVER_LOSSES_MAX);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
    sim_free(s);
}

/* --- in an evaluation --- */

struct evaluation {
    struct sim *s;
    uint32_t rounds;
    struct sim_break how;
};

static void let_each_third_fail(struct wire_msg *m, void *owner)
{
    struct evaluation *e = owner;

    if (m->upload.purpose == PURPOSE_TRAIN || ++e->rounds % 3 != 0)
        return;
    e->how = (struct sim_break){.what = SIM_CUT, .who = 0};
    e->s->soon[0] = &e->how;
}

/* Three take part or nobody does, since p4 is away: so p1 is asked again and again, and more often
 * than a party takes part without a step forward, in one evaluation of 150 rounds.  Each that ends
 * is one. */
static void test_a_long_evaluation_comes_forward_by_its_rounds(void **state)
{
    const struct sim_options o = {.parties = 4,
                                  .train_rows = ROWS,
                                  .test_rows = 150 * WIRE_EVALUATE_ROWS,
                                  .quiet = true,
                                  .sets = {"protocol.straggler=drop", "protocol.deadline_ms=500",
                                           "model.embedding=1", "training.epochs=1",
                                           "privacy.delta=1e-6"},
                                  .party_sets = {"policy.min_parties=3"}};
    struct evaluation e = {.s = sim_new(&o)};

    (void)state;
    sim_rule(e.s, (struct sim_rule){.act = SIM_KILL,
                                    .from = 3,
                                    .kind = WIRE_UPLOAD,
                                    .nth = 2,
                                    .how = {.down_us = 2 * DAY_US}});
    sim_rule(e.s, (struct sim_rule){.act = SIM_ALTER,
                                    .from = 0,
                                    .kind = WIRE_UPLOAD,
                                    .alter = let_each_third_fail,
                                    .owner = &e});
    sim_run(e.s, DAY_US);
    assert_true(sim_server_report(e.s)->void_rounds > 64);
    assert_int_equal(sim_server_end(e.s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 1; i < 3; i++) {
        assert_string_equal(sim_party_end(e.s, i)->error.text, "");
        assert_int_equal(sim_party_end(e.s, i)->outcome, OUTCOME_COMPLETED);
    }
    sim_free(e.s);
}

/* --- and short of it --- */

static void expect_in_bounds(const struct plot *p)
{
    const uint64_t voided = sim_server_report(p->s)->void_rounds;

    for (uint32_t k = 0; k < p->liars; k++)
        assert_false(peer_of(&p->liar[k])->barred);
    assert_true(voided > 0 && voided <= most_voided(p, p->liars));
    if (p->liars <= p->t)
        assert_true(voided <= WIRE_AGAIN_MAX + steps_of(p) / 2);
}

static void test_liars_that_are_not_shut_out_end_nobody(void **state)
{
    (void)state;
    each(CAREFUL, expect_in_bounds);
}

/* --- a poor line --- */

static void expect_nobody_shut_out(const struct plot *p)
{
    assert_true(sim_server_report(p->s)->void_rounds > 0);
    for (uint32_t i = 0; i < p->parties; i++) {
        assert_int_equal(sim_party_end(p->s, i)->outcome, OUTCOME_COMPLETED);
        assert_false(p->s->server->fed.peer[i].barred);
        assert_true(p->s->server->fed.peer[i].owed <= 4 * p->t);
    }
}

static void test_a_poor_line_is_not_shut_out(void **state)
{
    (void)state;
    each(POOR_LINE, expect_nobody_shut_out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_liars_that_void_rounds_are_shut_out),
        cmocka_unit_test(test_two_end_nobody_in_a_long_run),
        cmocka_unit_test(test_who_is_late_too_often_is_shut_out),
        cmocka_unit_test(test_a_long_evaluation_comes_forward_by_its_rounds),
        cmocka_unit_test(test_liars_that_are_not_shut_out_end_nobody),
        cmocka_unit_test(test_a_poor_line_is_not_shut_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
