/* test_align_deaths.c -- somebody dies, or is cut off, at each message of an alignment.
 *
 * The law: what is played goes on in another generation, to its end on all sides; whoever keeps
 * something has the intersection; a key, a point and a sealed entry are of one generation alone;
 * each generation is counted by all who have said something in it, and no more of them than there
 * were.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/align/tally.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "server/parts.h"
#include "tests/sim/standing.h"
#include "tests/lib/instrumented.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PARTIES = 3, COMMON = 4, SEEN_MAX = 1 << 13, MESSAGES_MIN = 100 };
#define HOUR_US UINT64_C(3600000000)

enum { ONE_OF = INSTRUMENTED ? 7 : 1 };

static const uint64_t ids[PARTIES + 1][ALIGNING_MAX] = {
    {5, 1, 9, 3, 7, 2, 8}, {9, 2, 4, 1, 8}, {8, 1, 2, 9, 3, 6}, {2, 9, 10, 8, 1, 11}};
static const uint32_t sizes[PARTIES + 1] = {7, 5, 6, 6};

enum manner { DIES, LAST_WORDS, UNHEARD, AWAY, CUT, HALF_CUT, MANNERS };

struct death {
    uint32_t said, at; /* messages so far; at which it happens */
    int who;           /* SIM_SERVER or a party; of a cut: the party's link */
    enum manner how;
    /* What was said: each 16 bytes of a key, a point or a sealed entry, and its generation. */
    uint8_t seen[SEEN_MAX][16];
    uint64_t generation[SEEN_MAX];
    size_t seen_n;
    uint32_t helloed[PARTIES], offered[PARTIES];
    bool again; /* there was another generation */
};

static struct sim_list *list_of(struct sim *s, int who)
{
    return who == SIM_SERVER ? &s->list : &s->party[who].list;
}

/* --- what is said --- */

static void note(struct death *d, const uint8_t *bytes, uint64_t generation)
{
    const uint8_t *at = bytes;
    uint64_t name;
    size_t i;

    memcpy(&name, at, sizeof name);
    for (i = name % SEEN_MAX; d->generation[i] > 0; i = (i + 1) % SEEN_MAX) {
        if (memcmp(d->seen[i], bytes, sizeof d->seen[i]) == 0) {
            assert_int_equal(d->generation[i], generation);
            return;
        }
    }
    assert_true(++d->seen_n < SEEN_MAX / 2);
    memcpy(d->seen[i], bytes, sizeof d->seen[i]);
    d->generation[i] = generation;
}

/* Tallies that are zeros are none yet. */
static void note_tallies(struct death *d, const struct wire_batch *b)
{
    static const uint8_t none[GROUP_BYTES];

    for (size_t at = 0; at < b->tallies.n; at += TALLY_BYTES) {
        for (size_t part = 0; part < TALLY_PROOF; part += GROUP_BYTES) {
            if (memcmp(b->tallies.data + at + part, none, GROUP_BYTES) != 0)
                note(d, b->tallies.data + at + part, b->generation);
        }
    }
}

static void hear(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    struct death *d = owner;

    if (m->kind == WIRE_OFFER) {
        d->offered[to]++;
        d->again = d->again || m->offer.generation > 1;
    }
    if (m->kind == WIRE_HELLO)
        d->helloed[who]++;
    if (m->kind == WIRE_BATCH) {
        note_tallies(d, &m->batch);
        for (size_t at = 0; m->batch.entries.n % GROUP_BYTES == 0 && at < m->batch.entries.n;
             at += GROUP_BYTES)
            note(d, m->batch.entries.data + at, m->batch.generation);
    }
    if (++d->said != d->at)
        return;
    sim_break_at(
        s, (struct sim_break){.what = d->how >= CUT ? SIM_CUT : SIM_DEATH,
                              .who = d->who,
                              .at_us = sim_now_us(s),
                              .down_us = d->how == AWAY ? 500000 : 0,
                              .unheard_us = d->how == UNHEARD || d->how == HALF_CUT ? 50000 : 0,
                              .last_words = d->how == LAST_WORDS,
                              .party_unaware = d->how == HALF_CUT && d->at % 2 == 0});
}

static void hear_no_charge(struct sim *s, uint32_t party, const struct action_charge *c,
                           void *owner)
{
    (void)s, (void)party, (void)c, (void)owner;
    fail_msg("an alignment charges no ledger");
}

static void hear_no_end(struct sim *s, int who, void *owner)
{
    (void)s, (void)who, (void)owner;
}

/* --- what is kept --- */

static bool in_all(uint64_t id)
{
    uint32_t lists = 0;

    for (int k = 0; k <= PARTIES; k++) {
        for (uint32_t i = 0; i < sizes[k]; i++)
            lists += ids[k][i] == id;
    }
    return lists == PARTIES + 1;
}

/* The intersection, in some order; nobody keeps anything else at any time. */
static void expect_intersection(const struct sim_list *l)
{
    uint32_t taken = 0;

    for (uint32_t i = 0; i < l->n; i++) {
        assert_int_equal(l->places[i] != ALIGN_NOWHERE, in_all(l->id[i]));
        if (l->places[i] != ALIGN_NOWHERE) {
            assert_true(l->places[i] < COMMON);
            taken |= UINT32_C(1) << l->places[i];
        }
    }
    assert_int_equal(taken, (1 << COMMON) - 1);
}

static void expect_one_order(struct sim *s)
{
    uint64_t order[COMMON];

    for (int who = SIM_SERVER; who < PARTIES; who++) {
        const struct sim_list *l = list_of(s, who);

        assert_true(l->kept > 0);
        expect_intersection(l);
        assert_memory_equal(l->transcript, s->list.transcript, DIGEST_BYTES);
        for (uint32_t i = 0; i < l->n; i++) {
            if (l->places[i] == ALIGN_NOWHERE)
                continue;
            if (who == SIM_SERVER)
                order[l->places[i]] = l->id[i];
            assert_true(order[l->places[i]] == l->id[i]);
        }
    }
}

/* --- one alignment --- */

static void play(struct sim *s)
{
    const struct standing_job job = {.kind = STANDING_ALIGN, .chunk = 4};

    standing_play(s, &job);
    sim_run(s, HOUR_US);
    assert_false(standing_plays(s));
    for (int who = 0; who < PARTIES; who++) {
        assert_false(sim_party_end(s, (uint32_t)who)->over); /* a daemon that stands, stands */
        if (list_of(s, who)->kept > 0)
            expect_intersection(list_of(s, who));
    }
}

/* Messages of all sides, in all that it took. */
static uint32_t disturb(struct death *d)
{
    const struct sim_options o = {.parties = PARTIES,
                                  .stands = true,
                                  .checkpoint_rounds = 2,
                                  .quiet = true,
                                  .party_sets = {"policy.align.min_result=1"}};
    struct sim *s = sim_new(&o);

    for (int who = SIM_SERVER; who < PARTIES; who++)
        aligning_list(list_of(s, who), ids[who + 1], sizes[who + 1]);
    s->ear = (struct sim_ear){hear, hear_no_charge, hear_no_end, d};
    play(s);
    if (sim_server_end(s)->outcome != OUTCOME_COMPLETED)
        fail_msg("%d at %u, in manner %d: %s", d->who, d->at, (int)d->how,
                 sim_server_end(s)->error.text);
    expect_one_order(s);
    for (int who = 0; who < PARTIES; who++) {
        assert_in_range(list_of(s, who)->begun, d->helloed[who], d->offered[who]);
        assert_true(list_of(s, who)->kept <= list_of(s, who)->counted);
    }
    assert_true(s->list.begun >= 1);
    sim_free(s);
    return d->said;
}

/* Runs, and those among them that had to begin anew. */
struct count {
    uint32_t asked, runs, again;
};

static void disturb_at(struct death *d, uint32_t at, int who, enum manner how, struct count *of)
{
    if (of->asked++ % ONE_OF != 0)
        return;
    memset(d, 0, sizeof *d);
    d->at = at;
    d->who = who;
    d->how = how;
    (void)disturb(d);
    of->runs++;
    of->again += d->again;
}

static void test_a_death_or_a_cut_at_any_message_costs_a_generation(void **state)
{
    struct death *d = mem_alloc(1, sizeof *d);
    struct count of = {0};
    uint32_t messages;

    (void)state;
    assert_non_null(d);
    d->who = SIM_SERVER;
    messages = disturb(d); /* at UINT32_MAX, as it were: at none */
    assert_true(messages >= MESSAGES_MIN);
    for (uint32_t at = 1; at <= messages; at++) {
        for (int who = SIM_SERVER; who < PARTIES; who++)
            disturb_at(d, at, who, (enum manner)((at + (uint32_t)(who + 1)) % CUT), &of);
        disturb_at(d, at, (int)(at % PARTIES), at / PARTIES % 2 == 0 ? CUT : HALF_CUT, &of);
    }
    print_message("%u messages, %u deaths and cuts, %u of them began anew\n", messages, of.runs,
                  of.again);
    assert_true(of.again > of.runs / 2);
    mem_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_death_or_a_cut_at_any_message_costs_a_generation),
    };

    sim_keep_pages();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
