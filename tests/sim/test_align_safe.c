/* test_align_safe.c -- what an alignment lets out before anybody may refuse, what counts for good,
 * and who hears of a server that tells two stories.
 * SPDX-License-Identifier: Apache-2.0
 */
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

enum { LAST = ALIGNED_PARTIES - 1 };

static void expect_refused(struct sim *s, uint32_t chunk, const char *word)
{
    aligned_play(s, chunk, false);
    assert_int_not_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    if (strstr(sim_server_end(s)->error.text, word) == NULL)
        fail_msg("%s", sim_server_end(s)->error.text);
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++)
        assert_int_equal(aligned_list(s, who)->kept, 0);
}

/* --- how many are common --- */

struct heard {
    bool told;         /* a number of common rows */
    uint32_t answered; /* steps, by a party */
};

static void hear(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    struct heard *h = owner;

    (void)s;
    (void)to;
    if (m->kind != WIRE_BATCH)
        return;
    h->told = h->told || m->batch.common > 0;
    h->answered += who != SIM_SERVER;
}

static void hear_charge(struct sim *s, uint32_t party, const struct action_charge *c, void *owner)
{
    (void)s;
    (void)party;
    (void)c;
    (void)owner;
    fail_msg("an alignment charges no ledger");
}

static void hear_end(struct sim *s, int who, void *owner)
{
    (void)s;
    (void)who;
    (void)owner;
}

static void listen(struct sim *s, struct heard *h)
{
    *h = (struct heard){.told = false};
    s->ear = (struct sim_ear){hear, hear_charge, hear_end, h};
}

/* The job says from how many on the number is told: a party that wants more takes no part, and
 * says not even how many ids it has; of fewer nobody hears how many they are. */
static void test_how_many_are_common_is_told_to_nobody_where_they_are_too_few(void **state)
{
    struct sim *s = aligned_common("policy.align.min_result=5");
    struct heard h;

    (void)state;
    listen(s, &h);
    s->list.result_min = 4;
    expect_refused(s, 3, "policy.align.min_result: server tells how many rows are common where");
    for (uint32_t p = 0; p < ALIGNED_PARTIES; p++)
        assert_int_equal(sim_sent(s, (int)p, WIRE_HELLO), 0);
    assert_false(h.told);
    sim_free(s);
    s = aligned_common("policy.align.min_result=5");
    listen(s, &h);
    s->list.result_min = 5;
    expect_refused(s, 3, "policy.align.min_result: fewer rows in common than 5");
    assert_true(h.answered > 0);
    assert_false(h.told);
    sim_free(s);
    s = aligned_common("policy.align.min_result=4");
    listen(s, &h);
    s->list.result_min = 4;
    aligned_play(s, 3, false);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_true(h.told);
    sim_free(s);
}

static void tell_one_less(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->batch.common--;
}

/* A server that tells of fewer all the same gets no place back. */
static void test_a_party_gives_no_place_back_where_fewer_are_told(void **state)
{
    struct sim *s = aligned_common("policy.align.min_result=4");

    (void)state;
    s->list.result_min = 4;
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = 1,
                                  .kind = WIRE_BATCH,
                                  .nth = 6,
                                  .alter = tell_one_less});
    expect_refused(s, 8, "p2 refuses: policy.align.min_result: fewer rows in common than 4");
    sim_free(s);
}

/* --- what is listed --- */

static void test_the_others_may_list_only_so_many_together(void **state)
{
    struct sim *s = aligned_common("policy.align.max_ids_of_all=18");

    (void)state;
    /* p1 has 5 ids, so that the others list 19; p2 and p3 have 6, and hear of 18. */
    expect_refused(s, 3, "p1 refuses: policy.align.max_ids_of_all: the others list 19 ids, 18");
    assert_int_equal(aligned_list(s, 0)->counted, 0);
    sim_free(s);
    s = aligned_common("policy.align.max_ids_of_all=19");
    aligned_play(s, 3, false);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    sim_free(s);
}

/* Sizes that a party says are no reason for the server to fall over. */
static void test_more_steps_than_there_may_be_are_refused(void **state)
{
    struct sim *s = aligned_common("policy.align.max_ids=16777216");

    (void)state;
    s->party[1].list.n = ALIGN_IDS_MAX;
    expect_refused(s, 1, "an alignment of too many steps");
    sim_free(s);
}

/* --- what counts --- */

/* A stage has two steps here: 0 and 1 raise the own list, 2 and 3 the next one's, and what a key
 * has made of another's list leaves with the answer to step 3, the fourth. */
static void cut_at(uint32_t nth, enum sim_act act, uint32_t want)
{
    struct sim *s = aligned_common(NULL);

    sim_rule(s,
             (struct sim_rule){.act = act, .from = 1, .party = 1, .kind = WIRE_BATCH, .nth = nth});
    aligned_play(s, 4, false);
    if (sim_server_end(s)->outcome != OUTCOME_COMPLETED)
        aligned_play(s, 4, false);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++) {
        const struct sim_list *l = aligned_list(s, who);

        assert_true(l->begun >= 2);
        assert_true(l->counted >= 1 && l->counted <= want);
    }
    assert_int_equal(aligned_list(s, 1)->counted, want);
    sim_free(s);
}

static void test_those_that_break_off_before_anything_can_be_compared_do_not_count(void **state)
{
    (void)state;
    for (uint32_t nth = 1; nth <= 3; nth++) {
        cut_at(nth, SIM_CUT_BEFORE, 1);
        cut_at(nth, SIM_KILL, 1);
    }
    for (uint32_t nth = 4; nth <= 12; nth += 4) {
        cut_at(nth, SIM_CUT_BEFORE, 2);
        cut_at(nth, SIM_KILL, 2);
    }
}

/* Whoever cannot note that something will be told tells nothing. */
static void test_what_cannot_be_counted_is_not_said(void **state)
{
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++) {
        struct sim *s = aligned_common(NULL);
        struct heard h;

        (void)state;
        listen(s, &h);
        aligned_list(s, who)->full_later = true;
        aligned_play(s, 8, false);
        assert_int_not_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        assert_int_equal(aligned_list(s, who)->counted, 0);
        assert_true(aligned_list(s, who)->begun > 0);
        if (who != SIM_SERVER) /* one answer a stage: that to the second is not there */
            assert_int_equal(sim_sent(s, who, WIRE_BATCH) % 2, 1);
        assert_false(h.told);
        sim_free(s);
    }
}

/* --- two stories --- */

static void swap(uint8_t *copy, struct wire_bytes *of, size_t bytes)
{
    CHECK(of->n >= 2 * bytes && of->n <= 4096);
    memcpy(copy, of->data, of->n);
    memcpy(copy, of->data + bytes, bytes);
    memcpy(copy + bytes, of->data, bytes);
    of->data = copy;
}

static void swap_prefixes(struct wire_msg *m, void *owner)
{
    swap(owner, &m->batch.entries, ALIGN_PREFIX_BYTES);
}

/* Places 0 and 1, one for the other. */
static void swap_places(struct wire_msg *m, void *owner)
{
    uint8_t *copy = owner;
    struct wire_bytes *e = &m->batch.entries;

    CHECK(e->n <= 4096);
    memcpy(copy, e->data, e->n);
    for (size_t at = 0; at < e->n; at += ALIGN_PLACE_BYTES) {
        if (copy[at] < 2 && copy[at + 1] == 0 && copy[at + 2] == 0 && copy[at + 3] == 0)
            copy[at] ^= 1;
    }
    e->data = copy;
}

/* The server tells one party that two common points stand the other way round, and gives it places
 * that fit: step 5 tells, and step 6 returns. */
static void test_a_server_that_lies_to_one_party_alone_is_found_before_places_go_back(void **state)
{
    static uint8_t prefixes[4096], places[4096];

    (void)state;
    for (int to = 0; to < ALIGNED_PARTIES; to++) {
        struct sim *s = aligned_common(NULL);
        const struct sim_rule lie = {
            .act = SIM_ALTER, .from = SIM_SERVER, .party = to, .kind = WIRE_BATCH};
        struct sim_rule told = lie, given = lie;

        told.nth = 6;
        told.alter = swap_prefixes;
        told.owner = prefixes;
        given.nth = 7;
        given.alter = swap_places;
        given.owner = places;
        sim_rule(s, told);
        sim_rule(s, given);
        expect_refused(s, 8, "step 6 of the alignment: what p");
        for (int who = 0; who < ALIGNED_PARTIES; who++)
            assert_true(sim_sent(s, who, WIRE_BATCH) <= 7);
        assert_int_equal(sim_sent(s, to, WIRE_BATCH), 6); /* it hears of it itself */
        sim_free(s);
    }
}

static void flip_word(struct wire_msg *m, void *owner)
{
    uint8_t *copy = owner;

    CHECK(m->batch.tag.n == (size_t)(ALIGNED_PARTIES - 1) * WIRE_TAG_BYTES);
    memcpy(copy, m->batch.tag.data, m->batch.tag.n);
    copy[m->batch.tag.n - 1] ^= 1;
    m->batch.tag.data = copy;
}

static void drop_word(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->batch.tag.n -= WIRE_TAG_BYTES;
}

/* A party's word is as good as it was given, and is there. */
static void test_no_word_is_altered_or_left_out(void **state)
{
    static uint8_t copy[4096];

    (void)state;
    for (int from = SIM_SERVER; from < ALIGNED_PARTIES; from++) {
        struct sim_rule r = {.act = SIM_ALTER,
                             .from = from,
                             .party = from == SIM_SERVER ? LAST : SIM_ANY,
                             .kind = WIRE_BATCH,
                             .nth = from == SIM_SERVER ? 7 : 6,
                             .alter = flip_word,
                             .owner = copy};
        struct sim *s = aligned_common(NULL);

        sim_rule(s, r);
        expect_refused(s, 8, "does not open");
        sim_free(s);
        s = aligned_common(NULL);
        r.alter = drop_word;
        sim_rule(s, r);
        expect_refused(s, 8, from == SIM_SERVER ? "step 6" : "no answer to step 5");
        sim_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_how_many_are_common_is_told_to_nobody_where_they_are_too_few),
        cmocka_unit_test(test_a_party_gives_no_place_back_where_fewer_are_told),
        cmocka_unit_test(test_the_others_may_list_only_so_many_together),
        cmocka_unit_test(test_more_steps_than_there_may_be_are_refused),
        cmocka_unit_test(test_those_that_break_off_before_anything_can_be_compared_do_not_count),
        cmocka_unit_test(test_what_cannot_be_counted_is_not_said),
        cmocka_unit_test(test_a_server_that_lies_to_one_party_alone_is_found_before_places_go_back),
        cmocka_unit_test(test_no_word_is_altered_or_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
