/* test_align_labelled.c -- an alignment of all rows that the server has labels of: who learns what.
 *
 * The law: each party has its own rows' places in one order of the server's list; what anybody says
 * hangs on the lengths of lists and on nothing else, not even on how many rows are found; and
 * nothing that reaches a side can be found among the points that are told, but in the server's
 * telling.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/align/told.h"
#include "common/base/check.h"
#include "party/core.h"
#include "server/parts.h"
#include "tests/sim/standing.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PARTIES = 3, LISTS = PARTIES + 1, SAID_MAX = 4096 };
#define HOUR_US UINT64_C(3600000000)

/* List 0 is the server's: of it p1 has three rows, p2 five, p3 none. */
static const uint64_t ids[LISTS][ALIGNING_MAX] = {
    {5, 1, 9, 3, 7, 2, 8}, {9, 20, 4, 1, 8}, {8, 1, 2, 9, 3, 6}, {30, 31, 10, 32, 33, 11}};
static const uint32_t sizes[LISTS] = {7, 5, 6, 6};

static struct sim_list *list_of(struct sim *s, int who)
{
    return who == SIM_SERVER ? &s->list : &s->party[who].list;
}

static struct sim *federation(const char *policy)
{
    const struct sim_options o = {
        .parties = PARTIES,
        .stands = true,
        .party_sets = {"policy.align.rows=[labelled]",
                       policy == NULL ? "policy.align.min_result=7" : policy}};
    struct sim *s = sim_new(&o);

    for (int who = SIM_SERVER; who < PARTIES; who++)
        aligning_list(list_of(s, who), ids[who + 1], sizes[who + 1]);
    return s;
}

static void play(struct sim *s, uint32_t chunk, bool labelled)
{
    const struct standing_job job = {.kind = STANDING_ALIGN, .chunk = chunk, .labelled = labelled};

    standing_play(s, &job);
    sim_run(s, 2 * HOUR_US);
}

static void expect_places(struct sim *s)
{
    uint64_t at[ALIGNING_MAX] = {0};

    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (int who = SIM_SERVER; who < PARTIES; who++) {
        const struct sim_list *l = list_of(s, who);

        assert_true(l->kept > 0);
        assert_memory_equal(l->transcript, s->list.transcript, sizeof l->transcript);
        for (uint32_t i = 0; i < l->n; i++) {
            bool labelled = false;

            for (uint32_t j = 0; j < s->list.n; j++)
                labelled |= s->list.id[j] == l->id[i];
            assert_int_equal(l->places[i] != ALIGN_NOWHERE, labelled);
            if (!labelled)
                continue;
            assert_true(l->places[i] < s->list.n);
            if (who == SIM_SERVER)
                at[l->places[i]] = l->id[i];
            assert_int_equal(at[l->places[i]], l->id[i]);
        }
    }
}

static void test_each_side_has_its_own_rows_in_the_order_of_the_labels(void **state)
{
    (void)state;
    for (uint32_t chunk = 1; chunk <= 8; chunk++) {
        struct sim *s = federation(NULL);

        play(s, chunk, true);
        expect_places(s);
        play(s, chunk, true); /* daemons that stand play another */
        expect_places(s);
        for (int who = SIM_SERVER; who < PARTIES; who++)
            assert_int_equal(list_of(s, who)->kept, 2);
        sim_free(s);
    }
}

/* --- what is sent --- */

struct said {
    struct {
        int who;
        enum wire_kind kind;
        size_t entries, tag, tallies;
        uint32_t to, step, common;
    } at[SAID_MAX];
    size_t n;
};

static void hear_sizes(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    struct said *o = owner;

    (void)s;
    assert_true(o->n < SAID_MAX);
    o->at[o->n].who = who;
    o->at[o->n].to = who == SIM_SERVER ? to : 0;
    o->at[o->n].kind = m->kind;
    if (m->kind == WIRE_BATCH) {
        o->at[o->n].entries = m->batch.entries.n;
        o->at[o->n].tag = m->batch.tag.n;
        o->at[o->n].tallies = m->batch.tallies.n;
        o->at[o->n].step = m->batch.step;
        o->at[o->n].common = m->batch.common;
    }
    o->n++;
}

static void hear_no_charge(struct sim *s, uint32_t party, const struct action_charge *c,
                           void *owner)
{
    (void)s;
    (void)party;
    (void)c;
    (void)owner;
    fail_msg("an alignment charges no ledger");
}

static void hear_no_end(struct sim *s, int who, void *owner)
{
    (void)s;
    (void)who;
    (void)owner;
}

/* Some rows are found, none, all that there are: everything that is said has the same kinds, order
 * and sizes. */
static void test_what_is_sent_hangs_on_the_lengths_of_lists_alone(void **state)
{
    static struct said of[3];

    (void)state;
    for (uint32_t k = 0; k < 3; k++) {
        struct sim *s = federation(NULL);

        memset(&of[k], 0, sizeof of[k]);
        for (int who = 0; k > 0 && who < PARTIES; who++) {
            uint64_t other[ALIGNING_MAX];

            for (uint32_t i = 0; i < sizes[who + 1]; i++)
                other[i] = k == 1 ? 1000 + i : ids[0][i];
            aligning_list(list_of(s, who), other, sizes[who + 1]);
        }
        s->ear = (struct sim_ear){hear_sizes, hear_no_charge, hear_no_end, &of[k]};
        play(s, 3, true);
        expect_places(s);
        sim_free(s);
        assert_int_equal(of[k].n, of[0].n);
        assert_memory_equal(of[k].at, of[0].at, of[0].n * sizeof of[0].at[0]);
    }
}

struct points {
    uint8_t given[SAID_MAX][ALIGN_POINT_BYTES], told[8 * ALIGN_PREFIX_BYTES];
    size_t n;
};

/* What reaches the server, in the clear, and what it tells. */
static void hear_points(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    struct points *p = owner;

    (void)s;
    if (m->kind != WIRE_BATCH)
        return;
    if (who == SIM_SERVER && to == 0 && m->batch.common > 0 && m->batch.entries.n > 0) {
        assert_int_equal(m->batch.entries.n, 7 * ALIGN_PREFIX_BYTES);
        memcpy(p->told, m->batch.entries.data, m->batch.entries.n);
    }
    for (size_t at = 0; who != SIM_SERVER && at < m->batch.entries.n; at += ALIGN_POINT_BYTES) {
        assert_true(p->n < SAID_MAX);
        memcpy(p->given[p->n++], m->batch.entries.data + at, ALIGN_POINT_BYTES);
    }
}

static void test_the_server_cannot_find_a_partys_rows_among_those_that_it_tells(void **state)
{
    static struct points p;
    struct sim *s = federation(NULL);

    (void)state;
    s->ear = (struct sim_ear){hear_points, hear_no_charge, hear_no_end, &p};
    play(s, 8, true);
    expect_places(s);
    assert_true(told_in_order(p.told, 7) && p.told[0] + p.told[1] > 0);
    assert_int_equal(p.n, 3 * (7 + 5 + 6 + 6)); /* each list, but for what it gives p1 itself */
    for (size_t i = 0; i < p.n; i++)
        assert_int_equal(told_place(p.told, 7, p.given[i]), ALIGN_NOWHERE);
    sim_free(s);
}

/* --- policies --- */

static void expect_refused(struct sim *s, bool labelled, const char *word)
{
    play(s, 3, labelled);
    assert_int_not_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    if (strstr(sim_server_end(s)->error.text, word) == NULL)
        fail_msg("%s", sim_server_end(s)->error.text);
    for (int who = SIM_SERVER; who < PARTIES; who++) {
        assert_int_equal(list_of(s, who)->kept, 0);
        assert_int_equal(list_of(s, who)->counted, 0);
        assert_false(who >= 0 && sim_party_end(s, (uint32_t)who)->over);
    }
    sim_free(s);
}

static void test_a_party_takes_part_in_the_kinds_that_its_policy_names(void **state)
{
    (void)state;
    expect_refused(federation(NULL), false,
                   "policy.align.rows: it does not take part in alignments of common rows");
    expect_refused(federation("policy.align.rows=[common]"), true,
                   "policy.align.rows: it does not take part in alignments of labelled rows");
}

/* How few of its own rows are labelled a party tells nobody; how few are in all is asked first. */
static void test_the_least_result_is_of_the_labelled_rows(void **state)
{
    (void)state;
    expect_refused(federation("policy.align.min_result=8"), true,
                   "policy.align.min_result: fewer labelled rows than 8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_side_has_its_own_rows_in_the_order_of_the_labels),
        cmocka_unit_test(test_what_is_sent_hangs_on_the_lengths_of_lists_alone),
        cmocka_unit_test(test_the_server_cannot_find_a_partys_rows_among_those_that_it_tells),
        cmocka_unit_test(test_a_party_takes_part_in_the_kinds_that_its_policy_names),
        cmocka_unit_test(test_the_least_result_is_of_the_labelled_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
