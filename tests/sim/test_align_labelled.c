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
#include "tests/sim/aligned.h"
#include "tests/sim/standing.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* List 0 is the server's: of it p1 has three rows, p2 five, p3 none. */
static const uint64_t ids[ALIGNED_LISTS][ALIGNING_MAX] = {
    {5, 1, 9, 3, 7, 2, 8}, {9, 20, 4, 1, 8}, {8, 1, 2, 9, 3, 6}, {30, 31, 10, 32, 33, 11}};

static struct sim *federation(const char *policy)
{
    const struct sim_options o = {
        .parties = ALIGNED_PARTIES,
        .stands = true,
        .party_sets = {"policy.align.rows=[labelled]",
                       policy == NULL ? "policy.align.min_result=7" : policy}};

    return aligned_new(&o, ids);
}

static void expect_places(struct sim *s)
{
    uint64_t at[ALIGNING_MAX] = {0};

    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++) {
        const struct sim_list *l = aligned_list(s, who);

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

        aligned_play(s, chunk, true);
        expect_places(s);
        aligned_play(s, chunk, true); /* daemons that stand play another */
        expect_places(s);
        for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++)
            assert_int_equal(aligned_list(s, who)->kept, 2);
        sim_free(s);
    }
}

/* --- what is sent --- */

/* Some rows are found, none, all that there are: everything that is said has the same kinds, order
 * and sizes. */
static void test_what_is_sent_hangs_on_the_lengths_of_lists_alone(void **state)
{
    static struct aligned_said of[3];

    (void)state;
    for (uint32_t k = 0; k < 3; k++) {
        struct sim *s = federation(NULL);

        for (int who = 0; k > 0 && who < ALIGNED_PARTIES; who++) {
            uint64_t other[ALIGNING_MAX];

            for (uint32_t i = 0; i < aligned_sizes[who + 1]; i++)
                other[i] = k == 1 ? 1000 + i : ids[0][i];
            aligning_list(aligned_list(s, who), other, aligned_sizes[who + 1]);
        }
        s->ear = aligned_ear(&of[k]);
        aligned_play(s, 3, true);
        expect_places(s);
        sim_free(s);
        assert_int_equal(of[k].n, of[0].n);
        assert_memory_equal(of[k].at, of[0].at, of[0].n * sizeof of[0].at[0]);
    }
}

struct points {
    uint8_t given[ALIGNED_SAID_MAX][ALIGN_POINT_BYTES], told[8 * ALIGN_PREFIX_BYTES];
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
        assert_true(p->n < ALIGNED_SAID_MAX);
        memcpy(p->given[p->n++], m->batch.entries.data + at, ALIGN_POINT_BYTES);
    }
}

static void test_the_server_cannot_find_a_partys_rows_among_those_that_it_tells(void **state)
{
    static struct points p;
    struct sim *s = federation(NULL);

    (void)state;
    s->ear = (struct sim_ear){hear_points, aligned_no_charge, aligned_no_end, &p};
    aligned_play(s, 8, true);
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
    aligned_play(s, 3, labelled);
    assert_int_not_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    if (strstr(sim_server_end(s)->error.text, word) == NULL)
        fail_msg("%s", sim_server_end(s)->error.text);
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++) {
        assert_int_equal(aligned_list(s, who)->kept, 0);
        assert_int_equal(aligned_list(s, who)->counted, 0);
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
