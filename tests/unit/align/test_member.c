/* test_member.c -- members around a ring come to the intersection, and a wrong one is found.
 *
 * ALIGN_CASES says how many random cases are played; without it, few.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/align/member.h"

#include "common/base/le.h"
#include "common/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/align/ring.h"

enum { LIST_MAX = 24, CASES = 150 };

struct lists {
    uint32_t members, size[ALIGN_MEMBERS_MAX];
    uint64_t id[ALIGN_MEMBERS_MAX][LIST_MAX], *of[ALIGN_MEMBERS_MAX];
};

static uint64_t state = 1;

static uint32_t below(uint32_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % n);
}

/* Of a small world, so that lists overlap; no list has a row twice. */
static void draw(struct lists *l, uint32_t members, uint32_t most)
{
    const uint32_t world = most + 1 + below(most);

    l->members = members;
    for (uint32_t i = 0; i < members; i++) {
        uint32_t n = 0, want = 1 + below(most);

        l->of[i] = l->id[i];
        for (uint32_t id = 0; id < world && n < want; id++) {
            if (below(world) < want || world - id <= want - n)
                l->id[i][n++] = id;
        }
        l->size[i] = n;
        for (uint32_t j = n; j > 1; j--) { /* in no order */
            const uint32_t other = below(j);
            const uint64_t moved = l->id[i][other];

            l->id[i][other] = l->id[i][j - 1];
            l->id[i][j - 1] = moved;
        }
    }
}

static bool has(const struct lists *l, uint32_t i, uint64_t id)
{
    for (uint32_t j = 0; j < l->size[i]; j++) {
        if (l->id[i][j] == id)
            return true;
    }
    return false;
}

static bool in_all(const struct lists *l, uint64_t id)
{
    for (uint32_t i = 0; i < l->members; i++) {
        if (!has(l, i, id))
            return false;
    }
    return true;
}

/* Each row that is in all lists has one place, the same on all sides, and no other row has any. */
static void expect_intersection(const struct ring *r, const struct lists *l)
{
    uint64_t at[LIST_MAX];
    uint32_t common = 0;

    for (uint32_t j = 0; j < l->size[0]; j++) {
        const uint32_t place = align_member_places(r->member[0])[j];

        assert_int_equal(place != ALIGN_NOWHERE, in_all(l, l->id[0][j]));
        if (place != ALIGN_NOWHERE) {
            assert_true(place < LIST_MAX);
            at[place] = l->id[0][j];
            common++;
        }
    }
    assert_int_equal(common, align_match_common(r->match));
    for (uint32_t i = 1; i < l->members; i++) {
        uint32_t found = 0;

        for (uint32_t j = 0; j < l->size[i]; j++) {
            const uint32_t place = align_member_places(r->member[i])[j];

            if (place == ALIGN_NOWHERE)
                continue;
            assert_true(place < common);
            assert_int_equal(at[place], l->id[i][j]);
            found++;
        }
        assert_int_equal(found, common);
        assert_memory_equal(align_member_transcript(r->member[i]),
                            align_member_transcript(r->member[0]), DIGEST_BYTES);
    }
}

static void test_everybody_learns_the_common_rows_in_one_order(void **unused)
{
    const char *asked = getenv("ALIGN_CASES");
    const long cases = asked == NULL ? CASES : atol(asked);

    (void)unused;
    for (long i = 0; i < cases; i++) {
        static struct lists l;
        struct ring r;

        /* Many members are rare: their tallies take the cube of their number. */
        draw(&l, 2 + (below(40) == 0 ? below(19) : below(4)),
             1 + below(i % 10 == 0 ? LIST_MAX : 6));
        ring_open(&r, l.members, l.size, l.of, 1 + below(8), false);
        assert_int_equal(ring_play(&r), STATUS_OK);
        expect_intersection(&r, &l);
        ring_close(&r);
    }
}

/* --- who is wrong --- */

/* Four members of six rows each, all alike, in chunks of four. */
static struct lists alike(void)
{
    struct lists l = {.members = 4};

    for (uint32_t i = 0; i < l.members; i++) {
        l.size[i] = 6;
        for (uint32_t j = 0; j < 6; j++)
            l.id[i][j] = j;
    }
    return l;
}

enum {
    OTHER_POINT,
    NO_POINT,
    IDENTITY,
    NOT_CANONICAL,
    TWICE,
    BIT_OF_TALLY,
    PLACE_TWICE,
    PLACE_BEYOND,
    PLACE_MISSING,
    FALSE_PLACE
};

struct lie {
    int what;
    uint32_t step, member;
};

static void point_of(uint8_t out[GROUP_BYTES], uint64_t number)
{
    assert_int_equal(group_hash(out, "another", &number, sizeof number), STATUS_OK);
}

static void swap_entries(uint8_t *a, uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint8_t moved = a[i];

        a[i] = b[i];
        b[i] = moved;
    }
}

static void lie(struct ring *r, uint32_t step)
{
    const struct lie *l = r->owner;
    uint8_t *at = r->given[l->member];

    if (step != l->step)
        return;
    switch (l->what) {
    case OTHER_POINT: point_of(at, 7); break;
    case NO_POINT: memset(at, 0xab, GROUP_BYTES); break;
    case IDENTITY: memset(at, 0, GROUP_BYTES); break;
    case NOT_CANONICAL: at[31] |= 0x80; break;
    case TWICE: memcpy(at, at + GROUP_BYTES, GROUP_BYTES); break;
    case BIT_OF_TALLY: r->tallies[l->member * TALLY_BYTES + TALLY_OUT] ^= 1; break;
    case PLACE_TWICE: memcpy(at, at + ALIGN_PLACE_BYTES, ALIGN_PLACE_BYTES); break;
    case PLACE_BEYOND: le_put(at, 6, ALIGN_PLACE_BYTES); break;
    case PLACE_MISSING: le_put(at, ALIGN_NOWHERE, ALIGN_PLACE_BYTES); break;
    case FALSE_PLACE: swap_entries(at, at + ALIGN_PLACE_BYTES, ALIGN_PLACE_BYTES); break;
    }
}

static enum status play_lie(struct ring *r, int what, uint32_t step, uint32_t member)
{
    struct lists l = alike();
    struct lie told = {what, step, member};
    enum status s;

    for (uint32_t i = 0; i < l.members; i++)
        l.of[i] = l.id[i];
    ring_open(r, l.members, l.size, l.of, 4, false);
    r->meddle = lie;
    r->owner = &told;
    s = ring_play(r);
    ring_close(r);
    return s;
}

/* Two steps make a stage. */
static void test_points_that_are_none_are_refused_by_who_gets_them(void **unused)
{
    static const int kinds[] = {NO_POINT, IDENTITY, NOT_CANONICAL};
    struct ring r;

    (void)unused;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        for (uint32_t step = 2; step < 8; step++) {
            assert_int_equal(play_lie(&r, kinds[i], step, 2), STATUS_PROTOCOL);
            assert_int_equal(r.step, step);
            assert_int_equal(r.refused_by, 2);
            assert_int_equal(r.blamed, 1);
        }
    }
}

static void test_a_point_in_the_place_of_another_shows_in_the_tallies(void **unused)
{
    static const int kinds[] = {OTHER_POINT, TWICE};
    struct ring r;

    (void)unused;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        for (uint32_t step = 2; step < 8; step++) {
            assert_int_equal(play_lie(&r, kinds[i], step, 2), STATUS_PROTOCOL);
            assert_int_equal(r.step % 2, 0); /* as the next stage begins */
            assert_int_equal(r.blamed, 2);
            assert_int_equal(r.refused_by, step < 4 ? 1 : 0); /* in the first by the owner alone */
        }
    }
}

/* docs/security.md: who takes places back through another shuffle than it gave a list moves rows
 * of that list's owner, learns nothing by it, and is not found. */
static void test_a_member_that_forgets_its_shuffle_moves_rows(void **unused)
{
    struct ring r;

    (void)unused;
    assert_int_equal(play_lie(&r, FALSE_PLACE, 14, 1), STATUS_OK);
}

static void test_a_tally_that_was_altered_is_refused(void **unused)
{
    struct ring r;

    (void)unused;
    for (uint32_t step = 2; step <= 8; step += 2) {
        assert_int_equal(play_lie(&r, BIT_OF_TALLY, step, 3), STATUS_PROTOCOL);
        assert_int_equal(r.step, step);
        assert_int_equal(r.blamed, 3);
    }
}

/* Steps 12 to 19 bring places back. */
static void test_places_that_are_no_order_are_refused(void **unused)
{
    static const int kinds[] = {PLACE_TWICE, PLACE_BEYOND, PLACE_MISSING};
    struct ring r;

    (void)unused;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        for (uint32_t step = 12; step < 20; step++) {
            assert_int_equal(play_lie(&r, kinds[i], step, 1), STATUS_PROTOCOL);
            assert_int_equal(r.refused_by, 1);
            assert_int_equal(r.blamed, step < 14 ? 0 : 2);
        }
    }
}

static void test_who_compares_cannot_give_a_place_to_another_point(void **unused)
{
    struct ring r;

    (void)unused;
    for (uint32_t member = 1; member < 4; member++) {
        assert_int_equal(play_lie(&r, FALSE_PLACE, 12, member), STATUS_PROTOCOL);
        assert_int_equal(r.refused_by, member);
        assert_int_equal(r.blamed, 0);
    }
}

/* What the last member hands back to the owner stands in the order that the owner gave its list. */
static void see_last(struct ring *r, uint32_t step)
{
    if (step + 1 == align_steps(&r->course))
        memcpy(r->owner, r->given[0], (size_t)r->course.size[0] * ALIGN_PLACE_BYTES);
}

static void test_a_list_leaves_its_owner_in_another_order(void **unused)
{
    struct lists l = {.members = 2, .size = {LIST_MAX, LIST_MAX}};
    uint8_t handed[LIST_MAX * ALIGN_PLACE_BYTES], own[LIST_MAX * ALIGN_PLACE_BYTES];
    struct ring r;

    (void)unused;
    for (uint32_t i = 0; i < l.members; i++) {
        l.of[i] = l.id[i];
        for (uint32_t j = 0; j < LIST_MAX; j++)
            l.id[i][j] = j;
    }
    ring_open(&r, l.members, l.size, l.of, LIST_MAX, false);
    r.meddle = see_last;
    r.owner = handed;
    assert_int_equal(ring_play(&r), STATUS_OK);
    for (uint32_t j = 0; j < LIST_MAX; j++)
        le_put(own + (size_t)j * ALIGN_PLACE_BYTES, align_member_places(r.member[0])[j],
               ALIGN_PLACE_BYTES);
    assert_memory_not_equal(own, handed, sizeof own); /* but once in 24! times */
    ring_close(&r);
}

/* Two playings of the same lists share no key, no point and no order. */
static void test_no_key_serves_twice(void **unused)
{
    struct lists l = alike();
    struct ring a, b;

    (void)unused;
    for (uint32_t i = 0; i < l.members; i++)
        l.of[i] = l.id[i];
    ring_open(&a, l.members, l.size, l.of, 4, false);
    ring_open(&b, l.members, l.size, l.of, 4, false);
    assert_int_equal(ring_play(&a), STATUS_OK);
    assert_int_equal(ring_play(&b), STATUS_OK);
    for (uint32_t i = 0; i < l.members; i++) {
        assert_memory_not_equal(align_member_tally(a.member[i]), align_member_tally(b.member[i]),
                                GROUP_BYTES);
        for (uint32_t e = 0; e < l.size[i]; e++)
            assert_memory_not_equal(align_match_list(a.match, i),
                                    align_match_list(b.match, i) + e * GROUP_BYTES, GROUP_BYTES);
    }
    ring_close(&a);
    ring_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everybody_learns_the_common_rows_in_one_order),
        cmocka_unit_test(test_points_that_are_none_are_refused_by_who_gets_them),
        cmocka_unit_test(test_a_point_in_the_place_of_another_shows_in_the_tallies),
        cmocka_unit_test(test_a_member_that_forgets_its_shuffle_moves_rows),
        cmocka_unit_test(test_a_tally_that_was_altered_is_refused),
        cmocka_unit_test(test_places_that_are_no_order_are_refused),
        cmocka_unit_test(test_who_compares_cannot_give_a_place_to_another_point),
        cmocka_unit_test(test_a_list_leaves_its_owner_in_another_order),
        cmocka_unit_test(test_no_key_serves_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
