/* test_align_guesses.c -- ids that somebody tries, after an alignment, on all that was seen in it.
 *
 * The law: whoever has not all keys, alone or together with others, finds the right id of another
 * party in nothing that any of them has seen, by whatever product of the keys that they have; with
 * all keys it is found, so that this test could fail.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/align/match.h"
#include "common/align/member.h"
#include "common/base/check.h"
#include "common/base/le.h"
#include "tests/sim/standing.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { PARTIES = 3, MEMBERS = PARTIES + 1, ALL = (1 << MEMBERS) - 1, SEEN_MAX = 256, IDS = 4 };
#define HOUR_US UINT64_C(3600000000)

/* List 0 is the server's; 1 and 2 are in all. */
static const uint64_t ids[MEMBERS][IDS] = {
    {1, 100, 2, 101}, {110, 2, 111, 1}, {2, 120, 1, 121}, {130, 1, 131, 2}};

/* By member: its key, and what it has seen, of points of which the first bytes are told as well. */
static struct view {
    const struct align_member *member;
    uint8_t key[GROUP_BYTES];
    struct {
        uint8_t bytes[GROUP_BYTES];
        bool prefix;
    } seen[SEEN_MAX];
    size_t n;
} views[MEMBERS];

static void see(struct view *v, const uint8_t *bytes, size_t n, size_t size)
{
    for (size_t at = 0; at + size <= n; at += size) {
        CHECK(v->n < SEEN_MAX);
        memcpy(v->seen[v->n].bytes, bytes + at, size);
        v->seen[v->n++].prefix = size == ALIGN_PREFIX_BYTES;
    }
}

/* --- between members and their callers (Makefile) --- */

static uint8_t last_key[GROUP_BYTES];

enum status __real_tally_key_init(struct tally_key *k, const uint8_t random[GROUP_RANDOM_BYTES]);
enum status __wrap_tally_key_init(struct tally_key *k, const uint8_t random[GROUP_RANDOM_BYTES]);
enum status __real_align_member_new(struct align_member **out, const struct align_setup *setup);
enum status __wrap_align_member_new(struct align_member **out, const struct align_setup *setup);
enum status __real_align_member_take(struct align_member *m, uint32_t step, const uint8_t *given,
                                     size_t n, struct error *err);
enum status __wrap_align_member_take(struct align_member *m, uint32_t step, const uint8_t *given,
                                     size_t n, struct error *err);
void __real_align_match_put(struct align_match *m, const struct align_at *at, uint32_t k,
                            const uint8_t *points);
void __wrap_align_match_put(struct align_match *m, const struct align_at *at, uint32_t k,
                            const uint8_t *points);

static struct align_course course;

enum status __wrap_tally_key_init(struct tally_key *k, const uint8_t random[GROUP_RANDOM_BYTES])
{
    const enum status s = __real_tally_key_init(k, random);

    memcpy(last_key, k->secret, sizeof last_key);
    return s;
}

enum status __wrap_align_member_new(struct align_member **out, const struct align_setup *setup)
{
    const enum status s = __real_align_member_new(out, setup);
    struct view *v = &views[setup->self];

    course = *setup->course;
    v->member = *out;
    memcpy(v->key, last_key, sizeof v->key);
    return s;
}

static struct view *view_of(const struct align_member *m)
{
    struct view *v = views;

    while (v->member != m)
        CHECK(++v < views + MEMBERS);
    return v;
}

enum status __wrap_align_member_take(struct align_member *m, uint32_t step, const uint8_t *given,
                                     size_t n, struct error *err)
{
    const enum align_part part = align_at(&course, step).part;

    if (part == ALIGN_RAISE)
        see(view_of(m), given, n, ALIGN_POINT_BYTES);
    if (part == ALIGN_TELL)
        see(view_of(m), given, n, ALIGN_PREFIX_BYTES);
    return __real_align_member_take(m, step, given, n, err);
}

/* The lists that are shown to the server. */
void __wrap_align_match_put(struct align_match *m, const struct align_at *at, uint32_t k,
                            const uint8_t *points)
{
    uint32_t from;
    const uint32_t n =
        align_range(&course, course.size[align_list(&course, at, k)], at->chunk, &from);

    see(&views[0], points, (size_t)n * ALIGN_POINT_BYTES, ALIGN_POINT_BYTES);
    __real_align_match_put(m, at, k, points);
}

/* Everybody sees everybody's key in the exponent, and sums. */
static void hear(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    (void)s, (void)owner;
    for (size_t at = 0; m->kind == WIRE_BATCH && who == SIM_SERVER && at < m->batch.tallies.n;
         at += TALLY_BYTES) {
        see(&views[to + 1], m->batch.tallies.data + at, TALLY_PROOF, GROUP_BYTES);
        if (to == 0)
            see(&views[0], m->batch.tallies.data + at, TALLY_PROOF, GROUP_BYTES);
    }
}

static void hear_no_charge(struct sim *s, uint32_t party, const struct action_charge *c,
                           void *owner)
{
    (void)s, (void)party, (void)c, (void)owner;
}

static void hear_no_end(struct sim *s, int who, void *owner)
{
    (void)s, (void)who, (void)owner;
}

/* --- guesses --- */

/* By those keys among the members (bits). */
static void raise(uint8_t out[GROUP_BYTES], const uint8_t point[GROUP_BYTES], uint32_t keys)
{
    memmove(out, point, GROUP_BYTES);
    for (int k = 0; k < MEMBERS; k++) {
        if (keys >> k & 1)
            assert_true(group_raise(out, views[k].key, out));
    }
}

/* All that these members have seen, by any product of their keys: the first bytes. */
static struct {
    uint32_t members;
    uint8_t is[MEMBERS * SEEN_MAX * (ALL + 1)][ALIGN_PREFIX_BYTES];
    size_t n;
} known;

static void know(uint32_t members)
{
    uint8_t point[GROUP_BYTES];

    known.members = members;
    known.n = 0;
    for (uint32_t k = 0; k < MEMBERS; k++) {
        for (size_t i = 0; (members >> k & 1) && i < views[k].n; i++) {
            for (uint32_t by = 0; by <= (views[k].seen[i].prefix ? 0 : members); by++) {
                if ((by & ~members) != 0)
                    continue;
                raise(point, views[k].seen[i].bytes, by);
                memcpy(known.is[known.n++], point, ALIGN_PREFIX_BYTES);
            }
        }
    }
}

/* Is that id, by any product of their keys, any of it? */
static bool finds(uint64_t id)
{
    uint8_t row[ALIGN_ROW_BYTES] = {0}, point[GROUP_BYTES], guess[GROUP_BYTES];
    bool found = false;

    le_put(row, id, 8);
    assert_int_equal(group_hash(point, "vfl/align/point/1", row, sizeof row), STATUS_OK);
    for (uint32_t by = 0; by <= known.members; by++) {
        if ((by & ~known.members) != 0)
            continue;
        raise(guess, point, by);
        for (size_t i = 0; i < known.n; i++)
            found = found || memcmp(known.is[i], guess, ALIGN_PREFIX_BYTES) == 0;
    }
    return found;
}

static void play(void)
{
    const struct sim_options o = {.parties = PARTIES,
                                  .stands = true,
                                  .checkpoint_rounds = 2,
                                  .quiet = true,
                                  .party_sets = {"policy.align.min_result=0"}};
    const struct standing_job job = {.kind = STANDING_ALIGN, .chunk = 3};
    struct sim *s = sim_new(&o);

    memset(views, 0, sizeof views);
    for (int k = 0; k < MEMBERS; k++)
        aligning_list(k == 0 ? &s->list : &s->party[k - 1].list, ids[k], IDS);
    s->ear = (struct sim_ear){hear, hear_no_charge, hear_no_end, NULL};
    standing_play(s, &job);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    sim_free(s);
    /* Each member has seen three lists come, and the server all four once more. */
    for (int k = 0; k < MEMBERS; k++)
        assert_true(views[k].n > (size_t)(k == 0 ? 7 : 3) * IDS);
}

/* Ids that no other list has. */
static uint32_t own_ids_that_are_found(int whose)
{
    uint32_t found = 0;

    for (int i = 0; i < IDS; i++)
        found += ids[whose][i] >= 100 && finds(ids[whose][i]);
    return found;
}

/* One alone, the server with one party, all parties without it, all but one: whoever they are. */
static void test_no_id_is_found_offline_without_all_keys(void **state)
{
    uint32_t tried = 0;

    (void)state;
    play();
    for (uint32_t members = 1; members < ALL; members++) {
        know(members);
        for (int whose = 0; whose < MEMBERS; whose++) {
            if (members >> whose & 1)
                continue;
            assert_int_equal(own_ids_that_are_found(whose), 0);
            tried++;
        }
    }
    assert_int_equal(tried, 28); /* whoever is not in it, of 14 coalitions */
}

static void test_with_all_keys_ids_are_found(void **state)
{
    (void)state;
    play();
    know(ALL);
    for (int whose = 0; whose < MEMBERS; whose++)
        assert_int_equal(own_ids_that_are_found(whose), 2);
    assert_true(finds(1));
    assert_false(finds(140)); /* which nobody has */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_id_is_found_offline_without_all_keys),
        cmocka_unit_test(test_with_all_keys_ids_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
