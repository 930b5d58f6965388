/* test_ids_guilty.c -- who says what its neighbours cannot compare with, or is compared with too
 * often, is named and left out by the server; its neighbours are not.
 *
 * Signatures, keys and elements are real here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/parts.h"
#include "tests/sim/misbehave.h"
#include "tests/sim/world.h"

#include "common/base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

enum { PARTIES = 4 };

static const struct sim_options four = {
    .parties = PARTIES, .quiet = true, .sets = {"protocol.patience_ms=2000"}};

static const struct sim_options dropping = {
    .parties = PARTIES,
    .train_rows = 12,
    .quiet = true,
    .sets = {"protocol.straggler=drop", "protocol.deadline_ms=500", "protocol.patience_ms=2000",
             "training.epochs=4"}};

static struct agree_hello made_hello;
static uint8_t made_elements[WIRE_ELEMENTS_BYTES];

/* One member's hello as it gets to the server: a half of its elements is another one. */
struct lie {
    uint32_t party;
    enum ids_side half;
    uint8_t byte;        /* all of it; 1: an element that is one */
    uint64_t generation; /* 0: all */
    int copied; /* the neighbour whose element it is once that one has spoken; -1: nobody's */
    uint8_t heard[PARTIES][WIRE_ELEMENTS_BYTES];
    bool spoke[PARTIES], told;
};

static void hello_lands(struct sim *s, struct flight *f, void *owner)
{
    struct lie *l = owner;
    static const uint8_t anything[EQUALITY_RANDOM_BYTES] = {1};
    uint8_t *half = made_elements + l->half * EQUALITY_BYTES;
    struct equality own;
    struct wire_msg msg;

    if (!f->up || f->end || f->party >= PARTIES)
        return;
    msg = mis_unpack(&f->frame);
    if (msg.kind != WIRE_HELLO)
        return;
    memcpy(l->heard[f->party], msg.hello.elements, WIRE_ELEMENTS_BYTES);
    l->spoke[f->party] = true;
    if (f->party != l->party || (l->generation > 0 && msg.hello.generation != l->generation))
        return;
    memcpy(made_elements, msg.hello.elements, WIRE_ELEMENTS_BYTES);
    memset(half, l->byte, EQUALITY_BYTES);
    CHECK(equality_begin(&own, "one that is", "", 0, anything) == STATUS_OK);
    if (l->byte == 1)
        memcpy(half, own.element, EQUALITY_BYTES);
    if (l->copied >= 0 && !l->spoke[l->copied])
        return;
    if (l->copied >= 0) /* of a pair, the one's half before is the other's half after */
        memcpy(half, l->heard[l->copied] + (IDS_AFTER - l->half) * EQUALITY_BYTES, EQUALITY_BYTES);
    l->told = true;
    mis_say_elements(&msg.hello, &s->party[l->party].key, made_elements, &made_hello);
    mis_pack(&f->frame, &msg);
}

static void expect_guilty(struct sim *s, struct lie *l)
{
    char words[16];

    snprintf(words, sizeof words, "p%u", l->party + 1);
    s->tap = (struct sim_tap){hello_lands, l};
    sim_run(s, HOUR_US);
    assert_true(l->told);
    assert_int_equal(status_exit_code(sim_party_end(s, l->party)->error.status), 3);
    assert_non_null(strstr(sim_party_end(s, l->party)->error.text, "no element for the ids"));
    for (uint32_t i = 0; i < s->options.parties; i++) {
        if (i != l->party)
            assert_int_not_equal(status_exit_code(sim_party_end(s, i)->error.status), 3);
    }
    if (sim_server_end(s)->outcome == OUTCOME_FAILED)
        assert_non_null(strstr(sim_server_end(s)->error.text, words));
}

static void test_who_says_no_element_is_named_and_its_neighbours_are_not(void **state)
{
    static const struct lie lies[] = {
        {.party = 1, .half = IDS_BEFORE, .copied = -1},
        {.party = 1, .half = IDS_AFTER, .copied = -1},
        {.party = 1, .half = IDS_BEFORE, .byte = 0xff, .copied = -1},
        {.party = 1, .half = IDS_AFTER, .byte = 0xff, .copied = -1},
        {.party = 3, .half = IDS_AFTER, .byte = 1, .copied = -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct sim *s = sim_new(&four);
        struct lie l = lies[i];

        expect_guilty(s, &l);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
        for (uint32_t k = 0; k < PARTIES; k++)
            assert_int_equal(sim_uploaded(s, k) + sim_charged(s, k), 0);
        sim_free(s);
    }
}

/* In a set that is chosen anew, since p4 was lost: it costs the guilty one its place alone. */
static void test_under_drop_who_says_no_element_is_left_out(void **state)
{
    (void)state;
    for (enum ids_side half = IDS_BEFORE; half < IDS_SIDES; half++) {
        struct sim *s = sim_new(&dropping);
        struct lie l = {.party = 1, .half = half, .generation = 2, .copied = -1};

        sim_rule(
            s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 3, .kind = WIRE_UPLOAD, .nth = 3});
        expect_guilty(s, &l);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        assert_int_equal(sim_party_end(s, 0)->outcome, OUTCOME_COMPLETED);
        assert_int_equal(sim_party_end(s, 2)->outcome, OUTCOME_COMPLETED);
        sim_free(s);
    }
}

static const struct lie copies[] = {
    {.party = 1, .half = IDS_BEFORE, .copied = 0},
    {.party = 1, .half = IDS_AFTER, .copied = 2},
    {.party = 2, .half = IDS_BEFORE, .copied = 1},
};

static struct sim *run_copy(const struct sim_options *o, struct lie *l)
{
    struct sim *s = sim_new(o);

    if (l->generation == 0) /* it has to have heard what it copies */
        sim_rule(s, (struct sim_rule){.act = SIM_DELAY,
                                      .from = (int)l->party,
                                      .kind = WIRE_HELLO,
                                      .nth = 1,
                                      .us = 500000});
    else
        sim_rule(
            s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 3, .kind = WIRE_UPLOAD, .nth = 3});
    s->tap = (struct sim_tap){hello_lands, l};
    sim_run(s, HOUR_US);
    assert_true(l->told);
    return s;
}

/* The party that is made to copy finds its hello altered, and says so: it ends, and nobody else is
 * named. */
static void expect_copier_ends(struct sim *s, const struct lie *l)
{
    const uint32_t there = l->generation == 0 ? PARTIES : PARTIES - 1;
    char words[16];

    snprintf(words, sizeof words, "p%u refuses", l->party + 1);
    assert_non_null(strstr(sim_party_end(s, l->party)->error.text, "was altered"));
    if (sim_server_end(s)->outcome == OUTCOME_FAILED)
        assert_non_null(strstr(sim_server_end(s)->error.text, words));
    for (uint32_t i = 0; i < there; i++) {
        if (i != l->party && sim_server_end(s)->outcome == OUTCOME_COMPLETED)
            assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
    }
}

static void test_who_says_an_element_that_was_copied_alone_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        struct lie l = copies[i];
        struct sim *s = run_copy(&four, &l);

        expect_copier_ends(s, &l);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
        for (uint32_t k = 0; k < PARTIES; k++)
            assert_int_equal(sim_uploaded(s, k) + sim_charged(s, k), 0);
        sim_free(s);
    }
}

/* Elements are the same in each generation: whoever is the first to say one need not have made it.
 */
static void test_under_drop_an_element_that_was_copied_costs_its_maker_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        struct lie l = copies[i];
        struct sim *s;

        l.generation = 2;
        s = run_copy(&dropping, &l);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        expect_copier_ends(s, &l);
        sim_free(s);
    }
}

/* Before the run has begun it needs everybody; later who is counted loses its place alone. */
static void count_p1(struct sim *s, struct flight *f, void *owner)
{
    (void)owner;
    if (!f->up || f->party != 3 || f->end || sim_sent(s, 3, WIRE_UPLOAD) != 2)
        return;
    s->disk.compared.n = 1; /* of other lists than it has now */
    s->disk.compared.row[0] = (struct compared_row){.count = s->id_mismatches};
    memcpy(s->disk.compared.row[0].key, s->roster.party[0].key, WIRE_KEY_BYTES);
}

static void test_under_drop_who_is_counted_is_left_out_by_the_server(void **state)
{
    struct sim *s = sim_new(&dropping);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 3, .kind = WIRE_UPLOAD, .nth = 3});
    s->tap = (struct sim_tap){count_p1, NULL};
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_party_end(s, 0)->outcome, OUTCOME_FAILED);
    assert_non_null(strstr(sim_party_end(s, 0)->error.text, "limits.id_mismatches"));
    for (uint32_t i = 1; i < PARTIES; i++)
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
    sim_free(s);
}

/* What a party counts of its neighbour ends neither of them, however few lists it answers: the two
 * are kept apart, and each plays on without the other. */
static void count_p3_at_p2(struct sim *s, struct flight *f, void *owner)
{
    struct compared *c = &s->party[1].disk.compared;

    (void)owner;
    if (!f->up || f->party != 3 || f->end || sim_sent(s, 3, WIRE_UPLOAD) != 2)
        return;
    c->n = 1;
    c->row[0] = (struct compared_row){.count = s->party[1].config.policy.id_mismatches};
    memcpy(c->row[0].key, s->roster.party[2].key, WIRE_KEY_BYTES);
}

static struct sim *counted_by_p2(const struct sim_options *options, const char *most)
{
    struct sim_options o = *options;
    struct sim *s;

    o.party_sets[0] = most;
    s = sim_new(&o);
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 3, .kind = WIRE_UPLOAD, .nth = 3});
    s->tap = (struct sim_tap){count_p3_at_p2, NULL};
    sim_run(s, HOUR_US);
    return s;
}

static void test_under_drop_who_counts_its_neighbour_goes_on_without_it(void **state)
{
    static const char *const mosts[] = {"policy.max_id_mismatches=1", "policy.max_id_mismatches=3"};

    (void)state;
    for (size_t i = 0; i < sizeof mosts / sizeof *mosts; i++) {
        struct sim *s = counted_by_p2(&dropping, mosts[i]);

        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        for (uint32_t k = 0; k < PARTIES; k++) {
            if (sim_party_end(s, k)->outcome != OUTCOME_COMPLETED)
                fail_msg("p%u: %s", k + 1, sim_party_end(s, k)->error.text);
        }
        assert_true(odds_between(&s->server->fed.odds, 1, 2));
        assert_int_equal(odds_about(&s->server->fed.odds, 1), ODDS_IDS);
        assert_int_equal(sim_sent(s, 1, WIRE_REFUSE), 1);
        sim_free(s);
    }
}

/* Where all are needed it ends the run, and says why. */
static void test_under_wait_who_counts_its_neighbour_ends(void **state)
{
    struct sim_options o = four;
    struct sim *s;

    (void)state;
    o.train_rows = 12;
    s = counted_by_p2(&o, "policy.max_id_mismatches=1");
    assert_int_not_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(status_exit_code(sim_party_end(s, 1)->error.status), 5);
    assert_non_null(strstr(sim_party_end(s, 1)->error.text, "policy.max_id_mismatches: p3"));
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_says_no_element_is_named_and_its_neighbours_are_not),
        cmocka_unit_test(test_under_drop_who_says_no_element_is_left_out),
        cmocka_unit_test(test_who_says_an_element_that_was_copied_alone_is_named),
        cmocka_unit_test(test_under_drop_an_element_that_was_copied_costs_its_maker_nothing),
        cmocka_unit_test(test_under_drop_who_is_counted_is_left_out_by_the_server),
        cmocka_unit_test(test_under_drop_who_counts_its_neighbour_goes_on_without_it),
        cmocka_unit_test(test_under_wait_who_counts_its_neighbour_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
