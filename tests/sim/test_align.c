/* test_align.c -- the ids that all sides have in common, by a job: what each side learns, and what
 * becomes of it when somebody says no, or lies.  Who dies is in test_align_deaths.c, who lies in
 * other ways in test_align_hostile.c.
 *
 * The law: whoever comes to the end has the intersection, in the order that all others have; and
 * what is sent hangs on how many ids there are on each side, and on how many are common, alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/align/tally.h"
#include "common/base/check.h"
#include "common/base/mem.h"
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

enum { COMMON = 4 }; /* 1, 2, 8, 9 */

static bool has(const struct sim_list *l, uint64_t id)
{
    for (uint32_t i = 0; i < l->n; i++) {
        if (l->id[i] == id)
            return true;
    }
    return false;
}

static bool in_all(struct sim *s, uint64_t id)
{
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++) {
        if (!has(aligned_list(s, who), id))
            return false;
    }
    return true;
}

/* The common rows, each at one place, the same as `order` has them; which the first fills in. */
static void expect_result(struct sim *s, int who, uint64_t order[ALIGNING_MAX])
{
    const struct sim_list *l = aligned_list(s, who);
    uint32_t found = 0;

    assert_true(l->kept > 0);
    assert_memory_equal(l->transcript, s->list.transcript, sizeof l->transcript);
    for (uint32_t i = 0; i < l->n; i++) {
        const uint32_t place = l->places[i];

        assert_int_equal(place != ALIGN_NOWHERE, in_all(s, l->id[i]));
        if (place == ALIGN_NOWHERE)
            continue;
        assert_true(place < ALIGNING_MAX);
        if (who == SIM_SERVER)
            order[place] = l->id[i];
        assert_int_equal(order[place], l->id[i]);
        found++;
    }
    assert_int_equal(found, COMMON);
}

static void expect_aligned(struct sim *s)
{
    uint64_t order[ALIGNING_MAX];

    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++)
        expect_result(s, who, order);
}

static void test_everybody_has_the_common_rows_in_one_order(void **state)
{
    (void)state;
    for (uint32_t chunk = 1; chunk <= 8; chunk++) {
        struct sim *s = aligned_common(NULL);

        aligned_play(s, chunk, false);
        expect_aligned(s);
        for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++) {
            assert_int_equal(aligned_list(s, who)->counted, 1);
            assert_int_equal(aligned_list(s, who)->kept, 1);
        }
        for (int who = 0; who < ALIGNED_PARTIES; who++)
            assert_int_equal(sim_party_end(s, (uint32_t)who)->outcome, OUTCOME_COMPLETED);
        aligned_play(s, chunk, false); /* daemons that stand play another */
        expect_aligned(s);
        sim_free(s);
    }
}

/* Each step well within patience, all of them far beyond it. */
static void test_patience_is_for_a_step_and_not_for_all(void **state)
{
    struct sim *s = aligned_common(NULL);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_DELAY,
                                  .from = SIM_SERVER,
                                  .party = SIM_ANY,
                                  .kind = WIRE_BATCH,
                                  .us = 1500000});
    aligned_play(s, 1, false);
    expect_aligned(s);
    sim_free(s);
}

/* --- what is sent --- */

/* Other ids, of which as many are common: all that anybody says has the same kinds, order and
 * sizes. */
static void test_what_is_sent_hangs_on_sizes_alone(void **state)
{
    static struct aligned_said of[2];

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct sim *s = aligned_common(NULL);

        for (int who = SIM_SERVER; k == 1 && who < ALIGNED_PARTIES; who++) {
            uint64_t other[ALIGNING_MAX];
            const uint32_t n = aligned_sizes[who + 1];

            for (uint32_t i = 0; i < n; i++) /* four in common, in another place of each list */
                other[i] = i < COMMON ? 1000 + i : (uint64_t)(who + 2) * 7777 + i;
            aligning_list(aligned_list(s, who), other, n);
        }
        s->ear = aligned_ear(&of[k]);
        aligned_play(s, 3, false);
        expect_aligned(s);
        sim_free(s);
    }
    assert_int_equal(of[0].n, of[1].n);
    assert_memory_equal(of[0].at, of[1].at, of[0].n * sizeof of[0].at[0]);
}

/* What the server is given and passes on says nothing to it: no point of a party's list passes it
 * in a form that it has seen before, or could make of an id that it holds. */
struct points {
    uint8_t seen[ALIGNED_SAID_MAX][ALIGN_POINT_BYTES];
    size_t n;
    bool server;
};

static void hear_points(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    struct points *p = owner;

    (void)s;
    (void)to;
    if (m->kind != WIRE_BATCH || (who == SIM_SERVER) != p->server || m->batch.entries.n % 32 != 0)
        return;
    for (size_t at = 0; at < m->batch.entries.n; at += ALIGN_POINT_BYTES) {
        assert_true(p->n < ALIGNED_SAID_MAX);
        memcpy(p->seen[p->n++], m->batch.entries.data + at, ALIGN_POINT_BYTES);
    }
}

static void test_nothing_that_a_party_sends_is_seen_twice(void **state)
{
    static struct points p;
    struct sim *s = aligned_common(NULL);

    (void)state;
    s->ear = (struct sim_ear){hear_points, aligned_no_charge, aligned_no_end, &p};
    for (int k = 0; k < 2; k++) {
        aligned_play(s, 8, false);
        expect_aligned(s);
    }
    assert_true(p.n > 2 * 6 * ALIGNED_PARTIES);
    /* All lists have the four common points at their end, in the collected form alone. */
    for (size_t i = 0; i < p.n; i++) {
        uint32_t times = 0;

        for (size_t j = 0; j < p.n; j++)
            times += memcmp(p.seen[i], p.seen[j], ALIGN_POINT_BYTES) == 0;
        assert_true(times <= ALIGNED_PARTIES);
    }
    sim_free(s);
}

/* --- policies --- */

static void expect_refused(struct sim *s, const char *word)
{
    aligned_play(s, 3, false);
    assert_int_not_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    if (strstr(sim_server_end(s)->error.text, word) == NULL)
        fail_msg("%s", sim_server_end(s)->error.text);
    assert_false(sim_server_end(s)->over);
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++) {
        assert_int_equal(aligned_list(s, who)->kept, 0);
        assert_false(who >= 0 && sim_party_end(s, (uint32_t)who)->over);
    }
    sim_free(s);
}

static void test_a_policy_bounds_what_others_may_list(void **state)
{
    struct sim *s = aligned_common("policy.align.max_ids=6");

    (void)state;
    expect_refused(s, "p1 refuses: policy.align.max_ids: server lists 7 ids, 6 are the most");
    s = aligned_common("policy.align.max_ids=7");
    aligning_list(&s->party[1].list, aligned_ids[1], 8); /* the eighth is 0 */
    expect_refused(s, "p1 refuses: policy.align.max_ids: p2 lists 8 ids, 7 are the most");
}

static void test_too_few_common_rows_are_given_to_nobody(void **state)
{
    struct sim *s = aligned_common("policy.align.min_result=5");

    (void)state;
    s->list.result_min = 5;
    expect_refused(s, "policy.align.min_result: fewer rows in common than 5");
    s = aligned_common("policy.align.min_result=4");
    s->list.result_min = 4;
    aligned_play(s, 3, false);
    expect_aligned(s);
    sim_free(s);
}

static void test_alignments_are_counted_before_anything_is_said(void **state)
{
    struct sim *s = aligned_common(NULL);

    (void)state;
    s->party[2].list.times_max = 2;
    aligned_play(s, 3, false);
    aligned_play(s, 3, false);
    expect_aligned(s);
    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++)
        aligned_list(s, who)->kept = 0;
    expect_refused(s, "policy.align.max_alignments");
    /* A count that cannot be kept: this side says no hello. */
    s = aligned_common(NULL);
    s->party[1].list.full = true;
    aligned_play(s, 3, false);
    assert_int_not_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_sent(s, 1, WIRE_HELLO), 0);
    sim_free(s);
}

static void test_a_party_without_a_list_takes_no_part(void **state)
{
    struct sim *s = aligned_common(NULL);

    (void)state;
    s->party[0].list.n = 0;
    expect_refused(s, "takes part in no alignment");
}

/* --- who lies --- */

struct change {
    enum {
        BIT_OF_ENTRIES,
        BIT_OF_TAG,
        BIT_OF_TALLIES,
        SHORTER,
        LONGER,
        NO_TAG,
        OTHER_STEP,
        MORE_COMMON,
        LESS_COMMON,
        SWAPPED,
        ZEROS,
        OTHER_KEY
    } what;
    uint8_t copy[4096];
    const struct sim *s;
};

/* A tally of the server's by another key, as good as its own. */
static void put_other_key(struct change *c, struct wire_bytes *tallies)
{
    const uint8_t *session = c->s->server->fed.agree.sid;
    uint8_t random[GROUP_RANDOM_BYTES] = {7}, in[GROUP_BYTES], context[TALLY_CONTEXT_BYTES];
    struct tally_key k;

    CHECK(tallies->n <= sizeof c->copy);
    memcpy(c->copy, tallies->data, tallies->n);
    tally_context(context, session, 0, 0);
    CHECK(tally_key_init(&k, random) == STATUS_OK && tally_origin(in, session) == STATUS_OK);
    random[1] = 1;
    CHECK(tally_make(c->copy, &k, in, context, random) == STATUS_OK);
    tallies->data = c->copy;
}

static void alter(struct wire_msg *m, void *owner)
{
    struct change *c = owner;
    struct wire_batch *b = &m->batch;
    struct wire_bytes *of = c->what == BIT_OF_TALLIES ? &b->tallies
                            : c->what == BIT_OF_TAG   ? &b->tag
                                                      : &b->entries;

    b->step += c->what == OTHER_STEP;
    b->common += (uint32_t)(c->what == MORE_COMMON) - (c->what == LESS_COMMON);
    if (c->what == NO_TAG)
        b->tag.n = 0;
    if (c->what == OTHER_KEY)
        put_other_key(c, &b->tallies);
    if (of->n < 8 || (c->what > LONGER && c->what != SWAPPED && c->what != ZEROS))
        return;
    CHECK(of->n + 64 <= sizeof c->copy);
    memset(c->copy, 0, sizeof c->copy);
    memcpy(c->copy, of->data, c->what == ZEROS ? 0 : of->n);
    if (c->what == SWAPPED) {
        memcpy(c->copy, of->data + 4, 4);
        memcpy(c->copy + 4, of->data, 4);
    } else if (c->what != ZEROS) {
        c->copy[of->n / 2] ^= 4;
    }
    of->data = c->copy;
    of->n += (size_t)(c->what == LONGER) - (c->what == SHORTER);
}

/* Nobody who is right ends with a result that is wrong: the job fails, or costs a generation. */
static void tamper(int what, int from, int to, uint32_t nth, const char *word)
{
    struct sim *s = aligned_common(NULL);
    struct change c = {.what = what, .s = s};
    uint64_t order[ALIGNING_MAX];

    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = from,
                                  .party = to,
                                  .kind = WIRE_BATCH,
                                  .nth = nth,
                                  .alter = alter,
                                  .owner = &c});
    aligned_play(s, 8, false);
    if (sim_server_end(s)->outcome == OUTCOME_COMPLETED) {
        for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++)
            expect_result(s, who, order);
        if (word != NULL)
            fail_msg("%d of %d at %u passed unseen", what, from, nth);
    } else if (word != NULL && strstr(sim_server_end(s)->error.text, word) == NULL) {
        fail_msg("%d of %d at %u: %s", what, from, nth, sim_server_end(s)->error.text);
    }
    assert_false(sim_server_end(s)->over);
    sim_free(s);
}

/* One step is a stage here: steps 0 to 3 raise, 4 collects, 5 tells, 6 to 9 return; message nth
 * opens, or answers, step nth - 1. */
static void test_a_server_that_alters_what_it_relays_is_found(void **state)
{
    (void)state;
    for (uint32_t nth = 2; nth <= 4; nth++) {
        tamper(BIT_OF_ENTRIES, SIM_SERVER, 1, nth, "does not open");
        tamper(BIT_OF_TAG, SIM_SERVER, 2, nth, "does not open");
        tamper(BIT_OF_TALLIES, SIM_SERVER, 1, nth, "step");
        tamper(NO_TAG, SIM_SERVER, 2, nth, "step");
        tamper(SHORTER, SIM_SERVER, 0, nth, "step");
        tamper(LONGER, SIM_SERVER, 2, nth, "step");
    }
    tamper(BIT_OF_TALLIES, SIM_SERVER, 2, 5, "step");
    tamper(BIT_OF_ENTRIES, SIM_SERVER, 1, 8, "does not open");
    tamper(OTHER_STEP, SIM_SERVER, 0, 3, "step");
}

static void test_a_server_cannot_give_places_as_it_likes(void **state)
{
    (void)state;
    /* Party p1 holds list 2 at that step, p2 list 3, p3 the server's. */
    for (int to = 0; to < ALIGNED_PARTIES; to++) {
        tamper(SWAPPED, SIM_SERVER, to, 7, "step 6 of the alignment: server:");
        tamper(ZEROS, SIM_SERVER, to, 7, "step 6 of the alignment: server:");
    }
    for (uint32_t nth = 6; nth <= 10; nth++) {
        tamper(MORE_COMMON, SIM_SERVER, 1, nth, "");
        tamper(LESS_COMMON, SIM_SERVER, 1, nth, "");
    }
}

/* Other prefixes at one party alone, or a tally of the server's that is as good as the one that it
 * shows the others: whoever has seen something else can open nothing of theirs. */
static void test_a_server_that_tells_two_stories_is_found(void **state)
{
    (void)state;
    for (int to = 0; to < ALIGNED_PARTIES; to++)
        tamper(BIT_OF_ENTRIES, SIM_SERVER, to, 6, "does not open");
    tamper(OTHER_KEY, SIM_SERVER, 1, 2,
           "p2 refuses: step 2 of the alignment: what p1 sealed does not open");
}

static void test_a_party_that_answers_out_of_form_is_found(void **state)
{
    (void)state;
    for (uint32_t nth = 1; nth <= 10; nth++) {
        tamper(OTHER_STEP, 1, SIM_ANY, nth, "no answer to step");
        tamper(MORE_COMMON, 1, SIM_ANY, nth, "no answer to step");
    }
    for (uint32_t nth = 1; nth <= 4; nth++) {
        tamper(SHORTER, 1, SIM_ANY, nth, "no answer to step");
        tamper(LONGER, 1, SIM_ANY, nth, "no answer to step");
        tamper(BIT_OF_TALLIES, 1, SIM_ANY, nth, "");
    }
    tamper(BIT_OF_ENTRIES, 2, SIM_ANY, 1, ""); /* p3 gives the server its points */
    tamper(ZEROS, 2, SIM_ANY, 1, "not all that should be points");
    tamper(BIT_OF_ENTRIES, 0, SIM_ANY, 4, ""); /* collected */
    tamper(ZEROS, 0, SIM_ANY, 4, "shows another list");
}

static void test_a_batch_that_comes_twice_is_refused(void **state)
{
    (void)state;
    for (int from = SIM_SERVER; from < 1; from++) {
        for (uint32_t nth = 1; nth <= 8; nth += 3) {
            struct sim *s = aligned_common(NULL);

            sim_rule(s, (struct sim_rule){.act = SIM_REPEAT,
                                          .from = from,
                                          .party = from == SIM_SERVER ? 1 : SIM_ANY,
                                          .kind = WIRE_BATCH,
                                          .nth = nth});
            aligned_play(s, 8, false);
            /* It costs a generation, or the job. */
            assert_true(sim_server_end(s)->outcome != OUTCOME_COMPLETED ||
                        sim_server_report(s)->presence.generation > 1);
            assert_false(sim_server_end(s)->over);
            sim_free(s);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everybody_has_the_common_rows_in_one_order),
        cmocka_unit_test(test_patience_is_for_a_step_and_not_for_all),
        cmocka_unit_test(test_what_is_sent_hangs_on_sizes_alone),
        cmocka_unit_test(test_nothing_that_a_party_sends_is_seen_twice),
        cmocka_unit_test(test_a_policy_bounds_what_others_may_list),
        cmocka_unit_test(test_too_few_common_rows_are_given_to_nobody),
        cmocka_unit_test(test_alignments_are_counted_before_anything_is_said),
        cmocka_unit_test(test_a_party_without_a_list_takes_no_part),
        cmocka_unit_test(test_a_server_that_alters_what_it_relays_is_found),
        cmocka_unit_test(test_a_server_cannot_give_places_as_it_likes),
        cmocka_unit_test(test_a_server_that_tells_two_stories_is_found),
        cmocka_unit_test(test_a_party_that_answers_out_of_form_is_found),
        cmocka_unit_test(test_a_batch_that_comes_twice_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
